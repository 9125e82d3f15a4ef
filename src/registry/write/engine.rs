//! Adds changes to a history: granule rows, chain, checkpoints and history rows.
//!
//! A change, a sync and a pull add a history of one instant; an import adds one of many. The engine
//! reads their events in canonical order, a batch of granules at a time. It costs one pass over the
//! granules after the last checkpoint before the first event, for all instants together, which also
//! proves the identifier in force ([`Pass`]). Granules that are new and after all others are hashed as they are stored, without
//! being read again.

use super::resume::{Effort, Pass, resume_before};
use super::target::{Conduct, Target};
use crate::chain::Timeline;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Event, EventKind, Granule, GranuleId, GranuleIdError, Identifier, Instance, Timestamp,
};
use crate::registry::error::made_of;
use crate::registry::snapshot::identify_selected;
use crate::registry::staging::each_batch;
use crate::store::NewPeriod;

/// The events that were skipped, counted so that callers can report them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Skipped {
    /// Granules to ingest that were already held; for an import, events that were already stored.
    pub held: u64,
    /// Granules that were listed more than once.
    pub repeated: u64,
    /// Granules to delete that were not held.
    pub missing: u64,
}

/// What the engine added.
#[derive(Debug, Default)]
pub(super) struct Added {
    /// The new rows of the history, in order of time, without notes that are in a file. Empty if nothing
    /// changed.
    pub instances: Vec<Instance>,
    pub first_ingested: Vec<GranuleId>,
    pub first_deleted: Vec<GranuleId>,
    pub skipped: Skipped,
    pub effort: Effort,
}

/// The greatest number of granules that are returned as examples of those ingested, and of those
/// deleted.
pub const MAX_EXAMPLES: usize = 3;

/// The bytes of notes that are read from a file before they are stored.
const MAX_NOTE_BYTES: usize = 1_024 * 1_024;

/// The numbers of granules that are ingested and deleted at one time.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    ingested: u64,
    deleted: u64,
}

/// Adds events, which must be in order of granule and then of time, to a history. `count` is about
/// how many there are.
///
/// # Errors
///
/// The error of a refused change: an event is refused;
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the granules that were read are not those
/// that the history states.
pub(super) fn add(
    target: &Target<'_>,
    conduct: Conduct,
    events: impl Iterator<Item = Result<Event>> + Send,
    count: u64,
) -> Result<Added> {
    let mut entry = Entry::new(target, conduct);
    let mut progress = target.registry.begin("writing", "granules", Some(count));
    std::thread::scope(|scope| {
        each_batch(scope, count, events, |batch| -> Result<()> {
            progress.advance_by(batch.len() as u64)?;
            entry.enter(batch)
        })
    })?;
    drop(progress);
    entry.finish()
}

/// Stores the granule rows, and then hashes them and adds the rows of the history.
struct Entry<'a> {
    target: &'a Target<'a>,
    conduct: Conduct,
    timeline: Timeline,
    tallies: Vec<Tally>,
    /// What was added so far, without the instances and the effort.
    added: Added,
    /// Whether the dataset holds the granule of the first event or one after it. `None` until this
    /// is known.
    holds_from_first: Option<bool>,
    /// Whether checks have found something in files of the dataset. `None` until a granule is deleted.
    has_findings: Option<bool>,
    /// The pass from the point at which the chain is resumed. `None` until an event changes
    /// something.
    pass: Option<Pass<'a>>,
    /// The first refusal of a change that can have several, and how many there are.
    refused: Option<(Error, u64)>,
}

/// The rows that the events of a batch change.
struct Rows<'event> {
    new: Vec<NewPeriod<'event>>,
    /// The granules whose present period ends, each at its own time.
    ends: Vec<(&'event GranuleId, Timestamp)>,
}

/// The start of the period in which a granule is held, while its events are replayed.
enum Held<'event, 'stored> {
    No,
    /// Before the events.
    Stored(&'stored Granule),
    /// With one of the events.
    New(&'event Event),
}

impl<'a> Entry<'a> {
    fn new(target: &'a Target<'a>, conduct: Conduct) -> Self {
        Entry {
            target,
            conduct,
            timeline: Timeline::of(target.times.iter().copied()),
            tallies: vec![Tally::default(); target.times.len()],
            added: Added::default(),
            holds_from_first: None,
            has_findings: None,
            pass: None,
            refused: None,
        }
    }

    /// Stores the events of some granules.
    fn enter(&mut self, events: &[Event]) -> Result<()> {
        let Target { transaction, dataset, .. } = *self.target;
        let by_granule: Vec<&[Event]> =
            events.chunk_by(|a, b| a.granule_id == b.granule_id).collect();
        let stored = match self.is_after_all(events)? {
            true => Vec::new(),
            false => {
                let ids: Vec<&str> =
                    by_granule.iter().map(|events| events[0].granule_id.as_str()).collect();
                transaction.periods_among(dataset, &ids)?
            }
        };
        let mut rows = Rows { new: Vec::with_capacity(by_granule.len()), ends: Vec::new() };
        let mut rest = stored.as_slice();
        for events in by_granule {
            let granule_id = &events[0].granule_id;
            let count = rest.iter().take_while(|it| it.granule_id == *granule_id).count();
            let (of_granule, after) = rest.split_at(count);
            rest = after;
            self.enter_granule(events, of_granule, &mut rows)?;
        }
        // A granule that is deleted and ingested again has one open period at a time.
        transaction.end_periods(dataset, &rows.ends)?;
        self.forget_findings(&rows.ends)?;
        transaction.insert_periods(dataset, &rows.new)?;
        match self.pass.as_mut().filter(|pass| pass.appends()) {
            Some(pass) => rows.new.iter().try_for_each(|period| pass.append(period)),
            None => Ok(()),
        }
    }

    /// Removes what checks have found in the files of granules that are deleted.
    fn forget_findings(&mut self, ends: &[(&GranuleId, Timestamp)]) -> Result<()> {
        let Target { transaction, dataset, .. } = *self.target;
        if ends.is_empty() {
            return Ok(());
        }
        let has_findings = match self.has_findings {
            Some(known) => known,
            None => transaction.has_fixity_findings(dataset)?,
        };
        self.has_findings = Some(has_findings);
        if !has_findings {
            return Ok(());
        }
        let ids: Vec<&str> = ends.iter().map(|(granule_id, _)| granule_id.as_str()).collect();
        transaction.delete_fixity_findings_of(dataset, &ids)
    }

    /// Whether no stored period can matter to events: the dataset has no history, or all of them are
    /// later than it and it holds neither the granule of the first event of all nor any after it.
    fn is_after_all(&mut self, events: &[Event]) -> Result<bool> {
        let (Some(last), Some(first)) = (self.target.last(), events.first()) else {
            return Ok(true);
        };
        let Target { transaction, dataset, .. } = *self.target;
        let holds = match self.holds_from_first {
            Some(holds) => holds,
            None => transaction.holds_from(dataset, &first.granule_id)?,
        };
        self.holds_from_first = Some(holds);
        Ok(!holds && events.iter().all(|event| event.at > last))
    }

    /// Replays the events of one granule, which is alternately ingested and deleted.
    fn enter_granule<'event>(
        &mut self,
        events: &'event [Event],
        stored: &[Granule],
        rows: &mut Rows<'event>,
    ) -> Result<()> {
        for pair in events.windows(2).filter(|pair| pair[0].at == pair[1].at) {
            self.skip_repetition(&pair[0], &pair[1])?;
        }
        let mut held = match stored.last() {
            Some(period) if period.deleted.is_none() => Held::Stored(period),
            _ => Held::No,
        };
        let mut previous: Option<&Event> = None;
        for event in events {
            if previous.is_some_and(|previous| previous.at == event.at) {
                continue;
            }
            previous = Some(event);
            if self.target.last().is_some_and(|last| event.at <= last) {
                self.skip_stored(event, stored)?;
                continue;
            }
            let Target { now, .. } = *self.target;
            if event.at > now {
                return Err(Error::future(event.at, now).at(event.location.clone()));
            }
            held = match (event.kind, held) {
                (EventKind::Ingested, Held::No) => {
                    self.check_new(event)?;
                    self.tally(event)?.ingested += 1;
                    Held::New(event)
                }
                (EventKind::Deleted, Held::Stored(_)) => {
                    self.tally(event)?.deleted += 1;
                    rows.ends.push((&event.granule_id, event.at));
                    Held::No
                }
                (EventKind::Deleted, Held::New(ingested)) => {
                    self.tally(event)?.deleted += 1;
                    rows.new.push(period(ingested, Some(event.at)));
                    Held::No
                }
                (EventKind::Ingested, held) => {
                    self.refuse_held(event, &held)?;
                    held
                }
                (EventKind::Deleted, Held::No) => {
                    self.refuse_missing(event)?;
                    Held::No
                }
            };
        }
        if let Held::New(ingested) = held {
            rows.new.push(period(ingested, None));
        }
        Ok(())
    }

    /// Refuses an id that may not be ingested, unless it comes back with an earlier set.
    fn check_new(&self, event: &Event) -> Result<()> {
        match event.granule_id.check_new() {
            Err(cause) if self.conduct != Conduct::Revert => {
                let kind = match cause {
                    GranuleIdError::CurrentDirectory => ErrorKind::RefusedDirectory,
                    _ => ErrorKind::RefusedCharacter,
                };
                Err(Error::of_event(event, kind, format_args!("is refused: {cause}")))
            }
            _ => Ok(()),
        }
    }

    /// The tally of an event that changes something. The first such event decides where to resume,
    /// before any row is changed.
    fn tally(&mut self, event: &Event) -> Result<&mut Tally> {
        if let Some(refusal) = &self.target.refusal {
            return Err(refusal.clone());
        }
        if self.pass.is_none() {
            let is_after_all = self.holds_from_first == Some(false);
            let resume = resume_before(self.target, &event.granule_id, is_after_all)?;
            self.pass = Some(Pass::new(self.target, resume));
        }
        let examples = match event.kind {
            EventKind::Ingested => &mut self.added.first_ingested,
            EventKind::Deleted => &mut self.added.first_deleted,
        };
        let is_wanted = self.target.options.all_examples || examples.len() < MAX_EXAMPLES;
        if is_wanted && examples.last() != Some(&event.granule_id) {
            examples.push(event.granule_id.clone());
        }
        let index = self.timeline.number(event.at.as_micros()).unwrap_or_else(|next| next);
        Ok(&mut self.tallies[index])
    }

    /// Whether the options say that granules to ingest that are held, or granules to delete that are
    /// not, are skipped.
    fn skips(&self, kind: EventKind) -> bool {
        let options = self.target.options;
        self.conduct == Conduct::Change
            && match kind {
                EventKind::Ingested => options.skip_existing,
                EventKind::Deleted => options.skip_missing,
            }
    }

    /// Counts an event that repeats the previous one, if repetitions are to be skipped.
    fn skip_repetition(&mut self, previous: &Event, event: &Event) -> Result<()> {
        if self.skips(event.kind) && previous.kind == event.kind {
            self.added.skipped.repeated += 1;
            return Ok(());
        }
        Err(Error::of_repetition(previous, event))
    }

    /// Counts an event that is already stored, and refuses any other, which would rewrite history.
    fn skip_stored(&mut self, event: &Event, stored: &[Granule]) -> Result<()> {
        let is_stored = stored.iter().any(|period| match event.kind {
            EventKind::Ingested => period.ingested == event.at,
            EventKind::Deleted => period.deleted == Some(event.at),
        });
        if is_stored {
            self.added.skipped.held += 1;
            return Ok(());
        }
        // The log may be right and the row damaged.
        self.prove_until(event.at)?;
        let last = self.target.last().unwrap_or(event.at);
        Err(Error::not_after_last(event.at, last).at(event.location.clone()))
    }

    /// Proves the instance in force at a time, and the one before it.
    fn prove_until(&self, at: Timestamp) -> Result<()> {
        let Target { transaction, dataset, .. } = *self.target;
        let before = Timestamp::from_micros(at.as_micros() - 1);
        for at in before.into_iter().chain([at]) {
            if let Some(instance) = transaction.instance_at(dataset, at)? {
                identify_selected(transaction, dataset, &instance, &[])?;
            }
        }
        Ok(())
    }

    fn refuse_held(&mut self, event: &Event, held: &Held<'_, '_>) -> Result<()> {
        let (since, producer) = match held {
            Held::No => return Ok(()),
            Held::Stored(period) => (period.ingested, period.producer_granule.clone()),
            Held::New(event) => (event.at, event.producer_granule.clone()),
        };
        match self.conduct {
            Conduct::History | Conduct::Revert => Err(Error::held_then(event, since)),
            Conduct::Change if self.skips(event.kind) => {
                self.added.skipped.held += 1;
                Ok(())
            }
            Conduct::Change => {
                let producers = made_of([event.producer_granule.as_ref(), producer.as_ref()]);
                let what = format_args!("is already held, ingested {since}{producers}");
                self.refuse(Error::of_event(event, ErrorKind::Held, what))
            }
        }
    }

    fn refuse_missing(&mut self, event: &Event) -> Result<()> {
        match self.conduct {
            Conduct::History | Conduct::Revert => Err(Error::not_held_then(event)),
            Conduct::Change if self.skips(event.kind) => {
                self.added.skipped.missing += 1;
                Ok(())
            }
            Conduct::Change => {
                let what = format_args!("is not held");
                self.refuse(Error::of_event(event, ErrorKind::NotHeld, what))
            }
        }
    }

    /// Keeps the first refusal of a change, and counts further ones of the same kind.
    fn refuse(&mut self, refusal: Error) -> Result<()> {
        match &mut self.refused {
            None => self.refused = Some((refusal, 0)),
            Some((first, more)) if first.kind() == refusal.kind() => *more += 1,
            Some(_) => {}
        }
        Ok(())
    }

    /// Hashes the granules, and adds the rows of the history.
    fn finish(mut self) -> Result<Added> {
        if let Some((refusal, more)) = self.refused.take() {
            return Err(match more {
                0 => refusal,
                more => refusal.continued(&format!(", and {more} more of this change")),
            });
        }
        let Some(pass) = self.pass.take() else { return Ok(self.added) };
        let (identifiers, effort) = pass.finish()?;
        let instances = self.record(&identifiers)?;
        Ok(Added { instances, effort, ..self.added })
    }

    /// Adds the rows of the history.
    fn record(&self, identifiers: &[Identifier]) -> Result<Vec<Instance>> {
        let target = self.target;
        let Target { times, name, transaction, .. } = target;
        let last = times.last().copied().unwrap_or(target.now);
        // Not before the change took effect, nor before an earlier change was recorded, even if the
        // clock was set back.
        let latest = target.latest.as_ref();
        let recorded = latest.map(|latest| latest.recorded);
        let earliest = recorded.map_or(last, |recorded| recorded.max(last));
        let (recorded, recorded_by) = target.stamp.record(transaction, recorded, earliest)?;
        let mut granules = target.held();
        let mut in_force = latest.map_or(Identifier::EMPTY, |latest| latest.identifier);
        let mut instances: Vec<Instance> = Vec::with_capacity(times.len());
        let (mut stored, mut note_bytes) = (0, 0);
        let store = |instances: &mut [Instance]| -> Result<()> {
            transaction.insert_instances(target.dataset, instances)?;
            if target.results.is_some() {
                instances.iter_mut().for_each(|instance| instance.note = None);
            }
            Ok(())
        };
        for ((&timestamp, tally), &identifier) in times.iter().zip(&self.tallies).zip(identifiers) {
            granules = (granules + tally.ingested).checked_sub(tally.deleted).ok_or_else(|| {
                let what = format!("{name} has rows of more granules than its history counts");
                Error::damaged(what)
            })?;
            // Every change has an event that changes something, and so another set.
            if std::mem::replace(&mut in_force, identifier) == identifier {
                let Tally { ingested, deleted } = tally;
                return Err(Error::damaged(format!(
                    "the change of {name} at {timestamp} ingests {ingested} and deletes {deleted} granules, but leaves the identifier {identifier}"
                )));
            }
            target.check_expected(timestamp, identifier)?;
            if let Some(before) = instances.last_mut() {
                before.until = Some(timestamp);
            }
            instances.push(Instance {
                dataset: name.clone(),
                timestamp,
                until: None,
                identifier,
                granules,
                ingested: tally.ingested,
                deleted: tally.deleted,
                recorded,
                recorded_by: recorded_by.clone(),
                note: target.note_at(timestamp)?,
                annotations: Vec::new(),
            });
            // Notes that are in a file are in memory only until they are stored.
            note_bytes += instances.last().and_then(|it| it.note.as_ref()).map_or(0, String::len);
            if target.results.is_some() && note_bytes > MAX_NOTE_BYTES {
                store(&mut instances[stored..])?;
                (stored, note_bytes) = (instances.len(), 0);
            }
        }
        store(&mut instances[stored..])?;
        Ok(instances)
    }
}

fn period(ingested: &Event, deleted: Option<Timestamp>) -> NewPeriod<'_> {
    NewPeriod {
        granule_id: &ingested.granule_id,
        ingested: ingested.at,
        deleted,
        producer_granule: ingested.producer_granule.as_ref(),
    }
}
