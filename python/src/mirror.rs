//! Mirrors and their primaries, and histories from elsewhere.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use accession::citation::typed::refuse_future;
use accession::disk::Spool;
use accession::input::{InputFormat, OpenedFile};
use accession::mirror::{
    self as library, MirrorDifference, OtherContent, Outcome, PullOptions, Pulled, Status,
    read_replica, source_name,
};
use accession::model::{ContentMatch, SourceOptions};
use accession::{ChangeOptions, DatasetName, ErrorKind, Import, Instance, Moment, Monitor};
use pyo3::prelude::*;

use crate::address::dataset_at;
use crate::comparison::{MirrorComparison, Sides};
use crate::error::Failure;
use crate::opened::Opened;
use crate::record::{object, warn, warn_all};
use crate::time::{ChangeTime, now};
use crate::work::check;

/// The primary of a mirror: where it is, and how it is read.
pub struct Primary {
    /// `None` means that of the last pull.
    pub place: Option<PathBuf>,
    pub options: SourceOptions,
}

impl Primary {
    /// Where it is, and how it is read.
    fn find(
        &self,
        opened: &Opened,
        mirror: &DatasetName,
        monitor: &Arc<dyn Monitor>,
    ) -> Result<(PathBuf, SourceOptions), Failure> {
        if let Some(place) = &self.place {
            return Ok((place.clone(), self.options.clone()));
        }
        let snapshot = opened.reader(Arc::clone(monitor))?.snapshot()?;
        let known = snapshot.mirror_sources(mirror)?.into_iter();
        let last = known.filter(|known| known.is_default).find_map(|known| {
            let pulled = known.pulled?;
            Some((PathBuf::from(known.source), self.options.clone().or(&pulled.options)))
        });
        let (place, options) = last.ok_or_else(|| {
            let message = format!("{mirror} was not pulled from any primary yet");
            Failure::usage(message, "name the primary")
        })?;
        library::Primary::check_remembered(&place)?;
        Ok((place, options))
    }
}

fn open(
    place: &Path,
    options: SourceOptions,
    mirror: &DatasetName,
) -> Result<library::Primary, Failure> {
    let named = options.primary_dataset.as_ref();
    let primary = match dataset_at(&place.to_string_lossy(), &options)? {
        Some(remote) => library::Primary::at_address(remote, named),
        None => library::Primary::open(place, mirror, named, now())?,
    };
    Ok(primary.with_options(options))
}

/// Pulls a mirror.
///
/// # Errors
///
/// The primary cannot be read; the change is refused.
pub fn pull(
    opened: &Opened,
    mirror: &DatasetName,
    primary: &Primary,
    options: PullOptions,
    at: ChangeTime,
    monitor: &Arc<dyn Monitor>,
) -> Result<Pulled, Failure> {
    options.primary_at.map_or(Ok(()), |at| refuse_future(at, now()))?;
    let (place, source) = primary.find(opened, mirror, monitor)?;
    let registry = opened.writer(Arc::clone(monitor))?;
    let stamp = opened.stamp(at);
    let pulled = open(&place, source, mirror)
        .and_then(|primary| Ok(library::pull(&registry, mirror, &primary, options, &stamp)?));
    // A time that was given says nothing about the primary.
    let is_given = |kind| {
        let is_of_time = matches!(kind, ErrorKind::NotAfterLast | ErrorKind::Future);
        options.primary_at.is_some() || (at.at.is_some() && is_of_time)
    };
    if let Err(Failure::Library(error)) = &pulled
        && !options.dry_run
        && !is_given(error.kind())
        && error.kind() != ErrorKind::Interrupted
    {
        // What is raised is why it failed, and not that this could not be remembered.
        let name = source_name(&place.to_string_lossy());
        let _ = registry.remember_failed_attempt(mirror, &name, &error.to_string(), &stamp);
    }
    pulled
}

/// What a pull did.
///
/// # Errors
///
/// Python has no memory left.
pub fn pulled<'py>(
    py: Python<'py>,
    pulled: &Pulled,
    dry_run: bool,
) -> Result<Bound<'py, PyAny>, Failure> {
    let applied = pulled.applied.as_ref();
    let change = applied.and_then(|applied| applied.instance.as_ref());
    if pulled.left.granules > 0 {
        let (granules, named) = (pulled.left.granules, pulled.left.named.join("; "));
        let what = format!(
            "of {granules} granules the primary states other bytes than are known here, which stay: {named}; max_replace=N or \"P%\" takes the primary's"
        );
        warn(py, &what)?;
    } else if !pulled.is_identical() {
        let status = pulled.before.status;
        let why = status.refusal().unwrap_or("the mirror is not the primary");
        warn(
            py,
            &format!("nothing was changed: {why}; reset=True replaces what the mirror holds"),
        )?;
    }
    if let Some(warning) = pulled.annotations.warning() {
        warn(py, &warning.message)?;
    }
    let value = serde_json::json!({
        "status": pulled.before.status,
        "identical": pulled.is_identical(),
        "changed": change.is_some(),
        "added": change.map_or(0, |change| change.ingested),
        "removed": change.map_or(0, |change| change.deleted),
        "dry_run": dry_run,
        "instance": pulled.in_force,
        "primary": pulled.before.primary,
    });
    object(py, "Pulled", &value)
}

/// Compares a mirror with its primary, and remembers what was read of it.
///
/// # Errors
///
/// The primary cannot be read.
pub fn compare(
    opened: &Opened,
    mirror: &DatasetName,
    primary: &Primary,
    at: Option<Moment>,
    monitor: &Arc<dyn Monitor>,
) -> Result<MirrorComparison, Failure> {
    at.map_or(Ok(()), |at| refuse_future(at, now()))?;
    let (place, source) = primary.find(opened, mirror, monitor)?;
    let primary = open(&place, source, mirror)?;
    let registry = opened.reader(Arc::clone(monitor))?;
    let dataset = registry.snapshot()?.dataset(mirror)?.dataset.name;
    let comparison = library::compare(&registry, &dataset, &primary, at)?;
    let [mut missing, mut unexpected, mut other_content] = [(); 3].map(|()| Spool::default());
    let mut differences = comparison.differences()?;
    for difference in differences.by_ref() {
        let (ids, granule_id) = match difference? {
            MirrorDifference::Missing(entry) => (&mut missing, entry.granule_id),
            MirrorDifference::Unexpected(granule_id) => (&mut unexpected, granule_id),
            MirrorDifference::Content(OtherContent { granule_id, compared, .. }) => {
                match compared {
                    ContentMatch::Other(_) => (&mut other_content, granule_id),
                    _ => continue,
                }
            }
        };
        ids.add(granule_id.as_str().as_bytes())?;
    }
    let matched = differences.counts().matched;
    drop(differences);
    if comparison.has_memory() {
        // A registry that cannot be written can be compared all the same.
        let _ = opened.writer(Arc::clone(monitor)).and_then(|registry| {
            let stamp = opened.stamp(ChangeTime::default());
            Ok(comparison.remember(&registry, &dataset, &stamp, Outcome::Compared)?)
        });
    }
    let found = comparison.status();
    let behind = found.standing.filter(|_| found.status == Status::Behind);
    let status = serde_json::to_value(found.status).ok();
    let status = status.as_ref().and_then(|status| status.as_str()).unwrap_or_default().to_owned();
    let sides = Sides { matched, left: Arc::new(unexpected), right: Arc::new(missing) };
    let behind_by = behind.map(|behind| behind.changes_ago);
    Ok(MirrorComparison { status, behind_by, sides, other_content: Arc::new(other_content) })
}

/// A history that is imported.
pub struct Imported {
    pub source: PathBuf,
    pub reading: accession::input::Options,
    pub is_daily: bool,
    pub options: ChangeOptions,
    pub http: SourceOptions,
}

/// Imports a history.
///
/// # Errors
///
/// The file cannot be read; an event is refused.
pub fn import(
    opened: &Opened,
    dataset: &DatasetName,
    wanted: Imported,
    at: ChangeTime,
    monitor: &Arc<dyn Monitor>,
) -> Result<accession::Imported, Failure> {
    let mut import = Import::new();
    import.options = wanted.options;
    import.is_daily = wanted.is_daily;
    import.not_after = Some(now());
    let registry = opened.writer(Arc::clone(monitor))?;
    let stamp = opened.stamp(at);
    let name = wanted.source.to_string_lossy();
    if let Some(remote) = dataset_at(&name, &wanted.http)? {
        if import.is_daily {
            return Err(Failure::usage("a log has its own times: they cannot become days", ""));
        }
        let replica = read_replica(&remote, Some(&registry), dataset, &mut import)?;
        return Ok(replica.import(&registry, dataset, &import, &stamp)?);
    }
    let file = OpenedFile::open(std::fs::File::open(&wanted.source)?, &name)?;
    if file.format(&wanted.reading)? == InputFormat::Manifest {
        if import.is_daily {
            return Err(Failure::usage(
                "a manifest has its own times: they cannot become days",
                "",
            ));
        }
        let reader = library::Primary::from_manifest(file.unzipped()?, &name, None, now())?;
        reader.read_into(&mut import, |_| {})?;
    } else {
        let mut events = file.events(&wanted.reading)?;
        let mut number = 0_u64;
        for event in events.by_ref() {
            number += 1;
            if number.is_multiple_of(4_096) {
                check(monitor)?;
            }
            import.add(event?)?;
        }
    }
    Ok(registry.import(dataset, &import, &stamp)?)
}

/// What an import did.
///
/// # Errors
///
/// Python has no memory left.
pub fn imported<'py>(
    py: Python<'py>,
    imported: &accession::Imported,
    asked: &accession::DatasetName,
    dry_run: bool,
) -> Result<Bound<'py, PyAny>, Failure> {
    let sum = |count: fn(&Instance) -> u64| imported.instances.iter().map(count).sum::<u64>();
    if imported.left_out > 0 {
        let left_out = imported.left_out;
        warn(py, &format!("left out {left_out} events of a day that is not over"))?;
    }
    warn_all(py, &imported.warnings(asked, crate::time::now()))?;
    let value = serde_json::json!({
        "changed": !imported.instances.is_empty(),
        "added": sum(|instance| instance.ingested),
        "removed": sum(|instance| instance.deleted),
        "dry_run": dry_run,
        "instance": imported.in_force,
        "skipped": imported.skipped,
        "created_dataset": imported.created_dataset,
    });
    object(py, "Applied", &value)
}
