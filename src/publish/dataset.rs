//! Publishing one dataset.

use std::io::{self, Seek, Write};

use tempfile::SpooledTempFile;

use super::files::{ANNOTATIONS, SUBSETS, head_in, text_in, write_spooled};
use super::log;
use crate::disk::{Directory, scratch};
use crate::error::{Error, Result};
use crate::mirror::log::{
    Head, HeadFile, LinesDigest, LogWriter, Position, Segments, write_annotations, write_subsets,
};
use crate::mirror::{HEAD, LOG};
use crate::model::{DatasetName, Timestamp};
use crate::registry::{Listed, Registry, Snapshot};

/// What was published of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PublishedDataset {
    /// Its name.
    pub dataset: DatasetName,
    /// How many changes its log has.
    pub changes: u64,
    /// How many of them are new.
    pub new_changes: u64,
    /// How many bytes were added to the log.
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
}

/// Publishes a dataset into its directory, and says under its former names where it is.
pub(super) fn publish(
    registry: &Registry,
    datasets: &Directory,
    name: &DatasetName,
) -> Result<PublishedDataset> {
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
        for file in log.names()?.iter().filter(|file| file.contains(".jsonl")) {
            log.remove(file)?;
        }
    }
    let announced =
        prepared.before.as_ref().map_or_else(Segments::default, |it| it.segments.clone());
    let segments = prepared.log.segments();
    let bytes = log::append(&log, &announced, segments, &mut prepared.lines)?;
    log::compress(&log, segments)?;
    write_spooled(&directory, SUBSETS, &mut prepared.subsets)?;
    let [_, annotations] = prepared.digests;
    // Most datasets have none. Those that were published are not taken back.
    if !annotations.is_empty() || directory.read(ANNOTATIONS)?.is_some() {
        write_spooled(&directory, ANNOTATIONS, &mut prepared.annotations)?;
    }
    let Prepared { listed, log, digests, .. } = &prepared;
    let head = Head::of(listed, log, *digests);
    let line =
        head.to_line().map_err(|error| Error::cannot("write", directory.path(), error.into()))?;
    write_head(&directory, &line)?;
    for former in &prepared.listed.former_names {
        let directory = datasets.enter_or_create(former.as_str())?;
        let line = HeadFile::moved_line(name)
            .map_err(|error| Error::cannot("write", directory.path(), error.into()))?;
        write_head(&directory, &line)?;
    }
    Ok(PublishedDataset {
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
    let before = match &directory {
        Some(directory) => announced(snapshot, name, directory)?,
        None => None,
    };
    let mut lines = scratch::spool();
    let latest = listed.latest.as_ref().map(|latest| latest.timestamp);
    let (mut log, after) = match &before {
        Some(head) => {
            let end = Position {
                changes: head.changes,
                bytes: head.segments.bytes(),
                granules: head.granules,
                check: Some(head.check),
                timestamp: head.timestamp,
            };
            (LogWriter::resume(end, head.segments.clone()), head.timestamp)
        }
        None => {
            let (log, first) = LogWriter::begin();
            lines.write_all(first.as_bytes()).map_err(unwritten)?;
            (log, None)
        }
    };
    if latest != after {
        for exported in snapshot.export(name, after)? {
            if let Some(line) = log.add(exported?).map_err(|error| unwritten(error.into()))? {
                lines.write_all(line.as_bytes()).map_err(unwritten)?;
            }
        }
    }
    let mut subsets = scratch::spool();
    let cited = write_subsets(snapshot, name, Timestamp::MAX, &mut subsets, unwritten)?;
    let mut annotations = scratch::spool();
    let annotated = write_annotations(snapshot, name, &mut annotations, unwritten)?;
    let spooled = [&mut lines, &mut subsets, &mut annotations];
    spooled.into_iter().try_for_each(Seek::rewind).map_err(unwritten)?;
    let digests = [cited, annotated];
    Ok(Prepared { listed, before, log, lines, subsets, annotations, digests })
}

/// The head that was published of a dataset, if the registry continues its log. `None` means that
/// there is none, or that the name was that of another dataset that was renamed.
fn announced(
    snapshot: &Snapshot,
    name: &DatasetName,
    directory: &Directory,
) -> Result<Option<Head>> {
    let Some(HeadFile::Head(head)) = head_in(directory)? else { return Ok(None) };
    if log::is_of_another(snapshot, name, &head)? {
        return Ok(None);
    }
    log::check_end(&log::entered(directory)?, &head)?;
    log::check_continued(snapshot, name, &head, directory)?;
    Ok(Some(*head))
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
