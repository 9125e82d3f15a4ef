//! The tables `mirror_source` and `log_change`: what a mirror has read of the logs of its
//! primaries.

use crate::model::{LogChange, Timestamp};
use crate::store::Result;
use crate::store::page::ascending;
use crate::store::rows::{DatasetKey, SourceKey, StoredSource};
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{Columns, Insert, Scope, Sql, damaged};

impl Snapshot {
    /// The logs that were read for a dataset, by source.
    pub fn mirror_sources(&self, dataset: DatasetKey) -> Result<Vec<StoredSource>> {
        static SOURCES: Sql = Sql::new(
            "SELECT id, source, read, identical, etag
            FROM {mirror_source}
            WHERE dataset_id = ?1
            ORDER BY source",
        );
        self.rows(Scope::Dataset(dataset), &SOURCES, &[dataset.into()], |row| {
            Ok(StoredSource {
                key: SourceKey(row.int(0)?),
                source: row.string(1)?,
                read: row.instant(2)?,
                identical: row.instant_or_null(3)?,
                etag: row.string_or_null(4)?,
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
    /// Stores when a log was read for a dataset, the entity tag of its state and, unless it is
    /// `None`, when the dataset was identical to it; adds the log if it was not read before.
    pub fn save_mirror_source(
        &self,
        dataset: DatasetKey,
        source: &str,
        read: Timestamp,
        identical: Option<Timestamp>,
        etag: Option<&str>,
    ) -> Result<SourceKey> {
        // SQLite numbers the rows itself.
        static SAVE: Sql = Sql::new(
            "INSERT INTO {mirror_source} AS known
                (dataset_id, [id,] source, read, identical, etag)
            VALUES
                (?1,
                 [(SELECT coalesce(max(other.id), 0) + 1
                  FROM {mirror_source} AS other
                  WHERE other.dataset_id = ?1),]
                 ?2, ?3, ?4, ?5)
            ON CONFLICT (dataset_id, source) DO UPDATE
            SET read = excluded.read, identical = coalesce(excluded.identical, known.identical),
                etag = excluded.etag",
        );
        static KEY: Sql = Sql::new(
            "SELECT id
            FROM {mirror_source}
            WHERE dataset_id = ?1 AND source = ?2",
        );
        let values = [dataset.into(), source.into(), read.into(), identical.into(), etag.into()];
        self.run(dataset, &SAVE, &values)?;
        let values = [dataset.into(), source.into()];
        let key = self.row(Scope::Dataset(dataset), &KEY, &values, |row| row.int(0))?;
        key.map(SourceKey).ok_or_else(|| damaged("a log that was stored cannot be found"))
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
