//! Publishes one dataset: the segments of its log and its head. Checks that the registry still has the
//! published history.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use flate2::read::{GzDecoder, MultiGzDecoder};
use flate2::{Compression, GzBuilder};
use tempfile::SpooledTempFile;

use super::site_directory::{
    ANNOTATIONS, SUBSETS, append_spooled, head_in, is_same, lock_to_publish, text_in, write_spooled,
};
use crate::disk::{Directory, scratch};
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::log::{
    Head, HeadFile, LatestSet, Lines, LinesDigest, LogWriter, MAX_LINE_BYTES, Position, Segment,
    Segments, continued_subsets, verified, write_annotations, write_subsets,
};
use crate::mirror::{FoundHead, HEAD, LOG, PublishedDirectory, read_log};
use crate::model::{DatasetName, Instance, LogChange, Moment, SourceLocation, Timestamp};
use crate::registry::{DatasetRecord, MetadataVersion, Registry, Selection, Snapshot};

/// The result of publishing a dataset.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct PublishedDataset {
    /// The name of the dataset.
    pub dataset: DatasetName,
    /// The number of changes in the log.
    pub changes: u64,
    /// The number of changes that are new.
    pub new_changes: u64,
    /// The number of bytes that were added to the log.
    pub bytes: u64,
}

/// The data to write, read from one snapshot and verified. Long parts are in temporary files.
struct Prepared {
    listed: DatasetRecord,
    /// The head that was published before. `None` means that there is none, or that it is of another dataset,
    /// which had this name and was renamed.
    before: Option<Head>,
    log: LogWriter,
    /// The new lines.
    lines: SpooledTempFile,
    subsets: SpooledTempFile,
    /// The offset in the file of published subsets at which the new subsets are appended. `None` means that the
    /// whole file is replaced.
    subsets_after: Option<u64>,
    annotations: SpooledTempFile,
    /// The digests of the subsets and of the annotations, for the head.
    digests: [LinesDigest; 2],
}

/// Publishes a dataset into its directory, and a pointer to it under each of its former names.
pub(super) fn publish(
    registry: &Registry,
    datasets: &Directory,
    name: &DatasetName,
) -> Result<PublishedDataset> {
    let directory = datasets.enter_or_create(name.as_str())?;
    let lock = lock_to_publish(&directory)?;
    // The snapshot ends with this call, before files are compressed and made durable.
    let mut prepared = prepare(&registry.snapshot()?, &directory, name)?;
    let name = &prepared.listed.dataset.name;
    let log = directory.enter_or_create(LOG)?;
    if prepared.before.is_none() {
        // A killed run, or the dataset that had this name before, may have left files. The head that announces
        // them is removed first.
        directory.remove(HEAD)?;
        directory.sync()?;
        for file in log.names()?.iter().filter(|file| file.contains(".jsonl")) {
            log.remove(file)?;
        }
    }
    let announced =
        prepared.before.as_ref().map_or_else(Segments::default, |it| it.segments.clone());
    let segments = prepared.log.segments();
    let bytes = append(&log, &announced, segments, &mut prepared.lines)?;
    compress(&log, segments)?;
    match prepared.subsets_after {
        Some(bytes) => append_spooled(&directory, SUBSETS, bytes, &mut prepared.subsets)?,
        None => write_spooled(&directory, SUBSETS, &mut prepared.subsets)?,
    }
    let [_, annotations] = prepared.digests;
    // Most datasets have no annotations. A published file is never removed.
    if !annotations.is_empty() || directory.read(ANNOTATIONS)?.is_some() {
        write_spooled(&directory, ANNOTATIONS, &mut prepared.annotations)?;
    }
    let Prepared { listed, log, digests, .. } = &prepared;
    let head = Head::of(listed, log, *digests);
    let line =
        head.to_line().map_err(|error| Error::cannot("write", directory.path(), error.into()))?;
    write_head(&directory, &line)?;
    // Released first: if two datasets have swapped their names, their runs must not wait for each other.
    drop(lock);
    for former in &prepared.listed.former_names {
        let directory = datasets.enter_or_create(former.as_str())?;
        let _lock = lock_to_publish(&directory)?;
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
fn prepare(snapshot: &Snapshot, directory: &Directory, name: &DatasetName) -> Result<Prepared> {
    let listed = snapshot.dataset(name)?;
    let name = &listed.dataset.name;
    let before = announced(snapshot, name, directory)?;
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
    let published = match &before {
        Some(head) => published_subsets(snapshot, name, head, directory)?,
        None => None,
    };
    let subsets_after = published.as_ref().map(Lines::bytes);
    let sink = (published.unwrap_or_default(), &mut subsets);
    let cited = write_subsets(snapshot, name, Timestamp::MAX, sink, unwritten)?;
    let mut annotations = scratch::spool();
    let annotated = write_annotations(snapshot, name, &mut annotations, unwritten)?;
    let spooled = [&mut lines, &mut subsets, &mut annotations];
    spooled.into_iter().try_for_each(Seek::rewind).map_err(unwritten)?;
    let digests = [cited, annotated];
    Ok(Prepared { listed, before, log, lines, subsets, subsets_after, annotations, digests })
}

/// The published head of a dataset, if the registry continues its log. `None` means that there is none, or that
/// it is of another dataset, which had this name and was renamed.
fn announced(
    snapshot: &Snapshot,
    name: &DatasetName,
    directory: &Directory,
) -> Result<Option<Head>> {
    let Some(HeadFile::Head(head)) = head_in(directory)? else { return Ok(None) };
    if is_of_another(snapshot, name, &head)? {
        return Ok(None);
    }
    check_end(&entered(directory)?, &head)?;
    check_continued(snapshot, name, &head, directory)?;
    Ok(Some(*head))
}

/// The published lines of the cited subsets, if the subsets of the registry continue them.
fn published_subsets(
    snapshot: &Snapshot,
    name: &DatasetName,
    head: &Head,
    directory: &Directory,
) -> Result<Option<Lines>> {
    let Some(file) = directory.read(SUBSETS)? else { return Ok(None) };
    let failed = |source| Error::cannot("read", &directory.path_of(SUBSETS), source);
    continued_subsets(snapshot, name, &head.subsets, &mut BufReader::new(file), failed)
}

/// Writes a head. An unchanged head gets a new date, so that its age distinguishes a registry without changes
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

/// The file name of a compressed segment.
fn zipped_name(index: usize) -> String {
    format!("{}.gz", Segment::file_name(index))
}

/// Checks that each segment has at least the length that the head announces, and a complete segment exactly
/// that length.
fn check_lengths(log: &Directory, announced: &Segments) -> Result<()> {
    for (index, segment) in announced.0.iter().enumerate() {
        let name = Segment::file_name(index);
        let found = match log.read(&name)? {
            Some(file) => length(log, &name, &file)?,
            None => 0,
        };
        if found < segment.bytes || (segment.is_sealed() && found > segment.bytes) {
            let what = format!("it has {found} bytes, its head announces {}", segment.bytes);
            return Err(Error::published_damaged(&log.path_of(&name), None, what));
        }
    }
    Ok(())
}

/// Appends the new lines durably. Bytes after the announced length were written by a killed run, and are
/// removed. Returns the number of bytes that were appended.
fn append(
    log: &Directory,
    announced: &Segments,
    new: &Segments,
    lines: &mut impl Read,
) -> Result<u64> {
    let mut appended = 0;
    let mut has_new_files = false;
    for (index, segment) in new.0.iter().enumerate() {
        let name = Segment::file_name(index);
        let failed = |source| Error::cannot("write", &log.path_of(&name), source);
        let mut file = match announced.0.get(index) {
            Some(before) if before.is_sealed() => continue,
            Some(before) => {
                let gone = || failed(io::ErrorKind::NotFound.into());
                let mut file = log.write(&name)?.ok_or_else(gone)?;
                let is_whole = length(log, &name, &file)? == before.bytes;
                if is_whole && before.bytes == segment.bytes {
                    continue;
                }
                file.set_len(before.bytes).map_err(failed)?;
                file.seek(SeekFrom::End(0)).map_err(failed)?;
                file
            }
            None => {
                has_new_files = true;
                // A killed run may have left these files; no head announces them.
                log.remove(&zipped_name(index))?;
                log.create(&name)?
            }
        };
        let bytes = segment.bytes - announced.0.get(index).map_or(0, |before| before.bytes);
        let copied = io::copy(&mut lines.take(bytes), &mut file).map_err(failed)?;
        if copied != bytes {
            return Err(failed(io::ErrorKind::UnexpectedEof.into()));
        }
        file.sync_data().map_err(failed)?;
        appended += bytes;
    }
    if has_new_files {
        log.sync()?;
    }
    Ok(appended)
}

/// Compresses each complete segment into a file beside it, unless that exists.
///
/// A killed run, or a registry that was restored since, can leave a compressed file of other lines under the
/// same name. It is replaced, because its header has another check.
fn compress(log: &Directory, segments: &Segments) -> Result<()> {
    for (index, segment) in segments.0.iter().enumerate().filter(|(_, it)| it.is_sealed()) {
        let (name, zipped) = (Segment::file_name(index), zipped_name(index));
        if log.read(&zipped)?.is_some_and(|file| segment.is_compressed_in(&GzDecoder::new(file))) {
            continue;
        }
        let Some(mut plain) = log.read(&name)? else { continue };
        log.replace(&zipped, |file| {
            // Without a time and a name in the header, the same segment gives the same bytes.
            let header = GzBuilder::new().comment(segment.check.to_string());
            let mut zip = header.write(&mut *file, Compression::best());
            io::copy(&mut plain, &mut zip)?;
            zip.finish()?;
            file.sync_data()
        })?;
    }
    Ok(())
}

fn length(log: &Directory, name: &str, file: &File) -> Result<u64> {
    let found = file.metadata();
    Ok(found.map_err(|source| Error::cannot("read", &log.path_of(name), source))?.len())
}

/// Opens the directory of the segments.
fn entered(directory: &Directory) -> Result<Directory> {
    let missing = || Error::published_damaged(&directory.path_of(LOG), None, "it is missing");
    directory.enter(LOG)?.ok_or_else(missing)
}

/// Verifies the last segment by its checks.
fn check_end(log: &Directory, head: &Head) -> Result<()> {
    check_lengths(log, &head.segments)?;
    let Some((last, before)) = head.segments.0.split_last() else { return Ok(()) };
    let name = Segment::file_name(before.len());
    let path = log.path_of(&name);
    let failed = |source| Error::cannot("read", &path, source);
    let damaged = |line: u64, what: &str| Error::published_damaged(&path, Some(line), what);
    let file = log.read(&name)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    let mut file = BufReader::new(file.take(last.bytes));
    let mut check = before.last().map(|segment| segment.check);
    let (mut line, mut number) = (Vec::new(), 0);
    while file.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line).map_err(failed)? > 0 {
        number += 1;
        check = Some(verified(check, &line).map_err(|what| damaged(number, what))?);
        line.clear();
    }
    match check == Some(head.check) {
        true => Ok(()),
        false => Err(damaged(number, "the line is not the last one of the head")),
    }
}

/// Verifies all segments of a dataset and their compressed files.
pub(super) fn check_all(directory: &Directory, head: &Head) -> Result<()> {
    let log = entered(directory)?;
    check_lengths(&log, &head.segments)?;
    each_published(directory, head, |_| Ok(()))?;
    check_compressed(&log, &head.segments)
}

/// Rejects a registry that does not continue what was published. The error names the first published change
/// that the registry does not have.
pub(super) fn check_continued(
    snapshot: &Snapshot,
    name: &DatasetName,
    head: &Head,
    directory: &Directory,
) -> Result<()> {
    if is_continued(snapshot, name, head)? {
        return Ok(());
    }
    let differs = |change, timestamp| {
        Err(Error::published_otherwise(name, directory.path(), change, timestamp))
    };
    each_published(directory, head, |change| {
        let found = instance_at(snapshot, name, change.timestamp)?;
        let is_same = found.is_some_and(|found| {
            (found.timestamp, found.identifier) == (change.timestamp, change.identifier)
        });
        match is_same && snapshot.count_history(name, Some(change.timestamp))? == change.number {
            true => Ok(()),
            false => differs(change.number, change.timestamp),
        }
    })?;
    differs(head.changes, head.timestamp.unwrap_or(Timestamp::MIN))
}

/// Checks that the compressed file of each complete segment has the same content.
fn check_compressed(log: &Directory, segments: &Segments) -> Result<()> {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    for (index, _) in segments.0.iter().enumerate().filter(|(_, segment)| segment.is_sealed()) {
        let path = log.path_of(&zipped_name(index));
        let damaged = |what| Error::published_damaged(&path, None, what);
        let plain = log.read(&Segment::file_name(index))?;
        let (Some(plain), Some(zipped)) = (plain, log.read(&zipped_name(index))?) else {
            return Err(damaged("it is missing"));
        };
        let mut unzipped = MultiGzDecoder::new(BufReader::new(zipped));
        match is_same(&mut BufReader::new(plain), &mut unzipped) {
            Ok(true) => {}
            Ok(false) => return Err(damaged("its content is not that of its segment")),
            Err(error) if matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof) => {
                return Err(damaged("it cannot be decompressed"));
            }
            Err(source) => return Err(Error::cannot("read", &path, source)),
        }
    }
    Ok(())
}

/// Whether the history of a dataset begins with what was published.
///
/// An identifier depends on all granules held. So only the last published change is compared: its time,
/// identifier, digest and number of granules, and the number of changes up to it.
fn is_continued(snapshot: &Snapshot, name: &DatasetName, head: &Head) -> Result<bool> {
    let Some(LatestSet { timestamp, identifier, digest }) = head.latest() else { return Ok(true) };
    let in_force = instance_at(snapshot, name, timestamp)?;
    let is_same = in_force.is_some_and(|in_force| {
        (in_force.timestamp, in_force.identifier, in_force.digest, in_force.granules)
            == (timestamp, identifier, digest, head.granules)
    });
    Ok(is_same && snapshot.count_history(name, Some(timestamp))? == head.changes)
}

/// The greatest number of instances with an identifier to compare: any number of datasets can be empty.
const OTHERS: u32 = 10_000;

/// Whether the published history under a name is of another dataset, which had this name before and was
/// renamed.
pub(super) fn is_of_another(snapshot: &Snapshot, name: &DatasetName, head: &Head) -> Result<bool> {
    let Some(LatestSet { timestamp, identifier, .. }) = head.latest() else { return Ok(false) };
    if is_continued(snapshot, name, head)? {
        return Ok(false);
    }
    let found = snapshot.intervals_after(identifier, None, OTHERS)?;
    let found = found.iter().flat_map(|period| &period.instances);
    for other in found.filter(|it| it.timestamp == timestamp && it.dataset != *name) {
        let other = &other.dataset;
        let had_name = |version: &MetadataVersion| version.dataset["name"] == name.as_str();
        if snapshot.record_versions(other)?.iter().any(had_name)
            && is_continued(snapshot, other, head)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The instance in force at a time. `None` means that the dataset had none yet.
fn instance_at(snapshot: &Snapshot, name: &DatasetName, at: Timestamp) -> Result<Option<Instance>> {
    let selection = Selection::Dataset { name: name.clone(), at: Some(Moment::Instant(at)) };
    match snapshot.select(&selection) {
        Ok(selected) => Ok(Some(selected.instance().clone())),
        Err(error) if error.kind() == ErrorKind::NoHistory => Ok(None),
        Err(error) => Err(error),
    }
}

/// Calls `show` for each published change.
fn each_published(
    directory: &Directory,
    head: &Head,
    mut show: impl FnMut(LogChange) -> Result<()>,
) -> Result<()> {
    let place = PublishedDirectory::of(Directory::open(directory.path())?);
    let of = FoundHead { head: head.clone(), moved_to: None };
    let mut take = |_, change: Option<LogChange>, _| change.map_or(Ok(()), &mut show);
    read_log(&place, &of, None, Timestamp::MAX, &mut take).map_err(damaged)
}

/// Converts an error in a line of a published log. Other errors, such as a file that cannot be read, stay the
/// same.
fn damaged(error: Error) -> Error {
    match error.location() {
        Some(SourceLocation::Line { source, line }) => {
            let what = error.message();
            // Only one line of the manifest is wrong.
            let what = what.strip_prefix("not a manifest: ").unwrap_or(what);
            Error::published_damaged(Path::new(&**source), Some(*line), what)
        }
        _ => error,
    }
}
