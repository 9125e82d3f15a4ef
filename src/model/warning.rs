//! Warnings about work that succeeded, and their kinds, which scripts can distinguish.

use std::fmt;

use super::dataset_name::DatasetName;
use super::history::Instance;
use super::time::Timestamp;

/// A warning: information that the reader needs although the work succeeded.
///
/// Hints are not part of it: each front end chooses its own by the kind.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The kind of the warning.
    pub kind: WarningKind,
    /// The message: one sentence on one line, without the full stop.
    pub message: String,
    /// The dataset to name in a hint. `None` means that the hint names no dataset.
    pub dataset: Option<DatasetName>,
    /// The time of the instance to name in a hint. `None` means that the hint names no instance.
    pub timestamp: Option<Timestamp>,
}

impl Warning {
    /// A warning of this kind.
    pub fn new(kind: WarningKind, message: impl Into<String>) -> Self {
        Warning { kind, message: message.into(), dataset: None, timestamp: None }
    }

    /// Returns the warning with a dataset for its hint.
    #[must_use]
    pub(crate) fn of_dataset(self, name: &DatasetName) -> Self {
        Warning { dataset: Some(name.clone()), ..self }
    }

    /// Returns the warning with an instance for its hint.
    #[must_use]
    pub(crate) fn of_instance(self, instance: &Instance) -> Self {
        Warning { timestamp: Some(instance.timestamp), ..self.of_dataset(&instance.dataset) }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Declares the kinds and their names.
macro_rules! warning_kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal,)+) => {
        /// The kind of a warning. Its name is the `kind` in `{"warning":{"kind","message"}}`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum WarningKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl WarningKind {
            /// The stable name, for scripts.
            pub const fn name(self) -> &'static str {
                match self {
                    $(WarningKind::$kind => $name,)+
                }
            }
        }
    };
}

// In the order of their names.
warning_kinds! {
    /// Annotations of the primary were not kept: those of their instances would be too long together.
    AnnotationsLeftOut = "annotations-left-out",
    /// The change took effect more than 48 hours before it was recorded, in a dataset that had a change
    /// that was recorded within an hour of its time: citations of later dates may have the previous
    /// identifier.
    BackDated = "back-dated",
    /// What a sync added had been deleted by the change before, and the set is an earlier one again.
    CameBack = "came-back",
    /// The registry cannot be written, so a check of files is not recorded.
    CheckNotRecorded = "check-not-recorded",
    /// The date or the digest of a citation cannot be checked here, and was ignored.
    CitationNotChecked = "citation-not-checked",
    /// The clock is far ahead of everything that the registry has recorded.
    ClockAhead = "clock-ahead",
    /// The clock is behind the dataset's latest change.
    ClockBehind = "clock-behind",
    /// Lines begin with `#`: the file may contain comments.
    CommentLines = "comment-lines",
    /// The registry that a copy replaced had more than the copy.
    CopyLacks = "copy-lacks",
    /// The registry that a copy replaces cannot be read, so it is not known what the copy lacks.
    CopyNotCompared = "copy-not-compared",
    /// Events of a day that is not complete were left out.
    DayNotOver = "day-not-over",
    /// The file marks some of its granules as deleted, and these were skipped.
    DeletedInFile = "deleted-in-file",
    /// References without an identifier have DOIs of no dataset that was read of a site, and were left out.
    DoiNotLookedUp = "doi-not-looked-up",
    /// A few granule ids end with a blank.
    EdgeBlank = "edge-blank",
    /// What is stated of files cannot be read, and was skipped.
    FilesSkipped = "files-skipped",
    /// A dataset was named by a former name.
    FormerName = "former-name",
    /// No listed id is held, but with an option that makes ids of paths some would be.
    IdsFromPaths = "ids-from-paths",
    /// A search result is incomplete: some of its pages are missing.
    Incomplete = "incomplete",
    /// The last change of the dataset is in the future.
    LastChangeInFuture = "last-change-in-future",
    /// An import has so many distinct times that a change for each is slow.
    ManyTimes = "many-times",
    /// A mirror is ahead of its primary or has diverged from it, and was not changed.
    MirrorNotChanged = "mirror-not-changed",
    /// What was read of a primary could not be remembered.
    MirrorNotRemembered = "mirror-not-remembered",
    /// No granule with this producer id was ever held.
    NeverHeld = "never-held",
    /// Files or granules without a checksum of the algorithm were left out.
    NoChecksum = "no-checksum",
    /// The dataset that is cited follows listings, and was neither changed nor confirmed for 31 days.
    NotConfirmed = "not-confirmed",
    /// The identifier was never in force, or not at the time given.
    NotInForce = "not-in-force",
    /// The registry does not have a dataset that was published.
    NotInRegistry = "not-in-registry",
    /// A witness has not cosigned what was signed.
    NotWitnessed = "not-witnessed",
    /// A primary states other bytes than are known in the mirror, which stay.
    OtherContent = "other-content",
    /// Other identifiers were in force on the same day.
    OtherIdentifiers = "other-identifiers",
    /// The primary renamed the dataset that a mirror follows.
    PrimaryRenamed = "primary-renamed",
    /// The primary withdrew the dataset that a mirror follows.
    PrimaryWithdrawn = "primary-withdrawn",
    /// The set that is cited, or that from which it is selected, is annotated as questionable.
    Questionable = "questionable",
    /// The criteria select every granule, so the whole set is cited.
    SelectsAll = "selects-all",
    /// Most lines contain a separator: the file may be a table.
    Separators = "separators",
    /// Another dataset, of this registry or of the primary, has the DOI of one that was created.
    SharedDoi = "shared-doi",
    /// Files have no recorded size to be checked by.
    SizesUnknown = "sizes-unknown",
    /// Some granules of the change, or entries of a directory, were skipped.
    Skipped = "skipped",
    /// An address shows an older state of a log than was imported before.
    Stale = "stale",
    /// Statements name datasets that are not served, so the log of statements is not.
    StatementsNotServed = "statements-not-served",
    /// The registry cannot be written, so a subset that is cited is not saved.
    SubsetNotSaved = "subset-not-saved",
    /// The file has times without an offset, which are read as UTC.
    TimesTakenAsUtc = "times-taken-as-utc",
    /// The dataset was withdrawn.
    Withdrawn = "withdrawn",
}
