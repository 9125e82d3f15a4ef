//! Rows of any table, as they are stored, for reading from one registry and writing into another.

use crate::store::Result;
use crate::store::page::out_of_order;
use crate::store::rows::DatasetKey;
use crate::store::session::{Transaction, View};
use crate::store::statement::{Existing, Sql, StoredTable, TABLES, Value};

/// Rows of a table, in the order of its key.
#[derive(Debug)]
pub(crate) struct RawRows {
    pub(super) table: &'static StoredTable,
    /// The values of all columns of the first row, then those of the second, and so on.
    pub(super) values: Vec<Value<'static>>,
}

/// The number of rows that are read at once, if each may have a note of the greatest length.
const PAGE_ROWS: u32 = 256;

impl RawRows {
    /// The number of rows.
    pub fn count(&self) -> u64 {
        (self.values.len() / self.table.all_columns().count()) as u64
    }

    /// Whether the rows are payment ids.
    pub fn are_of_payment_ids(&self) -> bool {
        self.table.name.starts_with("payment_")
    }

    /// Whether the rows are holding periods of granules.
    pub fn are_periods(&self) -> bool {
        self.table.name == "granule"
    }
}

impl View {
    /// The keys of all datasets, withdrawn ones included.
    pub fn dataset_keys(&self) -> Result<Vec<DatasetKey>> {
        static KEYS: Sql = Sql::new("SELECT id FROM {dataset} ORDER BY id");
        self.rows(&KEYS, &[], |row| row.get(0))
    }

    /// All rows of a dataset, table by table. Each table refers only to tables before it.
    pub fn raw_rows_of(&self, dataset: DatasetKey) -> impl Iterator<Item = Result<RawRows>> + '_ {
        let tables = TABLES.into_iter().filter(|table| table.dataset_column().is_some());
        tables.flat_map(move |table| self.raw_rows(table, Some(dataset)))
    }

    /// All rows that belong to no dataset: payment ids, and the statements about sets of all datasets.
    pub fn raw_rows_of_none(&self) -> impl Iterator<Item = Result<RawRows>> + '_ {
        let tables = TABLES.into_iter().filter(|table| table.dataset_column().is_none());
        tables.flat_map(|table| self.raw_rows(table, None))
    }

    pub(super) fn raw_rows(
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

    /// The rows after a key, which is given without the dataset.
    fn raw_page(
        &self,
        table: &'static StoredTable,
        dataset: Option<DatasetKey>,
        after: &[Value<'static>],
        limit: u32,
    ) -> Result<RawRows> {
        let columns = table.all_columns().count();
        let mut values: Vec<Value<'static>> = Vec::new();
        self.each_after(table, dataset, after, limit, &mut |row| {
            let start = values.len();
            for column in 0..columns {
                values.push(row.value(column)?.into_owned());
            }
            let (before, new) = values.split_at(start);
            let before = before.len().checked_sub(columns).map(|last| &before[last..]);
            let before = before.map_or(after, |last| key(table, last));
            match before < key(table, new) || key(table, new).is_empty() {
                true => Ok(()),
                false => Err(out_of_order(table.name)),
            }
        })?;
        Ok(RawRows { table, values })
    }
}

/// The key of a row, without the dataset.
fn key<'row>(table: &StoredTable, row: &'row [Value<'static>]) -> &'row [Value<'static>] {
    &row[table.key_in_dataset()]
}

impl Transaction {
    /// Locks a dataset before its rows are added with its key.
    pub fn lock_new_dataset(&self, dataset: DatasetKey) -> Result<()> {
        self.lock_registry()?;
        self.session()?.lock_new(dataset)
    }

    /// Adds rows as they were stored.
    pub fn insert_raw(&self, rows: &RawRows) -> Result<()> {
        if rows.values.is_empty() {
            return Ok(());
        }
        self.session()?.insert(rows.table, Existing::Refused, &rows.values)
    }
}

#[cfg(test)]
impl View {
    /// All stored rows as text, for comparing registries.
    pub fn contents(&self) -> Result<String> {
        let mut contents = String::new();
        let datasets = self.dataset_keys()?;
        let of_datasets = datasets.into_iter().flat_map(|dataset| self.raw_rows_of(dataset));
        for rows in of_datasets.chain(self.raw_rows_of_none()) {
            contents += &format!("{:?}\n", rows?);
        }
        Ok(contents)
    }
}
