//! The events of a dataset in order of time, derived from the rows of `granule`.

use ::postgres::Row;

use super::column::{granule_id, granule_id_or_null, instant, value};
use crate::model::{EventKind, Timestamp};
use crate::store::postgres::connection::bigint;
use crate::store::postgres::session::Snapshot;
use crate::store::rows::{DatasetKey, StoredEvent};
use crate::store::{Error, Result};

impl Snapshot {
    /// The same as in the SQLite store. The server sorts the rows, on its disk if necessary, and they are fetched
    /// page by page: there is no index by time to read pages from.
    pub fn each_event<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        after: Option<Timestamp>,
        up_to: Timestamp,
        mut show: impl FnMut(StoredEvent) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        const DECLARE: &str = r#"
            DECLARE accession_events NO SCROLL CURSOR FOR
            SELECT ingested AS at, 1 AS is_ingest, granule_id, producer_granule
            FROM accession.granule
            WHERE dataset_id = $1 AND ingested > $2 AND ingested <= $3
            UNION ALL
            SELECT deleted, 0, granule_id, NULL
            FROM accession.granule
            WHERE dataset_id = $1 AND deleted > $2 AND deleted <= $3
            ORDER BY at, is_ingest DESC, granule_id"#;
        const FETCH: &str = "FETCH 8192 FROM accession_events";
        const CLOSE: &str = "CLOSE accession_events";
        let (start, end) = (after.map_or(i64::MIN, Timestamp::as_micros), up_to.as_micros());
        let connection = self.reading()?;
        connection.execute(DECLARE, &[bigint(dataset.0), bigint(start), bigint(end)])?;
        loop {
            let rows = connection.query(FETCH, &[])?;
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                show(from_row(row)?)?;
            }
        }
        connection.run(CLOSE)?;
        Ok(())
    }
}

fn from_row(row: &Row) -> Result<StoredEvent> {
    let is_ingest: i32 = value(row, 1)?;
    Ok(StoredEvent {
        at: instant(row, 0)?,
        kind: if is_ingest == 1 { EventKind::Ingested } else { EventKind::Deleted },
        granule_id: granule_id(row, 2)?,
        producer_granule: granule_id_or_null(row, 3)?,
    })
}
