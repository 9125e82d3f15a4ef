//! Verifies one dataset, or its last changes, in one pass over its granule rows. Meanwhile the stored
//! checkpoints are compared with those that follow from the rows.

use super::finding::{DatasetVerification, FindingKind, Findings, readable, refuse_mismatch};
use super::history::{self, Rows, StatedInstance};
use super::subsets::{SelectedSubsets, StoredSubsets};
use crate::chain::{CanonicalList, Chain, Hashed, Hashing, Reached, Sweep};
use crate::error::Result;
use crate::model::{Checkpoint, DatasetName, GranuleId, Timestamp, quoted};
use crate::registry::contents::{Contents, FilesDuring};
use crate::registry::handle::Registry;
use crate::registry::observer::Work;
use crate::registry::snapshot::{Reads, dataset_of};
use crate::registry::work_counts::WorkCounts;
use crate::store::{self, DatasetKey, Period, View};

impl Registry {
    /// Recomputes every identifier of the instances and subsets of a dataset from its granule rows, and checks
    /// its counts, dates and checkpoints. Nothing is repaired. [`Registry::check_file`] checks the file.
    ///
    /// Costs one pass over the granule rows ([`Sweep`]). The memory depends on the length of the history,
    /// not on the number of granules.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown); the error of a registry: the registry
    /// was replaced, or cannot be opened. Content that does not agree or cannot be read is not an error, but a
    /// finding.
    pub fn verify(&self, dataset: &DatasetName) -> Result<DatasetVerification> {
        self.ask(|read| {
            let (key, name) = dataset_of(read, dataset)?;
            Pass { registry: self, read, dataset: &name, key }.verify()
        })
    }
}

/// Verifies a dataset within a transaction. Everything that [`Registry::verify`] checks must agree.
///
/// # Errors
///
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the first finding.
pub(in crate::registry) fn prove_dataset(
    registry: &Registry,
    read: &View,
    (dataset, key): (&DatasetName, DatasetKey),
) -> Result<()> {
    refuse_mismatch(Pass { registry, read, dataset, key }.verify()?)
}

/// The state of the verification of one dataset.
struct Pass<'a> {
    registry: &'a Registry,
    read: &'a store::View,
    dataset: &'a DatasetName,
    key: DatasetKey,
}

/// The result of the pass over the granule rows.
struct Swept {
    hashed: Hashed,
    /// The first granule with a file record at a time when it was not held.
    stray: Option<String>,
    selected: SelectedSubsets,
    /// The last checkpoint, if all of them agree.
    agrees_to: Option<GranuleId>,
    /// The finding about the checkpoints.
    checkpoints: Findings,
}

impl Pass<'_> {
    fn verify(&self) -> Result<DatasetVerification> {
        let mut findings = Findings::default();
        let mut work = WorkCounts::default();
        if let Err(error) = readable(self.read.stored_dataset(self.dataset))? {
            findings.add_unreadable("the metadata of the dataset cannot be read", &error);
        }
        let history = match readable(StatedInstance::all(self.read, self.key))? {
            Ok((history, damaged)) => {
                findings.append(damaged);
                history
            }
            Err(error) => {
                findings.add_unreadable("the history cannot be read", &error);
                return Ok(self.verification(0, findings, work));
            }
        };
        let subsets = match readable(self.read.subsets_of(self.key))? {
            Ok(stored) => StoredSubsets::of(stored),
            Err(error) => {
                findings.add_unreadable("the subsets cannot be read", &error);
                StoredSubsets::default()
            }
        };
        let mut rows = Rows::after(None, &history);
        let swept = readable(self.sweep(&mut rows, &history, &subsets))?;
        work.rows = rows.count;
        let mut identifiers = 0;
        let mut selected = None;
        match swept {
            Ok(swept) => {
                identifiers = history.len() as u64 + subsets.count();
                work.steps += swept.hashed.sweep.steps() + swept.selected.steps;
                selected = Some(swept.selected);
                let (sets, counts) = (swept.hashed.sets(), rows.counted());
                findings.append(history::compare(
                    &history,
                    sets,
                    &counts,
                    swept.agrees_to.as_ref(),
                ));
                findings.append(history::check_recorded(&history));
                findings.append(std::mem::take(&mut rows.findings));
                findings.append(swept.checkpoints);
                if let Some(stray) = swept.stray {
                    findings.add(FindingKind::Files, None, Some(&stray), || {
                        "its files were recorded at a time when it was not held".to_owned()
                    });
                }
            }
            Err(error) => {
                let what = match rows.last_id() {
                    Some(last) => {
                        format!("the granule rows after {} cannot be read", quoted(&last))
                    }
                    None => "the granule rows cannot be read".to_owned(),
                };
                findings.append(std::mem::take(&mut rows.findings));
                findings.add_unreadable(&what, &error);
            }
        }
        let (found, steps) = subsets.compare(self.read, self.key, &history, selected.as_ref())?;
        findings.append(found);
        work.steps += steps;
        Ok(self.verification(identifiers, findings, work))
    }

    fn verification(
        &self,
        identifiers: u64,
        findings: Findings,
        work: WorkCounts,
    ) -> DatasetVerification {
        DatasetVerification::new(Some(self.dataset.clone()), identifiers, findings, work)
    }

    /// Makes the pass over the granule rows and their file records.
    fn sweep(
        &self,
        rows: &mut Rows<'_>,
        history: &[StatedInstance],
        subsets: &StoredSubsets,
    ) -> Result<Swept> {
        let ingests = history.iter().map(|stated| stated.counts.changes.ingested);
        let rows_expected = ingests.fold(0, u64::saturating_add);
        let mut progress = self.registry.begin(Work::Verify, Some(rows_expected));
        let mut checkpoints = Checkpoints::of(self.read, self.key);
        let sweep = Sweep::over(history.len());
        let mut hashing = Hashing::with_checkpoints(sweep, CanonicalList::start());
        let mut contents = Contents::of(self.read, self.key, "");
        let mut selecting = subsets.select();
        self.read.each_period(self.key, "", None, |period| -> Result<()> {
            progress.advance()?;
            let known = contents.during(&period)?;
            let (ingested, deleted) = (period.ingested, period.deleted);
            let Some((granule_id, reached)) = hold(rows, &mut hashing, period, known) else {
                return Ok(());
            };
            selecting.held(granule_id, (ingested, deleted), known);
            checkpoints.compare(reached)
        })?;
        let (mut hashed, selected) = (hashing.finish(), selecting.finish());
        checkpoints.compare(std::mem::take(&mut hashed.reached))?;
        let stray = contents.stray()?;
        let (agrees_to, checkpoints) = checkpoints.finish()?;
        Ok(Swept { hashed, stray, selected, agrees_to, checkpoints })
    }
}

/// Hashes a granule during one of its periods, with its file records. `None` means that its id is not valid.
fn hold<'row>(
    rows: &mut Rows<'_>,
    hashing: &mut Hashing,
    period: Period<'row>,
    known: FilesDuring<'_>,
) -> Option<(&'row str, Vec<Reached>)> {
    let (granule_id, span) = rows.held(period)?;
    rows.state(granule_id, period.ingested, known);
    let reached = known.hold(hashing, granule_id, span, |micros| rows.number(micros));
    Some((granule_id, reached))
}

/// Calls `show` for every granule row that lasts beyond a time (`None`: for all of them), by id and then by
/// time. Each has its file records at that time and after it. Verifies every change after that time: its
/// identifier, its digest and its counts must match the rows.
///
/// Costs one pass over these rows, which are hashed on another thread. The memory depends on the number of
/// changes.
///
/// # Errors
///
/// Those of `show`; [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the rows contradict the history, or do
/// not belong to it.
pub(in crate::registry) fn prove_changes(
    read: &store::View,
    (dataset, key): (&DatasetName, DatasetKey),
    after: Option<Timestamp>,
    mut show: impl FnMut(Period<'_>, FilesDuring<'_>) -> Result<()>,
) -> Result<()> {
    let changes = StatedInstance::after(read, key, after)?;
    let mut rows = Rows::after(after, &changes);
    let mut hashing = Hashing::with_lists(Sweep::over(changes.len()), CanonicalList::start());
    let mut contents = Contents::of(read, key, "");
    read.each_change(key, after, |row| -> Result<()> {
        let known = contents.during(&row)?;
        hold(&mut rows, &mut hashing, row, known);
        show(row, known)
    })?;
    let mut findings = history::compare(&changes, hashing.finish().sets(), &rows.counted(), None);
    findings.append(rows.findings);
    let name = Some(dataset.clone());
    refuse_mismatch(DatasetVerification::new(name, 0, findings, WorkCounts::default()))
}

/// Compares a dataset's checkpoints with its granule rows, during the pass over the rows.
///
/// It ends at the first difference, since every later chain value differs, too.
struct Checkpoints<'read> {
    stored: Box<dyn Iterator<Item = Result<Checkpoint>> + 'read>,
    /// The granule before the last checkpoint that agrees.
    last: Option<GranuleId>,
    findings: Findings,
}

impl<'read> Checkpoints<'read> {
    pub fn of(read: &'read View, dataset: DatasetKey) -> Self {
        let stored = Box::new(read.all(dataset, Vec::new()));
        Checkpoints { stored, last: None, findings: Findings::default() }
    }

    /// Compares the next stored checkpoint with the one computed from the rows: the granule before it, the
    /// chain, and the number of granules. `None` means that the rows result in no further one.
    fn compare_next(&mut self, reached: Option<Reached>) -> Result<()> {
        let stored = match readable(self.stored.next().transpose())? {
            Ok(stored) => stored,
            Err(error) => {
                self.findings.add_unreadable("the checkpoints cannot be read", &error);
                return Ok(());
            }
        };
        let Some(reached) = reached else {
            stored.iter().for_each(|stored| self.refuse(stored));
            return Ok(());
        };
        match stored {
            Some(stored) if stored.granule_id.as_str() < reached.granule_id.as_str() => {
                self.refuse(&stored);
            }
            Some(stored) if stored.granule_id.as_str() == reached.granule_id => {
                self.compare_values(stored, &reached);
            }
            _ => {
                let text = "the checkpoint after this granule is missing";
                self.differ(&reached.granule_id, text);
            }
        }
        Ok(())
    }

    /// Compares the checkpoints that were reached, in order.
    pub fn compare(&mut self, reached: Vec<Reached>) -> Result<()> {
        for reached in reached {
            if self.findings.is_empty() {
                self.compare_next(Some(reached))?;
            }
        }
        Ok(())
    }

    /// Returns the granule before the last checkpoint, if there is one and all checkpoints agree. Also returns
    /// the finding, if one differs.
    pub fn finish(mut self) -> Result<(Option<GranuleId>, Findings)> {
        if self.findings.is_empty() {
            self.compare_next(None)?;
        }
        Ok((self.last.filter(|_| self.findings.is_empty()), self.findings))
    }

    /// Compares a stored checkpoint with the one computed from the rows after the same granule.
    fn compare_values(&mut self, stored: Checkpoint, reached: &Reached) {
        let Reached { granule_id, identifier, list, held } = reached;
        if stored.chain != *identifier {
            let text = format!(
                "the checkpoint after this granule is {}, but the granule rows give {identifier}",
                stored.chain
            );
            self.differ(granule_id, &text);
        } else if stored.granules != *held {
            let text = format!(
                "the checkpoint after this granule counts {} granules, but its chain has {held}",
                stored.granules
            );
            self.differ(granule_id, &text);
        } else if list.as_ref().is_some_and(|list| stored.list != *list) {
            let text = "the list of the checkpoint after this granule is not that of the rows";
            self.differ(granule_id, text);
        } else {
            self.last = Some(stored.granule_id);
        }
    }

    /// Adds a finding for a stored checkpoint that does not follow from the rows.
    fn refuse(&mut self, stored: &Checkpoint) {
        let granule_id = stored.granule_id.as_str();
        let text = match Chain::is_checkpoint(granule_id) {
            false => "no checkpoint belongs after this granule",
            true => "a checkpoint is stored after this granule, which is not held",
        };
        self.differ(granule_id, text);
    }

    fn differ(&mut self, granule_id: &str, text: &str) {
        self.findings.add(FindingKind::Checkpoint, None, Some(granule_id), || match &self.last {
            Some(last) => {
                let last = quoted(last.as_str());
                format!("{text}; the last checkpoint that agrees is after {last}")
            }
            None => format!("{text}; no checkpoint before it agrees"),
        });
    }
}
