//! A change with more granules than are kept in memory.

use accession::dataset::Withdrawn;
use accession::{Change, Identifier, IfMissing};
use harness::values::AtTime;

use harness::history::{id, name, second};
use harness::oracle::naive;
use harness::store::new_registry;

/// About 37 MB when encoded. At most 16 MiB of it are in memory.
const GRANULES: usize = 300_000;

/// An id of 100 bytes.
fn granule_id(number: usize) -> String {
    format!("granule.{number:06}.{}", "x".repeat(85))
}

/// Each number once, in a scattered order: 7,919 is prime.
fn shuffled() -> impl Iterator<Item = usize> {
    (0..GRANULES).map(|n| n * 7_919 % GRANULES)
}

fn ingest_all() -> Change {
    let mut change = Change::new();
    change.options = change.options.if_missing(IfMissing::Create);
    shuffled().for_each(|number| change.ingest(id(&granule_id(number))).unwrap());
    change
}

#[test]
fn a_change_that_does_not_fit_into_memory_has_the_identifier_of_the_rule() {
    let registry = new_registry();
    let all: Vec<String> = (0..GRANULES).map(granule_id).collect();
    let change = ingest_all().at(second(0));
    let applied = registry.change(&name("large"), &change).unwrap();
    let instance = applied.instance().unwrap().clone();
    assert_eq!(instance.identifier, naive(all.iter().map(String::as_str)));
    assert_eq!((instance.granules, applied.effort.steps), (GRANULES as u64, GRANULES as u64));

    // The same change can be applied again to another dataset.
    let again = registry.change(&name("again"), &change).unwrap();
    assert_eq!(again.instances[0].identifier, instance.identifier);

    let mut delete = Change::new();
    shuffled().for_each(|number| delete.delete(id(&granule_id(number))).unwrap());
    let deleted = registry.change(&name("large"), &delete.at(second(2))).unwrap();
    assert_eq!(deleted.instances[0].identifier, Identifier::EMPTY);
}

#[test]
fn a_repetition_far_from_the_first_is_refused_when_the_change_is_made() {
    let registry = new_registry();
    let mut change = ingest_all();
    change.ingest(id(&granule_id(0))).unwrap();
    let refused = registry.change(&name("large"), &change.at(second(0))).unwrap_err();
    assert_eq!(refused.kind().as_str(), "twice");
    assert_eq!(registry.snapshot().unwrap().all_datasets(Withdrawn::Listed).unwrap().len(), 0);
}
