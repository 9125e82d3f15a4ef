//! Publishes datasets as files for any web server: their logs, heads and cited subsets.
//!
//! A directory has, for each dataset, a page for people (with the feature `serve`), `datasets/NAME/log/000000.jsonl` and further segments,
//! `datasets/NAME/subsets.jsonl` and `datasets/NAME/head.json`. Their form is specified in
//! docs/reference/manifest.md.
//!
//! # Guarantees
//!
//! - A reader never sees a head whose log is not there: the segments are written first, then the subsets,
//!   and the head last, by an atomic rename.
//! - Bytes that a head announced never change. A history that contradicts what was published is
//!   refused ([`Error::Contradicts`]).
//! - A run that is killed leaves at most bytes that no head announces; the next run removes them.
//! - A run reads from the registry only what is new since the head, in one pass over the rows of the
//!   dataset, and writes only that. The head is written every time, so that its age tells a
//!   registry without changes from publishing that has stopped.

mod dataset;
mod error;
#[cfg(feature = "serve")]
mod pages;
mod segment_file;

use std::fs::{self, File};
use std::path::Path;

pub use dataset::Published;
pub use error::{Error, Result};
#[cfg(feature = "serve")]
pub use pages::publish_pages;

use crate::model::DatasetName;
use crate::registry::{Registry, Withdrawn};

/// The number of datasets that are listed at once.
const PAGE_DATASETS: u32 = 1_000;

/// Publishes datasets (none means all of the registry) into a directory, which is created if it does
/// not exist. `show` is called after each.
///
/// Only one process publishes into a directory at a time; another one waits.
///
/// # Errors
///
/// [`Error::Unpublishable`]: a name that only older versions permitted; [`Error::Contradicts`]: the
/// history is not the one that was published; [`Error::Damaged`]: what was published is damaged;
/// [`Error::File`]; [`Error::Registry`].
pub fn publish<E: From<Error>>(
    registry: &Registry,
    directory: &Path,
    datasets: &[DatasetName],
    mut show: impl FnMut(Published) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let made = directory.join("datasets");
    fs::create_dir_all(&made).map_err(|source| Error::file("create", &made, source))?;
    let lock = lock(directory)?;
    let names = match datasets {
        [] => all(registry)?,
        named => named.to_vec(),
    };
    for name in &names {
        show(dataset::publish(registry, &made, name)?)?;
    }
    drop(lock);
    Ok(())
}

/// Waits until no other process publishes into the directory. The lock ends when the file is closed.
fn lock(directory: &Path) -> Result<File> {
    let path = directory.join(".accession-publish.lock");
    let open = File::options().create(true).truncate(false).write(true).open(&path);
    let lock = open.and_then(|file| file.lock().map(|()| file));
    lock.map_err(|source| Error::file("lock", &path, source))
}

fn all(registry: &Registry) -> Result<Vec<DatasetName>> {
    let snapshot = registry.snapshot()?;
    let (mut names, mut after) = (Vec::new(), None);
    loop {
        let page = snapshot.datasets(after.as_ref(), Withdrawn::Listed, PAGE_DATASETS)?;
        names.extend(page.datasets.into_iter().map(|listed| listed.dataset.name));
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(names),
        }
    }
}
