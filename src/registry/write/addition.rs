//! What is to be added to a history, and on which terms.

use std::collections::BTreeMap;

use super::stamp::Stamp;
use crate::model::{DatasetName, Identifier, Instance, SourceLocation, Timestamp};
use crate::registry::error::Result;
use crate::registry::handle::Registry;
use crate::registry::refusal::ChangeError;
use crate::store::{DatasetKey, Transaction};

/// Where events are added, and from which times on.
pub(super) struct Addition<'a> {
    pub registry: &'a Registry,
    pub transaction: &'a Transaction,
    pub name: &'a DatasetName,
    pub dataset: DatasetKey,
    /// The last instance that is stored. `None`: the history begins here.
    pub latest: Option<Instance>,
    /// The distinct times of the new instances, ascending, all after the last stored one.
    pub times: Vec<Timestamp>,
    /// What must come true at some of them.
    pub expected: &'a BTreeMap<Timestamp, Expected>,
    pub conduct: Conduct,
    /// Why nothing may change at these times. It matters only if something does.
    pub refusal: Option<ChangeError>,
    /// What the clock says: no event is later.
    pub now: Timestamp,
    pub stamp: &'a Stamp<'a>,
    /// About how many events there are, for the monitor.
    pub events: u64,
}

/// What a change must lead to, and the note to keep with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// The identifier that the change must lead to. `None`: any.
    pub identifier: Option<Identifier>,
    /// The note to be kept with it.
    pub note: Option<String>,
    /// Where this was read, for messages.
    pub location: Option<SourceLocation>,
}

/// What becomes of an event that does not fit what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conduct {
    /// One change: granules that are held, or not held, are skipped or refused, all counted.
    Change { held: Misfit, missing: Misfit },
    /// A history: events that are stored already are skipped and counted, all else is refused.
    History,
}

/// What becomes of a granule that is held already, or not held, or listed twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Misfit {
    /// The change is refused.
    #[default]
    Refuse,
    /// The granule is skipped and counted.
    Skip,
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
