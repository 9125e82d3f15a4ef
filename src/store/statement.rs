//! Statements that both stores understand, the values that they are given, and the columns that they
//! return.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::rows::{DatasetKey, SourceKey, SubsetKey};
use super::{Error, Result};
use crate::model::{DatasetName, GranuleId, Identifier, Timestamp};

/// A statement for both stores.
///
/// Its parameters are `?1`, `?2`, …, and the names of tables are in braces: `FROM {granule}`. What is
/// in brackets is for a server only, where an id is unique within its dataset: `[dataset_id = ?1
/// AND] source_id = ?2`. A server has the tables in a schema, since nothing is found there by a search
/// path, and SQLite has no name for that schema.
pub(super) struct Sql {
    text: Text,
    for_file: OnceLock<Cow<'static, str>>,
}

enum Text {
    Shared(&'static str),
    /// For statements that have no common form: a file's, and a server's.
    ByStore(&'static str, #[cfg_attr(not(feature = "postgres"), expect(unused))] &'static str),
}

impl Sql {
    /// A statement that says the same in both stores.
    pub const fn new(text: &'static str) -> Self {
        Sql { text: Text::Shared(text), for_file: OnceLock::new() }
    }

    /// A statement with the same parameters and columns in both stores, but with another text.
    pub const fn by_store(file: &'static str, server: &'static str) -> Self {
        Sql { text: Text::ByStore(file, server), for_file: OnceLock::new() }
    }

    /// The text for SQLite.
    pub fn for_file(&self) -> &str {
        self.for_file.get_or_init(|| {
            let (Text::Shared(text) | Text::ByStore(text, _)) = self.text;
            rendered(text, "", Server::LeftOut)
        })
    }

    /// The text for PostgreSQL.
    #[cfg(feature = "postgres")]
    pub fn for_server(&self) -> String {
        let (Text::Shared(text) | Text::ByStore(_, text)) = self.text;
        rendered(text, "accession.", Server::Kept).replace('?', "$")
    }
}

/// What becomes of the parts in brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Server {
    #[cfg_attr(not(feature = "postgres"), expect(unused))]
    Kept,
    LeftOut,
}

fn rendered(text: &'static str, schema: &str, server: Server) -> Cow<'static, str> {
    if !text.contains(['{', '[']) {
        return text.into();
    }
    let mut rendered = String::with_capacity(text.len() + 32);
    let mut is_left_out = false;
    for character in text.chars() {
        match character {
            '[' => is_left_out = server == Server::LeftOut,
            ']' => is_left_out = false,
            _ if is_left_out => {}
            '{' => rendered.push_str(schema),
            '}' => {}
            _ => rendered.push(character),
        }
    }
    rendered.into()
}

/// A statement that adds rows: `INSERT INTO {table} (column, …)`, up to VALUES.
pub(super) struct Insert {
    pub into: Sql,
    /// The number of columns.
    pub columns: usize,
}

impl Insert {
    /// A statement that adds rows with so many columns.
    pub const fn new(into: &'static str, columns: usize) -> Self {
        Insert { into: Sql::new(into), columns }
    }

    /// How many of the first columns are for a server only.
    pub fn columns_for_server_only(&self) -> usize {
        let (Text::Shared(text) | Text::ByStore(text, _)) = self.into.text;
        text.matches('[').count()
    }
}

/// What a query is about, and so which machines of a cluster it asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The rows of one dataset: the machine that has them.
    Dataset(DatasetKey),
    /// What every machine has a copy of, of a dataset as it is once it is locked.
    Locked(DatasetKey),
    /// The rows of all datasets: every machine.
    AllDatasets,
    /// What every machine has a copy of.
    Registry,
}

/// The value of a parameter.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Int(Option<i64>),
    /// A number that may be greater than what a store can store.
    Count(Option<u64>),
    Text(Option<&'a str>),
    Identifier(Identifier),
    Bytes(&'a [u8]),
    Flag(bool),
    Texts(&'a [&'a str]),
    Ints(&'a [i64]),
    Identifiers(&'a [Identifier]),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Int(Some(value))
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        Value::Int(Some(value.into()))
    }
}

impl From<u64> for Value<'_> {
    fn from(count: u64) -> Self {
        Value::Count(Some(count))
    }
}

impl From<Option<u64>> for Value<'_> {
    fn from(count: Option<u64>) -> Self {
        Value::Count(count)
    }
}

impl From<DatasetKey> for Value<'_> {
    fn from(dataset: DatasetKey) -> Self {
        dataset.0.into()
    }
}

impl From<SubsetKey> for Value<'_> {
    fn from(subset: SubsetKey) -> Self {
        subset.0.into()
    }
}

impl From<SourceKey> for Value<'_> {
    fn from(source: SourceKey) -> Self {
        source.0.into()
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.as_micros().into()
    }
}

impl From<Option<Timestamp>> for Value<'_> {
    fn from(timestamp: Option<Timestamp>) -> Self {
        Value::Int(timestamp.map(Timestamp::as_micros))
    }
}

impl From<Identifier> for Value<'_> {
    fn from(identifier: Identifier) -> Self {
        Value::Identifier(identifier)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Value::Bytes(bytes)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(Some(text))
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Self {
        Value::Text(text)
    }
}

impl<'a> From<&'a GranuleId> for Value<'a> {
    fn from(granule_id: &'a GranuleId) -> Self {
        granule_id.as_str().into()
    }
}

impl<'a> From<&'a DatasetName> for Value<'a> {
    fn from(name: &'a DatasetName) -> Self {
        name.as_str().into()
    }
}

/// The columns of a row, counted from 0.
///
/// # Errors
///
/// Each returns [`ErrorKind::Damaged`] for a value that is not of its type.
pub(super) trait Columns {
    fn int_or_null(&self, column: usize) -> Result<Option<i64>>;
    fn text_or_null(&self, column: usize) -> Result<Option<&str>>;
    fn bytes(&self, column: usize) -> Result<&[u8]>;
    fn flag(&self, column: usize) -> Result<bool>;
}

impl dyn Columns + '_ {
    pub fn int(&self, column: usize) -> Result<i64> {
        self.int_or_null(column)?.ok_or_else(|| is_null(column))
    }

    pub fn text(&self, column: usize) -> Result<&str> {
        self.text_or_null(column)?.ok_or_else(|| is_null(column))
    }

    pub fn string(&self, column: usize) -> Result<String> {
        Ok(self.text(column)?.to_owned())
    }

    pub fn string_or_null(&self, column: usize) -> Result<Option<String>> {
        Ok(self.text_or_null(column)?.map(str::to_owned))
    }

    pub fn count(&self, column: usize) -> Result<u64> {
        self.int(column)?.try_into().map_err(|_| not_a("count", column))
    }

    pub fn count_or_null(&self, column: usize) -> Result<Option<u64>> {
        let count = self.int_or_null(column)?.map(u64::try_from);
        count.transpose().map_err(|_| not_a("count", column))
    }

    pub fn instant(&self, column: usize) -> Result<Timestamp> {
        Timestamp::from_micros(self.int(column)?).ok_or_else(|| not_a("instant", column))
    }

    pub fn instant_or_null(&self, column: usize) -> Result<Option<Timestamp>> {
        let Some(micros) = self.int_or_null(column)? else { return Ok(None) };
        Timestamp::from_micros(micros).map(Some).ok_or_else(|| not_a("instant", column))
    }

    pub fn identifier(&self, column: usize) -> Result<Identifier> {
        let bytes = self.bytes(column)?;
        let bytes = bytes.try_into().map_err(|_| not_a("identifier", column))?;
        Ok(Identifier::from_bytes(bytes))
    }

    pub fn granule_id(&self, column: usize) -> Result<GranuleId> {
        GranuleId::new(self.text(column)?).map_err(damaged)
    }

    pub fn granule_id_or_null(&self, column: usize) -> Result<Option<GranuleId>> {
        self.text_or_null(column)?.map(GranuleId::new).transpose().map_err(damaged)
    }

    pub fn dataset_name(&self, column: usize) -> Result<DatasetName> {
        self.text(column)?.parse().map_err(damaged)
    }
}

/// The error of a value that cannot be one of its column.
pub(super) fn damaged(error: impl std::fmt::Display) -> Error {
    Error::damaged(error)
}

fn is_null(column: usize) -> Error {
    damaged(format_args!("column {} of a row has no value", column + 1))
}

fn not_a(what: &str, column: usize) -> Error {
    damaged(format_args!(
        "the number or the bytes in column {} of a row are not a valid {what}",
        column + 1
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_a_server_is_left_out_for_a_file() {
        static LAST: Sql =
            Sql::new("SELECT number FROM {log_change} WHERE [dataset_id = ?1 AND] source_id = ?2");
        assert_eq!(LAST.for_file(), "SELECT number FROM log_change WHERE  source_id = ?2");
        #[cfg(feature = "postgres")]
        assert_eq!(
            LAST.for_server(),
            "SELECT number FROM accession.log_change WHERE dataset_id = $1 AND source_id = $2"
        );
        static NEXT: Sql = Sql::by_store("SELECT last_insert_rowid()", "SELECT max(id) FROM {t}");
        assert_eq!(NEXT.for_file(), "SELECT last_insert_rowid()");
    }
}
