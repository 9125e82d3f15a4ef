//! The events to be added to a history, and the conditions for adding them.

use std::collections::BTreeMap;

use super::notes::Notes;
use super::stamp::Stamp;
use crate::model::{DatasetName, Identifier, Instance, LogChange, SourceLocation, Timestamp};
use crate::registry::error::{Error, Result};
use crate::registry::handle::Registry;
use crate::registry::refusal::ChangeError;
use crate::store::{DatasetKey, Transaction};

/// The dataset to which events are added, and the times of the new instances.
pub(super) struct Addition<'a> {
    pub registry: &'a Registry,
    pub transaction: &'a Transaction,
    pub name: &'a DatasetName,
    pub dataset: DatasetKey,
    /// The last instance that is stored. `None` means that the dataset has no history yet.
    pub latest: Option<Instance>,
    /// The distinct times of the new instances, ascending, all after the last stored one.
    pub times: Vec<Timestamp>,
    /// The expected results at some of these times.
    pub expected: &'a BTreeMap<Timestamp, Expected>,
    /// Their notes, in place of those of `expected`. `None` means that these are the notes.
    pub notes: Option<&'a Notes>,
    pub conduct: Conduct,
    /// Why no change is possible at these times. It is returned only if there is a change.
    pub refusal: Option<ChangeError>,
    /// The present time. No event may be later.
    pub now: Timestamp,
    pub stamp: &'a Stamp<'a>,
    /// The approximate number of events, for the monitor.
    pub events: u64,
}

/// The expected result of a change, and its note.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// The identifier that must result. `None` means any.
    pub identifier: Option<Identifier>,
    /// The note that is stored with the change.
    pub note: Option<String>,
    /// Where these were read, for messages.
    pub location: Option<SourceLocation>,
}

/// What to do with an event that does not fit the stored rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conduct {
    /// For a change: granules that are already held, or not held, are skipped or refused, and
    /// counted.
    Change { held: Misfit, missing: Misfit },
    /// For a revert: the events are those that lead to an earlier set, whose ids are accepted as
    /// they were then.
    Revert,
    /// For an import: events that are already stored are skipped and counted; others are refused.
    History,
}

/// What to do with a granule that is already held, not held, or listed twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Misfit {
    /// Refuse the change.
    #[default]
    Refuse,
    /// Skip the granule, and count it.
    Skip,
}

/// Refuses a note that is longer than a log may have it: mirrors could not read the log.
pub(super) fn check_note(expected: &Expected) -> Result<()> {
    let (bytes, most) = (expected.note.as_ref().map_or(0, String::len), LogChange::MAX_NOTE_BYTES);
    match bytes > most {
        true => Err(Error::TooLong { what: "the note", bytes, most }),
        false => Ok(()),
    }
}

/// Refuses an identifier that is not the expected one.
pub(super) fn check_expected(
    expected: &Expected,
    at: Timestamp,
    identifier: Identifier,
) -> Result<()> {
    let Some(wanted) = expected.identifier.filter(|wanted| *wanted != identifier) else {
        return Ok(());
    };
    let (location, expected) = (expected.location.clone(), wanted);
    Err(ChangeError::NotAsExpected { location, at, expected, identifier }.into())
}
