//! Publishing one dataset.

use std::io::{self, Read, Seek, Write};

use tempfile::SpooledTempFile;

use super::files::{ANNOTATIONS, FILES, HEAD, LOG, NewFiles, SUBSETS, head_in, text_in};
use super::log::{self, Tail, instance_at};
use crate::disk::{Directory, scratch};
use crate::error::{Error, Result};
use crate::mirror::log::manifest;
use crate::mirror::log::{
    Head, HeadFile, LINE_GRANULES, LinesDigest, LogWriter, Position, Segments, SubsetWriter,
};
use crate::model::{DatasetName, Timestamp};
use crate::registry::{Exported, Listed, Registry, Snapshot};

/// What was published of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Published {
    /// Its name.
    pub dataset: DatasetName,
    /// How many changes its log has.
    pub changes: u64,
    /// How many of them are new.
    pub new_changes: u64,
    /// How many bytes were added to the log, and to that of the file records.
    pub bytes: u64,
}

/// What is to be written, read from one snapshot and proved, in a temporary file where it is long.
struct Prepared {
    listed: Listed,
    /// The head that was published before. `None` means that there is none, or that the name was
    /// that of another dataset that was renamed.
    before: Option<Head>,
    log: LogWriter,
    /// The lines that are new.
    lines: SpooledTempFile,
    subsets: SpooledTempFile,
    annotations: SpooledTempFile,
    /// What the head announces of both.
    digests: [LinesDigest; 2],
    files: NewFiles,
}

/// Publishes a dataset into its directory, and says under its former names where it is.
pub(super) fn publish(
    registry: &Registry,
    datasets: &Directory,
    name: &DatasetName,
) -> Result<Published> {
    // The snapshot ends with this call: files are compressed and made durable without it.
    let mut prepared = prepare(&registry.snapshot()?, datasets, name)?;
    let name = &prepared.listed.dataset.name;
    let directory = datasets.enter_or_create(name.as_str())?;
    let log = directory.enter_or_create(LOG)?;
    if prepared.before.is_none() {
        // What exists was left by a run that was killed, or by the dataset that had the name before:
        // a head that announces it goes first.
        directory.remove(HEAD)?;
        directory.sync()?;
        for directory in [directory.enter(LOG)?, directory.enter(FILES)?].iter().flatten() {
            for file in directory.names()?.iter().filter(|file| file.contains(".jsonl")) {
                directory.remove(file)?;
            }
        }
    }
    let announced =
        prepared.before.as_ref().map_or_else(Segments::default, |it| it.segments.clone());
    let segments = prepared.log.segments();
    let mut bytes = log::append(&log, &announced, segments, &mut prepared.lines)?;
    log::compress(&log, segments)?;
    bytes += prepared.files.write(&directory)?;
    write_beside(&directory, SUBSETS, &mut prepared.subsets)?;
    let [_, annotations] = prepared.digests;
    // Most datasets have none. Those that were published are not taken back.
    if !annotations.is_empty() || directory.read(ANNOTATIONS)?.is_some() {
        write_beside(&directory, ANNOTATIONS, &mut prepared.annotations)?;
    }
    let Prepared { listed, log, digests, files, .. } = &prepared;
    let head = Head::of(listed, log, *digests, files.head.clone());
    let line =
        head.to_line().map_err(|error| Error::cannot("write", directory.path(), error.into()))?;
    write_head(&directory, &line)?;
    for former in &prepared.listed.former_names {
        let directory = datasets.enter_or_create(former.as_str())?;
        let line = HeadFile::moved_line(name)
            .map_err(|error| Error::cannot("write", directory.path(), error.into()))?;
        write_head(&directory, &line)?;
    }
    Ok(Published {
        dataset: name.clone(),
        changes: head.changes,
        new_changes: head.changes - prepared.before.map_or(0, |before| before.changes),
        bytes,
    })
}

/// Compares what was published with the registry, and reads what is new.
fn prepare(snapshot: &Snapshot, datasets: &Directory, name: &DatasetName) -> Result<Prepared> {
    let listed = snapshot.dataset(name)?;
    let name = &listed.dataset.name;
    let directory = datasets.enter(name.as_str())?;
    let mut before = match directory.as_ref().map(head_in).transpose()?.flatten() {
        Some(HeadFile::Head(head)) => Some(*head),
        _ => None,
    };
    let is_continued = match &before {
        Some(head) => log::is_continued(snapshot, name, head)?,
        None => true,
    };
    if let Some(head) = before.take_if(|_| !is_continued)
        && !log::is_of_another(snapshot, name, &head)?
    {
        before = Some(head);
    }
    let mut lines = scratch::spool();
    let log = match (&directory, &before) {
        (Some(directory), Some(head)) => {
            let missing =
                || Error::published_damaged(&directory.path_of(LOG), None, "it is missing");
            let log = directory.enter(LOG)?.ok_or_else(missing)?;
            log::check_lengths(&log, &head.segments)?;
            let tail = Tail::read(&log, head)?;
            if !is_continued {
                return Err(log::contradiction(snapshot, name, head, directory, &log)?);
            }
            continued(snapshot, &listed, head, tail, directory, &mut lines)?
        }
        _ => {
            let (mut log, first) = LogWriter::begin();
            lines.write_all(first.as_bytes()).map_err(unwritten)?;
            for exported in snapshot.export(name, None)? {
                if let Some(line) = log.add(exported?).map_err(|error| unwritten(error.into()))? {
                    lines.write_all(line.as_bytes()).map_err(unwritten)?;
                }
            }
            log
        }
    };
    let announced = before.as_ref().and_then(|head| head.files.as_ref());
    let files = NewFiles::prepare(snapshot, name, directory.as_ref(), announced)?;
    let mut writer = SubsetWriter::default();
    let mut subsets = scratch::spool();
    manifest::write_subsets(snapshot, name, Timestamp::MAX, &mut writer, &mut subsets, unwritten)?;
    let mut annotations = scratch::spool();
    let annotated = manifest::write_annotations(snapshot, name, &mut annotations, unwritten)?;
    let spooled = [&mut lines, &mut subsets, &mut annotations];
    spooled.into_iter().try_for_each(Seek::rewind).map_err(unwritten)?;
    let digests = [writer.finish(), annotated];
    Ok(Prepared { listed, before, log, lines, subsets, annotations, digests, files })
}

/// Reads the changes since the head, after the last change that was published, which is compared with
/// what the registry has of it.
fn continued(
    snapshot: &Snapshot,
    listed: &Listed,
    head: &Head,
    tail: Option<Tail>,
    directory: &Directory,
    lines: &mut SpooledTempFile,
) -> Result<LogWriter> {
    let name = &listed.dataset.name;
    let latest = head.latest().map(|(timestamp, _)| timestamp);
    let end = Position {
        changes: head.changes,
        bytes: head.segments.bytes(),
        granules: head.granules,
        check: Some(head.check),
        timestamp: latest,
    };
    let mut log = LogWriter::resume(end, head.segments.clone());
    if listed.latest.as_ref().map(|latest| latest.timestamp) == latest {
        return Ok(log);
    }
    let (mut published, mut after, mut skipped) = (Vec::new(), latest, 0);
    if let (Some(tail), Some(latest)) = (tail, latest) {
        // The granules of this change that are in complete segments.
        let change = instance_at(snapshot, name, latest)?;
        let granules = change.map_or(0, |change| change.ingested + change.deleted);
        let line_granules = LINE_GRANULES as u64;
        let all = granules.div_ceil(line_granules).max(1);
        skipped = all.saturating_sub(tail.count) * line_granules;
        after = Timestamp::from_micros(latest.as_micros() - 1);
        log = LogWriter::resume(tail.begins, tail.segments);
        published = tail.lines;
    }
    let (mut published, mut is_same) = (published.as_slice(), true);
    for exported in snapshot.export(name, after)? {
        let exported = exported?;
        if let Exported::Event(event) = &exported
            && Some(event.at) == latest
            && skipped > 0
        {
            skipped -= 1;
            continue;
        }
        let line = log.add(exported).map_err(|error| unwritten(error.into()))?;
        let Some(line) = line.filter(|_| is_same) else { continue };
        if published.is_empty() {
            lines.write_all(line.as_bytes()).map_err(unwritten)?;
            continue;
        }
        match published.strip_prefix(line.as_bytes()) {
            Some(rest) => published = rest,
            // The export goes on: if the registry is damaged, it says so.
            None => is_same = false,
        }
    }
    match (is_same && published.is_empty(), latest) {
        (false, Some(timestamp)) => {
            Err(Error::published_otherwise(name, directory.path(), head.changes, timestamp))
        }
        _ => Ok(log),
    }
}

/// Writes a file beside a log, unless it is there as it is to be.
fn write_beside(directory: &Directory, name: &str, lines: &mut SpooledTempFile) -> Result<()> {
    if let Some(found) = directory.read(name)? {
        let path = directory.path_of(name);
        let is_same = is_same(&mut io::BufReader::new(found), lines);
        if is_same.map_err(|source| Error::cannot("read", &path, source))? {
            return Ok(());
        }
        lines.rewind().map_err(unwritten)?;
    }
    directory.replace(name, |file| {
        match io::copy(lines, file)? {
            // Most datasets have none, and an empty file has nothing that could be lost.
            0 => Ok(()),
            _ => file.sync_data(),
        }
    })
}

/// Whether two files have the same content.
fn is_same(left: &mut impl Read, right: &mut impl Read) -> io::Result<bool> {
    const BLOCK: u64 = 64 * 1_024;
    let (mut one, mut other) = (Vec::new(), Vec::new());
    loop {
        one.clear();
        other.clear();
        left.by_ref().take(BLOCK).read_to_end(&mut one)?;
        right.by_ref().take(BLOCK).read_to_end(&mut other)?;
        if one != other || one.is_empty() {
            return Ok(one == other);
        }
    }
}

/// Writes a head. One that says the same gets a new date: its age tells a registry without changes
/// from publishing that has stopped.
fn write_head(directory: &Directory, line: &str) -> Result<()> {
    if text_in(directory, HEAD).is_ok_and(|found| found.as_deref() == Some(line)) {
        return directory.touch(HEAD);
    }
    directory.replace(HEAD, |file| {
        file.write_all(line.as_bytes())?;
        file.sync_data()
    })
}

fn unwritten(source: io::Error) -> Error {
    scratch::unusable("write", source)
}
