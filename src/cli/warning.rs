//! The kinds of warnings, which scripts can tell apart with `--json`.

use accession::input::InputWarningKind;

/// The kind of a warning. Its name is the `kind` in `{"warning":{"kind","message"}}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningKind {
    /// The citation lacks fields that its format requires.
    CitationIncomplete,
    /// The clock is behind the dataset's latest change.
    ClockBehind,
    /// Lines begin with `#`: the file may contain comments.
    CommentLines,
    /// The registry that a copy replaces cannot be read, so it is not known what the copy lacks.
    CopyNotCompared,
    /// The file marks some of its granules as deleted, and these were skipped.
    DeletedInFile,
    /// A granule id begins or ends with a space.
    EdgeSpace,
    /// The first line looks like the header of a table.
    HeaderLine,
    /// A mirror is ahead of its primary or has diverged from it, and was not changed.
    MirrorNotChanged,
    /// What was read of a primary could not be remembered.
    MirrorNotRemembered,
    /// No granule with this producer id was ever held.
    NeverHeld,
    /// The identifier of a list is not the expected one.
    NotAsExpected,
    /// The identifier was never in force, or not at the time given.
    NotInForce,
    /// The registry does not have a dataset that was published.
    NotInRegistry,
    /// Other identifiers were in force on the same day.
    OtherIdentifiers,
    /// A search result is incomplete: some of its pages are missing.
    PagesMissing,
    /// Most lines contain a separator: the file may be a table.
    Separators,
    /// The criteria select every granule, so the whole set is cited.
    SelectsAll,
    /// Some granules of the change were skipped.
    Skipped,
    /// An address shows an older state of a log than was imported before.
    Stale,
    /// The change took effect in the past, in a dataset that had a history: citations made since
    /// that time name the set before it.
    BackDated,
    /// A dataset was named by a former name.
    FormerName,
    /// The last change of the dataset is in the future.
    LastChangeInFuture,
    /// An import has so many distinct times that a change for each is slow.
    ManyTimes,
    /// Events of a day that is not complete were left out.
    DayNotOver,
    /// Granules were ingested and deleted within one day, and cancel out.
    CancelledOut,
    /// The dataset was withdrawn.
    Withdrawn,
    /// The registry cannot be written, so a subset that is cited is not saved.
    SubsetNotSaved,
}

impl WarningKind {
    /// The kind of a warning about an input file.
    pub const fn of_input(kind: InputWarningKind) -> Self {
        match kind {
            InputWarningKind::Comments => WarningKind::CommentLines,
            InputWarningKind::Header => WarningKind::HeaderLine,
            InputWarningKind::Separators => WarningKind::Separators,
        }
    }

    /// Every kind, in the order of their names.
    #[cfg(test)]
    pub const ALL: [WarningKind; 27] = [
        WarningKind::BackDated,
        WarningKind::CancelledOut,
        WarningKind::CitationIncomplete,
        WarningKind::ClockBehind,
        WarningKind::CommentLines,
        WarningKind::CopyNotCompared,
        WarningKind::DayNotOver,
        WarningKind::DeletedInFile,
        WarningKind::EdgeSpace,
        WarningKind::FormerName,
        WarningKind::HeaderLine,
        WarningKind::LastChangeInFuture,
        WarningKind::ManyTimes,
        WarningKind::MirrorNotChanged,
        WarningKind::MirrorNotRemembered,
        WarningKind::NeverHeld,
        WarningKind::NotAsExpected,
        WarningKind::NotInForce,
        WarningKind::NotInRegistry,
        WarningKind::OtherIdentifiers,
        WarningKind::PagesMissing,
        WarningKind::SelectsAll,
        WarningKind::Separators,
        WarningKind::Skipped,
        WarningKind::Stale,
        WarningKind::SubsetNotSaved,
        WarningKind::Withdrawn,
    ];

    /// The stable name, for scripts.
    pub const fn name(self) -> &'static str {
        match self {
            WarningKind::CitationIncomplete => "citation-incomplete",
            WarningKind::ClockBehind => "clock-behind",
            WarningKind::CommentLines => "comment-lines",
            WarningKind::CopyNotCompared => "copy-not-compared",
            WarningKind::HeaderLine => "header-line",
            WarningKind::Separators => "separators",
            WarningKind::DeletedInFile => "deleted-in-file",
            WarningKind::EdgeSpace => "edge-space",
            WarningKind::MirrorNotRemembered => "mirror-not-remembered",
            WarningKind::NeverHeld => "never-held",
            WarningKind::NotInForce => "not-in-force",
            WarningKind::NotInRegistry => "not-in-registry",
            WarningKind::OtherIdentifiers => "other-identifiers",
            WarningKind::PagesMissing => "pages-missing",
            WarningKind::Skipped => "skipped",
            WarningKind::Stale => "stale",
            WarningKind::BackDated => "back-dated",
            WarningKind::FormerName => "former-name",
            WarningKind::LastChangeInFuture => "last-change-in-future",
            WarningKind::ManyTimes => "many-times",
            WarningKind::DayNotOver => "day-not-over",
            WarningKind::CancelledOut => "cancelled-out",
            WarningKind::Withdrawn => "withdrawn",
            WarningKind::NotAsExpected => "not-as-expected",
            WarningKind::MirrorNotChanged => "mirror-not-changed",
            WarningKind::SelectsAll => "selects-all",
            WarningKind::SubsetNotSaved => "subset-not-saved",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_name() {
        let names: Vec<&str> = WarningKind::ALL.iter().map(|kind| kind.name()).collect();
        assert!(names.is_sorted_by(|left, right| left < right), "{names:?}");
        for name in names {
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{name}");
        }
    }
}
