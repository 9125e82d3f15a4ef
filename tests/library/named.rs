//! Datasets by DOI, identifiers by their first digits, and suggestions of similar names.

use accession::history::{FoundPeriod, GranuleQuery, IdentifierPrefix};
use accession::{ErrorKind, SubsetMembers};

use harness::history::{name, step};
use harness::store::new_registry;

fn prefix(text: &str) -> IdentifierPrefix {
    text.parse().unwrap()
}

#[test]
fn an_identifier_is_found_by_its_first_digits_if_only_one_begins_so() {
    let registry = new_registry();
    step(&registry, "US", 0, ["A"], []);
    step(&registry, "US", 1, ["B"], []);
    step(&registry, "THEM", 0, ["A"], []);
    let patterns = SubsetMembers::Patterns(vec!["B".parse().unwrap()]);
    let cited = registry.cite_subset(&name("US"), None, &patterns).unwrap();
    let snapshot = registry.snapshot().unwrap();
    let found = |text: &str, dataset: Option<&str>| {
        let dataset = dataset.map(name);
        snapshot.identifier_beginning(&prefix(text), dataset.as_ref())
    };
    let first = "bf072e9119077b4e76437a93986787ef";
    assert_eq!(found("BF072E91", None).unwrap().to_string(), first);
    assert_eq!(found(&first[..31], Some("THEM")).unwrap().to_string(), first);
    let subset = cited.period.set.identifier();
    assert_eq!(found(&subset.to_string()[..8], None).unwrap(), subset);
    for (text, dataset) in [("00000000", None), (&subset.to_string()[..8], Some("THEM"))] {
        let error = found(text, dataset).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IdentifierUnknown, "{text}");
    }
    let typing_error = first.replace("77b4", "O7b4");
    assert_eq!(snapshot.similar_identifiers(&typing_error).unwrap()[0].to_string(), first);
    assert!(snapshot.similar_identifiers("US").unwrap().is_empty());
    assert!(snapshot.similar_identifiers(&"0".repeat(32)).unwrap().is_empty());
}

#[test]
fn several_identifiers_that_begin_alike_are_named() {
    // The identifiers of these two granules, found by a search, begin with the same eight digits.
    let registry = new_registry();
    for (at, granule_id) in ["granule.9733", "granule.37070"].into_iter().enumerate() {
        step(&registry, &format!("D{at}"), 0, [granule_id], []);
    }
    let snapshot = registry.snapshot().unwrap();
    let of = |dataset: &str| snapshot.dataset(&name(dataset)).unwrap().latest.unwrap().identifier;
    let identifiers = [of("D0").to_string(), of("D1").to_string()];
    assert_eq!(identifiers[0][..8], identifiers[1][..8], "{identifiers:?}");
    let error = snapshot.identifier_beginning(&prefix(&identifiers[0][..8]), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ambiguous);
    assert!(identifiers.iter().all(|it| error.to_string().contains(it)), "{error}");
    let named = snapshot.identifier_beginning(&prefix(&identifiers[0][..8]), Some(&name("D1")));
    assert_eq!(named.unwrap(), of("D1"));
}

#[test]
fn granules_are_found_by_how_their_ids_begin_page_by_page_in_every_dataset() {
    let registry = new_registry();
    for (dataset, at, granule_id) in [
        ("B", 0, "A"),
        ("B", 1, "AA"),
        ("B", 2, "AB"),
        ("B", 3, "B"),
        ("C", 0, "b"),
        ("A", 0, "AB"),
        ("A", 1, "A\u{10ffff}"),
        ("D", 0, "A"),
    ] {
        step(&registry, dataset, at, [granule_id], []);
    }
    // Deleted and ingested again, which makes two periods.
    step(&registry, "B", 4, [], ["AA"]);
    step(&registry, "B", 5, ["AA"], []);
    let found = |prefix: &str, limit: u32| {
        let (query, mut found) = (GranuleQuery::with_prefix(prefix).unwrap(), Vec::new());
        loop {
            let last: Option<&FoundPeriod> = found.last();
            let after = last.map(FoundPeriod::position);
            let page = registry.snapshot().unwrap().find(&query, after, limit).unwrap();
            let is_last = page.len() < limit as usize;
            found.extend(page);
            if is_last {
                break;
            }
        }
        let shown = |it: &FoundPeriod| format!("{} {}", it.dataset, it.granule);
        found.iter().map(shown).collect::<Vec<String>>()
    };
    let all = ["A AB", "A A\u{10ffff}", "B A", "B AA", "B AA", "B AB", "D A"];
    for limit in 1..10 {
        assert_eq!(found("A", limit), all, "{limit}");
    }
    assert_eq!(found("AA", 1), ["B AA", "B AA"]);
    assert_eq!(found("b", 2), ["C b"]);
    assert!(found("AAA", 2).is_empty());
}
