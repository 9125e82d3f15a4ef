//! Columns and fields that are not read, and whose names suggest that some granules should not be read.

use super::finding::{Finding, FindingKind, argument};
use super::values::Values;
use crate::error::ErrorKind;
use crate::model::{SourceLocation, quoted};

/// A column, a field, or the collection of the items of a response, with its values in all files of a listing.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    /// The name in `--only`.
    name: String,
    place: Place,
    meaning: Meaning,
    values: Values,
    /// The first spelling of an empty value. `None` means that no value is empty.
    empty: Option<String>,
    has_filled: bool,
    /// Whether the times of ingests and deletions are read, so that `--deleted` can name the column.
    with_dates: bool,
    location: SourceLocation,
}

/// The source of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In a column of a table.
    Column,
    /// In a field of objects.
    Field,
    /// In the items of a response, as their collection.
    Item,
}

/// The meaning of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// One of few states.
    Status,
    /// A property that only some granules have, such as the time of deletion.
    Mark,
    /// A collection.
    Collection,
    /// The title of a collection, or of the row itself.
    Title,
}

/// A column looks like a status, and has several values.
static STATUS: FindingKind = FindingKind {
    name: "status-column",
    refused_as: ErrorKind::NotAList,
    heading: "Status columns",
    what: "is a status that is not read",
    hint: "--only COLUMN=VALUE reads the granules with this value, and --only 'COLUMN=*' all",
};

/// A column names collections, and has several values.
static COLLECTIONS: FindingKind = FindingKind {
    name: "several-collections",
    refused_as: ErrorKind::NotAList,
    heading: "Several collections",
    what: "is of several collections",
    hint: "--only COLUMN=VALUE reads one collection, and --only 'COLUMN=*' all",
};

/// A column with more values than this is not a status, and a title not that of a collection.
const MAX_STATUSES: usize = 10;

/// The names of columns with a status, in lower case without separators.
const STATUSES: [&str; 35] = [
    "active",
    "availability",
    "available",
    "deleted",
    "deletemarker",
    "hidden",
    "isactive",
    "iscurrent",
    "isdeleted",
    "isdeletemarker",
    "islatest",
    "ispublished",
    "isretracted",
    "isvalid",
    "iswithdrawn",
    "latest",
    "obsolete",
    "processingstate",
    "publicationstate",
    "published",
    "quarantined",
    "released",
    "replaced",
    "result",
    "retracted",
    "state",
    "status",
    "statuscode",
    "succeeded",
    "success",
    "successful",
    "superseded",
    "valid",
    "versionstate",
    "withdrawn",
];

/// Prefixes of column names, in the same spelling. A granule with a value in such a column should not be read.
const MARKS: [&str; 10] = [
    "deleted",
    "deletion",
    "deprecated",
    "obsoleted",
    "removed",
    "replaced",
    "isreplaced",
    "retracted",
    "superseded",
    "withdrawn",
];

/// Words that follow such a prefix: when, or by what.
const MARK_ENDS: [&str; 5] = ["at", "by", "date", "on", "time"];

/// The names of columns with a collection, in the same spelling.
const COLLECTION_NAMES: [&str; 6] = [
    "collection",
    "collectionconceptid",
    "collectionid",
    "collectionname",
    "collectionshortname",
    "parentcollection",
];

/// The names of columns with the title of a collection, or of the row itself, in the same spelling.
const TITLES: [&str; 2] = ["datasetid", "entrytitle"];

impl Meaning {
    /// The meaning of a name. `None` means that it does not concern which granules should be read.
    fn of(name: &str) -> Option<Self> {
        let kept = name.chars().filter(|it| it.is_alphanumeric());
        let bare = kept.collect::<String>().to_ascii_lowercase();
        let is_mark = || {
            let mut ends = MARKS.iter().filter_map(|begin| bare.strip_prefix(begin));
            ends.any(|end| MARK_ENDS.contains(&end))
        };
        match bare.as_str() {
            bare if STATUSES.contains(&bare) || bare.ends_with("status") => Some(Meaning::Status),
            bare if COLLECTION_NAMES.contains(&bare) => Some(Meaning::Collection),
            bare if TITLES.contains(&bare) => Some(Meaning::Title),
            _ => is_mark().then_some(Meaning::Mark),
        }
    }
}

/// Whether a value stands for a missing value.
fn is_empty(value: &[u8]) -> bool {
    const WORDS: [&[u8]; 8] = [b"", b"-", b"\\N", b"n/a", b"na", b"nan", b"none", b"null"];
    let value = value.trim_ascii();
    value.len() <= 4 && WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
}

impl Watched {
    /// Begins to watch a column or field of this name. `None` means that the name does not concern which
    /// granules should be read.
    pub(super) fn of_name(
        name: &str,
        place: Place,
        with_dates: bool,
        location: &SourceLocation,
    ) -> Option<Self> {
        let meaning = Meaning::of(name)?;
        Some(Watched {
            name: name.to_owned(),
            place,
            meaning,
            values: Values::default(),
            empty: None,
            has_filled: false,
            with_dates,
            location: location.clone(),
        })
    }

    /// The collections of the items of a response. `name` is their name in `--only`.
    pub(super) fn of_items(name: &str, values: Values, location: SourceLocation) -> Self {
        Watched {
            name: name.to_owned(),
            place: Place::Item,
            meaning: Meaning::Collection,
            values,
            empty: None,
            has_filled: false,
            with_dates: false,
            location,
        }
    }

    /// Counts a value.
    pub(super) fn add(&mut self, value: &[u8]) {
        self.values.add_bytes(value);
        if matches!(self.meaning, Meaning::Collection | Meaning::Title) {
            return;
        }
        if !is_empty(value) {
            self.has_filled = true;
        } else if self.empty.is_none() {
            self.empty = Some(String::from_utf8_lossy(value).into_owned());
        }
    }

    /// Counts granules that do not have the field.
    pub(super) fn add_missing(&mut self, count: u64) {
        if count > 0 {
            self.values.add_times("", count);
            self.empty.get_or_insert_default();
        }
    }

    /// Whether both are the same column, in two files.
    pub(super) fn is_same(&self, other: &Watched) -> bool {
        self.name == other.name && self.meaning == other.meaning
    }

    /// Adds the values of the same column in another file.
    pub(super) fn add_file(&mut self, other: &Watched) {
        self.values.add_all(&other.values);
        self.has_filled |= other.has_filled;
        if self.empty.is_none() {
            self.empty.clone_from(&other.empty);
        }
    }

    /// A finding if the values suggest that some granules should not be read.
    pub(super) fn finding(&self) -> Option<Finding> {
        let Watched { name, values, .. } = self;
        let kind = match self.meaning {
            Meaning::Status | Meaning::Mark => &STATUS,
            Meaning::Collection | Meaning::Title => &COLLECTIONS,
        };
        let (noun, granules) = match self.place {
            Place::Column => ("column", "rows"),
            Place::Field | Place::Item => ("field", "objects"),
        };
        let differs = match self.meaning {
            Meaning::Collection => values.distinct() > 1,
            Meaning::Status | Meaning::Title => (2..=MAX_STATUSES).contains(&values.distinct()),
            Meaning::Mark => false,
        };
        if differs {
            let sentence = match self.place {
                Place::Item => format!("the granules are of several collections: {values}"),
                _ => format!("the {noun} {} has several values: {values}", quoted(name)),
            };
            let what = match (kind == &STATUS, self.place) {
                (true, _) => format!("the {granules} with this value"),
                (false, Place::Item) => "one of them".to_owned(),
                (false, _) => format!("the {granules} of this collection"),
            };
            let hint = values.most_frequent().and_then(|value| self.only(value, &what));
            return Some(self.finding_of(kind, sentence, hint));
        }
        let empty = self.empty.as_deref().filter(|_| self.has_filled)?;
        let sentence =
            format!("the {noun} {} is empty in some {granules} and filled in others", quoted(name));
        let column = argument(name).filter(|_| self.with_dates && name.contains("delet"));
        let hint = column.map_or_else(
            || self.only(empty, &format!("the {granules} in which it is empty")),
            |column| Some(format!("--deleted {column} reads the times of deletions from it")),
        );
        Some(self.finding_of(kind, sentence, hint))
    }

    /// The options that read the granules with one value, described by `what`, or all granules.
    fn only(&self, value: &str, what: &str) -> Option<String> {
        let option = |value: &str| argument(&format!("{}={value}", self.name));
        let (one, all) = option(value).zip(option("*")).filter(|_| !self.name.contains('='))?;
        Some(format!("--only {one} reads {what}, --only {all} all"))
    }

    fn finding_of(
        &self,
        kind: &'static FindingKind,
        sentence: String,
        hint: Option<String>,
    ) -> Finding {
        Finding::new(kind, self.location.clone(), sentence).with_hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(name: &str, values: &[&str]) -> Option<Watched> {
        let location = SourceLocation::Line { source: "x.csv".into(), line: 1 };
        let mut watched = Watched::of_name(name, Place::Column, false, &location)?;
        values.iter().for_each(|value| watched.add(value.as_bytes()));
        Some(watched)
    }

    #[test]
    fn names_of_a_status_or_of_what_only_some_granules_have_are_watched() {
        for name in [
            "status_code",
            "version_state",
            "delete_marker",
            "deleted_at",
            "success",
            "valid",
            "result",
            "superseded_by",
            "Deletion Date",
            "isReplacedBy",
            "granuleStatus",
        ] {
            assert!(Meaning::of(name).is_some(), "{name}");
        }
        for name in [
            "deletion_protection",
            "orbit_state",
            "valid_time",
            "results",
            "updated_by",
            "latest_date",
            "stateless",
            "published_date",
            "id",
            "removed_lines",
        ] {
            assert!(Meaning::of(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_time_that_only_some_rows_have_is_found_however_many_times_there_are() {
        let days: Vec<String> = (10..30).map(|day| format!("2024-01-{day}")).collect();
        let mut values: Vec<&str> = days.iter().map(String::as_str).collect();
        let finding = |values: &[&str]| watched("deleted_at", values).unwrap().finding();
        assert!(finding(&values).is_none(), "all of them are deleted");
        values.push("NULL");
        let error = finding(&values).unwrap().error();
        assert_eq!(
            error.to_string(),
            "x.csv:1: the column \"deleted_at\" is empty in some rows and filled in others"
        );
        assert!(finding(&["", ""]).is_none());
    }

    #[test]
    fn the_values_of_two_files_count_together() {
        let mut both = watched("status", &["ok", "ok"]).unwrap();
        let other = watched("status", &["failed"]).unwrap();
        assert!(both.finding().is_none() && other.finding().is_none());
        assert!(both.is_same(&other));
        both.add_file(&other);
        let sentence = both.finding().unwrap().to_string();
        assert_eq!(
            sentence,
            "the column \"status\" has several values: \"ok\" (2), \"failed\" (1)"
        );
    }
}
