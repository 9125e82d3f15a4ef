//! A registry, and what is asked of all of it.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use accession::SetSpec;
use accession::citation::refuse_future;
use accession::dataset::Withdrawn;
use accession::history::GranulePrefix;
use accession::history::NewAnnotation;
use accession::status::StatusThresholds;
use accession::{DatasetFilter, ErrorKind, GranuleId, Watcher};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::asked::{self, Asked, Dataset, Set};
use crate::comparison;
use crate::error::Failure;
use crate::ids;
use crate::keywords::{Keywords, all_parsed, parsed};
use crate::opened::Opened;
use crate::record::objects;
use crate::rows::Rows;
use crate::set;
use crate::time::{ChangeTime, now};
use crate::work::run;

/// A registry: the datasets of an archive, and every set of granules that they ever held.
#[pyclass(frozen, module = "accession_registry")]
#[derive(Debug)]
pub struct Registry {
    opened: Arc<Opened>,
}

/// The datasets that were named, or all if none was.
fn named_or_all(datasets: &[String]) -> Result<DatasetFilter, Failure> {
    let names = all_parsed("dataset", datasets)?;
    Ok(if names.is_empty() { DatasetFilter::All } else { DatasetFilter::Only(names) })
}

/// Opens a registry: the path of a file, or the address of a PostgreSQL database.
///
/// With `create`, a registry that does not exist is created. `by` is who makes changes; by default the
/// environment variable ACCESSION_BY, or the user of the system.
///
/// >>> reg = ar.open("example.db", create=True)
/// >>> reg.dataset("US.FOOL2.002").sync(["A", "B"], create=True).identifier
/// '8f714d3efb0e51ed23fb7eeecca3009b'
#[pyfunction]
#[pyo3(signature = (address, *, create = false, by = None))]
pub fn open(
    py: Python<'_>,
    address: PathBuf,
    create: bool,
    by: Option<String>,
) -> Result<Registry, Failure> {
    let by = match by.filter(|by| !by.trim().is_empty()) {
        Some(by) => Some(by),
        None => py.import("accession_registry._user")?.call_method0("user")?.extract()?,
    };
    let opened = run(py, |_| Opened::open(&address, create, by))?;
    Ok(Registry { opened: Arc::new(opened) })
}

/// Opens the registry of a pickled set, and finds the set: the instance at `timestamp` or, without one, a
/// subset.
///
/// # Errors
///
/// The registry no longer has the set, or has a different one instead.
#[pyfunction]
#[pyo3(signature = (address, dataset, timestamp, identifier, digest))]
pub fn open_set(
    py: Python<'_>,
    address: PathBuf,
    dataset: &str,
    timestamp: Option<&str>,
    identifier: &str,
    digest: &str,
) -> Result<Set, Failure> {
    let registry = open(py, address, false, None)?;
    let asked = match timestamp {
        Some(timestamp) => Asked::named(&format!("{dataset}@{timestamp}"))?,
        None => Asked::held(parsed("identifier", identifier)?, parsed("dataset", dataset)?),
    };
    let set = asked::find(py, &registry.opened, asked, None)?;
    let is_it = |set: &Set| {
        (set.set.identifier().to_string(), set.set.digest().to_string())
            == (identifier.to_owned(), digest.to_owned())
    };
    if is_it(&set) {
        return Ok(set);
    }
    // The recorded checksums of a subset may have changed since.
    let set = asked::find(py, &registry.opened, Asked::named(digest)?, None)?;
    match is_it(&set) {
        true => Ok(set),
        false => {
            let message =
                format!("the registry has no set DI:{identifier} with the digest {digest}");
            Err(Failure::Here("identifier-unknown", message, "name the set again"))
        }
    }
}

/// Computes the identifier of a list of granules, without a registry.
///
/// The list can be in any order; an id that is repeated counts once.
///
/// >>> identified = ar.identify(["B", "A", "B"])
/// >>> identified.identifier, identified.granules, identified.repeated
/// ('8f714d3efb0e51ed23fb7eeecca3009b', 2, 1)
#[pyfunction]
#[pyo3(signature = (ids, *, column = None))]
pub fn identify<'py>(
    ids: &Bound<'py, PyAny>,
    column: Option<&str>,
) -> Result<Bound<'py, PyAny>, Failure> {
    let (py, listing) = (ids.py(), ids::listing(ids, column)?);
    let found =
        run(py, |token| Ok(listing.identify_watched(&Watcher::new().cancelled_by(&token))?))?;
    let (identifier, digest) = (found.identifier.to_string(), found.digest.to_string());
    let records = py.import("accession_registry._records")?;
    Ok(records.call_method1("Identified", (identifier, digest, found.granules, found.repeated))?)
}

#[pymethods]
impl Registry {
    /// The absolute path, or the address without its password.
    #[getter]
    fn address(&self) -> String {
        self.opened.address()
    }

    /// A dataset, by its name. Nothing is read yet, so it need not exist.
    fn dataset(&self, name: &str) -> Result<Dataset, Failure> {
        Ok(Dataset { opened: Arc::clone(&self.opened), name: parsed("name", name)? })
    }

    /// The records of the datasets, by name, with their latest instances.
    #[pyo3(signature = (*, all = false))]
    fn datasets<'py>(&self, py: Python<'py>, all: bool) -> Result<Bound<'py, PyList>, Failure> {
        let withdrawn = if all { Withdrawn::Listed } else { Withdrawn::LeftOut };
        let listed = self.opened.read(py, |snapshot| Ok(snapshot.all_datasets(withdrawn)?))?;
        objects(py, "DatasetRecord", &listed)
    }

    /// A set: `DATASET`, `DATASET@TIME`, an identifier (`DI:…`, its first 8 digits, or a citation that
    /// contains it), or a DOI. `at` names the time of a dataset, `known_at` what was recorded by then.
    #[pyo3(signature = (name, **times), text_signature = "($self, name, *, at=None, known_at=None)")]
    fn set(
        &self,
        py: Python<'_>,
        name: &str,
        times: Option<&Bound<'_, PyDict>>,
    ) -> Result<Set, Failure> {
        let times = Keywords::of(times, &["at known_at"])?;
        let asked = Asked::named(name)?.at(times.moment("at")?)?;
        asked::find(py, &self.opened, asked, times.moment("known_at")?)
    }

    /// The ids of a set, in canonical order. The identifier of the set is proved at the end.
    fn granules(&self, set: &Bound<'_, PyAny>) -> Result<Rows, Failure> {
        let py = set.py();
        asked::find(py, &self.opened, Asked::of(set)?, None)?.granules(None)
    }

    /// Every period in which an identifier, or a digest, was in force, with the digests in it. Empty if it
    /// never was.
    ///
    /// >>> reg = ar.open("example.db", create=True)
    /// >>> applied = reg.dataset("US.FOOL2.002").sync(["A", "B"], create=True)
    /// >>> [(row.dataset, row.granules) for row in reg.resolve("DI:8f714d3efb0e51ed23fb7eeecca3009b")]
    /// [('US.FOOL2.002', 2)]
    #[pyo3(
        signature = (identifier, *, dataset = None, **times),
        text_signature = "($self, identifier, *, dataset=None, at=None)"
    )]
    fn resolve<'py>(
        &self,
        py: Python<'py>,
        identifier: &str,
        dataset: Option<&str>,
        times: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyList>, Failure> {
        let at = Keywords::of(times, &["at"])?.moment("at")?;
        let named: SetSpec = parsed("identifier", identifier)?;
        let dataset = dataset.map(|name| parsed("dataset", name)).transpose()?;
        at.map_or(Ok(()), |at| refuse_future(at, now()))?;
        let resolution = self.opened.read(py, |snapshot| {
            match named.periods(&snapshot, dataset.as_ref(), at) {
                Err(error) if error.kind() == ErrorKind::IdentifierUnknown => Ok(Vec::new()),
                resolution => Ok(resolution?.rows),
            }
        })?;
        objects(py, "Interval", &resolution)
    }

    /// Compares two sets, or a set with a list of granules, and tells which only one of them has.
    ///
    /// >>> reg = ar.open("example.db", create=True)
    /// >>> applied = reg.dataset("US.FOOL2.002").sync(["A", "B"], create=True)
    /// >>> comparison = reg.compare("US.FOOL2.002", ["B", "C"])
    /// >>> comparison.matched, list(comparison.only_left), list(comparison.only_right)
    /// (1, ['A'], ['C'])
    #[pyo3(signature = (left, right, *, column = None))]
    fn compare<'py>(
        &self,
        left: &Bound<'py, PyAny>,
        right: &Bound<'py, PyAny>,
        column: Option<&str>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        comparison::compare(&self.opened, left, right, column)
    }

    /// A citation of a set, or of the granules of a dataset that `select` or `select_from` name, with the
    /// identifier inside. A subset is saved, so that its identifier can always be resolved.
    #[pyo3(
        signature = (set, **options),
        text_signature = "($self, set, *, format=\"text\", select=None, select_from=None, column=None)"
    )]
    fn cite(
        &self,
        set: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Result<String, Failure> {
        let options = Keywords::of(options, &[set::OF_CITATION])?;
        set::cite(set.py(), &self.opened, Asked::of(set)?, &options)
    }

    /// The history of a dataset: its instances, oldest first.
    #[pyo3(
        signature = (dataset, **options),
        text_signature = "($self, dataset, *, since=None, until=None, reverse=False, known_at=None)"
    )]
    fn history(
        &self,
        py: Python<'_>,
        dataset: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Result<Rows, Failure> {
        self.dataset(dataset)?.history(py, options)
    }

    /// Every dataset and period in which a granule was held. A final `*` stands for any characters.
    fn find<'py>(&self, py: Python<'py>, granule: &str) -> Result<Bound<'py, PyList>, Failure> {
        // The list has all of them in any case.
        let most = u32::MAX;
        let periods = match granule.strip_suffix('*') {
            Some(beginning) => {
                let prefix: GranulePrefix = parsed("granule", beginning)?;
                self.opened.read(py, |snapshot| Ok(snapshot.find_prefix(&prefix, None, most)?))
            }
            None => {
                let granule_id: GranuleId = parsed("granule", granule)?;
                self.opened.read(py, |snapshot| Ok(snapshot.find(&granule_id, None, most)?))
            }
        };
        objects(py, "Period", &periods?)
    }

    /// Recomputes every identifier that was ever issued, of these datasets or of all. The first row,
    /// without a dataset, is of the registry file where something is wrong with it.
    #[pyo3(signature = (*datasets, jobs = None))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        datasets: Vec<String>,
        jobs: Option<NonZeroUsize>,
    ) -> Result<Bound<'py, PyList>, Failure> {
        let filter = named_or_all(&datasets)?;
        let rows = run(py, |token| {
            let registry = self.opened.reader(token)?;
            let verifications = match jobs {
                Some(jobs) => registry.verify_all_on(jobs, &filter)?,
                None => registry.verify_all(&filter)?,
            };
            Ok(verifications.collect::<Result<Vec<_>, _>>()?)
        })?;
        objects(py, "Verification", &rows)
    }

    /// Adds a note to a set that is in the history, without changing the history. An identifier that was in
    /// force several times is annotated each time, and from `"DATASET@TIME"` on, every set `until` another
    /// time. Who cites a `questionable` one is warned.
    ///
    /// >>> reg = ar.open("example.db", create=True)
    /// >>> applied = reg.dataset("US.FOOL2.002").sync(["A"], create=True)
    /// >>> [row.note for row in reg.annotate("US.FOOL2.002", "the listing was incomplete")]
    /// ['the listing was incomplete']
    #[pyo3(
        signature = (set, note, **options),
        text_signature = "($self, set, note, *, until=None, questionable=False, dry_run=False)"
    )]
    fn annotate<'py>(
        &self,
        set: &Bound<'py, PyAny>,
        note: String,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyList>, Failure> {
        let (py, asked) = (set.py(), Asked::of(set)?);
        let options = Keywords::of(options, &["until questionable dry_run"])?;
        let mut annotation = NewAnnotation::new(note)?;
        annotation.until = options.moment("until")?;
        annotation.questionable = options.is_set("questionable")?;
        annotation.dry_run = options.is_set("dry_run")?;
        let annotated = run(py, |token| {
            let registry = self.opened.writer(ChangeTime::default(), token)?;
            let selection = asked.selection(&registry.snapshot()?)?;
            Ok(registry.annotate(&selection, &annotation)?)
        })?;
        objects(py, "Annotated", &annotated)
    }

    /// When datasets were last changed and confirmed, and what is wrong with them: those with most
    /// problems first. `max_age` is how long ago that may be: a `timedelta`, or `"36h"`; `checked_within` the
    /// time within which all files were checked, in each directory where they ever were.
    ///
    /// >>> reg = ar.open("example.db", create=True)
    /// >>> applied = reg.dataset("US.FOOL2.002").sync(["A"], create=True)
    /// >>> [(row.dataset, row.problems) for row in reg.status(max_age="36h")]
    /// [('US.FOOL2.002', [])]
    #[pyo3(
        signature = (*datasets, **ages),
        text_signature = "($self, *datasets, max_age=None, checked_within=None)"
    )]
    fn status<'py>(
        &self,
        py: Python<'py>,
        datasets: Vec<String>,
        ages: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyList>, Failure> {
        let ages = Keywords::of(ages, &["max_age checked_within"])?;
        let (max_age, checked) = (ages.duration("max_age")?, ages.duration("checked_within")?);
        let filter = named_or_all(&datasets)?;
        let rows = run(py, |token| {
            let oldest = StatusThresholds {
                seen: max_age.map(|age| now().before(age)),
                checked: checked.map(|age| now().before(age)),
            };
            Ok(self.opened.reader(token)?.status(&filter, oldest)?)
        })?;
        objects(py, "Status", &rows)
    }

    /// Closes the registry: its datasets, sets and iterators cannot be used afterwards.
    fn close(&self, py: Python<'_>) -> Result<(), Failure> {
        let registry = self.opened.close()?;
        py.detach(|| drop(registry));
        Ok(())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(
        &self,
        py: Python<'_>,
        _raised: &Bound<'_, pyo3::types::PyTuple>,
    ) -> Result<(), Failure> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        format!("<Registry {:?}>", self.opened.address())
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("accession_registry._html")?.call_method1("registry", (slf,))
    }
}
