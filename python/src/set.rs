//! Sets of granules: what is known of them, and how they are cited.

use std::path::PathBuf;
use std::sync::Arc;

use accession::FileRecord;
use accession::fixity::ListStyle;
use accession::{Citation, CitationFormat};
use accession::{GranuleId, Selection, SubsetMembers};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

use crate::asked::{Asked, Set};
use crate::error::Failure;
use crate::fixity;
use crate::ids;
use crate::keywords::{Keywords, all_parsed, parsed};
use crate::opened::Opened;
use crate::pages::FileOf;
use crate::record::{object, warn_all};
use crate::rows::{Rows, in_pages};
use crate::time::now;
use crate::work::run;

/// The granules of a subset that is cited: those of patterns, or of a list. `None` means all.
fn members(options: &Keywords<'_, '_>) -> Result<Option<SubsetMembers>, Failure> {
    let select: Option<Vec<String>> = options.value("select")?;
    match (select, options.get("select_from")?) {
        (Some(_), Some(_)) => Err(Failure::usage("select and select_from exclude each other", "")),
        (Some(patterns), None) => {
            Ok(Some(SubsetMembers::Patterns(all_parsed("select", &patterns)?)))
        }
        (None, Some(list)) => {
            let column = options.value::<String>("column")?;
            Ok(Some(SubsetMembers::Listed(ids::listing(&list, column.as_deref())?)))
        }
        (None, None) => Ok(None),
    }
}

/// The arguments of a citation.
pub const OF_CITATION: &str = "format select select_from column";

/// Cites a set, or a subset of it.
///
/// # Errors
///
/// The set does not exist; the subset has nothing.
pub fn cite(
    py: Python<'_>,
    opened: &Opened,
    asked: Asked,
    options: &Keywords<'_, '_>,
) -> Result<String, Failure> {
    let format: Option<String> = options.value("format")?;
    let format: CitationFormat = parsed("format", format.as_deref().unwrap_or("text"))?;
    let members = members(options)?;
    let (cited, at, mut warnings) = run(py, |token| {
        let registry = opened.reader(token.clone())?;
        let snapshot = registry.snapshot()?;
        let selection = asked.selection(&snapshot)?;
        let at = asked.cited_at(&selection);
        let selection = match (selection, at) {
            (Selection::Dataset { name, .. }, Some(at)) => {
                Selection::Dataset { name, at: Some(at) }
            }
            (selection, _) => selection,
        };
        let Some(members) = members else {
            // If the identifier had several contents, none of them is chosen silently.
            if asked.is_typed() {
                snapshot.select_contents(&selection)?;
            }
            return Ok((snapshot.cite(&selection)?, at, Vec::new()));
        };
        drop(snapshot);
        let Selection::Dataset { name, at: named } = selection else {
            let message = "a subset is selected from a dataset as of a time";
            return Err(Failure::usage(message, "name the set as DATASET or DATASET@TIME"));
        };
        let at = at.or(named);
        let cited = registry.cite_members(&name, at, &members)?;
        let warnings = cited.warnings();
        Ok((cited.cited, at, warnings))
    })?;
    warnings.extend(cited.warnings(at, now()));
    warn_all(py, &warnings)?;
    let resolver = std::env::var("ACCESSION_RESOLVER").ok().filter(|text| !text.is_empty());
    let citation = Citation::new(cited, at, now().day()).with_resolver(resolver.as_deref());
    Ok(citation.render(format))
}

impl Set {
    /// How many granules it has, and when they were held, in words.
    fn held(&self) -> String {
        let (instance, granules) = (self.set.instance(), self.set.granule_count());
        let until = instance.until.map_or("now".to_owned(), |until| until.to_string());
        let (dataset, from) = (&instance.dataset, instance.timestamp);
        let of = if self.is_subset() { "a subset of " } else { "" };
        format!("{of}{dataset} from {from} until {until}, {granules} granules")
    }
}

#[pymethods]
impl Set {
    /// The identifier: 32 hexadecimal digits, which depend on nothing but the ids.
    #[getter]
    fn identifier(&self) -> String {
        self.set.identifier().to_string()
    }

    /// The name of the dataset.
    #[getter]
    fn dataset(&self) -> String {
        self.set.dataset().to_string()
    }

    /// When the change took effect from which on the dataset held it.
    #[getter]
    fn timestamp<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        Ok(self.instance(py)?.getattr("timestamp")?)
    }

    /// When the next change took effect; None while it is in force.
    #[getter]
    fn until<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        Ok(self.instance(py)?.getattr("until")?)
    }

    /// The instance, or the one from which the subset was selected.
    #[getter]
    fn instance<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        object(py, "Instance", self.set.instance())
    }

    /// Whether it is a subset that was cited, and not all that a dataset held.
    #[getter]
    fn is_subset(&self) -> bool {
        self.set.subset().is_some()
    }

    /// The ids, in canonical order. The identifier is proved at the end, unless the list begins after
    /// an id.
    #[pyo3(signature = (*, after = None))]
    pub fn granules(&self, after: Option<&str>) -> Result<Rows, Failure> {
        let after: Option<GranuleId> = after.map(|id| parsed("after", id)).transpose()?;
        let (opened, set) = (Arc::clone(&self.opened), self.set.clone());
        let title = format!("granules of DI:{}", self.identifier());
        let count = after.is_none().then(|| set.granule_count());
        Ok(Rows::of(title, count, move |token| {
            let registry = opened.reader(token)?;
            let granules = match &after {
                None => registry.granules(&set),
                after => registry.granules_after(&set, after.as_ref()),
            };
            Ok(granules.into_id_pages().map(|page| page.map_err(Failure::from)))
        }))
    }

    /// What is known of the files of the granules, by granule and path: their sizes and checksums.
    fn files(&self) -> Rows {
        let (opened, set) = (Arc::clone(&self.opened), self.set.clone());
        let title = format!("files of DI:{}", self.identifier());
        Rows::of(title, None, move |token| {
            let listed = opened.reader(token)?.files(&set);
            Ok(in_pages(listed.flat_map(|granule| match granule {
                Err(error) => vec![Err(error.into())],
                Ok(granule) => {
                    let row = |file: &FileRecord| Ok(FileOf::new(&granule.granule_id, file));
                    granule.content.files().iter().map(row).collect()
                }
            })))
        })
    }

    /// Checks files below a directory against their recorded sizes and checksums, and records what was
    /// checked and found.
    ///
    /// With `for_`, the check goes on where the last one of this directory ended, and begins no further
    /// file after that time. `root_name` is the name under which it is recorded.
    ///
    /// >>> import pathlib
    /// >>> dataset = ar.open("example.db", create=True).dataset("US.FOOL2.002")
    /// >>> applied = dataset.sync(["A.nc"], create=True)
    /// >>> pathlib.Path("data").mkdir()
    /// >>> _ = pathlib.Path("data/A.nc").write_text("abc")
    /// >>> computed = dataset.fixity_compute("data")
    /// >>> dataset.set().fixity_check("data").ok
    /// True
    /// >>> _ = pathlib.Path("data/A.nc").write_text("abd")
    /// >>> [(finding.path, finding.status) for finding in dataset.set().fixity_check("data").findings]
    /// [('A.nc', 'checksum')]
    #[pyo3(
        signature = (root, **options),
        text_signature = "($self, root, *, root_name=None, jobs=None, size_only=False, for_=None, unexpected=False, mounted=False)"
    )]
    fn fixity_check<'py>(
        &self,
        py: Python<'py>,
        root: PathBuf,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let names = "root_name jobs size_only for_ unexpected mounted";
        let options = Keywords::of(options, &[names])?;
        fixity::check(py, &self.opened, &self.set, root, &options)
    }

    /// The recorded checksums as `sha256sum --check` reads them, or with `format="bagit"` as a manifest of
    /// BagIt. A file without a checksum of the algorithm is left out, with a warning. `files()` has
    /// everything that is known, as a table.
    #[pyo3(signature = (*, algorithm = None, format = "checksums"))]
    fn fixity_list(
        &self,
        py: Python<'_>,
        algorithm: Option<&str>,
        format: &str,
    ) -> Result<String, Failure> {
        let style = match format {
            "checksums" => ListStyle::Checksums,
            "bagit" => ListStyle::BagIt,
            _ => return Err(Failure::usage("format is \"checksums\" or \"bagit\"", "")),
        };
        fixity::list(py, &self.opened, &self.set, algorithm, style)
    }

    /// The digest: the SHA-256 of the list of the ids with the strongest checksums of their files. Two
    /// archives with equal digests hold the same granules, with the same checksums.
    #[getter]
    fn digest(&self) -> String {
        self.set.digest().to_string()
    }

    /// A citation with the identifier inside.
    ///
    /// >>> dataset = ar.open("example.db", create=True).dataset("US.FOOL2.002")
    /// >>> applied = dataset.sync(["A", "B"], at="2001-01-02", create=True)
    /// >>> "DI:8f714d3efb0e51ed23fb7eeecca3009b" in dataset.set().cite(format="bibtex")
    /// True
    #[pyo3(signature = (**format), text_signature = "($self, *, format=\"text\")")]
    fn cite(&self, py: Python<'_>, format: Option<&Bound<'_, PyDict>>) -> Result<String, Failure> {
        let options = Keywords::of(format, &["format"])?;
        cite(py, &self.opened, Asked::found(&self.set), &options)
    }

    /// The ids as a `pyarrow.Table` with the column `granule`.
    fn to_arrow<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        self.granules(None)?.to_arrow(py)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyCapsule>, Failure> {
        self.granules(None)?.__arrow_c_stream__(py, requested_schema)
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.set.granule_count()).unwrap_or(usize::MAX)
    }

    fn __iter__(&self) -> Result<Rows, Failure> {
        self.granules(None)
    }

    fn __contains__(&self, py: Python<'_>, granule: &str) -> Result<bool, Failure> {
        let Ok(granule_id) = GranuleId::new(granule) else { return Ok(false) };
        self.opened
            .read(py, |snapshot| Ok(!snapshot.held_among(&self.set, &[granule_id])?.is_empty()))
    }

    /// Whether both have the same granules, with the same checksums.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let names = |set: &accession::Set| (set.identifier(), set.digest());
        other.cast::<Set>().is_ok_and(|other| names(&other.get().set) == names(&self.set))
    }

    fn __hash__(&self) -> u64 {
        let identifier = self.set.identifier().to_string();
        u64::from_str_radix(&identifier[..16], 16).unwrap_or_default()
    }

    fn __str__(&self) -> String {
        format!("DI:{}", self.set.identifier())
    }

    fn __repr__(&self) -> String {
        format!("<Set DI:{}: {}>", self.set.identifier(), self.held())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyTuple>, Failure> {
        let function = py.import("accession_registry._native")?.getattr("open_set")?;
        let (identifier, digest, dataset) = (self.identifier(), self.digest(), self.dataset());
        let from = match self.is_subset() {
            true => None,
            false => Some(self.set.instance().timestamp.to_string()),
        };
        let named = (self.opened.whole_address(), dataset, from, identifier, digest);
        Ok((function, named).into_pyobject(py)?)
    }

    /// What a notebook shows.
    pub fn _repr_html_<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        let html = py.import("accession_registry._html")?;
        let shown = (self.held(), self.identifier(), self.cite(py, None)?, self.instance(py)?);
        Ok(html.call_method1("cited", shown)?)
    }
}
