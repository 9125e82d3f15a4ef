//! Remembers what was read of a primary.

use super::annotate::{KeptAnnotations, PrimaryAnnotations};
use super::applied::ChangeReport;
use crate::error::Result;
use crate::model::{
    DatasetName, FailedAttempt, Instance, LastPull, LogChange, PrimaryOptions, Timestamp,
};
use crate::registry::handle::{End, Registry};
use crate::registry::log::LogChanges;
use crate::store::{DatasetKey, StoredSource, Transaction};

/// What was read of a primary, to be remembered.
#[derive(Debug, Clone)]
pub(crate) struct Remembered<'a> {
    /// The source: a URL or an absolute path.
    pub source: &'a str,
    /// Whether the dataset is identical to it.
    pub is_identical: bool,
    /// The options with which the dataset was pulled from it. `None` means that it was only read.
    pub pulled_with: Option<&'a PrimaryOptions>,
    /// Whether its log was imported.
    pub is_imported: bool,
    /// Why the dataset may not be pulled from it. `None` means that it may.
    pub refusal: Option<&'a str>,
    /// Whether its log continues what was read before. If not, it is an older state of that log, or another
    /// log.
    pub continues: bool,
    /// Whether a pull left files whose recorded checksums or sizes contradict this primary.
    pub contradicts: bool,
    /// The number of the first change to forget. `None` keeps all that was read before.
    pub forget_from: Option<u64>,
    /// Changes that were read. Those that are remembered already are skipped; `None` adds none.
    pub changes: Option<&'a LogChanges>,
}

/// The size of notes in bytes, and the number of changes, that are stored at once.
const BATCH_BYTES: usize = 1_024 * 1_024;
const BATCH_CHANGES: usize = 1_024;

impl Remembered<'_> {
    /// Remembers the primary in the same transaction as the change from it, so that neither is committed
    /// without the other. `latest` is when the dataset was last changed, if that is known.
    pub(super) fn save(
        &self,
        registry: &Registry,
        transaction: &Transaction,
        dataset: DatasetKey,
        latest: Option<Timestamp>,
    ) -> Result<()> {
        let Remembered { forget_from, changes, .. } = *self;
        let before = transaction.mirror_source(dataset, self.source)?.map(|(_, before)| before);
        let before = before.filter(|_| !self.continues);
        let earliest = before.as_ref().map_or(Timestamp::MIN, after_read);
        let (recorded, _) = registry.record(transaction, latest, earliest)?;
        let stored = StoredSource {
            source: self.source.to_owned(),
            // If the log does not continue, the time of the earlier reading stays.
            read: before.map_or(recorded, |before| before.read),
            identical: self.is_identical.then_some(recorded),
            pulled: self.pulled_with.map(|options| LastPull { recorded, options: options.clone() }),
            failed: self.refusal.map(|refusal| FailedAttempt::new(recorded, refusal)),
            contradicts: self.contradicts,
            imported: self.is_imported.then_some(recorded),
        };
        let source = transaction.save_mirror_source(dataset, &stored)?;
        if let Some(from) = forget_from {
            transaction.forget_changes_from(dataset, source, from)?;
        }
        let last = transaction.last_change_read(dataset, source)?.map_or(0, |last| last.number);
        let (mut batch, mut bytes): (Vec<LogChange>, usize) = (Vec::new(), 0);
        // Changes are remembered without gaps. Changes after a gap belong to another log.
        let mut next = last + 1;
        for change in changes.iter().flat_map(|changes| changes.iter()) {
            let change = change?;
            if change.number < next {
                continue;
            }
            if change.number > next {
                break;
            }
            next += 1;
            bytes += change.note.as_ref().map_or(0, String::len);
            batch.push(change);
            if bytes >= BATCH_BYTES || batch.len() >= BATCH_CHANGES {
                transaction.insert_changes_read(dataset, source, &batch)?;
                batch.clear();
                bytes = 0;
            }
        }
        if !batch.is_empty() {
            transaction.insert_changes_read(dataset, source, &batch)?;
        }
        Ok(())
    }
}

/// The first instant at which an attempt after the last reading of a primary can have failed.
fn after_read(source: &StoredSource) -> Timestamp {
    source.read.next().unwrap_or(source.read)
}

/// What a pull saves of a primary, besides its granules.
pub(crate) struct Taken<'a> {
    /// `None` means that nothing is remembered of the primary.
    pub remembered: Option<Remembered<'a>>,
    pub annotations: &'a PrimaryAnnotations,
    /// The primary's name for its dataset, for messages.
    pub primary: &'a DatasetName,
}

impl Taken<'_> {
    /// Saves this within the transaction of the pull. `in_force` is the instance in force of the mirror; its
    /// annotations are updated.
    pub(super) fn save(
        &self,
        registry: &Registry,
        transaction: &Transaction,
        mirror: DatasetKey,
        in_force: &mut Option<Instance>,
    ) -> Result<KeptAnnotations> {
        let Taken { remembered, annotations, primary } = self;
        let kept = annotations.keep(transaction, mirror, primary, registry.now())?;
        if kept.added > 0 {
            *in_force = transaction.instance_at(mirror, Timestamp::MAX)?;
        }
        if let Some(remembered) = remembered {
            let latest = in_force.as_ref().map(|in_force| in_force.recorded);
            remembered.save(registry, transaction, mirror, latest)?;
        }
        Ok(kept)
    }
}

impl Registry {
    /// Saves what a primary has besides its granules, for a dataset that already holds them. A dry run stores
    /// nothing. Returns the instance in force, with its annotations.
    ///
    /// # Errors
    ///
    /// The error of a registry; [`ErrorKind::ClockAhead`](crate::ErrorKind::ClockAhead); an annotation belongs
    /// to no change of the primary, or is from the future.
    pub(crate) fn take(
        &self,
        dataset: &DatasetName,
        taken: &Taken<'_>,
        dry_run: bool,
    ) -> Result<ChangeReport> {
        self.write(|transaction| {
            // A mirror that was not created has nothing to remember.
            let Some((key, _)) = transaction.key_and_name(dataset)? else {
                return Ok((ChangeReport::default(), End::RollBack));
            };
            let mut in_force = transaction.instance_at(key, Timestamp::MAX)?;
            let annotations = taken.save(self, transaction, key, &mut in_force)?;
            let applied = ChangeReport {
                in_force,
                annotations: annotations.added,
                annotations_left_out: annotations.left_out,
                ..ChangeReport::default()
            };
            Ok((applied, End::commit_if(!dry_run)))
        })
    }

    /// Remembers what was read of a log for a dataset, in a separate transaction.
    pub(crate) fn remember(
        &self,
        dataset: &DatasetName,
        remembered: &Remembered<'_>,
    ) -> Result<()> {
        self.write(|transaction| {
            // A mirror that was not created has nothing to remember.
            let Some((key, _)) = transaction.key_and_name(dataset)? else {
                return Ok(((), End::RollBack));
            };
            Ok((remembered.save(self, transaction, key, None)?, End::Remember))
        })
    }

    /// Remembers that the last attempt to read a primary for a dataset, or to pull from it, failed.
    /// What was read before is kept. A primary that was never read is not remembered.
    pub fn remember_failed_attempt(
        &self,
        dataset: &DatasetName,
        source: &str,
        message: &str,
    ) -> Result<()> {
        self.write(|transaction| {
            let Some((key, _)) = transaction.key_and_name(dataset)? else {
                return Ok(((), End::RollBack));
            };
            let Some((_, known)) = transaction.mirror_source(key, source)? else {
                return Ok(((), End::RollBack));
            };
            let (recorded, _) = self.record(transaction, None, after_read(&known))?;
            let failed = FailedAttempt::new(recorded, message);
            transaction.save_failed_attempt(key, source, &failed)?;
            Ok(((), End::Remember))
        })
    }
}
