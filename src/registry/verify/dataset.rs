//! Verifying one dataset, in one pass over its granule rows.

use super::checkpoints::{Agreement, Checkpoints};
use super::finding::{Code, Findings, Verification, VerifyWork, readable};
use super::history::{self, Recomputed, Stated};
use super::intervals;
use super::rows::Rows;
use super::subsets::{Selected, Subsets};
use crate::chain::{Hashing, Sweep};
use crate::model::{DatasetName, quoted};
use crate::registry::error::{Error, Result};
use crate::registry::handle::Registry;
use crate::registry::snapshot::dataset_of;
use crate::store::{self, Begin, DatasetKey};

impl Registry {
    /// Recomputes every identifier of a dataset, those of its instances and of its subsets, from
    /// its granule rows, and checks its counts, dates and checkpoints. Nothing is repaired.
    /// [`Registry::check_file`] checks the file.
    ///
    /// Costs one pass over the granule rows ([`Sweep`]), and a second one over some of them if
    /// checkpoints disagree. The memory depends on the length of the history, not on the number of
    /// granules.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`]; [`Error::Store`]: the registry was replaced, or cannot be opened.
    /// Content that does not agree or cannot be read is not an error, but a finding.
    pub fn verify(&self, dataset: &DatasetName) -> Result<Verification> {
        let verify = || {
            let read = self.read()?;
            // A record that cannot be read is a finding.
            let (key, name) = match read.dataset_key(dataset)? {
                Some(key) => (key, dataset.clone()),
                None => {
                    let (key, record) = dataset_of(&read, dataset)?;
                    (key, record.name)
                }
            };
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
        if let Err(error) = readable(self.read.dataset(self.dataset).map_err(Error::from))? {
            findings.add_unreadable("the record of the dataset cannot be read", &error);
        }
        let history = match readable(Stated::after(self.read, self.key, None))? {
            Ok(history) => history,
            Err(error) => {
                findings.add_unreadable("the history cannot be read", &error);
                return Ok(self.verification(0, findings, work));
            }
        };
        let subsets = match readable(self.read.subsets_of(self.key).map_err(Error::from))? {
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
                let agrees_to = match &swept.agreement {
                    Agreement::Full(Some(last)) => Some(&last.granule_id),
                    _ => None,
                };
                findings.append(history::compare(&history, &recomputed, agrees_to));
                findings.append(history::check_recorded(&history));
                findings.append(std::mem::take(&mut rows.findings));
                let (found, steps) =
                    self.compare_checkpoints(&history, &recomputed, swept.agreement)?;
                findings.append(found);
                work.steps += steps;
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
            selecting.held(granule_id, period);
            checkpoints.compare(&hashing.hold(granule_id, span))
        })?;
        let (sweep, reached) = hashing.finish();
        checkpoints.compare(&reached)?;
        Ok(Swept { sweep, selected: selecting.finish(), agreement: checkpoints.finish()? })
    }

    fn compare_checkpoints(
        &self,
        history: &[Stated],
        recomputed: &Recomputed,
        agreement: Agreement,
    ) -> Result<(Findings, u64)> {
        let mut findings = Findings::default();
        let latest = history.last().zip(recomputed.identifiers.last());
        let rows_agree = latest.is_none_or(|(stated, identifier)| stated.identifier == *identifier);
        match (agreement, latest) {
            (Agreement::Unreadable(error), _) => {
                findings.add_unreadable("the checkpoints cannot be read", &error);
            }
            (Agreement::Full(_), _) => {}
            (Agreement::UpTo(last), Some((stated, _))) => {
                let mut progress = self.registry.begin("narrowing down", "granules", None);
                let last = last.as_ref();
                let searched =
                    intervals::search(self.read, self.key, stated, last, rows_agree, &mut progress);
                return match readable(searched)? {
                    Ok(found) => Ok(found),
                    Err(error) => {
                        findings.add_unreadable("the checkpoints cannot be read", &error);
                        Ok((findings, 0))
                    }
                };
            }
            (Agreement::UpTo(_), None) => {
                let text = "there are checkpoints, but no history".to_owned();
                findings.add(Code::Checkpoint, None, None, text);
            }
        }
        Ok((findings, 0))
    }
}
