//! Adds a single instant to a history, which is what a change, a sync, a revert and a pull do.

use std::collections::BTreeMap;

use super::addition::{Addition, Conduct, Expected, check_note};
use super::engine::{self, Skipped};
use super::first_ids::FirstIds;
use super::lookup::{Found, Unknown, find_or_insert};
use super::resume::Work;
use super::stamp::Stamp;
use crate::model::{DatasetName, Event, Instance, Timestamp};
use crate::registry::error::Result;
use crate::registry::handle::Registry;
use crate::registry::staging::Staging;
use crate::store::{DatasetKey, Transaction};

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The new row of the history. `None` means that nothing changed.
    pub instance: Option<Instance>,
    /// The instance in force afterwards. `None` means that the dataset has no history.
    pub in_force: Option<Instance>,
    /// The time of the last change before this one. `None` means that there was no history.
    pub last: Option<Timestamp>,
    /// The first granules that were ingested and deleted, as examples.
    pub first: FirstIds,
    /// The granules that were skipped.
    pub skipped: Skipped,
    /// Whether the dataset was added.
    pub created_dataset: bool,
    /// By how many microseconds the clock was behind the last change. `None` means by less than a
    /// second, or not at all.
    pub clock_behind_micros: Option<i64>,
    /// The work that it took.
    pub work: Work,
}

/// The dataset to be changed.
pub(super) struct Target<'a> {
    pub registry: &'a Registry,
    pub transaction: &'a Transaction,
    /// Its present name.
    pub name: DatasetName,
    pub dataset: DatasetKey,
    /// The instance in force before the change. `None` means that the dataset has no history.
    pub latest: Option<Instance>,
    /// Whether the dataset was added for the change.
    pub created: bool,
}

impl<'a> Target<'a> {
    /// Finds the dataset to be changed, or adds it.
    pub fn find(
        registry: &'a Registry,
        transaction: &'a Transaction,
        name: &DatasetName,
        unknown: &Unknown,
        stamp: &Stamp<'_>,
    ) -> Result<Self> {
        let Found { key: dataset, name, latest, created } =
            find_or_insert(transaction, name, unknown, stamp)?;
        Ok(Target { registry, transaction, name, dataset, latest, created })
    }

    /// Adds the events to the history at one instant, whatever the times with which they were
    /// staged.
    pub fn apply(
        self,
        events: &Staging,
        conduct: Conduct,
        expected: &Expected,
        stamp: &Stamp<'_>,
    ) -> Result<Applied> {
        let Target { registry, transaction, name, dataset, latest, created } = self;
        check_note(expected)?;
        let last = latest.as_ref().map(|latest| latest.timestamp);
        let (at, clock_behind_micros, refusal) = match stamp.after(last) {
            Ok((at, behind)) => (at, behind, None),
            // Any time after the last one will do, since the refusal is returned if anything
            // changes.
            Err(refusal) => {
                (last.and_then(Timestamp::next).unwrap_or(Timestamp::MAX), None, Some(refusal))
            }
        };
        let expected = BTreeMap::from([(at, expected.clone())]);
        let addition = Addition {
            registry,
            transaction,
            name: &name,
            dataset,
            latest,
            times: vec![at],
            expected: &expected,
            notes: None,
            conduct,
            refusal,
            now: at,
            stamp,
            events: events.count(),
        };
        let events = events.sorted()?.map(|event| Ok(Event { at, ..event? }));
        let added = engine::add(&addition, events)?;
        let instance = added.instances.into_iter().next();
        Ok(Applied {
            in_force: instance.clone().or(addition.latest),
            created_dataset: created && instance.is_some(),
            // If nothing changed, the clock does not matter.
            clock_behind_micros: clock_behind_micros.filter(|_| instance.is_some()),
            instance,
            last,
            first: added.first,
            skipped: added.skipped,
            work: added.work,
        })
    }
}
