//! The table `granule`, as the write engine and `verify` see it: holding periods.

use rusqlite::{Row, Statement, named_params};

use super::column::Micros;
use super::granule::{array, granule_from};
use crate::model::{Granule, GranuleId, Timestamp};
use crate::store::rows::{Begin, DatasetKey, NewPeriod, Period};
use crate::store::sqlite::session::{Snapshot, Transaction};
use crate::store::{Error, Result};

/// The number of periods that one statement adds.
const INSERTED_AT_ONCE: usize = 64;

/// The number of parameters that a period has in a statement that adds several.
const PARAMETERS: usize = 4;

impl Snapshot {
    /// Every stored period of some ids, by id and then by time. The ids are in canonical order.
    pub fn periods_among(&self, dataset: DatasetKey, granule_ids: &[&str]) -> Result<Vec<Granule>> {
        const AMONG: &str = "
            SELECT granule_id, ingested, deleted, producer_granule
            FROM rarray(:granule_ids) AS wanted
            CROSS JOIN granule ON granule.granule_id = wanted.value
            WHERE dataset_id = :dataset_id
            ORDER BY granule_id, ingested";
        let (Some(first), Some(last)) = (granule_ids.first(), granule_ids.last()) else {
            return Ok(Vec::new());
        };
        // Most batches are new: one look-up replaces one for each id.
        if !self.has_granules_between(dataset, first, last)? {
            return Ok(Vec::new());
        }
        let params = named_params! { ":dataset_id": dataset.0, ":granule_ids": array(granule_ids) };
        let mut statement = self.connection().prepare_cached(AMONG)?;
        Ok(statement.query_map(params, granule_from)?.collect::<rusqlite::Result<_>>()?)
    }

    /// Whether any id from `first` to `last` was ever in the dataset.
    fn has_granules_between(&self, dataset: DatasetKey, first: &str, last: &str) -> Result<bool> {
        const BETWEEN: &str = "
            SELECT EXISTS (
                SELECT 1
                FROM granule
                WHERE dataset_id = :dataset_id
                  AND granule_id >= :first AND granule_id <= :last)";
        let params = named_params! { ":dataset_id": dataset.0, ":first": first, ":last": last };
        Ok(self.connection().prepare_cached(BETWEEN)?.query_row(params, |row| row.get(0))?)
    }

    /// Whether an id at or after this one is held now.
    pub fn holds_from(&self, dataset: DatasetKey, granule_id: &GranuleId) -> Result<bool> {
        const HOLDS_FROM: &str = "
            SELECT EXISTS (
                SELECT 1
                FROM granule
                WHERE dataset_id = :dataset_id AND granule_id >= :granule_id AND deleted IS NULL)";
        let params = named_params! { ":dataset_id": dataset.0, ":granule_id": granule_id.as_str() };
        Ok(self.connection().prepare_cached(HOLDS_FROM)?.query_row(params, |row| row.get(0))?)
    }

    /// Calls `show` for the periods that last beyond an instant (`None` means all periods),
    /// beginning at an id, by id and then by time.
    pub fn each_period<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        begin: Begin<'_>,
        beyond: Option<Timestamp>,
        mut show: impl FnMut(Period<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        const AT: &str = "
            SELECT granule_id, ingested, deleted
            FROM granule
            WHERE dataset_id = :dataset_id AND granule_id >= :granule_id
              AND (deleted IS NULL OR deleted > :beyond)
            ORDER BY granule_id, ingested";
        const AFTER: &str = "
            SELECT granule_id, ingested, deleted
            FROM granule
            WHERE dataset_id = :dataset_id AND granule_id > :granule_id
              AND (deleted IS NULL OR deleted > :beyond)
            ORDER BY granule_id, ingested";
        let (sql, granule_id) = begin.choose(AT, AFTER);
        let mut statement = self.connection().prepare_cached(sql).map_err(Error::from)?;
        let params = named_params! {
            ":dataset_id": dataset.0,
            ":granule_id": granule_id,
            ":beyond": beyond.map_or(i64::MIN, Timestamp::as_micros),
        };
        let mut rows = statement.query(params).map_err(Error::from)?;
        while let Some(row) = rows.next().map_err(Error::from)? {
            show(period_from(row).map_err(Error::from)?)?;
        }
        Ok(())
    }
}

impl Transaction<'_> {
    /// Adds periods, which must not overlap existing ones.
    ///
    /// A statement adds many rows: it finds the place of the next row from that of the last one,
    /// while a statement for each row begins at the root of the tree.
    pub fn insert_periods(&self, dataset: DatasetKey, periods: &[NewPeriod<'_>]) -> Result<()> {
        let (many, rest) = periods.as_chunks::<INSERTED_AT_ONCE>();
        if !many.is_empty() {
            let mut insert = self.connection().prepare_cached(&insert_sql(INSERTED_AT_ONCE))?;
            many.iter().try_for_each(|periods| insert_all(&mut insert, dataset, periods))?;
        }
        let mut insert = self.connection().prepare_cached(&insert_sql(1))?;
        rest.chunks(1).try_for_each(|period| insert_all(&mut insert, dataset, period))
    }

    /// Ends the present holding period of each of some granules, each at its own time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`]: one is not held, although this transaction has read that it is.
    pub fn end_periods(&self, dataset: DatasetKey, ends: &[(&GranuleId, Timestamp)]) -> Result<()> {
        const END: &str = "
            UPDATE granule
            SET deleted = ?3
            WHERE dataset_id = ?1 AND granule_id = ?2 AND deleted IS NULL";
        let mut end = self.connection().prepare_cached(END)?;
        for (granule_id, deleted) in ends {
            let rows = end.execute((dataset.0, granule_id.as_str(), Micros(*deleted)))?;
            if rows != 1 {
                let what = format!("{rows} rows state that {granule_id} is held, instead of one");
                return Err(Error::damaged(what));
            }
        }
        Ok(())
    }
}

/// A statement that adds so many periods.
fn insert_sql(periods: usize) -> String {
    let row = |number: usize| {
        let first = 2 + PARAMETERS * number;
        format!("(?1, ?{first}, ?{}, ?{}, ?{})", first + 1, first + 2, first + 3)
    };
    let rows: Vec<String> = (0..periods).map(row).collect();
    format!(
        "INSERT INTO granule (dataset_id, granule_id, ingested, deleted, producer_granule) VALUES {}",
        rows.join(", ")
    )
}

/// Runs a statement of [`insert_sql`].
fn insert_all(
    insert: &mut Statement<'_>,
    dataset: DatasetKey,
    periods: &[NewPeriod<'_>],
) -> Result<()> {
    insert.raw_bind_parameter(1, dataset.0)?;
    for (number, period) in periods.iter().enumerate() {
        let first = 2 + PARAMETERS * number;
        let producer_granule = period.producer_granule.map(GranuleId::as_str);
        insert.raw_bind_parameter(first, period.granule_id.as_str())?;
        insert.raw_bind_parameter(first + 1, Micros(period.ingested))?;
        insert.raw_bind_parameter(first + 2, period.deleted.map(Micros))?;
        insert.raw_bind_parameter(first + 3, producer_granule)?;
    }
    insert.raw_execute()?;
    Ok(())
}

fn id_from<'row>(row: &'row Row<'_>) -> rusqlite::Result<&'row [u8]> {
    Ok(row.get_ref(0)?.as_bytes()?)
}

pub(super) fn period_from<'row>(row: &'row Row<'_>) -> rusqlite::Result<Period<'row>> {
    Ok(Period { granule_id: id_from(row)?, ingested: row.get(1)?, deleted: row.get(2)? })
}
