//! Publishing one dataset.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{Error, Result};
use super::segment_file::SegmentFiles;
use crate::disk::AtomicFile;
use crate::mirror::log::{
    Head, HeadFile, Line, LogReader, LogWriter, MAX_LINE_BYTES, Position, Segment, SubsetWriter,
};
use crate::mirror::{self, manifest};
use crate::model::{DatasetName, LogChange, Moment, Timestamp};
use crate::registry::{self, Listed, Registry, Selection, Snapshot};

/// What was published of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Published {
    /// Its name.
    pub dataset: DatasetName,
    /// How many changes its log has.
    pub changes: u64,
    /// How many of them are new.
    pub new_changes: u64,
    /// How many bytes were added to the log.
    pub bytes: u64,
}

/// Publishes a dataset into its directory, and says under its former names where it is.
pub(super) fn publish(
    registry: &Registry,
    datasets: &Path,
    name: &DatasetName,
) -> Result<Published> {
    let snapshot = registry.snapshot()?;
    let listed = snapshot.dataset(name)?;
    let name = &listed.dataset.name;
    if !name.is_publishable() {
        return Err(Error::Unpublishable { name: name.clone() });
    }
    let directory = datasets.join(name.as_str());
    let log = directory.join("log");
    fs::create_dir_all(&log).map_err(|source| Error::file("create", &log, source))?;
    let before = head_in(&directory)?;
    if let Some(head) = &before {
        refuse_contradiction(&snapshot, &listed, head, &directory)?;
    }
    let (writer, files) = append(&snapshot, name, before.as_ref(), &log)?;
    let bytes = files.finish()?;
    let subsets = write_subsets(&snapshot, name, before.as_ref(), &directory)?;
    let head = Head::of(&listed, &writer, subsets);
    let line = head.to_line().map_err(|error| Error::file("write", &directory, error.into()))?;
    write_whole(&directory.join("head.json"), line.as_bytes())?;
    for former in listed.former_names.iter().filter(|former| former.is_publishable()) {
        let directory = datasets.join(former.as_str());
        let made = fs::create_dir_all(&directory);
        made.map_err(|source| Error::file("create", &directory, source))?;
        let line = HeadFile::moved_line(name)
            .map_err(|error| Error::file("write", &directory, error.into()))?;
        write_whole(&directory.join("head.json"), line.as_bytes())?;
    }
    Ok(Published {
        dataset: name.clone(),
        changes: head.changes,
        new_changes: head.changes - before.map_or(0, |before| before.changes),
        bytes,
    })
}

/// The head that was published before. `None` means that there is none, or that the name was that of another
/// dataset that was renamed.
fn head_in(directory: &Path) -> Result<Option<Head>> {
    let path = directory.join("head.json");
    let mut line = String::new();
    let read =
        File::open(&path).and_then(|file| file.take(MAX_LINE_BYTES).read_to_string(&mut line));
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::file("read", &path, error)),
    }
    match HeadFile::parse(&line) {
        Ok(HeadFile::Head(head)) => Ok(Some(*head)),
        Ok(HeadFile::MovedTo(_)) => Ok(None),
        Err(what) => Err(Error::Damaged { path, what }),
    }
}

/// Appends what is new since the head.
fn append(
    snapshot: &Snapshot,
    name: &DatasetName,
    before: Option<&Head>,
    log: &Path,
) -> Result<(LogWriter, SegmentFiles)> {
    let (mut writer, mut files) = match before {
        None => {
            let (writer, first) = LogWriter::begin();
            let mut files = SegmentFiles::resume(log, &[])?;
            files.add(&first)?;
            (writer, files)
        }
        Some(head) => {
            let position = Position {
                changes: head.changes,
                bytes: head.segments.bytes(),
                granules: head.granules,
                check: Some(head.check),
                timestamp: head.latest.map(|(timestamp, _)| timestamp),
            };
            let files = SegmentFiles::resume(log, &head.segments.0)?;
            (LogWriter::resume(position, head.segments.clone()), files)
        }
    };
    let after = before.and_then(|head| head.latest).map(|(timestamp, _)| timestamp);
    snapshot.export(name, after, |exported| -> Result<()> {
        let line: Option<Line> =
            writer.add(exported).map_err(|error| Error::file("write", log, error.into()))?;
        line.map_or(Ok(()), |line| files.add(&line))
    })?;
    Ok((writer, files))
}

/// Writes the cited subsets, unless they are as they were.
fn write_subsets(
    snapshot: &Snapshot,
    name: &DatasetName,
    before: Option<&Head>,
    directory: &Path,
) -> Result<crate::mirror::log::SubsetsDigest> {
    let path = directory.join("subsets.jsonl");
    let mut file = AtomicFile::beside(&path)?;
    let mut subsets = SubsetWriter::default();
    let mut out = io::BufWriter::new(file.as_file_mut());
    manifest::write_subsets(snapshot, name, &mut subsets, &mut out).map_err(
        |error| match error {
            mirror::Error::Output { source } => Error::file("write", &path, source),
            other => other.into(),
        },
    )?;
    out.flush().map_err(|source| Error::file("write", &path, source))?;
    drop(out);
    let subsets = subsets.finish();
    let is_there = path.metadata().is_ok_and(|found| found.len() == subsets.bytes);
    if !is_there || before.is_none_or(|before| before.subsets != subsets) {
        file.replace()?;
    }
    Ok(subsets)
}

pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = AtomicFile::beside(path)?;
    file.as_file_mut().write_all(bytes).map_err(|source| Error::file("write", path, source))?;
    Ok(file.replace()?)
}

/// Refuses a history that does not begin with what was published.
///
/// An identifier depends on all granules held, so a history that has the same number of changes up
/// to the last one that was published, which has the same time, identifier and number of granules,
/// is assumed to be the same; otherwise the first change that differs is searched for.
fn refuse_contradiction(
    snapshot: &Snapshot,
    listed: &Listed,
    head: &Head,
    directory: &Path,
) -> Result<()> {
    let Some((timestamp, identifier)) = head.latest else { return Ok(()) };
    let name = &listed.dataset.name;
    let in_force = instance_at(snapshot, name, timestamp)?;
    let is_same = in_force.is_some_and(|in_force| {
        (in_force.timestamp, in_force.identifier, in_force.granules)
            == (timestamp, identifier, head.granules)
    });
    if is_same && snapshot.count_history(name, Some(timestamp))? == head.changes {
        return Ok(());
    }
    let mut contradiction = None;
    each_published(&directory.join("log"), head, |change| {
        let found = instance_at(snapshot, name, change.timestamp)?;
        let is_same = found.is_some_and(|found| {
            (found.timestamp, found.identifier) == (change.timestamp, change.identifier)
        });
        let count = snapshot.count_history(name, Some(change.timestamp))?;
        if is_same && count == change.number {
            return Ok(true);
        }
        contradiction = Some((change.number, change.timestamp));
        Ok(false)
    })?;
    let (change, timestamp) = contradiction.unwrap_or((head.changes, timestamp));
    let (name, path) = (name.clone(), directory.to_owned());
    Err(Error::Contradicts { name, path, change, timestamp })
}

fn instance_at(
    snapshot: &Snapshot,
    name: &DatasetName,
    at: Timestamp,
) -> Result<Option<crate::model::Instance>> {
    let selection = Selection::Dataset { name: name.clone(), at: Some(Moment::Instant(at)) };
    match snapshot.select(&selection) {
        Ok(selected) => Ok(Some(selected.instance().clone())),
        Err(registry::Error::NoHistory { .. } | registry::Error::BeforeHistory { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Calls `show` for each change that was published, until it returns `false`.
fn each_published(
    log: &Path,
    head: &Head,
    mut show: impl FnMut(LogChange) -> Result<bool>,
) -> Result<()> {
    let source: Arc<str> = log.to_string_lossy().into();
    let mut reader = LogReader::at(Position::default(), source, 0, Timestamp::MAX);
    for (index, segment) in head.segments.0.iter().enumerate() {
        let path: PathBuf = log.join(Segment::file_name(index));
        let failed = |source| Error::file("read", &path, source);
        reader.enter(path.to_string_lossy().into(), 0);
        let mut file = BufReader::new(File::open(&path).map_err(failed)?.take(segment.bytes));
        let mut line = Vec::new();
        while file.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line).map_err(failed)? > 0 {
            let read = reader.read(&line).map_err(mirror::Error::from)?;
            if let Some((_, Some(change))) = read
                && !show(change)?
            {
                return Ok(());
            }
            line.clear();
        }
    }
    Ok(())
}
