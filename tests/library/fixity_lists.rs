//! The checksum list of a set, and its digest.

use harness::values::AtTime;

use accession::Selection;

use harness::history::{change, name, second, stating, with_file};
use harness::store::new_registry;

#[test]
fn adding_a_short_checksum_to_a_long_one_changes_neither_the_list_nor_the_digest() {
    let registry = new_registry();
    let of_file = |text: &str| with_file("A", "A", None, Some(text.parse().unwrap()));
    let dataset = name("US");
    let state = |text: &str, seconds| {
        let stated = stating([of_file(text)]);
        registry.change(&dataset, &stated.at(second(seconds))).unwrap();
        let snapshot = registry.snapshot().unwrap();
        let selection = Selection::Dataset { name: dataset.clone(), at: None };
        let set = snapshot.select(&selection).unwrap().set;
        let files = snapshot.registry().files(&set);
        drop(snapshot);
        let totals = files.totals().unwrap();
        (set.digest(), totals.usual_algorithm().unwrap().to_string())
    };
    registry.change(&dataset, &change(["A"], []).at(second(0))).unwrap();
    let of_long = state(&format!("blake3:{}", "a1".repeat(32)), 1);
    assert_eq!(of_long.1, "blake3");
    assert_eq!(state("adler32:00620062", 2), of_long);
    let of_sha256 = state(&format!("sha-256:{}", "b2".repeat(32)), 3);
    assert_eq!(of_sha256.1, "sha-256");
    assert_ne!(of_sha256.0, of_long.0);
}
