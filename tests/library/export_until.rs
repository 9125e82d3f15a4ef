//! A history that is exported up to a time is the history that the dataset had then.

use accession::dataset::DatasetMetadata;
use accession::mirror::manifest;
use accession::{ErrorKind, Instance, Moment, Registry, SubsetMembers, Timestamp};
use harness::values::AtTime;

use harness::exported::import_of;
use harness::history::{change, instances, name, now, second};
use harness::store::new_registry;

const CHANGES: [(&[&str], &[&str]); 4] =
    [(&["A", "B"], &[]), (&["C"], &["A"]), (&["A"], &["B"]), (&["wrong"], &[])];

fn registry() -> Registry {
    let registry = new_registry();
    for (seconds, (ingest, delete)) in (10..).zip(CHANGES) {
        let change = change(ingest.iter().copied(), delete.iter().copied());
        registry.change(&name("us"), &change.at(second(seconds))).unwrap();
        let wanted = SubsetMembers::Patterns(vec!["*".parse().unwrap(), "A*".parse().unwrap()]);
        let at = Some(Moment::Instant(second(seconds)));
        registry.cite_subset(&name("us"), at, &wanted).ok();
    }
    registry
}

fn exported(registry: &Registry, until: Timestamp) -> accession::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    manifest::write(registry, &name("us"), Some(Moment::Instant(until)), &mut bytes)?;
    Ok(bytes)
}

/// The instances without the values that depend on the registry: the name of the dataset, the time of
/// recording, and the end of the latest period.
fn plain(instances: Vec<Instance>) -> Vec<Instance> {
    let last = instances.len();
    let of = |(at, instance): (usize, Instance)| Instance {
        dataset: name("any"),
        recorded: now(),
        until: instance.until.filter(|_| at + 1 < last),
        ..instance
    };
    instances.into_iter().enumerate().map(of).collect()
}

#[test]
fn the_import_of_it_has_the_history_up_to_then() {
    let us = registry();
    us.rename_dataset(&name("us"), &name("them")).unwrap();
    us.rename_dataset(&name("them"), &name("us")).unwrap();
    us.withdraw_dataset(&name("us"), "wrong").unwrap();
    let all = instances(&us, &name("us"));
    for (number, at) in (1..=CHANGES.len()).zip(10..) {
        for until in [second(at), Timestamp::from_micros(second(at + 1).as_micros() - 1).unwrap()] {
            let bytes = exported(&us, until).unwrap();
            let copy = new_registry();
            import_of(&copy, "copy", bytes).unwrap();
            assert_eq!(
                plain(instances(&copy, &name("copy"))),
                plain(all[..number].to_vec()),
                "until {until}"
            );
            let listed = copy.snapshot().unwrap().dataset(&name("copy")).unwrap();
            assert_eq!(listed.dataset, DatasetMetadata::named(name("copy")));
            assert!(listed.withdrawn.is_none() && listed.former_names.is_empty());
            let of = |registry: &Registry, name_: &str| {
                let subsets = registry.snapshot().unwrap().subsets(&name(name_)).unwrap();
                subsets.into_iter().filter(|it| it.timestamp <= until).count()
            };
            assert_eq!(of(&copy, "copy"), of(&us, "us"));
            let subsets = copy.snapshot().unwrap().subsets(&name("copy")).unwrap();
            assert_eq!(subsets.len(), of(&us, "us"));
        }
    }
    // The whole history, whose last period has no end yet.
    let whole = instances(&us, &name("us"));
    let copy = new_registry();
    import_of(&copy, "copy", exported(&us, Timestamp::MAX).unwrap()).unwrap();
    assert_eq!(plain(instances(&copy, &name("copy"))), plain(whole));
}

#[test]
fn there_is_nothing_to_export_before_the_first_change() {
    let us = registry();
    let error = exported(&us, second(9)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoHistory, "{error}");
}
