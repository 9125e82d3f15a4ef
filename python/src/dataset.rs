//! A dataset: its changes, its history, and its record.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use accession::citation::typed::{GivenIdentifier, refuse_future};
use accession::mirror::{PullOptions, PullPolicy, export};
use accession::{Change, ChangeOptions, EarlierSet, EventKind, Limit, Limits, Listing};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::address::Options;
use crate::asked::{self, Asked, Dataset, Set};
use crate::comparison::MirrorComparison;
use crate::edit;
use crate::error::Failure;
use crate::fixity::{self, Tree};
use crate::ids;
use crate::mirror::{self, Primary};
use crate::record::{self, object};
use crate::rows::{Rows, in_pages};
use crate::target::Target;
use crate::time::{ChangeTime, duration, moment, moment_or_none, now};
use crate::work::run;

/// The options that every change takes.
struct Made {
    at: ChangeTime,
    options: ChangeOptions,
}

impl Made {
    fn of(
        at: Option<&Bound<'_, PyAny>>,
        note: Option<String>,
        dry_run: bool,
    ) -> Result<Self, Failure> {
        let options = ChangeOptions { note, dry_run, ..ChangeOptions::default() };
        Ok(Made { at: ChangeTime::of(at)?, options })
    }
}

/// A limit: a number of granules, or a percentage of those held.
pub fn limit(argument: &str, given: Option<&Bound<'_, PyAny>>) -> Result<Option<Limit>, Failure> {
    let Some(given) = given else { return Ok(None) };
    let text = given.str()?.to_string();
    text.parse().map(Some).map_err(|cause| Failure::unreadable(argument, cause))
}

impl Dataset {
    fn change<'py>(
        &self,
        py: Python<'py>,
        lists: [(Option<&Bound<'py, PyAny>>, EventKind); 2],
        column: Option<&str>,
        made: Made,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let mut change = Change::new();
        let dry_run = made.options.dry_run;
        change.options = made.options;
        let mut taken = Vec::new();
        for (list, kind) in lists {
            if let Some(list) = list {
                let mut target = Target::Change(&mut change, kind);
                taken.push((ids::take(list, column, &mut target)?, kind));
            }
        }
        let applied = run(py, move |monitor| {
            for (taken, kind) in taken {
                taken.read(&mut Target::Change(&mut change, kind), &monitor)?;
            }
            let registry = self.opened.writer(monitor)?;
            Ok(registry.change(&self.name, &change, &self.opened.stamp(made.at))?)
        })?;
        record::applied(py, &applied, &self.name, dry_run)
    }
}

#[pymethods]
impl Dataset {
    /// The name, as it was given.
    #[getter]
    fn name(&self) -> String {
        self.name.to_string()
    }

    /// The record, with the latest instance.
    #[getter]
    fn record<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        let listed = self.opened.read(py, |snapshot| Ok(snapshot.dataset(&self.name)?))?;
        object(py, "DatasetRecord", &listed)
    }

    /// Makes the dataset hold exactly the listed granules, in one change.
    ///
    /// `ids` is an iterable of strings; anything with `__arrow_c_stream__` (polars, pandas, pyarrow,
    /// DuckDB), of which `column` names the column; or what a catalogue returned: earthaccess results,
    /// STAC items, dictionaries with UMM-G. A listing that would delete or add too much is refused.
    ///
    /// >>> dataset = open("example.db", create=True).dataset("US.FOOL2.002")
    /// >>> dataset.sync(["A", "B"], create=True, note="first delivery").added
    /// 2
    /// >>> applied = dataset.sync(["A", "B", "C"])
    /// >>> applied.added, applied.removed
    /// (1, 0)
    #[pyo3(signature = (ids, *, at = None, note = None, max_delete = None, max_add = None, create = false, dry_run = false, max_replace = None, column = None))]
    #[expect(clippy::too_many_arguments, reason = "they are the options of the command line")]
    fn sync<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        at: Option<&Bound<'py, PyAny>>,
        note: Option<String>,
        max_delete: Option<&Bound<'py, PyAny>>,
        max_add: Option<&Bound<'py, PyAny>>,
        create: bool,
        dry_run: bool,
        max_replace: Option<&Bound<'py, PyAny>>,
        column: Option<&str>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let py = ids.py();
        let made = Made::of(at, note, dry_run)?;
        let max_replace = limit("max_replace", max_replace)?;
        let options = ChangeOptions { create_dataset: create, max_replace, ..made.options };
        let limits = Limits {
            max_delete: limit("max_delete", max_delete)?,
            max_add: limit("max_add", max_add)?,
            max_replace: None,
        };
        let mut listing = Listing::new();
        let taken = ids::take(ids, column, &mut Target::Listing(&mut listing))?;
        let applied = run(py, move |monitor| {
            taken.read(&mut Target::Listing(&mut listing), &monitor)?;
            let stamp = self.opened.stamp(made.at);
            Ok(self.opened.writer(monitor)?.sync(&self.name, &listing, limits, &options, &stamp)?)
        })?;
        record::applied(py, &applied, &self.name, dry_run)
    }

    /// Adds granules, in one change. If one is refused, nothing is changed.
    #[pyo3(signature = (ids, *, at = None, note = None, skip_existing = false, create = false, dry_run = false, max_replace = None, column = None))]
    #[expect(clippy::too_many_arguments, reason = "they are the options of the command line")]
    fn ingest<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        at: Option<&Bound<'py, PyAny>>,
        note: Option<String>,
        skip_existing: bool,
        create: bool,
        dry_run: bool,
        max_replace: Option<&Bound<'py, PyAny>>,
        column: Option<&str>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let Made { at, options } = Made::of(at, note, dry_run)?;
        let max_replace = limit("max_replace", max_replace)?;
        let options =
            ChangeOptions { skip_existing, create_dataset: create, max_replace, ..options };
        let lists = [(Some(ids), EventKind::Ingested), (None, EventKind::Deleted)];
        self.change(ids.py(), lists, column, Made { at, options })
    }

    /// Marks granules deleted, in one change. Nothing is erased: earlier sets can still be listed.
    #[pyo3(signature = (ids, *, at = None, note = None, skip_missing = false, dry_run = false, column = None))]
    fn delete<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        at: Option<&Bound<'py, PyAny>>,
        note: Option<String>,
        skip_missing: bool,
        dry_run: bool,
        column: Option<&str>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let Made { at, options } = Made::of(at, note, dry_run)?;
        let options = ChangeOptions { skip_missing, ..options };
        let lists = [(None, EventKind::Ingested), (Some(ids), EventKind::Deleted)];
        self.change(ids.py(), lists, column, Made { at, options })
    }

    /// Adds granules and marks others deleted, in one change.
    #[pyo3(name = "change", signature = (*, ingest = None, delete = None, at = None, note = None, skip_existing = false, skip_missing = false, dry_run = false, max_replace = None, column = None))]
    #[expect(clippy::too_many_arguments, reason = "they are the options of the command line")]
    fn change_both<'py>(
        &self,
        py: Python<'py>,
        ingest: Option<&Bound<'py, PyAny>>,
        delete: Option<&Bound<'py, PyAny>>,
        at: Option<&Bound<'py, PyAny>>,
        note: Option<String>,
        skip_existing: bool,
        skip_missing: bool,
        dry_run: bool,
        max_replace: Option<&Bound<'py, PyAny>>,
        column: Option<&str>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let Made { at, options } = Made::of(at, note, dry_run)?;
        let max_replace = limit("max_replace", max_replace)?;
        let options = ChangeOptions { skip_existing, skip_missing, max_replace, ..options };
        let lists = [(ingest, EventKind::Ingested), (delete, EventKind::Deleted)];
        self.change(py, lists, column, Made { at, options })
    }

    /// Makes the dataset hold an earlier set again, in one new change: that of a time, or of an
    /// identifier.
    #[pyo3(signature = (to, *, at = None, note = None, dry_run = false))]
    fn revert<'py>(
        &self,
        to: &Bound<'py, PyAny>,
        at: Option<&Bound<'py, PyAny>>,
        note: Option<String>,
        dry_run: bool,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let py = to.py();
        let Made { at, options } = Made::of(at, note, dry_run)?;
        let identifier = match to.cast::<PyString>() {
            Ok(text) => text.to_str()?.parse::<GivenIdentifier>().ok(),
            Err(_) => None,
        };
        let time = match identifier {
            Some(_) => None,
            None => Some(moment("to", to)?),
        };
        let applied = run(py, |monitor| {
            let to = match (&identifier, time) {
                (Some(identifier), _) => {
                    let snapshot = self.opened.reader(Arc::clone(&monitor))?.snapshot()?;
                    EarlierSet::Identifier(identifier.whole(&snapshot, Some(&self.name))?)
                }
                (None, time) => {
                    let time = time.unwrap_or(accession::Moment::Instant(now()));
                    refuse_future(time, now())?;
                    EarlierSet::At(time)
                }
            };
            let registry = self.opened.writer(monitor)?;
            Ok(registry.revert(&self.name, to, &options, &self.opened.stamp(at))?)
        })?;
        record::applied(py, &applied, &self.name, dry_run)
    }

    /// The set that the dataset held at a time, or holds now.
    ///
    /// >>> dataset = open("example.db", create=True).dataset("US.FOOL2.002")
    /// >>> applied = dataset.sync(["A", "B"], at="2001-01-02", create=True)
    /// >>> dataset.set(at="2001-01-05").identifier
    /// '8f714d3efb0e51ed23fb7eeecca3009b'
    #[pyo3(signature = (*, at = None, known_at = None))]
    fn set(
        &self,
        py: Python<'_>,
        at: Option<&Bound<'_, PyAny>>,
        known_at: Option<&Bound<'_, PyAny>>,
    ) -> Result<Set, Failure> {
        let asked = Asked::named(self.name.as_str())?.at(moment_or_none("at", at)?)?;
        asked::find(py, &self.opened, asked, moment_or_none("known_at", known_at)?)
    }

    /// The instances of the dataset, oldest first.
    #[pyo3(signature = (*, since = None, until = None, reverse = false, known_at = None))]
    pub fn history(
        &self,
        py: Python<'_>,
        since: Option<&Bound<'_, PyAny>>,
        until: Option<&Bound<'_, PyAny>>,
        reverse: bool,
        known_at: Option<&Bound<'_, PyAny>>,
    ) -> Result<Rows, Failure> {
        let known_at = moment_or_none("known_at", known_at)?;
        let (since, until) = (moment_or_none("since", since)?, moment_or_none("until", until)?);
        let (opened, name) = (Arc::clone(&self.opened), self.name.clone());
        let rows = Rows::of(format!("history of {name}"), None, move |monitor| {
            let mut snapshot = opened.reader(monitor)?.snapshot()?;
            if let Some(known_at) = known_at {
                snapshot = snapshot.known_at(known_at.last_instant());
            }
            let mut history = snapshot.history(&name)?;
            if let Some(since) = since {
                history = history.since(since.first_instant());
            }
            if let Some(until) = until {
                history = history.until(until.last_instant());
            }
            let history = if reverse { history.newest_first() } else { history };
            Ok(in_pages(history.map(|instance| instance.map_err(Failure::from))))
        });
        rows.begun(py)
    }

    /// Registers the dataset if it does not exist, and sets fields of its record: `doi`, `title`,
    /// `description`, `creators`, `publisher`, `version`, `year`, `url`, `licence`, `archive`,
    /// `granule_url`, `keywords`, `free_access`, `temporal`, `max_delete`, `max_add`, `max_replace`. None removes a field.
    ///
    /// >>> dataset = open("example.db", create=True).dataset("US.FOOL2.002")
    /// >>> record = dataset.edit(create=True, title="FOO Level 2", temporal="2001-01-02/..")
    /// >>> record.title, record.temporal
    /// ('FOO Level 2', '2001-01-02/..')
    #[pyo3(signature = (*, create = false, shared_doi = false, **fields))]
    fn edit<'py>(
        &self,
        py: Python<'py>,
        create: bool,
        shared_doi: bool,
        fields: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let edit = edit::of(fields)?;
        run(py, |monitor| {
            edit::apply(&self.opened, &self.name, edit, create, shared_doi, monitor)
        })?;
        self.record(py)
    }

    /// States the sizes and checksums of files of granules that are held, in one change.
    ///
    /// `files` is an iterable of `FileRecord`, records of a catalogue, or the path of a file such as
    /// `sha256sum` writes it. What contradicts that which is known is refused, unless `max_replace` accepts
    /// it, with a `note` that says why.
    ///
    /// >>> dataset = open("example.db", create=True).dataset("US.FOOL2.002")
    /// >>> applied = dataset.sync(["A.nc"], create=True)
    /// >>> record = FileRecord("A.nc", "A.nc", 3, {"md5": "900150983cd24fb0d6963f7d28e17f72"})
    /// >>> dataset.fixity_add([record]).instance.described
    /// 1
    #[pyo3(signature = (files, *, format = None, at = None, note = None, skip_missing = false, max_replace = None, dry_run = false))]
    #[expect(clippy::too_many_arguments, reason = "they are the options of the command line")]
    fn fixity_add<'py>(
        &self,
        files: &Bound<'py, PyAny>,
        format: Option<&str>,
        at: Option<&Bound<'py, PyAny>>,
        note: Option<String>,
        skip_missing: bool,
        max_replace: Option<&Bound<'py, PyAny>>,
        dry_run: bool,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let Made { at, options } = Made::of(at, note, dry_run)?;
        let max_replace = limit("max_replace", max_replace)?;
        let options = ChangeOptions { skip_missing, max_replace, ..options };
        fixity::add(&self.opened, &self.name, files, format, options, at)
    }

    /// Computes and records the checksums of files below a directory that have none of an algorithm.
    ///
    /// A file that cannot be read, or is not as it is recorded, is a finding, and gets none. What was
    /// computed is recorded once an hour, at the end, and when the call is interrupted.
    ///
    /// >>> import pathlib
    /// >>> dataset = open("example.db", create=True).dataset("US.FOOL2.002")
    /// >>> applied = dataset.sync(["A.nc"], create=True)
    /// >>> pathlib.Path("data").mkdir()
    /// >>> _ = pathlib.Path("data/A.nc").write_text("abc")
    /// >>> dataset.fixity_compute("data")
    /// FixityCheck(files=1, bytes=3, complete=True, findings=[])
    #[pyo3(signature = (root, *, algorithm = "sha-256", jobs = None, mounted = false, note = None))]
    fn fixity_compute<'py>(
        &self,
        py: Python<'py>,
        root: PathBuf,
        algorithm: &str,
        jobs: Option<NonZeroUsize>,
        mounted: bool,
        note: Option<String>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let tree = Tree { root, jobs, mounted };
        fixity::compute(py, &self.opened, &self.name, &tree, algorithm, note)
    }

    /// Forgets a directory in which files were checked. Returns how many findings were closed.
    fn fixity_forget(&self, py: Python<'_>, root: &str) -> Result<u64, Failure> {
        fixity::forget(py, &self.opened, &self.name, root)
    }

    /// Writes the whole history as a manifest, from which it can be rebuilt and verified elsewhere. The
    /// file appears when it is complete.
    #[pyo3(signature = (output, *, until = None))]
    fn export(
        &self,
        py: Python<'_>,
        output: PathBuf,
        until: Option<&Bound<'_, PyAny>>,
    ) -> Result<(), Failure> {
        let until = moment_or_none("until", until)?;
        run(py, |monitor| {
            let registry = self.opened.reader(monitor)?;
            Ok(export(&registry, &self.name, until, &output)?)
        })
    }

    /// Builds the history from a file with times of ingest and deletion, a change log, a manifest, or
    /// the address of a published dataset. What is in the history already is skipped.
    #[pyo3(name = "import_", signature = (source, *, format = None, column = None, ingested = None, deleted = None, every = None, include_today = false, create = false, dry_run = false, at = None, timeout = None, max_bytes = None, ca_file = None, insecure = false))]
    #[expect(clippy::too_many_arguments, reason = "they are the options of the command line")]
    fn import<'py>(
        &self,
        py: Python<'py>,
        source: PathBuf,
        format: Option<&str>,
        column: Option<String>,
        ingested: Option<String>,
        deleted: Option<String>,
        every: Option<&str>,
        include_today: bool,
        create: bool,
        dry_run: bool,
        at: Option<&Bound<'py, PyAny>>,
        timeout: Option<u64>,
        max_bytes: Option<u64>,
        ca_file: Option<PathBuf>,
        insecure: bool,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let format = match format {
            None | Some("auto") => None,
            Some(name) => Some(name.parse().map_err(|cause| Failure::unreadable("format", cause))?),
        };
        let is_daily = match every {
            None => false,
            Some("day") => true,
            Some(_) => return Err(Failure::usage("every is \"day\"", "")),
        };
        let reading = accession::input::Options {
            format,
            column,
            ingested_column: ingested,
            deleted_column: deleted,
            unfinished_day: (!include_today).then(|| now().day()),
            ..Default::default()
        };
        let options = ChangeOptions { create_dataset: create, dry_run, ..Default::default() };
        let http = Options { timeout, max_bytes, max_age: None, ca_file, insecure };
        let wanted =
            mirror::Imported { source, reading, is_daily, options, http: http.source(None)? };
        let at = ChangeTime::of(at)?;
        let imported =
            run(py, |monitor| mirror::import(&self.opened, &self.name, wanted, at, &monitor))?;
        mirror::imported(py, &imported, &self.name, dry_run)
    }

    /// Brings the mirror to the set of its primary, in one change that is proved by the identifier.
    ///
    /// `primary` is a manifest, a registry, or the address of a published dataset; without it, the one
    /// of the last pull. Only a mirror that is new, identical or behind is changed, unless `reset`. A file of
    /// which other bytes are known here keeps them, with a warning, unless `max_replace` accepts the primary's.
    ///
    /// >>> reg = open("example.db", create=True)
    /// >>> applied = reg.dataset("US.FOOL2.002").sync(["A", "B"], create=True)
    /// >>> reg.dataset("US.FOOL2.002").export("us.jsonl")
    /// >>> reg.dataset("MIRROR").mirror_pull("us.jsonl", create=True).identical
    /// True
    #[pyo3(signature = (primary = None, *, primary_dataset = None, primary_at = None, at = None, reset = false, max_delete = None, max_add = None, max_replace = None, create = false, dry_run = false, timeout = None, max_bytes = None, max_age = None, ca_file = None, insecure = false))]
    #[expect(clippy::too_many_arguments, reason = "they are the options of the command line")]
    fn mirror_pull<'py>(
        &self,
        py: Python<'py>,
        primary: Option<PathBuf>,
        primary_dataset: Option<&str>,
        primary_at: Option<&Bound<'py, PyAny>>,
        at: Option<&Bound<'py, PyAny>>,
        reset: bool,
        max_delete: Option<&Bound<'py, PyAny>>,
        max_add: Option<&Bound<'py, PyAny>>,
        max_replace: Option<&Bound<'py, PyAny>>,
        create: bool,
        dry_run: bool,
        timeout: Option<u64>,
        max_bytes: Option<u64>,
        max_age: Option<&Bound<'py, PyAny>>,
        ca_file: Option<PathBuf>,
        insecure: bool,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let max_age = duration("max_age", max_age)?;
        let http = Options { timeout, max_bytes, max_age, ca_file, insecure };
        let at_primary = moment_or_none("primary_at", primary_at)?;
        let options = http.source(primary_dataset)?;
        let primary = Primary { place: primary, options, at: at_primary };
        let limits = Limits {
            max_delete: limit("max_delete", max_delete)?,
            max_add: limit("max_add", max_add)?,
            max_replace: None,
        };
        let options = PullOptions {
            primary_at: at_primary,
            create_dataset: create,
            policy: if reset { PullPolicy::Reset(limits) } else { PullPolicy::Follow },
            max_replace: limit("max_replace", max_replace)?,
            dry_run,
        };
        let at = ChangeTime::of(at)?;
        let pulled = run(py, |monitor| {
            mirror::pull(&self.opened, &self.name, primary, options, at, &monitor)
        })?;
        mirror::pulled(py, &self.name, &pulled, dry_run)
    }

    /// How the mirror compares with its primary, and which granules differ.
    #[pyo3(signature = (primary = None, *, primary_dataset = None, primary_at = None, timeout = None, max_bytes = None, max_age = None, ca_file = None, insecure = false))]
    #[expect(clippy::too_many_arguments, reason = "they are the options of the command line")]
    fn mirror_compare(
        &self,
        py: Python<'_>,
        primary: Option<PathBuf>,
        primary_dataset: Option<&str>,
        primary_at: Option<&Bound<'_, PyAny>>,
        timeout: Option<u64>,
        max_bytes: Option<u64>,
        max_age: Option<&Bound<'_, PyAny>>,
        ca_file: Option<PathBuf>,
        insecure: bool,
    ) -> Result<MirrorComparison, Failure> {
        let max_age = duration("max_age", max_age)?;
        let http = Options { timeout, max_bytes, max_age, ca_file, insecure };
        let (options, at) =
            (http.source(primary_dataset)?, moment_or_none("primary_at", primary_at)?);
        let primary = Primary { place: primary, options, at };
        run(py, |monitor| mirror::compare(&self.opened, &self.name, primary, &monitor))
    }

    fn __repr__(&self) -> String {
        format!("<Dataset {} of {:?}>", self.name, self.opened.address())
    }

    fn _repr_html_(&self, py: Python<'_>) -> Result<String, Failure> {
        self.set(py, None, None)?._repr_html_(py)
    }
}
