//! The table `granule`, as an export sees it: holding periods with the producers' ids.

use rusqlite::{Row, named_params};

use super::period::period_from;
use crate::model::Timestamp;
use crate::store::Error;
use crate::store::rows::{DatasetKey, ProducedPeriod};
use crate::store::sqlite::session::Snapshot;

impl Snapshot {
    /// Calls `show` for every period of a dataset that lasts beyond a time (`None`: for all of them),
    /// by id and then by time.
    pub fn each_change<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        after: Option<Timestamp>,
        mut show: impl FnMut(ProducedPeriod<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        const CHANGED: &str = "
            SELECT granule_id, ingested, deleted, producer_granule
            FROM granule
            WHERE dataset_id = :dataset_id AND (deleted IS NULL OR deleted > :after)
            ORDER BY granule_id, ingested";
        let mut statement = self.connection().prepare_cached(CHANGED).map_err(Error::from)?;
        let params = named_params! {
            ":dataset_id": dataset.0,
            ":after": after.map_or(i64::MIN, Timestamp::as_micros),
        };
        let mut rows = statement.query(params).map_err(Error::from)?;
        while let Some(row) = rows.next().map_err(Error::from)? {
            show(produced_from(row).map_err(Error::from)?)?;
        }
        Ok(())
    }
}

fn produced_from<'row>(row: &'row Row<'_>) -> rusqlite::Result<ProducedPeriod<'row>> {
    let producer_granule = row.get_ref(3)?.as_bytes_or_null()?;
    Ok(ProducedPeriod { period: period_from(row)?, producer_granule })
}
