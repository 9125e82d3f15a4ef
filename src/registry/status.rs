//! When datasets were last changed and confirmed, and what is wrong with them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::handle::Registry;
use super::snapshot::{RootState, Snapshot};
use crate::error::Result;
use crate::model::{Confirmation, DatasetName, Listed, Timestamp, quoted};
use crate::store::{MirrorState, Withdrawn};

/// The number of datasets that are read at once.
const PAGE_DATASETS: u32 = 1_000;

/// The state of a dataset.
///
/// Its fields, in this order, are those of the rows of `status` in the command line's JSON.
#[derive(Debug, Clone, Serialize)]
pub struct DatasetStatus {
    /// The dataset.
    pub dataset: DatasetName,
    /// Its last change. `None` means that it has no history.
    pub changed: Option<LastChange>,
    /// When it was last compared with a listing, and was the same.
    pub confirmed: Option<Confirmation>,
    /// The primaries that it was compared with or pulled from.
    pub mirrors: Vec<Mirrored>,
    /// The state of its files. `None` means that nothing is recorded of them.
    pub fixity: Option<FilesChecked>,
    /// When it was last identical to the primary of its last pull.
    #[serde(skip)]
    pub identical: Option<Timestamp>,
    /// What is wrong, in sentences.
    pub problems: Vec<String>,
    /// Whether the machine that has the dataset responds.
    #[serde(skip)]
    is_reachable: bool,
}

/// The last change of a dataset.
#[derive(Debug, Clone, Serialize)]
pub struct LastChange {
    /// When it took effect.
    pub timestamp: Timestamp,
    /// When it was recorded.
    pub recorded: Timestamp,
}

/// What checks of the files of a dataset found.
#[derive(Debug, Clone, Serialize)]
pub struct FilesChecked {
    /// How many findings are open.
    pub open: usize,
    /// The directories in which they were checked.
    pub roots: Vec<RootState>,
}

/// A primary of a mirror.
#[derive(Debug, Clone, Serialize)]
pub struct Mirrored {
    /// Its address, or the path of its file.
    pub source: String,
    /// When the mirror was last identical to it.
    pub identical: Option<Timestamp>,
}

impl Registry {
    /// The state of these datasets, or of all if none is named: those with most problems first, then those
    /// that were seen least recently. Datasets that were withdrawn are left out. `oldest`: what was not
    /// seen since then is a problem. `None`: at any time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown); the registry cannot be read.
    pub fn status(
        &self,
        names: &[DatasetName],
        now: Timestamp,
        oldest: Option<Timestamp>,
    ) -> Result<Vec<DatasetStatus>> {
        let mut rows = Vec::new();
        if !names.is_empty() {
            let snapshot = self.snapshot()?;
            let named = names.iter().map(|name| snapshot.dataset(name));
            let mut named = named.collect::<Result<Vec<_>>>()?;
            named.retain(|listed| listed.withdrawn.is_none());
            rows = of_page(&snapshot, named, now, oldest)?;
        } else {
            let mut after = None;
            loop {
                let snapshot = self.snapshot()?;
                let left_out = Withdrawn::LeftOut;
                let page = snapshot.reachable_datasets(after.as_ref(), left_out, PAGE_DATASETS)?;
                rows.append(&mut of_page(&snapshot, page.datasets, now, oldest)?);
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        for row in &mut rows {
            row.check_fixity(self, oldest)?;
        }
        rows.sort_by_cached_key(|row| (Reverse(row.problems.len()), row.seen()));
        Ok(rows)
    }
}

/// The states of some datasets. `oldest`: when each must have been seen. `None`: at any time.
fn of_page(
    snapshot: &Snapshot,
    datasets: Vec<Listed>,
    now: Timestamp,
    oldest: Option<Timestamp>,
) -> Result<Vec<DatasetStatus>> {
    let names: Vec<&DatasetName> = datasets.iter().map(|listed| &listed.dataset.name).collect();
    let mut mirrors: BTreeMap<DatasetName, Vec<MirrorState>> = BTreeMap::new();
    for state in snapshot.mirror_states(&names)? {
        mirrors.entry(state.dataset.clone()).or_default().push(state);
    }
    let mut rows = Vec::new();
    for mut listed in datasets {
        snapshot.set_in_force(&mut listed, now)?;
        let mirrors = mirrors.remove(&listed.dataset.name).unwrap_or_default();
        rows.push(DatasetStatus::of(listed, mirrors, oldest));
    }
    Ok(rows)
}

impl DatasetStatus {
    fn of(listed: Listed, mirrors: Vec<MirrorState>, oldest: Option<Timestamp>) -> Self {
        let Listed { dataset, latest, confirmed, problem, .. } = listed;
        let mut problems: Vec<String> = problem.into_iter().collect();
        let is_reachable = problems.is_empty();
        let annotations = latest.iter().flat_map(|latest| &latest.annotations);
        problems.extend(
            annotations
                .filter(|annotation| annotation.questionable)
                .map(|annotation| format!("the set in force is questionable: {}", annotation.note)),
        );
        let changed = latest
            .map(|latest| LastChange { timestamp: latest.timestamp, recorded: latest.recorded });
        let default = mirrors.iter().filter_map(|state| state.pulled).max();
        let is_default = |state: &&MirrorState| state.pulled.is_some() && state.pulled == default;
        for state in mirrors.iter().filter(is_default) {
            let source = quoted(&state.source);
            if let Some(failed) = &state.failed {
                let at = failed.recorded;
                problems.push(format!("{source} failed at {at}: {}", failed.message));
            }
            problems.extend(oldest.filter(|oldest| state.identical < Some(*oldest)).map(|_| {
                match state.identical {
                    Some(identical) => format!("not identical to {source} since {identical}"),
                    None => format!("never identical to {source}"),
                }
            }));
        }
        // One that was only compared, or imported from, is shown if the dataset was never pulled.
        let shown = mirrors.iter().find(is_default).map(|state| state.identical);
        let identical = mirrors.iter().map(|state| state.identical).max();
        let mut row = DatasetStatus {
            identical: shown.or(identical).flatten(),
            dataset: dataset.name,
            changed,
            confirmed,
            mirrors: mirrors
                .into_iter()
                .map(|state| Mirrored { source: state.source, identical: state.identical })
                .collect(),
            fixity: None,
            problems,
            is_reachable,
        };
        let seen = row.seen();
        if is_reachable && oldest.is_some_and(|oldest| seen < Some(oldest)) {
            row.problems.push(match seen {
                Some(seen) => format!("neither changed nor confirmed since {seen}"),
                None => "nothing was ever ingested".to_owned(),
            });
        }
        row
    }

    /// Adds what checks of the files found. One that cannot be read is a problem of its own already.
    fn check_fixity(&mut self, registry: &Registry, oldest: Option<Timestamp>) -> Result<()> {
        if !self.is_reachable {
            return Ok(());
        }
        let state = registry.fixity_state(&self.dataset, oldest)?;
        self.problems.extend(state.problems(oldest));
        if !state.records.is_empty() || !state.roots.is_empty() {
            self.fixity = Some(FilesChecked { open: state.open.len(), roots: state.roots });
        }
        Ok(())
    }

    /// When the dataset was last changed, confirmed or found to be identical to a primary. `None` means
    /// never.
    fn seen(&self) -> Option<Timestamp> {
        let changed = self.changed.as_ref().map(|changed| changed.recorded);
        let confirmed = self.confirmed.as_ref().map(|confirmed| confirmed.recorded);
        let identical = self.mirrors.iter().filter_map(|mirror| mirror.identical).max();
        changed.max(confirmed).max(identical)
    }
}
