//! Rows of any table as they are stored, which are read from one registry and written into another.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::store::Result;
use crate::store::page::out_of_order;
use crate::store::row::{is_sound, position};
use crate::store::rows::DatasetKey;
use crate::store::session::{Transaction, View};
use crate::store::statement::{Existing, Sql, StoredTable, TABLES, Value, damaged};

/// Rows of a table, in the order of its key.
#[derive(Debug)]
pub(crate) struct RawRows {
    table: &'static StoredTable,
    /// The values of all columns of the first row, then those of the second, and so on.
    values: Vec<Raw>,
}

/// A value as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Raw {
    Int(Option<i64>),
    Text(Option<String>),
    Bytes(Vec<u8>),
}

/// The columns of strings that may be NULL, which has no type in a file. A server asks for one.
const STRINGS_OR_NULL: [&str; 16] = [
    "doi",
    "withdrawn_note",
    "max_delete",
    "max_add",
    "max_replace",
    "recorded_by",
    "note",
    "patterns",
    "etag",
    "options",
    "failure",
    "cursor",
    "locked_by",
    "expected",
    "found",
    "producer_granule",
];

/// How many rows with a note of the greatest length are read at once.
const PAGE_ROWS: u32 = 256;

impl RawRows {
    /// The number of rows.
    pub fn count(&self) -> u64 {
        (self.values.len() / self.table.all_columns().count()) as u64
    }

    /// Whether they are holding periods of granules.
    pub fn are_periods(&self) -> bool {
        self.table.name == "granule"
    }
}

impl Raw {
    fn of(value: &Value<'_>, column: &str) -> Result<Self> {
        Ok(match value {
            Value::Int(None) if STRINGS_OR_NULL.contains(&column) => Raw::Text(None),
            Value::Int(value) => Raw::Int(*value),
            Value::Text(text) => Raw::Text(text.as_deref().map(str::to_owned)),
            Value::Bytes(bytes) => Raw::Bytes(bytes.to_vec()),
            _ => return Err(damaged(format_args!("the column {column} has a value of no type"))),
        })
    }

    fn value(&self) -> Value<'_> {
        match self {
            Raw::Int(value) => Value::Int(*value),
            Raw::Text(text) => text.as_deref().into(),
            Raw::Bytes(bytes) => bytes.as_slice().into(),
        }
    }
}

impl View {
    /// The keys of all datasets, withdrawn ones included.
    pub fn dataset_keys(&self) -> Result<Vec<DatasetKey>> {
        static KEYS: Sql = Sql::new("SELECT id FROM {dataset} ORDER BY id");
        self.rows(&KEYS, &[], |row| row.get(0))
    }

    /// All rows of a dataset, table by table, each of which refers only to those before it.
    pub fn raw_rows_of(&self, dataset: DatasetKey) -> impl Iterator<Item = Result<RawRows>> + '_ {
        let tables = TABLES.into_iter().filter(|table| table.dataset_column().is_some());
        tables.flat_map(move |table| self.raw_rows(table, Some(dataset)))
    }

    /// All rows that belong to no dataset: those of payment ids.
    pub fn raw_rows_of_none(&self) -> impl Iterator<Item = Result<RawRows>> + '_ {
        let tables = TABLES.into_iter().filter(|table| table.dataset_column().is_none());
        tables.flat_map(|table| self.raw_rows(table, None))
    }

    fn raw_rows(
        &self,
        table: &'static StoredTable,
        dataset: Option<DatasetKey>,
    ) -> impl Iterator<Item = Result<RawRows>> + '_ {
        let limit = if table.what.is_some() { PAGE_ROWS } else { self.page_rows() };
        let mut after = Some(Vec::new());
        std::iter::from_fn(move || {
            let page = self.raw_page(table, dataset, &after.take()?, limit);
            if let Ok(rows) = &page
                && rows.count() == u64::from(limit)
            {
                let columns = table.all_columns().count();
                let last = &rows.values[rows.values.len() - columns..];
                after = Some(key(table, last).to_vec()).filter(|key| !key.is_empty());
            }
            Some(page).filter(|page| page.as_ref().map_or(true, |rows| rows.count() > 0))
        })
    }

    /// The rows after one, which is given by its key without the dataset.
    fn raw_page(
        &self,
        table: &'static StoredTable,
        dataset: Option<DatasetKey>,
        after: &[Raw],
        limit: u32,
    ) -> Result<RawRows> {
        let [first, next] = &PAGES[table.name];
        let sql = if after.is_empty() { first } else { next };
        let mut given: Vec<Value<'_>> = dataset.into_iter().map(Value::from).collect();
        given.extend(after.iter().map(Raw::value));
        given.push(limit.into());
        let columns: Vec<&str> = table.all_columns().collect();
        let mut values: Vec<Raw> = Vec::new();
        let (mut checked, mut differing) = (Vec::new(), None);
        let read = self.session.rows(sql, &given, &mut |row| {
            if table.what.is_some() && !is_sound(table, row, 0, &mut checked)? {
                differing = Some(position(table, row, 0)?);
                return Err(damaged("a row differs from its checksum"));
            }
            let start = values.len();
            for (number, column) in columns.iter().enumerate() {
                values.push(Raw::of(&row.value(number)?, column)?);
            }
            let (before, new) = values.split_at(start);
            let before = before.len().checked_sub(columns.len()).map(|last| &before[last..]);
            let before = before.map_or(after, |last| key(table, last));
            match before < key(table, new) || key(table, new).is_empty() {
                true => Ok(()),
                false => Err(out_of_order(table.name)),
            }
        });
        match differing {
            None => read.map(|()| RawRows { table, values }),
            Some(position) => Err(self.differs(table, dataset.map(|it| it.0), &position)),
        }
    }
}

/// The key of a row, without the dataset.
fn key<'row>(table: &StoredTable, row: &'row [Raw]) -> &'row [Raw] {
    &row[key_columns(table)]
}

/// Which columns are the key within a dataset.
fn key_columns(table: &StoredTable) -> std::ops::Range<usize> {
    usize::from(table.dataset_column() == Some(0))..table.key
}

/// The queries for the first page of each table, and for the next ones.
static PAGES: LazyLock<BTreeMap<&str, [Sql; 2]>> = LazyLock::new(|| {
    let queries = |table: &&'static StoredTable| {
        let name = table.name;
        let keys = &table.columns[key_columns(table)];
        let of_dataset = table.dataset_column().map(|column| table.columns[column]);
        let start = usize::from(of_dataset.is_some());
        let given: Vec<_> = (1..=keys.len()).map(|key| format!("?{}", start + key)).collect();
        let (keys, given) = (keys.join(", "), given.join(", "));
        let of_dataset = of_dataset.map(|column| format!("{column} = ?1"));
        let after = Some(format!("({keys}) > ({given})")).filter(|_| !keys.is_empty());
        let query = |conditions: &[&Option<String>], limit: usize| {
            let conditions: Vec<_> = conditions.iter().copied().flatten().cloned().collect();
            let mut sql = format!("SELECT {{{name}.*}} FROM {{{name}}}");
            if !conditions.is_empty() {
                sql.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
            }
            if !keys.is_empty() {
                sql.push_str(&format!(" ORDER BY {keys}"));
            }
            Sql::of(format!("{sql} LIMIT ?{limit}"))
        };
        let keys = key_columns(table).len();
        let first = query(&[&of_dataset], start + 1);
        (name, [first, query(&[&of_dataset, &after], start + keys + 1)])
    };
    TABLES.iter().map(queries).collect()
});

impl Transaction {
    /// Locks a dataset whose rows are about to be added with its key.
    pub fn lock_new_dataset(&self, dataset: DatasetKey) -> Result<()> {
        self.lock_registry()?;
        self.session.lock_new(dataset)
    }

    /// Adds rows as they were stored.
    pub fn insert_raw(&self, rows: &RawRows) -> Result<()> {
        let values: Vec<Value<'_>> = rows.values.iter().map(Raw::value).collect();
        self.session.insert(rows.table, Existing::Refused, &values)
    }
}
