//! Verifying one dataset, or its last changes, in one pass over its granule rows.

use super::checkpoints::{Agreement, Checkpoints};
use super::finding::{Code, Findings, Verification, VerifyWork, readable, refuse_mismatch};
use super::history::{self, Recomputed, Rows, Stated};
use super::subsets::{Selected, Subsets};
use crate::chain::{Hashing, Sweep};
use crate::error::{Error, Result};
use crate::model::{DatasetName, GranuleId, Timestamp, quoted};
use crate::registry::files::{FileState, Says};
use crate::registry::handle::Registry;
use crate::registry::snapshot::dataset_of;
use crate::store::{self, Begin, DatasetKey, Period, StoredFileRecord};

impl Registry {
    /// Recomputes every identifier of a dataset, those of its instances and of its subsets, from
    /// its granule rows, and checks its counts, dates and checkpoints. Nothing is repaired.
    /// [`Registry::check_file`] checks the file.
    ///
    /// Costs one pass over the granule rows ([`Sweep`]). The memory depends on the length of the history,
    /// not on the number of granules.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown); the error of a registry:
    /// the registry was replaced, or cannot be opened. Content that does not agree or cannot be
    /// read is not an error, but a finding.
    pub fn verify(&self, dataset: &DatasetName) -> Result<Verification> {
        let verify = || {
            let read = self.read()?;
            let (key, name) = dataset_of(&read, dataset)?;
            let pass = Pass { registry: self, read: &read, dataset: &name, key };
            let verification = pass.verify()?;
            read.check_same_file()?;
            Ok(verification)
        };
        verify().map_err(|error: Error| self.named(error))
    }
}

/// The state of the verification of one dataset.
struct Pass<'a> {
    registry: &'a Registry,
    read: &'a store::Snapshot,
    dataset: &'a DatasetName,
    key: DatasetKey,
}

/// The result of the pass over the granule rows.
struct Swept {
    sweep: Sweep,
    selected: Selected,
    agreement: Agreement,
}

impl Pass<'_> {
    fn verify(&self) -> Result<Verification> {
        let mut findings = Findings::default();
        let mut work = VerifyWork::default();
        if let Err(error) = readable(self.read.dataset(self.dataset))? {
            findings.add_unreadable("the metadata of the dataset cannot be read", &error);
        }
        let history = match readable(Stated::all(self.read, self.key))? {
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
            Ok(stored) => Subsets::of(stored),
            Err(error) => {
                findings.add_unreadable("the subsets cannot be read", &error);
                Subsets::default()
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
                work.steps += swept.sweep.steps() + swept.selected.steps;
                work.patterns_tried += swept.selected.patterns_tried;
                selected = Some(swept.selected);
                let recomputed = Recomputed {
                    identifiers: swept.sweep.identifiers().take(history.len()).collect(),
                    counts: rows.counted(),
                };
                let agrees_to = swept.agreement.agrees_to();
                findings.append(history::compare(&history, &recomputed, agrees_to));
                findings.append(history::check_recorded(&history));
                findings.append(std::mem::take(&mut rows.findings));
                findings.append(swept.agreement.findings);
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
        findings.append(verify(self.read, self.key)?);
        Ok(self.verification(identifiers, findings, work))
    }

    fn verification(&self, identifiers: u64, findings: Findings, work: VerifyWork) -> Verification {
        Verification::new(Some(self.dataset.clone()), identifiers, findings, work)
    }

    /// Makes the pass over the granule rows.
    fn sweep(&self, rows: &mut Rows<'_>, history: &[Stated], subsets: &Subsets) -> Result<Swept> {
        let ingests = history.iter().map(|stated| stated.counts.ingested);
        let rows_expected = ingests.fold(0, u64::saturating_add);
        let mut progress = self.registry.begin("verifying", "granules", Some(rows_expected));
        let mut checkpoints = Checkpoints::of(self.read, self.key);
        let mut hashing = Hashing::with_checkpoints(Sweep::over(history.len()));
        let mut selecting = subsets.select();
        self.read.each_period(self.key, Begin::Start, None, |period| -> Result<()> {
            progress.advance()?;
            let Some((granule_id, span)) = rows.held(period) else { return Ok(()) };
            selecting.held(granule_id, period.ingested, period.deleted);
            checkpoints.compare(hashing.hold(granule_id, span))
        })?;
        let ((sweep, reached), selected) = (hashing.finish(), selecting.finish());
        checkpoints.compare(reached)?;
        Ok(Swept { sweep, selected, agreement: checkpoints.finish()? })
    }
}

/// Calls `show` for every granule row that lasts beyond a time (`None`: for all of them), by id and then
/// by time, and proves every change after that time: its identifier and its counts must be those that
/// the rows give.
///
/// Costs one pass over these rows, which are hashed on another thread. The memory depends on the
/// number of changes.
///
/// # Errors
///
/// Those of `show`; [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the rows contradict the
/// history, or are not rows of it.
pub(in crate::registry) fn prove_changes(
    read: &store::Snapshot,
    (dataset, key): (&DatasetName, DatasetKey),
    after: Option<Timestamp>,
    mut show: impl FnMut(Period<'_>) -> Result<()>,
) -> Result<()> {
    let changes = Stated::after(read, key, after)?;
    let mut rows = Rows::after(after, &changes);
    let mut hashing = Hashing::of(Sweep::over(changes.len()));
    read.each_change(key, after, |row| -> Result<()> {
        if let Some((granule_id, span)) = rows.held(row) {
            hashing.hold(granule_id, span);
        }
        show(row)
    })?;
    let (sweep, _) = hashing.finish();
    let identifiers = sweep.identifiers().take(changes.len()).collect();
    let recomputed = Recomputed { identifiers, counts: rows.counted() };
    let mut findings = history::compare(&changes, &recomputed, None);
    findings.append(rows.findings);
    let name = Some(dataset.clone());
    refuse_mismatch(Verification::new(name, 0, findings, VerifyWork::default()))
}

/// Reads every file record of a dataset, which compares each with its checksum, and checks that they are
/// numbered without gaps, and that none contradicts an earlier one unless its batch may.
///
/// Costs one pass over the records.
///
/// # Errors
///
/// Errors that do not concern the content.
pub(super) fn verify(read: &store::Snapshot, dataset: DatasetKey) -> Result<Findings> {
    let mut findings = Findings::default();
    let batches = match readable(batches(read, dataset))? {
        Ok(batches) => batches,
        Err(error) => {
            findings.add_unreadable("the batches of file records cannot be read", &error);
            return Ok(findings);
        }
    };
    let last = batches.last().map_or(0, |(last_number, _)| *last_number);
    let (mut count, mut sum) = (0_u64, 0_u128);
    let mut file: Option<(GranuleId, String, FileState)> = None;
    for stored in read.file_records(dataset) {
        let StoredFileRecord { number, record } = match readable(stored)? {
            Ok(stored) => stored,
            Err(error) => {
                findings.add_unreadable("the file records cannot be read", &error);
                return Ok(findings);
            }
        };
        (count, sum) = (count + 1, sum + u128::from(number));
        let is_same = file.as_ref().is_some_and(|(granule_id, path, _)| {
            *granule_id == record.granule_id && path == record.path()
        });
        if !is_same {
            let path = record.path().to_owned();
            file = Some((record.granule_id.clone(), path, FileState::default()));
        }
        let Some((_, path, state)) = &mut file else { continue };
        if state.take(number, &record.content) == Says::Otherwise && !may(&batches, number) {
            findings.add(Code::Files, None, Some(record.granule_id.as_str()), || {
                format!("the file record {number} of {} contradicts an earlier one", quoted(path))
            });
        }
    }
    if count != last || sum != u128::from(last) * (u128::from(last) + 1) / 2 {
        findings.add(Code::Files, None, None, || {
            format!("there are {count} file records, not those from 1 to {last}")
        });
    }
    Ok(findings)
}

/// The last number of each batch, and whether its records may contradict earlier ones.
fn batches(read: &store::Snapshot, dataset: DatasetKey) -> Result<Vec<(u64, bool)>> {
    let batches = read.record_batches(dataset, 0);
    batches.map(|batch| batch.map(|batch| (batch.last_number, batch.replaces))).collect()
}

fn may(batches: &[(u64, bool)], number: u64) -> bool {
    let place = batches.partition_point(|(last_number, _)| *last_number < number);
    batches.get(place).is_some_and(|(_, replaces)| *replaces)
}
