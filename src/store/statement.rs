//! The tables and their columns, which are the same in both stores; the statements, which both understand; the
//! values of their parameters and columns.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use super::rows::{DatasetKey, SourceKey, SubsetKey};
use super::{Error, Result};
use crate::model::{
    DatasetName, Digest, GranuleId, Identifier, Limit, LineCheck, Pattern, PrimaryOptions,
    SubsetCriteria, Timestamp,
};

/// A table whose rows are read and written whole.
#[derive(Debug)]
pub(crate) struct StoredTable {
    pub name: &'static str,
    /// The name of a row in a message. `None` means that the rows have no checksums.
    pub what: Option<&'static str>,
    /// The number of first columns that identify the owner of a row: its dataset, and a row of that dataset.
    pub owner: usize,
    /// The number of first columns that are the key, including those of the owner.
    pub key: usize,
    /// The columns without the checksum of the row, which is the last one.
    pub columns: &'static [&'static str],
}

impl StoredTable {
    /// All columns in their order, and the checksum of the row, if there is one.
    pub fn all_columns(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().copied().chain(self.what.map(|_| ROW_CHECK))
    }

    /// The column with the dataset that a row belongs to. `None` means that rows belong to no dataset.
    pub fn dataset_column(&self) -> Option<usize> {
        match self.name {
            "dataset" => Some(0),
            _ => self.columns.iter().position(|column| *column == "dataset_id"),
        }
    }

    /// The columns that are the key within a dataset.
    pub fn key_in_dataset(&self) -> Range<usize> {
        usize::from(self.dataset_column() == Some(0))..self.key
    }
}

/// The column with the checksum of a row.
const ROW_CHECK: &str = "row_check";

macro_rules! tables {
    ($($constant:ident = $name:literal, $what:expr,
        [$($owner:literal),*] [$($key:literal),*] $(, $column:literal)*;)+) => {
        $(pub(super) static $constant: StoredTable = StoredTable {
            name: $name,
            what: $what,
            owner: <[&str]>::len(&[$($owner),*]),
            key: <[&str]>::len(&[$($owner,)* $($key),*]),
            columns: &[$($owner,)* $($key,)* $($column),*],
        };)+

        /// Every table but `registry` and `writer`, which only a server has.
        pub(super) static TABLES: [&StoredTable; [$($name),+].len()] = [$(&$constant),+];
    };
}

tables! {
    DATASET = "dataset", Some("the record"), [] ["id"],
        "name", "doi", "withdrawn", "withdrawn_note", "max_delete", "max_add",
        "max_replace", "record";
    DATASET_NAME = "dataset_name", Some("a former name"), [] ["name"], "dataset_id", "renamed";
    RECORD_VERSION = "record_version", Some("a version of the record"), ["dataset_id"] ["version"],
        "recorded", "recorded_by", "action", "record";
    INSTANCE = "instance", Some("an instance"), ["dataset_id"] ["timestamp"],
        "identifier", "digest", "granules", "ingested", "deleted", "described", "replaced", "recorded",
        "recorded_by", "note";
    ANNOTATION = "annotation", Some("an annotation"), ["dataset_id"] ["timestamp", "number"],
        "note", "questionable", "recorded", "recorded_by";
    CONFIRMATION = "confirmation", Some("the confirmation"), ["dataset_id"] [],
        "recorded", "recorded_by", "granules";
    REFUSAL = "refusal", Some("the refusal of a listing"), ["dataset_id"] [], "recorded", "reason";
    SUBSET = "subset", Some("a subset"), ["dataset_id"] ["id"],
        "timestamp", "patterns", "identifier", "digest", "granules", "cited";
    NAMED_GRANULE = "named_granule", Some("a granule of a subset"),
        ["dataset_id", "subset_id"] ["granule_id"];
    MIRROR_SOURCE = "mirror_source", Some("a primary"), ["dataset_id"] ["id"],
        "source", "read", "identical", "pulled", "options", "failed", "failure",
        "contradicts", "imported";
    LOG_CHANGE = "log_change", Some("a change of a primary"), ["dataset_id", "source_id"] ["number"],
        "timestamp", "identifier", "digest", "line_check", "bytes", "granules", "ingested", "deleted",
        "described", "replaced", "note";
    FIXITY_ROOT = "fixity_root", Some("a root of file checks"), ["dataset_id"] ["root"],
        "cursor", "cycle_started", "full_since", "locked_by", "locked_until", "files", "bytes";
    FIXITY_FINDING = "fixity_finding", Some("a finding of file checks"),
        ["dataset_id"] ["granule_id", "path", "root"], "status", "expected", "found", "first_seen";
    PAYMENT_WORKER = "payment_worker", Some("a worker for payment ids"), [] ["worker"],
        "layout", "epoch", "last_second", "next_counter";
    PAYMENT_TAKEN = "payment_taken", Some("a payment id"), [] ["id"];
    STATEMENT = "statement", Some("a statement"), [] ["number"], "dataset", "subset", "since", "text";
    TREE_HEAD = "tree_head", Some("a checkpoint"), [] ["size"], "note", "policy", "signed";
    GRANULE = "granule", None, ["dataset_id"] ["granule_id", "ingested"],
        "deleted", "producer_granule";
    CHECKPOINT = "checkpoint", None, ["dataset_id"] ["granule_id"], "chain", "list", "granules";
    CONTENT = "content", Some("the content of a granule"), ["dataset_id"] ["granule_id", "since"], "files";
}

/// A statement for both stores.
///
/// Its parameters are `?1`, `?2`, …, and the names of tables are in braces: `FROM {granule}`. `{annotation.*}`
/// means all columns of a table; the last of them is the checksum of the row. On a server the tables are in a
/// schema, because names are not looked up in a search path; SQLite has no name for that schema. A condition on
/// a list is written for SQLite: `id IN rarray(?2)`.
pub(super) struct Sql {
    text: Text,
    for_file: OnceLock<Cow<'static, str>>,
}

enum Text {
    Shared(Cow<'static, str>),
    /// The text for a file, and the text for a server, of a statement that has no common form.
    ByStore(&'static str, #[cfg_attr(not(feature = "postgres"), expect(unused))] &'static str),
}

impl Sql {
    /// A statement with the same text for both stores.
    pub const fn new(text: &'static str) -> Self {
        Sql { text: Text::Shared(Cow::Borrowed(text)), for_file: OnceLock::new() }
    }

    /// Like [`Sql::new`], with a text that is made at run time.
    pub const fn of(text: String) -> Self {
        Sql { text: Text::Shared(Cow::Owned(text)), for_file: OnceLock::new() }
    }

    /// A statement with the same parameters and columns in both stores, but with two texts.
    pub const fn by_store(file: &'static str, server: &'static str) -> Self {
        Sql { text: Text::ByStore(file, server), for_file: OnceLock::new() }
    }

    /// The text for SQLite.
    pub fn for_file(&self) -> &str {
        self.for_file.get_or_init(|| match &self.text {
            Text::Shared(text) => rendered(text, "").into(),
            Text::ByStore(text, _) => rendered(text, "").into(),
        })
    }

    /// The text for PostgreSQL.
    #[cfg(feature = "postgres")]
    pub fn for_server(&self) -> String {
        let text = match &self.text {
            Text::Shared(text) => text,
            Text::ByStore(_, text) => *text,
        };
        rendered(text, "accession.").replace("IN rarray(", "= ANY (").replace('?', "$")
    }
}

/// A text in which the names in braces are replaced by the names of tables and of their columns.
fn rendered(text: &str, schema: &str) -> String {
    let mut parts = text.split('{');
    let mut rendered = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        match name.strip_suffix(".*") {
            None => rendered.extend([schema, name]),
            Some(name) => {
                let table = TABLES.iter().find(|table| table.name == name);
                let columns = table.into_iter().flat_map(|table| table.all_columns());
                let columns: Vec<_> = columns.map(|column| format!("{name}.{column}")).collect();
                rendered.push_str(&columns.join(", "));
            }
        }
        rendered.push_str(rest);
    }
    rendered
}

/// What happens to an added row whose key is already in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    /// The statement fails.
    Refused,
    /// The row is replaced.
    Replaced,
}

/// The statement that adds rows to a table, in two parts: the text before VALUES, and the text after the rows.
pub(super) fn insertion(table: &StoredTable, existing: Existing, schema: &str) -> (String, String) {
    let name = table.name;
    let columns: Vec<_> = table.all_columns().collect();
    let into = format!("INSERT INTO {schema}{name} ({})", columns.join(", "));
    if existing == Existing::Refused {
        return (into, String::new());
    }
    let key = table.columns[..table.key].join(", ");
    let set = columns[table.key..].iter().map(|column| format!("{column} = excluded.{column}"));
    let set: Vec<_> = set.collect();
    (into, format!(" ON CONFLICT ({key}) DO UPDATE SET {}", set.join(", ")))
}

/// The value of a parameter or a column. Values of one column compare in the order of the store.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub(crate) enum Value<'a> {
    /// NULL, for a column of any type.
    Null,
    Int(i64),
    /// A number that is too large for a store.
    TooLarge(u64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    Texts(&'a [&'a str]),
    Ints(&'a [i64]),
    Identifiers(&'a [Identifier]),
}

impl Value<'_> {
    /// The number of bytes of a string or a blob; 0 for other values.
    pub fn bytes(&self) -> usize {
        match self {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// The value of a column as an owned value.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Int(value) => Value::Int(value),
            Value::Text(text) => Value::Text(text.into_owned().into()),
            Value::Bytes(bytes) => Value::Bytes(bytes.into_owned().into()),
            _ => unreachable!("a column has a number, a string or bytes"),
        }
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, T::into)
    }
}

macro_rules! values {
    ($($from:ty: $given:ident => $value:expr;)+) => {
        $(impl<'a> From<$from> for Value<'a> {
            fn from($given: $from) -> Self {
                $value
            }
        })+
    };
}

values! {
    i64: value => Value::Int(value);
    u32: value => Value::Int(value.into());
    u64: count => count.try_into().map_or(Value::TooLarge(count), Value::Int);
    DatasetKey: dataset => dataset.0.into();
    SubsetKey: subset => subset.0.into();
    SourceKey: source => source.0.into();
    Timestamp: timestamp => timestamp.as_micros().into();
    Identifier: identifier => Value::Bytes(identifier.as_bytes().to_vec().into());
    &'a Identifier: identifier => identifier.as_bytes().as_slice().into();
    &'a Digest: digest => digest.as_bytes().as_slice().into();
    &'a LineCheck: check => check.as_bytes().as_slice().into();
    &'a [u8]: bytes => Value::Bytes(bytes.into());
    &'a str: text => Value::Text(text.into());
    String: text => Value::Text(text.into());
    &'a GranuleId: granule_id => granule_id.as_str().into();
    &'a DatasetName: name => name.as_str().into();
}

/// The columns of a row, counted from 0.
pub(crate) trait Columns {
    /// The value of a column, of any type that is stored. A flag is 0 or 1.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`]: its type is one that no column has.
    fn value(&self, column: usize) -> Result<Value<'_>>;
}

impl dyn Columns + '_ {
    /// The value of a column.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`]: the value is not valid for this type.
    pub fn get<F: Field>(&self, column: usize) -> Result<F> {
        F::read(self.value(column)?, column)
    }
}

/// The error for a value that is not valid for its column.
pub(super) fn damaged(error: impl std::fmt::Display) -> Error {
    Error::damaged(error)
}

/// A value of a column.
pub(crate) trait Field: Sized {
    fn read(value: Value<'_>, column: usize) -> Result<Self>;

    fn value(&self) -> Value<'_>;
}

macro_rules! fields {
    ($($field:ty: $what:literal, $pattern:pat => $read:expr, $value:expr;)+) => {
        $(impl Field for $field {
            fn read(value: Value<'_>, column: usize) -> Result<Self> {
                let read = match value {
                    $pattern => $read,
                    _ => None,
                };
                read.ok_or_else(|| {
                    let number = column + 1;
                    damaged(format_args!("the value in column {number} of a row is not a {}", $what))
                })
            }

            fn value(&self) -> Value<'_> {
                let value: fn(&Self) -> Value<'_> = $value;
                value(self)
            }
        })+
    };
}

fields! {
    i64: "number", Value::Int(value) => Some(value), |number| (*number).into();
    u64: "count", Value::Int(count) => count.try_into().ok(), |count| (*count).into();
    u32: "count", Value::Int(count) => count.try_into().ok(), |count| (*count).into();
    bool: "flag", Value::Int(flag @ (0 | 1)) => Some(flag == 1), |flag| i64::from(*flag).into();
    Timestamp: "instant", Value::Int(micros) => Timestamp::from_micros(micros),
        |timestamp| (*timestamp).into();
    DatasetKey: "key", Value::Int(key) => Some(DatasetKey(key)), |dataset| (*dataset).into();
    Identifier: "identifier",
        Value::Bytes(bytes) => bytes[..].try_into().ok().map(Identifier::from_bytes),
        |identifier| identifier.into();
    Digest: "digest", Value::Bytes(bytes) => bytes[..].try_into().ok().map(Digest::from_bytes),
        |digest| digest.into();
    LineCheck: "check of a line",
        Value::Bytes(bytes) => bytes[..].try_into().ok().map(LineCheck::from_bytes),
        |check| check.into();
    Vec<u8>: "string of bytes", Value::Bytes(bytes) => Some(bytes.into_owned()),
        |bytes| bytes.as_slice().into();
    String: "string", Value::Text(text) => Some(text.into_owned()), |text| text.as_str().into();
    GranuleId: "granule id", Value::Text(text) => GranuleId::new(text).ok(),
        |granule_id| granule_id.into();
    Limit: "limit", Value::Text(text) => text.parse().ok(), |limit| limit.to_string().into();
    PrimaryOptions: "JSON object of options", Value::Text(text) => serde_json::from_str(&text).ok(),
        |options| serde_json::json!(options).to_string().into();
    SubsetCriteria: "JSON array of patterns", Value::Text(text) => criteria_from(&text),
        |criteria| criteria_text(criteria).into();
    SubsetKey: "key", Value::Int(key) => key.try_into().ok().map(SubsetKey), |subset| (*subset).into();
    SourceKey: "key", Value::Int(key) => key.try_into().ok().map(SourceKey), |source| (*source).into();
    serde_json::Value: "JSON value", Value::Text(text) => serde_json::from_str(&text).ok(),
        |json| json.to_string().into();
}

/// The criteria of a subset as a JSON array of strings: its patterns, or an empty array if the subset lists
/// granules by name.
fn criteria_text(criteria: &SubsetCriteria) -> String {
    let patterns = match criteria {
        SubsetCriteria::Patterns(patterns) => patterns.as_slice(),
        SubsetCriteria::Named => &[],
    };
    serde_json::json!(patterns).to_string()
}

/// The criteria that are stored in a column.
fn criteria_from(text: &str) -> Option<SubsetCriteria> {
    let patterns = serde_json::from_str::<Option<Vec<Pattern>>>(text).ok()?;
    let are_few = patterns.as_ref().is_none_or(|it| it.len() <= SubsetCriteria::MAX_PATTERNS);
    are_few.then(|| SubsetCriteria::from(patterns))
}

/// Registries of a testing version can contain names that are not valid now: such an error names the value.
impl Field for DatasetName {
    fn read(value: Value<'_>, column: usize) -> Result<Self> {
        String::read(value, column)?.parse().map_err(damaged)
    }

    fn value(&self) -> Value<'_> {
        self.into()
    }
}

impl<F: Field> Field for Option<F> {
    fn read(value: Value<'_>, column: usize) -> Result<Self> {
        match value {
            Value::Null => Ok(None),
            value => F::read(value, column).map(Some),
        }
    }

    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, F::value)
    }
}
