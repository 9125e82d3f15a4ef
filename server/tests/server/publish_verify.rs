//! `verify DIR` names every file for mirrors that differs from what was published, and changes nothing.

use harness::values::clock;
use std::path::Path;

use accession::history::NewAnnotation;
use accession::publish::OtherFile;
use accession::{
    ChangeOptions, Clock, DatasetFilter, Error, GranuleId, ListingBuilder, Registry, Selection,
    SubsetMembers,
};
use accession_server::{SiteSettings, publish_pages};

use harness::exported::{enlarge, publish_all, verified};
use harness::files::files;
use harness::history::{name, now, step};

fn run(registry: &Registry, directory: &Path) {
    publish_all(registry, directory).unwrap();
    publish_pages(registry, directory, &SiteSettings::default(), &[]).unwrap();
}

fn differences(registry: &Registry, directory: &Path) -> Vec<OtherFile> {
    verified(registry, directory).into_iter().flat_map(|row| row.differences).collect()
}

fn annotate(registry: &Registry, note: &str) {
    let latest = Selection::Dataset { name: name("US"), at: None };
    let note = NewAnnotation::new(note).unwrap();
    registry.annotate(&latest, &note).unwrap();
}

/// A registry with a dataset of two segments, cited subsets and an annotation, and with a renamed dataset.
fn registry() -> Registry {
    let registry = Registry::temporary(clock()).unwrap();
    (0..3).for_each(|at| enlarge(&registry, "US", at, 3_000));
    step(&registry, "OLD", 0, ["A", "B"], []);
    registry.rename_dataset(&name("OLD"), &name("NEW")).unwrap();
    for pattern in ["0.*", "1.*"] {
        let wanted = SubsetMembers::Patterns(vec![pattern.parse().unwrap()]);
        registry.cite_subset(&name("US"), None, &wanted).unwrap();
    }
    annotate(&registry, "incomplete");
    registry
}

#[test]
fn each_file_that_is_damaged_or_missing_is_named() {
    let place = harness::directory();
    let (registry, www) = (registry(), place.path());
    run(&registry, www);
    assert_eq!(differences(&registry, www), []);
    let all = files(www);
    for file in ["log/000000.jsonl.gz", "subsets.jsonl", "annotations.jsonl"] {
        assert!(all.contains_key(&format!("datasets/US/{file}")), "{file}");
    }
    let is_for_mirrors = |name: &str| {
        let is_there = ["datasets/", "lists/"].iter().any(|begin| name.starts_with(begin));
        is_there && [".json", ".jsonl", ".gz"].iter().any(|ending| name.ends_with(ending))
    };
    assert!(all.keys().filter(|name| name.starts_with("lists/")).count() == 4, "{all:?}");
    for (shown, whole) in &all {
        if whole.is_empty() || !is_for_mirrors(shown) {
            continue;
        }
        let path = &www.join(shown);
        let middle = whole.len() / 2;
        let mut damaged = whole.clone();
        damaged[middle] ^= 1;
        std::fs::write(path, &damaged).unwrap();
        let found = differences(&registry, www);
        assert_eq!(found.len(), 1, "{shown}: {found:?}");
        assert_eq!(found[0].file, *shown);
        if shown.contains("/log/") && shown.ends_with(".jsonl") {
            let line = whole[..middle].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
            assert_eq!(found[0].line, Some(line), "{shown}");
        }
        std::fs::write(path, &whole[..whole.len() - 1]).unwrap();
        assert_eq!(differences(&registry, www)[0].file, *shown);
        std::fs::remove_file(path).unwrap();
        // A missing list is no difference, because the next run writes it again.
        if !shown.starts_with("lists/") {
            assert_eq!(differences(&registry, www)[0].file, *shown);
        }
        std::fs::write(path, whole).unwrap();
    }
    assert_eq!(differences(&registry, www), []);
    assert_eq!(files(www), all);
}

/// The page of a dataset shows when it was last checked against a listing, which can happen between two runs.
#[test]
fn a_page_that_would_be_written_otherwise_now_is_no_difference() {
    let place = harness::directory();
    let (registry, www) = (registry(), place.path());
    run(&registry, www);
    let mut listing = ListingBuilder::new();
    ["A", "B"].iter().try_for_each(|id| listing.add(id.parse::<GranuleId>().unwrap())).unwrap();
    let listing = listing.finish();
    let options = ChangeOptions::default();
    registry
        .with_clock(Clock::fixed(now()).confirmed())
        .sync(&name("NEW"), &listing, &options)
        .unwrap();
    let rows = verified(&registry, www);
    assert!(rows.iter().all(|row| row.ok && row.current), "{rows:?}");
}

#[test]
fn what_the_registry_continues_is_as_it_should_be_and_not_current() {
    let place = harness::directory();
    let (registry, www) = (registry(), place.path());
    run(&registry, www);
    assert!(verified(&registry, www).iter().all(|row| row.ok && row.current));
    step(&registry, "NEW", 9, ["C"], []);
    let wanted = SubsetMembers::Patterns(vec!["2.*".parse().unwrap()]);
    registry.cite_subset(&name("US"), None, &wanted).unwrap();
    let rows = verified(&registry, www);
    let state: Vec<_> =
        rows.iter().map(|row| (row.dataset.as_str(), row.changes, row.ok, row.current)).collect();
    assert_eq!(state, [("NEW", 1, true, false), ("OLD", 0, true, true), ("US", 3, true, false)]);
    run(&registry, www);
    assert!(verified(&registry, www).iter().all(|row| row.ok && row.current));
    registry.rename_dataset(&name("NEW"), &name("NEWER")).unwrap();
    annotate(&registry, "again");
    let rows = verified(&registry, www);
    assert!(rows.iter().all(|row| row.ok && !row.current), "{rows:?}");
    run(&registry, www);
    assert!(verified(&registry, www).iter().all(|row| row.ok && row.current));
}

#[test]
fn what_another_registry_published_differs() {
    let place = harness::directory();
    let (registry, www) = (registry(), place.path());
    run(&registry, www);
    let other = Registry::temporary(clock()).unwrap();
    step(&other, "NEW", 0, ["A", "C"], []);
    let files: Vec<(String, Option<u64>)> =
        differences(&other, www).into_iter().map(|it| (it.file, it.line)).collect();
    let expected = [
        ("datasets/NEW/head.json", None),
        ("datasets/OLD/head.json", None),
        ("datasets/US/head.json", None),
    ];
    assert_eq!(files, expected.map(|(file, line)| (file.to_owned(), line)));
}

#[test]
fn a_directory_without_pages_and_a_dataset_that_is_missing_are_verified() {
    let place = harness::directory();
    let (registry, www) = (registry(), place.path());
    registry
        .publish(www, &DatasetFilter::from(name("NEW")), |_, published| published.map(drop))
        .unwrap();
    let rows = verified(&registry, www);
    assert!(rows.len() == 2 && rows.iter().all(|row| row.ok && row.current), "{rows:?}");
    assert!(
        registry
            .verify_published(&www.join("nowhere"), &DatasetFilter::All, |_| Ok::<(), Error>(()))
            .is_err()
    );
    let mut missing = Vec::new();
    registry
        .verify_published(www, &DatasetFilter::from(name("US")), |found| {
            missing.extend(found.differences);
            Ok::<(), Error>(())
        })
        .unwrap();
    assert_eq!(missing[0].file, "datasets/US/head.json");
}
