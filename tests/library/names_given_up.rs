//! A name that a dataset gave up can go to another dataset only if the first one is withdrawn.

use accession::dataset::DatasetMetadata;
use accession::dataset::Withdrawn;
use accession::mirror::{MirrorStatus, PullOptions};
use accession::{DatasetFilter, Error, ErrorKind, IfMissing, Registry};
use harness::values::{AtTime, clock};

use harness::exported::{enlarge, manifest_of, primary_of, published, verified};
use harness::history::{change, name, second, step};
use harness::store::new_registry;

fn rename(registry: &Registry, old: &str, new: &str) -> accession::Result<DatasetMetadata> {
    registry.rename_dataset(&name(old), &name(new))
}

/// The present name of the dataset that a name leads to, and its former names.
fn found(registry: &Registry, asked: &str) -> (String, Vec<String>) {
    let listed = registry.snapshot().unwrap().dataset(&name(asked)).unwrap();
    let page = registry.snapshot().unwrap().datasets(None, Withdrawn::Listed, 100).unwrap();
    let same = page.into_iter().find(|it| it.dataset.name == listed.dataset.name);
    assert_eq!(same.unwrap().former_names, listed.former_names, "{asked}");
    let former = listed.former_names.iter().map(ToString::to_string).collect();
    (listed.dataset.name.to_string(), former)
}

fn led(present: &str, former: &[&str]) -> (String, Vec<String>) {
    (present.to_owned(), former.iter().map(|name| (*name).to_owned()).collect())
}

/// A registry in which `name` was given up by `wrong`, and another dataset.
fn registry() -> Registry {
    let registry = new_registry();
    for (dataset, id) in [("name", "A"), ("new", "B")] {
        step(&registry, dataset, 1, [id], []);
    }
    rename(&registry, "name", "wrong").unwrap();
    registry
}

#[test]
fn a_former_name_is_refused_as_long_as_its_dataset_is_not_withdrawn() {
    let registry = registry();
    let added = registry.add_dataset(&DatasetMetadata::named(name("name")));
    for refused in [rename(&registry, "new", "name").map(drop), added] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DatasetExists);
        assert!(error.to_string().contains("wrong is withdrawn"), "{error}");
    }
    // The present name of a dataset is rejected even then.
    registry.withdraw_dataset(&name("wrong"), "wrong").unwrap();
    let error = rename(&registry, "new", "wrong").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DatasetExists);
    // Without --create, the name still leads to the withdrawn dataset.
    let mut refused = change(["C"], []);
    refused.options = refused.options.if_missing(IfMissing::Fail);
    let error = registry.change(&name("name"), &refused.at(second(2))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Withdrawn);
    assert_eq!(found(&registry, "name"), led("wrong", &["name"]));
}

#[test]
fn a_name_leads_to_the_dataset_that_got_it_last() {
    let registry = registry();
    registry.withdraw_dataset(&name("wrong"), "wrong").unwrap();
    rename(&registry, "new", "name").unwrap();
    assert_eq!(found(&registry, "name"), led("name", &["new"]));
    assert_eq!(found(&registry, "new"), led("name", &["new"]));
    assert_eq!(found(&registry, "wrong"), led("wrong", &[]));
    // The first dataset cannot have the name back, even after it is reinstated.
    registry.reinstate_dataset(&name("wrong")).unwrap();
    assert_eq!(rename(&registry, "wrong", "name").unwrap_err().kind(), ErrorKind::DatasetExists);
    // If the name is given up again, it leads to the dataset that gave it up last.
    rename(&registry, "name", "later").unwrap();
    assert_eq!(found(&registry, "name").0, "later");
    assert_eq!(found(&registry, "wrong"), led("wrong", &[]));
    // A copy has the same names, and the registry verifies.
    let directory = harness::directory();
    let path = directory.path().join("copy.db");
    registry.copy_with_payment_ids_to(&path).unwrap();
    let copy = Registry::open(&path, clock()).unwrap();
    for asked in ["name", "new", "wrong", "later"] {
        assert_eq!(found(&copy, asked), found(&registry, asked));
    }
    // A change creates a dataset with that name.
    registry.withdraw_dataset(&name("later"), "wrong").unwrap();
    let applied = registry.change(&name("name"), &change(["C"], []).at(second(2))).unwrap();
    assert!(applied.created_dataset);
    assert_eq!(found(&registry, "name"), led("name", &[]));
    assert_eq!(found(&registry, "later"), led("later", &["new"]));
}

#[test]
fn a_mirror_of_a_name_that_was_given_up_begins_anew() {
    let registry = registry();
    let us = Registry::temporary(clock()).unwrap();
    step(&us, "us", 1, ["A", "B"], []);
    let follow = |if_missing| {
        let primary = primary_of(manifest_of(&us, "us"))?;
        let options = PullOptions::new().if_missing(if_missing);
        registry.pull(&name("name"), &primary, options.at(second(2)))
    };
    // The name leads to a dataset that holds something else, until that dataset is withdrawn.
    assert_eq!(follow(IfMissing::Create).unwrap().before.status, MirrorStatus::Diverged);
    registry.withdraw_dataset(&name("wrong"), "wrong").unwrap();
    assert_eq!(follow(IfMissing::Fail).unwrap_err().kind(), ErrorKind::Withdrawn);
    let pulled = follow(IfMissing::Create).unwrap();
    assert!(pulled.is_identical() && pulled.applied.created_dataset);
    assert_eq!(found(&registry, "name"), led("name", &[]));
    let latest = registry.snapshot().unwrap().dataset(&name("wrong")).unwrap().latest.unwrap();
    assert_eq!((latest.granules, latest.timestamp), (1, second(1)));
}

#[test]
fn the_published_log_of_a_name_goes_on_with_its_dataset_and_the_name_begins_another() {
    let directory = harness::directory();
    let www = directory.path();
    let registry = new_registry();
    let add = |dataset: &str, at: i64, id: &str| {
        step(&registry, dataset, at, [id], []);
    };
    ["A", "other"].iter().for_each(|dataset| add(dataset, 1, dataset));
    // More than one segment.
    (2..11).for_each(|at| enlarge(&registry, "A", at, 1_000));
    let run = || -> Vec<(String, u64)> {
        let published = published(&registry, www).unwrap().into_iter();
        published.map(|one| (one.dataset.to_string(), one.new_changes)).collect()
    };
    run();
    let log = |dataset: &str| {
        std::fs::read(www.join(format!("datasets/{dataset}/log/000000.jsonl"))).unwrap()
    };
    let before = log("A");
    rename(&registry, "A", "B").unwrap();
    registry.withdraw_dataset(&name("B"), "wrong").unwrap();
    add("A", 3, "new");
    let expected = [("A", 1), ("B", 10), ("other", 0)].map(|(name, new)| (name.to_owned(), new));
    assert_eq!(run(), expected);
    assert_eq!(log("B"), before);
    assert_ne!(log("A"), before);
    assert!(run().iter().all(|(_, new)| *new == 0));
    let rows = verified(&registry, www);
    assert!(rows.iter().all(|row| row.ok), "{rows:?}");
    // If no dataset has the published history, the dataset of that name is still rejected, and only that one.
    let older = new_registry();
    for (dataset, id) in [("A", "X"), ("other", "other")] {
        step(&older, dataset, 1, [id], []);
    }
    let mut found = Vec::new();
    older
        .publish(www, &DatasetFilter::All, |name, published| {
            let kind = published.map_or_else(|error| Some(error.kind()), |_| None);
            found.push((name.to_string(), kind));
            Ok::<(), Error>(())
        })
        .unwrap();
    let refused = Some(ErrorKind::PublishedOtherwise);
    assert_eq!(found, [("A".to_owned(), refused), ("other".to_owned(), None)]);
}
