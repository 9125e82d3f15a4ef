//! Replaces a registry by a verified copy of a backup, and finds what the copy lacks.

use std::collections::HashSet;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::clock::Clock;
use super::handle::{End, Registry};
use super::observer::{Watcher, Work};
use super::verify::VerificationTotals;
use crate::error::{Error, ErrorKind, Result};
use crate::minting::payment::{MAX_BEHIND_SECONDS, SECONDS, Scheme};
use crate::model::{DatasetFilter, DatasetName, Digest, Identifier, Instance, Timestamp};
use crate::store::{BUSY_WAIT, Location, NewFile, REGISTRY, Transaction, Withdrawn, WorkerRow};

/// The result of a restore: what was copied, verified and replaced.
#[derive(Debug)]
#[non_exhaustive]
pub struct RestoreReport {
    /// The new path of the registry that was replaced. `None` means that there was none.
    pub moved: Option<PathBuf>,
    /// The size of the copy in bytes.
    pub bytes: u64,
    /// The number of datasets in it.
    pub datasets: u64,
    /// The number of identifiers that were recomputed in it: all that were ever issued.
    pub identifiers: u64,
    /// What the replaced registry has and the copy lacks. An error means that the replaced registry cannot be
    /// read.
    pub lacks: Result<MissingFromBackup>,
}

impl Registry {
    /// Replaces the registry at `target` by a copy of the backup at `copy`.
    ///
    /// Everything in the copy is verified before anything is moved. A registry at `target`, readable or not, is
    /// then renamed to `TARGET.replaced-TIME`, with its `-wal` and `-shm` files. Processes that have it open
    /// find that it was replaced. The backup is not changed. The new file has the permissions of the one that
    /// it replaces or, if there is none, of the backup.
    ///
    /// Payment ids may have been issued after the backup was taken, by a clock that was ahead. Therefore no id
    /// is issued for any second up to the present plus the clock error that [`Registry::lease_payment_ids`]
    /// tolerates. If no payment id had been issued before the backup was taken, the scheme is unknown and
    /// nothing is reserved.
    ///
    /// # Errors
    ///
    /// The error of a registry: the backup is not a readable registry, the target is being written (`busy`), or
    /// the target cannot be written. [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the backup does not
    /// verify. [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted): the work was cancelled. In each case
    /// the target is unchanged, except after `misplaced`: renaming failed, and so did restoring the names.
    ///
    /// If the process is killed, `target` is the old registry or the complete copy; between the two renames it
    /// does not exist. A second restore then succeeds.
    pub fn restore(
        copy: &Path,
        target: &Path,
        clock: Clock,
        watcher: &Watcher,
    ) -> Result<RestoreReport> {
        let now = clock.now();
        let in_target = |error: Error| error.in_registry(target);
        // An error in the temporary file is an error in the backup, unless the file cannot be written. If
        // SQLite cannot create a file beside the temporary file, it reports that the temporary file is
        // read-only.
        let of_copy = |error: Error| match error.kind() {
            _ if !error.is_from_store() => error,
            ErrorKind::Denied if File::open(copy).is_err() => error.in_path(copy),
            ErrorKind::Full | ErrorKind::Denied | ErrorKind::InvalidPath => error.in_path(target),
            _ => error.in_path(copy),
        };
        for name in [target, copy] {
            Location::from(name).file("the replacement of a registry by a copy")?;
        }
        NewFile::check_target(target).map_err(in_target)?;
        let file = copy_beside(copy, target, watcher).map_err(of_copy)?;
        let registry = open(file.path(), clock, watcher).map_err(of_copy)?;
        let verify = || {
            // A backup with an older schema can only be read after a change has migrated it.
            registry.check_writable()?;
            let verified = registry.verify_all(&DatasetFilter::All)?.refuse_mismatches()?;
            registry
                .write(|transaction| Ok((reserve_payment_ids(transaction, now)?, End::Commit)))?;
            Ok(verified)
        };
        let verified = verify().map_err(of_copy)?;
        // Nothing can be added to the registry between the comparison and the replacement.
        let lock = file.lock_target(BUSY_WAIT).map_err(in_target)?;
        let lacks = lacks(target, &registry, watcher).map_err(of_copy)?;
        registry.into_store().close(&file).map_err(in_target)?;
        let bytes = size(file.path()).map_err(in_target)?;
        let moved = file.replace(lock, &suffix(now)).map_err(in_target)?;
        let VerificationTotals { datasets, identifiers, .. } = verified;
        Ok(RestoreReport { moved, bytes, datasets, identifiers, lacks })
    }
}

fn open(path: &Path, clock: Clock, watcher: &Watcher) -> Result<Registry> {
    Ok(Registry::open(path, clock)?.watched_by(watcher.clone()))
}

/// What the registry at `target` has and its copy lacks: nothing, if no registry exists. The inner error means
/// that the registry cannot be read.
fn lacks(target: &Path, copy: &Registry, watcher: &Watcher) -> Result<Result<MissingFromBackup>> {
    if target.symlink_metadata().is_err() {
        return Ok(Ok(MissingFromBackup::default()));
    }
    let present = open(target, copy.clock().clone(), watcher);
    match present.and_then(|it| Resolving::of(&it).map_err(|error| it.named(error))) {
        Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
        Err(error) => Ok(Err(error)),
        Ok(resolving) => resolving.lacking_in(copy).map(Ok),
    }
}

fn size(path: &Path) -> Result<u64> {
    let unseen = |source| Error::cannot("look at", path, source).of_store();
    Ok(std::fs::metadata(path).map_err(unseen)?.len())
}

fn copy_beside(copy: &Path, target: &Path, watcher: &Watcher) -> Result<NewFile> {
    let mut progress = watcher.begin(Work::CopyPages, None);
    let mut copied = 0;
    NewFile::copy_of(copy, target, BUSY_WAIT, |done, _| {
        let more = done.saturating_sub(copied);
        copied = done;
        match progress.advance_by(more) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })
}

/// Advances every worker past the seconds for which ids may have been issued after the backup.
fn reserve_payment_ids(transaction: &Transaction, now: Timestamp) -> Result<()> {
    let rows = transaction.payment_workers()?;
    let Some(scheme) = rows.first().and_then(scheme_of) else { return Ok(()) };
    // No id can have been issued before the epoch, and none will be issued after the last second.
    let Ok(second) = scheme.second_at(now) else { return Ok(()) };
    let last_second = (second + MAX_BEHIND_SECONDS).min(SECONDS - 1);
    for worker in 0..scheme.layout.workers() {
        let row = rows.iter().find(|row| row.worker == worker);
        if row.is_some_and(|row| row.last_second > last_second) {
            continue;
        }
        let row = WorkerRow {
            worker,
            layout: scheme.layout.as_str().to_owned(),
            epoch: scheme.epoch,
            last_second,
            next_counter: scheme.layout.counters(),
        };
        transaction.put(REGISTRY, &row)?;
    }
    Ok(())
}

fn scheme_of(row: &WorkerRow) -> Option<Scheme> {
    Some(Scheme { layout: row.layout.parse().ok()?, epoch: row.epoch })
}

/// The time in the form of a file name.
fn suffix(now: Timestamp) -> String {
    now.to_string().replace(':', "")
}

/// What a registry has and its copy lacks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct MissingFromBackup {
    /// The datasets that the copy does not have under any of their names, sorted by name.
    pub datasets: Vec<DatasetName>,
    /// The identifiers of instances and cited subsets that would no longer resolve. Each is listed once, by
    /// dataset and time.
    pub identifiers: Vec<Identifier>,
    /// The digests of instances and cited subsets whose identifiers the copy has. The recorded metadata of
    /// their files would be lost.
    pub digests: Vec<Digest>,
}

impl MissingFromBackup {
    /// Whether the copy lacks nothing.
    pub fn is_empty(&self) -> bool {
        *self == MissingFromBackup::default()
    }
}

/// The names and sets that resolve in a registry.
#[derive(Default)]
struct Resolving {
    /// The names of each dataset, the present one first.
    datasets: Vec<Vec<DatasetName>>,
    /// The instances and the cited subsets, each set once, by dataset and time.
    sets: Vec<(Identifier, Digest)>,
}

impl Resolving {
    fn of(registry: &Registry) -> Result<Self> {
        let read = registry.read()?;
        let (mut resolving, mut seen) = (Resolving::default(), HashSet::new());
        for dataset in read.datasets_after(None, Withdrawn::Listed) {
            let (key, dataset) = dataset?;
            let given_up = read.names_given_up(key)?.into_iter().map(|(name, _)| name);
            resolving.datasets.push([dataset.name].into_iter().chain(given_up).collect());
            let mut add = |set| {
                if seen.insert(set) {
                    resolving.sets.push(set);
                }
            };
            for instance in read.history(key, None, Timestamp::MAX) {
                let Instance { identifier, digest, .. } = instance?;
                add((identifier, digest));
            }
            let subsets = read.subsets_of(key)?.into_iter();
            subsets.for_each(|(_, subset)| add((subset.identifier, subset.digest)));
        }
        Ok(resolving)
    }

    /// Compares this with a copy. Costs a look-up for each change and each cited subset.
    fn lacking_in(self, copy: &Registry) -> Result<MissingFromBackup> {
        let read = copy.read()?;
        let (mut lacks, mut lacking) = (MissingFromBackup::default(), HashSet::new());
        for names in self.datasets {
            let has = |name| Ok::<_, Error>(read.key_and_name(name)?.is_some());
            if !names.iter().map(has).collect::<Result<Vec<bool>>>()?.contains(&true) {
                lacks.datasets.extend(names.into_iter().next());
            }
        }
        let total = Some(self.sets.len() as u64);
        let mut progress = copy.begin(Work::CompareIdentifiers, total);
        for (identifier, digest) in self.sets {
            progress.advance()?;
            if read.latest_with(identifier)?.is_none() && read.subsets_with(identifier)?.is_empty()
            {
                if lacking.insert(identifier) {
                    lacks.identifiers.push(identifier);
                }
            } else if read.digests_between((digest, digest), 1)?.is_empty() {
                lacks.digests.push(digest);
            }
        }
        Ok(lacks)
    }
}
