//! The primary of a mirror: a registry, or a manifest.

use std::fs::File;
use std::io::{self, BufRead, Cursor, Read, Seek, empty};
use std::path::{Path, PathBuf};

#[cfg(feature = "http")]
use super::http::Remote;
use super::log::manifest::Reader;
use super::log::{HeadFile, MAX_LINE_BYTES, Segment, latest_change};
use crate::disk::scratch;
use crate::error::{Error, ErrorKind, Result};
use crate::input::OpenedFile;
use crate::model::{DatasetName, SourceOptions, Timestamp, quoted};
use crate::registry::{self, Access, Registry, Withdrawn};

/// The archive that a mirror follows, and its dataset.
pub struct Primary {
    pub(super) kind: Kind,
    pub(super) options: SourceOptions,
}

/// What the primary is.
pub(super) enum Kind {
    /// A registry, and its dataset.
    Registry(Registry, DatasetName),
    /// The log of one dataset.
    Manifest(Manifest),
    /// The log of a dataset at an address, and the dataset that it must be of.
    #[cfg(feature = "http")]
    Remote(Box<Remote>, Option<DatasetName>),
}

/// A manifest that can be read again and again.
pub(super) struct Manifest {
    file: File,
    /// What messages call it.
    pub name: String,
    /// Its absolute path. `None` means that it is read from a stream.
    pub source: Option<String>,
    /// The requested dataset. `None` means that any dataset is accepted.
    pub named: Option<DatasetName>,
    not_after: Timestamp,
}

impl Primary {
    /// Opens a registry file to read from it, even while its owner writes; or a manifest, compressed
    /// with gzip or not, which is read when it is compared; or a published directory.
    ///
    /// The dataset is `named`; `None` means the one with the name of the mirror, or the only one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io): the file cannot be read; the registry cannot be opened;
    /// [`ErrorKind::PrimaryDatasetUnknown`](crate::ErrorKind::PrimaryDatasetUnknown).
    pub fn open(
        path: &Path,
        mirror: &DatasetName,
        named: Option<&DatasetName>,
        now: Timestamp,
    ) -> Result<Self> {
        Registry::check_is_file(path, "a primary")?;
        let failed = |source| Error::cannot("read", path, source);
        let name = path.to_string_lossy();
        if path.is_dir() {
            let Published { directory, former, manifest } = Published::open(path, mirror, named)?;
            let named = named.or(former.as_ref());
            let source = directory.canonicalize().map_err(failed)?.to_string_lossy().into_owned();
            let primary = Primary::from_manifest(manifest, &name, named, now)?;
            return Ok(primary.at_source(source));
        }
        let mut file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Primary::from_manifest(file, &name, named, now);
        }
        let mut beginning = Vec::new();
        let read = (&mut file).take(registry::BEGINNING_BYTES).read_to_end(&mut beginning);
        read.map_err(failed)?;
        if registry::is_registry(&beginning) {
            // Closing any handle on a file drops the locks of this process on it, so this one is
            // closed before the registry is opened.
            drop(file);
            return Primary::of_registry(Registry::open(path, Access::Read)?, mirror, named);
        }
        let source = path.canonicalize().map_err(failed)?.to_string_lossy().into_owned();
        Ok(Primary::of_manifest(file, &name, Some(source), named, now))
    }

    /// Copies a manifest to a temporary file, to read it from there; `name` is what messages call
    /// it.
    ///
    /// # Errors
    ///
    /// the temporary file cannot be written; [`ErrorKind::NotPublished`](crate::ErrorKind::NotPublished): the manifest
    /// cannot be read.
    pub fn from_manifest(
        mut manifest: impl Read,
        name: &str,
        named: Option<&DatasetName>,
        now: Timestamp,
    ) -> Result<Self> {
        let mut file = scratch::file()?;
        let mut buffer = vec![0; COPIED_BYTES];
        loop {
            let read = match manifest.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(Error::cannot("read", Path::new(name), source)),
            };
            io::Write::write_all(&mut file, &buffer[..read])
                .map_err(|source| scratch::unusable("write", source))?;
        }
        Ok(Primary::of_manifest(file, name, None, named, now))
    }

    /// A dataset at an address. Nothing is requested before it is compared.
    #[cfg(feature = "http")]
    pub fn at_address(remote: Remote, named: Option<&DatasetName>) -> Self {
        Primary::of(Kind::Remote(Box::new(remote), named.cloned()))
    }

    /// The same primary with the options that are remembered when a mirror was pulled from it.
    #[must_use]
    pub fn with_options(self, options: SourceOptions) -> Self {
        Primary { options, ..self }
    }

    /// The same manifest, which is remembered by its source.
    fn at_source(mut self, path: String) -> Self {
        if let Kind::Manifest(manifest) = &mut self.kind {
            manifest.source = Some(path);
        }
        self
    }

    fn of(kind: Kind) -> Self {
        Primary { kind, options: SourceOptions::default() }
    }

    fn of_manifest(
        file: File,
        name: &str,
        source: Option<String>,
        named: Option<&DatasetName>,
        now: Timestamp,
    ) -> Self {
        let not_after = latest_change(now);
        let (name, named) = (name.to_owned(), named.cloned());
        Primary::of(Kind::Manifest(Manifest { file, name, source, named, not_after }))
    }

    fn of_registry(
        registry: Registry,
        mirror: &DatasetName,
        named: Option<&DatasetName>,
    ) -> Result<Self> {
        let snapshot = registry.snapshot()?;
        let wanted = named.unwrap_or(mirror);
        let dataset = if snapshot.has_dataset(wanted)? {
            wanted.clone()
        } else {
            let first = snapshot.datasets(None, Withdrawn::Listed, LISTED_DATASETS)?.datasets;
            let names: Vec<DatasetName> = first.into_iter().map(|it| it.dataset.name).collect();
            match (names.as_slice(), named) {
                ([only], None) => only.clone(),
                _ => return Err(Error::primary_dataset_unknown(wanted, &names)),
            }
        };
        drop(snapshot);
        Ok(Primary::of(Kind::Registry(registry, dataset)))
    }
}

impl Manifest {
    /// Begins to read it.
    pub fn reader(&self) -> Result<Reader<Box<dyn BufRead + Send>>> {
        let failed = |source| Error::cannot("read", Path::new(&self.name), source);
        let mut file = self.file.try_clone().map_err(failed)?;
        file.rewind().map_err(failed)?;
        let unzipped = OpenedFile::open(file, &self.name)?.unzipped()?;
        Reader::open(unzipped, &self.name, self.not_after)
    }
}

/// How much of a manifest is copied at once, in bytes.
const COPIED_BYTES: usize = 64 * 1_024;

/// The greatest number of datasets that a message names. A registry can have a million.
const MAX_NAMED: usize = 20;

/// One more shows that there are more.
const LISTED_DATASETS: u32 = MAX_NAMED as u32 + 1;

impl Error {
    /// The primary does not have a dataset. `names` are some that it has.
    pub(super) fn primary_dataset_unknown(name: &DatasetName, names: &[DatasetName]) -> Self {
        let first: Vec<&str> = names.iter().take(MAX_NAMED).map(DatasetName::as_str).collect();
        let listed = match (first.is_empty(), names.len() - first.len()) {
            (true, _) => "none".to_owned(),
            (false, 0) => first.join(", "),
            (false, _) => format!("{}, and more", first.join(", ")),
        };
        let message = format!("the primary has no dataset {name}; it has {listed}");
        Error::new(ErrorKind::PrimaryDatasetUnknown, message)
    }
}

/// What a directory publishes of a dataset.
pub(super) struct Published {
    /// The directory of the dataset, or of the former name by which it was asked for.
    pub directory: PathBuf,
    /// The former name.
    pub former: Option<DatasetName>,
    /// The manifest.
    pub manifest: Box<dyn Read + Send>,
}

const HEAD: &str = "head.json";

impl Published {
    /// Opens the directory of a dataset, or one into which datasets are published: then the dataset is
    /// `named`, or has the name of the mirror, or is the only one.
    ///
    /// # Errors
    ///
    /// A file cannot be read; [`ErrorKind::NotPublished`]: the head;
    /// [`ErrorKind::PrimaryDatasetUnknown`].
    pub fn open(path: &Path, mirror: &DatasetName, named: Option<&DatasetName>) -> Result<Self> {
        let directory = match path.join(HEAD).exists() {
            true => path.to_owned(),
            false => one_of(path, mirror, named)?,
        };
        let (mut present, mut former) = (directory.clone(), None);
        let head = loop {
            let (path, mut line) = (present.join(HEAD), String::new());
            let failed = |source| Error::cannot("read", &path, source);
            let file = File::open(&path).map_err(failed)?;
            file.take(MAX_LINE_BYTES).read_to_string(&mut line).map_err(failed)?;
            match HeadFile::parse(&line) {
                Ok(HeadFile::Head(head)) => break (head, line),
                Ok(HeadFile::MovedTo(name)) if former.is_none() => {
                    let file_name = present.file_name().unwrap_or_default().to_string_lossy();
                    former = file_name.parse().ok();
                    present = directory.join("..").join(name.as_str());
                    // A name that is none is not followed twice.
                    former.get_or_insert(name);
                }
                Ok(HeadFile::MovedTo(name)) => {
                    return Err(not_published(
                        &path,
                        &format!("it leads to {name}, which was renamed"),
                    ));
                }
                Err(what) => return Err(not_published(&path, &what)),
            }
        };
        let (head, line) = head;
        let mut manifest: Box<dyn Read + Send> = Box::new(empty());
        let segments = head.segments.0.iter().enumerate();
        let segments =
            segments.map(|(index, it)| (format!("log/{}", Segment::file_name(index)), it.bytes));
        let beside = [("subsets.jsonl", head.subsets), ("annotations.jsonl", head.annotations)];
        let beside = beside.map(|(name, digest)| (name.to_owned(), digest.bytes));
        let files = head.files.iter().flat_map(|files| files.segments.0.iter().enumerate());
        let files =
            files.map(|(index, it)| (format!("files/{}", Segment::file_name(index)), it.bytes));
        let parts = segments.chain(beside).chain(files);
        for (name, bytes) in parts.filter(|(_, bytes)| *bytes > 0) {
            let path = present.join(name);
            let file = File::open(&path).map_err(|source| Error::cannot("read", &path, source))?;
            manifest = Box::new(manifest.chain(file.take(bytes)));
        }
        let manifest = Box::new(manifest.chain(Cursor::new(line)));
        Ok(Published { directory, former, manifest })
    }
}

/// What a directory publishes of a dataset, as a manifest. `None` means that nothing is published there.
///
/// # Errors
///
/// What is published are several datasets, none of which has this name; a file cannot be read, or is
/// damaged.
pub fn read_published(path: &Path, dataset: &DatasetName) -> Result<Option<Box<dyn Read + Send>>> {
    if !path.join(HEAD).exists() && !path.join("datasets").is_dir() {
        return Ok(None);
    }
    Ok(Some(Published::open(path, dataset, None)?.manifest))
}

fn not_published(path: &Path, what: &str) -> Error {
    let message = format!("{}: {what}", quoted(&path.to_string_lossy()));
    Error::new(ErrorKind::NotPublished, message).in_path(path)
}

/// The directory of one of the datasets that are published into another.
fn one_of(path: &Path, mirror: &DatasetName, named: Option<&DatasetName>) -> Result<PathBuf> {
    let datasets = path.join("datasets");
    let mut names: Vec<DatasetName> = match datasets.read_dir() {
        Ok(entries) => {
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
        }
        // Neither a dataset nor several are published there.
        Err(source) => return Err(Error::cannot("read", &path.join(HEAD), source)),
    };
    names.sort();
    let wanted = named.unwrap_or(mirror);
    match names.as_slice() {
        names if names.contains(wanted) => Ok(datasets.join(wanted.as_str())),
        [only] if named.is_none() => Ok(datasets.join(only.as_str())),
        _ => Err(Error::primary_dataset_unknown(wanted, &names)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_sent<T: Send>() {}

    #[test]
    fn a_primary_can_be_compared_on_another_thread() {
        is_sent::<Primary>();
        is_sent::<super::super::compare::Comparison>();
        #[cfg(feature = "http")]
        is_sent::<Remote>();
    }
}
