//! Comparisons of sets, of a set and a list, and of a mirror and its primary.

use std::sync::Arc;

use accession::Differences;
use accession::GranuleId;
use accession::history::IdPage;
use accession::history::TwoSides;
use pyo3::prelude::*;

use crate::asked::Asked;
use crate::error::Failure;
use crate::ids;
use crate::opened::Opened;
use crate::pages::OfSide;
use crate::rows::{Rows, in_pages};
use crate::work::run;

/// The number of granules on both sides of a comparison, and three lists of granules: those only on the left
/// side, those only on the right side, and those with different files.
#[pyclass(frozen, module = "accession_registry")]
#[derive(Debug)]
pub struct Sides(Arc<TwoSides>);

/// Reads all granules that only one of two sets has.
fn read(differences: Differences) -> Result<TwoSides, accession::Error> {
    TwoSides::read(differences, ["on the left", "on the right"], u64::MAX)
}

impl From<TwoSides> for Sides {
    fn from(sides: TwoSides) -> Self {
        Sides(Arc::new(sides))
    }
}

/// The ids of a list of granules.
type Ids = Box<dyn Iterator<Item = Result<GranuleId, Failure>> + Send>;

/// One of the lists of granules of a comparison, in the order in which Python numbers them.
#[derive(Debug, Clone, Copy)]
enum List {
    OnlyLeft,
    OnlyRight,
    OtherContent,
}

impl List {
    const ALL: [List; 3] = [List::OnlyLeft, List::OnlyRight, List::OtherContent];

    fn count(self, sides: &TwoSides) -> u64 {
        match self {
            List::OnlyLeft => sides.counts.granules.only_left,
            List::OnlyRight => sides.counts.granules.only_right,
            List::OtherContent => sides.counts.contents.other,
        }
    }

    fn ids(self, sides: &TwoSides) -> Ids {
        match self {
            List::OnlyLeft => Box::new(sides.only_left().map(|id| Ok(id?))),
            List::OnlyRight => Box::new(sides.only_right().map(|id| Ok(id?))),
            List::OtherContent => Box::new(sides.other_content().map(|id| Ok(id?))),
        }
    }
}

#[pymethods]
impl Sides {
    /// The number of granules on both sides.
    #[getter]
    fn matched(&self) -> u64 {
        self.0.counts.granules.matched
    }

    /// The ids of a list, which are `what` in words.
    fn ids(&self, index: usize, what: &str) -> Result<Rows, Failure> {
        let missing = || Failure::usage("there is no such list", "");
        let list = *List::ALL.get(index).ok_or_else(missing)?;
        let (title, sides) = (format!("granules {what}"), Arc::clone(&self.0));
        let count = list.count(&sides);
        Ok(Rows::of(title, Some(count), move |_| {
            Ok(in_pages(list.ids(&sides)).map(|page| Ok(page?.iter().collect::<IdPage>())))
        }))
    }

    /// The granules that only one side has, each with the name of the side.
    fn table(&self, left: String, right: String) -> Rows {
        let lists = [(left, List::OnlyLeft), (right, List::OnlyRight)];
        let sides = Arc::clone(&self.0);
        let count = lists.iter().map(|(_, list)| list.count(&sides)).sum();
        Rows::of("granules that only one side has".to_owned(), Some(count), move |_| {
            let sides = Arc::clone(&sides);
            Ok(in_pages(lists.clone().into_iter().flat_map(move |(side, list)| {
                let of_side = move |granule_id| OfSide { side: side.clone(), granule: granule_id };
                list.ids(&sides).map(move |granule_id| granule_id.map(&of_side))
            })))
        })
    }
}

/// Compares two sets, or a set with a list.
///
/// # Errors
///
/// A set does not exist; it is damaged.
pub fn compare<'py>(
    opened: &Opened,
    left: &Bound<'py, PyAny>,
    right: &Bound<'py, PyAny>,
    column: Option<&str>,
) -> Result<Bound<'py, PyAny>, Failure> {
    let py = left.py();
    let left = Asked::of(left)?;
    let compared = if Asked::is_meant(right) {
        let right = Asked::of(right)?;
        run(py, |token| {
            let registry = opened.reader(token)?;
            let snapshot = registry.snapshot()?;
            let left = snapshot.select(&left.selection(&snapshot)?)?.set;
            let right = snapshot.select(&right.selection(&snapshot)?)?.set;
            drop(snapshot);
            let sides = Sides::from(read(registry.compare_files(&left, &right))?);
            Ok((left.identifier(), right.identifier(), sides))
        })
    } else {
        let listing = ids::listing(right, column)?;
        run(py, |token| {
            let registry = opened.reader(token)?;
            let snapshot = registry.snapshot()?;
            let left = snapshot.select(&left.selection(&snapshot)?)?.set;
            drop(snapshot);
            let sides = read(registry.compare_with(&left, &listing)?)?;
            Ok((left.identifier(), sides.counts.right, Sides::from(sides)))
        })
    };
    let (left, right, sides) = compared?;
    let comparisons = py.import("accession_registry._comparisons")?;
    Ok(comparisons.call_method1("Comparison", (left.to_string(), right.to_string(), sides))?)
}
