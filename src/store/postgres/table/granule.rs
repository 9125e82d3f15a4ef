//! The table `granule`, as queries see it: which granules were held, and when.
//!
//! `OFFSET 0` keeps the planner from turning a look-up for each id into a join, which it would
//! begin at the table's side while the table has no statistics.

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::column::{
    damaged, dataset_name, granule_id, granule_id_or_null, instant, instant_of, instant_or_null,
    value,
};
use super::packed::{PackedPage, PackedRow, select_packed};
use crate::model::{DatasetName, Granule, GranuleId, IdPage, IdPageBuilder, Timestamp};
use crate::store::Result;
use crate::store::order::{ascending, out_of_order};
use crate::store::postgres::parameter::{array, bigint, text};
use crate::store::postgres::session::Snapshot;
use crate::store::rows::{DatasetKey, SubsetKey};

impl Snapshot {
    pub fn held_after(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<Vec<Granule>> {
        const PAGE: &str = select_packed!(
            with producers,
            "SELECT granule_id, ingested, deleted, producer_granule
            FROM accession.granule
            WHERE dataset_id = $1 AND granule_id > $2
              AND ingested <= $3 AND (deleted IS NULL OR deleted > $3)
            ORDER BY granule_id
            LIMIT $4"
        );
        let (at, limit) = (at.as_micros(), i64::from(limit));
        let parameters = [bigint(dataset.0), text(after), bigint(at), bigint(limit)];
        let page = PackedPage::read(self, dataset, PAGE, &parameters)?;
        ascending(
            "granule",
            page.rows()?.map(granule_of).collect::<Result<_>>()?,
            |first: &Granule| first.granule_id.as_str() > after,
            // A granule with overlapping holding periods, which `verify` reports, is read twice.
            |one, next| one.granule_id <= next.granule_id,
        )
    }

    pub fn last_held(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        limit: u32,
    ) -> Result<Vec<Granule>> {
        const LAST: &str = "
            SELECT granule_id, ingested, deleted, producer_granule
            FROM accession.granule
            WHERE dataset_id = $1
              AND ingested <= $2 AND (deleted IS NULL OR deleted > $2)
            ORDER BY granule_id DESC
            LIMIT $3";
        let (at, limit) = (at.as_micros(), i64::from(limit));
        let parameters = [bigint(dataset.0), bigint(at), bigint(limit)];
        let rows = self.reading_at(Some(dataset))?.query(LAST, &parameters)?;
        rows.iter().map(granule_from).collect()
    }

    pub fn held_ids_after(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<IdPage> {
        const PAGE: &str = r"
            SELECT string_agg(granule_id, E'\n')
            FROM (
                SELECT granule_id
                FROM accession.granule
                WHERE dataset_id = $1 AND granule_id > $2
                  AND ingested <= $3 AND (deleted IS NULL OR deleted > $3)
                ORDER BY granule_id
                LIMIT $4) AS page";
        let (at, limit) = (at.as_micros(), i64::from(limit));
        let parameters = [bigint(dataset.0), text(after), bigint(at), bigint(limit)];
        let row = self.reading_at(Some(dataset))?.query_opt(PAGE, &parameters)?;
        let ids: Option<&str> = row.as_ref().map_or(Ok(None), |row| value(row, 0))?;
        let mut page = IdPageBuilder::default();
        for granule_id in ids.iter().flat_map(|ids| ids.split('\n')) {
            let leads_on = match page.last() {
                None => granule_id > after,
                // As in `held_after`, an id may be read more than once.
                Some(last) => last <= granule_id.as_bytes(),
            };
            if !leads_on {
                return Err(out_of_order("granule"));
            }
            page.push(granule_id.as_bytes());
        }
        page.finish().map_err(damaged)
    }

    pub fn held_among(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        granule_ids: &[&str],
    ) -> Result<Vec<Granule>> {
        const AMONG: &str = r#"
            SELECT held.*
            FROM unnest($3::text[]) AS wanted (granule_id)
            CROSS JOIN LATERAL (
                SELECT granule_id, ingested, deleted, producer_granule
                FROM accession.granule
                WHERE dataset_id = $1 AND granule_id = wanted.granule_id COLLATE "C"
                  AND ingested <= $2 AND (deleted IS NULL OR deleted > $2)
                OFFSET 0) AS held
            ORDER BY held.granule_id"#;
        let at = at.as_micros();
        let parameters = [bigint(dataset.0), bigint(at), array(&granule_ids, Type::TEXT_ARRAY)];
        self.reading_at(Some(dataset))?
            .query(AMONG, &parameters)?
            .iter()
            .map(granule_from)
            .collect()
    }

    pub fn named_after(
        &self,
        dataset: DatasetKey,
        subset: SubsetKey,
        at: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<Vec<(GranuleId, Option<Granule>)>> {
        const PAGE: &str = "
            SELECT held.granule_id, held.ingested, held.deleted, held.producer_granule,
                named_granule.granule_id
            FROM accession.named_granule
            LEFT JOIN LATERAL (
                SELECT granule_id, ingested, deleted, producer_granule
                FROM accession.granule
                WHERE dataset_id = $1 AND granule_id = named_granule.granule_id
                  AND ingested <= $3 AND (deleted IS NULL OR deleted > $3)
                OFFSET 0) AS held ON true
            WHERE named_granule.dataset_id = $1 AND named_granule.selection_id = $2
              AND named_granule.granule_id > $4
            ORDER BY named_granule.granule_id
            LIMIT $5";
        let (at, limit) = (at.as_micros(), i64::from(limit));
        let parameters =
            [bigint(dataset.0), bigint(subset.0), bigint(at), text(after), bigint(limit)];
        let rows = self.reading_at(Some(dataset))?.query(PAGE, &parameters)?;
        let named = rows.iter().map(|row| {
            let held = match value::<Option<&str>>(row, 0)? {
                None => None,
                Some(_) => Some(granule_from(row)?),
            };
            Ok((granule_id(row, 4)?, held))
        });
        ascending(
            "named_granule",
            named.collect::<Result<_>>()?,
            |(first, _): &(GranuleId, _)| first.as_str() > after,
            |(one, _), (next, _)| one <= next,
        )
    }

    pub fn of_producer_after(
        &self,
        dataset: DatasetKey,
        producer_granule: &GranuleId,
        after: Option<(&GranuleId, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<Granule>> {
        const PAGE: &str = "
            SELECT granule_id, ingested, deleted, producer_granule
            FROM accession.granule
            WHERE dataset_id = $1 AND producer_granule = $2 AND (granule_id, ingested) > ($3, $4)
            ORDER BY granule_id, ingested
            LIMIT $5";
        let start = after.map_or("", |(granule_id, _)| granule_id.as_str());
        let ingested = after.map_or(i64::MIN, |(_, ingested)| ingested.as_micros());
        let (producer, limit) = (producer_granule.as_str(), i64::from(limit));
        let parameters =
            [bigint(dataset.0), text(producer), text(start), bigint(ingested), bigint(limit)];
        let rows = self.reading_at(Some(dataset))?.query(PAGE, &parameters)?;
        ascending(
            "granule",
            rows.iter().map(granule_from).collect::<Result<_>>()?,
            |first: &Granule| {
                after.is_none_or(|(granule_id, ingested)| {
                    (granule_id, ingested) < (&first.granule_id, first.ingested)
                })
            },
            |one, next| (&one.granule_id, one.ingested) < (&next.granule_id, next.ingested),
        )
    }

    pub fn periods_after(
        &self,
        dataset: DatasetKey,
        after: Option<(&GranuleId, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<Granule>> {
        const PAGE: &str = select_packed!(
            with producers,
            "SELECT granule_id, ingested, deleted, producer_granule
            FROM accession.granule
            WHERE dataset_id = $1 AND (granule_id, ingested) > ($2, $3)
            ORDER BY granule_id, ingested
            LIMIT $4"
        );
        let start = after.map_or("", |(granule_id, _)| granule_id.as_str());
        let ingested = after.map_or(i64::MIN, |(_, ingested)| ingested.as_micros());
        let parameters =
            [bigint(dataset.0), text(start), bigint(ingested), bigint(i64::from(limit))];
        let page = PackedPage::read(self, dataset, PAGE, &parameters)?;
        ascending(
            "granule",
            page.rows()?.map(granule_of).collect::<Result<_>>()?,
            |first: &Granule| {
                after.is_none_or(|(granule_id, ingested)| {
                    (granule_id, ingested) < (&first.granule_id, first.ingested)
                })
            },
            |one, next| (&one.granule_id, one.ingested) < (&next.granule_id, next.ingested),
        )
    }

    pub fn periods_of_one(
        &self,
        dataset: DatasetKey,
        granule_id: &GranuleId,
    ) -> Result<Vec<Granule>> {
        const PERIODS: &str = "
            SELECT granule_id, ingested, deleted, producer_granule
            FROM accession.granule
            WHERE dataset_id = $1 AND granule_id = $2
            ORDER BY ingested";
        let parameters = [bigint(dataset.0), text(granule_id.as_str())];
        self.reading_at(Some(dataset))?
            .query(PERIODS, &parameters)?
            .iter()
            .map(granule_from)
            .collect()
    }

    /// Asks every machine: a granule does not say which datasets hold it. Each looks it up in its own
    /// datasets only, which are those of its rows of `writer`: the table `dataset` has all of them.
    pub fn periods_everywhere(
        &self,
        granule_id: &GranuleId,
        after: Option<(&DatasetName, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<(DatasetName, Granule)>> {
        const PERIODS: &str = "
            SELECT granule.granule_id, granule.ingested, granule.deleted,
                granule.producer_granule, dataset.name
            FROM accession.writer
            JOIN accession.granule ON granule.dataset_id = writer.dataset_id
            JOIN accession.dataset ON dataset.id = writer.dataset_id
            WHERE granule.granule_id = $1
              AND (dataset.name, granule.ingested) > ($2, $3)
            ORDER BY dataset.name, granule.ingested
            LIMIT $4";
        let name = after.map_or("", |(name, _)| name.as_str());
        let ingested = after.map_or(i64::MIN, |(_, ingested)| ingested.as_micros());
        let parameters =
            [text(granule_id.as_str()), text(name), bigint(ingested), bigint(i64::from(limit))];
        let rows = self.reading_at(None)?.query(PERIODS, &parameters)?;
        rows.iter().map(|row| Ok((dataset_name(row, 4)?, granule_from(row)?))).collect()
    }
}

pub(super) fn granule_from(row: &Row) -> Result<Granule> {
    Ok(Granule {
        granule_id: granule_id(row, 0)?,
        ingested: instant(row, 1)?,
        deleted: instant_or_null(row, 2)?,
        producer_granule: granule_id_or_null(row, 3)?,
    })
}

fn granule_of(row: PackedRow<'_>) -> Result<Granule> {
    let granule_id = |text: &str| GranuleId::new(text).map_err(damaged);
    Ok(Granule {
        granule_id: granule_id(row.granule_id)?,
        ingested: instant_of(row.ingested)?,
        deleted: row.deleted.map(instant_of).transpose()?,
        producer_granule: row.producer_granule.map(granule_id).transpose()?,
    })
}
