//! Leases payment ids. No id is issued twice, even after a crash or if a clock goes back: the last id of each
//! worker is stored in the registry.

use crate::error::{Error, ErrorDetail, Result};
use crate::minting::payment::{Decoded, MAX_BEHIND_SECONDS, PaymentId, SECONDS, Scheme, Worker};
use crate::model::Timestamp;
use crate::registry::handle::{End, Registry};
use crate::store::{REGISTRY, Transaction, WorkerRow};

/// Payment ids that were never issued before and will not be issued again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Lease {
    /// The ids, ascending. There may be fewer than were requested.
    pub ids: Vec<Decoded>,
    /// When more ids will be available. `None` means that all requested ids were leased.
    pub more_at: Option<Timestamp>,
}

impl Registry {
    /// Leases ids for the present second. If the clock went back by a few seconds, leases ids for the last
    /// second used.
    ///
    /// The clock is read while the write lock is held. A time that was read before a long wait would look like
    /// a clock that went back. Leased ids are stored in one transaction before they are returned: a crash can
    /// waste ids, but not repeat them. Nothing is locked while a caller waits until [`Lease::more_at`].
    ///
    /// # Errors
    ///
    /// [`ErrorDetail::PaymentId`](crate::ErrorDetail::PaymentId): the clock is before the epoch, after the last
    /// second, or far behind the worker's last id; or the registry issues ids with another scheme.
    /// [`ErrorKind::ClockAhead`](crate::ErrorKind::ClockAhead): any change with a time confirms the clock.
    pub fn lease_payment_ids(&self, scheme: Scheme, worker: Worker, count: u64) -> Result<Lease> {
        self.write(|transaction| {
            let lease = lease(self, transaction, scheme, worker, count)?;
            Ok((lease, End::Commit))
        })
    }

    /// Stores ids of the old scheme, which are then never issued. Returns the number of new ones.
    pub fn reserve_payment_ids(&self, ids: &[PaymentId]) -> Result<u64> {
        let ids: Vec<&str> = ids.iter().map(PaymentId::as_str).collect();
        self.write(|transaction| Ok((transaction.insert_payments_taken(&ids)?, End::Commit)))
    }
}

fn lease(
    registry: &Registry,
    transaction: &Transaction,
    scheme: Scheme,
    worker: Worker,
    count: u64,
) -> Result<Lease> {
    let now = registry.now();
    let rows = transaction.payment_workers()?;
    let is_other =
        |row: &&WorkerRow| row.layout != scheme.layout.as_str() || row.epoch != scheme.epoch;
    if let Some(row) = rows.iter().find(is_other) {
        let message = format!(
            "this registry issues payment ids of the {} layout with the epoch {}: ids of another scheme could be equal to them",
            row.layout, row.epoch
        );
        return Err(Error::new(ErrorDetail::PaymentId, message));
    }
    let issued = rows.iter().filter_map(|row| scheme.instant_of(row.last_second)).max();
    registry.record(transaction, issued, Timestamp::MIN)?;
    let current = scheme.second_at(now)?;
    let (mut second, mut counter) = (current, 0);
    if let Some(row) = rows.iter().find(|row| row.worker == worker.number())
        && row.last_second >= current
    {
        if row.last_second - current > MAX_BEHIND_SECONDS {
            return Err(Error::clock_behind(row.last_second - current, worker));
        }
        (second, counter) = (row.last_second, row.next_counter);
    }
    if second >= SECONDS {
        return Err(Error::after_last_second(now, scheme));
    }
    let last_counter = scheme.layout.counters() - 1;
    let taken = transaction.payments_taken(
        scheme.encode(second, worker, counter.min(last_counter)).as_str(),
        scheme.encode(second, worker, last_counter).as_str(),
    )?;
    let mut lease = Lease::default();
    while counter < scheme.layout.counters() && (lease.ids.len() as u64) < count {
        let id = scheme.encode(second, worker, counter);
        if taken.binary_search_by(|it| it.as_str().cmp(id.as_str())).is_err() {
            let time = scheme.instant_of(second).unwrap_or(now);
            let (worker, Scheme { layout, epoch }) = (worker.number(), scheme);
            lease.ids.push(Decoded { id, time, worker, counter, layout, epoch });
        }
        counter += 1;
    }
    let row = WorkerRow {
        worker: worker.number(),
        layout: scheme.layout.as_str().to_owned(),
        epoch: scheme.epoch,
        last_second: second,
        next_counter: counter,
    };
    transaction.put(REGISTRY, &row)?;
    if (lease.ids.len() as u64) < count {
        lease.more_at = scheme.instant_of(second + 1);
    }
    Ok(lease)
}
