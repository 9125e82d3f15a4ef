//! The tables `mirror_source` and `log_change`: what a mirror has read of the logs of its
//! primaries.

use rusqlite::{OptionalExtension, Row, named_params};

use super::column::{Count, Digest, Micros};
use crate::model::{LogChange, Timestamp};
use crate::store::Result;
use crate::store::order::ascending;
use crate::store::rows::{DatasetKey, SourceKey, StoredSource};
use crate::store::sqlite::session::{Snapshot, Transaction};

/// A query of the columns of a [`LogChange`], followed by the given clauses.
macro_rules! select_change {
    ($rest:literal) => {
        concat!(
            "
            SELECT number, timestamp, identifier, line_check, bytes, granules, ingested, deleted,
                note
            FROM log_change",
            $rest
        )
    };
}

impl Snapshot {
    /// The logs that were read for a dataset, by source.
    pub fn mirror_sources(&self, dataset: DatasetKey) -> Result<Vec<StoredSource>> {
        const SOURCES: &str = "
            SELECT id, source, read, identical, etag
            FROM mirror_source
            WHERE dataset_id = :dataset_id
            ORDER BY source";
        let mut statement = self.connection().prepare_cached(SOURCES)?;
        let rows = statement.query_map(named_params! { ":dataset_id": dataset.0 }, |row| {
            Ok(StoredSource {
                key: SourceKey(row.get(0)?),
                source: row.get(1)?,
                read: row.get::<_, Micros>(2)?.0,
                identical: row.get::<_, Option<Micros>>(3)?.map(|identical| identical.0),
                etag: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The changes that were read of a log after one (0 means from the first), in order, at most
    /// `limit` of them.
    pub fn changes_read_after(
        &self,
        _: DatasetKey,
        source: SourceKey,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LogChange>> {
        const PAGE: &str = select_change!(
            "
            WHERE source_id = :source_id AND number > :after
            ORDER BY number
            LIMIT :limit"
        );
        let params = named_params! {
            ":source_id": source.0, ":after": Count(after), ":limit": limit,
        };
        let mut statement = self.connection().prepare_cached(PAGE)?;
        let rows = statement.query_map(params, from_row)?;
        ascending(
            "log_change",
            rows.collect::<rusqlite::Result<_>>()?,
            |first: &LogChange| first.number > after,
            |one, next| one.number < next.number,
        )
    }

    /// The last change that was read of a log. `None` means that none was.
    pub fn last_change_read(&self, _: DatasetKey, source: SourceKey) -> Result<Option<LogChange>> {
        const LAST: &str = select_change!(
            "
            WHERE source_id = :source_id
            ORDER BY number DESC
            LIMIT 1"
        );
        let mut statement = self.connection().prepare_cached(LAST)?;
        Ok(statement.query_row(named_params! { ":source_id": source.0 }, from_row).optional()?)
    }
}

impl Transaction<'_> {
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
        const SAVE: &str = "
            INSERT INTO mirror_source (dataset_id, source, read, identical, etag)
            VALUES (:dataset_id, :source, :read, :identical, :etag)
            ON CONFLICT (dataset_id, source) DO UPDATE
            SET read = excluded.read, identical = coalesce(excluded.identical, identical),
                etag = excluded.etag
            RETURNING id";
        let mut statement = self.connection().prepare_cached(SAVE)?;
        let params = named_params! {
            ":dataset_id": dataset.0,
            ":source": source,
            ":read": Micros(read),
            ":identical": identical.map(Micros),
            ":etag": etag,
        };
        Ok(SourceKey(statement.query_row(params, |row| row.get(0))?))
    }

    /// Forgets the changes that were read of a log from one on.
    pub fn forget_changes_from(&self, _: DatasetKey, source: SourceKey, number: u64) -> Result<()> {
        const FORGET: &str = "
            DELETE FROM log_change
            WHERE source_id = :source_id AND number >= :number";
        let params = named_params! { ":source_id": source.0, ":number": Count(number) };
        self.connection().prepare_cached(FORGET)?.execute(params)?;
        Ok(())
    }

    /// Adds changes that were read of a log.
    pub fn insert_changes_read(
        &self,
        _: DatasetKey,
        source: SourceKey,
        changes: &[LogChange],
    ) -> Result<()> {
        const INSERT: &str = "
            INSERT INTO log_change
                (source_id, number, timestamp, identifier, line_check, bytes, granules, ingested,
                 deleted, note)
            VALUES
                (:source_id, :number, :timestamp, :identifier, :line_check, :bytes, :granules,
                 :ingested, :deleted, :note)";
        let mut insert = self.connection().prepare_cached(INSERT)?;
        for change in changes {
            insert.execute(named_params! {
                ":source_id": source.0,
                ":number": Count(change.number),
                ":timestamp": Micros(change.timestamp),
                ":identifier": Digest(change.identifier),
                ":line_check": Digest(change.check),
                ":bytes": Count(change.bytes),
                ":granules": Count(change.granules),
                ":ingested": Count(change.ingested),
                ":deleted": Count(change.deleted),
                ":note": change.note,
            })?;
        }
        Ok(())
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<LogChange> {
    Ok(LogChange {
        number: row.get::<_, Count>(0)?.0,
        timestamp: row.get::<_, Micros>(1)?.0,
        identifier: row.get::<_, Digest>(2)?.0,
        check: row.get::<_, Digest>(3)?.0,
        bytes: row.get::<_, Count>(4)?.0,
        granules: row.get::<_, Count>(5)?.0,
        ingested: row.get::<_, Count>(6)?.0,
        deleted: row.get::<_, Count>(7)?.0,
        note: row.get(8)?,
    })
}
