//! A dataset: its changes, its history, and its record.

use std::path::PathBuf;
use std::sync::Arc;

use accession::citation::refuse_future;
use accession::mirror::{PullOptions, PullPolicy, manifest};
use accession::{Change, EventKind, HistoryOptions, ListingBuilder};
use accession::{Selection, SetSpec};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::asked::{self, Asked, Dataset, Set};
use crate::edit;
use crate::error::Failure;
use crate::fixity;
use crate::ids;
use crate::keywords::{HTTP, Keywords};
use crate::mirror::{self, NamedPrimary};
use crate::record::{self, object, warn_all};
use crate::rows::{Rows, in_pages};
use crate::target::Target;
use crate::time::{moment, now};
use crate::work::run;

/// The arguments of every change.
const OF_CHANGE: &str = "at note dry_run";

/// The arguments of a change, with these.
fn of_change<'a, 'py>(
    given: Option<&'a Bound<'py, PyDict>>,
    others: &str,
) -> Result<Keywords<'a, 'py>, Failure> {
    Keywords::of(given, &[OF_CHANGE, others])
}

impl Dataset {
    fn change<'py>(
        &self,
        py: Python<'py>,
        (ingest, delete): (Option<&Bound<'py, PyAny>>, Option<&Bound<'py, PyAny>>),
        column: Option<&str>,
        options: &Keywords<'_, 'py>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let (at, mut change, own) = (options.at()?, Change::new(), &self.opened.location);
        change.options = options.change()?;
        let dry_run = change.options.is_dry_run();
        let mut taken = Vec::new();
        for (list, kind) in [(ingest, EventKind::Ingested), (delete, EventKind::Deleted)] {
            if let Some(list) = list {
                let mut target = Target::Change(&mut change, kind, own);
                taken.push((ids::take(list, column, &mut target)?, kind));
            }
        }
        let (applied, warnings) = run(py, move |token| {
            let mut warnings = Vec::new();
            for (taken, kind) in taken {
                warnings.extend(taken.read(&mut Target::Change(&mut change, kind, own), &token)?);
            }
            let registry = self.opened.writer(at, token)?;
            Ok((registry.change(&self.name, &change)?, warnings))
        })?;
        record::applied(py, (&applied, &warnings), &self.name, dry_run)
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
    /// DuckDB), of which `column` names the column; what a catalogue returned: a response of CMR, STAC or
    /// ESGF, or earthaccess results, STAC items, dictionaries with UMM-G; or what `sources` lists. A listing
    /// that lacks pages, or would delete or add too much, is refused.
    ///
    /// >>> dataset = ar.open("example.db", create=True).dataset("US.FOOL2.002")
    /// >>> dataset.sync(["A", "B"], create=True, note="first delivery").added
    /// 2
    /// >>> applied = dataset.sync(["A", "B", "C"])
    /// >>> applied.added, applied.removed
    /// (1, 0)
    #[pyo3(
        signature = (ids, *, column = None, **options),
        text_signature = "($self, ids, *, at=None, note=None, max_delete=None, max_add=None, create=False, dry_run=False, max_replace=None, column=None)"
    )]
    fn sync<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        column: Option<&str>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let py = ids.py();
        let options = of_change(options, "max_delete max_add create max_replace")?;
        let (at, limits, options) = (options.at()?, options.limits()?, options.change()?);
        let mut builder = ListingBuilder::new();
        let own = Some(&self.opened.location);
        let taken = ids::take(ids, column, &mut Target::Listing(&mut builder, own))?;
        let (applied, warnings) = run(py, |token| {
            let warnings = taken.read(&mut Target::Listing(&mut builder, own), &token)?;
            let listing = builder.finish();
            let registry = self.opened.writer(at, token)?;
            Ok((registry.sync(&self.name, &listing, limits, &options)?, warnings))
        })?;
        record::applied(py, (&applied, &warnings), &self.name, options.is_dry_run())
    }

    /// Adds granules, in one change. If one is refused, nothing is changed.
    #[pyo3(
        signature = (ids, *, column = None, **options),
        text_signature = "($self, ids, *, at=None, note=None, skip_existing=False, create=False, dry_run=False, max_replace=None, column=None)"
    )]
    fn ingest<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        column: Option<&str>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let options = of_change(options, "skip_existing create max_replace")?;
        self.change(ids.py(), (Some(ids), None), column, &options)
    }

    /// Marks granules deleted, in one change. Nothing is erased: earlier sets can still be listed.
    #[pyo3(
        signature = (ids, *, column = None, **options),
        text_signature = "($self, ids, *, at=None, note=None, skip_missing=False, dry_run=False, column=None)"
    )]
    fn delete<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        column: Option<&str>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let options = of_change(options, "skip_missing")?;
        self.change(ids.py(), (None, Some(ids)), column, &options)
    }

    /// Adds granules and marks others deleted, in one change.
    #[pyo3(
        name = "change",
        signature = (*, ingest = None, delete = None, column = None, **options),
        text_signature = "($self, *, ingest=None, delete=None, at=None, note=None, skip_existing=False, skip_missing=False, dry_run=False, max_replace=None, column=None)"
    )]
    fn change_both<'py>(
        &self,
        py: Python<'py>,
        ingest: Option<&Bound<'py, PyAny>>,
        delete: Option<&Bound<'py, PyAny>>,
        column: Option<&str>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let options = of_change(options, "skip_existing skip_missing max_replace")?;
        self.change(py, (ingest, delete), column, &options)
    }

    /// Makes the dataset hold an earlier set again, in one new change: that of a time, of an
    /// identifier, or of a digest.
    #[pyo3(
        signature = (to, **options),
        text_signature = "($self, to, *, at=None, note=None, dry_run=False)"
    )]
    fn revert<'py>(
        &self,
        to: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let py = to.py();
        let options = of_change(options, "")?;
        let (at, options) = (options.at()?, options.change()?);
        let text = to.cast::<PyString>().ok().map(|text| text.to_str()).transpose()?;
        let named =
            text.and_then(|text| text.parse::<SetSpec>().ok()).filter(SetSpec::is_identified);
        let time = match named {
            Some(_) => accession::Moment::Instant(now()),
            None => moment("to", to)?,
        };
        let applied = run(py, |token| {
            let to = match &named {
                Some(named) => {
                    let snapshot = self.opened.reader(token.clone())?.snapshot()?;
                    snapshot.resolve(named)?.in_dataset(&self.name)?
                }
                None => {
                    refuse_future(time, now())?;
                    Selection::Dataset { name: self.name.clone(), at: Some(time) }
                }
            };
            let registry = self.opened.writer(at, token)?;
            Ok(registry.revert(&self.name, &to, &options)?)
        })?;
        record::applied(py, (&applied, &[]), &self.name, options.is_dry_run())
    }

    /// The set that the dataset held at a time, or holds now.
    ///
    /// >>> dataset = ar.open("example.db", create=True).dataset("US.FOOL2.002")
    /// >>> applied = dataset.sync(["A", "B"], at="2001-01-02", create=True)
    /// >>> dataset.set(at="2001-01-05").identifier
    /// '8f714d3efb0e51ed23fb7eeecca3009b'
    #[pyo3(signature = (**times), text_signature = "($self, *, at=None, known_at=None)")]
    fn set(&self, py: Python<'_>, times: Option<&Bound<'_, PyDict>>) -> Result<Set, Failure> {
        let times = Keywords::of(times, &["at known_at"])?;
        let asked = Asked::named(self.name.as_str())?.at(times.moment("at")?)?;
        asked::find(py, &self.opened, asked, times.moment("known_at")?)
    }

    /// The instances of the dataset, oldest first.
    #[pyo3(
        signature = (**options),
        text_signature = "($self, *, since=None, until=None, reverse=False, known_at=None)"
    )]
    pub fn history(
        &self,
        py: Python<'_>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Result<Rows, Failure> {
        let options = Keywords::of(options, &["since until reverse known_at"])?;
        let (since, until) = (options.moment("since")?, options.moment("until")?);
        let (known_at, reverse) = (options.moment("known_at")?, options.is_set("reverse")?);
        let (opened, name) = (Arc::clone(&self.opened), self.name.clone());
        let rows = Rows::of(format!("history of {name}"), None, move |token| {
            let registry = opened.reader(token)?;
            // An unknown dataset is an error now, and not when the list is read.
            registry.snapshot()?.present_name(&name)?;
            let mut options = HistoryOptions::new();
            if let Some(known_at) = known_at {
                options = options.known_at(known_at.last_instant());
            }
            if let Some(since) = since {
                options = options.since(since.first_instant());
            }
            if let Some(until) = until {
                options = options.until(until.last_instant());
            }
            if reverse {
                options = options.newest_first();
            }
            let history = registry.history(&name, &options);
            Ok(in_pages(history.map(|instance| instance.map_err(Failure::from))))
        });
        rows.begun(py)
    }

    /// Registers the dataset if it does not exist, and sets fields of its record: `doi`, `title`,
    /// `description`, `creators`, `publisher`, `version`, `year`, `url`, `licence`, `archive`,
    /// `granule_url`, `resolver`, `keywords`, `free_access`, `temporal`, `max_delete`, `max_add`,
    /// `max_replace`. None removes a field.
    ///
    /// >>> dataset = ar.open("example.db", create=True).dataset("US.FOOL2.002")
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
        let edits = edit::of(fields)?;
        run(py, |token| edit::apply(&self.opened, &self.name, &edits, create, shared_doi, token))?;
        self.record(py)
    }

    /// States the sizes and checksums of files of granules that are held, in one change.
    ///
    /// `files` is an iterable of `FileRecord`, records of a catalogue, or the path of a file such as
    /// `sha256sum` writes it. What contradicts that which is known is refused, unless `max_replace` accepts
    /// it, with a `note` that says why.
    ///
    /// >>> dataset = ar.open("example.db", create=True).dataset("US.FOOL2.002")
    /// >>> applied = dataset.sync(["A.nc"], create=True)
    /// >>> record = ar.FileRecord("A.nc", "A.nc", 3, {"md5": "900150983cd24fb0d6963f7d28e17f72"})
    /// >>> dataset.fixity_add([record]).instance.described
    /// 1
    #[pyo3(
        signature = (files, *, format = None, **options),
        text_signature = "($self, files, *, format=None, at=None, note=None, skip_missing=False, max_replace=None, dry_run=False)"
    )]
    fn fixity_add<'py>(
        &self,
        files: &Bound<'py, PyAny>,
        format: Option<&str>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let options = of_change(options, "skip_missing max_replace")?;
        fixity::add(&self.opened, &self.name, files, format, options.change()?, options.at()?)
    }

    /// Computes and records the checksums of files below a directory that have none of an algorithm.
    ///
    /// A file that cannot be read, or is not as it is recorded, is a finding, and gets none. What was
    /// computed is recorded once an hour, at the end, and when the call is interrupted.
    ///
    /// >>> import pathlib
    /// >>> dataset = ar.open("example.db", create=True).dataset("US.FOOL2.002")
    /// >>> applied = dataset.sync(["A.nc"], create=True)
    /// >>> pathlib.Path("data").mkdir()
    /// >>> _ = pathlib.Path("data/A.nc").write_text("abc")
    /// >>> dataset.fixity_compute("data")
    /// FixityCheck(files=1, bytes=3, complete=True, findings=[])
    #[pyo3(
        signature = (root, **options),
        text_signature = "($self, root, *, algorithm=\"sha-256\", jobs=None, mounted=False, note=None)"
    )]
    fn fixity_compute<'py>(
        &self,
        py: Python<'py>,
        root: PathBuf,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let options = Keywords::of(options, &["algorithm jobs mounted note"])?;
        fixity::compute(py, &self.opened, &self.name, root, &options)
    }

    /// Forgets a directory in which files were checked. Returns how many findings were closed.
    fn fixity_forget(&self, py: Python<'_>, root: &str) -> Result<u64, Failure> {
        run(py, |token| {
            let forgotten = self.opened.reader(token)?.forget_root(&self.name, root)?;
            forgotten.ok_or_else(|| {
                let message = format!("{} was never checked at {root}", self.name);
                Failure::usage(message, "Registry.status() lists where it was")
            })
        })
    }

    /// Writes the whole history as a manifest, from which it can be rebuilt and verified elsewhere. The
    /// file appears when it is complete.
    #[pyo3(signature = (output, **until), text_signature = "($self, output, *, until=None)")]
    fn export(
        &self,
        py: Python<'_>,
        output: PathBuf,
        until: Option<&Bound<'_, PyDict>>,
    ) -> Result<(), Failure> {
        let until = Keywords::of(until, &["until"])?.moment("until")?;
        run(py, |token| {
            let registry = self.opened.reader(token)?;
            Ok(manifest::export(&registry, &self.name, until, &output)?)
        })
    }

    /// Builds the history from a file with times of ingest and deletion, a change log, a manifest, or
    /// the address of a published dataset. What is in the history already is skipped.
    #[pyo3(
        name = "import_",
        signature = (source, **options),
        text_signature = "($self, source, *, format=None, column=None, ingested=None, deleted=None, create=False, dry_run=False, at=None, timeout=None, max_bytes=None, ca_file=None, insecure=False)"
    )]
    fn import<'py>(
        &self,
        py: Python<'py>,
        source: PathBuf,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let options = Keywords::of(options, &mirror::OF_IMPORT)?;
        let (wanted, at) = (mirror::Imported::of(source, &options)?, options.at()?);
        let dry_run = wanted.options.is_dry_run();
        let imported =
            run(py, |token| mirror::import(&self.opened, &self.name, wanted, at, &token))?;
        mirror::imported(py, &imported, &self.name, dry_run)
    }

    /// Brings the mirror to the set of its primary, in one change that is proved by the identifier.
    ///
    /// `primary` is a manifest, a registry, or the address of a published dataset; without it, the one
    /// of the last pull. Only a mirror that is new, identical or behind is changed, unless `reset`. A file of
    /// which other bytes are known here keeps them, with a warning.
    ///
    /// >>> reg = ar.open("example.db", create=True)
    /// >>> applied = reg.dataset("US.FOOL2.002").sync(["A", "B"], create=True)
    /// >>> reg.dataset("US.FOOL2.002").export("us.jsonl")
    /// >>> reg.dataset("MIRROR").mirror_pull("us.jsonl", create=True).identical
    /// True
    #[pyo3(
        signature = (primary = None, **options),
        text_signature = "($self, primary=None, *, primary_dataset=None, at=None, reset=False, max_delete=None, max_add=None, create=False, dry_run=False, timeout=None, max_bytes=None, max_age=None, ca_file=None, insecure=False)"
    )]
    fn mirror_pull<'py>(
        &self,
        py: Python<'py>,
        primary: Option<PathBuf>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let of_pull = "at reset max_delete max_add create dry_run";
        let options = Keywords::of(options, &[mirror::OF_PRIMARY, HTTP, of_pull])?;
        let (primary, at) = (NamedPrimary::of(primary, &options)?, options.at()?);
        let policy = match options.is_set("reset")? {
            true => PullPolicy::Reset(options.limits()?),
            false => PullPolicy::Follow,
        };
        let dry_run = options.is_set("dry_run")?;
        let options = PullOptions::new()
            .at(at.at)
            .if_missing(options.if_missing()?)
            .policy(policy)
            .dry_run(dry_run);
        let pulled =
            run(py, |token| mirror::pull(&self.opened, &self.name, primary, options, at, &token))?;
        mirror::pulled(py, &self.name, &pulled, dry_run)
    }

    /// How the mirror compares with its primary, and which granules differ.
    #[pyo3(
        signature = (primary = None, **options),
        text_signature = "($self, primary=None, *, primary_dataset=None, timeout=None, max_bytes=None, max_age=None, ca_file=None, insecure=False)"
    )]
    fn mirror_compare<'py>(
        &self,
        py: Python<'py>,
        primary: Option<PathBuf>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let options = Keywords::of(options, &[mirror::OF_PRIMARY, HTTP])?;
        let primary = NamedPrimary::of(primary, &options)?;
        let (compared, warnings) =
            run(py, |token| mirror::compare(&self.opened, &self.name, primary, &token))?;
        warn_all(py, &warnings)?;
        let comparisons = py.import("accession_registry._comparisons")?;
        Ok(comparisons.call_method1("MirrorComparison", compared)?)
    }

    fn __repr__(&self) -> String {
        format!("<Dataset {} of {:?}>", self.name, self.opened.address())
    }

    fn _repr_html_<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        self.set(py, None)?._repr_html_(py)
    }
}
