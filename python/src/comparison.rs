//! Comparisons of sets, of a set and a list, and of a mirror and its primary.

use std::sync::Arc;

use accession::Differences;
use accession::GranuleId;
use accession::disk::Spool;
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

/// The ids of a spool, from the first one.
fn ids_of(spool: Arc<Spool>) -> impl Iterator<Item = Result<GranuleId, Failure>> {
    let mut at = 0;
    (0..spool.count()).map(move |_| {
        let record = spool.record_at(at)?;
        // Its length is before each record.
        at += 8 + record.len() as u64;
        GranuleId::from_bytes(&record).map_err(|cause| Failure::unreadable("id", cause))
    })
}

/// The number of granules on both sides of a comparison, and three lists of granules: those only on the left
/// side, those only on the right side, and those with different files.
#[pyclass(frozen, module = "accession_registry")]
#[derive(Debug)]
pub struct Sides {
    #[pyo3(get)]
    matched: u64,
    lists: Vec<Arc<Spool>>,
}

/// Reads all granules that only one of two sets has.
fn read(differences: Differences) -> Result<TwoSides, accession::Error> {
    TwoSides::read(differences, ["on the left", "on the right"], u64::MAX)
}

impl From<TwoSides> for Sides {
    fn from(TwoSides { counts, left, right, other, .. }: TwoSides) -> Self {
        Sides { matched: counts.granules.matched, lists: [left, right, other].map(Arc::new).into() }
    }
}

#[pymethods]
impl Sides {
    /// The ids of a list, which are `what` in words.
    fn ids(&self, index: usize, what: &str) -> Result<Rows, Failure> {
        let missing = || Failure::usage("there is no such list", "");
        let spool = Arc::clone(self.lists.get(index).ok_or_else(missing)?);
        let (title, count) = (format!("granules {what}"), spool.count());
        Ok(Rows::of(title, Some(count), move |_| {
            Ok(in_pages(ids_of(Arc::clone(&spool)))
                .map(|page| Ok(page?.iter().collect::<IdPage>())))
        }))
    }

    /// The granules that only one side has, each with the name of the side.
    fn table(&self, left: String, right: String) -> Rows {
        let sides: Vec<_> = [left, right].into_iter().zip(self.lists.iter().cloned()).collect();
        let count = sides.iter().map(|(_, spool)| spool.count()).sum();
        Rows::of("granules that only one side has".to_owned(), Some(count), move |_| {
            Ok(in_pages(sides.clone().into_iter().flat_map(|(side, spool)| {
                let of_side = move |granule_id| OfSide { side: side.clone(), granule: granule_id };
                ids_of(spool).map(move |granule_id| granule_id.map(&of_side))
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
