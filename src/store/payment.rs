//! The tables `payment_worker` and `payment_taken`: what must never be issued again.

use rusqlite::{OptionalExtension, named_params};

use super::column::{Count, Micros};
use super::{Read, Result, Write};
use crate::model::Timestamp;

/// How far a worker has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerRow {
    /// The worker.
    pub worker: u32,
    /// The name of its layout.
    pub layout: String,
    /// The instant of second 0.
    pub epoch: Timestamp,
    /// The last second of which it issued ids.
    pub last_second: u64,
    /// The next counter in that second.
    pub next_counter: u32,
}

impl Read<'_> {
    /// How far the workers have come, by number: 45 rows at most.
    ///
    /// # Errors
    ///
    /// [`super::Error::Damaged`]: the two copies of a row differ (V5). An id could be issued twice.
    pub fn payment_workers(&self) -> Result<Vec<WorkerRow>> {
        const WORKERS: &str = "
            SELECT worker, layout, epoch, last_second, next_counter
            FROM payment_worker
            ORDER BY worker";
        if let Some(what) = self.integrity_check("payment_worker")?.into_iter().next() {
            return Err(super::Error::Damaged { what });
        }
        let mut statement = self.transaction.prepare_cached(WORKERS)?;
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

    /// Whether an id belongs to the old scheme.
    pub fn is_payment_taken(&self, id: &str) -> Result<bool> {
        const IS_TAKEN: &str = "
            SELECT 1
            FROM payment_taken
            WHERE id = :id";
        let found: Option<i64> = self
            .transaction
            .prepare_cached(IS_TAKEN)?
            .query_row(named_params! { ":id": id }, |row| row.get(0))
            .optional()?;
        Ok(found.is_some())
    }
}

impl Write<'_> {
    /// Notes how far a worker has come.
    pub fn save_payment_worker(&self, row: &WorkerRow) -> Result<()> {
        const SAVE: &str = "
            INSERT INTO payment_worker (worker, layout, epoch, last_second, next_counter)
            VALUES (:worker, :layout, :epoch, :last_second, :next_counter)
            ON CONFLICT (worker) DO UPDATE
            SET last_second = excluded.last_second, next_counter = excluded.next_counter";
        self.transaction.prepare_cached(SAVE)?.execute(named_params! {
            ":worker": row.worker,
            ":layout": row.layout,
            ":epoch": Micros(row.epoch),
            ":last_second": Count(row.last_second),
            ":next_counter": row.next_counter,
        })?;
        Ok(())
    }

    /// Notes an id of the old scheme; says whether it is new.
    pub fn insert_payment_taken(&self, id: &str) -> Result<bool> {
        const INSERT: &str = "
            INSERT INTO payment_taken (id)
            VALUES (:id)
            ON CONFLICT (id) DO NOTHING";
        let rows = self.transaction.prepare_cached(INSERT)?.execute(named_params! { ":id": id })?;
        Ok(rows > 0)
    }
}
