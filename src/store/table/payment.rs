//! The tables `payment_worker` and `payment_taken`: the payment ids that must not be issued again.

use crate::store::Result;
use crate::store::rows::{REGISTRY, WorkerRow};
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{Columns, Scope, Sql, Value, damaged};

impl Snapshot {
    /// The last id that each worker issued, by the worker's number: at most 45 rows. In a transaction,
    /// the ids of all workers are locked until its end: two hosts that lease at once do so one after
    /// the other.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::store::ErrorKind::Damaged): a row differs from its second copy (V5) or
    /// its checksum, so an id could be issued twice.
    pub fn payment_workers(&self) -> Result<Vec<WorkerRow>> {
        static WORKERS: Sql = Sql::new(
            "SELECT worker, layout, epoch, last_second, next_counter,
                [checksum IS NOT DISTINCT FROM md5(
                    quote_nullable(worker::text) || quote_nullable(layout)
                    || quote_nullable(epoch::text) || quote_nullable(last_second::text)
                    || quote_nullable(next_counter::text)) AND] true
            FROM {payment_worker}
            ORDER BY worker",
        );
        self.session.lock(REGISTRY)?;
        self.session.check_copies("payment_worker")?;
        self.rows(Scope::Registry, &WORKERS, &[], |row| {
            let worker = row.int(0)?;
            if !row.flag(5)? {
                let what = format!("the row of payment worker {worker} differs from its checksum");
                return Err(damaged(what));
            }
            Ok(WorkerRow {
                worker: worker.try_into().map_err(damaged)?,
                layout: row.string(1)?,
                epoch: row.instant(2)?,
                last_second: row.count(3)?,
                next_counter: row.int(4)?.try_into().map_err(damaged)?,
            })
        })
    }

    /// The ids of the old scheme after an id (`""` means from the first), ascending, at most `limit` of
    /// them.
    pub fn payments_taken_after(&self, after: &str, limit: u32) -> Result<Vec<String>> {
        static PAGE: Sql = Sql::new(
            "SELECT id
            FROM {payment_taken}
            WHERE id > ?1
            ORDER BY id
            LIMIT ?2",
        );
        self.rows(Scope::Registry, &PAGE, &[after.into(), limit.into()], id)
    }

    /// The ids of the old scheme between two ids (inclusive), ascending.
    pub fn payments_taken(&self, first: &str, last: &str) -> Result<Vec<String>> {
        static TAKEN: Sql = Sql::new(
            "SELECT id
            FROM {payment_taken}
            WHERE id >= ?1 AND id <= ?2
            ORDER BY id",
        );
        self.rows(Scope::Registry, &TAKEN, &[first.into(), last.into()], id)
    }
}

impl Transaction {
    /// Stores the last id that a worker issued.
    pub fn save_payment_worker(&self, row: &WorkerRow) -> Result<()> {
        static SAVE: Sql = Sql::new(
            "INSERT INTO {payment_worker} (worker, layout, epoch, last_second, next_counter)
            VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (worker) DO UPDATE
            SET last_second = excluded.last_second, next_counter = excluded.next_counter",
        );
        let values = [
            row.worker.into(),
            row.layout.as_str().into(),
            row.epoch.into(),
            row.last_second.into(),
            row.next_counter.into(),
        ];
        self.run(REGISTRY, &SAVE, &values)
    }

    /// Stores ids of the old scheme; returns how many are new. The rows are returned, because the
    /// number that Citus reports includes those that conflict.
    pub fn insert_payments_taken(&self, ids: &[&str]) -> Result<u64> {
        static INSERT: Sql = Sql::by_store(
            "INSERT INTO payment_taken (id)
            SELECT DISTINCT taken.value
            FROM rarray(?1) AS taken
            WHERE true
            ON CONFLICT (id) DO NOTHING
            RETURNING id",
            "INSERT INTO {payment_taken} (id)
            SELECT DISTINCT taken.id
            FROM unnest(CAST(?1 AS text ARRAY)) AS taken (id)
            ON CONFLICT (id) DO NOTHING
            RETURNING id",
        );
        self.session.lock(REGISTRY)?;
        let new = self.rows(Scope::Registry, &INSERT, &[Value::Texts(ids)], id)?;
        Ok(new.len() as u64)
    }
}

fn id(row: &dyn Columns) -> Result<String> {
    row.string(0)
}
