//! A copy of a whole registry into another store, verified before it can be used.

use std::path::Path;

use serde::Serialize;

use super::error::{Error, Result};
use super::handle::{End, Registry};
use super::verify::refuse_mismatch;
use crate::model::{Dataset, DatasetName, Granule};
use crate::store::{
    self, BUSY_WAIT, DatasetKey, NewPeriod, Store, StoredVersion, Transaction, Withdrawn,
};

/// Rows that are read, and written, at once.
const PAGE_ROWS: u32 = 4_096;

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
    /// and cited subsets. Others may read and write the registry meanwhile.
    ///
    /// The copy can be used only when every identifier in it was recomputed. If a copy to a server is
    /// interrupted, the datasets that are complete are kept there, and the next attempt continues
    /// with the others; a file is copied from the beginning.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] of kind `registry-exists`: there is a registry at the target; of kind
    /// `unfinished-copy`: there is an unfinished copy of another one. [`Error::CopiedBefore`]: a
    /// dataset was copied by an earlier attempt, and has changed since. [`Error::Inconsistent`]: the
    /// copy does not verify.
    pub fn copy_to(&self, target: &Path, payment_ids: PaymentIds) -> Result<Copied> {
        let in_target = |error: store::Error| Error::from(error).in_file(target);
        let name = self.path().map(store::full_name).unwrap_or_default();
        let (store, copy) = Store::create_copy(target, &name, BUSY_WAIT).map_err(in_target)?;
        let store = self.fill(store, payment_ids).map_err(|error| match error {
            Error::Store { source, path } if path.as_os_str().is_empty() => in_target(source),
            other => other,
        })?;
        let store = copy.reopen(store, BUSY_WAIT).map_err(in_target)?;
        let registry = Registry::of(store.clone()).reporting_as(self);
        let verified = registry.verify_all(&[], refuse_mismatch)?;
        drop(registry);
        copy.finish(store).map_err(in_target)?;
        Ok(Copied { datasets: verified.datasets, identifiers: verified.identifiers })
    }

    /// Copies every row into an empty store, or into one that has some of the datasets completely.
    pub(super) fn fill(&self, store: Store, payment_ids: PaymentIds) -> Result<Store> {
        let target = Registry::of(store).reporting_as(self);
        let read = self.read()?;
        let mut progress = self.begin("copying", "granules", None);
        let mut after: Option<DatasetName> = None;
        loop {
            let page = read.datasets_after(after.as_ref(), Withdrawn::Listed, PAGE_ROWS);
            let page = page.map_err(|error| self.named(error.into()))?;
            for (key, dataset) in &page {
                if is_copied(&read, *key, &target, dataset)? {
                    continue;
                }
                target.write(|transaction| {
                    let source = Source { registry: self, read: &read, key: *key };
                    source.copy_into(transaction, dataset, &mut |granules| {
                        progress.advance_by(granules)
                    })?;
                    Ok(((), End::Commit))
                })?;
            }
            match page.into_iter().next_back() {
                Some((_, last)) => after = Some(last.name),
                None => break,
            }
        }
        drop(progress);
        if payment_ids == PaymentIds::Copied {
            self.copy_payment_ids(&read, &target)?;
        }
        Ok(target.into_store())
    }

    fn copy_payment_ids(&self, read: &store::Snapshot, target: &Registry) -> Result<()> {
        let workers = read.payment_workers().map_err(|error| self.named(error.into()))?;
        // Every id is between these: they have nine upper-case letters and digits.
        let taken = read.payments_taken("", "~").map_err(|error| self.named(error.into()))?;
        target.write(|transaction| {
            for worker in &workers {
                transaction.save_payment_worker(worker)?;
            }
            for batch in taken.chunks(PAGE_ROWS as usize) {
                let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
                transaction.insert_payments_taken(&batch)?;
            }
            Ok(((), End::Commit))
        })
    }
}

/// Whether an earlier attempt has copied a dataset: it did so completely, in one transaction.
///
/// # Errors
///
/// [`Error::CopiedBefore`]: the dataset was changed since.
fn is_copied(
    read: &store::Snapshot,
    key: DatasetKey,
    target: &Registry,
    dataset: &Dataset,
) -> Result<bool> {
    let copy = target.read()?;
    let Some((copied, record)) = copy.dataset(&dataset.name)? else { return Ok(false) };
    let is_same = record == *dataset
        && copy.latest_instance(copied)? == read.latest_instance(key)?
        && copy.last_record_version(copied)? == read.last_record_version(key)?
        && copy.subsets_of(copied)?.len() == read.subsets_of(key)?.len();
    match is_same {
        true => Ok(true),
        false => Err(Error::CopiedBefore { name: dataset.name.clone() }),
    }
}

/// A dataset that is copied.
struct Source<'copy> {
    registry: &'copy Registry,
    read: &'copy store::Snapshot,
    key: DatasetKey,
}

impl Source<'_> {
    /// Reads from the source, whose errors get its path.
    fn ask<T>(&self, result: Result<T, store::Error>) -> Result<T> {
        result.map_err(|error| self.registry.named(error.into()))
    }

    fn copy_into(
        &self,
        transaction: &Transaction,
        dataset: &Dataset,
        copied: &mut impl FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let Source { read, key, .. } = *self;
        let target = transaction.insert_dataset(dataset)?;
        let withdrawal = self.ask(read.withdrawal(key))?;
        if withdrawal.is_some() {
            transaction.set_withdrawal(target, withdrawal.as_ref())?;
        }
        for (name, renamed) in self.ask(read.names_given_up(key))? {
            transaction.keep_name(target, &name, renamed)?;
        }
        self.copy_versions(transaction, target)?;
        self.copy_granules(transaction, target, copied)?;
        self.copy_checkpoints(transaction, target)?;
        self.copy_history(transaction, target)?;
        self.copy_subsets(transaction, target)?;
        self.copy_mirror_memory(transaction, target)
    }

    fn copy_versions(&self, transaction: &Transaction, target: DatasetKey) -> Result<()> {
        let mut after = 0;
        loop {
            let page = self.ask(self.read.record_versions(self.key, after, PAGE_ROWS))?;
            let Some(StoredVersion { version, .. }) = page.last() else { return Ok(()) };
            after = *version;
            for version in &page {
                transaction.insert_record_version(target, version)?;
            }
        }
    }

    fn copy_granules(
        &self,
        transaction: &Transaction,
        target: DatasetKey,
        copied: &mut impl FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let mut last: Option<Granule> = None;
        loop {
            let after = last.as_ref().map(|last| (&last.granule_id, last.ingested));
            let page = self.ask(self.read.periods_after(self.key, after, PAGE_ROWS))?;
            let periods: Vec<NewPeriod<'_>> = page.iter().map(NewPeriod::from).collect();
            transaction.insert_periods(target, &periods)?;
            copied(page.len() as u64)?;
            match page.into_iter().next_back() {
                Some(period) => last = Some(period),
                None => return Ok(()),
            }
        }
    }

    fn copy_checkpoints(&self, transaction: &Transaction, target: DatasetKey) -> Result<()> {
        let mut after = String::new();
        loop {
            let page = self.ask(self.read.checkpoints_after(self.key, &after, PAGE_ROWS))?;
            transaction.insert_checkpoints(target, &page)?;
            match page.last() {
                Some(last) => after = last.granule_id.as_str().to_owned(),
                None => return Ok(()),
            }
        }
    }

    fn copy_history(&self, transaction: &Transaction, target: DatasetKey) -> Result<()> {
        let Some(latest) = self.ask(self.read.latest_instance(self.key))? else { return Ok(()) };
        let mut after = None;
        loop {
            let page = self.read.instances_after(self.key, after, latest.timestamp, PAGE_ROWS);
            let page = self.ask(page)?;
            transaction.insert_instances(target, &page)?;
            match page.last() {
                Some(last) => after = Some(last.timestamp),
                None => return Ok(()),
            }
        }
    }

    /// What the dataset has read of the logs of its primaries.
    fn copy_mirror_memory(&self, transaction: &Transaction, target: DatasetKey) -> Result<()> {
        for source in self.ask(self.read.mirror_sources(self.key))? {
            let copy = transaction.save_mirror_source(
                target,
                &source.source,
                source.read,
                source.identical,
                source.etag.as_deref(),
            )?;
            let mut after = 0;
            loop {
                let page = self.read.changes_read_after(self.key, source.key, after, PAGE_ROWS);
                let page = self.ask(page)?;
                let Some(last) = page.last() else { break };
                after = last.number;
                transaction.insert_changes_read(target, copy, &page)?;
            }
        }
        Ok(())
    }

    /// In the order in which they were cited, which is that of their keys.
    fn copy_subsets(&self, transaction: &Transaction, target: DatasetKey) -> Result<()> {
        let mut subsets = self.ask(self.read.subsets_of(self.key))?;
        subsets.sort_by_key(|(_, subset)| subset.cited);
        for (key, subset) in &subsets {
            let copy = transaction.insert_subset(target, subset)?;
            let mut after = String::new();
            loop {
                let at = subset.timestamp;
                let page = self.read.named_after(self.key, *key, at, &after, PAGE_ROWS);
                let named: Vec<_> = self.ask(page)?.into_iter().map(|(named, _)| named).collect();
                let Some(last) = named.last() else { break };
                last.as_str().clone_into(&mut after);
                transaction.insert_named(target, copy, &named)?;
            }
        }
        Ok(())
    }
}
