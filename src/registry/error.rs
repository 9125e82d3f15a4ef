//! Errors of registry operations that several files use.

use std::fmt;

use crate::error::{Class, Error, ErrorDetail, ErrorKind};
use crate::model::{
    DatasetName, Digest, Event, EventKind, Expected, GranuleId, Identifier, Moment, Timestamp,
    plural, quoted,
};

impl Error {
    /// There is no dataset with this name.
    pub(crate) fn dataset_unknown(name: &DatasetName) -> Self {
        Error::new(ErrorKind::DatasetUnknown, format!("the registry has no dataset {name}"))
            .about(name)
    }

    /// There is already a dataset with this name.
    pub(super) fn dataset_exists(name: &DatasetName) -> Self {
        let message = format!("the registry already has a dataset {name}");
        Error::new(ErrorKind::DatasetExists, message)
    }

    /// The dataset has had no change yet.
    pub(crate) fn no_history(name: &DatasetName) -> Self {
        let message = format!("{name} has no history yet: nothing was ever ingested");
        Error::new(ErrorDetail::NeverChanged, message)
    }

    /// The time is before the dataset's first change.
    pub(crate) fn before_history(name: &DatasetName, at: Moment, begins: Timestamp) -> Self {
        let message = format!("{at} is before the history of {name}, which begins at {begins}");
        Error::new(ErrorKind::NoHistory, message)
    }

    /// A set from before the first change was requested. `changes` is the number of changes so far.
    pub(super) fn too_few_changes(name: &DatasetName, changes: u64) -> Self {
        let message = match changes {
            0 => format!("{name} has no history yet: nothing was ever ingested"),
            changes => {
                let changes = plural(changes, "change");
                format!("{name} has had {changes}: there is no set before the first one")
            }
        };
        Error::new(ErrorKind::NoHistory, message)
    }

    /// The identifier was never in force in a dataset. `None` means in any dataset.
    pub(crate) fn identifier_unknown(
        identifier: Identifier,
        dataset: Option<&DatasetName>,
    ) -> Self {
        let message = match dataset {
            Some(name) => format!("{identifier} was never in force in {name}"),
            None => format!("{identifier} was never in force in any dataset here"),
        };
        Error::new(ErrorKind::IdentifierUnknown, message).about(identifier)
    }

    /// A value is longer than logs allow.
    pub(super) fn too_long(what: &str, unit: &str, length: usize, most: usize) -> Self {
        let message = format!("{what} has {length} {unit}, but at most {most} are allowed");
        Error::new(ErrorKind::TooLong, message)
    }

    /// The change would take effect at or before the dataset's previous one.
    pub(super) fn not_after_last(at: Timestamp, last: Timestamp) -> Self {
        let message = format!(
            "a change at {at} would not be after the last one, {last}: history is never rewritten"
        );
        Error::new(ErrorKind::NotAfterLast, message)
    }

    /// The change would take effect in the future.
    pub(super) fn future(at: Timestamp, now: Timestamp) -> Self {
        let message = format!("a change at {at} would be in the future: now it is {now}");
        Error::new(ErrorKind::Future, message)
    }

    /// A change does not result in the expected identifier.
    pub(crate) fn not_as_expected(
        at: Timestamp,
        result: impl fmt::Display,
        expected: impl fmt::Display,
    ) -> Self {
        let message = format!("the change at {at} results in {result}, not in {expected}");
        Error::new(ErrorKind::NotAsExpected, message)
    }

    /// A change results in another set than expected.
    pub(crate) fn unexpected(
        name: &DatasetName,
        expect: Expected,
        (identifier, digest): (Identifier, Digest),
    ) -> Self {
        let result = expect.other(identifier, digest);
        let message = format!("{name} would hold {result}, and {expect} is expected");
        Error::new(ErrorKind::NotAsExpected, message)
    }

    /// An event is rejected. `what` follows the id of its granule in the message.
    pub(super) fn of_event(
        event: &Event,
        class: impl Into<Class>,
        what: fmt::Arguments<'_>,
    ) -> Self {
        Error::new(class, format!("{} {what}", quoted(event.granule_id.as_str())))
            .at(event.location.clone())
            .of(event.granule_id.clone())
    }

    /// A history ingests a granule that is already held at that time.
    pub(super) fn held_then(event: &Event, since: Timestamp) -> Self {
        let what = format_args!("is ingested at {}, but has been held since {since}", event.at);
        Error::of_event(event, ErrorDetail::OutOfTurn, what)
    }

    /// A history deletes a granule that is not held at that time.
    pub(super) fn not_held_then(event: &Event) -> Self {
        let what = format_args!("is deleted at {}, but is not held then", event.at);
        Error::of_event(event, ErrorDetail::OutOfTurn, what)
    }

    /// The second of two events of the same granule and time.
    pub(super) fn of_repetition(first: &Event, second: &Event) -> Self {
        let place = |first: &Event| {
            let location = first.location.as_ref();
            location.map_or(String::new(), |location| format!(", the first time at {location}"))
        };
        if first.kind == second.kind {
            let producers = [&second.producer_granule, &first.producer_granule].map(Option::as_ref);
            let (producers, place) = (made_of(producers), place(first));
            let what = format_args!("is listed twice{producers}{place}");
            return Error::of_event(second, ErrorKind::Twice, what);
        }
        let (deleted, ingested) =
            if first.kind == EventKind::Deleted { (first, second) } else { (second, first) };
        let place = place(ingested);
        let what = format_args!("is to be both ingested and deleted{place}");
        Error::of_event(deleted, ErrorKind::Twice, what)
    }
}

/// The producer's ids of two granules with the same id, in parentheses; empty if they have none.
pub(super) fn made_of(producers: [Option<&GranuleId>; 2]) -> String {
    let named = |producer: Option<&GranuleId>| match producer {
        Some(producer) => quoted(producer.as_str()).to_string(),
        None => "none".to_owned(),
    };
    match producers {
        [None, None] => String::new(),
        [this, other] => format!(" (producer's ids: {} and {})", named(this), named(other)),
    }
}
