//! Comparisons of sets, of a set and a list, and of a mirror and its primary.

use std::sync::Arc;

use accession::disk::Spool;
use accession::model::IdPage;
use accession::{Difference, GranuleId, Listing};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::asked::Asked;
use crate::error::Failure;
use crate::html;
use crate::ids;
use crate::opened::Opened;
use crate::pages::OfSide;
use crate::rows::{Rows, in_pages};
use crate::target::Target;
use crate::work::run;

/// The ids of a spool, from the first one.
struct Spooled {
    spool: Arc<Spool>,
    at: u64,
    left: u64,
}

impl Spooled {
    fn of(spool: &Arc<Spool>) -> Self {
        Spooled { spool: Arc::clone(spool), at: 0, left: spool.count() }
    }
}

impl Iterator for Spooled {
    type Item = Result<GranuleId, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let record = match self.spool.record_at(self.at) {
            Ok(record) => record,
            Err(error) => return Some(Err(error.into())),
        };
        // Its length is before each record.
        self.at += 8 + record.len() as u64;
        Some(GranuleId::from_bytes(&record).map_err(|cause| Failure::unreadable("id", cause)))
    }
}

/// The ids of a spool, which are `what` in words.
fn rows_of(spool: &Arc<Spool>, what: &str) -> Rows {
    let (title, count) = (format!("granules {what}"), spool.count());
    let spool = Arc::clone(spool);
    Rows::of(title, Some(count), move |_| {
        Ok(in_pages(Spooled::of(&spool)).map(|page| Ok(page?.iter().collect::<IdPage>())))
    })
}

/// The granules of both sides, counted, and those that only one of them has.
pub struct Sides {
    pub matched: u64,
    pub left: Arc<Spool>,
    pub right: Arc<Spool>,
}

impl Sides {
    /// Both lists, as one table.
    fn rows(&self, [left, right]: [&'static str; 2]) -> Rows {
        let sides = [(left, Arc::clone(&self.left)), (right, Arc::clone(&self.right))];
        let count = self.left.count() + self.right.count();
        Rows::of("granules that only one side has".to_owned(), Some(count), move |_| {
            let sides = sides.clone().into_iter();
            Ok(in_pages(sides.flat_map(|(side, spool)| {
                Spooled::of(&spool).map(move |granule_id| Ok(OfSide(side, granule_id?)))
            })))
        })
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
    fn only_left(&self) -> Rows {
        rows_of(&self.sides.left, "that only the left set has")
    }

    /// The ids that only the right set, or the list, has.
    #[getter]
    fn only_right(&self) -> Rows {
        rows_of(&self.sides.right, "that only the right set or list has")
    }

    /// What only one of them has, as a `pyarrow.Table` with the columns `side` and `granule`.
    fn to_arrow<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        self.sides.rows(["left", "right"]).to_arrow(py)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyCapsule>, Failure> {
        self.sides.rows(["left", "right"]).__arrow_c_stream__(py, requested_schema)
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
    fn missing(&self) -> Rows {
        rows_of(&self.sides.right, "that only the primary has")
    }

    /// The ids that the mirror has and the primary has not.
    #[getter]
    fn unexpected(&self) -> Rows {
        rows_of(&self.sides.left, "that only the mirror has")
    }

    /// The ids that both have, of which the primary states other bytes than are known here.
    #[getter]
    fn other_content(&self) -> Rows {
        rows_of(&self.other_content, "of which the primary states other bytes")
    }

    /// What only one of them has, as a `pyarrow.Table` with the columns `side` and `granule`.
    fn to_arrow<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        self.sides.rows(["unexpected", "missing"]).to_arrow(py)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyCapsule>, Failure> {
        self.sides.rows(["unexpected", "missing"]).__arrow_c_stream__(py, requested_schema)
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
