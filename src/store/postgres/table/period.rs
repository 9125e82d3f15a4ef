//! The table `granule`, as the write engine and `verify` see it: holding periods.
//!
//! `OFFSET 0` keeps the planner from turning a look-up for each id into a join, which it would
//! begin at the table's side while the table has no statistics.

use std::collections::BTreeMap;

use tokio_postgres::types::{ToSql, Type};

use super::column::value;
use super::granule::granule_from;
use super::packed::{PAGE_ROWS, PackedPage, select_packed};
use crate::model::{Granule, GranuleId, Timestamp};
use crate::store::order::out_of_order;
use crate::store::postgres::parameter::{array, bigint, bigint_or_null, text, text_or_null};
use crate::store::postgres::session::{Snapshot, Transaction};
use crate::store::rows::{Begin, DatasetKey, NewPeriod, Period};
use crate::store::{Error, Result};

/// From how many rows on COPY, which takes three round trips, costs less than INSERT.
const COPIED_ROWS: usize = 1_000;

impl Snapshot {
    pub fn periods_among(&self, dataset: DatasetKey, granule_ids: &[&str]) -> Result<Vec<Granule>> {
        const AMONG: &str = r#"
            SELECT period.*
            FROM unnest($2::text[]) AS wanted (granule_id)
            CROSS JOIN LATERAL (
                SELECT granule_id, ingested, deleted, producer_granule
                FROM accession.granule
                WHERE dataset_id = $1 AND granule_id = wanted.granule_id COLLATE "C"
                OFFSET 0) AS period
            ORDER BY period.granule_id, period.ingested"#;
        let (Some(first), Some(last)) = (granule_ids.first(), granule_ids.last()) else {
            return Ok(Vec::new());
        };
        // Most batches are new: one look-up replaces one for each id.
        if !self.has_granules_between(dataset, first, last)? {
            return Ok(Vec::new());
        }
        let parameters = [bigint(dataset.0), array(&granule_ids, Type::TEXT_ARRAY)];
        self.reading_at(Some(dataset))?
            .query(AMONG, &parameters)?
            .iter()
            .map(granule_from)
            .collect()
    }

    fn has_granules_between(&self, dataset: DatasetKey, first: &str, last: &str) -> Result<bool> {
        const BETWEEN: &str = "
            SELECT EXISTS (
                SELECT 1
                FROM accession.granule
                WHERE dataset_id = $1 AND granule_id >= $2 AND granule_id <= $3)";
        let parameters = [bigint(dataset.0), text(first), text(last)];
        self.reading_at(Some(dataset))?
            .query_opt(BETWEEN, &parameters)?
            .map_or(Ok(false), |row| value(&row, 0))
    }

    pub fn holds_from(&self, dataset: DatasetKey, granule_id: &GranuleId) -> Result<bool> {
        const HOLDS_FROM: &str = "
            SELECT EXISTS (
                SELECT 1
                FROM accession.granule
                WHERE dataset_id = $1 AND granule_id >= $2 AND deleted IS NULL)";
        let parameters = [bigint(dataset.0), text(granule_id.as_str())];
        self.reading_at(Some(dataset))?
            .query_opt(HOLDS_FROM, &parameters)?
            .map_or(Ok(false), |row| value(&row, 0))
    }

    /// The same as in the SQLite store, but page by page: memory stays flat, and a distributed engine does not
    /// collect the whole dataset before the first row.
    pub fn each_period<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        begin: Begin<'_>,
        beyond: Option<Timestamp>,
        mut show: impl FnMut(Period<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        const PAGE: &str = select_packed!(
            "SELECT granule_id, ingested, deleted
            FROM accession.granule
            WHERE dataset_id = $1 AND (granule_id, ingested) > ($2, $3)
              AND (deleted IS NULL OR deleted > $4)
            ORDER BY granule_id, ingested
            LIMIT $5"
        );
        // Every period of an id is after the beginning of time, and before its end.
        let (mut after, mut ingested) = match begin {
            Begin::Start => (String::new(), i64::MIN),
            Begin::At(granule_id) => (granule_id.as_str().to_owned(), i64::MIN),
            Begin::After(granule_id) => (granule_id.as_str().to_owned(), i64::MAX),
        };
        let beyond = beyond.map_or(i64::MIN, Timestamp::as_micros);
        loop {
            let page = PackedPage::read(
                self,
                dataset,
                PAGE,
                &[
                    bigint(dataset.0),
                    text(&after),
                    bigint(ingested),
                    bigint(beyond),
                    bigint(PAGE_ROWS),
                ],
            )?;
            let mut last: Option<(&str, i64)> = None;
            let mut read = 0;
            for row in page.rows()? {
                read += 1;
                let next = (row.granule_id, row.ingested);
                if next <= last.unwrap_or((after.as_str(), ingested)) {
                    return Err(out_of_order("granule").into());
                }
                last = Some(next);
                let granule_id = row.granule_id.as_bytes();
                show(Period { granule_id, ingested: row.ingested, deleted: row.deleted })?;
            }
            let Some(last) = last.filter(|_| read == PAGE_ROWS) else {
                return Ok(());
            };
            (after, ingested) = (last.0.to_owned(), last.1);
        }
    }
}

impl Transaction<'_> {
    pub fn insert_periods(&self, dataset: DatasetKey, periods: &[NewPeriod<'_>]) -> Result<()> {
        const INTO: &str = "
            INSERT INTO accession.granule
                (dataset_id, granule_id, ingested, deleted, producer_granule)";
        if periods.is_empty() {
            return Ok(());
        }
        self.lock(dataset.0)?;
        if periods.len() >= COPIED_ROWS {
            return self.copy_periods(dataset, periods);
        }
        let rows = periods.iter().map(|period| {
            vec![
                bigint(dataset.0),
                text(period.granule_id.as_str()),
                bigint(period.ingested.as_micros()),
                bigint_or_null(period.deleted.map(Timestamp::as_micros)),
                text_or_null(period.producer_granule.map(GranuleId::as_str)),
            ]
        });
        self.connection().insert(INTO, &rows.collect::<Vec<_>>())
    }

    fn copy_periods(&self, dataset: DatasetKey, periods: &[NewPeriod<'_>]) -> Result<()> {
        const COPY: &str = "
            COPY accession.granule (dataset_id, granule_id, ingested, deleted, producer_granule)
            FROM STDIN BINARY";
        let types = [Type::INT8, Type::TEXT, Type::INT8, Type::INT8, Type::TEXT];
        self.connection().copy_in(COPY, &types, periods, async |writer, period| {
            let values: [&(dyn ToSql + Sync); 5] = [
                &dataset.0,
                &period.granule_id.as_str(),
                &period.ingested.as_micros(),
                &period.deleted.map(Timestamp::as_micros),
                &period.producer_granule.map(GranuleId::as_str),
            ];
            writer.write(&values).await
        })
    }

    pub fn end_periods(&self, dataset: DatasetKey, ends: &[(&GranuleId, Timestamp)]) -> Result<()> {
        // Not an UPDATE joined with unnest: for that, a server without statistics of the table can
        // choose a plan that reads the whole dataset for each id.
        const END: &str = r#"
            INSERT INTO accession.granule AS held (dataset_id, granule_id, ingested, deleted)
            SELECT $1, period.granule_id, period.ingested, period.deleted
            FROM (
                SELECT ended.granule_id, open.ingested, ended.deleted
                FROM unnest($2::text[], $3::bigint[]) AS ended (granule_id, deleted)
                CROSS JOIN LATERAL (
                    SELECT ingested
                    FROM accession.granule
                    WHERE dataset_id = $1 AND granule_id = ended.granule_id COLLATE "C"
                      AND deleted IS NULL
                    OFFSET 0) AS open) AS period
            ON CONFLICT (dataset_id, granule_id, ingested)
            DO UPDATE SET deleted = EXCLUDED.deleted
            RETURNING held.granule_id"#;
        if ends.is_empty() {
            return Ok(());
        }
        self.lock(dataset.0)?;
        let granule_ids: Vec<&str> =
            ends.iter().map(|(granule_id, _)| granule_id.as_str()).collect();
        let deleted: Vec<i64> = ends.iter().map(|(_, deleted)| deleted.as_micros()).collect();
        let parameters = [
            bigint(dataset.0),
            array(&granule_ids, Type::TEXT_ARRAY),
            array(&deleted, Type::INT8_ARRAY),
        ];
        let rows = self.connection().query(END, &parameters)?;
        let mut ended = BTreeMap::new();
        for row in &rows {
            *ended.entry(value::<&str>(row, 0)?).or_insert(0) += 1;
        }
        let rows_of = |granule_id: &str| ended.get(granule_id).copied().unwrap_or(0);
        let wrong = granule_ids.iter().map(|it| (it, rows_of(it))).find(|(_, rows)| *rows != 1);
        match wrong {
            None => Ok(()),
            Some((granule_id, rows)) => {
                let what = format!("{rows} rows state that {granule_id} is held, instead of one");
                Err(Error::damaged(what))
            }
        }
    }
}
