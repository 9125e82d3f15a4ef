//! The tables `mirror_source` and `log_change`: what a mirror has read of the logs of its primaries.

use tokio_postgres::Row;

use super::column::{count, identifier, instant, instant_or_null, stored, value};
use crate::model::{LogChange, Timestamp};
use crate::store::Result;
use crate::store::order::ascending;
use crate::store::postgres::parameter::{bigint, bigint_or_null, bytes, text, text_or_null};
use crate::store::postgres::session::{Snapshot, Transaction};
use crate::store::rows::{DatasetKey, SourceKey, StoredSource};

/// A query of the columns of a [`LogChange`], followed by the given clauses.
macro_rules! select_change {
    ($rest:literal) => {
        concat!(
            "
            SELECT number, timestamp, identifier, line_check, bytes, granules, ingested, deleted,
                note
            FROM accession.log_change",
            $rest
        )
    };
}

impl Snapshot {
    pub fn mirror_sources(&self, dataset: DatasetKey) -> Result<Vec<StoredSource>> {
        const SOURCES: &str = "
            SELECT id, source, read, identical, etag
            FROM accession.mirror_source
            WHERE dataset_id = $1
            ORDER BY source";
        let rows = self.reading_at(Some(dataset))?.query(SOURCES, &[bigint(dataset.0)])?;
        let sources = rows.iter().map(|row| {
            Ok(StoredSource {
                key: SourceKey(value(row, 0)?),
                source: value(row, 1)?,
                read: instant(row, 2)?,
                identical: instant_or_null(row, 3)?,
                etag: value(row, 4)?,
            })
        });
        sources.collect()
    }

    pub fn changes_read_after(
        &self,
        dataset: DatasetKey,
        source: SourceKey,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LogChange>> {
        const PAGE: &str = select_change!(
            "
            WHERE dataset_id = $1 AND source_id = $2 AND number > $3
            ORDER BY number
            LIMIT $4"
        );
        let parameters =
            [bigint(dataset.0), bigint(source.0), bigint(stored(after)?), bigint(i64::from(limit))];
        let rows = self.reading_at(Some(dataset))?.query(PAGE, &parameters)?;
        ascending(
            "log_change",
            rows.iter().map(from_row).collect::<Result<_>>()?,
            |first: &LogChange| first.number > after,
            |one, next| one.number < next.number,
        )
    }

    pub fn last_change_read(
        &self,
        dataset: DatasetKey,
        source: SourceKey,
    ) -> Result<Option<LogChange>> {
        const LAST: &str = select_change!(
            "
            WHERE dataset_id = $1 AND source_id = $2
            ORDER BY number DESC
            LIMIT 1"
        );
        let parameters = [bigint(dataset.0), bigint(source.0)];
        self.reading_at(Some(dataset))?
            .query_opt(LAST, &parameters)?
            .as_ref()
            .map(from_row)
            .transpose()
    }
}

impl Transaction<'_> {
    pub fn save_mirror_source(
        &self,
        dataset: DatasetKey,
        source: &str,
        read: Timestamp,
        identical: Option<Timestamp>,
        etag: Option<&str>,
    ) -> Result<SourceKey> {
        const SAVE: &str = "
            INSERT INTO accession.mirror_source AS known
                (dataset_id, id, source, read, identical, etag)
            VALUES
                ($1,
                 (SELECT coalesce(max(other.id), 0) + 1
                  FROM accession.mirror_source AS other
                  WHERE other.dataset_id = $1),
                 $2, $3, $4, $5)
            ON CONFLICT (dataset_id, source) DO UPDATE
            SET read = excluded.read, identical = coalesce(excluded.identical, known.identical),
                etag = excluded.etag";
        const KEY: &str = "
            SELECT id
            FROM accession.mirror_source
            WHERE dataset_id = $1 AND source = $2";
        self.lock(dataset.0)?;
        self.connection().defer(
            SAVE,
            &[
                bigint(dataset.0),
                text(source),
                bigint(read.as_micros()),
                bigint_or_null(identical.map(Timestamp::as_micros)),
                text_or_null(etag),
            ],
        )?;
        let row = self.connection().query_opt(KEY, &[bigint(dataset.0), text(source)])?;
        Ok(SourceKey(row.map_or(Ok(0), |row| value(&row, 0))?))
    }

    pub fn forget_changes_from(
        &self,
        dataset: DatasetKey,
        source: SourceKey,
        number: u64,
    ) -> Result<()> {
        const FORGET: &str = "
            DELETE FROM accession.log_change
            WHERE dataset_id = $1 AND source_id = $2 AND number >= $3";
        let parameters = [bigint(dataset.0), bigint(source.0), bigint(stored(number)?)];
        self.connection().defer(FORGET, &parameters)?;
        Ok(())
    }

    pub fn insert_changes_read(
        &self,
        dataset: DatasetKey,
        source: SourceKey,
        changes: &[LogChange],
    ) -> Result<()> {
        const INTO: &str = "
            INSERT INTO accession.log_change
                (dataset_id, source_id, number, timestamp, identifier, line_check, bytes, granules,
                 ingested, deleted, note)";
        let rows = changes.iter().map(|change| {
            Ok(vec![
                bigint(dataset.0),
                bigint(source.0),
                bigint(stored(change.number)?),
                bigint(change.timestamp.as_micros()),
                bytes(change.identifier.as_bytes()),
                bytes(change.check.as_bytes()),
                bigint(stored(change.bytes)?),
                bigint(stored(change.granules)?),
                bigint(stored(change.ingested)?),
                bigint(stored(change.deleted)?),
                text_or_null(change.note.as_deref()),
            ])
        });
        self.connection().insert(INTO, &rows.collect::<Result<Vec<_>>>()?)
    }
}

fn from_row(row: &Row) -> Result<LogChange> {
    Ok(LogChange {
        number: count(row, 0)?,
        timestamp: instant(row, 1)?,
        identifier: identifier(row, 2)?,
        check: identifier(row, 3)?,
        bytes: count(row, 4)?,
        granules: count(row, 5)?,
        ingested: count(row, 6)?,
        deleted: count(row, 7)?,
        note: value(row, 8)?,
    })
}
