//! The tables `record_version` and `dataset_name`, and the withdrawal of a dataset: the earlier
//! versions of its record, and its former names.

use crate::model::{DatasetName, Timestamp, Withdrawal};
use crate::store::Result;
use crate::store::page::ascending;
use crate::store::rows::{DatasetKey, StoredVersion};
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{Columns, Scope, Sql, damaged};

impl Snapshot {
    /// The former names of a dataset, latest first.
    pub fn former_names(&self, dataset: DatasetKey) -> Result<Vec<DatasetName>> {
        static FORMER: Sql = Sql::new(
            "SELECT dataset_name.name
            FROM {dataset_name}
            JOIN {dataset} ON dataset.id = dataset_name.dataset_id
            WHERE dataset_name.dataset_id = ?1 AND dataset_name.name <> dataset.name
            ORDER BY dataset_name.renamed DESC, dataset_name.name",
        );
        self.rows(Scope::Registry, &FORMER, &[dataset.into()], |row| row.dataset_name(0))
    }

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

    /// When a dataset was withdrawn, and why. `None` means that it is not withdrawn.
    pub fn withdrawal(&self, dataset: DatasetKey) -> Result<Option<Withdrawal>> {
        static WITHDRAWN: Sql = Sql::new(
            "SELECT withdrawn, withdrawn_note
            FROM {dataset}
            WHERE id = ?1",
        );
        self.row(Scope::Registry, &WITHDRAWN, &[dataset.into()], |row| withdrawal(row, 0))?
            .ok_or_else(|| damaged("a dataset has no row"))
    }

    /// The versions of a dataset's record after a version (0 means from the first), at most
    /// `limit`.
    pub fn record_versions(
        &self,
        dataset: DatasetKey,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredVersion>> {
        static PAGE: Sql = Sql::new(
            "SELECT version, recorded, recorded_by, action, record
            FROM {record_version}
            WHERE dataset_id = ?1 AND version > ?2
            ORDER BY version
            LIMIT ?3",
        );
        let values = [dataset.into(), after.into(), limit.into()];
        let versions = self.rows(Scope::Dataset(dataset), &PAGE, &values, |row| {
            Ok(StoredVersion {
                version: row.count(0)?,
                recorded: row.instant(1)?,
                recorded_by: self.shown(row.string_or_null(2)?),
                action: row.string(3)?,
                record: serde_json::from_str(row.text(4)?).map_err(damaged)?,
            })
        })?;
        ascending(
            "record_version",
            versions,
            |first| first.version > after,
            |one, next| one.version < next.version,
        )
    }

    /// The latest time at which anything was recorded: a change, a version of a record, a citation
    /// of a subset, the reading of a log. `None` means that nothing was. If there are times at or
    /// after `enough`, any one of them may be returned.
    ///
    /// In a file, the first three are one look-up in each of the indexes of the second copies; on a
    /// server, they cost a pass on every machine. If these times are older than `enough`, the versions
    /// of the records are read, from the dataset that was added last.
    pub fn last_recorded(&self, enough: Timestamp) -> Result<Option<Timestamp>> {
        static OTHERS: Sql = Sql::new(
            "SELECT max(newest)
            FROM (
                SELECT max(recorded) AS newest FROM {instance}
                UNION ALL
                SELECT max(cited) FROM {saved_selection}
                UNION ALL
                SELECT max(read) FROM {mirror_source}
            ) AS times",
        );
        static RECENT_VERSION: Sql = Sql::new(
            "SELECT recorded
            FROM {record_version}
            WHERE recorded >= ?1
            ORDER BY dataset_id DESC, version DESC
            LIMIT 1",
        );
        static VERSIONS: Sql = Sql::new(
            "SELECT max(recorded)
            FROM {record_version}",
        );
        let newest = |sql, values: &[_]| -> Result<Option<Timestamp>> {
            Ok(self.row(Scope::Registry, sql, values, |row| row.instant_or_null(0))?.flatten())
        };
        let others = newest(&OTHERS, &[])?;
        if others.is_some_and(|newest| newest >= enough) {
            return Ok(others);
        }
        match newest(&RECENT_VERSION, &[enough.into()])? {
            None => Ok(others.max(newest(&VERSIONS, &[])?)),
            recent => Ok(recent),
        }
    }

    /// The number of the last version of a dataset's record. 0 means that no version is stored.
    pub fn last_record_version(&self, dataset: DatasetKey) -> Result<u64> {
        static LAST: Sql = Sql::new(
            "SELECT coalesce(max(version), 0)
            FROM {record_version}
            WHERE dataset_id = ?1",
        );
        let last =
            self.row(Scope::Dataset(dataset), &LAST, &[dataset.into()], |row| row.count(0))?;
        Ok(last.unwrap_or(0))
    }
}

impl Transaction {
    /// Adds a version of a dataset's record.
    pub fn insert_record_version(
        &self,
        dataset: DatasetKey,
        version: &StoredVersion,
    ) -> Result<()> {
        static INSERT: Sql = Sql::new(
            "INSERT INTO {record_version}
                (dataset_id, version, recorded, recorded_by, action, record)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        );
        let record = version.record.to_string();
        let values = [
            dataset.into(),
            version.version.into(),
            version.recorded.into(),
            version.recorded_by.as_deref().into(),
            version.action.as_str().into(),
            record.as_str().into(),
        ];
        self.run(dataset, &INSERT, &values)
    }

    /// Keeps a name that a dataset gave up.
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
        self.run(dataset, &KEEP, &[former.into(), dataset.into(), renamed.into()])
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

    /// Withdraws a dataset; `None` reinstates it.
    pub fn set_withdrawal(
        &self,
        dataset: DatasetKey,
        withdrawal: Option<&Withdrawal>,
    ) -> Result<()> {
        static SET: Sql = Sql::new(
            "UPDATE {dataset}
            SET withdrawn = ?2, withdrawn_note = ?3
            WHERE id = ?1",
        );
        let withdrawn = withdrawal.map(|withdrawal| withdrawal.timestamp);
        let note = withdrawal.and_then(|withdrawal| withdrawal.note.as_deref());
        self.run(dataset, &SET, &[dataset.into(), withdrawn.into(), note.into()])
    }
}

/// The withdrawal in two columns: when, and why.
pub(super) fn withdrawal(row: &dyn Columns, first: usize) -> Result<Option<Withdrawal>> {
    let note = row.string_or_null(first + 1)?;
    Ok(row.instant_or_null(first)?.map(|timestamp| Withdrawal { timestamp, note }))
}
