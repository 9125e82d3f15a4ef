//! Short ways to write the values that tests need.

use accession::{Change, DatasetName, GranuleId, Timestamp};

/// The instant this many seconds after 2001-01-01T00:00:00Z.
pub fn second(seconds: i64) -> Timestamp {
    Timestamp::from_micros((978_307_200 + seconds) * 1_000_000).unwrap()
}

/// The time of the tests' clock, which is later than any change that they make.
pub fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

pub fn name(text: &str) -> DatasetName {
    text.parse().unwrap()
}

pub fn id(text: &str) -> GranuleId {
    text.parse().unwrap()
}

/// A change that ingests some ids and deletes others, and creates the dataset if necessary.
pub fn change<'a>(
    ingest: impl IntoIterator<Item = &'a str>,
    delete: impl IntoIterator<Item = &'a str>,
) -> Change {
    Change {
        ingest: ingest.into_iter().map(|text| id(text).into()).collect(),
        delete: delete.into_iter().map(|text| id(text).into()).collect(),
        create: true,
        ..Change::default()
    }
}
