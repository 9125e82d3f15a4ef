//! Adds changes to a history: rows of granules and of their content, chain, digest, checkpoints and history
//! rows.
//!
//! A change, a sync and a pull add a history of one instant; an import adds one of many. The engine reads their
//! events in canonical order, a batch of granules at a time. It costs one pass over the granules after the last
//! checkpoint before the first event, for all instants together. The pass also verifies the identifier in force
//! ([`Pass`]). New granules after all others are hashed as they are stored, and not read again.

use super::applied::{ChangeReport, Tally, record};
use super::guard::{Guard, MAX_EXAMPLES};
use super::rewind::{Pass, resume_before};
use super::target::{Conduct, Target};
use crate::chain::Timeline;
use crate::error::{Error, ErrorDetail, ErrorKind, Result};
use crate::model::{
    CURRENT_DIRECTORY, Content, ContentChange, ContentUpdate, Coverage, Event, EventKind,
    GranuleId, Holding, Timestamp,
};
use crate::registry::batches::{BATCH_GRANULES, MergedEvent, each_batch};
use crate::registry::error::made_of;
use crate::registry::look_ups::{LookUps, bytes_of_contents};
use crate::registry::observer::Work;
use crate::registry::staging::check_limits;
use crate::registry::verify::select_from;
use crate::store::{NewPeriod, OpenFinding, StoredContent};

/// Adds events to a history. They must be in order of granule and then of time. `count` is their approximate
/// number.
///
/// # Errors
///
/// The error of a refused change: an event is rejected; [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the
/// granules that were read are not those of the history.
pub(super) fn add(
    target: &Target<'_>,
    conduct: Conduct,
    events: impl Iterator<Item = Result<Event>> + Send,
    count: u64,
) -> Result<ChangeReport> {
    let mut entry = Entry::new(target, conduct);
    let mut progress = target.registry.begin(Work::Write, Some(count));
    std::thread::scope(|scope| {
        each_batch(scope, count, events, |batch| -> Result<()> {
            progress.advance_by(batch.iter().map(|merged| merged.events).sum())?;
            entry.enter(batch)
        })
    })?;
    drop(progress);
    entry.finish()
}

/// Stores the granule rows, then hashes them and adds the rows of the history.
struct Entry<'a> {
    target: &'a Target<'a>,
    conduct: Conduct,
    timeline: Timeline,
    tallies: Vec<Tally>,
    /// The report so far, without the instances and the effort.
    applied: ChangeReport,
    /// Whether the dataset holds the granule of the first event or one after it. `None` until this
    /// is known.
    holds_from_first: Option<bool>,
    /// Whether checks have findings about files of the dataset. `None` until a granule is deleted, or its
    /// contents change.
    has_findings: Option<bool>,
    /// The pass from the point at which the chain is resumed. `None` until an event changes
    /// something.
    pass: Option<Pass<'a>>,
    look_ups: LookUps,
    /// The first refusal of a change that can have several, and the number of further ones.
    refused: Option<(Error, u64)>,
    guard: Guard,
}

/// The rows that the events of a batch change.
struct Rows<'event> {
    new: Vec<NewPeriod<'event>>,
    /// The new contents of granules, by granule and then by time.
    contents: Vec<StoredContent>,
    /// The granules whose present period ends, each with the time of its end.
    ends: Vec<(&'event GranuleId, Timestamp)>,
}

/// The start of the present holding period of a granule, while its events are replayed.
enum Held<'event, 'stored> {
    No,
    /// It began before the events.
    Stored(&'stored Holding),
    /// It began with one of the events.
    New(&'event Event),
}

impl<'a> Entry<'a> {
    fn new(target: &'a Target<'a>, conduct: Conduct) -> Self {
        Entry {
            target,
            conduct,
            timeline: Timeline::of(target.times.iter().copied()),
            tallies: vec![Tally::default(); target.times.len()],
            applied: ChangeReport { last: target.last(), ..ChangeReport::default() },
            holds_from_first: None,
            has_findings: None,
            pass: None,
            look_ups: LookUps::up_to(BATCH_GRANULES),
            refused: None,
            guard: Guard::of(target, conduct),
        }
    }

    /// Stores the events of some granules.
    fn enter(&mut self, events: &[MergedEvent]) -> Result<()> {
        let by_granule: Vec<&[MergedEvent]> =
            events.chunk_by(|a, b| a.event.granule_id == b.event.granule_id).collect();
        let mut rest = by_granule.as_slice();
        while !rest.is_empty() {
            // A new dataset has no stored rows, so nothing is looked up.
            let most = self.target.latest.as_ref().map_or(rest.len(), |_| self.look_ups.granules());
            let (next, after) = rest.split_at(most.min(rest.len()));
            self.enter_granules(next)?;
            rest = after;
        }
        Ok(())
    }

    /// Stores all events of a few granules.
    fn enter_granules(&mut self, by_granule: &[&[MergedEvent]]) -> Result<()> {
        let Target { transaction, dataset, .. } = *self.target;
        let ids: Vec<&str> =
            by_granule.iter().map(|events| events[0].event.granule_id.as_str()).collect();
        let stored = match self.is_after_all(by_granule)? {
            true => Vec::new(),
            false => transaction.periods_among(dataset, &ids)?,
        };
        let states_content =
            || by_granule.iter().copied().flatten().any(|merged| merged.event.content.is_some());
        let known = match self.target.latest.is_some() && states_content() {
            true => transaction.last_content_among(dataset, &ids)?,
            false => Vec::new(),
        };
        let bytes = size_of_val(stored.as_slice()) + bytes_of_contents(&known);
        self.look_ups.note(ids.len(), bytes);
        let mut rows = Rows {
            new: Vec::with_capacity(by_granule.len()),
            contents: Vec::new(),
            ends: Vec::new(),
        };
        let mut rest = stored.as_slice();
        for events in by_granule {
            let granule_id = &events[0].event.granule_id;
            let count = rest.iter().take_while(|it| it.granule_id == *granule_id).count();
            let (of_granule, after) = rest.split_at(count);
            rest = after;
            let place = known.binary_search_by(|known| known.granule_id.cmp(granule_id));
            let of_id = place.ok().and_then(|place| known.get(place));
            self.enter_granule(events, of_granule, of_id, &mut rows)?;
        }
        // A granule that is deleted and ingested again has only one open period at a time.
        transaction.end_periods(dataset, &rows.ends)?;
        self.forget_findings(&rows)?;
        transaction.insert_periods(dataset, &rows.new)?;
        transaction.insert(dataset, &rows.contents)?;
        match self.pass.as_mut().filter(|pass| pass.appends()) {
            Some(pass) => {
                rows.new.iter().try_for_each(|period| pass.append(period, &rows.contents))
            }
            None => Ok(()),
        }
    }

    /// Removes the findings about files of granules that are deleted, or whose contents change.
    fn forget_findings(&mut self, rows: &Rows<'_>) -> Result<()> {
        let Target { transaction, dataset, .. } = *self.target;
        let ends = rows.ends.iter().map(|(granule_id, _)| granule_id.as_str());
        let mut ids: Vec<&str> =
            ends.chain(rows.contents.iter().map(|known| known.granule_id.as_str())).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let has_findings = match self.has_findings {
            Some(known) => known,
            None => !transaction.first::<OpenFinding>(dataset, 1)?.is_empty(),
        };
        self.has_findings = Some(has_findings);
        if !has_findings {
            return Ok(());
        }
        ids.sort_unstable();
        ids.dedup();
        transaction.delete_fixity_findings_of(dataset, &ids)
    }

    /// Whether no stored period can matter to the events: the dataset has no history; or all events are later
    /// than its history, and it holds neither the granule of the very first event nor any after it.
    fn is_after_all(&mut self, by_granule: &[&[MergedEvent]]) -> Result<bool> {
        let mut events = by_granule.iter().copied().flatten().map(|merged| &merged.event);
        let (Some(last), Some(first)) = (self.target.last(), events.clone().next()) else {
            return Ok(true);
        };
        let Target { transaction, dataset, .. } = *self.target;
        let holds = match self.holds_from_first {
            Some(holds) => holds,
            None => transaction.holds_from(dataset, &first.granule_id)?,
        };
        self.holds_from_first = Some(holds);
        Ok(!holds && events.all(|event| event.at > last))
    }

    /// Replays the events of one granule, which is alternately ingested and deleted, and whose content changes
    /// while it is held.
    fn enter_granule<'event>(
        &mut self,
        events: &'event [MergedEvent],
        stored: &[Holding],
        known: Option<&StoredContent>,
        rows: &mut Rows<'event>,
    ) -> Result<()> {
        let mut held = match stored.last() {
            Some(period) if period.deleted.is_none() => Held::Stored(period),
            _ => Held::No,
        };
        // The content that was recorded last, and the content now.
        let mut last = known.map(|known| known.content.clone()).unwrap_or_default();
        let mut now = match (&held, known) {
            (Held::Stored(period), Some(known)) if known.since >= period.ingested => last.clone(),
            _ => Content::default(),
        };
        for at_once in events.chunk_by(|one, next| one.event.at == next.event.at) {
            // In a table, a row that begins when another ends continues the holding period.
            let kinds = [EventKind::Deleted, EventKind::Ingested];
            let continues = self.conduct == Conduct::History
                && at_once.iter().map(|merged| merged.event.kind).take(2).eq(kinds);
            let at_once = if continues { &at_once[1..] } else { at_once };
            self.skip_repetitions(&at_once[0])?;
            if let [first, second, ..] = at_once {
                return Err(Error::of_repetition(&first.event, &second.event));
            }
            let MergedEvent { event, invalid_files, .. } = &at_once[0];
            let kind = if continues { EventKind::Described } else { event.kind };
            if let Some(error) = invalid_files {
                return Err(error.clone());
            }
            let stated = event.content.as_ref();
            if self.target.last().is_some_and(|last| event.at <= last) {
                self.skip_stored(event, kind, stored)?;
                refuse_other_content(event, stated, known)?;
                continue;
            }
            let Target { now: present, .. } = *self.target;
            if event.at > present {
                return Err(Error::future(event.at, present).at(event.location.clone()));
            }
            held = match (kind, held) {
                (EventKind::Ingested, Held::No) => {
                    self.check_new(event)?;
                    now = self.first_known(event, stated, &last, rows)?;
                    self.tally(event, EventKind::Ingested)?;
                    Held::New(event)
                }
                (EventKind::Deleted, held @ (Held::Stored(_) | Held::New(_))) => {
                    self.tally(event, EventKind::Deleted)?;
                    match held {
                        Held::New(ingested) => rows.new.push(period(ingested, Some(event.at))),
                        _ => rows.ends.push((&event.granule_id, event.at)),
                    }
                    Held::No
                }
                (EventKind::Ingested, held) => {
                    self.refuse_held(event, &held)?;
                    self.state(event, stated, &mut now, rows)?;
                    held
                }
                (EventKind::Deleted, Held::No) => {
                    self.refuse_missing(event)?;
                    Held::No
                }
                (EventKind::Described | EventKind::Replaced, Held::No) => {
                    self.refuse_missing(event)?;
                    Held::No
                }
                (EventKind::Described | EventKind::Replaced, held) => {
                    self.state(event, stated, &mut now, rows)?;
                    held
                }
            };
            if !now.is_empty() {
                last.clone_from(&now);
            }
            if matches!(held, Held::No) {
                now = Content::default();
            }
        }
        if let Held::New(ingested) = held {
            rows.new.push(period(ingested, None));
        }
        Ok(())
    }

    /// The content of a granule that is ingested. `last` is its content when it was held before.
    fn first_known(
        &mut self,
        event: &Event,
        stated: Option<&Content>,
        last: &Content,
        rows: &mut Rows<'_>,
    ) -> Result<Content> {
        let Some(stated) = stated.filter(|stated| !stated.is_empty()) else {
            return Ok(Content::default());
        };
        if !last.is_empty() {
            let update = last.after(&event.granule_id, stated, Coverage::Named);
            if let Some(contradiction) = update.conflict {
                self.guard.count_replaced(event, &contradiction);
            }
        }
        check_length(event, stated)?;
        let granule_id = event.granule_id.clone();
        rows.contents.push(StoredContent { granule_id, since: event.at, content: stated.clone() });
        Ok(stated.clone())
    }

    /// Updates the content of a granule that stays held.
    fn state(
        &mut self,
        event: &Event,
        stated: Option<&Content>,
        known: &mut Content,
        rows: &mut Rows<'_>,
    ) -> Result<()> {
        let extent = match self.conduct {
            Conduct::Change(extent) | Conduct::Pull(extent) => extent,
            Conduct::Computed => Coverage::Named,
            Conduct::History if event.kind == EventKind::Ingested => Coverage::Whole,
            Conduct::History | Conduct::Revert => Coverage::All,
        };
        let is_said = |stated: &&Content| extent == Coverage::All || !stated.is_empty();
        let Some(stated) = stated.filter(is_said) else { return Ok(()) };
        let granule_id = &event.granule_id;
        let ContentUpdate { content: after, change: effect, conflict: contradiction } =
            known.after(granule_id, stated, extent);
        if effect == ContentChange::Nothing {
            return Ok(());
        }
        match contradiction {
            Some(contradiction) if self.conduct == Conduct::Computed => {
                self.applied.contradicted.push(contradiction);
                return Ok(());
            }
            Some(contradiction) => self.guard.count_replaced(event, &contradiction),
            None => {}
        }
        check_length(event, &after)?;
        let relists = line_of(granule_id, known) != line_of(granule_id, &after);
        let kind = match effect {
            ContentChange::Replaces => EventKind::Replaced,
            _ => EventKind::Described,
        };
        self.tally(event, kind)?.relists |= relists;
        let (granule_id, content) = (granule_id.clone(), after.clone());
        rows.contents.push(StoredContent { granule_id, since: event.at, content });
        *known = after;
        Ok(())
    }

    /// Rejects an id that may not be ingested, unless a revert brings it back.
    fn check_new(&self, event: &Event) -> Result<()> {
        match event.granule_id.check_new() {
            Err(cause) if self.conduct != Conduct::Revert => {
                let detail = if cause == CURRENT_DIRECTORY {
                    ErrorDetail::CurrentDirectory
                } else {
                    ErrorDetail::ForbiddenCharacter
                };
                Err(Error::of_event(event, detail, format_args!("is refused: {cause}")))
            }
            _ => Ok(()),
        }
    }

    /// Counts an event that changes something. Adds its granule to the examples if there is room, unless it is
    /// the last example. The first such event decides where to resume, before any row is changed.
    fn tally(&mut self, event: &Event, kind: EventKind) -> Result<&mut Tally> {
        if let Some(refusal) = &self.target.refusal {
            return Err(refusal.clone());
        }
        if self.pass.is_none() {
            self.guard.begin(self.target)?;
            let is_after_all = self.holds_from_first == Some(false);
            let resume = resume_before(self.target, &event.granule_id, is_after_all)?;
            self.pass = Some(Pass::new(self.target, resume)?);
        }
        self.guard.count(self.target, event, kind)?;
        let examples = self.applied.first.of(kind);
        let has_room = self.target.options.all_examples || examples.len() < MAX_EXAMPLES;
        if has_room && examples.last() != Some(&event.granule_id) {
            examples.push(event.granule_id.clone());
        }
        let index = self.timeline.number(event.at.as_micros()).unwrap_or_else(|next| next);
        let tally = &mut self.tallies[index];
        tally.counts.add_one(kind);
        Ok(tally)
    }

    /// Whether the options skip granules to ingest that are held, or granules to delete that are not.
    fn skips(&self, kind: EventKind) -> bool {
        let options = self.target.options;
        !matches!(self.conduct, Conduct::History | Conduct::Revert)
            && match kind {
                EventKind::Ingested => options.skip_existing,
                EventKind::Deleted | EventKind::Described | EventKind::Replaced => {
                    options.skip_missing
                }
            }
    }

    /// Counts the events that repeat the previous one, if repetitions are skipped.
    fn skip_repetitions(&mut self, merged: &MergedEvent) -> Result<()> {
        let kind = merged.event.kind;
        match &merged.repetition {
            Some(error) if !(self.conduct == Conduct::History && kind == EventKind::Deleted) => {
                if !self.skips(kind) {
                    return Err(error.clone());
                }
                self.applied.skipped.repeated += merged.repeated;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Counts an event that is already stored. Rejects any other, because it would rewrite history.
    fn skip_stored(&mut self, event: &Event, kind: EventKind, stored: &[Holding]) -> Result<()> {
        let is_held_at = |period: &Holding| {
            period.ingested <= event.at && period.deleted.is_none_or(|deleted| event.at < deleted)
        };
        let is_stored = stored.iter().any(|period| match kind {
            EventKind::Ingested => period.ingested == event.at,
            EventKind::Deleted => period.deleted == Some(event.at),
            EventKind::Described | EventKind::Replaced => is_held_at(period),
        });
        if is_stored {
            self.applied.skipped.held += 1;
            return Ok(());
        }
        // The log may be right and the row damaged.
        self.prove_until(event.at)?;
        let last = self.target.last().unwrap_or(event.at);
        Err(Error::not_after_last(event.at, last).at(event.location.clone()))
    }

    /// Verifies the instance in force at a time, and the previous one.
    fn prove_until(&self, at: Timestamp) -> Result<()> {
        let Target { registry, transaction, dataset, .. } = *self.target;
        let before = Timestamp::from_micros(at.as_micros() - 1);
        let mut instances = Vec::new();
        for at in before.into_iter().chain([at]) {
            instances.extend(transaction.instance_at(dataset, at)?);
        }
        instances.dedup();
        select_from(registry, transaction, dataset, &instances, &[]).map(drop)
    }

    fn refuse_held(&mut self, event: &Event, held: &Held<'_, '_>) -> Result<()> {
        let (since, producer) = match held {
            Held::No => return Ok(()),
            Held::Stored(period) => (period.ingested, period.producer_granule.clone()),
            Held::New(event) => (event.at, event.producer_granule.clone()),
        };
        match self.conduct {
            Conduct::History | Conduct::Revert => Err(Error::held_then(event, since)),
            _ if self.skips(event.kind) => {
                self.applied.skipped.held += 1;
                Ok(())
            }
            _ => {
                let producers = made_of([event.producer_granule.as_ref(), producer.as_ref()]);
                let what = format_args!("is already held, ingested {since}{producers}");
                self.refuse(Error::of_event(event, ErrorKind::Held, what))
            }
        }
    }

    fn refuse_missing(&mut self, event: &Event) -> Result<()> {
        match self.conduct {
            Conduct::History | Conduct::Revert => Err(Error::not_held_then(event)),
            _ if self.skips(event.kind) => {
                self.applied.skipped.missing += 1;
                Ok(())
            }
            _ => {
                let what = format_args!("is not held");
                self.refuse(Error::of_event(event, ErrorKind::NotHeld, what))
            }
        }
    }

    /// Stores the first refusal of a change, and counts further ones of the same kind.
    fn refuse(&mut self, refusal: Error) -> Result<()> {
        match &mut self.refused {
            None => self.refused = Some((refusal, 0)),
            Some((first, more)) if first.kind() == refusal.kind() => *more += 1,
            Some(_) => {}
        }
        Ok(())
    }

    /// Hashes the granules, and adds the rows of the history.
    fn finish(mut self) -> Result<ChangeReport> {
        if let Some((refusal, more)) = self.refused.take() {
            return Err(match more {
                0 => refusal,
                more => refusal.continued(&format!(", and {more} more of this change")),
            });
        }
        let refusal = self.guard.refusal(self.target)?;
        self.applied.replaces_former = self.guard.has_replacements();
        let Some(pass) = self.pass.take() else {
            let unchanged = ChangeReport { in_force: self.target.latest.clone(), ..self.applied };
            return self.target.accept(unchanged, refusal);
        };
        let (sets, effort) = pass.finish()?;
        let is_back_dated = self.target.is_back_dated()?;
        let instances = record(self.target, &self.tallies, &sets)?;
        let refusal = refusal.or_else(|| self.target.clock_refusal.clone());
        let report = ChangeReport {
            in_force: instances.last().or(self.target.latest.as_ref()).cloned(),
            created_dataset: self.target.is_created && !instances.is_empty(),
            is_back_dated,
            // If nothing changed, the clock does not matter.
            clock_behind_micros: self.target.clock_behind_micros,
            instances,
            effort,
            ..self.applied
        };
        self.target.accept(report, refusal)
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

/// Rejects an event that is already stored, but whose content contradicts the content recorded since that time
/// or earlier.
fn refuse_other_content(
    event: &Event,
    stated: Option<&Content>,
    known: Option<&StoredContent>,
) -> Result<()> {
    let Some((stated, known)) = stated.zip(known.filter(|known| known.since <= event.at)) else {
        return Ok(());
    };
    match known.content.after(&event.granule_id, stated, Coverage::Named).conflict {
        Some(conflict) => {
            let message = format!("{conflict} since {}: history is never rewritten", known.since);
            let error = Error::new(ErrorKind::NotAfterLast, message);
            Err(error.about(&event.granule_id).at(event.location.clone()))
        }
        None => Ok(()),
    }
}

/// Rejects more file metadata of a granule than a row may have.
fn check_length(event: &Event, content: &Content) -> Result<()> {
    let checked = check_limits(event.granule_id.as_str(), content.encoded());
    checked.map_err(|error| error.at(event.location.clone()))
}

fn line_of(granule_id: &GranuleId, content: &Content) -> Vec<u8> {
    let mut line = Vec::new();
    content.write_line(granule_id.as_str(), &mut line);
    line
}
