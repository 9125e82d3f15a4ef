//! The tables `granule` and `checkpoint`: the granules with their holding periods, and the running identifier
//! and list after some of them.
//!
//! `OFFSET 0` keeps a server's planner from turning a look-up for each id into a join. Without statistics, it
//! would begin that join with the whole table.

use std::borrow::Cow;

use crate::model::{
    Checkpoint, FoundPeriod, FoundPosition, GranuleId, GranuleQuery, Holding, IdPage, Timestamp,
    Withdrawal,
};
use crate::store::checked_row::row;
use crate::store::page::{Packing, check_order, out_of_order};
use crate::store::rows::{DatasetKey, NewPeriod, Period};
use crate::store::session::{Transaction, View};
use crate::store::statement::{self, Columns, Existing, Sql, Value, damaged};
use crate::store::{Error, Result};

impl View {
    /// The first `limit` granules held at an instant, after an id (`""` means from the first), in canonical
    /// order.
    pub fn held_after(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<Vec<Holding>> {
        static PAGE: Sql = Sql::new(
            "SELECT granule_id, ingested, deleted, producer_granule
            FROM {granule}
            WHERE dataset_id = ?1 AND granule_id > ?2
              AND ingested <= ?3 AND (deleted IS NULL OR deleted > ?3)
            ORDER BY granule_id
            LIMIT ?4",
        );
        let values = [dataset.into(), after.into(), at.into(), limit.into()];
        let granules = self.session()?.page(&PAGE, &values, Packing::Produced)?.granules()?;
        // A granule with overlapping periods is read more than once; `verify` reports it.
        let positions = granules.iter().zip(0..).map(|(it, row)| (it.granule_id.as_str(), row));
        check_order("granule", Some((after, u64::MAX)), positions)?;
        Ok(granules)
    }

    /// The ids of the granules that [`View::held_after`] returns, at a third of its cost.
    pub fn held_ids_after(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<IdPage> {
        static PAGE: Sql = Sql::new(
            "SELECT granule_id
            FROM {granule}
            WHERE dataset_id = ?1 AND granule_id > ?2
              AND ingested <= ?3 AND (deleted IS NULL OR deleted > ?3)
            ORDER BY granule_id
            LIMIT ?4",
        );
        let values = [dataset.into(), after.into(), at.into(), limit.into()];
        self.session()?.page(&PAGE, &values, Packing::Ids)?.into_ids(after)
    }

    /// The last `limit` granules held at an instant, in reverse canonical order.
    pub fn last_held(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        limit: u32,
    ) -> Result<Vec<Holding>> {
        static LAST: Sql = Sql::new(
            "SELECT granule_id, ingested, deleted, producer_granule
            FROM {granule}
            WHERE dataset_id = ?1
              AND ingested <= ?2 AND (deleted IS NULL OR deleted > ?2)
            ORDER BY granule_id DESC
            LIMIT ?3",
        );
        let values = [dataset.into(), at.into(), limit.into()];
        self.rows(&LAST, &values, |row| granule(row, 0))
    }

    /// The granules with these ids that were held at an instant. The ids must be in canonical order.
    pub fn held_among(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        granule_ids: &[&str],
    ) -> Result<Vec<Holding>> {
        self.periods_among_at(dataset, granule_ids, Some(at))
    }

    /// The first `limit` holding periods of the granules with a producer's id, by id and then by time, after an
    /// id and the start of a period.
    pub fn of_producer_after(
        &self,
        dataset: DatasetKey,
        producer_granule: &GranuleId,
        after: Option<(&GranuleId, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<Holding>> {
        static PAGE: Sql = Sql::new(
            "SELECT granule_id, ingested, deleted, producer_granule
            FROM {granule}
            WHERE dataset_id = ?1 AND producer_granule = ?2 AND (granule_id, ingested) > (?3, ?4)
            ORDER BY granule_id, ingested
            LIMIT ?5",
        );
        let (start, ingested) = start(after);
        let values =
            [dataset.into(), producer_granule.into(), start.into(), ingested.into(), limit.into()];
        let granules = self.rows(&PAGE, &values, |row| granule(row, 0))?;
        check_order("granule", after, granules.iter().map(|it| (&it.granule_id, it.ingested)))?;
        Ok(granules)
    }

    /// The first `limit` holding periods of granules in any dataset, by dataset, id and time, after a position
    /// (`None` means from the first).
    ///
    /// Costs a look-up for each dataset on the way; on a server, up to `limit` rows of each dataset.
    pub fn periods_everywhere(
        &self,
        query: &GranuleQuery,
        after: Option<FoundPosition<'_>>,
        limit: u32,
    ) -> Result<Vec<FoundPeriod>> {
        let (first, end) = query.range();
        // Longer than any id, and after all of them.
        let last = || "\u{10ffff}".repeat(GranuleId::MAX_BYTES).into();
        let end: Cow<'_, str> = end.map_or_else(last, Cow::Borrowed);
        self.periods_between(first, &end, after, limit)
    }

    /// The periods of the granules from an id up to, but not including, a string. On a cluster, this asks every
    /// machine, since any may have such granules. Each machine searches only its own datasets. It finds them in
    /// its rows of `writer`, because the table `dataset` contains all datasets on every machine.
    fn periods_between(
        &self,
        first: &GranuleId,
        end: &str,
        after: Option<FoundPosition<'_>>,
        limit: u32,
    ) -> Result<Vec<FoundPeriod>> {
        static OF_ONE: Sql = Sql::by_store(
            "SELECT granule.granule_id, granule.ingested, granule.deleted, dataset.name,
                dataset.withdrawn, dataset.withdrawn_note, dataset.id
            FROM dataset
            JOIN granule ON granule.dataset_id = dataset.id
            WHERE dataset.name = ?1 AND granule.granule_id < ?2
              AND (granule.granule_id, granule.ingested) > (?3, ?4)
              AND (?7 = 1 OR dataset.id IN rarray(?6))
            ORDER BY granule.granule_id, granule.ingested
            LIMIT ?5",
            "SELECT granule.granule_id, granule.ingested, granule.deleted, dataset.name,
                dataset.withdrawn, dataset.withdrawn_note, dataset.id
            FROM {dataset}
            JOIN {granule} ON granule.dataset_id = dataset.id
            WHERE dataset.name = ?1 AND granule.granule_id < ?2
              AND (granule.granule_id, granule.ingested) > (?3, ?4)
              AND (?7 = 1 OR dataset.id IN rarray(?6))
            ORDER BY granule.granule_id, granule.ingested
            LIMIT ?5",
        );
        static OF_NEXT: Sql = Sql::by_store(
            "SELECT granule.granule_id, granule.ingested, granule.deleted, dataset.name,
                dataset.withdrawn, dataset.withdrawn_note, dataset.id
            FROM dataset
            CROSS JOIN granule
              ON granule.dataset_id = dataset.id
              AND granule.granule_id >= ?1 AND granule.granule_id < ?2
            WHERE dataset.name > ?3 AND (?6 = 1 OR dataset.id IN rarray(?5))
            ORDER BY dataset.name, granule.granule_id, granule.ingested
            LIMIT ?4",
            "SELECT period.granule_id, period.ingested, period.deleted, dataset.name,
                dataset.withdrawn, dataset.withdrawn_note, dataset.id
            FROM {writer}
            JOIN {dataset} ON dataset.id = writer.dataset_id
            CROSS JOIN LATERAL (
                SELECT granule.granule_id, granule.ingested, granule.deleted
                FROM {granule}
                WHERE granule.dataset_id = writer.dataset_id
                  AND granule.granule_id >= ?1 AND granule.granule_id < ?2
                ORDER BY granule.granule_id, granule.ingested
                LIMIT ?4) AS period
            WHERE dataset.name > ?3 AND (?6 = 1 OR dataset.id IN rarray(?5))
            ORDER BY dataset.name, period.granule_id, period.ingested
            LIMIT ?4",
        );
        let mut rows = match after {
            None => Vec::new(),
            Some(FoundPosition { dataset, granule_id, ingested }) => {
                let (name, ingested) = (dataset.as_str().into(), ingested.as_micros().into());
                let limit = limit.into();
                let values =
                    self.with_shown([name, end.into(), granule_id.into(), ingested, limit]);
                self.rows(&OF_ONE, &values, found)?
            }
        };
        let missing = limit.saturating_sub(u32::try_from(rows.len()).unwrap_or(limit));
        if missing > 0 {
            let name = after.map_or("", |after| after.dataset.as_str());
            let values = self.with_shown([first.into(), end.into(), name.into(), missing.into()]);
            rows.extend(self.rows(&OF_NEXT, &values, found)?);
        }
        let mut keys: Vec<DatasetKey> = rows.iter().map(|(key, _)| *key).collect();
        keys.sort_unstable();
        keys.dedup();
        let urls = self.granule_urls(&keys)?;
        for (key, period) in &mut rows {
            period.url = urls.get(key).and_then(|url| url.address_of(&period.granule));
        }
        Ok(rows.into_iter().map(|(_, period)| period).collect())
    }

    /// All periods of some ids, by id and then by time. The ids must be in canonical order.
    pub fn periods_among(&self, dataset: DatasetKey, granule_ids: &[&str]) -> Result<Vec<Holding>> {
        self.periods_among_at(dataset, granule_ids, None)
    }

    /// The periods of some ids that contain an instant, or all of their periods (`None`).
    fn periods_among_at(
        &self,
        dataset: DatasetKey,
        granule_ids: &[&str],
        at: Option<Timestamp>,
    ) -> Result<Vec<Holding>> {
        static BETWEEN: Sql = Sql::new(
            "SELECT EXISTS (
                SELECT 1
                FROM {granule}
                WHERE dataset_id = ?1 AND granule_id >= ?2 AND granule_id <= ?3)",
        );
        // In a registry file, the rows are already in the order of the list. Sorting them would make SQLite
        // keep all of them in memory during a change.
        static AMONG: Sql = Sql::by_store(
            "SELECT granule_id, ingested, deleted, producer_granule
            FROM rarray(?2) AS wanted
            CROSS JOIN granule ON granule.granule_id = wanted.value
            WHERE dataset_id = ?1
              AND (?4 = 1 OR ingested <= ?3 AND (deleted IS NULL OR deleted > ?3))",
            r#"SELECT period.granule_id, period.ingested, period.deleted, period.producer_granule
            FROM unnest(CAST(?2 AS text ARRAY)) AS wanted (granule_id)
            CROSS JOIN LATERAL (
                SELECT granule_id, ingested, deleted, producer_granule
                FROM {granule}
                WHERE dataset_id = ?1 AND granule_id = wanted.granule_id COLLATE "C"
                  AND (?4 = 1 OR ingested <= ?3 AND (deleted IS NULL OR deleted > ?3))
                OFFSET 0) AS period
            ORDER BY period.granule_id, period.ingested"#,
        );
        let (Some(&first), Some(&last)) = (granule_ids.first(), granule_ids.last()) else {
            return Ok(Vec::new());
        };
        // The ids of most batches are new: one look-up replaces one for each id.
        if first != last && !self.exists(&BETWEEN, &[dataset.into(), first.into(), last.into()])? {
            return Ok(Vec::new());
        }
        let every = i64::from(at.is_none());
        let at = at.unwrap_or(Timestamp::MIN);
        let values = [dataset.into(), Value::Texts(granule_ids), at.into(), every.into()];
        let periods = self.rows(&AMONG, &values, |row| granule(row, 0))?;
        check_order("granule", None, periods.iter().map(|it| (&it.granule_id, it.ingested)))?;
        Ok(periods)
    }

    /// Whether a granule with this id or a later one is held now.
    pub fn holds_from(&self, dataset: DatasetKey, granule_id: &GranuleId) -> Result<bool> {
        static HOLDS_FROM: Sql = Sql::new(
            "SELECT EXISTS (
                SELECT 1
                FROM {granule}
                WHERE dataset_id = ?1 AND granule_id >= ?2 AND deleted IS NULL)",
        );
        self.exists(&HOLDS_FROM, &[dataset.into(), granule_id.into()])
    }

    /// Calls `show` for the periods that end after an instant (`None` means all periods), by id and then by
    /// time, for the ids after `after` (`""` means from the first).
    pub fn each_period<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        after: &str,
        beyond: Option<Timestamp>,
        show: impl FnMut(Period<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        static PAGE: Sql = Sql::new(
            "SELECT granule_id, ingested, deleted
            FROM {granule}
            WHERE dataset_id = ?1 AND (granule_id, ingested) > (?2, ?3)
              AND (deleted IS NULL OR deleted > ?4)
            ORDER BY granule_id, ingested
            LIMIT ?5",
        );
        self.each_row(dataset, (&PAGE, Packing::Periods), after, beyond, show)
    }

    /// Calls `show` for every period of a dataset that ends after a time (`None` means all periods), by id and
    /// then by time.
    ///
    /// Costs a pass over all of the dataset's rows, since the table is in order of id.
    pub fn each_change<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        after: Option<Timestamp>,
        show: impl FnMut(Period<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        static PAGE: Sql = Sql::new(
            "SELECT granule_id, ingested, deleted, producer_granule
            FROM {granule}
            WHERE dataset_id = ?1 AND (granule_id, ingested) > (?2, ?3)
              AND (deleted IS NULL OR deleted > ?4)
            ORDER BY granule_id, ingested
            LIMIT ?5",
        );
        self.each_row(dataset, (&PAGE, Packing::Produced), "", after, show)
    }

    /// Calls `show` for the rows of a query, page by page. So memory stays constant, and a distributed engine
    /// does not collect the whole dataset before the first row.
    fn each_row<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        (sql, packing): (&'static Sql, Packing),
        after: &str,
        beyond: Option<Timestamp>,
        mut show: impl FnMut(Period<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut after, mut ingested) = (after.to_owned(), i64::MAX);
        let beyond = beyond.map_or(i64::MIN, Timestamp::as_micros);
        // After an error, rows are read one by one, so that those before a damaged row are shown. If a page of
        // such rows has no error, the error was temporary.
        let page_rows = self.session.page_rows();
        let (mut limit, mut damage, mut singly) = (page_rows, None, 0);
        loop {
            let values = [
                dataset.into(),
                after.as_str().into(),
                ingested.into(),
                beyond.into(),
                limit.into(),
            ];
            let page = self.session().and_then(|session| session.page(sql, &values, packing));
            let page = match page {
                Ok(page) => page,
                Err(error) if limit > 1 && error.concerns_content() => {
                    (limit, damage, singly) = (1, Some(error), 0);
                    continue;
                }
                Err(error) => return Err(damage.unwrap_or(error).into()),
            };
            let mut last = (after.as_bytes(), ingested);
            let mut rows = 0;
            for row in page.rows() {
                let next = (row.granule_id, row.ingested);
                if next <= last {
                    return Err(out_of_order("granule").into());
                }
                (last, rows) = (next, rows + 1);
                show(row)?;
            }
            if rows < limit {
                return Ok(());
            }
            singly += 1;
            if singly == page_rows && limit == 1 {
                (limit, damage) = (page_rows, None);
            }
            let granule_id = std::str::from_utf8(last.0).map_err(damaged)?;
            (after, ingested) = (granule_id.to_owned(), last.1);
        }
    }
}

impl Transaction {
    /// Adds periods. They must not overlap existing ones.
    pub fn insert_periods(&self, dataset: DatasetKey, periods: &[NewPeriod<'_>]) -> Result<()> {
        self.add(dataset, &statement::GRANULE, Existing::Refused, periods, |period, values| {
            values.extend([
                period.granule_id.into(),
                period.ingested.into(),
                period.deleted.into(),
                period.producer_granule.map(GranuleId::as_str).into(),
            ]);
        })
    }

    /// Ends the current holding period of each of some granules, each at its own time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`]: a granule is not held, although this transaction has read that it is.
    pub fn end_periods(&self, dataset: DatasetKey, ends: &[(&GranuleId, Timestamp)]) -> Result<()> {
        if ends.is_empty() {
            return Ok(());
        }
        self.session()?.lock(dataset)?;
        match self.session()?.end_periods(dataset, ends)? {
            None => Ok(()),
            Some((granule_id, rows)) => {
                let what = format!("{rows} rows state that {granule_id} is held, instead of one");
                Err(Error::damaged(what))
            }
        }
    }
}

/// Reads a period and the key of its dataset. The caller adds the address later.
fn found(row: &dyn Columns) -> Result<(DatasetKey, FoundPeriod)> {
    let note = row.get(5)?;
    let withdrawn =
        row.get::<Option<Timestamp>>(4)?.map(|timestamp| Withdrawal { timestamp, note });
    let period = FoundPeriod {
        granule: row.get(0)?,
        dataset: row.get(3)?,
        ingested: row.get(1)?,
        deleted: row.get(2)?,
        withdrawn,
        url: None,
    };
    Ok((row.get(6)?, period))
}

/// The id and the start of a period after which a page begins.
fn start(after: Option<(&GranuleId, Timestamp)>) -> (&str, i64) {
    after.map_or(("", i64::MIN), |(granule_id, ingested)| {
        (granule_id.as_str(), ingested.as_micros())
    })
}

/// Reads a granule from four columns of a row.
pub(super) fn granule(row: &dyn Columns, first: usize) -> Result<Holding> {
    Ok(Holding {
        granule_id: row.get(first)?,
        ingested: row.get(first + 1)?,
        deleted: row.get(first + 2)?,
        producer_granule: row.get(first + 3)?,
    })
}

row!(Checkpoint in CHECKPOINT { granule_id, chain, list, granules });

impl View {
    /// The last checkpoint before an id. `None` means that there is none.
    pub fn checkpoint_before(
        &self,
        dataset: DatasetKey,
        granule_id: &str,
    ) -> Result<Option<Checkpoint>> {
        static BEFORE: Sql = Sql::new(
            "SELECT {checkpoint.*}
            FROM {checkpoint}
            WHERE dataset_id = ?1 AND granule_id < ?2
            ORDER BY granule_id DESC
            LIMIT 1",
        );
        Ok(self.select(&BEFORE, &[dataset.into(), granule_id.into()])?.pop())
    }
}

impl Transaction {
    /// Deletes the checkpoints at and after an id, which a change at that id has invalidated.
    pub fn drop_checkpoints_from(&self, dataset: DatasetKey, granule_id: &str) -> Result<()> {
        static DROP: Sql = Sql::new(
            "DELETE FROM {checkpoint}
            WHERE dataset_id = ?1 AND granule_id >= ?2",
        );
        self.run(dataset, &DROP, &[dataset.into(), granule_id.into()])
    }
}
