//! The head of a log: everything about a dataset that can change.

use serde::de::Deserializer;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::LinesDigest;
use super::writer::{LogWriter, Segments};
use crate::model::{
    DatasetMetadata, DatasetName, Digest, Identifier, LineCheck, LogChange, Timestamp, Withdrawal,
    check_fields, limited,
};
use crate::registry::DatasetRecord;

/// The version that is written, and the only one that is read.
const VERSION: u64 = 3;

/// The beginning of every head, whatever its version.
pub(crate) const BEGINNING: &str = "{\"accession_head\":";

/// The greatest length of a head, in bytes. About 30,000 segments fit into it.
pub(crate) const MAX_HEAD_BYTES: u64 = 4 * 1_024 * 1_024;

const SHA256: &str = ",\"sha256\":\"";

/// The time of the latest change of a log, and the set since then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LatestSet {
    pub timestamp: Timestamp,
    pub identifier: Identifier,
    pub digest: Digest,
}

/// The head of a log. The order of the members is part of the format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    #[serde(rename = "dataset")]
    pub record: DatasetMetadata,
    #[serde(deserialize_with = "former_names")]
    pub former_names: Vec<DatasetName>,
    pub withdrawn: Option<Withdrawal>,
    /// The number of changes.
    pub changes: u64,
    /// The time of the latest change, and the identifier and the digest since then. `None` means that there are
    /// no changes.
    pub timestamp: Option<Timestamp>,
    pub identifier: Option<Identifier>,
    pub digest: Option<Digest>,
    /// The number of granules held.
    pub granules: u64,
    /// The check of the last line of the log.
    pub check: LineCheck,
    pub segments: Segments,
    pub subsets: LinesDigest,
    /// Absent if there are none.
    #[serde(default, skip_serializing_if = "LinesDigest::is_empty")]
    pub annotations: LinesDigest,
}

/// The content of a `head.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeadFile {
    Head(Box<Head>),
    /// The dataset was renamed.
    MovedTo(DatasetName),
}

/// The line of a head.
#[derive(Serialize)]
struct HeadLine<'a> {
    accession_head: u64,
    rule: &'a str,
    #[serde(flatten)]
    head: &'a Head,
}

/// The line of the head of a dataset that was renamed.
#[derive(Serialize)]
struct MovedLine<'a> {
    accession_head: u64,
    moved_to: &'a DatasetName,
}

/// The members of a line that are read first.
#[derive(Deserialize)]
struct Beginning {
    accession_head: u64,
    moved_to: Option<String>,
    rule: Option<String>,
}

/// The rule of the identifiers.
const RULE: &str = "md5-chain";

fn former_names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<DatasetName>, D::Error> {
    limited(deserializer, "former names")
}

impl Head {
    /// The head of a log that was completely written, with the announcements of the subsets and of the
    /// annotations.
    pub fn of(
        listed: &DatasetRecord,
        log: &LogWriter,
        [subsets, annotations]: [LinesDigest; 2],
    ) -> Self {
        let position = log.position();
        Head {
            record: listed.dataset.clone(),
            former_names: listed.former_names.clone(),
            withdrawn: listed.withdrawn.clone(),
            changes: position.changes,
            timestamp: listed.latest.as_ref().map(|latest| latest.timestamp),
            identifier: listed.latest.as_ref().map(|latest| latest.identifier),
            digest: listed.latest.as_ref().map(|latest| latest.digest),
            granules: position.granules,
            check: position.check.expect("every log has a first line"),
            segments: log.segments().clone(),
            subsets,
            annotations,
        }
    }

    /// The head as one line, with its line end.
    ///
    /// # Errors
    ///
    /// A value cannot be written as JSON.
    pub fn to_line(&self) -> serde_json::Result<String> {
        sealed(&HeadLine { accession_head: VERSION, rule: RULE, head: self })
    }

    /// The time of the latest change, and the identifier and the digest since then. `None` means that there are
    /// no changes.
    pub fn latest(&self) -> Option<LatestSet> {
        let (timestamp, identifier, digest) = (self.timestamp?, self.identifier?, self.digest?);
        Some(LatestSet { timestamp, identifier, digest })
    }

    /// Checks that its members do not contradict each other.
    fn check(&self) -> Result<(), String> {
        let is_some = self.changes > 0;
        let are_some = [self.timestamp.is_some(), self.identifier.is_some(), self.digest.is_some()];
        if are_some != [is_some; 3] {
            return Err("the head contradicts itself about the last change".to_owned());
        }
        if !self.segments.end_with(self.check) {
            return Err("the head contradicts itself about the segments".to_owned());
        }
        check_fields((&self.record, &self.withdrawn)).map_err(|error| error.to_string())
    }

    /// Whether the log may contain a change that was read before. If it does not, this is detected when its
    /// lines are read, or at its end.
    pub fn may_have(&self, change: &LogChange) -> bool {
        change.number < self.changes || change.number == self.changes && change.check == self.check
    }

    /// Compares the head with the last change of its log.
    ///
    /// # Errors
    ///
    /// What is wrong with the log or the head.
    pub fn check_end(&self, changes: u64, last: Option<&LogChange>) -> Result<(), String> {
        if changes != self.changes {
            return Err(format!(
                "the log has {changes} changes, its head announces {}",
                self.changes
            ));
        }
        let Some(last) = last else { return Ok(()) };
        let LogChange { timestamp, identifier, digest, .. } = *last;
        if Some(LatestSet { timestamp, identifier, digest }) != self.latest()
            || (last.granules, last.check) != (self.granules, self.check)
        {
            return Err("the last change of the log is not the one that its head names".to_owned());
        }
        Ok(())
    }
}

impl HeadFile {
    /// The head of a dataset that was renamed, as one line, with its line end.
    ///
    /// # Errors
    ///
    /// The name cannot be written as JSON.
    pub fn moved_line(moved_to: &DatasetName) -> serde_json::Result<String> {
        sealed(&MovedLine { accession_head: VERSION, moved_to })
    }

    /// Reads a head: one line, with its line end.
    ///
    /// # Errors
    ///
    /// The line is not a valid head.
    pub fn parse(line: &str) -> Result<Self, String> {
        let wrong = |error: serde_json::Error| format!("the head cannot be read: {error}");
        if line.len() as u64 > MAX_HEAD_BYTES {
            return Err("the head has more than 4 MiB".to_owned());
        }
        let read: Beginning = match line.starts_with(BEGINNING) {
            true => serde_json::from_str(line).map_err(wrong)?,
            false => return Err("this is not the head of a log".to_owned()),
        };
        // A newer version may be protected differently, so the version is checked first.
        if read.accession_head != VERSION {
            let found = read.accession_head;
            return Err(format!("the head has version {found}, this program reads {VERSION}"));
        }
        let sealed = line.strip_suffix("\"}\n").and_then(|text| text.rsplit_once(SHA256));
        let Some((body, sha256)) = sealed else {
            return Err("the head is cut: it does not end with its sha256".to_owned());
        };
        if sha256 != sha256_of(body) {
            return Err("the head is not as it was written: its sha256 is another".to_owned());
        }
        if let Some(moved_to) = read.moved_to {
            // The name must follow the present rule, because a name by an older rule could lead to another
            // directory.
            let wrong = |_| format!("{moved_to:?} is not a valid dataset name");
            return Ok(HeadFile::MovedTo(moved_to.parse().map_err(wrong)?));
        }
        if read.rule.as_deref() != Some(RULE) {
            return Err("its identifiers follow another rule than md5-chain".to_owned());
        }
        let head: Head = serde_json::from_str(line).map_err(wrong)?;
        head.check()?;
        Ok(HeadFile::Head(Box::new(head)))
    }
}

/// Adds the SHA-256 of a head to it, which protects the head against damage. The log has its own checks.
fn sealed(head: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string(head)?;
    let body = text.strip_suffix('}').unwrap_or(&text);
    Ok(format!("{body}{SHA256}{}\"}}\n", sha256_of(body)))
}

fn sha256_of(body: &str) -> String {
    hex::encode(Sha256::digest(body))
}
