//! One row of a dataset's history.

use serde::Serialize;

use super::dataset_name::DatasetName;
use super::identifier::Identifier;
use super::timestamp::{Moment, Timestamp};

/// A dataset between one change and the next: one row of its history.
///
/// Its fields, in this order, are those of `instance` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Instance {
    /// The dataset.
    pub dataset: DatasetName,
    /// When the change took effect: the first instant of the interval in force.
    pub timestamp: Timestamp,
    /// When the next change took effect: the first instant after the interval in force. `None`
    /// means that the instance is still in force.
    pub until: Option<Timestamp>,
    /// The identifier of the granules held.
    pub identifier: Identifier,
    /// How many granules are held.
    pub granules: u64,
    /// How many granules the change ingested.
    pub ingested: u64,
    /// How many granules the change deleted.
    pub deleted: u64,
    /// When the change was recorded in this registry.
    pub recorded: Timestamp,
    /// Who recorded it. `None` means that this is not known. Like `recorded`, it is stored in this
    /// registry only and is not exported.
    pub recorded_by: Option<String>,
    /// The archivist's note on the change. `None` means that there is no note.
    pub note: Option<String>,
}

impl Instance {
    /// Whether it was in force at `timestamp`.
    pub fn is_in_force_at(&self, timestamp: Timestamp) -> bool {
        self.timestamp <= timestamp && self.until.is_none_or(|until| timestamp < until)
    }

    /// Whether it was in force at an instant, or at any time of a day.
    pub fn is_in_force_during(&self, at: Moment) -> bool {
        self.timestamp <= at.last_instant()
            && self.until.is_none_or(|until| at.first_instant() < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn it_is_in_force_from_its_change_until_just_before_the_next() {
        let mut instance = Instance {
            dataset: "D".parse().unwrap(),
            timestamp: at("2001-01-02T00:00:00Z"),
            until: Some(at("2001-01-04T12:00:00Z")),
            identifier: Identifier::EMPTY,
            granules: 0,
            ingested: 0,
            deleted: 0,
            recorded: at("2001-01-02T00:00:00Z"),
            recorded_by: None,
            note: None,
        };
        let cases = [
            ("2001-01-01T23:59:59.999999Z", false),
            ("2001-01-02T00:00:00Z", true),
            ("2001-01-04T11:59:59.999999Z", true),
            ("2001-01-04T12:00:00Z", false),
            ("2001-01-05T00:00:00Z", false),
        ];
        for (text, expected) in cases {
            assert_eq!(instance.is_in_force_at(at(text)), expected, "{text}");
        }
        let cases = [
            ("2001-01-01", false),
            ("2001-01-02", true),
            ("2001-01-04", true),
            ("2001-01-05", false),
        ];
        for (text, expected) in cases {
            let day: Moment = text.parse().unwrap();
            assert_eq!(instance.is_in_force_during(day), expected, "{text}");
        }
        instance.until = Some(at("2001-01-04T00:00:00Z"));
        assert!(!instance.is_in_force_during("2001-01-04".parse().unwrap()));
        instance.until = None;
        assert!(instance.is_in_force_at(at("2030-01-01T00:00:00Z")));
        assert!(instance.is_in_force_during("2030-01-01".parse().unwrap()));
        assert!(!instance.is_in_force_at(at("2000-01-01T00:00:00Z")));
    }
}
