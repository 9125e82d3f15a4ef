//! Facts about whether a mirror matches its primary. Names and checksums are compared with the primary, and
//! files are read from the disk.

use std::fmt;

use serde::Serialize;

use super::snapshot::{DifferenceCounts, Snapshot};
use crate::error::Result;
use crate::model::{ChangeCounts, DatasetName, Instance, Timestamp, plural};
use crate::store::{FindingCounts, RootState};

/// Whether a mirror matches its primary.
///
/// As text, it is `names identical · checksums identical · files on disk never checked`. Its JSON contains this
/// text, too.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MirrorFacts {
    /// Whether the mirror holds the granules of the primary.
    pub(crate) names: NamesFact,
    /// Whether the recorded checksums and sizes are those of the primary.
    pub(crate) checksums: ChecksumsFact,
    /// Whether the files on disk are as recorded.
    pub files: FilesFact,
}

/// Whether a mirror holds the granules of its primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub(crate) enum NamesFact {
    /// It holds the same granules.
    Identical,
    /// It holds different granules.
    Different {
        /// The number of granules that only the primary holds. `None` means that they were not compared now.
        missing: Option<u64>,
        /// The number of granules that only the mirror holds.
        unexpected: Option<u64>,
    },
    /// The last attempt to read the primary failed, or its log does not continue what was read before.
    NotCompared,
}

/// Whether the recorded checksums and sizes of a mirror are those of its primary, for the granules that both
/// hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub(crate) enum ChecksumsFact {
    /// No file differs.
    Identical {
        /// The number of granules that were compared. `None` means all.
        compared: Option<u64>,
        /// The number of granules that both hold.
        #[serde(skip)]
        of: u64,
    },
    /// Some files differ.
    Different {
        /// The number of granules with a file that differs. `None` means that they were not compared now.
        different: Option<u64>,
        /// The number of granules that were compared. `None` means that the others were known to be the same.
        compared: Option<u64>,
    },
    /// The mirror has no checksums: only sizes, or nothing, are recorded.
    NotRecorded,
    /// The primary has no checksums of the same algorithms, or one of the two changed since the comparison.
    NotCompared,
}

/// Whether the files of a dataset are as recorded, according to the latest checks in all directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FilesFact {
    /// No file was ever read.
    NeverChecked,
    /// The first check is under way.
    BeingChecked {
        /// When it began.
        #[serde(skip)]
        since: Timestamp,
    },
    /// All files were as recorded.
    Good {
        /// All files were checked at this time or later.
        checked: Timestamp,
        /// The number of files that did not change since. `None` means unknown: the next check is under way, or
        /// the dataset changed since.
        good: Option<u64>,
        /// The number of granules that were added or replaced since, and are not yet checked.
        changed: u64,
    },
    /// All files were as recorded, but that check is too old.
    Old {
        /// All files were checked at this time or later.
        checked: Timestamp,
    },
    /// Some files are not as recorded.
    Bad {
        /// All files were checked at this time or later. `None` means that not all files were ever checked.
        checked: Option<Timestamp>,
        /// The number of files that are as recorded in all directories. `None` means unknown: a check is under
        /// way, not all files were ever checked, or the dataset changed since.
        good: Option<u64>,
        /// The number of files that do not exist.
        missing: u64,
        /// The number of files that have a different size or checksum, or cannot be read.
        damaged: u64,
        /// The number of files with another problem, such as files without a record.
        other: u64,
    },
}

impl MirrorFacts {
    /// Whether the mirror holds the granules of the primary, and no others.
    pub fn are_names_identical(&self) -> bool {
        self.names == NamesFact::Identical
    }

    /// Whether the recorded checksums and sizes are those of the primary, for the granules that both hold.
    /// `None` means that nothing could be compared.
    pub fn are_checksums_identical(&self) -> Option<bool> {
        match self.checksums {
            ChecksumsFact::Identical { .. } => Some(true),
            ChecksumsFact::Different { .. } => Some(false),
            ChecksumsFact::NotRecorded | ChecksumsFact::NotCompared => None,
        }
    }

    /// Whether one of the facts is bad. Files that were never checked, or too long ago, are bad only if a check
    /// is required.
    pub(crate) fn is_bad(&self, is_check_required: bool) -> bool {
        let is_unchecked = matches!(self.files, FilesFact::NeverChecked)
            || matches!(self.files, FilesFact::Old { .. });
        !self.are_names_identical()
            || self.are_checksums_identical() == Some(false)
            || matches!(self.files, FilesFact::Bad { .. })
            || is_check_required && is_unchecked
    }
}

impl NamesFact {
    pub(crate) fn of(counts: &DifferenceCounts) -> Self {
        match counts.has_same_granules() {
            true => NamesFact::Identical,
            false => NamesFact::Different {
                missing: Some(counts.only_right),
                unexpected: Some(counts.only_left),
            },
        }
    }
}

impl ChecksumsFact {
    /// The result of a comparison of a mirror, on the left, with its primary. `has_checksums`: the mirror has
    /// checksums, not only sizes. `is_known`: all file records were known to be the same before the comparison.
    pub(crate) fn of(counts: &DifferenceCounts, has_checksums: bool, is_known: bool) -> Self {
        let (contents, of) = (counts.contents, counts.matched);
        let compared = match is_known {
            true => of,
            false => contents.compared,
        };
        match (contents.other, compared) {
            (different, _) if different > 0 => {
                let compared = Some(contents.compared).filter(|_| !is_known);
                ChecksumsFact::Different { different: Some(different), compared }
            }
            _ if !has_checksums => ChecksumsFact::NotRecorded,
            (_, 0) if of > 0 => ChecksumsFact::NotCompared,
            (_, compared) => {
                let compared = Some(compared).filter(|compared| *compared < of);
                ChecksumsFact::Identical { compared, of }
            }
        }
    }
}

impl Snapshot {
    /// The fact about the files of a dataset. All of them must have been checked since `oldest`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown).
    pub(crate) fn files_fact(
        &self,
        dataset: &DatasetName,
        oldest: Option<Timestamp>,
    ) -> Result<FilesFact> {
        let roots = self.checked_roots(dataset)?;
        let counts = match roots.is_empty() {
            true => FindingCounts::default(),
            false => self.ask_of(dataset, |read, key| read.finding_counts(key))?,
        };
        Ok(match FilesFact::of(&roots, counts, oldest) {
            FilesFact::Good { checked, .. } => {
                let since = self.changes_since(dataset, checked)?;
                let good = self.good_files(dataset, &roots, since, counts.files)?;
                let changed = since.counts.ingested + since.counts.replaced;
                FilesFact::Good { checked, good, changed }
            }
            FilesFact::Bad { checked: Some(checked), missing, damaged, other, .. } => {
                let since = self.changes_since(dataset, checked)?;
                let good = self.good_files(dataset, &roots, since, counts.files)?;
                FilesFact::Bad { checked: Some(checked), good, missing, damaged, other }
            }
            fact => fact,
        })
    }

    /// The number of files that were as recorded in all roots at the latest checks; `bad` files were not.
    /// `None` means unknown: a check is under way, or the changes `since` the first of these checks began do
    /// not determine the number.
    fn good_files(
        &self,
        dataset: &DatasetName,
        roots: &[RootState],
        since: ChangesSince,
        bad: u64,
    ) -> Result<Option<u64>> {
        let is_resting = roots.iter().all(|root| root.started.is_none());
        let first = roots.iter().min_by_key(|root| root.since);
        let last = roots.iter().max_by_key(|root| root.since);
        let (true, true, Some(first), Some(last)) = (is_resting, since.are_all, first, last) else {
            return Ok(None);
        };
        let ChangeCounts { ingested, deleted, described, replaced } = since.counts;
        if deleted + described + replaced == 0 {
            // Some bad files may be among those added since.
            let files = Some(first.files).filter(|_| bad == 0 || ingested == 0);
            return Ok(files.and_then(|files| files.checked_sub(bad)));
        }
        let Some(later) = last.since.filter(|_| ingested + described + replaced == 0) else {
            return Ok(None);
        };
        // If nothing was added, every file that the latest check read was checked in all roots.
        let since_last = self.changes_since(dataset, later)?;
        let is_same = since_last.are_all && since_last.counts == ChangeCounts::default();
        Ok(last.files.checked_sub(bad).filter(|_| is_same))
    }

    /// The changes of a dataset that were recorded after a time.
    fn changes_since(&self, dataset: &DatasetName, since: Timestamp) -> Result<ChangesSince> {
        let (mut changes, mut before) = (ChangesSince::default(), None);
        for _ in 0..MAX_PAGES {
            let page = self.instances_before(dataset, before, PAGE_CHANGES)?;
            let is_last = page.len() < PAGE_CHANGES as usize;
            for instance in page {
                if instance.recorded <= since {
                    return Ok(ChangesSince { are_all: true, ..changes });
                }
                let Instance { ingested, deleted, described, replaced, .. } = instance;
                changes.counts += ChangeCounts { ingested, deleted, described, replaced };
                before = Some(instance.timestamp);
            }
            if is_last {
                return Ok(ChangesSince { are_all: true, ..changes });
            }
        }
        Ok(changes)
    }
}

/// The latest changes of a dataset, recorded after a time.
#[derive(Debug, Clone, Copy, Default)]
struct ChangesSince {
    /// The sum of their counts.
    counts: ChangeCounts,
    /// Whether these are all changes since that time: at most [`MAX_PAGES`] pages are read.
    are_all: bool,
}

/// The number of changes in a page, and the greatest number of pages that are read to count the changes since a
/// check.
const PAGE_CHANGES: u32 = 256;
const MAX_PAGES: u32 = 64;

impl FilesFact {
    /// The fact from the findings of the checks, without the number of good files.
    fn of(roots: &[RootState], counts: FindingCounts, oldest: Option<Timestamp>) -> Self {
        let FindingCounts { missing, damaged, all, .. } = counts;
        let other = all.saturating_sub(missing + damaged);
        let is_complete = |root: &RootState| root.since.is_some();
        let first_since = roots.iter().filter_map(|root| root.since).min();
        let checked = first_since.filter(|_| roots.iter().all(is_complete));
        let is_old = |oldest| roots.iter().any(|root| root.is_older_than(oldest));
        let started = roots.iter().filter(|root| !is_complete(root)).filter_map(|it| it.started);
        match (checked, started.min()) {
            _ if roots.is_empty() => FilesFact::NeverChecked,
            _ if all > 0 => FilesFact::Bad { checked, good: None, missing, damaged, other },
            (Some(checked), _) if oldest.is_some_and(is_old) => FilesFact::Old { checked },
            (Some(checked), _) => FilesFact::Good { checked, good: None, changed: 0 },
            (None, Some(since)) => FilesFact::BeingChecked { since },
            (None, None) => FilesFact::NeverChecked,
        }
    }
}

impl fmt::Display for MirrorFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MirrorFacts { names, checksums, files } = self;
        write!(f, "names {names} · checksums {checksums} · files on disk {files}")
    }
}

impl fmt::Display for NamesFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NamesFact::Identical => f.write_str("identical"),
            NamesFact::Different { missing: Some(missing), unexpected: Some(unexpected) } => {
                write!(f, "different: {missing} missing, {unexpected} unexpected")
            }
            NamesFact::Different { .. } => f.write_str("different"),
            NamesFact::NotCompared => f.write_str("not compared"),
        }
    }
}

impl fmt::Display for ChecksumsFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChecksumsFact::Identical { compared: None, .. } => f.write_str("identical"),
            ChecksumsFact::Identical { compared: Some(compared), of } => {
                write!(f, "identical for {compared} of {of}")
            }
            ChecksumsFact::Different { different: Some(different), .. } => {
                write!(f, "different for {}", plural(*different, "granule"))
            }
            ChecksumsFact::Different { different: None, .. } => f.write_str("different"),
            ChecksumsFact::NotRecorded => f.write_str("not recorded"),
            ChecksumsFact::NotCompared => f.write_str("not compared"),
        }
    }
}

impl fmt::Display for FilesFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilesFact::NeverChecked => f.write_str("never checked"),
            FilesFact::BeingChecked { since } => write!(f, "being checked since {}", since.day()),
            FilesFact::Good { checked, good, changed } => {
                write!(f, "checked {}", checked.day())?;
                good.map_or(Ok(()), |good| write!(f, ", {good} good"))?;
                match changed {
                    0 => Ok(()),
                    changed => write!(f, ", {changed} changed since"),
                }
            }
            FilesFact::Old { checked } => write!(f, "checked {}, too long ago", checked.day()),
            FilesFact::Bad { missing, damaged, other, .. } => {
                let counts =
                    [(missing, "missing"), (damaged, "damaged"), (other, "not as recorded")];
                let counts = counts.into_iter().filter(|(count, _)| **count > 0);
                let counts: Vec<String> =
                    counts.map(|(count, what)| format!("{count} {what}")).collect();
                f.write_str(&counts.join(", "))
            }
        }
    }
}

impl Serialize for MirrorFacts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Facts<'a> {
            text: String,
            names: &'a NamesFact,
            checksums: &'a ChecksumsFact,
            files: &'a FilesFact,
        }
        let MirrorFacts { names, checksums, files } = self;
        Facts { text: self.to_string(), names, checksums, files }.serialize(serializer)
    }
}
