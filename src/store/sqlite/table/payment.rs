//! The tables `payment_worker` and `payment_taken`: the payment ids that must not be issued again.

use rusqlite::named_params;

use super::column::{Count, Micros};
use super::integrity::integrity_check;
use crate::store::rows::WorkerRow;
use crate::store::sqlite::session::{Snapshot, Transaction};
use crate::store::{Error, Result};

impl Snapshot {
    /// The last id that each worker issued, by the worker's number: at most 45 rows.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`]: the two copies of a row differ (V5), so an id could be issued twice.
    pub fn payment_workers(&self) -> Result<Vec<WorkerRow>> {
        const WORKERS: &str = "
            SELECT worker, layout, epoch, last_second, next_counter
            FROM payment_worker
            ORDER BY worker";
        if let Some(what) = integrity_check(self.connection(), "payment_worker")?.into_iter().next()
        {
            return Err(Error::damaged(what));
        }
        let mut statement = self.connection().prepare_cached(WORKERS)?;
        let rows = statement.query_map([], |row| {
            Ok(WorkerRow {
                worker: row.get(0)?,
                layout: row.get(1)?,
                epoch: row.get::<_, Micros>(2)?.0,
                last_second: row.get::<_, Count>(3)?.0,
                next_counter: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The ids of the old scheme after an id, ascending, at most `limit` of them.
    pub fn payments_taken_after(&self, after: &str, limit: u32) -> Result<Vec<String>> {
        const PAGE: &str = "
            SELECT id
            FROM payment_taken
            WHERE id > :after
            ORDER BY id
            LIMIT :limit";
        let mut statement = self.connection().prepare_cached(PAGE)?;
        let params = named_params! { ":after": after, ":limit": limit };
        let rows = statement.query_map(params, |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The ids of the old scheme between two ids (inclusive), ascending.
    pub fn payments_taken(&self, first: &str, last: &str) -> Result<Vec<String>> {
        const TAKEN: &str = "
            SELECT id
            FROM payment_taken
            WHERE id >= :first AND id <= :last
            ORDER BY id";
        let mut statement = self.connection().prepare_cached(TAKEN)?;
        let rows = statement
            .query_map(named_params! { ":first": first, ":last": last }, |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

impl Transaction<'_> {
    /// Stores the last id that a worker issued.
    pub fn save_payment_worker(&self, row: &WorkerRow) -> Result<()> {
        const SAVE: &str = "
            INSERT INTO payment_worker (worker, layout, epoch, last_second, next_counter)
            VALUES (:worker, :layout, :epoch, :last_second, :next_counter)
            ON CONFLICT (worker) DO UPDATE
            SET last_second = excluded.last_second, next_counter = excluded.next_counter";
        self.connection().prepare_cached(SAVE)?.execute(named_params! {
            ":worker": row.worker,
            ":layout": row.layout,
            ":epoch": Micros(row.epoch),
            ":last_second": Count(row.last_second),
            ":next_counter": row.next_counter,
        })?;
        Ok(())
    }

    /// Stores ids of the old scheme; returns how many are new.
    pub fn insert_payments_taken(&self, ids: &[&str]) -> Result<u64> {
        const INSERT: &str = "
            INSERT INTO payment_taken (id)
            VALUES (?1)
            ON CONFLICT (id) DO NOTHING";
        let mut insert = self.connection().prepare_cached(INSERT)?;
        let mut taken = 0;
        for id in ids {
            taken += insert.execute((id,))? as u64;
        }
        Ok(taken)
    }
}
