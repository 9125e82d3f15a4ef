//! Compares a mirror with its primary, and pulls the primary's set into the mirror.
//!
//! A *primary* is the archive that a mirror follows. Its log is at an address, in a published directory or a
//! [`manifest`], or is exported from a registry file. Everything reported about it is recomputed or verified.
//!
//! Guarantees: [`MirrorStatus::Identical`] means equal identifiers *and* equal rows. Every difference is
//! reported, not only the first. A [pull](crate::Registry::pull) is one transaction, which is committed only if
//! the mirror's identifier is then that of the primary.

mod compare;
pub(crate) mod log;
mod place;
mod plan;
mod primary;
mod pull;
mod read;
mod replica;
mod site;
mod source;

pub use crate::model::PrimaryOptions;
pub use log::manifest;
pub use place::Retry;
pub(crate) use place::{FoundHead, HEAD, LOG, PublishedDirectory};
pub use pull::{PullOptions, PullReport};
pub(crate) use read::read_log;
pub use replica::LogCopy;
pub use site::PublishedSite;
pub(crate) use site::{SHARDS, SITE, Shard, ShardPeriod};
pub use source::{ComparedMirror, MirrorComparison, Primary};

use std::fmt;

use serde::Serialize;

use crate::model::{
    DatasetName, Digest, Instance, Timestamp, Warning, WarningKind, Withdrawal, quoted,
};
use crate::registry::ContentCounts;

/// The status of a mirror compared with its primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MirrorStatus {
    /// They hold the same granules, and no file has different content.
    Identical,
    /// They hold the same granules, and files of some have different content.
    OtherContent,
    /// The primary once held the mirror's current set, or the mirror has no history yet.
    Behind,
    /// The mirror once held the primary's current set.
    Ahead,
    /// Neither ever held the other's current set.
    Diverged,
    /// The log of the primary is an older state of the log that was read before.
    Stale,
    /// The log of the primary contradicts the log that was read before.
    Rewritten,
}

crate::model::shown_as_json!(MirrorStatus);

impl MirrorStatus {
    /// Why a mirror must not be pulled. `None` means that it may be pulled.
    pub fn refusal(self) -> Option<&'static str> {
        match self {
            MirrorStatus::Identical | MirrorStatus::OtherContent | MirrorStatus::Behind => None,
            MirrorStatus::Ahead => Some("the mirror is ahead of the primary"),
            MirrorStatus::Diverged => Some("the mirror has diverged from the primary"),
            MirrorStatus::Stale => Some("the log is an older state of the primary"),
            MirrorStatus::Rewritten => Some("the primary rewrote its history"),
        }
    }
}

/// When an identifier was in force, and how many changes ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryPosition {
    /// The beginning of the period.
    pub since: Timestamp,
    /// The end of the period. `None` means that it has not ended.
    pub until: Option<Timestamp>,
    /// The number of changes since.
    pub changes_ago: u64,
}

/// The first change of a log that differs from the log that was read before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FirstDifference {
    /// Its number in the log, from 1.
    pub change: u64,
    /// When the change that was read before took effect.
    pub timestamp: Timestamp,
}

/// A comparison of the histories of a mirror and its primary, before any granule is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryComparison {
    /// The status.
    pub status: MirrorStatus,
    /// The instance of the mirror that is in force. `None` means that nothing was ever ingested.
    pub mirror: Option<Instance>,
    /// The instance of the primary that the mirror is compared with.
    pub primary: Instance,
    /// If behind: when the mirror's identifier was in force at the primary. If ahead: when the primary's
    /// identifier was in force here. `None` for other statuses, and for a mirror without a history whose
    /// primary was never empty.
    pub standing: Option<HistoryPosition>,
    /// If rewritten: the first difference. `None` for other statuses.
    pub first_difference: Option<FirstDifference>,
    /// The numbers of granules with compared contents, if the granules are equal and the digests are not.
    /// Otherwise `None`.
    pub contents: Option<ContentCounts>,
}

impl HistoryComparison {
    /// Whether both have the same granules, and the same records of their files.
    pub fn is_digest_equal(&self) -> bool {
        let held = self.mirror.as_ref().map_or(Digest::EMPTY, |mirror| mirror.digest);
        held == self.primary.digest
    }

    /// Why a mirror was not changed.
    fn why_not_changed(&self, mirror: &DatasetName) -> String {
        let primary = &self.primary;
        let why = match self.status {
            MirrorStatus::Ahead => format!(
                "is ahead of {}, whose latest change here is {}: this is an older state of the primary, or the mirror was changed",
                primary.dataset, primary.timestamp
            ),
            MirrorStatus::Stale => format!(
                "would follow an older state of {}: changes after {} were read before",
                primary.dataset, primary.timestamp
            ),
            MirrorStatus::Rewritten => {
                let change = self.first_difference;
                let change = change.map_or_else(String::new, |change| format!(": {change}"));
                format!("would follow a history of {} that was rewritten{change}", primary.dataset)
            }
            _ => format!(
                "has diverged from {}, which never held its granules: this is another dataset, or the mirror was changed",
                primary.dataset
            ),
        };
        format!("{mirror} was not changed: it {why}")
    }
}

/// A sentence: the change contradicts the log that was read before.
impl fmt::Display for FirstDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FirstDifference { change, timestamp } = self;
        write!(f, "change {change}, at {timestamp}, is not the one that was read before")
    }
}

impl Warning {
    /// A warning that a primary withdrew the dataset that a mirror in this registry follows.
    pub fn of_withdrawn_primary(name: &DatasetName, found: &Withdrawal) -> Self {
        let note = found.note.as_ref().map_or_else(String::new, |it| format!(": {}", quoted(it)));
        let at = found.timestamp;
        let message = format!("{name}: the primary withdrew its dataset at {at}{note}");
        Warning::new(WarningKind::PrimaryWithdrawn, message).of_dataset(name)
    }
}
