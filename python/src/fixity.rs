//! What is known of files: recorded, computed, checked, listed.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

use accession::file::{Algorithm, Coverage};
use accession::fixity::{
    self, CheckOptions, CheckSummary, Depth, FileFinding, FileTree, FixityRun, ListStyle,
    each_checksum,
};
use accession::{Change, ChangeOptions, DatasetName, EventKind, Set, Snapshot};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::ids;
use crate::keywords::{Keywords, parsed};
use crate::opened::Opened;
use crate::record::{self, object, warn_all};
use crate::target::Target;
use crate::time::ChangeTime;
use crate::work::run;

/// A directory with files, and how it is read.
fn tree(root: PathBuf, options: &Keywords<'_, '_>) -> Result<FileTree, Failure> {
    let duration = options.duration("for_")?;
    let begin_until = duration.and_then(|duration| Instant::now().checked_add(duration));
    let (is_mounted, jobs): (bool, Option<NonZeroUsize>) =
        (options.is_set("mounted")?, options.value("jobs")?);
    Ok(FileTree::new(root).mounted(is_mounted).jobs(jobs).begin_until(begin_until))
}

/// States what is known of files.
///
/// # Errors
///
/// A granule is not held; what is stated contradicts what is known.
pub fn add<'py>(
    opened: &Opened,
    dataset: &DatasetName,
    files: &Bound<'py, PyAny>,
    format: Option<&str>,
    options: ChangeOptions,
    at: ChangeTime,
) -> Result<Bound<'py, PyAny>, Failure> {
    let py = files.py();
    let dry_run = options.is_dry_run();
    let mut change = Change::stating(Coverage::Named);
    change.options = options;
    let (kind, own) = (EventKind::Described, &opened.location);
    let taken = ids::take_files(files, format, &mut Target::Change(&mut change, kind, own))?;
    let (applied, warnings) = run(py, move |token| {
        let warnings = taken.read(&mut Target::Change(&mut change, kind, own), &token)?;
        if change.count() == 0 {
            let message = "the list states no size and no checksum of a file";
            return Err(Failure::usage(message, "give FileRecords, or a file of sha256sum"));
        }
        Ok((opened.writer(at, token)?.change(dataset, &change)?, warnings))
    })?;
    record::applied(py, (&applied, &warnings), dataset, dry_run)
}

/// Computes and records the checksums of files that have none of an algorithm.
///
/// # Errors
///
/// The directory is not the right one; the registry cannot be written.
pub fn compute<'py>(
    py: Python<'py>,
    opened: &Opened,
    dataset: &DatasetName,
    root: PathBuf,
    options: &Keywords<'_, 'py>,
) -> Result<Bound<'py, PyAny>, Failure> {
    let (tree, note) = (tree(root, options)?, options.value("note")?);
    let algorithm: Option<String> = options.value("algorithm")?;
    let algorithm = parsed("algorithm", algorithm.as_deref().unwrap_or("sha-256"))?;
    if matches!(algorithm, Algorithm::Other(_)) {
        let known = Algorithm::KNOWN.each_ref().map(Algorithm::as_str).join(", ");
        return Err(Failure::usage(format!("{algorithm} is not computed here: {known} are"), ""));
    }
    let result = run(py, |token| {
        let registry = opened.writer(ChangeTime::default(), token)?;
        found(fixity::compute(&registry, dataset, tree, algorithm, note)?)
    })?;
    checked(py, result)
}

/// Checks files below a directory, and records what was found.
///
/// # Errors
///
/// The directory is not the right one; it cannot be read.
pub fn check<'py>(
    py: Python<'py>,
    opened: &Opened,
    set: &Set,
    root: PathBuf,
    options: &Keywords<'_, 'py>,
) -> Result<Bound<'py, PyAny>, Failure> {
    let tree = tree(root, options)?;
    let depth = if options.is_set("size_only")? { Depth::Size } else { Depth::Content };
    let (lists_unexpected, root_name) =
        (options.is_set("unexpected")?, options.value("root_name")?);
    if lists_unexpected && tree.deadline().is_some() {
        let message = "unexpected files are those that no file of the whole set is";
        return Err(Failure::usage(message, "leave out for_, or unexpected"));
    }
    let of =
        CheckOptions::new().depth(depth).list_unexpected(lists_unexpected).root_name(root_name);
    let (result, not_recorded) = run(py, |token| {
        let registry = opened.reader(token)?;
        let select = |_: &Snapshot| Ok(set.clone());
        let check = fixity::check(&registry, select, (tree, of))?;
        let not_recorded = check.not_recorded();
        Ok((found(check)?, not_recorded))
    })?;
    warn_all(py, not_recorded.as_slice())?;
    checked(py, result)
}

/// Reads files: what is found is kept whether it fails or not.
fn found(mut run: FixityRun) -> Result<(Vec<FileFinding>, CheckSummary), Failure> {
    let findings = run.by_ref().collect::<Result<Vec<_>, _>>();
    let summary = run.finish()?;
    Ok((findings?, summary))
}

fn checked<'py>(
    py: Python<'py>,
    (findings, summary): (Vec<FileFinding>, CheckSummary),
) -> Result<Bound<'py, PyAny>, Failure> {
    let value = serde_json::json!({
        "files": summary.files,
        "bytes": summary.bytes,
        "complete": summary.complete,
        "findings": findings,
    });
    object(py, "FixityCheck", &value)
}

/// The list of the checksums of a set, as text.
///
/// # Errors
///
/// No file has one.
pub fn list(
    py: Python<'_>,
    opened: &Opened,
    set: &Set,
    algorithm: Option<&str>,
    style: ListStyle,
) -> Result<String, Failure> {
    let algorithm = algorithm.map(|name| parsed("algorithm", name)).transpose()?;
    let (text, listed) = run(py, |token| {
        let (registry, mut text) = (opened.reader(token)?, Vec::new());
        let listed = each_checksum::<Failure>(&registry, set, algorithm, |id, file, checksum| {
            Ok(style.write_line(&mut text, checksum, file.path(id))?)
        })?;
        Ok((String::from_utf8_lossy(&text).into_owned(), listed))
    })?;
    warn_all(py, listed.warning().as_slice())?;
    Ok(text)
}
