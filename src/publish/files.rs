//! Publishing the log of the file records of a dataset, in segments like those of the log of its changes.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use tempfile::SpooledTempFile;

use super::log;
use crate::disk::{Directory, scratch};
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::log::manifest;
use crate::mirror::log::{
    Checks, FileLogReader, FilesHead, FilesPosition, HeadFile, MAX_LINE_BYTES, ReadLines, Segment,
    Segments,
};
use crate::model::{DatasetName, Timestamp, quoted};
use crate::registry::{LoggedRecord, Snapshot};

/// The file records that are to be published.
pub(super) struct NewFiles {
    announced: Segments,
    /// What the head is to announce. `None` means that there are no records.
    pub head: Option<FilesHead>,
    /// The lines that are new.
    lines: SpooledTempFile,
}

impl NewFiles {
    /// Compares what was published with the registry, and reads what is new. Without new records, it
    /// reads only the last one that was published.
    pub fn prepare(
        snapshot: &Snapshot,
        name: &DatasetName,
        directory: Option<&Directory>,
        announced: Option<&FilesHead>,
    ) -> Result<Self> {
        if let (Some(head), Some(directory)) = (announced, directory) {
            let missing =
                || Error::published_damaged(&directory.path_of(FILES), None, "it is missing");
            let files = directory.enter(FILES)?.ok_or_else(missing)?;
            log::check_lengths(&files, &head.segments)?;
            let published = last_record(&files, head)?;
            let stored = snapshot.logged_record(name, &published.record.granule_id, head.count)?;
            if stored.as_ref() != Some(&published) {
                return Err(Error::files_published_otherwise(name, directory, &published));
            }
        }
        let mut lines = scratch::spool();
        let head = manifest::write_files(snapshot, name, announced, |line, _| {
            let written = lines.write_all(line.as_bytes());
            written.map_err(|source| scratch::unusable("write", source))
        })?;
        lines.rewind().map_err(|source| scratch::unusable("write", source))?;
        let announced = announced.map_or_else(Segments::default, |it| it.segments.clone());
        Ok(NewFiles { announced, head, lines })
    }

    /// Writes what is new. Returns how many bytes were appended.
    pub fn write(&mut self, directory: &Directory) -> Result<u64> {
        let Some(head) = &self.head else { return Ok(0) };
        let files = directory.enter_or_create(FILES)?;
        let bytes = log::append(&files, &self.announced, &head.segments, &mut self.lines)?;
        log::compress(&files, &head.segments)?;
        Ok(bytes)
    }
}

/// The last record that was published, after its segment is proved to be as it was written.
fn last_record(files: &Directory, head: &FilesHead) -> Result<LoggedRecord> {
    let before = head.segments.0.len().saturating_sub(1);
    let check = before.checked_sub(1).and_then(|it| head.segments.0.get(it)).map(|it| it.check);
    let (name, bytes) = (Segment::file_name(before), head.segments.0.get(before));
    let path = files.path_of(&name);
    let damaged = |line: u64, what: &str| Error::published_damaged(&path, Some(line), what);
    let mut text = Vec::new();
    if let Some(file) = files.read(&name)? {
        // A segment is at most a line longer than 4 MiB.
        let read = file.take(bytes.map_or(0, |it| it.bytes)).read_to_end(&mut text);
        read.map_err(|source| Error::cannot("read", &path, source))?;
    }
    let (mut checks, mut last, mut number) = (Checks::after(check), check, 0);
    let mut end: Option<(FilesPosition, &[u8])> = None;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        number += 1;
        // Any place after the first line will do.
        end = Some((FilesPosition { count: head.count - 1, bytes: 1, check: last }, line));
        last = Some(checks.verify(line).map_err(|what| damaged(number, what))?);
    }
    let what = "the line is not the last one of the head";
    let (position, line) =
        end.filter(|_| last == Some(head.check)).ok_or_else(|| damaged(number, what))?;
    let source = path.to_string_lossy().into();
    let mut reader = FileLogReader::at(position, source, number - 1, Timestamp::MAX);
    let read = reader.read(line).map_err(|error| damaged(number, error.message()))?;
    read.map(|(record, _)| record).ok_or_else(|| damaged(number, what))
}

impl Error {
    /// File records that are not those that were published into a directory. The last one that was is
    /// the cause.
    fn files_published_otherwise(
        name: &DatasetName,
        directory: &Directory,
        LoggedRecord { number, recorded, .. }: &LoggedRecord,
    ) -> Self {
        let what = format!("the file records of {name} contradict what was published");
        let cause = format!(
            "record {number}, entered at {recorded}, is not in the registry as it was published"
        );
        Error::of_published(&what, directory.path(), cause)
    }
}

/// The directory of the datasets.
pub(super) const DATASETS: &str = "datasets";
/// The directory of a dataset's segments.
pub(super) const LOG: &str = "log";
/// The directory of the segments of a dataset's file records, if it has any.
pub(super) const FILES: &str = "files";
/// The head of a dataset.
pub(super) const HEAD: &str = "head.json";
/// The cited subsets of a dataset.
pub(super) const SUBSETS: &str = "subsets.jsonl";
/// The annotations of a dataset, if it has any.
pub(super) const ANNOTATIONS: &str = "annotations.jsonl";

const LOCK: &str = ".accession-publish.lock";

/// A directory into which is published. As long as this exists, no other process publishes there.
pub(super) struct Place {
    pub root: Directory,
    /// The lock ends when the file is closed. `None`: the directory was never published into.
    _lock: Option<File>,
}

impl Place {
    /// Creates the directory if it does not exist, and waits until no other process publishes into it.
    pub fn to_publish(path: &Path) -> Result<Self> {
        let root = Directory::create_all(path)?;
        let file = root.lock_file(LOCK)?;
        file.lock().map_err(|source| Error::cannot("lock", &root.path_of(LOCK), source))?;
        Ok(Place { root, _lock: Some(file) })
    }

    /// Opens a directory to read it, and waits until no process publishes into it.
    pub fn to_read(path: &Path) -> Result<Self> {
        let root = Directory::open(path)?;
        let file = root.read(LOCK)?;
        if let Some(file) = &file {
            let locked = file.lock_shared();
            locked.map_err(|source| Error::cannot("lock", &root.path_of(LOCK), source))?;
        }
        Ok(Place { root, _lock: file })
    }

    /// The directory of the datasets, which is created if it does not exist.
    pub fn datasets(&self) -> Result<Directory> {
        self.root.enter_or_create(DATASETS)
    }

    /// The names in the directory of the datasets that are names of datasets.
    pub fn names(&self) -> Result<Vec<DatasetName>> {
        let Some(datasets) = self.root.enter(DATASETS)? else { return Ok(Vec::new()) };
        Ok(datasets.names()?.iter().filter_map(|name| name.parse().ok()).collect())
    }
}

/// The head in the directory of a dataset. `None` means that there is none.
pub(super) fn head_in(directory: &Directory) -> Result<Option<HeadFile>> {
    let Some(line) = text_in(directory, HEAD)? else { return Ok(None) };
    let damaged = |what| Error::published_damaged(&directory.path_of(HEAD), None, what);
    HeadFile::parse(&line).map(Some).map_err(damaged)
}

/// The text of a file that is one line. `None` means that the file does not exist.
pub(super) fn text_in(directory: &Directory, name: &str) -> Result<Option<String>> {
    let Some(file) = directory.read(name)? else { return Ok(None) };
    let path = directory.path_of(name);
    let mut text = String::new();
    match file.take(MAX_LINE_BYTES).read_to_string(&mut text) {
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Error::published_damaged(&path, None, "it is not UTF-8"))
        }
        Err(source) => Err(Error::cannot("read", &path, source)),
    }
}

impl Error {
    /// A published file that is not as it was written, from a line on (`None`: all of it). What is
    /// wrong is the cause.
    pub(super) fn published_damaged(
        path: &Path,
        line: Option<u64>,
        what: impl Into<String>,
    ) -> Self {
        let in_line = line.map_or_else(String::new, |line| format!(", line {line},"));
        let shown = quoted(&path.to_string_lossy()).to_string();
        let message = format!("{shown}{in_line} is not as it was published");
        Error::new(ErrorKind::PublishedDamaged, message)
            .in_path(path)
            .in_line(line)
            .because(what.into())
    }

    /// A history that is not the one that was published into a directory. The first change that
    /// differs is the cause.
    pub(super) fn published_otherwise(
        name: &DatasetName,
        path: &Path,
        change: u64,
        timestamp: Timestamp,
    ) -> Self {
        let what = format!("the history of {name} contradicts what was published");
        let cause =
            format!("change {change}, at {timestamp}, is not in the registry as it was published");
        Error::of_published(&what, path, cause)
    }

    /// What the registry has contradicts what was published into a directory.
    pub(super) fn of_published(what: &str, path: &Path, cause: String) -> Self {
        let shown = quoted(&path.to_string_lossy()).to_string();
        let message = format!("{what} in {shown}");
        Error::new(ErrorKind::PublishedOtherwise, message).in_path(path).because(cause)
    }
}
