//! Verifies what was published: its files prove themselves, and the registry says whether it
//! continues them.

use std::error::Error as _;
use std::io;
use std::path::Path;

use serde::Serialize;

use super::files::{ANNOTATIONS, DATASETS, PublishDirectory, SUBSETS, head_in};
use super::log;
use crate::disk::Directory;
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::HEAD;
use crate::mirror::log::{Head, HeadFile, LinesDigest, write_annotations, write_subsets};
use crate::model::{DatasetName, Timestamp};
use crate::registry::{Listed, Registry, Snapshot};

/// What was found of a dataset in a published directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifiedFiles {
    /// The name of the dataset's directory.
    pub dataset: DatasetName,
    /// How many changes its log has.
    pub changes: u64,
    /// Whether it is the present state of the registry. If it is not, the next run publishes the rest.
    pub current: bool,
    /// Whether every file is as it was published, and the registry continues it.
    pub ok: bool,
    /// Those that are not.
    pub differences: Vec<OtherFile>,
}

/// A published file that is not as it was published, or that the registry does not continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OtherFile {
    /// The file, relative to the directory.
    pub file: String,
    /// The first line that differs, from 1. `None` means that it concerns the whole file.
    pub line: Option<u64>,
    /// What is wrong with it.
    pub text: String,
}

/// Reads all that was published of datasets for mirrors (none means all), proves that it is as it was
/// written, and asks the registry whether it continues that. `show` is called after each dataset. Nothing is
/// changed.
///
/// What was published may be an earlier state. Pages are not read: every run writes those that differ.
///
/// # Errors
///
/// [`ErrorKind::Io`](crate::ErrorKind::Io): a file cannot be read, or is a symbolic link; those of the
/// registry.
pub fn verify<E: From<Error>>(
    registry: &Registry,
    directory: &Path,
    datasets: &[DatasetName],
    mut show: impl FnMut(VerifiedFiles) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let place = PublishDirectory::to_read(directory)?;
    let names = match datasets {
        [] => place.names()?,
        named => named.to_vec(),
    };
    let made = place.root.enter(DATASETS)?;
    for dataset in names {
        let directory = made.as_ref().map(|made| made.enter(dataset.as_str())).transpose()?;
        let (changes, ok, differences) = (0, true, Vec::new());
        let mut found = VerifiedFiles { dataset, changes, current: false, ok, differences };
        match directory.flatten() {
            Some(directory) => found.read(&registry.snapshot()?, &directory)?,
            None => found.differs(HEAD, "it is missing"),
        }
        found.ok = found.differences.is_empty();
        show(found)?;
    }
    Ok(())
}

impl VerifiedFiles {
    fn differs(&mut self, file: &str, text: &str) {
        let file = format!("{DATASETS}/{}/{file}", self.dataset);
        self.differences.push(OtherFile { file, line: None, text: text.to_owned() });
    }

    /// Turns what is wrong with a file of the dataset into a difference.
    fn take<T>(&mut self, directory: &Directory, result: Result<T>) -> Result<Option<T>> {
        let error = match result {
            Ok(found) => return Ok(Some(found)),
            Err(error) => error,
        };
        let file = match (error.kind(), error.path()) {
            (ErrorKind::PublishedDamaged, Some(path)) => {
                path.strip_prefix(directory.path()).unwrap_or(path)
            }
            (ErrorKind::PublishedOtherwise, _) => Path::new(HEAD),
            _ => return Err(error),
        };
        let text = error.source().map_or_else(String::new, ToString::to_string);
        self.differs(&file.to_string_lossy(), &text);
        if let Some(difference) = self.differences.last_mut() {
            difference.line = error.line();
        }
        Ok(None)
    }

    /// Reads what was published of the dataset.
    fn read(&mut self, snapshot: &Snapshot, directory: &Directory) -> Result<()> {
        let listed = match snapshot.dataset(&self.dataset) {
            Err(error) if error.kind() == ErrorKind::DatasetUnknown => {
                self.differs(HEAD, "the registry does not have this dataset");
                return Ok(());
            }
            listed => listed?,
        };
        let present = &listed.dataset.name;
        match self.take(directory, head_in(directory))? {
            None => {}
            Some(None) => self.differs(HEAD, "it is missing"),
            Some(Some(HeadFile::MovedTo(target))) => {
                // If it was renamed again, the next run says so.
                self.current = target == *present && self.dataset != *present;
                if target != *present && !listed.former_names.contains(&target) {
                    self.differs(HEAD, "it names a dataset that the registry does not");
                }
            }
            Some(Some(HeadFile::Head(head))) => {
                self.changes = head.changes;
                let proved = log::check_all(directory, &head);
                // The next run publishes a dataset that has the name now into a log of its own.
                if self.take(directory, proved)?.is_some()
                    && !log::is_of_another(snapshot, present, &head)?
                {
                    let same = log::check_continued(snapshot, present, &head, directory);
                    self.take(directory, same)?;
                }
                for (name, digest) in [(SUBSETS, head.subsets), (ANNOTATIONS, head.annotations)] {
                    self.take(directory, check_beside(directory, name, digest))?;
                }
                self.current = *present == self.dataset && is_current(snapshot, &listed, &head)?;
            }
        }
        Ok(())
    }
}

/// Compares a file beside the log with what the head announces of it.
fn check_beside(directory: &Directory, name: &str, announced: LinesDigest) -> Result<()> {
    let path = directory.path_of(name);
    let damaged = |what| Err(Error::published_damaged(&path, None, what));
    let Some(mut file) = directory.read(name)? else {
        return if announced.is_empty() { Ok(()) } else { damaged("it is missing") };
    };
    match announced.is_of(&mut file).map_err(|source| Error::cannot("read", &path, source))? {
        true => Ok(()),
        false => damaged("it is not what the head announces"),
    }
}

/// Whether a head announces the present state of the dataset.
fn is_current(snapshot: &Snapshot, listed: &Listed, head: &Head) -> Result<bool> {
    let Listed { dataset, former_names, withdrawn, latest, .. } = listed;
    let latest = latest.as_ref();
    let latest = latest.map(|latest| (latest.timestamp, latest.identifier, latest.digest));
    if (&head.record, &head.former_names, &head.withdrawn, head.latest())
        != (dataset, former_names, withdrawn, latest)
    {
        return Ok(false);
    }
    let name = &dataset.name;
    let failed = |source| Error::cannot("write", Path::new(SUBSETS), source);
    let out = &mut io::sink();
    let subsets = write_subsets(snapshot, name, Timestamp::MAX, out, failed)?;
    let annotations = write_annotations(snapshot, name, out, failed)?;
    Ok((subsets, annotations) == (head.subsets, head.annotations))
}
