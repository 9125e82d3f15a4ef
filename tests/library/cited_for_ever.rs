//! Every citation agrees for ever. Random histories with changes that are recorded late, and citations that are
//! made in between, are compared with a naive model of both times.
//!
//! The model is a list of changes, each with the time at which it took effect and the time at which it was
//! recorded. It looks for the last one that counts (identifier.md, Time).

use std::collections::BTreeSet;

use accession::citation::{Checker, FoundCitation};
use accession::history::Agreement;
use accession::{
    ChangeOptions, Clock, EventKind, Expected, HistoryOptions, Identifier, Import, Moment,
    Registry, Selection, SubsetMembers, Timestamp,
};
use accession::{Citation, CitationFormat};
use proptest::prelude::*;

use harness::events::event;
use harness::history::{POOL, cases, name, plan};
use harness::oracle::naive;

const HOUR_MICROS: i64 = 3_600_000_000;

/// The next step, some hours after the previous one.
#[derive(Debug, Clone)]
enum Step {
    /// A change that takes effect at this many tenths of the time from the latest change to now. With `None`,
    /// the clock stamps it.
    Toggle(BTreeSet<usize>, Option<i64>),
    /// A change that restores the set of an earlier change. Its time is chosen as for `Toggle`.
    Revert(usize, Option<i64>),
    /// Several changes at once, spread evenly between the latest change and now.
    Import(Vec<BTreeSet<usize>>),
    /// A citation of the set in force.
    Cite(When, CitationFormat, Option<&'static str>),
}

/// The date of a citation.
#[derive(Debug, Clone, Copy)]
enum When {
    /// Today, as the program fills it in.
    Today,
    /// The present instant.
    Now,
    /// The time of the set itself.
    OfTheSet,
    /// The time of an earlier change, or its day.
    OfChange { number: usize, is_day: bool },
}

fn steps() -> impl Strategy<Value = Vec<(i64, Step)>> {
    let ids = || prop::collection::btree_set(0..POOL.len(), 1..5);
    let tenths = || prop::option::of(1..=10_i64);
    let when = prop_oneof![
        3 => Just(When::Today),
        2 => Just(When::Now),
        1 => Just(When::OfTheSet),
        2 => (0..12_usize, any::<bool>()).prop_map(|(number, is_day)| When::OfChange { number, is_day }),
    ];
    let format = prop::sample::select(&CitationFormat::ALL);
    let patterns = prop::option::of(prop::sample::select(&["*A*", "?", "*.*", "*"]));
    let step = prop_oneof![
        4 => (ids(), tenths()).prop_map(|(ids, tenths)| Step::Toggle(ids, tenths)),
        1 => (0..12_usize, tenths()).prop_map(|(number, tenths)| Step::Revert(number, tenths)),
        1 => prop::collection::vec(ids(), 1..4).prop_map(Step::Import),
        4 => (when, format, patterns).prop_map(|(when, format, patterns)| Step::Cite(when, format, patterns)),
    ];
    // In hours. Many changes share a day, or are days apart.
    let wait = prop_oneof![3 => 1..5_i64, 1 => 20..60_i64];
    prop::collection::vec((wait, step), 1..16)
}

/// A change in the model.
struct Known {
    at: Timestamp,
    recorded: Timestamp,
    held: BTreeSet<String>,
    identifier: Identifier,
}

/// A citation that was made.
struct Written {
    text: String,
    identifier: Identifier,
    moment: Moment,
}

struct World {
    registry: Registry,
    now: Timestamp,
    changes: Vec<Known>,
    written: Vec<Written>,
}

fn hours_after(from: Timestamp, hours: i64) -> Timestamp {
    Timestamp::from_micros(from.as_micros() + hours * HOUR_MICROS).unwrap()
}

impl World {
    fn new() -> Self {
        let now: Timestamp = "2020-02-27T00:30:00Z".parse().unwrap();
        let registry = Registry::temporary(Clock::fixed(now)).unwrap();
        let dataset = accession::dataset::DatasetMetadata {
            doi: Some("10.9999/DATASET".parse().unwrap()),
            title: Some("FOO".to_owned()),
            ..accession::dataset::DatasetMetadata::named(name("dataset"))
        };
        registry.add_dataset(&dataset).unwrap();
        World { registry, now, changes: Vec::new(), written: Vec::new() }
    }

    /// The registry with the present time as its confirmed clock.
    fn confirmed(&self) -> Registry {
        self.registry.with_clock(Clock::fixed(self.now).confirmed())
    }

    fn last(&self) -> Timestamp {
        let begin = "2020-02-25T00:00:00Z".parse().unwrap();
        self.changes.last().map_or(begin, |last| last.at)
    }

    /// The time at this many tenths of the way from the latest change to now.
    fn between(&self, tenths: i64) -> Timestamp {
        let (last, now) = (self.last().as_micros(), self.now.as_micros());
        Timestamp::from_micros(last + (now - last) * tenths / 10).unwrap()
    }

    fn held(&self) -> BTreeSet<String> {
        self.changes.last().map(|last| last.held.clone()).unwrap_or_default()
    }

    fn note(&mut self, at: Timestamp, held: BTreeSet<String>) {
        let identifier = naive(held.iter().map(String::as_str));
        self.changes.push(Known { at, recorded: self.now, held, identifier });
    }

    fn take(&mut self, step: &Step) {
        let dataset = name("dataset");
        match step {
            Step::Toggle(ids, tenths) => {
                let at = tenths.map(|tenths| self.between(tenths));
                let now = self.now;
                let wanted: BTreeSet<String> = ids.iter().map(|&n| POOL[n].clone()).collect();
                let held = self.held();
                let change = plan(
                    wanted.difference(&held).map(String::as_str),
                    wanted.intersection(&held).map(String::as_str),
                );
                let mut change = change.change();
                change.options = change.options.at(at);
                let applied = self.confirmed().change(&dataset, &change).unwrap();
                let after = held.symmetric_difference(&wanted).cloned().collect();
                self.note(applied.instances[0].timestamp, after);
                assert_eq!(self.last(), at.unwrap_or(now));
            }
            Step::Revert(number, tenths) => {
                let Some(to) = self.changes.get(number % self.changes.len().max(1)) else { return };
                let (to, held) = (to.at, to.held.clone());
                let at = tenths.map(|tenths| self.between(tenths));
                let to =
                    Selection::Dataset { name: dataset.clone(), at: Some(Moment::Instant(to)) };
                let mut options = ChangeOptions::new().at(at);
                if held.is_empty() && !self.held().is_empty() {
                    // A revert to an empty set must name the set that it expects.
                    options = options.expect(Expected::Identifier(naive([])));
                }
                let applied = self.confirmed().revert(&dataset, &to, &options).unwrap();
                if held != self.held() {
                    self.note(applied.instances[0].timestamp, held);
                }
            }
            Step::Import(changes) => {
                let mut import = Import::new();
                let (mut held, mut imported) = (self.held(), Vec::new());
                for (number, ids) in (1..).zip(changes) {
                    let at = self.between(number * 10 / (changes.len() as i64));
                    for granule_id in ids.iter().map(|&n| &POOL[n]) {
                        let kind = match held.remove(granule_id) {
                            true => EventKind::Deleted,
                            false => EventKind::Ingested,
                        };
                        if kind == EventKind::Ingested {
                            held.insert(granule_id.clone());
                        }
                        import.add(event(at, kind, granule_id)).unwrap();
                    }
                    imported.push((at, held.clone()));
                }
                self.registry.with_clock(Clock::fixed(self.now)).import(&dataset, &import).unwrap();
                imported.into_iter().for_each(|(at, held)| self.note(at, held));
            }
            Step::Cite(when, format, pattern) => self.cite(*when, *format, *pattern),
        }
    }

    /// Cites as the program does, and saves the text.
    fn cite(&mut self, when: When, format: CitationFormat, pattern: Option<&str>) {
        let Some(latest) = self.changes.last() else { return };
        let at = match when {
            When::Today => Some(Moment::Day(self.now.day())),
            When::Now => Some(Moment::Instant(self.now)),
            When::OfTheSet => None,
            When::OfChange { number, is_day } => {
                let at = self.changes[number % self.changes.len()].at;
                let moment = if is_day { Moment::Day(at.day()) } else { Moment::Instant(at) };
                // The set at the end of the day of the latest change can still change.
                let is_settled =
                    moment.last_instant() <= latest.at || moment.last_instant() >= self.now;
                if !is_settled {
                    return;
                }
                Some(moment)
            }
        };
        let dataset = name("dataset");
        let selection = Selection::Dataset { name: dataset.clone(), at };
        let cited = match pattern {
            None => self.registry.snapshot().unwrap().cite(&selection),
            Some(pattern) => {
                let wanted = SubsetMembers::Patterns(vec![pattern.parse().unwrap()]);
                self.registry.with_clock(Clock::fixed(self.now)).cite_subset(&dataset, at, &wanted)
            }
        };
        let cited = match cited {
            Err(error) if error.kind().as_str() == "selects-nothing" => return,
            cited => cited.unwrap(),
        };
        let identifier = cited.period.set.identifier();
        let moment = at.unwrap_or(Moment::Instant(cited.period.set.instance().timestamp));
        let text = Citation::new(cited, at, self.now.day()).render(format);
        self.written.push(Written { text, identifier, moment });
    }

    /// Asserts that every citation made so far agrees.
    fn assert_all_agree(&self) {
        for Written { text, identifier, moment } in &self.written {
            let pasted = FoundCitation::find_all(text);
            assert_eq!(pasted.len(), 1, "{text}");
            let mut checker =
                Checker::new(&self.registry.with_clock(Clock::fixed(self.now))).unwrap();
            for pasted in &pasted {
                let verdict = checker.check(1, pasted).unwrap();
                assert_eq!(verdict.identifier, Some(*identifier), "{text}");
                assert!(verdict.ok, "{text}: {:?}", verdict.problem);
            }
            let snapshot = self.registry.snapshot().unwrap();
            let resolution = snapshot.periods(*identifier, None, Some(*moment)).unwrap();
            let is_denied = resolution.agreement().is_none() && !resolution.is_unknown_then();
            assert!(!is_denied, "{identifier} at {moment}: {text}");
        }
    }

    /// The identifier in force at `at`, as known at `known`.
    fn in_force(&self, at: Timestamp, known: Timestamp) -> Option<Identifier> {
        let counts = |change: &&Known| change.at <= at && change.recorded <= known;
        self.changes.iter().rfind(counts).map(|change| change.identifier)
    }

    /// The agreement of an identifier with a moment, found by trying every instant at which something can have
    /// changed.
    fn agreement(&self, identifier: Identifier, moment: Moment) -> Option<Agreement> {
        let (first, last) = (moment.first_instant(), moment.last_instant());
        let mut instants = vec![first];
        instants.extend(self.changes.iter().flat_map(|it| [it.at, it.recorded.max(it.at)]));
        instants.retain(|instant| (first..=last).contains(instant));
        let is_in_force = |known: fn(Timestamp) -> Timestamp| {
            instants.iter().any(|&at| self.in_force(at, known(at)) == Some(identifier))
        };
        if is_in_force(|_| Timestamp::MAX) {
            Some(Agreement::AsKnownNow)
        } else if is_in_force(|at| at) {
            Some(Agreement::AsKnownThen)
        } else {
            None
        }
    }

    /// Asserts that each identifier agrees with a moment exactly if it does in the model.
    fn assert_agreements_are_naive(&self) {
        let identifiers: BTreeSet<Identifier> =
            self.changes.iter().map(|change| change.identifier).collect();
        let instants = self.changes.iter().flat_map(|change| [change.at, change.recorded]);
        let instants: BTreeSet<Timestamp> = instants.chain([self.now]).collect();
        for instant in instants {
            self.assert_known_at(instant);
            // A registry in memory has one connection, so only one snapshot is open at a time.
            let snapshot = self.registry.snapshot().unwrap();
            let before = Timestamp::from_micros(instant.as_micros() - 1).unwrap();
            for moment in
                [Moment::Instant(instant), Moment::Instant(before), Moment::Day(instant.day())]
            {
                for &identifier in &identifiers {
                    let found = snapshot.periods(identifier, None, Some(moment)).unwrap();
                    // The model does not contain subsets that have the identifier of a whole set.
                    if found.rows.iter().any(|row| row.set.subset().is_some()) {
                        continue;
                    }
                    let expected = self.agreement(identifier, moment);
                    assert_eq!(found.agreement(), expected, "{identifier} at {moment}");
                }
            }
        }
    }

    /// Asserts that the registry as of an instant returns what it returned then.
    fn assert_known_at(&self, instant: Timestamp) {
        let snapshot = self.registry.snapshot().unwrap().known_at(instant);
        let known = self.changes.iter().filter(|change| change.recorded <= instant);
        let expected: Vec<(Timestamp, Identifier)> =
            known.map(|change| (change.at, change.identifier)).collect();
        let options = HistoryOptions::new().known_at(instant);
        let history = self.registry.history(&name("dataset"), &options);
        let latest = snapshot.select(&Selection::Dataset { name: name("dataset"), at: None });
        drop(snapshot);
        let history: Vec<_> = history.map(|instance| instance.unwrap()).collect();
        let found: Vec<(Timestamp, Identifier)> =
            history.iter().map(|instance| (instance.timestamp, instance.identifier)).collect();
        assert_eq!(found, expected, "as known at {instant}");
        assert!(history.last().is_none_or(|last| last.until.is_none()), "as known at {instant}");
        match (expected.last(), latest) {
            (Some((_, identifier)), latest) => {
                assert_eq!(latest.unwrap().set.identifier(), *identifier);
            }
            (None, latest) => {
                let kind = "no-history";
                assert_eq!(latest.unwrap_err().kind().as_str(), kind);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(30), ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_cited_agrees_for_ever(steps in steps()) {
        let mut world = World::new();
        for (hours, step) in &steps {
            world.now = hours_after(world.now, *hours);
            world.take(step);
            world.assert_all_agree();
        }
        world.assert_agreements_are_naive();
    }
}
