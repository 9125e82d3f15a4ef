//! What happened in a dataset, in order of time, out of the rows of `granule`.

use rusqlite::named_params;

use super::column::{Id, Micros};
use super::{DatasetKey, Error, Read};
use crate::model::{Event, EventKind};

impl Read<'_> {
    /// Shows every event of a dataset by time; of one time, ingests first, then by id.
    ///
    /// SQLite sorts them on disk: the table is in order of id.
    pub fn each_event<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        mut show: impl FnMut(Event) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        const EVENTS: &str = "
            SELECT ingested AS at, 1 AS is_ingest, granule_id, producer_granule
            FROM granule
            WHERE dataset_id = :dataset_id
            UNION ALL
            SELECT deleted, 0, granule_id, NULL
            FROM granule
            WHERE dataset_id = :dataset_id AND deleted IS NOT NULL
            ORDER BY at, is_ingest DESC, granule_id";
        let mut statement = self.transaction.prepare_cached(EVENTS).map_err(Error::from)?;
        let mut rows =
            statement.query(named_params! { ":dataset_id": dataset.0 }).map_err(Error::from)?;
        while let Some(row) = rows.next().map_err(Error::from)? {
            let event = (|| {
                let is_ingest: bool = row.get(1)?;
                let kind = if is_ingest { EventKind::Ingested } else { EventKind::Deleted };
                Ok::<_, rusqlite::Error>(Event {
                    at: row.get::<_, Micros>(0)?.0,
                    kind,
                    granule_id: row.get::<_, Id>(2)?.0,
                    producer_granule: row.get::<_, Option<Id>>(3)?.map(|producer| producer.0),
                    location: None,
                })
            })();
            show(event.map_err(Error::from)?)?;
        }
        Ok(())
    }
}
