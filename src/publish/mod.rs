//! Publishes datasets as files for any web server: their logs, heads, cited subsets and annotations.
//!
//! A directory has, for each dataset, `datasets/NAME/log/000000.jsonl` and further segments,
//! `datasets/NAME/subsets.jsonl`, `datasets/NAME/annotations.jsonl` if there are any, and
//! `datasets/NAME/head.json`. docs/reference/manifest.md specifies their format. The crate `accession-server`
//! writes the pages for people into the same [`SiteDirectory`], beside a [`SiteIndex`].
//!
//! # Guarantees
//!
//! - A reader never sees a head whose log is not there: the segments are written first, then the subsets
//!   and annotations, and the head last, by an atomic rename.
//! - Bytes that a head announced never change. A history that contradicts what was published is
//!   refused ([`ErrorKind::PublishedOtherwise`](crate::ErrorKind::PublishedOtherwise)). There is one
//!   exception: if another dataset has the name now, its log begins anew, and the one before is
//!   published under the name that its dataset has now.
//! - The last segment is proved by its checks, and the last change is compared with the registry, but for its
//!   note, also where nothing is new. A file that is not as it was written is refused
//!   ([`ErrorKind::PublishedDamaged`](crate::ErrorKind::PublishedDamaged)). [`Registry::verify_published`] proves all files that
//!   mirrors read.
//! - A run that is killed leaves at most bytes that no head announces; the next run removes them.
//! - A run reads from the registry only what is new since the head, in one pass over the rows of the
//!   dataset, and writes only that. The head gets a new date every time, so that its age tells a
//!   registry without changes from publishing that has stopped.
//! - No snapshot of the registry is held while files are written, compressed or made durable.
//! - A directory into which nothing was published is refused if it has a file that would be replaced
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
    /// Publishes the datasets of the filter into a directory, which is created if it does not exist. `show` is
    /// called after each, with the error of one that cannot be published: the others are published all the same,
    /// unless `show` fails.
    ///
    /// Only one process publishes a dataset into a directory at a time; another one waits.
    ///
    /// # Errors
    ///
    /// Those of `show`, of the directory, and of the registry as a whole. A dataset can fail with
    /// [`ErrorKind::PublishedOtherwise`](crate::ErrorKind::PublishedOtherwise): the history is not the one that
    /// was published; [`ErrorKind::PublishedDamaged`](crate::ErrorKind::PublishedDamaged): what was published is
    /// damaged; [`ErrorKind::Io`](crate::ErrorKind::Io): a file cannot be read or written, or is a symbolic link.
    pub fn publish<E: From<Error>>(
        &self,
        directory: &Path,
        filter: &DatasetFilter,
        mut show: impl FnMut(&DatasetName, Result<PublishedDataset>) -> Result<(), E>,
    ) -> Result<(), E> {
        // Nothing is created for datasets that are not there.
        let names = names(self, filter)?;
        let place = SiteDirectory::to_publish_datasets(directory)?;
        let made = place.datasets()?;
        for name in &names {
            show(name, dataset::publish(self, &made, name))?;
        }
        Ok(())
    }
}

/// The present names of the datasets to publish.
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
    /// The datasets in a directory that the registry does not have, under a present or a former name: it
    /// may have been restored from a backup, or be another one. Their files are left as they are.
    ///
    /// # Errors
    ///
    /// those of the registry and of its files.
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
