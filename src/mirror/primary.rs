//! The primary of a mirror: the log of a dataset, in a file, a directory or at an address.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Cursor, Read, Seek, Write, empty};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tempfile::SpooledTempFile;

use super::http::Remote;
use super::log::manifest::{self, Reader};
use super::log::{HeadFile, LinesDigest, MAX_LINE_BYTES, Segment, latest_change};
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
    /// The log of one dataset.
    Manifest(Manifest),
    /// The log of a dataset at an address, and the dataset that it must be of.
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
    /// Opens a manifest, compressed with gzip or not, which is read when it is compared; or a published
    /// directory; or a registry file, whose dataset is exported, even while its owner writes.
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
            let mut primary =
                Primary::from_manifest(manifest, &name, named.or(former.as_ref()), now)?;
            // It is remembered as it was named, so that a failure, or that it is forgotten, finds it.
            if directory != path {
                // Other datasets may be published there the next time.
                let dataset = directory.file_name().and_then(|name| name.to_str()?.parse().ok());
                primary.options.primary_dataset = dataset;
            }
            return Ok(primary.at_source(Registry::full_name(path).to_string_lossy().into_owned()));
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
            let registry = Registry::open(path, Access::Read)?;
            return Primary::of_registry(&registry, mirror, named, now);
        }
        let source = path.canonicalize().map_err(failed)?.to_string_lossy().into_owned();
        Ok(Primary::of_manifest(file, &name, Some(source), named, now))
    }

    /// Refuses to read a source that is remembered, and is no longer a file or a directory: a device or
    /// a pipe in its place has no end, or never begins.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io).
    pub fn check_remembered(path: &Path) -> Result<()> {
        match path.metadata() {
            Ok(found) if !found.is_file() && !found.is_dir() => {
                let what = "it is no longer a regular file";
                Err(Error::cannot("read", path, io::Error::other(what)))
            }
            // Opening it says why it cannot be read.
            _ => Ok(()),
        }
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
            file.write_all(&buffer[..read]).map_err(|source| scratch::unusable("write", source))?;
        }
        Ok(Primary::of_manifest(file, name, None, named, now))
    }

    /// A dataset at an address. Nothing is requested before it is compared.
    pub fn at_address(remote: Remote, named: Option<&DatasetName>) -> Self {
        Primary::of(Kind::Remote(Box::new(remote), named.cloned()))
    }

    /// The same primary with the options that are remembered when a mirror was pulled from it.
    #[must_use]
    pub fn with_options(self, options: SourceOptions) -> Self {
        Primary { options: options.or(&self.options), ..self }
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

    /// Exports a dataset of a registry to a temporary file, to read it from there.
    fn of_registry(
        registry: &Registry,
        mirror: &DatasetName,
        named: Option<&DatasetName>,
        now: Timestamp,
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
        let mut file = BufWriter::new(scratch::file()?);
        manifest::write(registry, &dataset, &mut file)?;
        let written = file.into_inner().map_err(io::IntoInnerError::into_error);
        let file = written.map_err(|source| scratch::unusable("write", source))?;
        let source = registry.path().map(Registry::full_name);
        let source = source.map(|path| path.to_string_lossy().into_owned());
        let name = source.clone().unwrap_or_default();
        let mut primary = Primary::of_manifest(file, &name, source, Some(&dataset), now);
        // The registry may have other datasets the next time.
        primary.options.primary_dataset = Some(dataset);
        Ok(primary)
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

/// How often a published directory is read again because it changed meanwhile, and how long is waited
/// before the first time.
const MAX_CHANGES: u32 = 5;
const CHANGE_DELAY: Duration = Duration::from_millis(50);

impl Published {
    /// Opens the directory of a dataset, or one into which datasets are published: then the dataset is
    /// `named`, or has the name of the mirror, or is the only one.
    ///
    /// # Errors
    ///
    /// A file cannot be read; [`ErrorKind::NotPublished`]: the head;
    /// [`ErrorKind::PrimaryDatasetUnknown`].
    pub fn open(path: &Path, mirror: &DatasetName, named: Option<&DatasetName>) -> Result<Self> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let (published, is_read) = Published::open_once(path, mirror, named)?;
            if is_read || attempt > MAX_CHANGES {
                return Ok(published);
            }
            // What is beside a log is replaced before its head is, by a run that goes on now.
            std::thread::sleep(CHANGE_DELAY * attempt);
        }
    }

    /// Opens it once. Returns whether what is beside the log is what the head announces, too.
    fn open_once(
        path: &Path,
        mirror: &DatasetName,
        named: Option<&DatasetName>,
    ) -> Result<(Self, bool)> {
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
        let (mut parts, mut is_read) = (VecDeque::new(), true);
        for (index, segment) in head.segments.0.iter().enumerate() {
            let path = present.join("log").join(Segment::file_name(index));
            parts.push_back(Part::File(path, segment.bytes));
        }
        for (name, digest) in
            [("subsets.jsonl", head.subsets), ("annotations.jsonl", head.annotations)]
        {
            if !digest.is_empty() {
                let (lines, is_announced) = read_beside(&present.join(name), digest)?;
                is_read &= is_announced;
                parts.push_back(Part::Read(Box::new(lines)));
            }
        }
        parts.push_back(Part::Read(Box::new(Cursor::new(line))));
        let manifest = Box::new(Parts { left: parts, current: Box::new(empty()) });
        Ok((Published { directory, former, manifest }, is_read))
    }
}

/// Copies a file beside a log, and returns whether it is the one that the head announces.
fn read_beside(path: &Path, announced: LinesDigest) -> Result<(SpooledTempFile, bool)> {
    let failed = |source| Error::cannot("read", path, source);
    let file = File::open(path).map_err(failed)?;
    let (mut lines, mut hash) = (scratch::spool(), Sha256::new());
    let mut file = BufReader::new(file.take(announced.bytes));
    loop {
        let read = file.fill_buf().map_err(failed)?;
        if read.is_empty() {
            break;
        }
        hash.update(read);
        lines.write_all(read).map_err(|source| scratch::unusable("write", source))?;
        let bytes = read.len();
        file.consume(bytes);
    }
    lines.rewind().map_err(|source| scratch::unusable("read", source))?;
    let is_announced = hash.finalize().as_slice() == announced.sha256;
    Ok((lines, is_announced))
}

/// A part of a manifest.
enum Part {
    /// The first bytes of a file, which is opened when it is reached: a log can have more segments than
    /// a process may have open files.
    File(PathBuf, u64),
    Read(Box<dyn Read + Send>),
}

/// The parts of a manifest, one after the other.
struct Parts {
    left: VecDeque<Part>,
    current: Box<dyn Read + Send>,
}

impl Read for Parts {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.current.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            self.current = match self.left.pop_front() {
                None => return Ok(0),
                Some(Part::Read(part)) => part,
                Some(Part::File(path, bytes)) => {
                    let file = File::open(&path).map_err(|error| {
                        let path = quoted(&path.to_string_lossy()).to_string();
                        io::Error::new(error.kind(), format!("{path}: {error}"))
                    })?;
                    Box::new(file.take(bytes))
                }
            };
        }
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
        is_sent::<Remote>();
    }
}
