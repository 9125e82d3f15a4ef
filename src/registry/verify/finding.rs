//! The findings of `verify`, and how findings with the same cause are combined.

use std::collections::HashMap;
use std::ops::AddAssign;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::model::{DatasetName, Timestamp, quoted};

/// The result of verifying a dataset, or the registry file.
///
/// Its fields, in this order, are those of the rows of `verify` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// The dataset. `None` means the registry file, which contains all datasets.
    pub dataset: Option<DatasetName>,
    /// The number of identifiers that were recomputed: one for each instance, and one for each
    /// subset that was cited. 0 if the granule rows cannot be read.
    pub identifiers: u64,
    /// The findings, those about instances first: at most [`Verification::MAX_MISMATCHES`], and
    /// then one that counts the rest.
    pub mismatches: Vec<Finding>,
    /// Whether everything agrees.
    pub ok: bool,
    /// The work that it took.
    #[serde(skip)]
    pub work: VerifyWork,
}

impl Verification {
    /// Whether something could not be verified, because a machine of a cluster cannot be reached.
    pub fn is_incomplete(&self) -> bool {
        self.mismatches.iter().any(|finding| finding.code == Code::Unreachable)
    }

    /// The greatest number of findings that are listed, so that a file that is completely wrong
    /// does not fill memory.
    pub const MAX_MISMATCHES: usize = 10_000;

    /// This one, with the findings of another.
    pub(super) fn and(mut self, other: Verification) -> Self {
        self.ok &= other.ok;
        self.mismatches.extend(other.mismatches);
        self.work += other.work;
        self
    }

    pub(super) fn new(
        dataset: Option<DatasetName>,
        identifiers: u64,
        findings: Findings,
        work: VerifyWork,
    ) -> Self {
        let mismatches = findings.into_list();
        Verification { dataset, identifiers, ok: mismatches.is_empty(), mismatches, work }
    }
}

/// The work that `verify` did, counted so that tests can check its documented cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VerifyWork {
    /// The number of checks of the whole file.
    pub file_checks: u64,
    /// The number of granule rows that were read.
    pub rows: u64,
    /// The number of chain steps that were hashed.
    pub steps: u64,
    /// How many times a pattern of a subset was matched against a granule id.
    pub patterns_tried: u64,
}

impl AddAssign for VerifyWork {
    fn add_assign(&mut self, more: Self) {
        self.file_checks += more.file_checks;
        self.rows += more.rows;
        self.steps += more.steps;
        self.patterns_tried += more.patterns_tried;
    }
}

/// A disagreement that `verify` found, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The kind of finding.
    pub code: Code,
    /// The timestamp of the instance that it concerns, or of the first of several. `None` means
    /// that it concerns no instance.
    pub timestamp: Option<Timestamp>,
    /// The granule that it concerns or follows, or the first of several. `None` means that it
    /// concerns no granule.
    pub granule: Option<String>,
    /// The description.
    pub text: String,
}

/// The kinds of [`Finding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Code {
    /// The file itself: its pages, its indexes, the second copies of records, or rows that refer to
    /// a row that does not exist.
    File,
    /// Something cannot be read at all.
    Unreadable,
    /// A machine of a cluster cannot be reached, so something was not verified.
    Unreachable,
    /// The identifier of an instance is not the one that its granule rows give.
    Identifier,
    /// A count of an instance is not the one that its granule rows give.
    Count,
    /// An instance was recorded before it took effect.
    Recorded,
    /// A granule row has an id that is not a valid granule id.
    GranuleId,
    /// A granule row has a date at which the dataset had no change.
    Date,
    /// Two holding periods of a granule overlap.
    Overlap,
    /// A subset no longer selects the granules that were cited.
    Subset,
    /// The records of files are not complete, or one contradicts another.
    Files,
    /// A checkpoint is wrong, missing, or misplaced; or the granule rows before it are not those
    /// from which it was computed.
    Checkpoint,
    /// There are more findings than are listed.
    More,
}

/// The findings so far: at most [`Verification::MAX_MISMATCHES`], and the number of further ones.
#[derive(Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    more: u64,
    /// The positions in the list of the findings of each cause.
    causes: HashMap<(Code, String), Cause>,
}

struct Cause {
    listed: usize,
    last_listed: usize,
    /// The number of findings that are not listed, and the last of them.
    others: u64,
    things: &'static str,
    last: String,
}

impl Findings {
    pub fn add(
        &mut self,
        code: Code,
        timestamp: Option<Timestamp>,
        granule: Option<&str>,
        text: String,
    ) {
        self.push(Finding { code, timestamp, granule: granule.map(str::to_owned), text });
    }

    pub fn push(&mut self, finding: Finding) {
        if self.list.len() < Verification::MAX_MISMATCHES {
            self.list.push(finding);
        } else {
            self.more += 1;
        }
    }

    /// Adds a finding that may have the same cause as others. At most `limit` findings with one
    /// cause are listed; the last of these counts the other `things` and names the last one.
    pub fn add_of_cause(
        &mut self,
        cause: String,
        limit: usize,
        (things, name): (&'static str, &str),
        finding: impl FnOnce() -> Finding,
    ) {
        let finding = finding();
        let key = (finding.code, cause);
        let is_full = self.causes.len() == Verification::MAX_MISMATCHES;
        match self.causes.get_mut(&key) {
            Some(known) if known.listed >= limit => {
                known.others += 1;
                name.clone_into(&mut known.last);
            }
            Some(known) => {
                known.listed += 1;
                known.last_listed = self.list.len();
                self.push(finding);
            }
            // This bounds the memory if every row has a cause of its own.
            None if is_full => self.push(finding),
            None => {
                let last_listed = self.list.len();
                let last = String::new();
                self.causes.insert(key, Cause { listed: 1, last_listed, others: 0, things, last });
                self.push(finding);
            }
        }
    }

    /// Adds the finding that something could not be verified.
    pub fn add_unreachable(&mut self, error: &Error) {
        let text = error.reason();
        self.add(Code::Unreachable, None, None, format!("not verified: {text}"));
    }

    /// Adds the finding that something could not be read.
    pub fn add_unreadable(&mut self, what: &str, error: &Error) {
        self.add(Code::Unreadable, None, None, format!("{what}: {}", error.reason()));
    }

    pub fn append(&mut self, mut other: Findings) {
        other.settle_causes();
        other.list.into_iter().for_each(|finding| self.push(finding));
        self.more += other.more;
    }

    pub fn into_list(mut self) -> Vec<Finding> {
        self.settle_causes();
        if self.more > 0 {
            let text = format!("and {} more", self.more);
            self.list.push(Finding { code: Code::More, timestamp: None, granule: None, text });
        }
        self.list
    }

    /// Adds the number of further findings to the last listed finding of each cause.
    fn settle_causes(&mut self) {
        for cause in std::mem::take(&mut self.causes).into_values() {
            match self.list.get_mut(cause.last_listed) {
                Some(finding) if cause.others > 0 => {
                    let Cause { others, things, last, .. } = cause;
                    finding.text += &format!("; and {others} more {things}, the last is {last}");
                }
                Some(_) => {}
                None => self.more += cause.others,
            }
        }
    }
}

/// Separates the errors that concern the content of the registry: the inner `Err` means that the
/// content cannot be read.
///
/// # Errors
///
/// Errors that do not concern the content: the registry was replaced, or the work was stopped.
pub(super) fn readable<T>(result: Result<T>) -> Result<std::result::Result<T, Error>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) if error.is_of_registry() && error.kind().is_of_content() => Ok(Err(error)),
        Err(error) => Err(error),
    }
}

/// Refuses what does not agree, by the first finding.
///
/// # Errors
///
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged).
pub(in crate::registry) fn refuse_mismatch(verification: Verification) -> Result<()> {
    let Some(finding) = verification.mismatches.into_iter().next() else { return Ok(()) };
    let Finding { timestamp, granule, text, .. } = finding;
    let dataset = verification.dataset.map(|dataset| dataset.to_string());
    let at = timestamp.map(|timestamp| format!("at {timestamp}"));
    let granule = granule.map(|granule| quoted(&granule).to_string());
    let place: Vec<String> = [dataset, at, granule].into_iter().flatten().collect();
    Err(Error::damaged(match place.is_empty() {
        true => text,
        false => format!("{}: {text}", place.join(" ")),
    }))
}
