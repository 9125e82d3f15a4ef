//! The tables `record_version` and `dataset_name`, and the withdrawal of a dataset: the earlier
//! versions of its record, and its former names.

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, named_params};

use super::column::{Count, Micros};
use super::dataset::name_from;
use crate::model::{DatasetName, Timestamp, Withdrawal};
use crate::store::Result;
use crate::store::order::ascending;
use crate::store::rows::{DatasetKey, StoredVersion};
use crate::store::sqlite::session::{Snapshot, Transaction};

impl Snapshot {
    /// The present name of the dataset that had a name before it was renamed. `None` means that no
    /// dataset had it.
    pub fn dataset_once_called(&self, name: &DatasetName) -> Result<Option<DatasetName>> {
        const ONCE: &str = "
            SELECT dataset.name
            FROM dataset_name
            JOIN dataset ON dataset.id = dataset_name.dataset_id
            WHERE dataset_name.name = :name";
        let mut statement = self.connection().prepare_cached(ONCE)?;
        let params = named_params! { ":name": name.as_str() };
        Ok(statement.query_row(params, |row| name_from(row, 0)).optional()?)
    }

    /// The former names of a dataset, latest first.
    pub fn former_names(&self, dataset: DatasetKey) -> Result<Vec<DatasetName>> {
        const FORMER: &str = "
            SELECT dataset_name.name
            FROM dataset_name
            JOIN dataset ON dataset.id = dataset_name.dataset_id
            WHERE dataset_name.dataset_id = :dataset_id AND dataset_name.name <> dataset.name
            ORDER BY dataset_name.renamed DESC, dataset_name.name";
        let mut statement = self.connection().prepare_cached(FORMER)?;
        let params = named_params! { ":dataset_id": dataset.0 };
        let rows = statement.query_map(params, |row| name_from(row, 0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The names that a dataset gave up, each with the time, in order of time.
    pub fn names_given_up(&self, dataset: DatasetKey) -> Result<Vec<(DatasetName, Timestamp)>> {
        const GIVEN_UP: &str = "
            SELECT dataset_name.name, dataset_name.renamed
            FROM dataset_name
            WHERE dataset_name.dataset_id = :dataset_id
            ORDER BY dataset_name.renamed, dataset_name.name";
        let mut statement = self.connection().prepare_cached(GIVEN_UP)?;
        let rows = statement.query_map(named_params! { ":dataset_id": dataset.0 }, |row| {
            Ok((name_from(row, 0)?, row.get::<_, Micros>(1)?.0))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// When a dataset was withdrawn, and why. `None` means that it is not withdrawn.
    pub fn withdrawal(&self, dataset: DatasetKey) -> Result<Option<Withdrawal>> {
        const WITHDRAWN: &str = "
            SELECT withdrawn, withdrawn_note
            FROM dataset
            WHERE id = :dataset_id";
        let mut statement = self.connection().prepare_cached(WITHDRAWN)?;
        let params = named_params! { ":dataset_id": dataset.0 };
        let found = statement.query_row(params, |row| {
            Ok((row.get::<_, Option<Micros>>(0)?, row.get::<_, Option<String>>(1)?))
        })?;
        Ok(found.0.map(|timestamp| Withdrawal { timestamp: timestamp.0, note: found.1 }))
    }

    /// The versions of a dataset's record after a version (0 means from the first), at most
    /// `limit`.
    pub fn record_versions(
        &self,
        dataset: DatasetKey,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredVersion>> {
        const PAGE: &str = "
            SELECT version, recorded, recorded_by, action, record
            FROM record_version
            WHERE dataset_id = :dataset_id AND version > :after
            ORDER BY version
            LIMIT :limit";
        let params = named_params! {
            ":dataset_id": dataset.0, ":after": Count(after), ":limit": limit,
        };
        let mut statement = self.connection().prepare_cached(PAGE)?;
        let rows = statement.query_map(params, |row| {
            let record = serde_json::from_str(row.get_ref(4)?.as_str()?).map_err(|error| {
                rusqlite::Error::FromSqlConversionFailure(4, Type::Text, error.into())
            })?;
            Ok(StoredVersion {
                version: row.get::<_, Count>(0)?.0,
                recorded: row.get::<_, Micros>(1)?.0,
                recorded_by: row.get(2)?,
                action: row.get(3)?,
                record,
            })
        })?;
        ascending(
            "record_version",
            rows.collect::<rusqlite::Result<_>>()?,
            |first: &StoredVersion| first.version > after,
            |one, next| one.version < next.version,
        )
    }

    /// The latest time at which anything was recorded. `None` means that nothing was. If there are
    /// times at or after `enough`, any one of them may be returned.
    ///
    /// The first is one look-up in each of the indexes of the second copies. If these times are older
    /// than `enough`, it costs a pass over the versions of the records, from the dataset that was
    /// added last.
    pub fn last_recorded(&self, enough: Timestamp) -> Result<Option<Timestamp>> {
        const INDEXED: &str = "
            SELECT max(newest)
            FROM (
                SELECT max(recorded) AS newest FROM instance
                UNION ALL
                SELECT max(cited) FROM saved_selection
                UNION ALL
                SELECT max(read) FROM mirror_source
            )";
        const VERSIONS: &str = "
            SELECT recorded
            FROM record_version
            ORDER BY dataset_id DESC, version DESC";
        let mut statement = self.connection().prepare_cached(INDEXED)?;
        let newest: Option<Micros> = statement.query_row((), |row| row.get(0))?;
        let mut newest = newest.map(|newest| newest.0);
        let mut statement = self.connection().prepare_cached(VERSIONS)?;
        let mut rows = statement.query(())?;
        while newest.is_none_or(|newest| newest < enough)
            && let Some(row) = rows.next()?
        {
            newest = newest.max(Some(row.get::<_, Micros>(0)?.0));
        }
        Ok(newest)
    }

    /// The number of the last version of a dataset's record. 0 means that no version is stored.
    pub fn last_record_version(&self, dataset: DatasetKey) -> Result<u64> {
        const LAST: &str = "
            SELECT coalesce(max(version), 0)
            FROM record_version
            WHERE dataset_id = :dataset_id";
        let mut statement = self.connection().prepare_cached(LAST)?;
        let params = named_params! { ":dataset_id": dataset.0 };
        Ok(statement.query_row(params, |row| row.get::<_, Count>(0))?.0)
    }
}

impl Transaction<'_> {
    /// Adds a version of a dataset's record.
    pub fn insert_record_version(
        &self,
        dataset: DatasetKey,
        version: &StoredVersion,
    ) -> Result<()> {
        const INSERT: &str = "
            INSERT INTO record_version
                (dataset_id, version, recorded, recorded_by, action, record)
            VALUES
                (:dataset_id, :version, :recorded, :recorded_by, :action, :record)";
        self.connection().prepare_cached(INSERT)?.execute(named_params! {
            ":dataset_id": dataset.0,
            ":version": Count(version.version),
            ":recorded": Micros(version.recorded),
            ":recorded_by": version.recorded_by,
            ":action": version.action,
            ":record": version.record.to_string(),
        })?;
        Ok(())
    }

    /// Keeps a name that a dataset gave up.
    pub fn keep_name(
        &self,
        dataset: DatasetKey,
        former: &DatasetName,
        renamed: Timestamp,
    ) -> Result<()> {
        const KEEP: &str = "
            INSERT INTO dataset_name (name, dataset_id, renamed)
            VALUES (:name, :dataset_id, :renamed)
            ON CONFLICT (name) DO UPDATE
            SET renamed = excluded.renamed";
        self.connection().prepare_cached(KEEP)?.execute(named_params! {
            ":name": former.as_str(), ":dataset_id": dataset.0, ":renamed": Micros(renamed),
        })?;
        Ok(())
    }

    /// Gives a dataset a new name, and keeps the former one.
    pub fn rename_dataset(
        &self,
        dataset: DatasetKey,
        former: &DatasetName,
        name: &DatasetName,
        renamed: Timestamp,
    ) -> Result<()> {
        const RENAME: &str = "
            UPDATE dataset
            SET name = :name
            WHERE id = :dataset_id";
        self.keep_name(dataset, former, renamed)?;
        self.connection().prepare_cached(RENAME)?.execute(named_params! {
            ":name": name.as_str(), ":dataset_id": dataset.0,
        })?;
        Ok(())
    }

    /// Withdraws a dataset; `None` reinstates it.
    pub fn set_withdrawal(
        &self,
        dataset: DatasetKey,
        withdrawal: Option<&Withdrawal>,
    ) -> Result<()> {
        const SET: &str = "
            UPDATE dataset
            SET withdrawn = :withdrawn, withdrawn_note = :note
            WHERE id = :dataset_id";
        self.connection().prepare_cached(SET)?.execute(named_params! {
            ":withdrawn": withdrawal.map(|withdrawal| Micros(withdrawal.timestamp)),
            ":note": withdrawal.and_then(|withdrawal| withdrawal.note.as_deref()),
            ":dataset_id": dataset.0,
        })?;
        Ok(())
    }
}
