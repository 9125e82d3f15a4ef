//! Payment ids whose last second lasts: no process, no crash and no clock issues one twice.

use super::{End, Registry};
use crate::minting::payment::{
    Decoded, MAX_BEHIND_SECONDS, PaymentError, PaymentId, SECONDS, Scheme, Worker,
};
use crate::model::Timestamp;
use crate::store::{WorkerRow, Write};
use crate::{Error, Result};

/// Ids that nobody else has, nor ever will.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lease {
    /// The ids, ascending: at most as many as were asked for.
    pub ids: Vec<Decoded>,
    /// When there will be more, if these are fewer.
    pub more_at: Option<Timestamp>,
}

impl Registry {
    /// Leases ids of this second, or of the last one if the clock went back by a few seconds.
    ///
    /// `clock` is read once nobody else is writing: a time from before a long wait would look like a
    /// clock that went back. What was leased is noted in one IMMEDIATE transaction before anyone sees it: a crash can
    /// waste ids, but repeat none. Nothing is locked while a caller waits for [`Lease::more_at`].
    ///
    /// # Errors
    ///
    /// [`Error::Payment`]: the clock stands before the epoch, after the last second, or far behind
    /// the worker's last id; [`Error::PaymentScheme`]: the registry issues ids of another scheme.
    pub fn lease_payment_ids(
        &mut self,
        scheme: Scheme,
        worker: Worker,
        count: u64,
        clock: impl FnOnce() -> Timestamp,
    ) -> Result<Lease> {
        self.writing(|write, _| {
            let lease = lease(write, scheme, worker, count, clock())?;
            Ok((lease, End::Commit))
        })
    }

    /// Notes ids of the old scheme, which are then never issued; returns how many are new.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub fn take_payment_ids(&mut self, ids: impl IntoIterator<Item = PaymentId>) -> Result<u64> {
        self.writing(|write, _| {
            let mut taken = 0;
            for id in ids {
                taken += u64::from(write.insert_payment_taken(id.as_str())?);
            }
            Ok((taken, End::Commit))
        })
    }
}

fn lease(
    write: &Write<'_>,
    scheme: Scheme,
    worker: Worker,
    count: u64,
    now: Timestamp,
) -> Result<Lease> {
    let rows = write.payment_workers()?;
    let is_other =
        |row: &&WorkerRow| row.layout != scheme.layout.name() || row.epoch != scheme.epoch;
    if let Some(row) = rows.iter().find(is_other) {
        return Err(Error::PaymentScheme { layout: row.layout.clone(), epoch: row.epoch });
    }
    let current = scheme.second_at(now)?;
    let (mut second, mut counter) = (current, 0);
    if let Some(row) = rows.iter().find(|row| row.worker == worker.number())
        && row.last_second >= current
    {
        if row.last_second - current > MAX_BEHIND_SECONDS {
            let (seconds, worker) = (row.last_second - current, worker.number());
            Err(PaymentError::ClockBehind { seconds, worker })?;
        }
        (second, counter) = (row.last_second, row.next_counter);
    }
    if second >= SECONDS {
        Err(PaymentError::AfterLast { now, epoch: scheme.epoch })?;
    }
    let mut lease = Lease::default();
    while counter < scheme.layout.counters() && (lease.ids.len() as u64) < count {
        let id = scheme.encode(second, worker, counter);
        if !write.is_payment_taken(id.as_str())? {
            let time = scheme.instant_of(second).unwrap_or(now);
            let (worker, Scheme { layout, epoch }) = (worker.number(), scheme);
            lease.ids.push(Decoded { id, time, worker, counter, layout, epoch });
        }
        counter += 1;
    }
    write.save_payment_worker(&WorkerRow {
        worker: worker.number(),
        layout: scheme.layout.name().to_owned(),
        epoch: scheme.epoch,
        last_second: second,
        next_counter: counter,
    })?;
    if (lease.ids.len() as u64) < count {
        lease.more_at = scheme.instant_of(second + 1);
    }
    Ok(lease)
}
