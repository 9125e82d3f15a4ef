//! Which instance was in force at instants and on days, also with clocks that are wrong.

use accession::{Clock, ErrorKind, HistoryOptions, Instance, Moment, Registry, Selection};
use harness::values::AtTime;

use harness::history::{change, name, now};
use harness::store::new_registry;

/// Changes on 2001-01-02 at 06:00, 12:00 and 18:00, on 2001-01-05 at 00:00 and 06:00, and on 2001-01-06 at
/// 06:00.
fn registry() -> Registry {
    let registry = new_registry();
    for (at, granule) in [
        ("2001-01-02T06:00:00Z", "A"),
        ("2001-01-02T12:00:00Z", "B"),
        ("2001-01-02T18:00:00Z", "C"),
        ("2001-01-05T00:00:00Z", "D"),
        ("2001-01-05T06:00:00Z", "E"),
        ("2001-01-06T06:00:00Z", "F"),
    ] {
        registry.change(&name("dataset"), &change([granule], []).at(at.parse().unwrap())).unwrap();
    }
    registry
}

fn select(registry: &Registry, at: &str) -> accession::Result<(u64, Vec<u64>)> {
    let selection = Selection::Dataset { name: name("dataset"), at: Some(at.parse().unwrap()) };
    let selected = registry.snapshot()?.select(&selection)?;
    let granules = |instance: &Instance| instance.granules;
    Ok((granules(selected.instance()), selected.others.iter().map(granules).collect()))
}

#[test]
fn a_day_means_its_end_and_lists_the_others_in_force() {
    let registry = registry();
    let cases = [
        ("2001-01-02", (3, vec![1, 2])),
        ("2001-01-03", (3, vec![])),
        ("2001-01-04", (3, vec![])),
        // A change at 00:00:00Z: no instance of the previous day was in force on that day.
        ("2001-01-05", (5, vec![4])),
        // The day begins under one identifier and ends under another.
        ("2001-01-06", (6, vec![5])),
        ("2001-01-02T06:00:00Z", (1, vec![])),
        ("2001-01-02T11:59:59.999999Z", (1, vec![])),
        ("2001-01-02T12:00:00Z", (2, vec![])),
        ("2001-01-02T13:00:00+01:00", (2, vec![])),
        ("2001-01-02T23:59:59.999999Z", (3, vec![])),
    ];
    for (at, expected) in cases {
        assert_eq!(select(&registry, at).unwrap(), expected, "{at}");
    }
}

#[test]
fn a_clock_behind_the_last_change_stamps_the_next_microsecond() {
    let registry = registry();
    let applied = registry
        .with_clock(Clock::fixed("2001-01-06T05:59:00Z".parse().unwrap()).confirmed())
        .change(&name("dataset"), &change(["G"], []))
        .unwrap();
    assert_eq!(applied.clock_behind_micros, Some(60_000_000));
    let instance = applied.instance().unwrap().clone();
    assert_eq!(instance.timestamp.to_string(), "2001-01-06T06:00:00.000001Z");
    // A change is never recorded before it takes effect.
    assert_eq!(instance.recorded, now());
    assert!(registry.verify(&name("dataset")).unwrap().ok);
}

#[test]
fn a_change_is_never_recorded_before_it_takes_effect() {
    let registry = new_registry();
    let noon: accession::Timestamp = "2001-01-02T12:00:00Z".parse().unwrap();
    registry.with_clock(Clock::fixed(noon)).change(&name("dataset"), &change(["A"], [])).unwrap();
    // The clock was set back by an hour.
    let applied = registry
        .with_clock(Clock::fixed("2001-01-02T11:00:00Z".parse().unwrap()))
        .change(&name("dataset"), &change(["B"], []))
        .unwrap();
    let instance = applied.instance().unwrap().clone();
    assert_eq!(instance.timestamp, noon.next().unwrap());
    assert_eq!(instance.recorded, instance.timestamp);
}

#[test]
fn what_was_recorded_later_is_not_known_in_an_earlier_state() {
    let registry = new_registry();
    let days: Vec<accession::Timestamp> =
        (2..5).map(|day| format!("2001-01-0{day}T00:00:00Z").parse().unwrap()).collect();
    for (day, granule) in days.iter().zip(["A", "B", "C"]) {
        registry
            .with_clock(Clock::fixed(*day))
            .change(&name("dataset"), &change([granule], []))
            .unwrap();
    }
    let history = registry.history(&name("dataset"), &HistoryOptions::new());
    let all: Vec<Instance> = history.map(Result::unwrap).collect();
    for (known, day) in days.iter().enumerate() {
        // `cited_for_ever` tests the history and the latest set.
        let snapshot = registry.snapshot().unwrap().known_at(*day);
        let dataset = name("dataset");
        let mut expected = all[..=known].to_vec();
        expected[known].until = None;
        assert_eq!(snapshot.count_history(&dataset, None).unwrap(), known as u64 + 1);
        for end in [None, days.last().copied().and_then(accession::Timestamp::next)] {
            let before = snapshot.instances_before(&dataset, end, 9).unwrap();
            assert!(before.iter().eq(expected.iter().rev()));
        }
        for (number, instance) in all.iter().enumerate() {
            let identifier = instance.identifier;
            let known: Vec<Instance> = expected.get(number).cloned().into_iter().collect();
            assert_eq!(snapshot.history_with(&dataset, identifier).unwrap(), known);
            let periods = snapshot.intervals_after(identifier, None, 9).unwrap();
            let instances = periods.into_iter().flat_map(|period| period.instances);
            assert_eq!(instances.collect::<Vec<_>>(), known);
            let resolved = snapshot.periods(identifier, None, None).unwrap();
            let sets: Vec<Instance> =
                resolved.rows.iter().map(|row| row.set.instance().clone()).collect();
            assert_eq!(sets, known);
            let selection = Selection::Identifier { identifier, dataset: None, at: None };
            let selected = snapshot.select(&selection).ok();
            assert_eq!(
                selected.map(|selected| selected.instance().clone()),
                known.first().cloned()
            );
        }
    }
}

#[test]
fn a_citation_that_was_true_on_its_day_selects_what_was_held_then() {
    let registry = new_registry();
    let (dataset, first) = (name("dataset"), "2001-01-01T00:00:00Z");
    let made = registry
        .with_clock(Clock::fixed(first.parse().unwrap()))
        .change(&dataset, &change(["A"], []).at(first.parse().unwrap()))
        .unwrap();
    let identifier = made.instance().unwrap().identifier;
    // On 20 January, a change is recorded that took effect on 5 January.
    registry
        .with_clock(Clock::fixed("2001-01-20T00:00:00Z".parse().unwrap()))
        .change(&dataset, &change(["B"], []).at("2001-01-05T00:00:00Z".parse().unwrap()))
        .unwrap();
    let selected = |day: &str| {
        let citation = format!("FOO. [Dataset]. (DI:{identifier}, as held at {day}).");
        let snapshot = registry.snapshot().unwrap();
        snapshot.resolve(&citation.parse().unwrap()).map(|it| it.selection().clone())
    };
    let of = |dataset, at| Selection::Identifier { identifier, dataset, at: Some(at) };
    let day = "2001-01-03".parse().unwrap();
    assert_eq!(selected("2001-01-03").unwrap(), of(None, day));
    let held_since = Moment::Instant(first.parse().unwrap());
    assert_eq!(selected("2001-01-10").unwrap(), of(Some(dataset), held_since));
    let error = selected("2001-01-25").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IdentifierUnknown);
    assert!(error.to_string().contains("was not in force at 2001-01-25"), "{error}");
}
