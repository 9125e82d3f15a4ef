//! Copies of a whole registry, verified before they can be used: into a file, or row by row into
//! another store.

use std::ops::ControlFlow;
use std::path::Path;

use serde::Serialize;

use super::handle::{End, Registry};
use super::proof;
use super::verify::Verifications;
use crate::chain::{Hashing, Reached, Sweep};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Checkpoint, DatasetName, Granule, GranuleId, Listed, Timestamp};
use crate::store::{
    self, Access, BUSY_WAIT, DatasetKey, NewPeriod, RecordBatch, Store, StoredDataset,
    StoredFileRecord, SubsetKey, Transaction, Withdrawn, WorkerRow, paged, pages,
};

/// The result of a backup: what was copied and verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BackedUp {
    /// The size of the copy in bytes.
    pub bytes: u64,
    /// The number of datasets in it.
    pub datasets: u64,
    /// The number of identifiers that were recomputed in it: all that were ever issued.
    pub identifiers: u64,
}

impl Registry {
    /// Copies the registry in its present state to `target`, where no file exists yet. Other
    /// processes may read and write the registry at the same time. The copy appears at `target` only when it is complete
    /// and everything in it has been verified.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryExists`](crate::ErrorKind::RegistryExists): a file already exists; of another kind: the
    /// registry cannot be read, or the copy cannot be written. [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the copy does not verify, and has been removed.
    pub fn back_up(&self, target: &Path) -> Result<BackedUp> {
        let in_target = |error: Error| error.in_registry(&store::shown_name(target));
        Registry::check_is_file(target, "a backup")?;
        let read = self.read()?;
        let mut progress = self.begin("copying", "pages", None);
        let mut copied = 0;
        let copy = read.copy_beside(target, |done, _| {
            let more = done - copied;
            copied = done;
            match progress.advance_by(more) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        drop(progress);
        drop(read);
        if copy.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotAFile) {
            return self.back_up_rows(target);
        }
        let file = copy.map_err(in_target)?;
        // An error in the copy is an error in the registry, so it is reported with the path of the
        // registry instead of that of the temporary file.
        let of_registry = |error: Error| match error.is_of_registry() {
            true => error.in_path(self.path().unwrap_or(Path::new(""))),
            false => error,
        };
        let copy = Registry::open(file.path(), Access::Read)
            .map(|copy| copy.reporting_as(self))
            .map_err(of_registry)?;
        let verified =
            copy.verify_all(&[]).and_then(Verifications::refuse_mismatches).map_err(of_registry)?;
        drop(copy);
        let bytes = std::fs::metadata(file.path()).map(|metadata| metadata.len());
        let unseen = |source| Error::cannot("look at", target, source).of_store();
        let bytes = bytes.map_err(|source| in_target(unseen(source)))?;
        file.put_in_place().map_err(in_target)?;
        Ok(BackedUp { bytes, datasets: verified.datasets, identifiers: verified.identifiers })
    }

    /// Copies a registry that is not in a file, row by row, into a file.
    fn back_up_rows(&self, target: &Path) -> Result<BackedUp> {
        let in_target = |error: Error| error.in_registry(&store::shown_name(target));
        let copied = self.copy_to(target, PaymentIds::Copied)?;
        let metadata = std::fs::metadata(target);
        let unseen = |source| Error::cannot("look at", target, source).of_store();
        let bytes = metadata.map_err(|source| in_target(unseen(source)))?.len();
        Ok(BackedUp { bytes, datasets: copied.datasets, identifiers: copied.identifiers })
    }
}

/// Granules that are read, and written, at once.
const PAGE_GRANULES: u32 = 16_384;

/// Whether the state of the workers that issue payment ids is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentIds {
    /// It is, so the source must issue no further ids: they would be issued twice.
    Copied,
    /// It is not: the copy starts without any.
    LeftOut,
}

/// The result of a copy: what was copied and verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Copied {
    /// The number of datasets.
    pub datasets: u64,
    /// The number of identifiers that were recomputed in the copy: all that were ever issued.
    pub identifiers: u64,
}

impl Registry {
    /// Copies the registry in its present state to the path or the address `target`, where there is
    /// no registry yet: the datasets with all versions of their records, their histories, granules,
    /// and cited subsets. Others may read and write the registry meanwhile: what they change is not in
    /// the copy.
    ///
    /// The copy appears at the target only when every identifier in it was recomputed. If it is
    /// interrupted, nothing of it remains on a server, where it is one transaction.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryExists`](crate::ErrorKind::RegistryExists): there is a registry at the
    /// target. [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the copy does not verify.
    pub fn copy_to(&self, target: &Path, payment_ids: PaymentIds) -> Result<Copied> {
        let in_target = |error: Error| error.in_registry(&store::shown_name(target));
        let name = self.path().map(store::full_name).unwrap_or_default();
        let (store, copy) = Store::create(target, Some(&name), BUSY_WAIT).map_err(in_target)?;
        let store = self.fill(store, payment_ids).map_err(in_target)?;
        let store = copy.reopen(store, BUSY_WAIT).map_err(in_target)?;
        let registry = Registry::of(store.clone()).reporting_as(self);
        // An error in the copy is an error in the registry.
        let verified = registry.verify_all(&[]).and_then(Verifications::refuse_mismatches);
        let verified = verified.map_err(|error| self.named(error))?;
        drop((registry, store));
        copy.put_in_place(None).map_err(in_target)?;
        Ok(Copied { datasets: verified.datasets, identifiers: verified.identifiers })
    }

    /// Copies every row into an empty store.
    ///
    /// The copy is of one moment, but no state of the source is held while it is written: history only
    /// grows, so what the source had at that moment can be read later.
    pub(super) fn fill(&self, store: Store, payment_ids: PaymentIds) -> Result<Store> {
        let target = Registry::of(store).reporting_as(self);
        let (moments, workers) = self.now(payment_ids).map_err(|error| self.named(error))?;
        let mut progress = self.begin("copying", "granules", None);
        for moment in &moments {
            target.write(|transaction| {
                let source = Source { registry: self, moment, transaction };
                source.copy(&mut |granules| progress.advance_by(granules))?;
                Ok(((), End::Commit))
            })?;
        }
        drop(progress);
        if payment_ids == PaymentIds::Copied {
            self.copy_payment_ids(&workers, &target)?;
        }
        Ok(target.into_store())
    }

    /// What there is at this moment.
    fn now(&self, payment_ids: PaymentIds) -> Result<(Vec<Moment>, Vec<WorkerRow>)> {
        let read = self.read()?;
        let mut moments = Vec::new();
        let all = paged(
            None,
            |after: &Option<DatasetName>, limit| {
                read.listed_after(after.as_ref(), Withdrawn::Listed, limit)
            },
            |(_, last)| Some(last.dataset.name.clone()),
        );
        for listed in all {
            let (key, listed) = listed?;
            let mut subsets: Vec<SubsetKey> =
                read.subsets_of(key)?.into_iter().map(|(key, _)| key).collect();
            subsets.sort_unstable();
            moments.push(Moment {
                key,
                names: read.names_given_up(key)?,
                version: read.last_record_version(key)?,
                records: read.last_record_batch(key, Timestamp::MAX)?,
                subsets,
                listed,
            });
        }
        let workers = match payment_ids {
            PaymentIds::Copied => read.payment_workers()?,
            PaymentIds::LeftOut => Vec::new(),
        };
        Ok((moments, workers))
    }

    fn copy_payment_ids(&self, workers: &[WorkerRow], target: &Registry) -> Result<()> {
        target.write(|transaction| {
            for worker in workers {
                transaction.save_payment_worker(worker)?;
            }
            let taken = pages(
                String::new(),
                |after, limit| self.read()?.payments_taken_after(after, limit),
                String::clone,
            );
            for page in taken {
                let page = page.map_err(|error| self.named(error))?;
                let page: Vec<&str> = page.iter().map(String::as_str).collect();
                transaction.insert_payments_taken(&page)?;
            }
            Ok(((), End::Commit))
        })
    }
}

/// What a dataset had at one moment, as far as it may change later.
struct Moment {
    key: DatasetKey,
    listed: Listed,
    /// The names that it gave up.
    names: Vec<(DatasetName, Timestamp)>,
    /// The last version of its record.
    version: u64,
    /// The last batch of its file records.
    records: Option<RecordBatch>,
    /// The subsets that were cited, in order.
    subsets: Vec<SubsetKey>,
}

/// A dataset that is copied.
struct Source<'copy> {
    registry: &'copy Registry,
    moment: &'copy Moment,
    transaction: &'copy Transaction,
}

impl Source<'_> {
    /// Reads from the source, whose errors get its path. Nothing is held afterwards.
    fn read<T>(&self, ask: impl FnOnce(&store::Snapshot) -> Result<T>) -> Result<T> {
        ask(&self.registry.read()?).map_err(|error| self.registry.named(error))
    }

    fn key(&self) -> DatasetKey {
        self.moment.key
    }

    fn copy(&self, copied: &mut impl FnMut(u64) -> Result<()>) -> Result<()> {
        let Moment { listed, names, .. } = self.moment;
        let limits = listed.limits.unwrap_or_default();
        let stored = self.transaction.insert_dataset(&listed.dataset, limits)?;
        let target = stored.key;
        if let withdrawn @ Some(_) = listed.withdrawn.clone() {
            self.transaction.put(target, &StoredDataset { withdrawn, ..stored })?;
        }
        for (name, renamed) in names {
            self.transaction.keep_name(target, name, *renamed)?;
        }
        self.copy_versions(target)?;
        if let Some(latest) = &listed.latest {
            self.copy_granules(target, latest.timestamp, copied)?;
            self.copy_history(target, latest.timestamp)?;
            self.copy_annotations(target, latest.timestamp)?;
        }
        self.copy_subsets(target)?;
        self.copy_files(target)?;
        self.copy_checks(target)?;
        self.copy_mirror_memory(target)?;
        if let Some(confirmation) = self.read(|read| read.confirmation(self.key()))? {
            self.transaction.put(target, &confirmation)?;
        }
        Ok(())
    }

    fn copy_versions(&self, target: DatasetKey) -> Result<()> {
        let versions = paged(
            0,
            |after, limit| self.read(|read| read.record_versions(self.key(), *after, limit)),
            |last| last.version,
        );
        for version in versions {
            let version = version?;
            if version.version <= self.moment.version {
                self.transaction.insert(target, &[version])?;
            }
        }
        Ok(())
    }

    /// Copies the granules as they were at `last`, and sets the checkpoints of that state: those of
    /// the source may be of a later one.
    fn copy_granules(
        &self,
        target: DatasetKey,
        last: Timestamp,
        copied: &mut impl FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let set = |reached: Vec<Reached>| -> Result<()> {
            let name = &self.moment.listed.dataset.name;
            let checkpoints =
                reached.into_iter().map(|Reached { granule_id, identifier, held }| {
                    let granule_id =
                        GranuleId::new(granule_id).map_err(|_| proof::not_an_id(name))?;
                    Ok(Checkpoint { granule_id, chain: identifier, granules: Some(held) })
                });
            let checkpoints: Vec<Checkpoint> = checkpoints.collect::<Result<_>>()?;
            self.transaction.insert_checkpoints(target, &checkpoints)
        };
        let mut hashing = Hashing::with_checkpoints(Sweep::over(1));
        let mut reached = Vec::new();
        let mut read: Option<Granule> = None;
        let mut held = String::new();
        loop {
            let after = read.as_ref().map(|it| (&it.granule_id, it.ingested));
            let page = self.read(|read| read.periods_after(self.key(), after, PAGE_GRANULES))?;
            let periods: Vec<NewPeriod<'_>> =
                page.iter().filter_map(|period| as_of(last, period)).collect();
            for period in periods.iter().filter(|period| period.deleted.is_none()) {
                // Twice only if the source is damaged, which the verification finds.
                if period.granule_id.as_str() > held.as_str() {
                    period.granule_id.as_str().clone_into(&mut held);
                    reached.append(&mut hashing.hold(&held, 0..1));
                }
            }
            self.transaction.insert_periods(target, &periods)?;
            set(std::mem::take(&mut reached))?;
            copied(page.len() as u64)?;
            match page.into_iter().next_back() {
                Some(last) => read = Some(last),
                None => break,
            }
        }
        set(hashing.finish().1)
    }

    fn copy_history(&self, target: DatasetKey, last: Timestamp) -> Result<()> {
        let mut instances = pages(
            None,
            |after, limit| self.read(|read| read.instances_after(self.key(), *after, last, limit)),
            |last| Some(last.timestamp),
        );
        instances.try_for_each(|page| self.transaction.insert_instances(target, &page?))
    }

    /// Of the instances that are copied. An annotation that is added meanwhile may be in the copy: it
    /// belongs to an instance that is there.
    fn copy_annotations(&self, target: DatasetKey, last: Timestamp) -> Result<()> {
        let mut annotations = pages(
            None,
            |after, limit| {
                self.read(|read| read.annotations_after(self.key(), *after, last, limit))
            },
            |last| Some((last.timestamp, last.number)),
        );
        annotations.try_for_each(|page| self.transaction.insert(target, &page?))
    }

    /// The file records that there were, with their numbers.
    fn copy_files(&self, target: DatasetKey) -> Result<()> {
        let Some(last) = &self.moment.records else { return Ok(()) };
        let batches = paged(
            0,
            |after, limit| self.read(|read| read.record_batches_after(self.key(), *after, limit)),
            |last| last.batch,
        );
        for batch in batches {
            let batch = batch?;
            if batch.batch <= last.batch {
                self.transaction.insert(target, &[batch])?;
            }
        }
        let records = pages(
            None,
            |after: &Option<StoredFileRecord>, limit| {
                self.read(|read| read.file_records_after(self.key(), after.as_ref(), limit))
            },
            |last| Some(last.clone()),
        );
        for page in records {
            let mut page = page?;
            page.retain(|it| it.number <= last.last_number);
            self.transaction.insert_file_records(target, &page)?;
        }
        Ok(())
    }

    /// How far the checks of files have come, and what they found. They are what they are now, and read at
    /// once.
    fn copy_checks(&self, target: DatasetKey) -> Result<()> {
        let (read, key) = (self.registry.read()?, self.key());
        let named = |error: Error| self.registry.named(error);
        for root in read.fixity_roots(key).map_err(named)? {
            self.transaction.put(target, &root)?;
        }
        let findings = pages(
            (String::new(), String::new(), String::new()),
            |(granule_id, path, root), limit| {
                read.fixity_findings_after(key, (granule_id, path, root), limit)
            },
            |last| (last.granule_id.clone(), last.path.clone(), last.root.clone()),
        );
        for page in findings {
            self.transaction.insert(target, &page.map_err(named)?)?;
        }
        Ok(())
    }

    /// What the dataset has read of its primaries. It is what it is now, since it is
    /// replaced as it grows, and read at once: it must agree with itself.
    fn copy_mirror_memory(&self, target: DatasetKey) -> Result<()> {
        let read = self.registry.read()?;
        let named = |error: Error| self.registry.named(error);
        for (key, source) in read.mirror_sources(self.key()).map_err(named)? {
            let copy = self.transaction.save_mirror_source(target, &source)?;
            let changes = pages(
                0,
                |after, limit| read.changes_read_after(self.key(), key, *after, limit),
                |last| last.number,
            );
            for page in changes {
                self.transaction.insert_changes_read(target, copy, &page.map_err(named)?)?;
            }
        }
        Ok(())
    }

    /// In the order in which they were cited, which is that of their keys.
    fn copy_subsets(&self, target: DatasetKey) -> Result<()> {
        if self.moment.subsets.is_empty() {
            return Ok(());
        }
        let mut subsets = self.read(|read| read.subsets_of(self.key()))?;
        subsets.retain(|(key, _)| self.moment.subsets.binary_search(key).is_ok());
        subsets.sort_by_key(|(_, subset)| subset.cited);
        for (key, subset) in &subsets {
            let copy = self.transaction.insert_subset(target, subset)?;
            let named = pages(
                String::new(),
                |after, limit| {
                    let at = subset.timestamp;
                    self.read(|read| read.named_after(self.key(), *key, at, after, limit))
                },
                |(last, _)| last.to_string(),
            );
            for page in named {
                let named: Vec<_> = page?.into_iter().map(|(named, _)| named).collect();
                self.transaction.insert_named(target, copy, &named)?;
            }
        }
        Ok(())
    }
}

/// A holding period as it was at a time. `None` means that it had not begun.
fn as_of(at: Timestamp, period: &Granule) -> Option<NewPeriod<'_>> {
    let deleted = period.deleted.filter(|deleted| *deleted <= at);
    (period.ingested <= at).then(|| NewPeriod { deleted, ..NewPeriod::from(period) })
}
