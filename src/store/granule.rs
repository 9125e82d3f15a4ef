//! The table `granule`: each stay of each granule.

use rusqlite::{CachedStatement, OptionalExtension, Row, named_params};

use super::column::{Id, Micros};
use super::pages::{PAGE_ROWS, Pages};
use super::{DatasetKey, Error, Read, Result, Write};
use crate::model::{Granule, GranuleId, Timestamp};

/// A row of `granule` as it stands, for `verify`: nothing in it has been checked.
#[derive(Debug, Clone, Copy)]
pub struct Stay<'row> {
    /// The bytes of the id.
    pub granule_id: &'row [u8],
    /// Microseconds.
    pub ingested: i64,
    /// Microseconds.
    pub deleted: Option<i64>,
}

impl Read<'_> {
    /// Since when an id is held; none: it is not held now.
    pub fn held_since(
        &self,
        dataset: DatasetKey,
        granule_id: &GranuleId,
    ) -> Result<Option<Timestamp>> {
        const HELD_SINCE: &str = "
            SELECT ingested
            FROM granule
            WHERE dataset_id = :dataset_id AND granule_id = :granule_id AND deleted IS NULL";
        let since = self
            .transaction
            .prepare_cached(HELD_SINCE)?
            .query_row(
                named_params! { ":dataset_id": dataset.0, ":granule_id": granule_id.as_str() },
                |row| row.get::<_, Micros>(0),
            )
            .optional()?;
        Ok(since.map(|since| since.0))
    }

    /// The producer's id of a granule that is held now.
    pub fn held_producer(
        &self,
        dataset: DatasetKey,
        granule_id: &GranuleId,
    ) -> Result<Option<GranuleId>> {
        const HELD_PRODUCER: &str = "
            SELECT producer_granule
            FROM granule
            WHERE dataset_id = :dataset_id AND granule_id = :granule_id AND deleted IS NULL";
        let producer: Option<Option<Id>> = self
            .transaction
            .prepare_cached(HELD_PRODUCER)?
            .query_row(
                named_params! { ":dataset_id": dataset.0, ":granule_id": granule_id.as_str() },
                |row| row.get(0),
            )
            .optional()?;
        Ok(producer.flatten().map(|producer| producer.0))
    }

    /// Shows every stay of the granules that a producer called so, by id and then by time.
    pub fn each_of_producer<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        producer_granule: &GranuleId,
        mut show: impl FnMut(Granule) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        const OF_PRODUCER: &str = "
            SELECT granule_id, ingested, deleted, producer_granule
            FROM granule
            WHERE dataset_id = :dataset_id AND producer_granule = :producer_granule
            ORDER BY granule_id, ingested";
        let mut statement = self.transaction.prepare_cached(OF_PRODUCER).map_err(Error::from)?;
        let params = named_params! {
            ":dataset_id": dataset.0, ":producer_granule": producer_granule.as_str(),
        };
        let mut rows = statement.query(params).map_err(Error::from)?;
        while let Some(row) = rows.next().map_err(Error::from)? {
            show(granule_from(row).map_err(Error::from)?)?;
        }
        Ok(())
    }

    /// The first id at or after this one that ever stood in the dataset, held or not.
    pub fn next_granule_id(
        &self,
        dataset: DatasetKey,
        granule_id: &GranuleId,
    ) -> Result<Option<GranuleId>> {
        const NEXT: &str = "
            SELECT granule_id
            FROM granule
            WHERE dataset_id = :dataset_id AND granule_id >= :granule_id
            ORDER BY granule_id
            LIMIT 1";
        let next = self
            .transaction
            .prepare_cached(NEXT)?
            .query_row(
                named_params! { ":dataset_id": dataset.0, ":granule_id": granule_id.as_str() },
                |row| row.get::<_, Id>(0),
            )
            .optional()?;
        Ok(next.map(|next| next.0))
    }

    /// Whether an id at or after this one is held now.
    pub fn holds_from(&self, dataset: DatasetKey, granule_id: &GranuleId) -> Result<bool> {
        const HOLDS_FROM: &str = "
            SELECT EXISTS (
                SELECT 1
                FROM granule
                WHERE dataset_id = :dataset_id AND granule_id >= :granule_id AND deleted IS NULL)";
        Ok(self.transaction.prepare_cached(HOLDS_FROM)?.query_row(
            named_params! { ":dataset_id": dataset.0, ":granule_id": granule_id.as_str() },
            |row| row.get(0),
        )?)
    }

    /// Shows the ids now held, from one on or from behind one on, in canonical order.
    pub fn each_held<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        begin: Begin<'_>,
        mut show: impl FnMut(&str) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        const FROM: &str = "
            SELECT granule_id
            FROM granule
            WHERE dataset_id = :dataset_id AND granule_id >= :granule_id AND deleted IS NULL
            ORDER BY granule_id";
        const BEHIND: &str = "
            SELECT granule_id
            FROM granule
            WHERE dataset_id = :dataset_id AND granule_id > :granule_id AND deleted IS NULL
            ORDER BY granule_id";
        let (sql, granule_id) = begin.choose(FROM, BEHIND);
        let mut statement = self.transaction.prepare_cached(sql).map_err(Error::from)?;
        let mut rows = statement
            .query(named_params! { ":dataset_id": dataset.0, ":granule_id": granule_id })
            .map_err(Error::from)?;
        while let Some(row) = rows.next().map_err(Error::from)? {
            let granule_id = row.get_ref(0).map_err(Error::from)?;
            show(granule_id.as_str().map_err(|error| Error::from(rusqlite::Error::from(error)))?)?;
        }
        Ok(())
    }

    /// A granule as it was held at an instant; none if it was not.
    pub fn granule_held(
        &self,
        dataset: DatasetKey,
        granule_id: &GranuleId,
        at: Timestamp,
    ) -> Result<Option<Granule>> {
        const HELD_AT: &str = "
            SELECT granule_id, ingested, deleted, producer_granule
            FROM granule
            WHERE dataset_id = :dataset_id AND granule_id = :granule_id
              AND ingested <= :at AND (deleted IS NULL OR deleted > :at)";
        let params = named_params! {
            ":dataset_id": dataset.0, ":granule_id": granule_id.as_str(), ":at": Micros(at),
        };
        let mut statement = self.transaction.prepare_cached(HELD_AT)?;
        Ok(statement.query_row(params, granule_from).optional()?)
    }

    /// The granules held at an instant, in canonical order, a page in memory at a time.
    pub fn granules_held(&self, dataset: DatasetKey, at: Timestamp) -> Pages<'_, Granule> {
        const PAGE: &str = "
            SELECT granule_id, ingested, deleted, producer_granule
            FROM granule
            WHERE dataset_id = :dataset_id AND granule_id > :behind
              AND ingested <= :at AND (deleted IS NULL OR deleted > :at)
            ORDER BY granule_id
            LIMIT :rows";
        let load = move |behind: &str| {
            let mut statement = self.transaction.prepare_cached(PAGE)?;
            let params = named_params! {
                ":dataset_id": dataset.0, ":behind": behind, ":at": Micros(at), ":rows": PAGE_ROWS,
            };
            Ok(statement.query_map(params, granule_from)?.collect::<rusqlite::Result<_>>()?)
        };
        Pages::of(load, |granule| &granule.granule_id)
    }

    /// Shows the stays that last beyond an instant, from one id on or from behind one on, by id and
    /// then by time.
    pub fn each_stay_beyond<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        begin: Begin<'_>,
        beyond: Option<Timestamp>,
        mut show: impl FnMut(Stay<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        const FROM: &str = "
            SELECT granule_id, ingested, deleted
            FROM granule
            WHERE dataset_id = :dataset_id AND granule_id >= :granule_id
              AND (deleted IS NULL OR deleted > :beyond)
            ORDER BY granule_id, ingested";
        const BEHIND: &str = "
            SELECT granule_id, ingested, deleted
            FROM granule
            WHERE dataset_id = :dataset_id AND granule_id > :granule_id
              AND (deleted IS NULL OR deleted > :beyond)
            ORDER BY granule_id, ingested";
        let (sql, granule_id) = begin.choose(FROM, BEHIND);
        let mut statement = self.transaction.prepare_cached(sql).map_err(Error::from)?;
        let params = named_params! {
            ":dataset_id": dataset.0,
            ":granule_id": granule_id,
            ":beyond": beyond.map_or(i64::MIN, Timestamp::as_micros),
        };
        let mut rows = statement.query(params).map_err(Error::from)?;
        while let Some(row) = rows.next().map_err(Error::from)? {
            show(stay_from(row).map_err(Error::from)?)?;
        }
        Ok(())
    }

    /// The stays of one granule, in order of time: when it came, and when it went.
    pub fn stays_of(
        &self,
        dataset: DatasetKey,
        granule_id: &str,
    ) -> Result<Vec<(Timestamp, Option<Timestamp>)>> {
        const STAYS_OF: &str = "
            SELECT ingested, deleted
            FROM granule
            WHERE dataset_id = :dataset_id AND granule_id = :granule_id
            ORDER BY ingested";
        let mut statement = self.transaction.prepare_cached(STAYS_OF)?;
        let params = named_params! { ":dataset_id": dataset.0, ":granule_id": granule_id };
        let stays = statement.query_map(params, |row| {
            let deleted: Option<Micros> = row.get(1)?;
            Ok((row.get::<_, Micros>(0)?.0, deleted.map(|deleted| deleted.0)))
        })?;
        Ok(stays.collect::<rusqlite::Result<_>>()?)
    }

    /// Shows every stay of every granule, by id and then by time.
    pub fn each_stay<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        mut show: impl FnMut(Stay<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        const STAYS: &str = "
            SELECT granule_id, ingested, deleted
            FROM granule
            WHERE dataset_id = :dataset_id
            ORDER BY granule_id, ingested";
        let mut statement = self.transaction.prepare_cached(STAYS).map_err(Error::from)?;
        let mut rows =
            statement.query(named_params! { ":dataset_id": dataset.0 }).map_err(Error::from)?;
        while let Some(row) = rows.next().map_err(Error::from)? {
            show(stay_from(row).map_err(Error::from)?)?;
        }
        Ok(())
    }
}

/// Where [`Read::each_held`] begins.
#[derive(Debug, Clone, Copy)]
pub enum Begin<'id> {
    /// With the first id.
    Start,
    /// With this id, if it is held, or the next.
    At(&'id GranuleId),
    /// With the id behind this one.
    Behind(&'id GranuleId),
}

impl<'id> Begin<'id> {
    /// Which of two statements begins there, and with which id.
    fn choose<'sql>(self, from: &'sql str, behind: &'sql str) -> (&'sql str, &'id str) {
        match self {
            // No id is empty, so all ids stand behind the empty text.
            Begin::Start => (behind, ""),
            Begin::At(granule_id) => (from, granule_id.as_str()),
            Begin::Behind(granule_id) => (behind, granule_id.as_str()),
        }
    }
}

impl Write<'_> {
    /// What adds stays of granules that are not held.
    pub fn stays(&self) -> Result<Stays<'_>> {
        const INSERT: &str = "
            INSERT INTO granule (dataset_id, granule_id, ingested, deleted, producer_granule)
            VALUES (?1, ?2, ?3, ?4, ?5)";
        Ok(Stays { insert: self.transaction.prepare_cached(INSERT)? })
    }

    /// Marks a granule deleted; says whether it was held.
    pub fn mark_deleted(
        &self,
        dataset: DatasetKey,
        granule_id: &GranuleId,
        deleted: Timestamp,
    ) -> Result<bool> {
        const MARK_DELETED: &str = "
            UPDATE granule
            SET deleted = :deleted
            WHERE dataset_id = :dataset_id AND granule_id = :granule_id AND deleted IS NULL";
        let rows = self.transaction.prepare_cached(MARK_DELETED)?.execute(named_params! {
            ":dataset_id": dataset.0,
            ":granule_id": granule_id.as_str(),
            ":deleted": Micros(deleted),
        })?;
        Ok(rows > 0)
    }
}

/// Adds stays of granules: one prepared statement for all, its parameters by number, since looking
/// either up for each row takes a fifth of the time of a large change.
pub struct Stays<'write> {
    insert: CachedStatement<'write>,
}

impl Stays<'_> {
    /// Adds a stay of a granule that is not held then.
    pub fn add(
        &mut self,
        dataset: DatasetKey,
        granule_id: &GranuleId,
        ingested: Timestamp,
        deleted: Option<Timestamp>,
        producer_granule: Option<&GranuleId>,
    ) -> Result<()> {
        self.insert.execute((
            dataset.0,
            granule_id.as_str(),
            Micros(ingested),
            deleted.map(Micros),
            producer_granule.map(GranuleId::as_str),
        ))?;
        Ok(())
    }
}

fn granule_from(row: &Row<'_>) -> rusqlite::Result<Granule> {
    Ok(Granule {
        granule_id: row.get::<_, Id>(0)?.0,
        ingested: row.get::<_, Micros>(1)?.0,
        deleted: row.get::<_, Option<Micros>>(2)?.map(|deleted| deleted.0),
        producer_granule: row.get::<_, Option<Id>>(3)?.map(|producer| producer.0),
    })
}

fn stay_from<'row>(row: &'row Row<'_>) -> rusqlite::Result<Stay<'row>> {
    Ok(Stay {
        granule_id: row.get_ref(0)?.as_bytes()?,
        ingested: row.get(1)?,
        deleted: row.get(2)?,
    })
}
