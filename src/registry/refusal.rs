//! Why a change is refused.

use crate::model::{GranuleId, Identifier, SourceLocation, Timestamp, quoted};

/// Why a change is refused; the registry is then as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// A granule to ingest is held.
    #[error("{}{} is held already, ingested {since}{}{}", before(location), quoted(granule_id.as_str()), made_of(producers), and_more(*more))]
    Held {
        /// Which one.
        granule_id: GranuleId,
        /// Where it was read.
        location: Option<SourceLocation>,
        /// Since when it is held.
        since: Timestamp,
        /// The producer ids of the one that comes and of the one that is held.
        producers: Box<[Option<GranuleId>; 2]>,
        /// How many more of the change are held.
        more: u64,
    },
    /// A granule of an import comes while it is held.
    #[error("{}{} comes at {at}, but is held since {since}", before(location), quoted(granule_id.as_str()))]
    HeldThen {
        /// Which one.
        granule_id: GranuleId,
        /// Where it was read.
        location: Option<SourceLocation>,
        /// When it was to come.
        at: Timestamp,
        /// Since when it is held.
        since: Timestamp,
    },
    /// A granule of an import goes while it is not held.
    #[error("{}{} goes at {at}, but is not held then", before(location), quoted(granule_id.as_str()))]
    NotHeldThen {
        /// Which one.
        granule_id: GranuleId,
        /// Where it was read.
        location: Option<SourceLocation>,
        /// When it was to go.
        at: Timestamp,
    },
    /// A granule to delete is not held.
    #[error("{}{} is not held{}", before(location), quoted(granule_id.as_str()), and_more(*more))]
    NotHeld {
        /// Which one.
        granule_id: GranuleId,
        /// Where it was read.
        location: Option<SourceLocation>,
        /// How many more of the change are not held.
        more: u64,
    },
    /// A granule is named twice.
    #[error("{}{} stands here twice{}{}", before(location), quoted(granule_id.as_str()), made_of(producers), first_at(first))]
    Twice {
        /// Which one.
        granule_id: GranuleId,
        /// Where it stands again.
        location: Option<SourceLocation>,
        /// Where it stands first.
        first: Option<SourceLocation>,
        /// The producer ids of the second and of the first.
        producers: Box<[Option<GranuleId>; 2]>,
    },
    /// A granule is to be both ingested and deleted.
    #[error("{}{} is both to be ingested and to be deleted{}", before(location), quoted(granule_id.as_str()), first_at(first))]
    Both {
        /// Which one.
        granule_id: GranuleId,
        /// Where it is to be deleted.
        location: Option<SourceLocation>,
        /// Where it is to be ingested.
        first: Option<SourceLocation>,
    },
    /// A change does not lead to the identifier that somebody says it does.
    #[error("{}the change at {at} leads to {identifier}, and not to {expected}", before(location))]
    NotAsExpected {
        /// Where that was read.
        location: Option<SourceLocation>,
        /// When the change takes effect.
        at: Timestamp,
        /// What it should lead to.
        expected: Identifier,
        /// What it leads to.
        identifier: Identifier,
    },
    /// Nothing to ingest and nothing to delete.
    #[error("the change is empty: no granule to ingest and none to delete")]
    Empty,
    /// The change would stand at or before the dataset's last one.
    #[error(
        "{}a change at {at} would not come after the last one, {last}: history is never rewritten",
        before(location)
    )]
    NotAfterLast {
        /// Where the time was read.
        location: Option<SourceLocation>,
        /// The instant asked for.
        at: Timestamp,
        /// The last change.
        last: Timestamp,
    },
    /// The change would stand in the future.
    #[error("{}a change at {at} would stand in the future: now it is {now}", before(location))]
    Future {
        /// Where the time was read.
        location: Option<SourceLocation>,
        /// The instant asked for.
        at: Timestamp,
        /// What the clock says.
        now: Timestamp,
    },
}

impl ChangeError {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            ChangeError::Held { .. } | ChangeError::HeldThen { .. } => "held",
            ChangeError::NotHeld { .. } | ChangeError::NotHeldThen { .. } => "not-held",
            ChangeError::Twice { .. } => "twice",
            ChangeError::Both { .. } => "both",
            ChangeError::NotAsExpected { .. } => "not-as-expected",
            ChangeError::Empty => "empty",
            ChangeError::NotAfterLast { .. } => "not-after-last",
            ChangeError::Future { .. } => "future",
        }
    }
}

pub(crate) fn before(location: &Option<SourceLocation>) -> String {
    location.as_ref().map_or(String::new(), |location| format!("{location}: "))
}

fn first_at(first: &Option<SourceLocation>) -> String {
    first.as_ref().map_or(String::new(), |first| format!(", first at {first}"))
}

/// The producer ids of two granules that have one id, where they have any.
fn made_of(producers: &[Option<GranuleId>; 2]) -> String {
    let named = |producer: &Option<GranuleId>| match producer {
        Some(producer) => quoted(producer.as_str()).to_string(),
        None => "none".to_owned(),
    };
    match producers {
        [None, None] => String::new(),
        [this, other] => {
            format!(" (producer ids: {} here, {} there)", named(this), named(other))
        }
    }
}

fn and_more(more: u64) -> String {
    if more == 0 { String::new() } else { format!(", and {more} more of this change") }
}
