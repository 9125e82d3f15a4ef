//! The table `granule`, as queries see it: which granules were held, and when.

use std::rc::Rc;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Row, named_params};

use super::column::{Id, Micros};
use crate::model::{DatasetName, Granule, GranuleId, IdPage, IdPageBuilder, Timestamp};
use crate::store::order::{ascending, out_of_order};
use crate::store::rows::{DatasetKey, SubsetKey};
use crate::store::sqlite::session::Snapshot;
use crate::store::{Error, Result};

impl Snapshot {
    /// The granules held at an instant, after an id (`""` means from the first), in canonical
    /// order, at most `limit` of them.
    pub fn held_after(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<Vec<Granule>> {
        const PAGE: &str = "
            SELECT granule_id, ingested, deleted, producer_granule
            FROM granule
            WHERE dataset_id = :dataset_id AND granule_id > :after
              AND ingested <= :at AND (deleted IS NULL OR deleted > :at)
            ORDER BY granule_id
            LIMIT :limit";
        let params = named_params! {
            ":dataset_id": dataset.0, ":after": after, ":at": Micros(at), ":limit": limit,
        };
        let mut statement = self.connection().prepare_cached(PAGE)?;
        let rows = statement.query_map(params, granule_from)?.collect::<rusqlite::Result<_>>()?;
        ascending(
            "granule",
            rows,
            |first: &Granule| first.granule_id.as_str() > after,
            // A granule with overlapping periods, which `verify` reports, is read more than once.
            |one, next| one.granule_id <= next.granule_id,
        )
    }

    /// The ids of the granules that [`Snapshot::held_after`] returns, at a third of its cost.
    pub fn held_ids_after(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<IdPage> {
        const PAGE: &str = "
            SELECT granule_id
            FROM granule
            WHERE dataset_id = :dataset_id AND granule_id > :after
              AND ingested <= :at AND (deleted IS NULL OR deleted > :at)
            ORDER BY granule_id
            LIMIT :limit";
        let params = named_params! {
            ":dataset_id": dataset.0, ":after": after, ":at": Micros(at), ":limit": limit,
        };
        let mut statement = self.connection().prepare_cached(PAGE)?;
        let mut rows = statement.query(params)?;
        let mut page = IdPageBuilder::default();
        let mut is_ascending = true;
        while let Some(row) = rows.next()? {
            let ValueRef::Text(id) = row.get_ref(0)? else {
                return Err(Error::damaged("a granule id is not text"));
            };
            is_ascending &= match page.last() {
                None => id > after.as_bytes(),
                // As in `held_after`, an id may be read more than once.
                Some(last) => last <= id,
            };
            page.push(id);
        }
        if !is_ascending {
            return Err(out_of_order("granule"));
        }
        page.finish().map_err(|error| Error::damaged(error.to_string()))
    }

    /// The last granules held at an instant, in the reverse of canonical order, at most `limit` of
    /// them.
    pub fn last_held(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        limit: u32,
    ) -> Result<Vec<Granule>> {
        const LAST: &str = "
            SELECT granule_id, ingested, deleted, producer_granule
            FROM granule
            WHERE dataset_id = :dataset_id
              AND ingested <= :at AND (deleted IS NULL OR deleted > :at)
            ORDER BY granule_id DESC
            LIMIT :limit";
        let params = named_params! { ":dataset_id": dataset.0, ":at": Micros(at), ":limit": limit };
        let mut statement = self.connection().prepare_cached(LAST)?;
        Ok(statement.query_map(params, granule_from)?.collect::<rusqlite::Result<_>>()?)
    }

    /// The granules with some of these ids that were held at an instant, in canonical order.
    pub fn held_among(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        granule_ids: &[&str],
    ) -> Result<Vec<Granule>> {
        const AMONG: &str = "
            SELECT granule_id, ingested, deleted, producer_granule
            FROM rarray(:granule_ids) AS wanted
            JOIN granule ON granule.granule_id = wanted.value
            WHERE dataset_id = :dataset_id
              AND ingested <= :at AND (deleted IS NULL OR deleted > :at)
            ORDER BY granule_id";
        let params = named_params! {
            ":dataset_id": dataset.0, ":at": Micros(at), ":granule_ids": array(granule_ids),
        };
        let mut statement = self.connection().prepare_cached(AMONG)?;
        Ok(statement.query_map(params, granule_from)?.collect::<rusqlite::Result<_>>()?)
    }

    /// The granules that a subset names, as they were held at an instant, after an id, in canonical
    /// order, at most `limit` of them. The second value is `None` if the granule was not held then.
    pub fn named_after(
        &self,
        dataset: DatasetKey,
        subset: SubsetKey,
        at: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<Vec<(GranuleId, Option<Granule>)>> {
        const PAGE: &str = "
            SELECT granule.granule_id, granule.ingested, granule.deleted, granule.producer_granule,
                named_granule.granule_id
            FROM named_granule
            LEFT JOIN granule
              ON granule.dataset_id = :dataset_id
              AND granule.granule_id = named_granule.granule_id
              AND granule.ingested <= :at AND (granule.deleted IS NULL OR granule.deleted > :at)
            WHERE named_granule.selection_id = :subset_id AND named_granule.granule_id > :after
            ORDER BY named_granule.granule_id
            LIMIT :limit";
        let params = named_params! {
            ":dataset_id": dataset.0, ":subset_id": subset.0, ":at": Micros(at), ":after": after,
            ":limit": limit,
        };
        let mut statement = self.connection().prepare_cached(PAGE)?;
        let rows = statement.query_map(params, |row| {
            let held = match row.get_ref(0)? {
                rusqlite::types::ValueRef::Null => None,
                _ => Some(granule_from(row)?),
            };
            Ok((row.get::<_, Id>(4)?.0, held))
        })?;
        ascending(
            "named_granule",
            rows.collect::<rusqlite::Result<_>>()?,
            |(first, _): &(GranuleId, _)| first.as_str() > after,
            |(one, _), (next, _)| one <= next,
        )
    }

    /// The holding periods of the granules with a producer's id, after an id and the start of one
    /// of its periods, by id and then by time, at most `limit` of them.
    pub fn of_producer_after(
        &self,
        dataset: DatasetKey,
        producer_granule: &GranuleId,
        after: Option<(&GranuleId, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<Granule>> {
        const PAGE: &str = "
            SELECT granule_id, ingested, deleted, producer_granule
            FROM granule
            WHERE dataset_id = :dataset_id AND producer_granule = :producer_granule
              AND (granule_id, ingested) > (:after, :ingested)
            ORDER BY granule_id, ingested
            LIMIT :limit";
        let params = named_params! {
            ":dataset_id": dataset.0,
            ":producer_granule": producer_granule.as_str(),
            ":after": after.map_or("", |(granule_id, _)| granule_id.as_str()),
            ":ingested": after.map_or(i64::MIN, |(_, ingested)| ingested.as_micros()),
            ":limit": limit,
        };
        let mut statement = self.connection().prepare_cached(PAGE)?;
        let rows = statement.query_map(params, granule_from)?.collect::<rusqlite::Result<_>>()?;
        ascending(
            "granule",
            rows,
            |first| {
                after.is_none_or(|(granule_id, ingested)| {
                    (granule_id, ingested) < (&first.granule_id, first.ingested)
                })
            },
            |one, next| (&one.granule_id, one.ingested) < (&next.granule_id, next.ingested),
        )
    }

    /// Every period of a dataset, past or present, after an id and the start of one of its periods
    /// (`None` means from the first), by id and then by time, at most `limit` of them.
    pub fn periods_after(
        &self,
        dataset: DatasetKey,
        after: Option<(&GranuleId, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<Granule>> {
        const PAGE: &str = "
            SELECT granule_id, ingested, deleted, producer_granule
            FROM granule
            WHERE dataset_id = :dataset_id AND (granule_id, ingested) > (:after, :ingested)
            ORDER BY granule_id, ingested
            LIMIT :limit";
        let params = named_params! {
            ":dataset_id": dataset.0,
            ":after": after.map_or("", |(granule_id, _)| granule_id.as_str()),
            ":ingested": after.map_or(i64::MIN, |(_, ingested)| ingested.as_micros()),
            ":limit": limit,
        };
        let mut statement = self.connection().prepare_cached(PAGE)?;
        let rows = statement.query_map(params, granule_from)?.collect::<rusqlite::Result<_>>()?;
        ascending(
            "granule",
            rows,
            |first: &Granule| {
                after.is_none_or(|(granule_id, ingested)| {
                    (granule_id, ingested) < (&first.granule_id, first.ingested)
                })
            },
            |one, next| (&one.granule_id, one.ingested) < (&next.granule_id, next.ingested),
        )
    }

    /// Every period in which a granule was held in one dataset, in order of time.
    pub fn periods_of_one(
        &self,
        dataset: DatasetKey,
        granule_id: &GranuleId,
    ) -> Result<Vec<Granule>> {
        const PERIODS: &str = "
            SELECT granule_id, ingested, deleted, producer_granule
            FROM granule
            WHERE dataset_id = :dataset_id AND granule_id = :granule_id
            ORDER BY ingested";
        let params = named_params! { ":dataset_id": dataset.0, ":granule_id": granule_id.as_str() };
        let mut statement = self.connection().prepare_cached(PERIODS)?;
        Ok(statement.query_map(params, granule_from)?.collect::<rusqlite::Result<_>>()?)
    }

    /// The periods in which a granule was held in any dataset, after a dataset and a time of ingest
    /// (`None` means from the first), by dataset and time, at most `limit` of them.
    pub fn periods_everywhere(
        &self,
        granule_id: &GranuleId,
        after: Option<(&DatasetName, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<(DatasetName, Granule)>> {
        const PERIODS: &str = "
            SELECT granule.granule_id, granule.ingested, granule.deleted,
                granule.producer_granule, dataset.name
            FROM dataset
            CROSS JOIN granule
              ON granule.dataset_id = dataset.id AND granule.granule_id = :granule_id
            WHERE dataset.name >= :name
              AND (dataset.name > :name OR granule.ingested > :ingested)
            ORDER BY dataset.name, granule.ingested
            LIMIT :limit";
        let params = named_params! {
            ":granule_id": granule_id.as_str(),
            ":name": after.map_or("", |(name, _)| name.as_str()),
            ":ingested": after.map(|(_, ingested)| Micros(ingested)),
            ":limit": limit,
        };
        let mut statement = self.connection().prepare_cached(PERIODS)?;
        let rows = statement.query_map(params, |row| {
            Ok((super::dataset::name_from(row, 4)?, granule_from(row)?))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

/// Ids as a parameter for `rarray`.
pub(super) fn array(granule_ids: &[&str]) -> Rc<Vec<Value>> {
    Rc::new(granule_ids.iter().map(|&granule_id| Value::from(granule_id.to_owned())).collect())
}

pub(super) fn granule_from(row: &Row<'_>) -> rusqlite::Result<Granule> {
    Ok(Granule {
        granule_id: row.get::<_, Id>(0)?.0,
        ingested: row.get::<_, Micros>(1)?.0,
        deleted: row.get::<_, Option<Micros>>(2)?.map(|deleted| deleted.0),
        producer_granule: row.get::<_, Option<Id>>(3)?.map(|producer| producer.0),
    })
}
