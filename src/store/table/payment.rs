//! The tables `payment_worker` and `payment_taken`: the payment ids that must not be issued again.

use std::collections::BTreeSet;

use crate::store::Result;
use crate::store::checked_row::row;
use crate::store::rows::{REGISTRY, WorkerRow};
use crate::store::session::{Transaction, View};
use crate::store::statement::{Sql, Value};

row!(WorkerRow in PAYMENT_WORKER { worker, layout, epoch, last_second, next_counter });

/// A row of the table `payment_taken`.
struct Taken {
    id: String,
}

row!(Taken in PAYMENT_TAKEN { id });

impl View {
    /// The last id that each worker issued, in order of the worker's number: at most 45 rows. In a transaction,
    /// this locks the ids of all workers until its end, so two hosts cannot lease at the same time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::store::ErrorKind::Damaged): a row differs from its checksum, so an id
    /// could be issued twice.
    pub fn payment_workers(&self) -> Result<Vec<WorkerRow>> {
        self.session()?.lock(REGISTRY)?;
        self.first(None, u32::MAX)
    }

    /// The ids of the old scheme between two ids (inclusive), ascending.
    pub fn payments_taken(&self, first: &str, last: &str) -> Result<Vec<String>> {
        static TAKEN: Sql = Sql::new(
            "SELECT {payment_taken.*}
            FROM {payment_taken}
            WHERE id >= ?1 AND id <= ?2
            ORDER BY id",
        );
        self.taken(&TAKEN, &[first.into(), last.into()])
    }

    fn taken(&self, sql: &'static Sql, values: &[Value<'_>]) -> Result<Vec<String>> {
        let taken: Vec<Taken> = self.select(sql, values)?;
        Ok(taken.into_iter().map(|taken| taken.id).collect())
    }
}

impl Transaction {
    /// Stores ids of the old scheme. Returns the number of new ones.
    pub fn insert_payments_taken(&self, ids: &[&str]) -> Result<u64> {
        static AMONG: Sql = Sql::new(
            "SELECT {payment_taken.*}
            FROM {payment_taken}
            WHERE id IN rarray(?1)",
        );
        self.session()?.lock(REGISTRY)?;
        let known = self.taken(&AMONG, &[Value::Texts(ids)])?;
        let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
        let ids: BTreeSet<&str> = ids.iter().copied().collect();
        let new: Vec<_> = ids.difference(&known).map(|id| Taken { id: (*id).to_owned() }).collect();
        self.insert(REGISTRY, &new)?;
        Ok(new.len() as u64)
    }
}
