//! The published log of a dataset: the files of its segments, its end, and whether the registry still has
//! its history.

use std::fs::File;
use std::io;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};

use super::files::is_same;
use crate::disk::Directory;
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::log::{Head, MAX_LINE_BYTES, Segment, Segments, verified};
use crate::mirror::{FoundHead, LOG, PublishedDirectory, read_log};
use crate::model::{DatasetName, Instance, LogChange, Moment, SourceLocation, Timestamp};
use crate::registry::{RecordVersion, Selection, Snapshot};

/// The name of the compressed form of a segment.
fn zipped_name(index: usize) -> String {
    format!("{}.gz", Segment::file_name(index))
}

/// Checks that the segments have at least the lengths that their head announces, and complete ones
/// exactly these.
pub(super) fn check_lengths(log: &Directory, announced: &Segments) -> Result<()> {
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

/// Appends what is new, and makes it durable. What follows the announced length was written by a run that was
/// killed, and is removed. Returns how many bytes were appended.
pub(super) fn append(
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
                // Those that exist were left by a run that was killed: no head announces them.
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

/// Writes the compressed form of each complete segment beside it, unless it is there.
pub(super) fn compress(log: &Directory, segments: &Segments) -> Result<()> {
    for (index, _) in segments.0.iter().enumerate().filter(|(_, segment)| segment.is_sealed()) {
        let (name, zipped) = (Segment::file_name(index), zipped_name(index));
        if log.read(&zipped)?.is_some() {
            continue;
        }
        let Some(mut plain) = log.read(&name)? else { continue };
        log.replace(&zipped, |file| {
            // Without a time and a name, the same segment gives the same bytes.
            let mut zip = GzBuilder::new().write(&mut *file, Compression::best());
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

/// The directory of the segments.
pub(super) fn entered(directory: &Directory) -> Result<Directory> {
    let missing = || Error::published_damaged(&directory.path_of(LOG), None, "it is missing");
    directory.enter(LOG)?.ok_or_else(missing)
}

/// Proves that the last segment is as it was written, by its checks.
pub(super) fn check_end(log: &Directory, head: &Head) -> Result<()> {
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

/// Proves that all segments of a dataset and their compressed forms are as they were written.
pub(super) fn check_all(directory: &Directory, head: &Head) -> Result<()> {
    let log = entered(directory)?;
    check_lengths(&log, &head.segments)?;
    each_published(directory, head, |_| Ok(()))?;
    check_compressed(&log, &head.segments)
}

/// Refuses a registry that does not continue what was published, and names the first change that it does not
/// have.
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

/// Checks that the compressed form of each complete segment has the same content.
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
/// An identifier depends on all granules held, so a history that has the same number of changes up
/// to the last one that was published, which has the same time, identifier and number of granules,
/// is assumed to be the same.
fn is_continued(snapshot: &Snapshot, name: &DatasetName, head: &Head) -> Result<bool> {
    let Some((timestamp, identifier, digest)) = head.latest() else { return Ok(true) };
    let in_force = instance_at(snapshot, name, timestamp)?;
    let is_same = in_force.is_some_and(|in_force| {
        (in_force.timestamp, in_force.identifier, in_force.digest, in_force.granules)
            == (timestamp, identifier, digest, head.granules)
    });
    Ok(is_same && snapshot.count_history(name, Some(timestamp))? == head.changes)
}

/// How many instances with an identifier are looked at: any number of datasets can be empty.
const OTHERS: u32 = 10_000;

/// Whether what was published under a name is the history of a dataset that had the name before, and
/// has another one now.
pub(super) fn is_of_another(snapshot: &Snapshot, name: &DatasetName, head: &Head) -> Result<bool> {
    let Some((timestamp, identifier, _)) = head.latest() else { return Ok(false) };
    if is_continued(snapshot, name, head)? {
        return Ok(false);
    }
    let found = snapshot.intervals_after(identifier, None, OTHERS)?;
    let found = found.iter().flat_map(|period| &period.instances);
    for other in found.filter(|it| it.timestamp == timestamp && it.dataset != *name) {
        let other = &other.dataset;
        let had_name = |version: &RecordVersion| version.dataset["name"] == name.as_str();
        if snapshot.record_versions(other)?.iter().any(had_name)
            && is_continued(snapshot, other, head)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The instance in force at a time. `None` means that there was none yet.
fn instance_at(snapshot: &Snapshot, name: &DatasetName, at: Timestamp) -> Result<Option<Instance>> {
    let selection = Selection::Dataset { name: name.clone(), at: Some(Moment::Instant(at)) };
    match snapshot.select(&selection) {
        Ok(selected) => Ok(Some(selected.instance().clone())),
        Err(error) if matches!(error.kind(), ErrorKind::NoHistory | ErrorKind::BeforeHistory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Calls `show` for each change that was published.
fn each_published(
    directory: &Directory,
    head: &Head,
    mut show: impl FnMut(LogChange) -> Result<()>,
) -> Result<()> {
    let place = PublishedDirectory::of(Directory::open(directory.path())?);
    let of = FoundHead { head: head.clone(), etag: None, moved_to: None };
    let mut take = |_, change: Option<LogChange>, _| change.map_or(Ok(()), &mut show);
    read_log(&place, &of, None, Timestamp::MAX, &mut take).map_err(damaged)
}

/// What is wrong with a published log, as it was read, if it is not that it cannot be read.
fn damaged(error: Error) -> Error {
    match error.location() {
        Some(SourceLocation::Line { source, line }) => {
            let what = error.message();
            // It is one line of a manifest that is wrong.
            let what = what.strip_prefix("not a manifest: ").unwrap_or(what);
            Error::published_damaged(Path::new(&**source), Some(*line), what)
        }
        _ => error,
    }
}
