//! The tables `mirror_source` and `log_change`: what a mirror has read of its primaries, and with
//! what success.

use crate::model::{DatasetName, FailedAttempt, LastPull, LogChange};
use crate::store::page::ascending;
use crate::store::rows::{DatasetKey, MirrorState, SourceKey, StoredSource};
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{Columns, Insert, Scope, Sql, Value, damaged};
use crate::store::{Error, Result};

impl Snapshot {
    /// The primaries that were read for a dataset, by source.
    pub fn mirror_sources(&self, dataset: DatasetKey) -> Result<Vec<(SourceKey, StoredSource)>> {
        static SOURCES: Sql = Sql::new(
            "SELECT id, source, read, identical, etag, pulled, options, failed, failure
            FROM {mirror_source}
            WHERE dataset_id = ?1
            ORDER BY source",
        );
        self.rows(Scope::Dataset(dataset), &SOURCES, &[dataset.into()], |row| {
            let pulled = row.instant_or_null(5)?.map(|recorded| {
                let options = serde_json::from_str(row.text(6)?).map_err(damaged)?;
                Ok::<_, Error>(LastPull { recorded, options })
            });
            let failed = row.instant_or_null(7)?.map(|recorded| {
                Ok::<_, Error>(FailedAttempt { recorded, message: row.string(8)? })
            });
            let stored = StoredSource {
                source: row.string(1)?,
                read: row.instant(2)?,
                identical: row.instant_or_null(3)?,
                etag: row.string_or_null(4)?,
                pulled: pulled.transpose()?,
                failed: failed.transpose()?,
            };
            Ok((SourceKey(row.int(0)?), stored))
        })
    }

    /// The state of the primaries that were read for some datasets, by dataset and source. Asks every
    /// machine, once.
    pub fn mirror_states(&self, datasets: &[&DatasetName]) -> Result<Vec<MirrorState>> {
        static STATES: Sql = Sql::by_store(
            "SELECT dataset.name, mirror_source.source, mirror_source.identical,
                mirror_source.pulled, mirror_source.failed, mirror_source.failure
            FROM mirror_source
            JOIN dataset ON dataset.id = mirror_source.dataset_id
            WHERE dataset.name IN (SELECT value FROM rarray(?1))
            ORDER BY dataset.name, mirror_source.source",
            "SELECT dataset.name, mirror_source.source, mirror_source.identical,
                mirror_source.pulled, mirror_source.failed, mirror_source.failure
            FROM {mirror_source}
            JOIN {dataset} ON dataset.id = mirror_source.dataset_id
            WHERE dataset.name = ANY (?1)
            ORDER BY dataset.name, mirror_source.source",
        );
        let names: Vec<&str> = datasets.iter().map(|name| name.as_str()).collect();
        self.rows(Scope::AllDatasets, &STATES, &[Value::Texts(&names)], |row| {
            let failed = row.instant_or_null(4)?.map(|recorded| {
                Ok::<_, Error>(FailedAttempt { recorded, message: row.string(5)? })
            });
            Ok(MirrorState {
                dataset: row.dataset_name(0)?,
                source: row.string(1)?,
                identical: row.instant_or_null(2)?,
                pulled: row.instant_or_null(3)?,
                failed: failed.transpose()?,
            })
        })
    }

    /// The changes that were read of a log after one (0 means from the first), in order, at most
    /// `limit` of them.
    pub fn changes_read_after(
        &self,
        dataset: DatasetKey,
        source: SourceKey,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LogChange>> {
        static PAGE: Sql = Sql::new(
            "SELECT number, timestamp, identifier, line_check, bytes, granules, ingested, deleted,
                note
            FROM {log_change}
            WHERE [dataset_id = ?1 AND] source_id = ?2 AND number > ?3
            ORDER BY number
            LIMIT ?4",
        );
        let values = [dataset.into(), source.into(), after.into(), limit.into()];
        ascending(
            "log_change",
            self.rows(Scope::Dataset(dataset), &PAGE, &values, change)?,
            |first| first.number > after,
            |one, next| one.number < next.number,
        )
    }

    /// The last change that was read of a log. `None` means that none was.
    pub fn last_change_read(
        &self,
        dataset: DatasetKey,
        source: SourceKey,
    ) -> Result<Option<LogChange>> {
        static LAST: Sql = Sql::new(
            "SELECT number, timestamp, identifier, line_check, bytes, granules, ingested, deleted,
                note
            FROM {log_change}
            WHERE [dataset_id = ?1 AND] source_id = ?2
            ORDER BY number DESC
            LIMIT 1",
        );
        self.row(Scope::Dataset(dataset), &LAST, &[dataset.into(), source.into()], change)
    }
}

impl Transaction {
    /// Stores that a primary was read for a dataset; adds it if it was not read before. When the
    /// dataset was identical to it, and pulled from it, is kept where the new value is `None`.
    pub fn save_mirror_source(
        &self,
        dataset: DatasetKey,
        stored: &StoredSource,
    ) -> Result<SourceKey> {
        // SQLite numbers the rows itself.
        static SAVE: Sql = Sql::new(
            "INSERT INTO {mirror_source} AS known
                (dataset_id, [id,] source, read, identical, etag, pulled, options, failed, failure)
            VALUES
                (?1,
                 [(SELECT coalesce(max(other.id), 0) + 1
                  FROM {mirror_source} AS other
                  WHERE other.dataset_id = ?1),]
                 ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            ON CONFLICT (dataset_id, source) DO UPDATE
            SET read = excluded.read, identical = coalesce(excluded.identical, known.identical),
                etag = excluded.etag, pulled = coalesce(excluded.pulled, known.pulled),
                options = coalesce(excluded.options, known.options), failed = excluded.failed,
                failure = excluded.failure",
        );
        static KEY: Sql = Sql::new(
            "SELECT id
            FROM {mirror_source}
            WHERE dataset_id = ?1 AND source = ?2",
        );
        let StoredSource { source, read, identical, etag, pulled, failed } = stored;
        let options = pulled.as_ref().map(|pulled| serde_json::to_string(&pulled.options));
        let options = options.transpose().map_err(damaged)?;
        let values = [
            dataset.into(),
            source.as_str().into(),
            (*read).into(),
            (*identical).into(),
            etag.as_deref().into(),
            pulled.as_ref().map(|pulled| pulled.recorded).into(),
            options.as_deref().into(),
            failed.as_ref().map(|failed| failed.recorded).into(),
            failed.as_ref().map(|failed| failed.message.as_str()).into(),
        ];
        self.run(dataset, &SAVE, &values)?;
        let values = [dataset.into(), source.as_str().into()];
        let key = self.row(Scope::Dataset(dataset), &KEY, &values, |row| row.int(0))?;
        key.map(SourceKey).ok_or_else(|| damaged("a source that was stored cannot be found"))
    }

    /// Stores that the last attempt to read a primary failed. One that was never read is not added.
    pub fn save_failed_attempt(
        &self,
        dataset: DatasetKey,
        source: &str,
        failed: &FailedAttempt,
    ) -> Result<()> {
        static FAIL: Sql = Sql::new(
            "UPDATE {mirror_source}
            SET failed = ?3, failure = ?4
            WHERE dataset_id = ?1 AND source = ?2",
        );
        let FailedAttempt { recorded, message } = failed;
        let values = [dataset.into(), source.into(), (*recorded).into(), message.as_str().into()];
        self.run(dataset, &FAIL, &values)
    }

    /// Forgets a primary, of whose log no changes are stored.
    pub fn forget_mirror_source(&self, dataset: DatasetKey, source: SourceKey) -> Result<()> {
        static FORGET: Sql = Sql::new(
            "DELETE FROM {mirror_source}
            WHERE [dataset_id = ?1 AND] id = ?2",
        );
        self.run(dataset, &FORGET, &[dataset.into(), source.into()])
    }

    /// Forgets the changes that were read of a log from one on.
    pub fn forget_changes_from(
        &self,
        dataset: DatasetKey,
        source: SourceKey,
        number: u64,
    ) -> Result<()> {
        static FORGET: Sql = Sql::new(
            "DELETE FROM {log_change}
            WHERE [dataset_id = ?1 AND] source_id = ?2 AND number >= ?3",
        );
        self.run(dataset, &FORGET, &[dataset.into(), source.into(), number.into()])
    }

    /// Adds changes that were read of a log.
    pub fn insert_changes_read(
        &self,
        dataset: DatasetKey,
        source: SourceKey,
        changes: &[LogChange],
    ) -> Result<()> {
        static INSERT: Insert = Insert::new(
            "INSERT INTO {log_change}
                ([dataset_id,] source_id, number, timestamp, identifier, line_check, bytes, granules,
                 ingested, deleted, note)",
            11,
        );
        self.insert(dataset, &INSERT, changes, |change| {
            [
                dataset.into(),
                source.into(),
                change.number.into(),
                change.timestamp.into(),
                change.identifier.into(),
                change.check.into(),
                change.bytes.into(),
                change.granules.into(),
                change.ingested.into(),
                change.deleted.into(),
                change.note.as_deref().into(),
            ]
        })
    }
}

fn change(row: &dyn Columns) -> Result<LogChange> {
    Ok(LogChange {
        number: row.count(0)?,
        timestamp: row.instant(1)?,
        identifier: row.identifier(2)?,
        check: row.identifier(3)?,
        bytes: row.count(4)?,
        granules: row.count(5)?,
        ingested: row.count(6)?,
        deleted: row.count(7)?,
        note: row.string_or_null(8)?,
    })
}
