//! Recomputing everything: does the registry still agree with itself?

mod checkpoints;
mod parts;
mod rows;

use serde::Serialize;

use super::error::{Error, Result};
use super::handle::Registry;
use super::snapshot::dataset_of;
use crate::chain::{Hashing, Sweep};
use crate::model::{DatasetName, Identifier, Timestamp};
use crate::store::{self, Begin};
use checkpoints::Checkpoints;
use parts::Parts;
use rows::Rows;

/// What `verify` found out about a dataset.
///
/// Its fields, in this order, are those of the rows of `verify` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// The dataset.
    pub dataset: DatasetName,
    /// How many identifiers were recomputed: one for each instance, and
    /// for each part that was cited.
    pub identifiers: u64,
    /// All that does not agree, instances first; at most [`Verification::MAX_MISMATCHES`], and
    /// then one that counts the rest.
    pub mismatches: Vec<Finding>,
    /// Whether everything agrees.
    pub ok: bool,
}

impl Verification {
    /// How many mismatches are listed one by one: a file that is all wrong must not fill memory.
    pub const MAX_MISMATCHES: usize = 10_000;
}

/// One thing that does not agree, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which kind of thing.
    pub code: Code,
    /// The instance it is about.
    pub timestamp: Option<Timestamp>,
    /// The granule it is about, or behind which it is, as text.
    pub granule: Option<String>,
    /// What it is, in words.
    pub text: String,
}

/// The kinds of [`Finding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Code {
    /// The identifier of an instance is not that of its granules.
    Identifier,
    /// A count of an instance is not that of its granules.
    Count,
    /// An instance says it was recorded before it took effect.
    Recorded,
    /// A granule row has an id that no granule can have.
    GranuleId,
    /// A granule row has a date at which the dataset had no change, or deleted before ingested.
    Date,
    /// Two rows say that a granule was held twice at once.
    Overlap,
    /// What stands twice in the file differs: the record of a dataset, a note, or when something was
    /// entered; of this dataset or of another.
    Record,
    /// A part that was cited is not what was cited.
    Selection,
    /// A checkpoint is wrong, missing, or stands where none should.
    Checkpoint,
    /// There are more findings than are listed.
    More,
}

impl Registry {
    /// Recomputes every identifier of a dataset's history from its granule rows, and checks its
    /// counts, dates and checkpoints. Nothing is repaired.
    ///
    /// One pass over the granules ([`Sweep`]); the memory is that of the history and of the
    /// checkpoints, not of the granules.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`]; [`Error::Store`] if rows cannot be read at all. What does not agree is
    /// no error: it is found.
    pub fn verify(&self, dataset: &DatasetName) -> Result<Verification> {
        let verify = || {
            let read = self.read()?;
            let verification = self.verify_in(&read, dataset)?;
            read.check_same_file()?;
            Ok(verification)
        };
        verify().map_err(|error: Error| self.named(error))
    }

    fn verify_in(&self, read: &store::Snapshot, dataset: &DatasetName) -> Result<Verification> {
        let (key, _) = dataset_of(read, dataset)?;
        let instances = read.instances_after(key, None, Timestamp::MAX, u32::MAX)?;
        let ingests = instances.iter().map(|instance| instance.ingested);
        let rows_expected = ingests.fold(0, u64::saturating_add);
        let mut progress = self.begin("verifying", "granules", Some(rows_expected));
        let mut rows = Rows::of(&instances);
        let mut checkpoints = Checkpoints::of(read.checkpoints_after(key, "", u32::MAX)?);
        let mut subsets = Parts::of(read.subsets_of(key)?);
        let issued = instances.len() as u64 + subsets.count();
        let swept = std::thread::scope(|scope| {
            let compare = |granule_id: &str, chain: Identifier| {
                checkpoints.compare(granule_id, chain);
                Ok::<_, Error>(())
            };
            let mut hashing = Hashing::new(scope, Sweep::over(instances.len()), compare);
            read.each_period(key, Begin::Start, None, |period| {
                progress.advance()?;
                match rows.held(period) {
                    Some((granule_id, span)) => {
                        subsets.held(granule_id, period);
                        hashing.hold(granule_id, span)
                    }
                    None => Ok(()),
                }
            })?;
            hashing.finish()
        });
        drop(progress);
        let identifiers: Vec<Identifier> = swept?.identifiers().collect();
        let mut findings = rows.compare_with(&identifiers);
        for what in read.integrity_of_records()? {
            findings.add(Code::Record, None, None, what);
        }
        findings.append(rows.findings);
        findings.append(checkpoints.finish());
        findings.append(subsets.compare(read, key)?);
        let mismatches = findings.into_list();
        Ok(Verification {
            dataset: dataset.clone(),
            identifiers: issued,
            ok: mismatches.is_empty(),
            mismatches,
        })
    }

    /// Lets SQLite check the pages and indexes of the file, and the second copies of what nothing
    /// else could prove. One pass over the file.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] of kind `damaged`, with what it found.
    pub fn check_file(&self) -> Result<()> {
        let check = || Ok(self.read()?.integrity()?);
        let found = check().map_err(|error: Error| self.named(error))?;
        if found.is_empty() {
            return Ok(());
        }
        let source = store::Error::Damaged { what: found.join("; ") };
        Err(self.named(source.into()))
    }
}

/// What was found so far: so much of it, and how much more.
#[derive(Default)]
struct Findings {
    list: Vec<Finding>,
    more: u64,
}

impl Findings {
    fn add(
        &mut self,
        code: Code,
        timestamp: Option<Timestamp>,
        granule: Option<&str>,
        text: String,
    ) {
        self.push(Finding { code, timestamp, granule: granule.map(str::to_owned), text });
    }

    fn push(&mut self, finding: Finding) {
        if self.list.len() < Verification::MAX_MISMATCHES {
            self.list.push(finding);
        } else {
            self.more += 1;
        }
    }

    fn append(&mut self, other: Findings) {
        other.list.into_iter().for_each(|finding| self.push(finding));
        self.more += other.more;
    }

    fn into_list(mut self) -> Vec<Finding> {
        if self.more > 0 {
            let text = format!("and {} more", self.more);
            self.list.push(Finding { code: Code::More, timestamp: None, granule: None, text });
        }
        self.list
    }
}
