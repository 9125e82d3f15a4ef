//! The manifest: the whole history of one dataset in one file.
//!
//! A manifest is a log, with all its segments in order, then the lines of the cited subsets and of the
//! annotations, then the head as the last line. A truncated file is therefore detected. The specification is
//! docs/reference/manifest.md.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{
    Head, HeadFile, Lines, LinesDigest, LogWriter, MAX_HEAD_BYTES, write_annotations, write_subsets,
};
use crate::disk::{AtomicFile, reserved};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, Moment, Timestamp, quoted};
use crate::registry::{DatasetRecord, Registry, Selection, Snapshot};

use super::BEGINNING;

/// Writes the manifest of a dataset. `out` should be fast, because the registry's write-ahead log grows
/// meanwhile.
///
/// With `until`, the manifest is written as if the history had ended then: with the changes up to and at that
/// time and their cited subsets, but without annotations. The metadata is the present one, without withdrawal
/// and former names, because it will become that of another dataset.
///
/// # Errors
///
/// [`ErrorKind::DatasetUnknown`]; [`ErrorKind::Damaged`]: the granule rows contradict the history;
/// [`ErrorKind::Io`]: an error of `out`; [`ErrorKind::NoHistory`]: the dataset had no history at that time.
pub fn write(
    registry: &Registry,
    dataset: &DatasetName,
    until: Option<Moment>,
    out: &mut impl Write,
) -> Result<()> {
    let snapshot = registry.snapshot()?;
    let until = until.map(|until| Moment::Instant(until.last_instant()));
    let mut listed = snapshot.dataset(dataset)?;
    if until.is_some() {
        let name = dataset.clone();
        let selected = snapshot.select(&Selection::Dataset { name, at: until })?;
        listed.latest = Some(selected.set.instance().clone());
        listed.withdrawn = None;
        listed.former_names.clear();
    }
    write_listed(&snapshot, listed, until.map(Moment::last_instant), out)
}

fn write_listed(
    snapshot: &Snapshot,
    listed: DatasetRecord,
    until: Option<Timestamp>,
    out: &mut impl Write,
) -> Result<()> {
    let failed = Error::unwritten;
    let dataset = &listed.dataset.name;
    let last = until.unwrap_or(Timestamp::MAX);
    let (mut log, first) = LogWriter::begin();
    out.write_all(first.as_bytes()).map_err(failed)?;
    for exported in snapshot.export(dataset, None)? {
        let exported = exported?;
        if exported.timestamp() > last {
            break;
        }
        if let Some(line) = log.add(exported).map_err(|error| failed(error.into()))? {
            out.write_all(line.as_bytes()).map_err(failed)?;
        }
    }
    let subsets = write_subsets(snapshot, dataset, last, (Lines::default(), out), failed)?;
    let annotations = match until {
        None => write_annotations(snapshot, dataset, out, failed)?,
        Some(_) => LinesDigest::default(),
    };
    let head = Head::of(&listed, &log, [subsets, annotations]);
    let line = head.to_line().map_err(|error| failed(error.into()))?;
    out.write_all(line.as_bytes()).map_err(failed)
}

impl Error {
    /// The error for a manifest that cannot be written.
    fn unwritten(source: io::Error) -> Self {
        Error::new(ErrorKind::Io, "cannot write the manifest").because(source)
    }
}

/// Writes the manifest ([`write()`]) to the file at `path`, which appears only when it is complete.
///
/// # Errors
///
/// Those of [`write()`]; [`ErrorKind::AlreadyExists`]: the file is not a manifest of this dataset, or a
/// link to a file that does not exist.
pub fn export(
    registry: &Registry,
    dataset: &DatasetName,
    until: Option<Moment>,
    path: &Path,
) -> Result<()> {
    let path = &target(path)?;
    refuse_other_manifest(registry, dataset, path)?;
    let in_writing = |error: Error| {
        let cause = error.with_causes();
        let message = format!("cannot write {}: {cause}", quoted(&path.to_string_lossy()));
        Error::new(error.kind(), message)
    };
    let temporary = AtomicFile::beside(path).map_err(in_writing)?;
    let mut out = BufWriter::new(temporary.as_file());
    write(registry, dataset, until, &mut out)?;
    out.flush().map_err(|source| Error::cannot("write", path, source))?;
    drop(out);
    temporary.replace().map_err(in_writing)
}

/// Rejects a target that is the manifest of another dataset.
fn refuse_other_manifest(registry: &Registry, dataset: &DatasetName, path: &Path) -> Result<()> {
    let Some(other) = dataset_of_manifest(path) else { return Ok(()) };
    let listed = registry.snapshot()?.dataset(dataset)?;
    if other == listed.dataset.name || listed.former_names.contains(&other) {
        return Ok(());
    }
    let shown = quoted(&path.to_string_lossy()).to_string();
    let message = format!("{shown} is the manifest of {other}: it was not overwritten");
    Err(Error::new(ErrorKind::AlreadyExists, message))
}

/// The dataset that the last line of a manifest file names. `None` means that the file does not exist, or is
/// not a readable manifest.
fn dataset_of_manifest(path: &Path) -> Option<DatasetName> {
    let mut file = File::open(path).ok()?;
    let length = file.seek(SeekFrom::End(0)).ok()?;
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_HEAD_BYTES))).ok()?;
    let mut end = Vec::new();
    file.take(MAX_HEAD_BYTES).read_to_end(&mut end).ok()?;
    let body = end.strip_suffix(b"\n")?;
    let from = body.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    match HeadFile::parse(std::str::from_utf8(&end[from..]).ok()?) {
        Ok(HeadFile::Head(head)) => Some(head.record.name),
        _ => None,
    }
}

/// The file to write. Only a manifest may be overwritten, because a typing error must not destroy the registry,
/// which is often in the same directory.
fn target(path: &Path) -> Result<PathBuf> {
    reserved::check(path)?;
    let name = path.to_string_lossy();
    let shown = quoted(&name);
    let cannot = |source: io::Error| Error::cannot("write", path, source);
    // `metadata` follows symbolic links.
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            let message = format!("{shown} is a link to a file that does not exist");
            return Err(Error::new(ErrorKind::AlreadyExists, message));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path.into()),
        // A rename would replace the device `/dev/null` by a file, for all users of the machine.
        Ok(found) if !found.is_file() && !found.is_dir() => {
            let message = format!("{shown} is not a regular file: it was not overwritten");
            return Err(Error::new(ErrorKind::AlreadyExists, message));
        }
        found => {
            found.map_err(cannot)?;
        }
    }
    let path = path.canonicalize().map_err(cannot)?;
    let mut beginning = Vec::new();
    let manifest_beginning = BEGINNING.as_bytes();
    let file = File::open(&path).map_err(cannot)?;
    let beginning_bytes = manifest_beginning.len() as u64;
    file.take(beginning_bytes).read_to_end(&mut beginning).map_err(cannot)?;
    if !beginning.is_empty() && beginning != manifest_beginning {
        let message = format!("{shown} exists and is not a manifest: it was not overwritten");
        return Err(Error::new(ErrorKind::AlreadyExists, message));
    }
    Ok(path)
}
