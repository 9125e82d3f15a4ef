//! Mirrors and their primaries, and histories from elsewhere.

use std::path::PathBuf;

use accession::Warning;
use accession::history::TwoSides;
use accession::listing::{InputFormat, OpenedFile, SearchPages};
use accession::mirror::PrimaryOptions;
use accession::mirror::{ComparedMirror, MirrorStatus, Primary, PullOptions, PullReport};
use accession::{CancelToken, ChangeOptions, DatasetName, Import};
use pyo3::prelude::*;

use crate::comparison::Sides;
use crate::error::Failure;
use crate::ids;
use crate::keywords::Keywords;
use crate::opened::Opened;
use crate::record::{object, shown, warn_all};
use crate::time::{ChangeTime, now};

/// The primary of a mirror, as it was named.
pub struct NamedPrimary {
    /// `None` means that of the last pull.
    place: Option<PathBuf>,
    options: PrimaryOptions,
}

/// The keyword arguments that say which dataset of a primary is read.
pub const OF_PRIMARY: &str = "primary_dataset";

impl NamedPrimary {
    /// The primary at a place. `None` means that of the last pull.
    ///
    /// # Errors
    ///
    /// An argument cannot be read.
    pub fn of(place: Option<PathBuf>, options: &Keywords<'_, '_>) -> Result<Self, Failure> {
        Ok(NamedPrimary { place, options: options.source()? })
    }

    /// Where it is, and how it is read.
    fn source(
        self,
        opened: &Opened,
        mirror: &DatasetName,
        token: &CancelToken,
    ) -> Result<Primary, Failure> {
        if let Some(place) = self.place {
            return Ok(Primary::from(place).with_options(self.options));
        }
        let snapshot = opened.reader(token.clone())?.snapshot()?;
        let mut known = snapshot.mirror_sources(mirror)?.into_iter();
        let last = known.find_map(|known| Primary::of_last_pull(known, self.options.clone()));
        last.ok_or_else(|| {
            let message = format!("{mirror} was not pulled from any primary yet");
            Failure::usage(message, "name the primary")
        })
    }
}

/// Pulls a mirror.
///
/// # Errors
///
/// The primary cannot be read; the change is refused.
pub fn pull(
    opened: &Opened,
    mirror: &DatasetName,
    primary: NamedPrimary,
    options: PullOptions,
    at: ChangeTime,
    token: &CancelToken,
) -> Result<PullReport, Failure> {
    let source = primary.source(opened, mirror, token)?;
    let registry = opened.writer(at, token.clone())?;
    Ok(registry.pull(mirror, &source, options)?)
}

/// What a pull of a mirror did, with its warnings.
///
/// # Errors
///
/// Python has no memory left.
pub fn pulled<'py>(
    py: Python<'py>,
    mirror: &DatasetName,
    pulled: &PullReport,
    dry_run: bool,
) -> Result<Bound<'py, PyAny>, Failure> {
    warn_all(py, &pulled.warnings(mirror))?;
    let value = serde_json::json!({
        "status": pulled.before.status,
        "identical": pulled.is_identical(),
        "digest_equal": pulled.is_digest_equal(),
        "changed": pulled.applied.instance().is_some(),
        "added": pulled.applied.added(),
        "removed": pulled.applied.removed(),
        "dry_run": dry_run,
        "instance": pulled.applied.in_force,
        "primary": pulled.before.primary,
    });
    object(py, "Pulled", &value)
}

/// The status, the number of changes by which the mirror is behind, the number of its files that are not as
/// recorded, and the differences.
type Compared = (String, Option<u64>, u64, Sides);

/// Compares a mirror with its primary, and remembers what was read of it. Returns the warnings, too.
///
/// # Errors
///
/// The primary cannot be read.
pub fn compare(
    opened: &Opened,
    mirror: &DatasetName,
    primary: NamedPrimary,
    token: &CancelToken,
) -> Result<(Compared, Vec<Warning>), Failure> {
    let source = primary.source(opened, mirror, token)?;
    let registry = opened.reader(token.clone())?;
    let mut comparison = registry.compare_mirror(mirror, &source)?;
    let mut sides = TwoSides::lists(comparison.by_ref(), ["here", "at the primary"], u64::MAX)?;
    let compared = comparison.finish()?;
    let ComparedMirror { status: found, counts, facts, warnings, .. } = compared;
    let open_findings = match facts.files {
        FilesFact::Bad { missing, damaged, other, .. } => missing + damaged + other,
        _ => 0,
    };
    sides.counts = counts;
    let behind = found.standing.filter(|_| found.status == MirrorStatus::Behind);
    let status = found.status.to_string();
    let behind_by = behind.map(|behind| behind.changes_ago);
    Ok(((status, behind_by, open_findings, sides.into()), warnings))
}

/// A history that is imported.
pub struct Imported {
    source: PathBuf,
    reading: accession::ListingOptions,
    pub options: ChangeOptions,
    http: PrimaryOptions,
}

/// The keyword arguments that say what is imported, and how.
pub const OF_IMPORT: [&str; 2] =
    ["format column ingested deleted create dry_run at", "timeout max_bytes ca_file insecure"];

impl Imported {
    /// A history that is to be imported.
    ///
    /// # Errors
    ///
    /// An argument cannot be read.
    pub fn of(source: PathBuf, options: &Keywords<'_, '_>) -> Result<Self, Failure> {
        let format: Option<String> = options.value("format")?;
        let reading = accession::ListingOptions::new()
            .format(ids::format_named(format.as_deref())?)
            .column(options.value("column")?)
            .ingested_column(options.value("ingested")?)
            .deleted_column(options.value("deleted")?)
            .unfinished_day(now().day());
        let (options, http) = (options.change()?, options.source()?);
        Ok(Imported { source, reading, options, http })
    }
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
    token: &CancelToken,
) -> Result<(accession::ChangeReport, Vec<Warning>), Failure> {
    let mut import = Import::new();
    import.options = wanted.options;
    import.not_after = Some(now());
    let registry = opened.writer(at, token.clone())?;
    let name = wanted.source.to_string_lossy();
    let are_for_addresses = wanted.http != PrimaryOptions::default();
    let primary = Primary::from(wanted.source.clone()).with_options(wanted.http);
    if primary.is_at_address() {
        wanted.reading.check_log()?;
    }
    if let Some(replica) = primary.read_replica(Some(&registry), dataset, &mut import, now())? {
        return Ok((replica.import(&registry, dataset, &import)?, Vec::new()));
    }
    if are_for_addresses {
        let message = format!("{name} is not an address");
        return Err(Failure::usage(
            message,
            "timeout, max_bytes, ca_file and insecure are for one",
        ));
    }
    let mut warnings = Vec::new();
    let file = OpenedFile::open(std::fs::File::open(&wanted.source)?, &name)?;
    if file.format(&wanted.reading)? == InputFormat::Manifest {
        wanted.reading.check_log()?;
        let manifest = Primary::from_reader(file.unzipped()?, &name, PrimaryOptions::default())?;
        manifest.read_into(dataset, &mut import, now(), |_| {})?;
    } else {
        let mut events = file.events(&wanted.reading)?;
        for (number, event) in events.by_ref().enumerate() {
            if number.is_multiple_of(4_096) {
                token.check()?;
            }
            import.add(event?)?;
        }
        import.left_out = events.left_out();
        import.until = events.left_out_since();
        warnings = events.records().warnings();
        let mut pages = SearchPages::default();
        pages.add(events.records());
        pages.missing().map_or(Ok(()), |missing| Err(Failure::pages_missing(missing)))?;
    }
    Ok((registry.import(dataset, &import)?, warnings))
}

/// What an import did.
///
/// # Errors
///
/// Python has no memory left.
pub fn imported<'py>(
    py: Python<'py>,
    (imported, warnings): &(accession::ChangeReport, Vec<Warning>),
    asked: &accession::DatasetName,
    dry_run: bool,
) -> Result<Bound<'py, PyAny>, Failure> {
    warn_all(py, warnings)?;
    warn_all(py, &imported.import_warnings(asked, now()))?;
    shown(py, imported, dry_run)
}
