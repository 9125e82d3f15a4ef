//! The events of a dataset in order of time, derived from the rows of `granule`.

use rusqlite::{Row, named_params};

use super::column::{Id, Micros};
use crate::model::{EventKind, Timestamp};
use crate::store::Error;
use crate::store::rows::{DatasetKey, StoredEvent};
use crate::store::sqlite::session::Snapshot;

impl Snapshot {
    /// Calls `show` for every event of a dataset after one time and up to another (inclusive), in
    /// order of time; at the same time, ingests before deletions, then by id.
    ///
    /// Costs a pass over the dataset's rows, whatever the interval: the table is in order of id,
    /// and SQLite sorts the selected rows, on disk if necessary.
    pub fn each_event<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        after: Option<Timestamp>,
        up_to: Timestamp,
        mut show: impl FnMut(StoredEvent) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        const EVENTS: &str = "
            SELECT ingested AS at, 1 AS is_ingest, granule_id, producer_granule
            FROM granule
            WHERE dataset_id = :dataset_id AND ingested > :after AND ingested <= :up_to
            UNION ALL
            SELECT deleted, 0, granule_id, NULL
            FROM granule
            WHERE dataset_id = :dataset_id AND deleted > :after AND deleted <= :up_to
            ORDER BY at, is_ingest DESC, granule_id";
        let mut statement = self.connection().prepare_cached(EVENTS).map_err(Error::from)?;
        let params = named_params! {
            ":dataset_id": dataset.0,
            ":after": after.map_or(i64::MIN, Timestamp::as_micros),
            ":up_to": Micros(up_to),
        };
        let mut rows = statement.query(params).map_err(Error::from)?;
        while let Some(row) = rows.next().map_err(Error::from)? {
            show(from_row(row).map_err(Error::from)?)?;
        }
        Ok(())
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<StoredEvent> {
    let is_ingest: bool = row.get(1)?;
    Ok(StoredEvent {
        at: row.get::<_, Micros>(0)?.0,
        kind: if is_ingest { EventKind::Ingested } else { EventKind::Deleted },
        granule_id: row.get::<_, Id>(2)?.0,
        producer_granule: row.get::<_, Option<Id>>(3)?.map(|producer| producer.0),
    })
}
