//! Replaces a registry by a verified copy of a backup, and finds what the copy lacks.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::handle::{End, Registry};
use super::monitor::Monitor;
use super::verify::Verified;
use crate::error::{Error, ErrorKind, Result};
use crate::minting::payment::{MAX_BEHIND_SECONDS, SECONDS, Scheme};
use crate::model::{DatasetName, Digest, Identifier, Instance, Timestamp};
use crate::store::{
    self, Access, BUSY_WAIT, DatasetKey, NewFile, Transaction, Withdrawn, WorkerRow, paged,
};

/// The result of a restore: what was copied, verified and replaced.
#[derive(Debug)]
pub struct Restored {
    /// The new path of the registry that was replaced. `None` means that there was none, or that
    /// this was a rehearsal.
    pub moved: Option<PathBuf>,
    /// The size of the copy in bytes.
    pub bytes: u64,
    /// The number of datasets in it.
    pub datasets: u64,
    /// The number of identifiers that were recomputed in it: all that were ever issued.
    pub identifiers: u64,
    /// What the replaced registry has that the copy lacks; the error with which it cannot be read.
    pub lacks: Result<Lacks>,
}

/// Replaces the registry at `target` by a copy of the backup at `copy`.
///
/// Everything in the copy is verified before anything is moved. A registry at `target` is then
/// renamed to `TARGET.replaced-TIME`, with its `-wal` and `-shm` files; processes that have it open
/// find that it was replaced. It need not be readable. The backup is not changed. The new file has
/// the permissions of the one that it replaces or, if there is none, of the backup.
///
/// Payment ids may have been issued after the backup was taken, by a clock that was ahead.
/// Therefore no id is issued for any second up to `now` plus the clock error that
/// [`Registry::lease_payment_ids`] tolerates. If no payment id had been issued before the backup
/// was taken, the scheme is not known and nothing is reserved.
///
/// # Errors
///
/// The error of a registry: the backup is not a readable registry, the target is being written
/// (`busy`), or the target cannot be written. [`ErrorKind::Damaged`](crate::ErrorKind::Damaged):
/// the backup does not verify. [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted): the
/// monitor stopped the work. In each case the target is unchanged, but if it is `moved-away`: then
/// renaming failed, and failed again when the names were to be restored.
pub fn restore(
    copy: &Path,
    target: &Path,
    now: Timestamp,
    monitor: Option<Arc<dyn Monitor>>,
) -> Result<Restored> {
    let in_target = |error: Error| error.in_registry(&store::shown_name(target));
    // An error in the temporary file is an error in the backup, unless the file cannot be written.
    // Where SQLite cannot create a file beside it, it reports that it is read-only.
    let of_copy = |error: Error| match error.kind() {
        _ if !error.is_of_registry() => error,
        ErrorKind::Full | ErrorKind::ReadOnly | ErrorKind::ReservedName => error.in_path(target),
        _ => error.in_path(copy),
    };
    for name in [target, copy] {
        Registry::check_is_file(name, "the replacement of a registry by a copy")?;
    }
    let file = copy_beside(copy, target, monitor.as_deref()).map_err(of_copy)?;
    let registry = open(file.path(), Access::Write, monitor.as_ref()).map_err(of_copy)?;
    let verify = || {
        let verified = registry.verify_all(&[])?.refuse_mismatches()?;
        registry.write(|transaction| Ok((reserve_payment_ids(transaction, now)?, End::Commit)))?;
        Ok(verified)
    };
    let verified = verify().map_err(of_copy)?;
    // Nothing is added to the registry between the comparison and the replacement.
    let lock = file.lock_target(BUSY_WAIT).map_err(in_target)?;
    let lacks = lacks(target, &registry, monitor.as_ref()).map_err(of_copy)?;
    registry.into_store().close(&file).map_err(in_target)?;
    let bytes = size(file.path()).map_err(in_target)?;
    let moved = file.replace(lock, &suffix(now)).map_err(in_target)?;
    let Verified { datasets, identifiers, .. } = verified;
    Ok(Restored { moved, bytes, datasets, identifiers, lacks })
}

/// Verifies a backup and finds what it lacks, as [`restore`] does, and replaces nothing.
///
/// # Errors
///
/// Those of [`restore`].
pub fn rehearse_restore(
    copy: &Path,
    target: &Path,
    monitor: Option<Arc<dyn Monitor>>,
) -> Result<Restored> {
    for name in [target, copy] {
        Registry::check_is_file(name, "the replacement of a registry by a copy")?;
    }
    let registry = open(copy, Access::Read, monitor.as_ref())?;
    let Verified { datasets, identifiers, .. } = registry.verify_all(&[])?.refuse_mismatches()?;
    let lacks = lacks(target, &registry, monitor.as_ref())?;
    let bytes = size(copy).map_err(|error| error.in_registry(&store::shown_name(copy)))?;
    Ok(Restored { moved: None, bytes, datasets, identifiers, lacks })
}

fn open(path: &Path, access: Access, monitor: Option<&Arc<dyn Monitor>>) -> Result<Registry> {
    let registry = Registry::open(path, access)?;
    Ok(match monitor {
        Some(monitor) => registry.with_monitor(Arc::clone(monitor)),
        None => registry,
    })
}

/// What the registry at `target` has that a copy of it lacks: nothing, if there is none. The inner
/// error is why it cannot be read.
fn lacks(
    target: &Path,
    copy: &Registry,
    monitor: Option<&Arc<dyn Monitor>>,
) -> Result<Result<Lacks>> {
    if target.symlink_metadata().is_err() {
        return Ok(Ok(Lacks::default()));
    }
    let present = match open(target, Access::Read, monitor) {
        Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
        Err(error) => return Ok(Err(error)),
        Ok(present) => present,
    };
    match Lacks::of(&present, copy) {
        Ok(lacks) => Ok(Ok(lacks)),
        Err(Unknown::Unreadable(error)) => Ok(Err(error)),
        Err(Unknown::Failed(error)) => Err(error),
    }
}

fn size(path: &Path) -> Result<u64> {
    let unseen = |source| Error::cannot("look at", path, source).of_store();
    Ok(std::fs::metadata(path).map_err(unseen)?.len())
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
    file
}

/// Advances every worker past the seconds for which ids may have been issued after the backup.
fn reserve_payment_ids(transaction: &Transaction, now: Timestamp) -> Result<()> {
    let rows = transaction.payment_workers()?;
    let Some(scheme) = rows.first().and_then(scheme_of) else { return Ok(()) };
    // Before the epoch no id can have been issued, and after its last second none will be.
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

/// The time as it is written in a file name.
fn suffix(now: Timestamp) -> String {
    now.to_string().replace(':', "")
}

/// What a registry has that a copy of it lacks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Lacks {
    /// The datasets that the copy has by none of their names, by name.
    pub datasets: Vec<DatasetName>,
    /// The identifiers, of instances and of cited subsets, that would no longer resolve: each once,
    /// by dataset and time.
    pub identifiers: Vec<Identifier>,
    /// The digests, of instances and of cited subsets whose identifiers the copy has: what is known of their
    /// files would be lost.
    pub digests: Vec<Digest>,
}

impl Lacks {
    /// Whether the copy lacks nothing.
    pub fn is_empty(&self) -> bool {
        *self == Lacks::default()
    }
}

/// Why it cannot be found what a copy lacks.
enum Unknown {
    /// The registry cannot be read.
    Unreadable(Error),
    /// The copy cannot be read, or the work was stopped.
    Failed(Error),
}

impl Lacks {
    /// Finds what `copy` lacks of `present`. Costs a look-up for each change and each cited subset.
    fn of(present: &Registry, copy: &Registry) -> Result<Self, Unknown> {
        let read = present.read().map_err(|error| unreadable(present, error))?;
        let copied = copy.read().map_err(Unknown::Failed)?;
        let search = Search { present, read: &read, copy: &copied };
        let (mut lacks, mut seen) = (Lacks::default(), HashSet::new());
        let mut lacking = HashSet::new();
        let mut progress = copy.begin("comparing", "identifiers", None);
        let datasets = paged(
            None,
            |after: &Option<DatasetName>, limit| {
                read.datasets_after(after.as_ref(), Withdrawn::Listed, limit)
            },
            |(_, last)| Some(last.name.clone()),
        );
        for dataset in datasets {
            let (key, dataset) = search.ask(dataset)?;
            if !search.has_dataset(key, &dataset.name)? {
                lacks.datasets.push(dataset.name.clone());
            }
            search.each_set(key, |identifier, digest| {
                progress.advance()?;
                if !seen.insert((identifier, digest)) {
                    return Ok(());
                }
                if !resolves(&copied, identifier)? {
                    if lacking.insert(identifier) {
                        lacks.identifiers.push(identifier);
                    }
                } else if copied.digests_between((digest, digest), 1)?.is_empty() {
                    lacks.digests.push(digest);
                }
                Ok(())
            })?;
        }
        Ok(lacks)
    }
}

struct Search<'a> {
    present: &'a Registry,
    read: &'a store::View,
    copy: &'a store::View,
}

impl Search<'_> {
    /// Reads from the registry that is compared with its copy.
    fn ask<T>(&self, result: Result<T, Error>) -> Result<T, Unknown> {
        result.map_err(|error| unreadable(self.present, error))
    }

    /// Whether a dataset of the copy has the present name of one, or a name that it had before.
    fn has_dataset(&self, key: DatasetKey, name: &DatasetName) -> Result<bool, Unknown> {
        let given_up = self.ask(self.read.names_given_up(key))?;
        for name in [name].into_iter().chain(given_up.iter().map(|(name, _)| name)) {
            if self.copy.dataset(name).map_err(Unknown::Failed)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn each_set(
        &self,
        key: DatasetKey,
        mut show: impl FnMut(Identifier, Digest) -> Result<()>,
    ) -> Result<(), Unknown> {
        for instance in self.read.history(key, None, Timestamp::MAX) {
            let Instance { identifier, digest, .. } = self.ask(instance)?;
            show(identifier, digest).map_err(Unknown::Failed)?;
        }
        for (_, subset) in self.ask(self.read.subsets_of(key))? {
            show(subset.identifier, subset.digest).map_err(Unknown::Failed)?;
        }
        Ok(())
    }
}

/// Whether an identifier resolves in a copy.
fn resolves(copy: &store::View, identifier: Identifier) -> Result<bool> {
    Ok(copy.latest_with(identifier)?.is_some() || !copy.subsets_with(identifier)?.is_empty())
}

fn unreadable(present: &Registry, error: Error) -> Unknown {
    match error.kind() {
        ErrorKind::Interrupted => Unknown::Failed(error),
        _ => Unknown::Unreadable(present.named(error)),
    }
}
