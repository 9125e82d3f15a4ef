//! The tables `payment_worker` and `payment_taken`: the payment ids that must not be issued again.

use tokio_postgres::types::Type;

use super::column::{count, damaged, instant, stored, value};
use crate::store::postgres::parameter::{array, bigint, integer, text};
use crate::store::postgres::session::{Snapshot, Transaction};
use crate::store::rows::WorkerRow;
use crate::store::{Error, Result};

impl Snapshot {
    /// The same as in the SQLite store. In a transaction, the ids of all workers are locked until its end: two
    /// hosts that lease at once do so one after the other.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`]: a row differs from its checksum, so an id could be issued twice.
    pub fn payment_workers(&self) -> Result<Vec<WorkerRow>> {
        const WORKERS: &str = "
            SELECT worker, layout, epoch, last_second, next_counter,
                checksum = md5(
                    quote_nullable(worker::text) || quote_nullable(layout)
                    || quote_nullable(epoch::text) || quote_nullable(last_second::text)
                    || quote_nullable(next_counter::text))
            FROM accession.payment_worker
            ORDER BY worker";
        self.lock(0)?;
        let rows = self.reading()?.query(WORKERS, &[])?;
        let workers = rows.iter().map(|row| {
            let (worker, next_counter): (i32, i32) = (value(row, 0)?, value(row, 4)?);
            if value::<Option<bool>>(row, 5)? != Some(true) {
                let what = format!("the row of payment worker {worker} differs from its checksum");
                return Err(Error::damaged(what));
            }
            Ok(WorkerRow {
                worker: worker.try_into().map_err(damaged)?,
                layout: value(row, 1)?,
                epoch: instant(row, 2)?,
                last_second: count(row, 3)?,
                next_counter: next_counter.try_into().map_err(damaged)?,
            })
        });
        workers.collect()
    }

    pub fn payments_taken_after(&self, after: &str, limit: u32) -> Result<Vec<String>> {
        const PAGE: &str = "
            SELECT id
            FROM accession.payment_taken
            WHERE id > $1
            ORDER BY id
            LIMIT $2";
        let rows = self.reading()?.query(PAGE, &[text(after), bigint(i64::from(limit))])?;
        rows.iter().map(|row| value(row, 0)).collect()
    }

    pub fn payments_taken(&self, first: &str, last: &str) -> Result<Vec<String>> {
        const TAKEN: &str = "
            SELECT id
            FROM accession.payment_taken
            WHERE id >= $1 AND id <= $2
            ORDER BY id";
        let rows = self.reading()?.query(TAKEN, &[text(first), text(last)])?;
        rows.iter().map(|row| value(row, 0)).collect()
    }
}

impl Transaction<'_> {
    pub fn save_payment_worker(&self, row: &WorkerRow) -> Result<()> {
        const SAVE: &str = "
            INSERT INTO accession.payment_worker
                (worker, layout, epoch, last_second, next_counter)
            VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (worker) DO UPDATE
            SET last_second = excluded.last_second, next_counter = excluded.next_counter";
        let number = |number: u32| {
            i32::try_from(number).map_err(|_| Error::unstorable(format!("the number {number}")))
        };
        self.lock(0)?;
        self.connection().defer(
            SAVE,
            &[
                integer(number(row.worker)?),
                text(row.layout.as_str()),
                bigint(row.epoch.as_micros()),
                bigint(stored(row.last_second)?),
                integer(number(row.next_counter)?),
            ],
        )?;
        Ok(())
    }

    /// Returns how many of the ids are new. The rows are returned, because the number that Citus
    /// reports includes those that conflict.
    pub fn insert_payments_taken(&self, ids: &[&str]) -> Result<u64> {
        const INSERT: &str = "
            INSERT INTO accession.payment_taken (id)
            SELECT DISTINCT taken.id
            FROM unnest($1::text[]) AS taken (id)
            ON CONFLICT (id) DO NOTHING
            RETURNING id";
        self.lock(0)?;
        let new = self.connection().query(INSERT, &[array(&ids, Type::TEXT_ARRAY)])?;
        Ok(new.len() as u64)
    }
}
