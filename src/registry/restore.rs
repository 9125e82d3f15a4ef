//! Putting a backup in the place of a registry.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{Error, Result};
use super::handle::{End, Registry};
use super::monitor::Monitor;
use super::verify::refuse_mismatch;
use crate::minting::payment::{MAX_BEHIND_SECONDS, SECONDS, Scheme};
use crate::model::Timestamp;
use crate::store::{self, Access, BUSY_WAIT, NewFile, Transaction, WorkerRow};

/// A backup that was put in the place of a registry, and what was verified in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Where the registry that it replaced is now. `None`: there was none.
    pub moved: Option<PathBuf>,
    /// Its size in bytes.
    pub bytes: u64,
    /// How many datasets it has.
    pub datasets: u64,
    /// How many identifiers were recomputed in it: every one ever issued.
    pub identifiers: u64,
}

/// Puts a copy of the backup at `copy` in the place of the registry at `target`.
///
/// Everything in the copy is verified before anything is moved. What is at `target` is then renamed
/// to `TARGET.replaced-TIME` with its `-wal` and `-shm` files; whoever has it open finds that it was
/// replaced. The backup stays where it is.
///
/// Payment ids may have been issued after the backup was taken, by a clock that was ahead. So no id
/// is issued of a second up to `now` plus the error of a clock that
/// [`Registry::lease_payment_ids`] tolerates. A backup that was taken before the first payment id
/// was issued does not say by which scheme they are, and nothing is reserved in it.
///
/// # Errors
///
/// [`Error::Store`]: the backup is not a registry that can be read, the target is being written
/// (`busy`), or nothing can be written there. [`Error::Inconsistent`]: the backup does not verify.
/// [`Error::Interrupted`]: the monitor stopped it. In each case the target is left as it is.
pub fn restore(
    copy: &Path,
    target: &Path,
    now: Timestamp,
    monitor: Option<Arc<dyn Monitor>>,
) -> Result<Restored> {
    let in_target = |error: store::Error| Error::from(error).in_file(target);
    // What is wrong with the temporary file is wrong with the backup, unless it cannot be written.
    let of_copy = |error: Error| match error {
        Error::Store { source, .. } => match source {
            store::Error::Full | store::Error::ReservedName => in_target(source),
            source => Error::from(source).in_file(copy),
        },
        other => other,
    };
    let file = copy_beside(copy, target, monitor.as_deref()).map_err(of_copy)?;
    let open = || {
        let registry = Registry::open(file.path(), Access::Write)?;
        Ok(match &monitor {
            Some(monitor) => registry.with_monitor(Arc::clone(monitor)),
            None => registry,
        })
    };
    let registry: Registry = open().map_err(of_copy)?;
    let verify = || {
        let verified = registry.verify_all(&[], refuse_mismatch)?;
        registry.write(|transaction| Ok((reserve_payment_ids(transaction, now)?, End::Commit)))?;
        Ok(verified)
    };
    let verified = verify().map_err(of_copy)?;
    let store = registry.into_store().map_err(in_target)?;
    let moved = file.replace(store, &suffix(now)).map_err(in_target)?;
    let bytes = std::fs::metadata(target).map(|metadata| metadata.len());
    let unseen = |source| store::Error::Io { verb: "look at", path: target.into(), source };
    Ok(Restored {
        moved,
        bytes: bytes.map_err(|source| in_target(unseen(source)))?,
        datasets: verified.datasets,
        identifiers: verified.identifiers,
    })
}

fn copy_beside(copy: &Path, target: &Path, monitor: Option<&dyn Monitor>) -> Result<NewFile> {
    if let Some(monitor) = monitor {
        monitor.begin("copying", "pages", None);
    }
    let mut copied = 0;
    let file = NewFile::copy_of(copy, target, BUSY_WAIT, |done, _| {
        let more = done - copied;
        copied = done;
        monitor.map_or(ControlFlow::Continue(()), |monitor| monitor.advance(more))
    });
    if let Some(monitor) = monitor {
        monitor.end();
    }
    Ok(file?)
}

/// Moves every worker past the seconds of which ids may have been issued after the backup.
fn reserve_payment_ids(transaction: &Transaction, now: Timestamp) -> Result<()> {
    let rows = transaction.payment_workers()?;
    let Some(scheme) = rows.first().and_then(scheme_of) else { return Ok(()) };
    // Before the epoch no id can have been issued, and after its last second none is issued again.
    let Ok(second) = scheme.second_at(now) else { return Ok(()) };
    let last_second = (second + MAX_BEHIND_SECONDS).min(SECONDS - 1);
    for worker in 0..scheme.layout.workers() {
        let row = rows.iter().find(|row| row.worker == worker);
        if row.is_some_and(|row| row.last_second > last_second) {
            continue;
        }
        transaction.save_payment_worker(&WorkerRow {
            worker,
            layout: scheme.layout.name().to_owned(),
            epoch: scheme.epoch,
            last_second,
            next_counter: scheme.layout.counters(),
        })?;
    }
    Ok(())
}

fn scheme_of(row: &WorkerRow) -> Option<Scheme> {
    Some(Scheme { layout: row.layout.parse().ok()?, epoch: row.epoch })
}

/// The time as a part of a file name.
fn suffix(now: Timestamp) -> String {
    now.to_string().replace(':', "")
}
