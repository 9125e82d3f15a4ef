//! Verified copies of a whole registry: to a file, or row by row to another store. Also named backups in a
//! directory.
//!
//! Such a backup is called `NAME-20260131T030000Z.db`. NAME is the name of the registry's file without `.db`,
//! or the name of its database on a server. The time is in UTC, to the second. If the name is taken, `-2`,
//! `-3`, … follow the time.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::handle::{End, Registry};
use super::observer::Work;
use super::verify::{VerificationTotals, Verifications};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetFilter, Timestamp};
use crate::store::{Location, Store};

impl Registry {
    /// Copies the registry in its present state to `target`, where no file exists yet. Other processes may read
    /// and write the registry meanwhile. The copy appears at `target` only when it is complete and verified.
    /// Returns the totals of the verification.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists): a file already exists.
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the copy does not verify, and was removed. Other
    /// kinds: the registry cannot be read, or the copy cannot be written.
    pub fn back_up(&self, target: &Path) -> Result<VerificationTotals> {
        let location = Location::from(target);
        let in_target = |error: Error| location.named(error);
        let target = location.file("a backup")?;
        let read = self.read()?;
        let mut progress = self.begin(Work::CopyPages, None);
        let mut copied = 0;
        let copy = read.copy_beside(target, |done, _| {
            let more = done.saturating_sub(copied);
            copied = done;
            match progress.advance_by(more) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        drop(progress);
        drop(read);
        if copy.as_ref().is_err_and(|error| error.kind() == ErrorKind::Unsupported) {
            // A registry that is not in a file is copied row by row.
            return self.copy_with_payment_ids_to(target);
        }
        let file = copy.map_err(in_target)?;
        // An error in the copy is an error in the registry, so it has the path of the registry instead of that
        // of the temporary file.
        let of_registry = |error: Error| match error.is_from_store() {
            true => error.in_path(self.location().shown()),
            false => error,
        };
        let copy = Registry::open(file.path(), self.clock().clone())
            .map(|copy| copy.watched_by(self.watcher().clone()))
            .map_err(of_registry)?;
        let verified = copy
            .verify_all(&DatasetFilter::All)
            .and_then(Verifications::refuse_mismatches)
            .map_err(of_registry)?;
        drop(copy);
        file.put_in_place().map_err(in_target)?;
        Ok(verified)
    }
}

/// Whether to copy the state of the workers that issue payment ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PaymentIds {
    /// The source must issue no further ids: they would be issued twice.
    Copied,
    /// The copy starts without workers.
    LeftOut,
}

impl Registry {
    /// Copies the registry in its present state to `target`, where no registry exists yet. It copies the
    /// datasets with all versions of their metadata, their histories, granules and cited subsets, but not the
    /// workers that issue payment ids. Others may read and write the registry meanwhile; their changes are not
    /// in the copy. Until the copy is complete, a registry file collects them in its write-ahead log, which
    /// grows.
    ///
    /// The copy appears at the target only after every identifier in it was recomputed. Returns the totals of
    /// the verification. On a server the copy is one transaction: if it is interrupted, nothing remains.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists): a registry exists at the target.
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the copy does not verify.
    pub fn copy_to(&self, target: impl Into<Location>) -> Result<VerificationTotals> {
        self.copy_all_to(&target.into(), PaymentIds::LeftOut)
    }

    /// Like [`Registry::copy_to`], with the state of the workers that issue payment ids. This registry must
    /// issue no further ids: they would be issued twice.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::copy_to`].
    pub fn copy_with_payment_ids_to(
        &self,
        target: impl Into<Location>,
    ) -> Result<VerificationTotals> {
        self.copy_all_to(&target.into(), PaymentIds::Copied)
    }

    fn copy_all_to(
        &self,
        target: &Location,
        payment_ids: PaymentIds,
    ) -> Result<VerificationTotals> {
        let in_target = |error: Error| target.named(error);
        let (store, copy) = Store::create(target, Some(self.location())).map_err(in_target)?;
        let store = self.fill(store, payment_ids).map_err(in_target)?;
        let store = copy.reopen(store).map_err(in_target)?;
        let registry =
            Registry::of(store.clone(), self.clock().clone()).watched_by(self.watcher().clone());
        // An error in the copy is an error in the registry.
        let verified =
            registry.verify_all(&DatasetFilter::All).and_then(Verifications::refuse_mismatches);
        let verified = verified.map_err(|error| self.named(error))?;
        drop((registry, store));
        copy.put_in_place(None).map_err(in_target)?;
        Ok(verified)
    }

    /// Copies the registry in its present state to a temporary file, in which changes can be tried out. The
    /// file is deleted when the last clone and the last snapshot of the copy are dropped. The workers that
    /// issue payment ids are not copied, and the copy is not verified.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary); the registry cannot be read.
    pub fn temporary_copy(&self) -> Result<Registry> {
        let store = self.fill(Store::temporary()?, PaymentIds::LeftOut)?;
        Ok(Registry::of(store, self.clock().clone()))
    }

    /// Copies every row into an empty store, from one snapshot.
    fn fill(&self, store: Store, payment_ids: PaymentIds) -> Result<Store> {
        let target = Registry::of(store, self.clock().clone()).watched_by(self.watcher().clone());
        let read = self.read()?;
        let named = |error: Error| self.named(error);
        let mut progress = self.begin(Work::CopyGranules, None);
        for dataset in read.dataset_keys().map_err(named)? {
            target.write(|transaction| {
                transaction.lock_new_dataset(dataset)?;
                for rows in read.raw_rows_of(dataset) {
                    let rows = rows.map_err(named)?;
                    transaction.insert_raw(&rows)?;
                    progress.advance_by(if rows.are_periods() { rows.count() } else { 0 })?;
                }
                Ok(((), End::Commit))
            })?;
        }
        drop(progress);
        target.write(|transaction| {
            transaction.lock_registry()?;
            for rows in read.raw_rows_of_none() {
                let rows = rows.map_err(named)?;
                if payment_ids == PaymentIds::Copied || !rows.are_of_payment_ids() {
                    transaction.insert_raw(&rows)?;
                }
            }
            Ok(((), End::Commit))
        })?;
        Ok(target.into_store())
    }
}

/// The greatest number of backups with the same second in their names.
const MAX_SUFFIX: u32 = 1_000;

impl Registry {
    /// Makes a [backup](Registry::back_up) in an existing directory, under a name that is not taken. Returns
    /// its path and the totals of its verification.
    pub fn back_up_into(&self, directory: &Path) -> Result<(PathBuf, VerificationTotals)> {
        let (name, stamp) = (self.name_of_backups(), stamp_of(self.now()));
        for suffix in 1..MAX_SUFFIX {
            let file = match suffix {
                1 => format!("{name}-{stamp}.db"),
                suffix => format!("{name}-{stamp}-{suffix}.db"),
            };
            let path = directory.join(file);
            match self.back_up(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                backed_up => return Ok((path, backed_up?)),
            }
        }
        let message = format!("there are {MAX_SUFFIX} backups of this second already");
        Err(Error::new(ErrorKind::AlreadyExists, message).in_path(directory))
    }

    /// The part of the names of backups that stands for this registry.
    fn name_of_backups(&self) -> String {
        let path = self.location().full_name();
        let path = path.to_string_lossy();
        let name = match path.split_once("://") {
            Some((_, address)) => {
                let address = address.split('?').next().unwrap_or_default();
                address.split_once('/').map_or("", |(_, database)| database)
            }
            None => {
                path.rsplit('/').next().map_or("", |file| file.strip_suffix(".db").unwrap_or(file))
            }
        };
        let plain = |character: char| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' => character,
            _ => '_',
        };
        match name.trim_start_matches('.') {
            "" => "registry".to_owned(),
            name => name.chars().map(plain).collect(),
        }
    }
}

/// A time in the form of file names.
fn stamp_of(now: Timestamp) -> String {
    let text = now.to_string();
    let seconds = text.get(..19).unwrap_or(&text);
    let digits: String = seconds.chars().filter(|character| !"-:".contains(*character)).collect();
    format!("{digits}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_name_ends_with_the_second() {
        let now = "2026-01-31T03:00:00.999999Z".parse().unwrap();
        assert_eq!(stamp_of(now), "20260131T030000Z");
    }
}
