//! Publishing the log of the file records of a dataset, in segments like those of the log of its changes.

use std::io::{Read, Seek, Write};

use tempfile::SpooledTempFile;

use super::log;
use super::place::FILES;
use crate::disk::{Directory, scratch};
use crate::error::{Error, Result};
use crate::mirror::log::{
    Checks, FileLogReader, FilesHead, FilesPosition, ReadLines, Segment, Segments,
};
use crate::mirror::manifest;
use crate::model::{DatasetName, Timestamp};
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
    let read = reader.read(line).map_err(|error| damaged(number, &error.kind.to_string()))?;
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
