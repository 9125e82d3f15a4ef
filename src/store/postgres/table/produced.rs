//! The table `granule`, as an export sees it: holding periods with the producers' ids.

use super::packed::{PAGE_ROWS, PackedPage, select_packed};
use crate::model::Timestamp;
use crate::store::Error;
use crate::store::order::out_of_order;
use crate::store::postgres::parameter::{bigint, text};
use crate::store::postgres::session::Snapshot;
use crate::store::rows::{DatasetKey, Period, ProducedPeriod};

impl Snapshot {
    /// The same as in the SQLite store, but page by page: memory stays flat, and a distributed engine does not
    /// collect the whole dataset before the first row.
    pub fn each_change<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        after: Option<Timestamp>,
        mut show: impl FnMut(ProducedPeriod<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        const PAGE: &str = select_packed!(
            with producers,
            "SELECT granule_id, ingested, deleted, producer_granule
            FROM accession.granule
            WHERE dataset_id = $1 AND (granule_id, ingested) > ($2, $3)
              AND (deleted IS NULL OR deleted > $4)
            ORDER BY granule_id, ingested
            LIMIT $5"
        );
        let (mut last, mut ingested) = (String::new(), i64::MIN);
        let after = after.map_or(i64::MIN, Timestamp::as_micros);
        loop {
            let page = PackedPage::read(
                self,
                dataset,
                PAGE,
                &[
                    bigint(dataset.0),
                    text(&last),
                    bigint(ingested),
                    bigint(after),
                    bigint(PAGE_ROWS),
                ],
            )?;
            let mut next = (last.as_str(), ingested);
            let mut read = 0;
            for row in page.rows()? {
                read += 1;
                if (row.granule_id, row.ingested) <= next {
                    return Err(out_of_order("granule").into());
                }
                next = (row.granule_id, row.ingested);
                let granule_id = row.granule_id.as_bytes();
                let period = Period { granule_id, ingested: row.ingested, deleted: row.deleted };
                let producer_granule = row.producer_granule.map(str::as_bytes);
                show(ProducedPeriod { period, producer_granule })?;
            }
            if read < PAGE_ROWS {
                return Ok(());
            }
            (last, ingested) = (next.0.to_owned(), next.1);
        }
    }
}
