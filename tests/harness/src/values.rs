//! Short constructors of the values and changes that tests need.

use accession::FileRecord;
use accession::file::{Checksum, Content, FilePath};
use accession::{
    Change, ChangeReport, Clock, DatasetName, GranuleId, IfMissing, Limit, Limits, ListingEntry,
    Registry, Timestamp,
};

/// The instant this many seconds after 2001-01-01T00:00:00Z.
pub fn second(seconds: i64) -> Timestamp {
    Timestamp::from_micros((978_307_200 + seconds) * 1_000_000).unwrap()
}

/// The time of the tests' clock, which is later than any change that they make.
pub fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// The tests' clock, which always shows [`now`].
pub fn clock() -> Clock {
    Clock::fixed(now())
}

/// A change that takes effect at a time.
pub trait AtTime {
    /// The same change, at a time.
    #[must_use]
    fn at(self, at: Timestamp) -> Self;
}

impl AtTime for Change {
    fn at(mut self, at: Timestamp) -> Self {
        self.options = self.options.at(at);
        self
    }
}

pub fn name(text: &str) -> DatasetName {
    text.parse().unwrap()
}

pub fn id(text: &str) -> GranuleId {
    text.parse().unwrap()
}

/// A granule with metadata of one of its files.
pub fn with_file(
    granule: &str,
    path: &str,
    size: Option<u64>,
    checksum: Option<Checksum>,
) -> ListingEntry {
    let (granule_id, path) = (id(granule), FilePath::new(path).unwrap());
    let file = FileRecord::new(&granule_id, Some(path), size, checksum);
    let content = Content::of(&granule_id, file.into_iter().collect()).unwrap();
    ListingEntry { content: Some(content), ..granule_id.into() }
}

/// A change that replaces the metadata of files of held granules, whatever was recorded before.
pub fn stating(entries: impl IntoIterator<Item = ListingEntry>) -> Change {
    let mut change = Change::of_some_files();
    let max_replace = Some(Limit::Percent(100));
    let limits = Limits { max_replace, ..Limits::NONE };
    change.options = change.options.limits(limits).note("processed again".to_owned());
    entries.into_iter().for_each(|entry| change.describe(entry).unwrap());
    change
}

/// The ids that a change ingests and deletes, which a [`Change`] does not expose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    pub ingest: Vec<String>,
    pub delete: Vec<String>,
}

/// A plan to ingest some ids and to delete others.
pub fn plan<'a>(
    ingest: impl IntoIterator<Item = &'a str>,
    delete: impl IntoIterator<Item = &'a str>,
) -> Plan {
    Plan {
        ingest: ingest.into_iter().map(str::to_owned).collect(),
        delete: delete.into_iter().map(str::to_owned).collect(),
    }
}

/// A change that ingests some ids and deletes others, and adds the dataset if it does not exist.
pub fn change<'a>(
    ingest: impl IntoIterator<Item = &'a str>,
    delete: impl IntoIterator<Item = &'a str>,
) -> Change {
    plan(ingest, delete).change()
}

/// Ingests some ids and deletes others, this many seconds after the start of 2001. Adds the dataset if it does
/// not exist.
pub fn step<'a>(
    registry: &Registry,
    dataset: &str,
    seconds: i64,
    ingest: impl IntoIterator<Item = &'a str>,
    delete: impl IntoIterator<Item = &'a str>,
) -> ChangeReport {
    registry.change(&name(dataset), &change(ingest, delete).at(second(seconds))).unwrap()
}

impl Plan {
    /// The change, which adds the dataset if it does not exist.
    pub fn change(&self) -> Change {
        let mut change = Change::new();
        change.options = change.options.if_missing(IfMissing::Create);
        self.ingest.iter().for_each(|text| change.ingest(id(text)).unwrap());
        self.delete.iter().for_each(|text| change.delete(id(text)).unwrap());
        change
    }
}
