//! The reasons for which a change is refused.

use crate::model::{
    DatasetName, Event, EventKind, GranuleId, GranuleIdError, Identifier, SourceLocation,
    Timestamp, quoted,
};

/// The reason for which a change is refused. The registry is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// A granule that is to be ingested is already held.
    #[error("{}{} is already held, ingested {since}{}{}", before(location), quoted(granule_id.as_str()), made_of(producers), and_more(*more))]
    Held {
        /// The granule.
        granule_id: GranuleId,
        /// Where it was read.
        location: Option<SourceLocation>,
        /// Since when it has been held.
        since: Timestamp,
        /// The producer's ids of the granule that is to be ingested and of the one that is held.
        producers: Box<[Option<GranuleId>; 2]>,
        /// How many more granules of the change are already held.
        more: u64,
    },
    /// An import ingests a granule that is already held at that time.
    #[error("{}{} is ingested at {at}, but has been held since {since}", before(location), quoted(granule_id.as_str()))]
    HeldThen {
        /// The granule.
        granule_id: GranuleId,
        /// Where it was read.
        location: Option<SourceLocation>,
        /// When it was to be ingested.
        at: Timestamp,
        /// Since when it has been held.
        since: Timestamp,
    },
    /// An import deletes a granule that is not held at that time.
    #[error("{}{} is deleted at {at}, but is not held then", before(location), quoted(granule_id.as_str()))]
    NotHeldThen {
        /// The granule.
        granule_id: GranuleId,
        /// Where it was read.
        location: Option<SourceLocation>,
        /// When it was to be deleted.
        at: Timestamp,
    },
    /// A granule that is to be deleted is not held.
    #[error("{}{} is not held{}", before(location), quoted(granule_id.as_str()), and_more(*more))]
    NotHeld {
        /// The granule.
        granule_id: GranuleId,
        /// Where it was read.
        location: Option<SourceLocation>,
        /// How many more granules of the change are not held.
        more: u64,
    },
    /// A granule is listed twice.
    #[error("{}{} is listed twice{}{}", before(location), quoted(granule_id.as_str()), made_of(producers), first_at(first))]
    Twice {
        /// The granule.
        granule_id: GranuleId,
        /// Where it is listed the second time.
        location: Option<SourceLocation>,
        /// Where it is listed the first time.
        first: Option<SourceLocation>,
        /// The producer's ids of the second granule and of the first.
        producers: Box<[Option<GranuleId>; 2]>,
    },
    /// A granule is to be both ingested and deleted.
    #[error("{}{} is to be both ingested and deleted{}", before(location), quoted(granule_id.as_str()), first_at(first))]
    Both {
        /// The granule.
        granule_id: GranuleId,
        /// Where it is to be deleted.
        location: Option<SourceLocation>,
        /// Where it is to be ingested.
        first: Option<SourceLocation>,
    },
    /// A change does not result in the identifier that is expected.
    #[error("{}the change at {at} results in {identifier}, not in {expected}", before(location))]
    NotAsExpected {
        /// Where the expected identifier was read.
        location: Option<SourceLocation>,
        /// When the change takes effect.
        at: Timestamp,
        /// The expected identifier.
        expected: Identifier,
        /// The identifier that results.
        identifier: Identifier,
    },
    /// A cited subset of a log cannot be selected with the identifier that the log gives it.
    #[error(
        "{location}: the subset {expected} of the change at {at} is not what this history selects: {identifier}"
    )]
    SubsetNotAsExpected {
        /// Where it was read.
        location: SourceLocation,
        /// The change from whose granules it was selected.
        at: Timestamp,
        /// The identifier that it is to have.
        expected: Identifier,
        /// The identifier that results; that of the empty set if there is no such change.
        identifier: Identifier,
    },
    /// A granule is new, and its id is not one that may be ingested.
    #[error("{}{} is refused: {cause}", before(location), quoted(granule_id.as_str()))]
    GranuleId {
        /// The granule.
        granule_id: GranuleId,
        /// Where it was read.
        location: Option<SourceLocation>,
        /// Why it is refused.
        cause: GranuleIdError,
    },
    /// The change neither ingests nor deletes a granule.
    #[error("the change is empty: no granule to ingest and none to delete")]
    Empty,
    /// The listing to which a dataset is to be synchronised is empty.
    #[error("the listing is empty: {dataset} would lose all of its {held} granules")]
    EmptyListing {
        /// The dataset.
        dataset: DatasetName,
        /// How many granules it holds.
        held: u64,
    },
    /// The change would delete more granules than is allowed.
    #[error(
        "{deleted} of the {held} granules of {dataset} would be deleted, more than the {most} that are allowed"
    )]
    TooManyDeletions {
        /// The dataset.
        dataset: DatasetName,
        /// How many would be deleted.
        deleted: u64,
        /// How many granules it holds.
        held: u64,
        /// The greatest number that may be deleted.
        most: u64,
    },
    /// The change would take effect at or before the dataset's last one.
    #[error(
        "{}a change at {at} would not be after the last one, {last}: history is never rewritten",
        before(location)
    )]
    NotAfterLast {
        /// Where the time was read.
        location: Option<SourceLocation>,
        /// The instant at which the change would take effect.
        at: Timestamp,
        /// When the last change took effect.
        last: Timestamp,
    },
    /// The change would take effect in the future.
    #[error("{}a change at {at} would be in the future: now it is {now}", before(location))]
    Future {
        /// Where the time was read.
        location: Option<SourceLocation>,
        /// The instant at which the change would take effect.
        at: Timestamp,
        /// The present time.
        now: Timestamp,
    },
}

impl ChangeError {
    /// The refusal of the second of two events of the same granule and time.
    pub(super) fn of_repetition(first: &Event, second: &Event) -> Self {
        let granule_id = second.granule_id.clone();
        if first.kind == second.kind {
            let producers = [&second.producer_granule, &first.producer_granule].map(Option::clone);
            return ChangeError::Twice {
                granule_id,
                location: second.location.clone(),
                first: first.location.clone(),
                producers: Box::new(producers),
            };
        }
        let (deleted, ingested) =
            if first.kind == EventKind::Deleted { (first, second) } else { (second, first) };
        ChangeError::Both {
            granule_id,
            location: deleted.location.clone(),
            first: ingested.location.clone(),
        }
    }

    /// The same refusal, for `others` more granules of the change.
    pub(super) fn and_more(mut self, others: u64) -> Self {
        if let ChangeError::Held { more, .. } | ChangeError::NotHeld { more, .. } = &mut self {
            *more = others;
        }
        self
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            ChangeError::Held { .. } | ChangeError::HeldThen { .. } => "held",
            ChangeError::NotHeld { .. } | ChangeError::NotHeldThen { .. } => "not-held",
            ChangeError::Twice { .. } => "twice",
            ChangeError::Both { .. } => "both",
            ChangeError::NotAsExpected { .. } | ChangeError::SubsetNotAsExpected { .. } => {
                "not-as-expected"
            }
            // The kind of every other id that is refused where it is read.
            ChangeError::GranuleId { .. } => "input",
            ChangeError::Empty => "empty",
            ChangeError::EmptyListing { .. } => "empty-listing",
            ChangeError::TooManyDeletions { .. } => "too-many-deletions",
            ChangeError::NotAfterLast { .. } => "not-after-last",
            ChangeError::Future { .. } => "future",
        }
    }
}

pub(super) fn before(location: &Option<SourceLocation>) -> String {
    location.as_ref().map_or(String::new(), |location| format!("{location}: "))
}

fn first_at(first: &Option<SourceLocation>) -> String {
    first.as_ref().map_or(String::new(), |first| format!(", the first time at {first}"))
}

/// The producer's ids of two granules with the same id, in parentheses; empty if they have none.
fn made_of(producers: &[Option<GranuleId>; 2]) -> String {
    let named = |producer: &Option<GranuleId>| match producer {
        Some(producer) => quoted(producer.as_str()).to_string(),
        None => "none".to_owned(),
    };
    match producers {
        [None, None] => String::new(),
        [this, other] => {
            format!(" (producer's ids: {} and {})", named(this), named(other))
        }
    }
}

fn and_more(more: u64) -> String {
    if more == 0 { String::new() } else { format!(", and {more} more of this change") }
}
