//! An import of whole days is the history of what was held when each day ended.

use std::collections::{BTreeMap, BTreeSet};

use accession::error::Result;
use accession::model::Day;
use accession::{Applied, Event, EventKind, Import, Registry, Stamp, Timestamp};
use proptest::prelude::*;

use harness::events::event;
use harness::history::{History, POOL, cases, name};

const HOUR_MICROS: i64 = 3_600_000_000;

/// A granule, and after how many hours each further thing happens to it: it is ingested and deleted
/// in turn.
type Life = (usize, Vec<i64>);

fn lives() -> impl Strategy<Value = Vec<Life>> {
    // Mostly within a day, so that events cancel out, sometimes later.
    let hours = || prop_oneof![4 => 1..12_i64, 1 => 12..60_i64];
    let life = (0..POOL.len(), prop::collection::vec(hours(), 1..9));
    prop::collection::vec(life, 1..12)
}

fn start() -> Timestamp {
    "2024-02-27T00:00:00Z".parse().unwrap()
}

/// The events of all lives; a granule has one life.
fn events(lives: &[Life]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut seen = BTreeSet::new();
    for (granule, hours) in lives.iter().filter(|(granule, _)| seen.insert(*granule)) {
        let mut at = start().as_micros();
        for (number, hours) in hours.iter().enumerate() {
            at += hours * HOUR_MICROS;
            let kind = match number % 2 {
                0 => EventKind::Ingested,
                _ => EventKind::Deleted,
            };
            events.push(event(Timestamp::from_micros(at).unwrap(), kind, &POOL[*granule]));
        }
    }
    events
}

/// What the naive replay of the events gives: the set at the end of each day on which it differs
/// from the set before, how many pairs of events cancel out, and how many are on a day not over.
fn replayed(events: &[Event], now: Timestamp) -> (History, u64, u64) {
    let mut sorted: Vec<&Event> = events.iter().collect();
    sorted.sort_by_key(|event| event.at);
    let today = now.day();
    let left_out = sorted.iter().filter(|event| event.at.day() >= today).count() as u64;
    let mut of_days: BTreeMap<Day, Vec<&Event>> = BTreeMap::new();
    for event in sorted {
        of_days.entry(event.at.day()).or_default().push(event);
    }
    let (mut history, mut held, mut cancelled) = (History::default(), BTreeSet::new(), 0);
    for (day, events) in of_days.into_iter().filter(|(day, _)| *day < today) {
        let before = held.clone();
        for event in &events {
            match event.kind {
                EventKind::Ingested => held.insert(event.granule_id.to_string()),
                _ => held.remove(event.granule_id.as_str()),
            };
        }
        // What does not show in the evening happened in pairs.
        let shown = held.symmetric_difference(&before).count();
        cancelled += (events.len() - shown) as u64 / 2;
        // A granule that was deleted and put back within the day is the same at its end.
        if shown > 0 {
            history.sets.insert(day.end(), held.clone());
        }
    }
    (history, cancelled, left_out)
}

fn import(registry: &Registry, events: &[Event], now: Timestamp) -> Result<Applied> {
    let mut import = Import::new();
    import.is_daily = true;
    import.options.create_dataset = true;
    for event in events {
        import.add(event.clone())?;
    }
    registry.import(&name("dataset"), &import, &Stamp::now(now))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), ..ProptestConfig::default() })]

    #[test]
    fn an_import_of_days_holds_at_the_end_of_each_day_what_the_events_say(
        lives in lives(),
        hours_now in 1..200_i64,
        hours_later in 0..100_i64,
        seed in any::<u64>(),
    ) {
        let mut events = events(&lives);
        // The order of the file does not matter; a failing case repeats it.
        events.sort_by_key(|event| {
            use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
            let hasher = BuildHasherDefault::<DefaultHasher>::default();
            hasher.hash_one((seed, event.at.as_micros(), event.granule_id.as_str()))
        });
        let registry = Registry::in_memory().unwrap();
        let now = Timestamp::from_micros(start().as_micros() + hours_now * HOUR_MICROS).unwrap();
        // The file as it is at a time, and again when it has grown.
        let grown = Timestamp::from_micros(now.as_micros() + hours_later * HOUR_MICROS).unwrap();
        for now in [now, grown] {
            let file: Vec<Event> =
                events.iter().filter(|event| event.at <= now).cloned().collect();
            let (expected, cancelled, left_out) = replayed(&file, now);
            let imported = import(&registry, &file, now).unwrap();
            prop_assert_eq!((imported.cancelled, imported.left_out), (cancelled, left_out));
            if expected.sets.is_empty() {
                prop_assert!(imported.instances.is_empty());
            } else {
                expected.assert_matches(&registry, &name("dataset"));
            }
            let again = import(&registry, &file, now).unwrap();
            prop_assert_eq!(again.instances, vec![]);
        }
    }
}

#[test]
fn events_of_a_day_that_contradict_each_other_do_not_cancel_out() {
    let at = |hours| Timestamp::from_micros(start().as_micros() + hours * HOUR_MICROS).unwrap();
    let twice = [1, 2].map(|hours| event(at(hours), EventKind::Ingested, "A"));
    assert!(import(&Registry::in_memory().unwrap(), &twice, at(48)).is_err());
}
