//! The columns `max_delete` and `max_add` of the table `dataset`: how much a change may delete and add
//! that replaces the set of a dataset by a listing.

use crate::model::{Limit, LimitError, Limits};
use crate::store::Result;
use crate::store::rows::DatasetKey;
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{Columns, Scope, Sql, damaged};

impl Snapshot {
    /// The limits of a dataset.
    pub fn limits(&self, dataset: DatasetKey) -> Result<Limits> {
        static LIMITS: Sql = Sql::new(
            "SELECT max_delete, max_add
            FROM {dataset}
            WHERE id = ?1",
        );
        self.row(Scope::Registry, &LIMITS, &[dataset.into()], |row| limits(row, 0))?
            .ok_or_else(|| damaged("a dataset has no row"))
    }
}

impl Transaction {
    /// Stores the limits of a dataset.
    pub fn set_limits(&self, dataset: DatasetKey, limits: Limits) -> Result<()> {
        static SET: Sql = Sql::new(
            "UPDATE {dataset}
            SET max_delete = ?2, max_add = ?3
            WHERE id = ?1",
        );
        let text = |limit: Option<Limit>| limit.map(|limit| limit.to_string());
        let (max_delete, max_add) = (text(limits.max_delete), text(limits.max_add));
        let values = [dataset.into(), max_delete.as_deref().into(), max_add.as_deref().into()];
        self.run(dataset, &SET, &values)
    }
}

/// The limits in two columns.
pub(super) fn limits(row: &dyn Columns, first: usize) -> Result<Limits> {
    Ok(Limits { max_delete: limit(row, first)?, max_add: limit(row, first + 1)? })
}

fn limit(row: &dyn Columns, column: usize) -> Result<Option<Limit>> {
    let limit = row.text_or_null(column)?.map(str::parse);
    limit.transpose().map_err(|error: LimitError| damaged(error))
}
