//! What is known of files: recorded, computed, checked, listed.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use accession::fixity::{
    CheckSummary, Depth, DirectoryFiles, FileFinding, FilesOfSet, FoundFiles, ListStyle, Mounted,
    ReadOptions, Root, SetCheck, SetCompute, algorithm_of, each_checksum, no_checksums,
    root_name as of_directory,
};
use accession::model::{Algorithm, Extent};
use accession::registry::NewCheck;
use accession::{Change, ChangeOptions, DatasetName, EventKind, Monitor, Set};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::ids;
use crate::keywords::Keywords;
use crate::opened::Opened;
use crate::record::{self, object, warn};
use crate::target::Target;
use crate::time::ChangeTime;
use crate::work::{self, run};

/// A directory with files, and how it is read.
struct Tree {
    root: PathBuf,
    jobs: Option<NonZeroUsize>,
    mounted: Mounted,
}

impl Tree {
    fn of(root: PathBuf, options: &Keywords<'_, '_>) -> Result<Self, Failure> {
        let is_mounted = options.is_set("mounted")?;
        let mounted = if is_mounted { Mounted::Yes } else { Mounted::Unknown };
        Ok(Tree { root, jobs: options.value("jobs")?, mounted })
    }

    fn open(&self) -> Result<Arc<Root>, Failure> {
        Ok(Arc::new(Root::open(&self.root, self.mounted)?))
    }

    fn reading(&self, monitor: Arc<dyn Monitor>) -> ReadOptions {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        ReadOptions { monitor: Some(monitor), ..ReadOptions::new(self.jobs.unwrap_or(cores)) }
    }
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
    let dry_run = options.dry_run;
    let mut change = Change::stating(Extent::Named);
    change.options = options;
    let kind = EventKind::Described;
    let taken = ids::take_files(files, format, &mut Target::Change(&mut change, kind))?;
    let applied = run(py, move |monitor| {
        taken.read(&mut Target::Change(&mut change, kind), &monitor)?;
        if change.count() == 0 {
            let message = "the list states no size and no checksum of a file";
            return Err(Failure::usage(message, "give FileRecords, or a file of sha256sum"));
        }
        Ok(opened.writer(monitor)?.change(dataset, &change, &opened.stamp(at))?)
    })?;
    record::applied(py, &applied, dataset, dry_run)
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
    let (tree, note) = (Tree::of(root, options)?, options.value("note")?);
    let algorithm: Option<String> = options.value("algorithm")?;
    let algorithm = algorithm_named(algorithm.as_deref().unwrap_or("sha-256"))?;
    if matches!(algorithm, Algorithm::Other(_)) {
        let known = Algorithm::KNOWN.each_ref().map(Algorithm::as_str).join(", ");
        return Err(Failure::usage(format!("{algorithm} is not computed here: {known} are"), ""));
    }
    let result = run(py, |monitor| {
        let root = tree.open()?;
        let registry = opened.writer(Arc::clone(&monitor))?;
        let (reading, stamp) = (tree.reading(monitor), opened.stamp(ChangeTime::default()));
        let of = (&registry, dataset);
        let mut files = SetCompute::start(of, &root, &algorithm, note, reading, &stamp)?;
        let findings = files.by_ref().collect::<Result<Vec<_>, _>>();
        let summary = files.finish()?;
        Ok((findings?, summary))
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
    let (tree, duration) = (Tree::of(root, options)?, options.duration("for_")?);
    let root_name: Option<String> = options.value("root_name")?;
    let (lists_unexpected, size_only) =
        (options.is_set("unexpected")?, options.is_set("size_only")?);
    if lists_unexpected && duration.is_some() {
        let message = "unexpected files are those that no file of the whole set is";
        return Err(Failure::usage(message, "leave out for_, or unexpected"));
    }
    let (result, not_recorded) = run(py, |monitor| {
        let began = Instant::now();
        let root = tree.open()?;
        let directory = lists_unexpected.then(|| DirectoryFiles::list(&root)).transpose()?;
        let (registry, not_writable) = match opened.writer(Arc::clone(&monitor)) {
            Err(Failure::Library(error)) if error.kind().is_of_recording() => {
                (opened.reader(Arc::clone(&monitor))?, Some(error))
            }
            registry => (registry?, None),
        };
        FilesOfSet::new(&registry, set.clone()).require_any(&root)?;
        let new = NewCheck {
            root: root_name.unwrap_or_else(|| of_directory(root.path())),
            is_rolling: duration.is_some(),
            is_recorded: not_writable.is_none(),
        };
        let begin_until = duration.and_then(|duration| began.checked_add(duration));
        let reading = ReadOptions { begin_until, ..tree.reading(monitor) };
        let stamp = opened.stamp(ChangeTime::default());
        let depth = if size_only { Depth::Size } else { Depth::Content };
        let (of, new) = ((&registry, set), (new, depth));
        let mut check = SetCheck::start(of, &root, new, directory, reading, &stamp)?;
        let not_recorded = not_writable.or(check.why_not_recorded());
        let findings = check.by_ref().collect::<Result<Vec<_>, _>>();
        let summary = check.finish()?;
        Ok(((findings?, summary), not_recorded))
    })?;
    if let Some(why) = not_recorded {
        warn(py, &format!("{why}: the check is not recorded"))?;
    }
    checked(py, result)
}

/// Compares the recorded checksums with those of a list.
///
/// # Errors
///
/// The list cannot be read.
pub fn compare<'py>(
    opened: &Opened,
    set: &Set,
    found: &Bound<'py, PyAny>,
    format: Option<&str>,
) -> Result<Bound<'py, PyAny>, Failure> {
    let py = found.py();
    let mut files = FoundFiles::new();
    let taken = ids::take_files(found, format, &mut Target::Found(&mut files))?;
    let result = run(py, move |monitor| {
        taken.read(&mut Target::Found(&mut files), &monitor)?;
        let registry = opened.reader(Arc::clone(&monitor))?;
        for file in FilesOfSet::new(&registry, set.clone()).read()? {
            files.expect(&file?)?;
        }
        let mut summary = CheckSummary { complete: true, ..CheckSummary::default() };
        let mut findings = Vec::new();
        for compared in files.compare()? {
            let (file, problem) = compared?;
            summary.files += 1;
            if summary.files.is_multiple_of(4_096) {
                work::check(&monitor)?;
            }
            findings.extend(problem.map(|problem| FileFinding::of(file, &problem)));
        }
        summary.findings = findings.len() as u64;
        Ok((findings, summary))
    })?;
    checked(py, result)
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
    let algorithm = algorithm.map(algorithm_named).transpose()?;
    let (text, algorithm, lacking) = run(py, |monitor| {
        let snapshot = opened.reader(monitor)?.snapshot()?;
        let algorithm = algorithm_of(&snapshot, set, algorithm.as_ref())?;
        let algorithm = algorithm.ok_or_else(|| no_checksums(set, None))?;
        let (files, mut text) = (snapshot.files(set)?, Vec::new());
        drop(snapshot);
        let lacking = each_checksum::<Failure>(files, &algorithm, |id, file, checksum| {
            Ok(style.write_line(&mut text, checksum, file.path(id))?)
        })?;
        if lacking.listed == 0 {
            return Err(no_checksums(set, Some(&algorithm)).into());
        }
        Ok((String::from_utf8_lossy(&text).into_owned(), algorithm, lacking))
    })?;
    if lacking.granules + lacking.files > 0 {
        let (granules, files) = (lacking.granules, lacking.files);
        warn(py, &format!("left out without {algorithm}: {granules} granules, {files} files"))?;
    }
    Ok(text)
}

fn algorithm_named(text: &str) -> Result<Algorithm, Failure> {
    text.parse().map_err(|cause| Failure::unreadable("algorithm", cause))
}
