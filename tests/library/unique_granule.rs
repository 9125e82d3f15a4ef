//! Unique granule ids, compared with those of Cumulus' reference code.

use accession::ids::granule::{Formula, explain, split, unique};
use accession::{Change, GranuleId, IfMissing, ListingEntry, SourceLocation};
use harness::values::AtTime;

use harness::history::{id, name, second};
use harness::store::new_registry;

#[test]
fn unique_ids_equal_those_of_the_python_and_node_js_code_in_the_document() {
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
    let entry = |unique: &str, producer: &str, number| ListingEntry {
        granule_id: id(unique),
        producer_granule: Some(id(producer)),
        content: None,
        location: Some(SourceLocation::Argument { number }),
    };
    let registry = new_registry();
    let apply = |entries: &[ListingEntry], seconds| {
        let mut change = Change::new();
        change.options = change.options.if_missing(IfMissing::Create);
        entries.iter().try_for_each(|entry| change.ingest(entry.clone()))?;
        registry.change(&name("dataset"), &change.at(second(seconds)))
    };
    let twice = [entry("X_1", "X", 1), entry("X_1", "Y", 2)];
    let refused = apply(&twice, 0).unwrap_err().to_string();
    assert!(refused.contains("(producer's ids: \"Y\" and \"X\")"), "{refused}");

    apply(&[entry("X_1", "X", 1)], 0).unwrap();
    let refused = apply(&[entry("X_1", "Z", 1)], 1).unwrap_err().to_string();
    assert!(refused.contains("(producer's ids: \"Z\" and \"X\")"), "{refused}");
}

#[test]
fn every_holding_period_is_found_by_the_producers_id() {
    let registry = new_registry();
    let producer: GranuleId = id("P_1");
    let collection = "MOD09GQ___006".parse().unwrap();
    let mut times = 0..;
    for nanoseconds in [1, 2] {
        let made = unique(&producer, &collection, Default::default(), Some(nanoseconds)).unwrap();
        let entry = ListingEntry {
            granule_id: made.clone(),
            producer_granule: Some(producer.clone()),
            content: None,
            location: None,
        };
        let mut ingest = Change::new();
        ingest.options = ingest.options.if_missing(IfMissing::Create);
        ingest.ingest(entry).unwrap();
        let mut delete = Change::new();
        delete.delete(made).unwrap();
        for change in [ingest, delete] {
            registry.change(&name("dataset"), &change.at(second(times.next().unwrap()))).unwrap();
        }
    }
    let granules = registry.granules_of_producer(&name("dataset"), &producer);
    let found: Vec<_> = granules
        .map(Result::unwrap)
        .map(|granule| (granule.granule_id, granule.deleted.is_some()))
        .collect();
    assert_eq!(found.len(), 2);
    assert!(found[0].0 != found[1].0 && found.iter().all(|(_, is_deleted)| *is_deleted));
}
