//! Unique granule ids, compared with those of Cumulus' reference code.

use accession::minting::unique_granule::{Formula, explain, split, unique};
use accession::{Change, Entry, GranuleId, Registry, SourceLocation, Stamp};

use crate::harness::history::{id, name, now, second};

#[test]
fn they_equal_those_of_the_documents_python_and_node_js_code() {
    let table = include_str!("../../fixtures/minting/unique_ids.tsv");
    let mut cases = 0;
    for line in table.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let [producer, collection, length, expected] = cells[..] else { panic!("{line}") };
        let (producer, collection) = (id(producer), collection.parse().unwrap());
        let made = unique(&producer, &collection, length.parse().unwrap(), None).unwrap();
        assert_eq!(made.as_str(), expected);
        let (before, suffix) = split(&made).unwrap();
        assert_eq!(before, producer.as_str());
        assert_eq!(explain(before, suffix, &collection), Some(Formula::C));
        cases += 1;
    }
    assert_eq!(cases, 1_000);
}

#[test]
fn a_repeated_unique_id_names_both_producer_ids() {
    let entry = |unique: &str, producer: &str, number| Entry {
        granule_id: id(unique),
        producer_granule: Some(id(producer)),
        location: Some(SourceLocation::Argument { number }),
    };
    let change = |ingest| Change { ingest, create: true, ..Change::default() };
    let stamp = |seconds| Stamp { at: Some(second(seconds)), now: now() };
    let mut registry = Registry::in_memory().unwrap();
    let twice = change(vec![entry("X_1", "X", 1), entry("X_1", "Y", 2)]);
    let refused = registry.change(&name("dataset"), twice, stamp(0)).unwrap_err().to_string();
    assert!(refused.contains("\"Y\" here, \"X\" there"), "{refused}");

    registry.change(&name("dataset"), change(vec![entry("X_1", "X", 1)]), stamp(0)).unwrap();
    let held = change(vec![entry("X_1", "Z", 1)]);
    let refused = registry.change(&name("dataset"), held, stamp(1)).unwrap_err().to_string();
    assert!(refused.contains("\"Z\" here, \"X\" there"), "{refused}");
}

#[test]
fn every_holding_period_is_found_by_the_producers_id() {
    let mut registry = Registry::in_memory().unwrap();
    let producer: GranuleId = id("P_1");
    let collection = "MOD09GQ___006".parse().unwrap();
    let mut times = 0..;
    for nanoseconds in [1, 2] {
        let made = unique(&producer, &collection, Default::default(), Some(nanoseconds)).unwrap();
        let entry = Entry {
            granule_id: made.clone(),
            producer_granule: Some(producer.clone()),
            location: None,
        };
        let ingest = Change { ingest: vec![entry], create: true, ..Change::default() };
        let delete = Change { delete: vec![made.into()], ..Change::default() };
        for change in [ingest, delete] {
            let stamp = Stamp { at: Some(second(times.next().unwrap())), now: now() };
            registry.change(&name("dataset"), change, stamp).unwrap();
        }
    }
    let mut found = Vec::new();
    let periods = registry
        .granules_of_producer(&name("dataset"), &producer, |granule| {
            found.push((granule.granule_id, granule.deleted.is_some()));
            Ok(())
        })
        .unwrap();
    assert_eq!(periods, 2);
    assert!(found[0].0 != found[1].0 && found.iter().all(|(_, is_deleted)| *is_deleted));
}
