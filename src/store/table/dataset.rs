//! The names and the limits of datasets.

use crate::model::{DatasetName, Limit, LimitError, Limits, Timestamp};
use crate::store::Result;
use crate::store::rows::DatasetKey;
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{Columns, Scope, Sql, damaged};

impl Snapshot {
    /// The names that a dataset gave up, each with the time, in order of time.
    pub fn names_given_up(&self, dataset: DatasetKey) -> Result<Vec<(DatasetName, Timestamp)>> {
        static GIVEN_UP: Sql = Sql::new(
            "SELECT dataset_name.name, dataset_name.renamed
            FROM {dataset_name}
            WHERE dataset_name.dataset_id = ?1
            ORDER BY dataset_name.renamed, dataset_name.name",
        );
        self.rows(Scope::Registry, &GIVEN_UP, &[dataset.into()], |row| {
            Ok((row.dataset_name(0)?, row.instant(1)?))
        })
    }
}

impl Transaction {
    /// Keeps a name that a dataset gave up, also where another dataset gave it up before.
    pub fn keep_name(
        &self,
        dataset: DatasetKey,
        former: &DatasetName,
        renamed: Timestamp,
    ) -> Result<()> {
        static KEEP: Sql = Sql::new(
            "INSERT INTO {dataset_name} (name, dataset_id, renamed)
            VALUES (?1, ?2, ?3)
            ON CONFLICT (name) DO UPDATE
            SET renamed = excluded.renamed",
        );
        static KEPT: Sql = Sql::new(
            "SELECT dataset_id
            FROM {dataset_name}
            WHERE name = ?1",
        );
        static LEAD: Sql = Sql::new(
            "UPDATE {dataset_name}
            SET dataset_id = ?2
            WHERE name = ?1",
        );
        self.run(dataset, &KEEP, &[former.into(), dataset.into(), renamed.into()])?;
        let kept = self.row(Scope::Registry, &KEPT, &[former.into()], |row| row.int(0))?;
        match kept {
            Some(other) if other != dataset.0 => {
                self.run(dataset, &LEAD, &[former.into(), dataset.into()])
            }
            _ => Ok(()),
        }
    }

    /// Gives a dataset a new name, and keeps the former one.
    pub fn rename_dataset(
        &self,
        dataset: DatasetKey,
        former: &DatasetName,
        name: &DatasetName,
        renamed: Timestamp,
    ) -> Result<()> {
        static RENAME: Sql = Sql::new(
            "UPDATE {dataset}
            SET name = ?2
            WHERE id = ?1",
        );
        self.keep_name(dataset, former, renamed)?;
        self.run(dataset, &RENAME, &[dataset.into(), name.into()])
    }
}

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
