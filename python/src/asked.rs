//! How Python names a set: by a string, or as a `Set` or a `DatasetMetadata`.

use std::sync::Arc;

use accession::citation::refuse_future;
use accession::{DatasetName, Identifier, Moment, Selection, SetSpec, Snapshot};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::Failure;
use crate::keywords::parsed;
use crate::opened::Opened;
use crate::time::now;

/// A dataset of a registry, by its name.
#[pyclass(frozen, module = "accession_registry")]
#[derive(Debug)]
pub struct Dataset {
    pub opened: Arc<Opened>,
    pub name: DatasetName,
}

/// A set of granules: what a dataset held from one change to the next, or a subset that was cited.
#[pyclass(frozen, module = "accession_registry")]
#[derive(Debug)]
pub struct Set {
    pub opened: Arc<Opened>,
    pub set: accession::Set,
}

/// A set as Python names it.
pub enum Asked {
    /// By a string.
    Typed(Box<SetSpec>),
    /// A set that was found.
    Selection(Selection),
}

impl Asked {
    /// A set by its name.
    ///
    /// # Errors
    ///
    /// The string names no set.
    pub fn named(text: &str) -> Result<Self, Failure> {
        Ok(Asked::Typed(Box::new(parsed("set", text)?)))
    }

    /// A set that was found.
    pub fn found(set: &accession::Set) -> Self {
        let (name, instance) = (set.dataset().clone(), set.instance());
        if set.subset().is_some() {
            return Asked::held(set.identifier(), name);
        }
        let at = Some(Moment::Instant(instance.timestamp));
        Asked::Selection(Selection::Dataset { name, at })
    }

    /// The set that a dataset held with an identifier.
    pub fn held(identifier: Identifier, dataset: DatasetName) -> Self {
        Asked::Selection(Selection::Identifier { identifier, dataset: Some(dataset), at: None })
    }

    /// A set: a string, a `Set`, or a `DatasetMetadata`.
    ///
    /// # Errors
    ///
    /// It is something else.
    pub fn of(given: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        if let Ok(set) = given.cast::<Set>() {
            return Ok(Asked::found(&set.get().set));
        }
        if let Ok(dataset) = given.cast::<Dataset>() {
            return Asked::named(dataset.get().name.as_str());
        }
        match given.cast::<PyString>() {
            Ok(text) => Asked::named(text.to_str()?),
            Err(_) => {
                let hint = "a set is DATASET, DATASET@TIME, an identifier, or a Set";
                Err(Failure::usage("what was given is not a set", hint))
            }
        }
    }

    /// Whether it can be a set, and not a list of granules.
    pub fn is_meant(given: &Bound<'_, PyAny>) -> bool {
        given.cast::<Set>().is_ok()
            || given.cast::<Dataset>().is_ok()
            || given.cast::<PyString>().is_ok()
    }

    /// The same set as of a time.
    ///
    /// # Errors
    ///
    /// It has a time already.
    pub fn at(self, at: Option<Moment>) -> Result<Self, Failure> {
        match (self, at) {
            (Asked::Typed(spec), Some(at)) => {
                spec.at(at).map(|spec| Asked::Typed(Box::new(spec))).ok_or_else(|| {
                    let message = "the set already has a time or is a digest: at needs a dataset or an identifier";
                    Failure::usage(message, "")
                })
            }
            (asked, _) => Ok(asked),
        }
    }

    /// What it refers to. Without a time, the set of a dataset is the one in force now.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::resolve`].
    pub fn selection(&self, snapshot: &Snapshot) -> Result<Selection, accession::Error> {
        match self {
            Asked::Selection(selection) => Ok(selection.clone()),
            Asked::Typed(spec) => Ok(snapshot.resolve(spec)?.selection().clone()),
        }
    }

    /// Whether it was named by a string, and not by a set that was found.
    pub fn is_typed(&self) -> bool {
        matches!(self, Asked::Typed(_))
    }

    /// The time that a citation of the set states: the given time, or the time of the citation that was
    /// typed. For the name of a dataset, it is the present day.
    pub fn cited_at(&self, selection: &Selection) -> Option<Moment> {
        match (self, selection) {
            (Asked::Typed(spec), Selection::Dataset { .. }) if spec.is_dataset() => {
                Some(Moment::Day(now().day()))
            }
            (Asked::Typed(_), Selection::Dataset { at, .. } | Selection::Identifier { at, .. }) => {
                *at
            }
            _ => None,
        }
    }
}

/// Finds a set.
///
/// # Errors
///
/// It does not exist.
pub fn find(
    py: Python<'_>,
    opened: &Arc<Opened>,
    asked: Asked,
    known_at: Option<Moment>,
) -> Result<Set, Failure> {
    let set = opened.read(py, |mut snapshot| {
        let selection = asked.selection(&snapshot)?;
        if let Some(known_at) = known_at {
            if !matches!(selection, Selection::Dataset { .. }) {
                let message = "known_at needs a dataset: the set of an identifier never changes";
                return Err(Failure::usage(message, ""));
            }
            refuse_future(known_at, now())?;
            snapshot = snapshot.known_at(known_at.last_instant());
        }
        Ok(snapshot.select(&selection)?.set)
    })?;
    Ok(Set { opened: Arc::clone(opened), set })
}
