//! The kinds of warnings, which scripts can tell apart with `--json`.

use accession::input::InputWarningKind;

/// What a warning is about. Its name is the `kind` of `{"warning":{"kind","message"}}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningKind {
    /// The citation lacks fields that its format requires.
    CitationIncomplete,
    /// The clock is behind the dataset's latest change.
    ClockBehind,
    /// Lines begin with `#`: the file may contain comments.
    CommentLines,
    /// The file marks some of its granules as deleted, and these were skipped.
    DeletedInFile,
    /// A granule id begins or ends with a space.
    EdgeSpace,
    /// The first line looks like the header of a table.
    HeaderLine,
    /// A mirror is ahead of its primary or has diverged from it, and was not changed.
    MirrorNotChanged,
    /// A mirror cannot be named in the citation.
    MirrorUnnamed,
    /// No granule with this producer id was ever held.
    NeverHeld,
    /// The identifier of a list is not the expected one.
    NotAsExpected,
    /// The identifier was never in force, or not at the time given.
    NotInForce,
    /// Other identifiers were in force on the same day.
    OtherIdentifiers,
    /// A search result is incomplete: some of its pages are missing.
    PagesMissing,
    /// Most lines contain a separator: the file may be a table.
    Separators,
    /// The selection selects everything, so the whole is cited.
    SelectsAll,
    /// Some granules of the change were skipped.
    Skipped,
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
    pub const ALL: [WarningKind; 17] = [
        WarningKind::CitationIncomplete,
        WarningKind::ClockBehind,
        WarningKind::CommentLines,
        WarningKind::DeletedInFile,
        WarningKind::EdgeSpace,
        WarningKind::HeaderLine,
        WarningKind::MirrorNotChanged,
        WarningKind::MirrorUnnamed,
        WarningKind::NeverHeld,
        WarningKind::NotAsExpected,
        WarningKind::NotInForce,
        WarningKind::OtherIdentifiers,
        WarningKind::PagesMissing,
        WarningKind::SelectsAll,
        WarningKind::Separators,
        WarningKind::Skipped,
        WarningKind::SubsetNotSaved,
    ];

    /// The stable name, for scripts.
    pub const fn name(self) -> &'static str {
        match self {
            WarningKind::CitationIncomplete => "citation-incomplete",
            WarningKind::ClockBehind => "clock-behind",
            WarningKind::CommentLines => "comment-lines",
            WarningKind::HeaderLine => "header-line",
            WarningKind::Separators => "separators",
            WarningKind::DeletedInFile => "deleted-in-file",
            WarningKind::EdgeSpace => "edge-space",
            WarningKind::MirrorUnnamed => "mirror-unnamed",
            WarningKind::NeverHeld => "never-held",
            WarningKind::NotInForce => "not-in-force",
            WarningKind::OtherIdentifiers => "other-identifiers",
            WarningKind::PagesMissing => "pages-missing",
            WarningKind::Skipped => "skipped",
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
    fn every_kind_has_a_name_of_its_own() {
        let names: Vec<&str> = WarningKind::ALL.iter().map(|kind| kind.name()).collect();
        assert!(names.is_sorted_by(|left, right| left < right), "{names:?}");
        for name in names {
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{name}");
        }
    }
}
