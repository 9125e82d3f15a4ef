//! Which rows of a table are read, and which columns may say that others should not be.

use csv::ByteRecord;

use super::columns::index_of;
use super::finding::{Finding, FindingKind, argument};
use super::format::RowFilter;
use super::values::Values;
use crate::error::ErrorKind;
use crate::model::{SourceLocation, quoted};

/// Which rows are read, and the columns that may say that others should not be.
#[derive(Default)]
pub(super) struct Selection {
    /// The columns of `--only`, with their names.
    pub only: Vec<(usize, String)>,
    pub filters: Vec<RowFilter>,
    /// The column with the status of a granule in an inventory of Cumulus.
    pub status: Option<usize>,
    /// The columns that are not read, and are named like a status or a collection.
    pub watched: Vec<Watched>,
}

/// A column that is not read, and its values.
pub(super) struct Watched {
    pub index: usize,
    pub name: String,
    pub kind: &'static FindingKind,
    pub values: Values,
}

/// A column looks like a status, and its values differ.
static STATUS_COLUMN: FindingKind = FindingKind {
    name: "status-column",
    refused_as: ErrorKind::NotAList,
    heading: "Status columns",
    what: "is a status that is not read",
    hint: "--only COLUMN=VALUE reads the rows with this value, and --only 'COLUMN=*' all",
};

/// A column names collections, and its values differ.
static COLLECTION_COLUMN: FindingKind = FindingKind {
    name: "several-collections",
    refused_as: ErrorKind::NotAList,
    heading: "Several collections",
    what: "is of several collections",
    hint: "--only COLUMN=VALUE reads the rows of one collection, and --only 'COLUMN=*' all",
};

/// The names of columns with a status, in lower case without separators.
const STATUSES: [&str; 24] = [
    "active",
    "availability",
    "available",
    "deleted",
    "hidden",
    "isactive",
    "iscurrent",
    "isdeleted",
    "islatest",
    "ispublished",
    "isretracted",
    "iswithdrawn",
    "latest",
    "obsolete",
    "published",
    "publicationstate",
    "quarantined",
    "released",
    "replaced",
    "retracted",
    "state",
    "status",
    "superseded",
    "withdrawn",
];

/// The names of columns with a collection, written likewise.
const COLLECTIONS: [&str; 6] = [
    "collection",
    "collectionconceptid",
    "collectionid",
    "collectionname",
    "collectionshortname",
    "parentcollection",
];

/// The names of columns with the title of a collection, or of the row itself, written likewise.
const TITLES: [&str; 2] = ["datasetid", "entrytitle"];

/// The name of a column in lower case, without separators.
fn bare(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    name.chars().filter(|it| it.is_alphanumeric()).collect::<String>().to_ascii_lowercase()
}

impl Selection {
    /// Watches the columns that are not read and are named like a status or a collection. In an inventory of
    /// Cumulus, the status is read.
    pub(super) fn watch(&mut self, header: &ByteRecord, read: &[usize]) {
        let has = |name: &str| index_of(header, name).is_some();
        let is_cumulus = (has("granuleUr") || has("granuleId"))
            && ["collectionId", "createdAt", "status", "provider"].into_iter().all(has);
        let status = index_of(header, "status").filter(|status| !read.contains(status));
        self.status = status.filter(|_| is_cumulus);
        for (index, name) in header.iter().enumerate() {
            if read.contains(&index) || self.status == Some(index) {
                continue;
            }
            let bare = bare(name);
            let is_status = STATUSES.contains(&bare.as_str()) || bare.ends_with("status");
            let kind = match () {
                () if is_status => &STATUS_COLUMN,
                () if [&COLLECTIONS[..], &TITLES].concat().contains(&bare.as_str()) => {
                    &COLLECTION_COLUMN
                }
                () => continue,
            };
            let name = String::from_utf8_lossy(name).into_owned();
            self.watched.push(Watched { index, name, kind, values: Values::default() });
        }
    }

    pub(super) fn findings(&self, location: &SourceLocation) -> Vec<Finding> {
        let mut findings = Vec::new();
        for Watched { name, kind, values, .. } in &self.watched {
            let is_status = *kind == &STATUS_COLUMN;
            // Of many titles, each is mostly that of its own row.
            let is_of_few = is_status || TITLES.contains(&bare(name.as_bytes()).as_str());
            let is_suspicious = match values.distinct() {
                0 | 1 => false,
                distinct => !is_of_few || distinct <= MAX_STATUSES,
            };
            if is_suspicious {
                let sentence = format!("the column {} has several values: {values}", quoted(name));
                let of_rows = if is_status { "this value" } else { "this collection" };
                let option = |value: &str| argument(&format!("{name}={value}"));
                let hint = values.most_frequent().and_then(option).zip(option("*"));
                let hint = hint.filter(|_| !name.contains('=')).map(|(most, all)| {
                    format!("--only {most} reads the rows of {of_rows}, --only {all} all")
                });
                findings.push(Finding::new(kind, location.clone(), sentence).with_hint(hint));
            }
        }
        findings
    }
}

/// A column with more values than this is not a status, and a title not that of a collection.
const MAX_STATUSES: usize = 10;
