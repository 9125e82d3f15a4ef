//! The findings of `verify`, and how findings of one kind are combined.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::model::{DatasetName, Timestamp, quoted};
use crate::registry::work_counts::WorkCounts;

/// The result of verifying a dataset, or the registry file.
///
/// Its fields, in this order, are those of the rows of `verify` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DatasetVerification {
    /// The dataset. `None` means the registry file, which contains all datasets.
    pub dataset: Option<DatasetName>,
    /// The number of recomputed identifiers: one for each instance, and one for each cited subset. 0 if the
    /// granule rows cannot be read.
    pub identifiers: u64,
    /// The findings. Most kinds have only one, the first, whose text counts the others. Findings about the
    /// file, or about something that cannot be read or reached, follow one by one. There are at most
    /// [`DatasetVerification::MAX_MISMATCHES`] of them, and then one that counts the rest.
    pub mismatches: Vec<Finding>,
    /// Whether everything agrees.
    pub ok: bool,
    /// The work that it took.
    #[serde(skip)]
    pub work: WorkCounts,
}

impl DatasetVerification {
    /// Whether something could not be verified, because a machine of a cluster cannot be reached.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.mismatches.iter().any(|finding| finding.code == FindingKind::Unreachable)
    }

    /// The greatest number of findings that are listed one by one, so that a file that is completely
    /// wrong does not fill memory.
    pub const MAX_MISMATCHES: usize = 10_000;

    pub(super) fn new(
        dataset: Option<DatasetName>,
        identifiers: u64,
        findings: Findings,
        work: WorkCounts,
    ) -> Self {
        let mismatches = findings.into_list();
        DatasetVerification { dataset, identifiers, ok: mismatches.is_empty(), mismatches, work }
    }
}

/// A disagreement that `verify` found, and its location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The kind of finding.
    pub code: FindingKind,
    /// The timestamp of the instance that it concerns, or of the first of several. `None` means that it
    /// concerns no instance.
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
pub enum FindingKind {
    /// The file itself: its pages, its indexes, rows that differ from their checksums, or rows that
    /// refer to a row that does not exist.
    File,
    /// Something cannot be read at all.
    Unreadable,
    /// A machine of a cluster cannot be reached, so something was not verified.
    Unreachable,
    /// The identifier of an instance is not the one computed from its granule rows.
    Identifier,
    /// A count of an instance is not the one computed from its granule rows.
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
    /// The digest of an instance is not the one computed from its granule rows and file records.
    Digest,
    /// A file record is of a granule that was not held, or starts at a time at which the dataset had no change.
    Files,
    /// A checkpoint is wrong, missing, or misplaced; or the granule rows before it have changed since it was
    /// computed.
    Checkpoint,
    /// There are more findings than are listed.
    More,
}

crate::model::shown_as_json!(FindingKind);

impl FindingKind {
    /// Whether each finding concerns something different, so that all are listed.
    fn is_listed_each(self) -> bool {
        matches!(self, FindingKind::File | FindingKind::Unreadable | FindingKind::Unreachable)
    }
}

/// The findings so far: the first of each kind with the number of others, and those of the kinds that are
/// listed one by one.
#[derive(Default)]
pub(super) struct Findings {
    first: Vec<(Finding, u64)>,
    each: Vec<Finding>,
    /// The number of findings that should be listed one by one, but are too many.
    more: u64,
}

impl Findings {
    /// Adds a finding. The text is only made if it is listed.
    pub fn add(
        &mut self,
        code: FindingKind,
        timestamp: Option<Timestamp>,
        granule: Option<&str>,
        text: impl FnOnce() -> String,
    ) {
        let finding =
            || Finding { code, timestamp, granule: granule.map(str::to_owned), text: text() };
        if code.is_listed_each() {
            self.list(finding());
        } else if let Some((_, others)) = self.first_of(code) {
            *others += 1;
        } else {
            self.first.push((finding(), 0));
        }
    }

    /// Adds the finding that something could not be verified.
    pub fn add_unreachable(&mut self, error: &Error) {
        self.add(FindingKind::Unreachable, None, None, || {
            format!("not verified: {}", error.reason())
        });
    }

    /// Adds the finding that something could not be read.
    pub fn add_unreadable(&mut self, what: &str, error: &Error) {
        self.add(FindingKind::Unreadable, None, None, || format!("{what}: {}", error.reason()));
    }

    /// Adds the findings of another pass, after these.
    pub fn append(&mut self, other: Findings) {
        for (finding, others) in other.first {
            match self.first_of(finding.code) {
                Some((_, known)) => *known += 1 + others,
                None => self.first.push((finding, others)),
            }
        }
        other.each.into_iter().for_each(|finding| self.list(finding));
        self.more += other.more;
    }

    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.each.is_empty()
    }

    pub fn into_list(self) -> Vec<Finding> {
        let counted = self.first.into_iter().map(|(mut finding, others)| {
            if others > 0 {
                finding.text += &format!("; and {others} more of this kind");
            }
            finding
        });
        let mut list: Vec<Finding> = counted.chain(self.each).collect();
        if self.more > 0 {
            let text = format!("and {} more", self.more);
            list.push(Finding { code: FindingKind::More, timestamp: None, granule: None, text });
        }
        list
    }

    fn first_of(&mut self, code: FindingKind) -> Option<&mut (Finding, u64)> {
        self.first.iter_mut().find(|(finding, _)| finding.code == code)
    }

    fn list(&mut self, finding: Finding) {
        if self.each.len() < DatasetVerification::MAX_MISMATCHES {
            self.each.push(finding);
        } else {
            self.more += 1;
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
        Err(error) if error.is_from_store() && error.concerns_content() => Ok(Err(error)),
        Err(error) => Err(error),
    }
}

/// Returns the first finding as an error.
pub(in crate::registry) fn refuse_mismatch(verification: DatasetVerification) -> Result<()> {
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
