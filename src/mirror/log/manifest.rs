//! The manifest: the whole history of one dataset in one file.
//!
//! A manifest is a [log](super), all its segments one after the other, then the lines of the
//! cited subsets and of the annotations, then the head as the last line. A truncated file is
//! therefore detected. The specification is docs/reference/manifest.md.

use std::error::Error as _;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::{
    AnnotationWriter, Head, HeadFile, LinesDigest, LogWriter, MAX_HEAD_BYTES, SubsetWriter,
};
use crate::disk::{AtomicFile, reserved};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Criteria, DatasetName, GranuleId, Moment, Timestamp, quoted};
use crate::registry::{Listed, Registry, Selection, Snapshot};

pub use super::BEGINNING;

/// Writes the manifest of a dataset. `out` should not be slow, since the registry's write-ahead log
/// grows meanwhile.
///
/// # Errors
///
/// [`ErrorKind::DatasetUnknown`]; [`ErrorKind::Damaged`]: the granule rows contradict
/// the history; [`ErrorKind::Output`]: what `out` returned.
pub fn write(registry: &Registry, dataset: &DatasetName, out: &mut impl Write) -> Result<()> {
    let snapshot = registry.snapshot()?;
    let listed = snapshot.dataset(dataset)?;
    write_listed(&snapshot, listed, None, out)
}

/// Writes the manifest of a dataset as if its history had ended after `until`: with the changes up to
/// and at that time, and the subsets that were cited of them, but no annotations. The record is the present one, without
/// withdrawal and former names, since it is to become that of another dataset.
///
/// # Errors
///
/// Those of [`write()`]; [`ErrorKind::NoHistory`]; [`ErrorKind::BeforeHistory`]: the dataset had no
/// history then.
pub fn write_until(
    registry: &Registry,
    dataset: &DatasetName,
    until: Timestamp,
    out: &mut impl Write,
) -> Result<()> {
    let snapshot = registry.snapshot()?;
    let at = Some(Moment::Instant(until));
    let selected = snapshot.select(&Selection::Dataset { name: dataset.clone(), at })?;
    let mut listed = snapshot.dataset(dataset)?;
    listed.latest = Some(selected.set.instance().clone());
    listed.withdrawn = None;
    listed.former_names.clear();
    write_listed(&snapshot, listed, Some(until), out)
}

fn write_listed(
    snapshot: &Snapshot,
    listed: Listed,
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
    let mut subsets = SubsetWriter::default();
    write_subsets(snapshot, dataset, last, &mut subsets, out, failed)?;
    let annotations = match until {
        None => write_annotations(snapshot, dataset, out, failed)?,
        Some(_) => LinesDigest::default(),
    };
    let head = Head::of(&listed, &log, [subsets.finish(), annotations]);
    let line = head.to_line().map_err(|error| failed(error.into()))?;
    out.write_all(line.as_bytes()).map_err(failed)
}

/// Writes the lines of the cited subsets of the instances of a dataset up to a time. `failed` is the
/// error of what `out` returns.
pub(crate) fn write_subsets(
    snapshot: &Snapshot,
    dataset: &DatasetName,
    until: Timestamp,
    subsets: &mut SubsetWriter,
    out: &mut impl Write,
    failed: impl Fn(io::Error) -> Error,
) -> Result<()> {
    for subset in snapshot.subsets(dataset)?.into_iter().filter(|it| it.timestamp <= until) {
        let named: Box<dyn Iterator<Item = Result<GranuleId>> + '_> = match subset.criteria {
            Criteria::Patterns(_) => Box::new(std::iter::empty()),
            Criteria::Named => Box::new(snapshot.granules_of_subset(&subset)?),
        };
        subsets.add(&subset, named, |line| out.write_all(line.as_bytes()).map_err(&failed))?;
    }
    Ok(())
}

/// Writes the lines of the annotations of a dataset. `failed` is the error of what `out` returns.
pub(crate) fn write_annotations(
    snapshot: &Snapshot,
    dataset: &DatasetName,
    out: &mut impl Write,
    failed: impl Fn(io::Error) -> Error,
) -> Result<LinesDigest> {
    let mut annotations = AnnotationWriter::default();
    snapshot.each_annotation(dataset, |timestamp, annotation| {
        let line = annotations.line(timestamp, annotation);
        out.write_all(line.as_bytes()).map_err(&failed)
    })?;
    Ok(annotations.finish())
}

/// The name of the dataset in the last line of a manifest. `None`: the file does not end with a head.
///
/// # Errors
///
/// The file cannot be read.
pub fn dataset_of(file: &mut (impl io::Read + io::Seek)) -> io::Result<Option<DatasetName>> {
    let length = file.seek(io::SeekFrom::End(0))?;
    let begin = length.saturating_sub(MAX_HEAD_BYTES);
    file.seek(io::SeekFrom::Start(begin))?;
    let mut end = Vec::new();
    file.take(MAX_HEAD_BYTES).read_to_end(&mut end)?;
    let body = end.strip_suffix(b"\n").unwrap_or(&end);
    let from = body.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let line = std::str::from_utf8(&end[from..]).unwrap_or_default();
    Ok(match HeadFile::parse(line) {
        Ok(HeadFile::Head(head)) => Some(head.record.name),
        _ => None,
    })
}

impl Error {
    /// A manifest cannot be written.
    fn unwritten(source: io::Error) -> Self {
        Error::new(ErrorKind::Output, "cannot write the manifest").because(source)
    }
}

/// Writes the manifest of a dataset: of its whole history, or as if that had ended after `until`.
///
/// # Errors
///
/// Those of [`write()`] and [`write_until`].
pub fn write_up_to(
    registry: &Registry,
    dataset: &DatasetName,
    until: Option<Moment>,
    out: &mut impl Write,
) -> Result<()> {
    match until {
        Some(until) => write_until(registry, dataset, until.last_instant(), out),
        None => write(registry, dataset, out),
    }
}

/// Writes the manifest to the file at `path`, which appears when it is complete, or to a pipe.
///
/// # Errors
///
/// Those of [`write_up_to`]; [`ErrorKind::NotReplaced`]: the file is not a manifest of this dataset, or a
/// link to a file that does not exist.
pub fn export(
    registry: &Registry,
    dataset: &DatasetName,
    until: Option<Moment>,
    path: &Path,
) -> Result<()> {
    // A broken pipe is an error here, while a reader of stdout may end when it has read enough.
    let cannot = |source: io::Error| Error::cannot("write", path, source);
    let write_to = |file: &File| -> Result<()> {
        let mut out = BufWriter::new(file);
        match write_up_to(registry, dataset, until, &mut out) {
            Err(error) if error.kind() == ErrorKind::Output => {
                let cause = error.source().map_or_else(String::new, ToString::to_string);
                return Err(cannot(io::Error::other(cause)));
            }
            result => result?,
        }
        out.flush().map_err(cannot)
    };
    match target(path)? {
        Target::Stream(file) => write_to(&file),
        Target::File(path) => {
            refuse_other_manifest(registry, dataset, &path)?;
            let in_writing = |error: Error| {
                let cause = error.with_causes();
                let message = format!("cannot write {}: {cause}", quoted(&path.to_string_lossy()));
                Error::new(error.kind(), message)
            };
            let temporary = AtomicFile::beside(&path).map_err(in_writing)?;
            write_to(temporary.as_file())?;
            temporary.replace().map_err(in_writing)
        }
    }
}

/// Refuses to replace the manifest of another dataset.
fn refuse_other_manifest(registry: &Registry, dataset: &DatasetName, path: &Path) -> Result<()> {
    let Some(other) = dataset_of_manifest(path) else { return Ok(()) };
    let listed = registry.snapshot()?.dataset(dataset)?;
    if other == listed.dataset.name || listed.former_names.contains(&other) {
        return Ok(());
    }
    let shown = quoted(&path.to_string_lossy()).to_string();
    let message = format!("{shown} is the manifest of {other}: it was not overwritten");
    Err(Error::new(ErrorKind::NotReplaced, message))
}

/// The dataset of the manifest in a file. `None` means that the file does not exist, or is not a
/// readable manifest.
fn dataset_of_manifest(path: &Path) -> Option<DatasetName> {
    dataset_of(&mut File::open(path).ok()?).ok()?
}

/// What exists at the path of the output.
enum Target {
    /// Nothing yet, or a manifest that is replaced.
    File(PathBuf),
    /// A pipe or a device.
    Stream(File),
}

/// Decides how the output is written. Only a manifest may be overwritten: a typing error must not
/// destroy the registry, which is often in the same directory.
fn target(path: &Path) -> Result<Target> {
    reserved::check(path)?;
    let name = path.to_string_lossy();
    let shown = quoted(&name);
    let cannot = |source: io::Error| Error::cannot("write", path, source);
    // `metadata` follows links. A pipe is opened by the path as it was given.
    match path.metadata() {
        Ok(kind) if kind.is_file() || kind.is_dir() => {}
        Ok(_) => {
            let file = File::options().write(true).open(path).map_err(cannot)?;
            return Ok(Target::Stream(file));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            let message = format!("{shown} is a link to a file that does not exist");
            return Err(Error::new(ErrorKind::NotReplaced, message));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Target::File(path.into()));
        }
        Err(error) => return Err(cannot(error)),
    }
    let path = &path.canonicalize().map_err(cannot)?;
    let mut beginning = Vec::new();
    let manifest_beginning = BEGINNING.as_bytes();
    let file = File::open(path).map_err(cannot)?;
    let beginning_bytes = manifest_beginning.len() as u64;
    file.take(beginning_bytes).read_to_end(&mut beginning).map_err(cannot)?;
    if !beginning.is_empty() && beginning != manifest_beginning {
        let message = format!("{shown} exists and is not a manifest: it was not overwritten");
        return Err(Error::new(ErrorKind::NotReplaced, message));
    }
    Ok(Target::File(path.clone()))
}
