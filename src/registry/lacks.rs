//! What a registry has that a copy of it lacks.

use std::collections::HashSet;

use serde::Serialize;

use super::error::{Error, Result};
use super::handle::Registry;
use crate::model::{DatasetName, Identifier};
use crate::store::{self, DatasetKey, Withdrawn};

/// Rows that are read at once.
const PAGE_ROWS: u32 = 1_024;

/// What a registry has that a copy of it lacks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Lacks {
    /// The datasets that the copy has by none of their names, by name.
    pub datasets: Vec<DatasetName>,
    /// The identifiers, of instances and of cited subsets, that would no longer resolve: each once,
    /// by dataset and time.
    pub identifiers: Vec<Identifier>,
}

/// Why it cannot be found what a copy lacks.
pub(super) enum Unknown {
    /// The registry cannot be read.
    Unreadable(Error),
    /// The copy cannot be read, or the work was stopped.
    Failed(Error),
}

impl Lacks {
    /// Finds what `copy` lacks of `present`. Costs a look-up for each change and each cited subset.
    pub(super) fn of(present: &Registry, copy: &Registry) -> Result<Self, Unknown> {
        let read = present.read().map_err(|error| unreadable(present, error))?;
        let copied = copy.read().map_err(Unknown::Failed)?;
        let search = Search { present, read: &read, copy: &copied };
        let (mut lacks, mut seen) = (Lacks::default(), HashSet::new());
        let mut progress = copy.begin("comparing", "identifiers", None);
        let mut after: Option<DatasetName> = None;
        loop {
            let page =
                search.ask(read.datasets_after(after.as_ref(), Withdrawn::Listed, PAGE_ROWS))?;
            for (key, dataset) in &page {
                if !search.has_dataset(*key, &dataset.name)? {
                    lacks.datasets.push(dataset.name.clone());
                }
                search.each_identifier(*key, |identifier| {
                    progress.advance()?;
                    let is_new = seen.insert(identifier);
                    if is_new && !resolves(&copied, identifier)? {
                        lacks.identifiers.push(identifier);
                    }
                    Ok(())
                })?;
            }
            match page.into_iter().next_back() {
                Some((_, last)) => after = Some(last.name),
                None => return Ok(lacks),
            }
        }
    }
}

struct Search<'a> {
    present: &'a Registry,
    read: &'a store::Snapshot,
    copy: &'a store::Snapshot,
}

impl Search<'_> {
    /// Reads from the registry that is compared with its copy.
    fn ask<T>(&self, result: Result<T, crate::error::Error>) -> Result<T, Unknown> {
        result.map_err(|error| unreadable(self.present, error.into()))
    }

    /// Whether the copy has a dataset, by its present name or one that it had before.
    fn has_dataset(&self, key: DatasetKey, name: &DatasetName) -> Result<bool, Unknown> {
        let given_up = self.ask(self.read.names_given_up(key))?;
        for name in [name].into_iter().chain(given_up.iter().map(|(name, _)| name)) {
            let found = self.copy.dataset(name).map_err(|error| Unknown::Failed(error.into()))?;
            if found.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn each_identifier(
        &self,
        key: DatasetKey,
        mut show: impl FnMut(Identifier) -> Result<()>,
    ) -> Result<(), Unknown> {
        let mut after = None;
        if let Some(latest) = self.ask(self.read.latest_instance(key))? {
            loop {
                let page = self.read.instances_after(key, after, latest.timestamp, PAGE_ROWS);
                let page = self.ask(page)?;
                let Some(last) = page.last() else { break };
                after = Some(last.timestamp);
                for instance in &page {
                    show(instance.identifier).map_err(Unknown::Failed)?;
                }
            }
        }
        for (_, subset) in self.ask(self.read.subsets_of(key))? {
            show(subset.identifier).map_err(Unknown::Failed)?;
        }
        Ok(())
    }
}

/// Whether an identifier resolves in a copy.
fn resolves(copy: &store::Snapshot, identifier: Identifier) -> Result<bool> {
    Ok(copy.latest_with(identifier)?.is_some() || !copy.subsets_with(identifier)?.is_empty())
}

fn unreadable(present: &Registry, error: Error) -> Unknown {
    match error {
        Error::Interrupted => Unknown::Failed(error),
        error => Unknown::Unreadable(present.named(error)),
    }
}
