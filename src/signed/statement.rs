//! An archive's statement that a dataset held a set.

use serde::{Deserialize, Serialize};

use crate::model::{DatasetName, Digest, Doi, Identifier, Moment, ParseError, Timestamp};

/// A statement that a dataset held a set, with the time of the statement.
///
/// # Syntax
///
/// A JSON object in the form of the lines of a log (docs/reference/manifest.md, Encoding), without LF. Its
/// members are `accession_statement` (1, the version) and then the fields below, in their order. At most 60,000
/// bytes. Any other form is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetStatement {
    #[serde(rename = "accession_statement")]
    version: u32,
    /// The name of the dataset, as it was then.
    pub dataset: DatasetName,
    /// The DOI of the dataset, as it was then.
    #[serde(deserialize_with = "Option::deserialize")]
    pub doi: Option<Doi>,
    /// The identifier of the set.
    pub identifier: Identifier,
    /// The digest of the set.
    pub digest: Digest,
    /// The number of granules in the set.
    pub granules: u64,
    /// The time of the change since which the set was held.
    pub from: Timestamp,
    /// The time of the next change, if it was known. `None` means that the set was still held.
    #[serde(deserialize_with = "Option::deserialize")]
    pub until: Option<Timestamp>,
    /// Whether the set is a cited subset of what was held.
    pub part: bool,
    /// The number of the change in the log of the dataset, from 1. For a subset, the number of the change that
    /// made the set from which it was selected.
    pub changes: u64,
    /// The time of the statement, in whole seconds.
    pub stated: Timestamp,
}

/// The content of a statement, without its version and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatedSet {
    /// The dataset.
    pub dataset: DatasetName,
    /// Its DOI.
    pub doi: Option<Doi>,
    /// The identifier.
    pub identifier: Identifier,
    /// The digest.
    pub digest: Digest,
    /// The number of granules.
    pub granules: u64,
    /// The time since which they are held.
    pub from: Timestamp,
    /// The time until which they are held. `None` means that they are still held.
    pub until: Option<Timestamp>,
    /// Whether the set is a cited subset of what was held.
    pub part: bool,
    /// The number of the change.
    pub changes: u64,
}

impl SetStatement {
    /// The version that this program writes and reads.
    const VERSION: u32 = 1;

    /// The greatest length of a statement in bytes.
    pub const MAX_BYTES: usize = 60_000;

    /// Makes a statement about a set, with the time of the statement.
    pub(crate) fn of(set: StatedSet, stated: Timestamp) -> Self {
        let StatedSet { dataset, doi, identifier, digest, granules, from, until, part, changes } =
            set;
        let version = SetStatement::VERSION;
        SetStatement {
            version,
            dataset,
            doi,
            identifier,
            digest,
            granules,
            from,
            until,
            part,
            changes,
            stated,
        }
    }

    /// Parses the bytes of a statement.
    ///
    /// # Errors
    ///
    /// - `{"accession_statement":2,…}`: another version
    /// - `{"dataset": …}`: not in canonical form
    /// - times that contradict each other, such as an end after the time of the statement
    pub fn read(bytes: &[u8]) -> Result<Self, ParseError> {
        let refused = |why: &str| ParseError::new(format!("not a statement of an archive: {why}"));
        if bytes.len() > SetStatement::MAX_BYTES {
            return Err(refused("it is longer than 60,000 bytes"));
        }
        let statement: SetStatement =
            serde_json::from_slice(bytes).map_err(|error| refused(&error.to_string()))?;
        if statement.version != SetStatement::VERSION {
            return Err(refused(&format!("it has the version {}", statement.version)));
        }
        if statement.text().as_bytes() != bytes {
            return Err(refused("it is not in canonical form"));
        }
        let SetStatement { from, until, stated, changes, .. } = &statement;
        let is_in_order = until.map_or(from <= stated, |until| *from < until && until <= *stated);
        match is_in_order && stated.as_micros() % 1_000_000 == 0 && *changes > 0 {
            true => Ok(statement),
            false => Err(refused("what it says contradicts itself")),
        }
    }

    /// The text of the statement, whose bytes are a leaf of the tree.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("names, numbers and times can be written")
    }

    /// Whether the statement says that the set was held at a time. A day means its end.
    pub fn covers(&self, at: Moment) -> bool {
        let at = at.last_instant();
        self.from <= at && self.until.map_or(at <= self.stated, |until| at < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"accession_statement":1,"dataset":"US.FOOL2.002","doi":"10.9999/US/FOOL2.v2","identifier":"763122197bfb3ffbf0da14adbfb1b13b","digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","granules":12,"from":"2001-01-03T00:00:00Z","until":null,"part":false,"changes":2,"stated":"2001-01-06T02:00:00Z"}"#;

    #[test]
    fn a_statement_is_read_as_it_is_written_and_in_no_other_form() {
        let statement = SetStatement::read(TEXT.as_bytes()).unwrap();
        assert_eq!(statement.text(), TEXT);
        for refused in [
            TEXT.replace(":1,\"dataset", ":2,\"dataset"),
            TEXT.replace("\"until\":null,", ""),
            TEXT.replace("\"until\":null,", "\"until\":null,\"check\":\"\","),
            TEXT.replace(":12,", ": 12,"),
            TEXT.replace("T02:00:00Z", "T02:00:00.000Z"),
            TEXT.replace("\"until\":null", "\"until\":\"2001-01-06T01:00:00.500Z\""),
            TEXT.replace("10.9999", "doi:10.9999"),
            TEXT.replace("null", "\"2001-01-06T02:00:00.000001Z\""),
            TEXT.replace("null", "\"2001-01-03T00:00:00Z\""),
            TEXT.replace("2001-01-03", "2001-01-07"),
            TEXT.replace("02:00:00Z", "02:00:00.500000Z"),
            TEXT.replace("\"changes\":2", "\"changes\":0"),
            TEXT.replace("\"part\":false,\"changes\":2", "\"changes\":2,\"part\":false"),
            format!("{TEXT}\n"),
            TEXT.replace("002", &"2".repeat(60_000)),
        ] {
            assert!(SetStatement::read(refused.as_bytes()).is_err(), "{refused:.500}");
        }
    }

    #[test]
    fn a_statement_covers_what_was_known_when_it_was_said() {
        let open = SetStatement::read(TEXT.as_bytes()).unwrap();
        let until = Some("2001-01-05T12:00:00Z".parse().unwrap());
        let ended = SetStatement { until, ..open.clone() };
        for (at, by_open, by_ended) in [
            ("2001-01-02", false, false),
            ("2001-01-02T23:59:59.999999Z", false, false),
            ("2001-01-03T00:00:00Z", true, true),
            ("2001-01-04", true, true),
            ("2001-01-05", true, false),
            ("2001-01-05T11:59:59.999999Z", true, true),
            ("2001-01-05T12:00:00Z", true, false),
            ("2001-01-06T02:00:00Z", true, false),
            ("2001-01-06", false, false),
        ] {
            let at: Moment = at.parse().unwrap();
            assert_eq!((open.covers(at), ended.covers(at)), (by_open, by_ended), "{at}");
        }
    }
}
