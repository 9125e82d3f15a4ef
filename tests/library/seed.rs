//! The example of the seed: every value that it prints, including the two wrong ones.

use accession::chain::Chain;
use accession::{Difference, Identifier, Moment, Registry, Selection};
use harness::values::AtTime;
use md5::{Digest, Md5};

use harness::history::{change, name};
use harness::seed::{ids, table};
use harness::store::new_registry;

/// The registries of US and THEM, in one registry.
fn us_and_them() -> Registry {
    let registry = new_registry();
    let changes: [(&str, &str, &[&str], &[&str]); 6] = [
        ("US.FOOL2.002", "2001-01-02", &["us-2001-01-02.txt"], &[]),
        ("US.FOOL2.002", "2001-01-03", &["us-2001-01-03.txt"], &[]),
        ("US.FOOL2.002", "2001-02-03", &["us-2001-02-03.txt"], &[]),
        ("US.FOOL2.002", "2001-03-01", &[], &["us-2001-03-01-deleted.txt"]),
        ("US.FOOL2.002", "2001-03-03", &["us-2001-03-03.txt"], &[]),
        ("THEM.FOOL2.002", "2001-02-01", &["them-2001-02-01.txt"], &[]),
    ];
    for (dataset, date, ingest, delete) in changes {
        let read = |files: &[&str]| files.iter().flat_map(|file| ids(file)).collect::<Vec<_>>();
        let (ingest, delete) = (read(ingest), read(delete));
        let change = change(ingest.iter().map(String::as_str), delete.iter().map(String::as_str));
        let at = date.parse::<Moment>().unwrap().of_change();
        registry.change(&name(dataset), &change.at(at)).unwrap();
    }
    registry
}

fn at(dataset: &str, date: &str) -> Selection {
    Selection::Dataset { name: name(dataset), at: Some(date.parse().unwrap()) }
}

#[test]
fn every_instance_has_the_identifier_of_the_rule() {
    let registry = us_and_them();
    for row in table("identifiers.tsv") {
        let [archive, timestamp, _, rule] = row.as_slice() else { panic!("{row:?}") };
        let selected = registry
            .snapshot()
            .unwrap()
            .select(&at(&format!("{archive}.FOOL2.002"), timestamp))
            .unwrap();
        assert_eq!(selected.set.identifier().to_string(), *rule, "{archive} {timestamp}");
        assert_eq!(selected.others, []);
    }
    for dataset in ["US.FOOL2.002", "THEM.FOOL2.002"] {
        assert!(registry.verify(&name(dataset)).unwrap().ok);
    }
}

/// One step of the seed from the value printed before it, with or without the final LF.
fn digest(previous: &str, granule: &str, end: &str) -> String {
    let previous = if previous == "-" { String::new() } else { format!("{previous}\n") };
    hex::encode(Md5::digest(format!("{previous}{granule}{end}")))
}

#[test]
fn every_printed_step_follows_the_rule_but_two_and_those_lack_one_lf() {
    let steps = table("steps.tsv");
    assert_eq!(steps.len(), 42);
    let mut without_lf = Vec::new();
    for row in &steps {
        let [_, timestamp, previous, granule, printed] = row.as_slice() else { panic!("{row:?}") };
        if digest(previous, granule, "\n") != *printed {
            assert_eq!(digest(previous, granule, ""), *printed, "{granule}");
            without_lf.push((timestamp.as_str(), &granule[..11], &printed[..8]));
        }
    }
    assert_eq!(
        without_lf,
        [("2001-02-03", "FOOL2.v2.13", "a8e677fc"), ("2001-03-03", "FOOL2.v2.11", "eb5058e4")]
    );
}

#[test]
fn dropping_that_one_lf_gives_the_printed_identifiers() {
    // 2001-02-03: the LF is missing after granule 13, the last one.
    let printed = digest("763122197bfb3ffbf0da14adbfb1b13b", &ids("us-2001-02-03.txt")[0], "");
    assert_eq!(printed, "a8e677fcc63016b49be72f202f4ba760");

    // 2001-03-03: the LF is missing after granule 11. The steps of 12, 13 and 14 are computed from that value
    // by the rule.
    let late = ids("us-2001-03-03.txt");
    let replaced = late.iter().find(|id| id.starts_with("FOOL2.v2.10")).unwrap();
    let first_day = ids("us-2001-01-02.txt");
    let mut chain = Chain::start();
    first_day[..9].iter().chain([replaced]).for_each(|id| chain.push(id));
    let slip = digest(&chain.identifier().to_string(), &first_day[10], "");
    assert_eq!(slip, "eb5058e46c419a06d68e37bbe372461e");
    let mut chain = Chain::resume(slip.parse().unwrap());
    let last = late.iter().find(|id| id.starts_with("FOOL2.v2.14")).unwrap();
    for id in [&ids("us-2001-01-03.txt")[0], &ids("us-2001-02-03.txt")[0], last] {
        chain.push(id);
    }
    assert_eq!(chain.identifier().to_string(), "4cc346c87b70c9457b8cdfb1a3bb6ae4");
}

#[test]
fn the_value_at_the_top_is_one_md5_over_all_ids() {
    let all: String = ids("them-2001-02-01.txt").iter().map(|id| format!("{id}\n")).collect();
    assert_eq!(hex::encode(Md5::digest(all)), "2dd3d82d3926fe552274b452cc5662c4");
}

#[test]
fn alice_and_bob_cite_the_same_granules() {
    let registry = us_and_them();
    let (alice, bob) = (at("US.FOOL2.002", "2001-01-05"), at("THEM.FOOL2.002", "2001-02-03"));
    let cited: Identifier = "DI:763122197bfb3ffbf0da14adbfb1b13b".parse().unwrap();
    for selection in [&alice, &bob] {
        assert_eq!(registry.snapshot().unwrap().select(selection).unwrap().set.identifier(), cited);
    }
    let set = |selection| registry.snapshot().unwrap().select(selection).unwrap().set;
    let compare = |left, right| {
        let (left, right) = (set(left), set(right));
        registry.compare(&left, &right)
    };
    let mut differences = compare(&alice, &bob);
    assert!(differences.next().is_none(), "they are the same");
    let counts = differences.finish().unwrap();
    assert!(counts.is_identical());
    assert_eq!(counts.matched, 12);

    // DOI and date refer to one archive. On Bob's day, US held granule 13, but THEM did not.
    let us_that_day = at("US.FOOL2.002", "2001-02-03");
    let differences: Vec<Difference> = compare(&us_that_day, &bob).map(Result::unwrap).collect();
    let granule_13 = ids("us-2001-02-03.txt")[0].parse().unwrap();
    assert_eq!(differences, [Difference::OnlyLeft(granule_13)]);
}
