//! Publishes datasets as files for any web server: their logs, heads, cited subsets and annotations.
//!
//! The directory contains, for each dataset, `datasets/NAME/log/000000.jsonl` and further segments,
//! `datasets/NAME/subsets.jsonl`, `datasets/NAME/annotations.jsonl` if there are any, and
//! `datasets/NAME/head.json`. docs/reference/manifest.md specifies their format. The crate `accession-server`
//! writes the pages for people into the same [`SiteDirectory`], beside a [`SiteIndex`].
//!
//! # Guarantees
//!
//! - A reader never sees a head without its log: the segments are written first, then the subsets and
//!   annotations, and the head last, by an atomic rename.
//! - Bytes that a head announced never change. A history that contradicts what was published is rejected
//!   ([`ErrorKind::PublishedOtherwise`](crate::ErrorKind::PublishedOtherwise)). There is one exception: if
//!   another dataset now has the name, its log begins anew, and the previous dataset is published under its new
//!   name.
//! - Every run verifies the last segment by its checks and compares the last change, except for its note, with
//!   the registry, even if nothing is new. A damaged file is rejected
//!   ([`ErrorKind::PublishedDamaged`](crate::ErrorKind::PublishedDamaged)). [`Registry::verify_published`]
//!   verifies all files that mirrors read.
//! - A killed run leaves at most bytes that no head announces; the next run removes them.
//! - A run reads from the registry only what is new since the head, in one pass over the rows of the dataset,
//!   and writes only that. The head gets a new date every time, so that its age distinguishes a registry
//!   without changes from publishing that has stopped.
//! - No snapshot of the registry is open while files are written, compressed or made durable.
//! - A directory into which nothing was published is rejected if it contains a file that would be replaced
//!   ([`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists)).
//! - No symbolic link in the directory is followed. The directory itself may be one.

mod dataset;
mod index;
mod site_directory;
mod statements;
#[cfg(test)]
mod tests;
mod tile;
mod verify;

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::{Error, Result};
use crate::model::{DatasetFilter, DatasetName};
use crate::registry::{Registry, Withdrawn};
pub use dataset::PublishedDataset;
pub use index::SiteIndex;
pub use site_directory::{SiteDescription, SiteDirectory};
pub use verify::{OtherFile, VerifiedFiles, VerifiedStatements};

impl Registry {
    /// Publishes the datasets of the filter into a directory, which is created if it does not exist. Calls
    /// `show` after each dataset, with its error if it cannot be published. An error of a dataset does not stop
    /// the others; an error of `show` does.
    ///
    /// Only one process publishes a dataset into a directory at a time. Another process waits.
    ///
    /// # Errors
    ///
    /// Errors of `show`, of the directory, and of the registry as a whole. A dataset can fail with
    /// [`ErrorKind::PublishedOtherwise`](crate::ErrorKind::PublishedOtherwise): its history contradicts what
    /// was published; [`ErrorKind::PublishedDamaged`](crate::ErrorKind::PublishedDamaged): what was published
    /// is damaged; [`ErrorKind::Io`](crate::ErrorKind::Io): a file cannot be read or written, or is a symbolic
    /// link.
    pub fn publish<E: From<Error>>(
        &self,
        directory: &Path,
        filter: &DatasetFilter,
        mut show: impl FnMut(&DatasetName, Result<PublishedDataset>) -> Result<(), E>,
    ) -> Result<(), E> {
        // Read first, so that nothing is created if a dataset does not exist.
        let names = names(self, filter)?;
        let place = SiteDirectory::to_publish_datasets(directory)?;
        let made = place.datasets()?;
        for name in &names {
            show(name, dataset::publish(self, &made, name))?;
        }
        Ok(())
    }
}

/// The current names of the datasets to publish.
fn names(registry: &Registry, filter: &DatasetFilter) -> Result<Vec<DatasetName>> {
    let snapshot = registry.snapshot()?;
    match filter {
        DatasetFilter::All => {
            let all = snapshot.all_datasets(Withdrawn::Listed)?;
            Ok(all.into_iter().map(|listed| listed.dataset.name).collect())
        }
        DatasetFilter::Only(names) => {
            names.iter().map(|name| snapshot.present_name(name)).collect()
        }
    }
}

impl Registry {
    /// The datasets in a directory that the registry does not have, under a current or a former name. The
    /// registry may have been restored from a backup, or be another one. The files of these datasets are not
    /// changed.
    ///
    /// # Errors
    ///
    /// Errors of the registry and of its files.
    pub fn unknown_datasets(&self, directory: &Path) -> Result<Vec<DatasetName>> {
        let mut known = BTreeSet::new();
        for listed in self.snapshot()?.all_datasets(Withdrawn::Listed)? {
            known.extend(listed.former_names);
            known.insert(listed.dataset.name);
        }
        let mut unknown = SiteDirectory::to_read(directory)?.dataset_names()?;
        unknown.retain(|name| !known.contains(name));
        Ok(unknown)
    }
}
