//! Comparisons of sets, of a set and a list, and of a mirror and its primary.

use std::sync::Arc;

use accession::disk::Spool;
use accession::{Difference, Listing};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow_out::{self, Table, to_pyarrow};
use crate::error::Failure;
use crate::html;
use crate::ids::{self, Target};
use crate::registry::Opened;
use crate::set::Asked;
use crate::work::run;

/// Ids that only one side of a comparison has. They are in memory only while they are few.
#[pyclass(frozen, module = "accession_registry")]
pub struct Ids {
    spool: Arc<Spool>,
}

/// The ids of a spool, from the first one.
struct Spooled {
    spool: Arc<Spool>,
    at: u64,
    left: u64,
}

impl Iterator for Spooled {
    type Item = Result<String, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let record = match self.spool.record_at(self.at) {
            Ok(record) => record,
            Err(error) => return Some(Err(error.into())),
        };
        // Its length is before each record.
        self.at += 8 + record.len() as u64;
        Some(Ok(String::from_utf8_lossy(&record).into_owned()))
    }
}

impl Ids {
    pub fn of(spool: &Arc<Spool>) -> Self {
        Ids { spool: Arc::clone(spool) }
    }

    fn ids(&self) -> Spooled {
        Spooled { spool: Arc::clone(&self.spool), at: 0, left: self.spool.count() }
    }

    fn table(&self) -> Table {
        let mut ids = self.ids();
        let pages = std::iter::from_fn(move || {
            let page = ids.by_ref().take(4_096).map(|id| {
                accession::GranuleId::new(id?).map_err(|cause| Failure::unreadable("id", cause))
            });
            match page.collect::<Result<Vec<_>, _>>() {
                Err(failure) => Some(Err(failure)),
                Ok(page) if page.is_empty() => None,
                Ok(page) => Some(Ok(page.iter().collect())),
            }
        });
        arrow_out::of_ids(pages)
    }
}

#[pymethods]
impl Ids {
    fn __len__(&self) -> usize {
        usize::try_from(self.spool.count()).unwrap_or(usize::MAX)
    }

    fn __iter__(&self) -> IdsIterator {
        IdsIterator { ids: self.ids() }
    }

    /// The ids as a `pyarrow.Table` with the column `granule`.
    fn to_arrow<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        to_pyarrow(py, self.table().capsule(py)?)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        #[expect(unused_variables, reason = "a consumer converts what it wants otherwise")]
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyCapsule>, Failure> {
        self.table().capsule(py)
    }

    fn __repr__(&self) -> Result<String, Failure> {
        let shown = self.ids().take(3).collect::<Result<Vec<_>, _>>()?;
        let more = if self.spool.count() > 3 { ", …" } else { "" };
        let shown: Vec<String> = shown.iter().map(|id| format!("{id:?}")).collect();
        Ok(format!("<{} ids: {}{more}>", self.spool.count(), shown.join(", ")))
    }
}

#[pyclass]
struct IdsIterator {
    ids: Spooled,
}

#[pymethods]
impl IdsIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&mut self) -> Result<Option<String>, Failure> {
        self.ids.next().transpose()
    }
}

/// The granules of both sides, counted, and those that only one of them has.
pub struct Sides {
    pub matched: u64,
    pub left: Arc<Spool>,
    pub right: Arc<Spool>,
}

impl Sides {
    /// Both lists, as one table.
    pub fn table(&self, names: [&'static str; 2]) -> Table {
        let of = |spool: &Arc<Spool>, side| Ids::of(spool).ids().map(move |id| Ok((side, id?)));
        arrow_out::of_sides(of(&self.left, names[0]).chain(of(&self.right, names[1])))
    }
}

/// The result of a comparison: true if both have the same granules.
#[pyclass(frozen, module = "accession_registry")]
pub struct Comparison {
    left: String,
    right: String,
    sides: Sides,
}

/// Compares two sets, or a set with a list.
///
/// # Errors
///
/// A set does not exist; it is damaged.
pub fn compare(
    opened: &Opened,
    left: &Bound<'_, PyAny>,
    right: &Bound<'_, PyAny>,
    column: Option<&str>,
) -> Result<Comparison, Failure> {
    let py = left.py();
    let left = Asked::of(left)?;
    if Asked::is_meant(right) {
        let right = Asked::of(right)?;
        return run(py, |monitor| {
            let snapshot = opened.reader(monitor)?.snapshot()?;
            let (left, right) = (left.selection(&snapshot)?, right.selection(&snapshot)?);
            let mut differences = snapshot.compare(&left, &right)?;
            drop(snapshot);
            let (left, right) = spooled(differences.by_ref())?;
            let identifiers =
                [differences.left(), differences.right()].map(|set| set.identifier().to_string());
            let matched = differences.counts().matched;
            Ok(Comparison::of(identifiers, Sides { matched, left, right }))
        });
    }
    let mut listing = Listing::new();
    let taken = ids::take(right, column, &mut Target::Listing(&mut listing))?;
    run(py, move |monitor| {
        taken.read(&mut Target::Listing(&mut listing), &monitor)?;
        let snapshot = opened.reader(monitor)?.snapshot()?;
        let left = left.selection(&snapshot)?;
        let mut differences = snapshot.compare_with(&left, listing)?;
        drop(snapshot);
        let (left, right) = spooled(differences.by_ref())?;
        let listed = differences.identifier();
        let identifiers = [differences.left().identifier().to_string(), listed.to_string()];
        let matched = differences.counts().matched;
        Ok(Comparison::of(identifiers, Sides { matched, left, right }))
    })
}

fn spooled(
    differences: impl Iterator<Item = accession::error::Result<Difference>>,
) -> Result<(Arc<Spool>, Arc<Spool>), accession::Error> {
    let (mut left, mut right) = (Spool::default(), Spool::default());
    for difference in differences {
        match difference? {
            Difference::OnlyLeft(id) => left.add(id.as_str().as_bytes())?,
            Difference::OnlyRight(id) => right.add(id.as_str().as_bytes())?,
        };
    }
    Ok((Arc::new(left), Arc::new(right)))
}

impl Comparison {
    fn of([left, right]: [String; 2], sides: Sides) -> Self {
        Comparison { left, right, sides }
    }
}

#[pymethods]
impl Comparison {
    /// Whether both have the same granules.
    #[getter]
    fn identical(&self) -> bool {
        self.sides.left.count() == 0 && self.sides.right.count() == 0
    }

    /// The identifier of the left set.
    #[getter]
    fn left(&self) -> &str {
        &self.left
    }

    /// The identifier of the right set, or of the list.
    #[getter]
    fn right(&self) -> &str {
        &self.right
    }

    /// How many granules both have.
    #[getter]
    fn matched(&self) -> u64 {
        self.sides.matched
    }

    /// The ids that only the left set has.
    #[getter]
    fn only_left(&self) -> Ids {
        Ids::of(&self.sides.left)
    }

    /// The ids that only the right set, or the list, has.
    #[getter]
    fn only_right(&self) -> Ids {
        Ids::of(&self.sides.right)
    }

    /// What only one of them has, as a `pyarrow.Table` with the columns `side` and `granule`.
    fn to_arrow<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        to_pyarrow(py, self.sides.table(["left", "right"]).capsule(py)?)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        #[expect(unused_variables, reason = "a consumer converts what it wants otherwise")]
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyCapsule>, Failure> {
        self.sides.table(["left", "right"]).capsule(py)
    }

    fn __bool__(&self) -> bool {
        self.identical()
    }

    fn _repr_html_(&self) -> Result<String, Failure> {
        let Sides { matched, left, right } = &self.sides;
        let status = if self.identical() { "identical" } else { "NOT identical" };
        let lists = [("only left", left), ("only right", right)];
        html::lists(&format!("{status}: {matched} granules in both"), lists)
    }

    fn __repr__(&self) -> String {
        let Sides { matched, left, right } = &self.sides;
        match self.identical() {
            true => format!("<Comparison: identical, {matched} granules>"),
            false => format!(
                "<Comparison: {matched} in both, {} only left, {} only right>",
                left.count(),
                right.count()
            ),
        }
    }
}

/// How a mirror compares with its primary: true if they are identical.
#[pyclass(frozen, module = "accession_registry")]
pub struct MirrorComparison {
    pub status: String,
    pub behind_by: Option<u64>,
    pub sides: Sides,
    pub other_content: Arc<Spool>,
}

#[pymethods]
impl MirrorComparison {
    /// `identical`, `other-content`, `behind`, `ahead`, `diverged`, `stale` or `rewritten`.
    #[getter]
    fn status(&self) -> &str {
        &self.status
    }

    /// By how many changes the mirror is behind; None unless it is.
    #[getter]
    fn behind_by(&self) -> Option<u64> {
        self.behind_by
    }

    /// How many granules both have.
    #[getter]
    fn matched(&self) -> u64 {
        self.sides.matched
    }

    /// The ids that the primary has and the mirror has not.
    #[getter]
    fn missing(&self) -> Ids {
        Ids::of(&self.sides.right)
    }

    /// The ids that the mirror has and the primary has not.
    #[getter]
    fn unexpected(&self) -> Ids {
        Ids::of(&self.sides.left)
    }

    /// The ids that both have, of which the primary states other bytes than are known here.
    #[getter]
    fn other_content(&self) -> Ids {
        Ids::of(&self.other_content)
    }

    /// What only one of them has, as a `pyarrow.Table` with the columns `side` and `granule`.
    fn to_arrow<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        to_pyarrow(py, self.sides.table(["unexpected", "missing"]).capsule(py)?)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        #[expect(unused_variables, reason = "a consumer converts what it wants otherwise")]
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyCapsule>, Failure> {
        self.sides.table(["unexpected", "missing"]).capsule(py)
    }

    fn __bool__(&self) -> bool {
        self.status == "identical"
    }

    fn _repr_html_(&self) -> Result<String, Failure> {
        let Sides { matched, left, right } = &self.sides;
        let of = [
            ("only in the mirror", left),
            ("missing", right),
            ("other bytes", &self.other_content),
        ];
        html::lists(&format!("{}: {matched} granules in both", self.status), of)
    }

    fn __repr__(&self) -> String {
        let Sides { matched, left, right } = &self.sides;
        format!(
            "<MirrorComparison: {}, {matched} in both, {} missing, {} unexpected>",
            self.status,
            right.count(),
            left.count()
        )
    }
}
