//! A filter that names no dataset selects none.

use accession::status::StatusThresholds;
use accession::{DatasetFilter, Error, Registry};

use harness::history::{name, step};
use harness::store::new_registry;

const NONE: DatasetFilter = DatasetFilter::Only(Vec::new());

fn registry() -> Registry {
    let registry = new_registry();
    for dataset in ["A", "B"] {
        step(&registry, dataset, 0, ["G"], []);
    }
    registry
}

#[test]
fn a_public_view_of_no_dataset_shows_none() {
    let registry = registry();
    let shown = |filter| {
        let snapshot = registry.public_view(filter).snapshot().unwrap();
        (snapshot.has_dataset(&name("A")).unwrap(), snapshot.has_dataset(&name("B")).unwrap())
    };
    assert_eq!(shown(NONE), (false, false));
    assert_eq!(shown(DatasetFilter::from(name("A"))), (true, false));
    assert_eq!(shown(DatasetFilter::All), (true, true));
}

#[test]
fn no_dataset_is_published_or_compared_if_none_is_named() {
    let (registry, directory) = (registry(), harness::directory());
    let mut published = Vec::new();
    for filter in [NONE, DatasetFilter::All] {
        registry
            .publish(directory.path(), &filter, |name, _| {
                published.push((filter.clone(), name.to_string()));
                Ok::<_, Error>(())
            })
            .unwrap();
    }
    let all = ["A", "B"].map(|name| (DatasetFilter::All, name.to_owned()));
    assert_eq!(published, all);
    let mut compared = 0;
    for (filter, expected) in [(NONE, 0), (DatasetFilter::All, 2)] {
        registry
            .verify_published(directory.path(), &filter, |_| {
                compared += 1;
                Ok::<_, Error>(())
            })
            .unwrap();
        assert_eq!(compared, expected);
    }
}

#[test]
fn the_status_of_no_dataset_is_empty() {
    let rows = |filter| registry().status(&filter, StatusThresholds::default()).unwrap();
    assert_eq!((rows(NONE).len(), rows(DatasetFilter::All).len()), (0, 2));
}

#[test]
fn nothing_is_verified_if_no_dataset_is_named() {
    let verified = |filter| registry().verify_all(&filter).unwrap().finish().unwrap();
    let (none, all) = (verified(NONE), verified(DatasetFilter::All));
    assert_eq!((none.datasets, none.work.file_checks), (0, 0));
    assert_eq!((all.datasets, all.work.file_checks), (2, 1));
}
