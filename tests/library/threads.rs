//! Values of the library move between threads.

use accession::mirror::{Comparison, Primary, Remote};
use accession::registry::Verifications;
use accession::{
    Access, Change, ChangeOptions, ChangeReport, CitationFacts, DatasetMetadata,
    DatasetVerification, Difference, Differences, Error, ErrorKind, Exported, Finding, Granules,
    History, Import, Listing, ListingBuilder, Registry, Resolution, Selected, Selection, Set,
    Snapshot, Stamp, SubsetMembers,
};

#[test]
fn the_values_of_the_library_can_be_sent_to_another_thread() {
    fn owned_and_send<T: Send + 'static>() {}
    fn shared<T: Clone + Send + Sync + 'static>() {}
    shared::<Registry>();
    shared::<ChangeOptions>();
    shared::<Listing>();
    shared::<Stamp>();
    owned_and_send::<(Snapshot, Granules, History, Differences<'static>)>();
    owned_and_send::<Verifications>();
    owned_and_send::<(Change, Import, ListingBuilder, SubsetMembers)>();
    owned_and_send::<(
        ChangeReport,
        ChangeReport,
        CitationFacts,
        Resolution,
        Selected,
        DatasetVerification,
        Finding,
    )>();
    owned_and_send::<(Access, Selection, Set, DatasetMetadata, Difference, Exported)>();
    owned_and_send::<(Error, ErrorKind)>();
    owned_and_send::<(Primary, Comparison, Remote)>();
}

#[test]
fn a_registry_is_shown_for_debugging_by_its_path() {
    let directory = harness::directory();
    let path = directory.path().join("accession.db");
    let registry = Registry::create(&path).unwrap();
    let expected = format!("Registry {{ path: Some({path:?}), .. }}");
    assert_eq!(format!("{registry:?}"), expected);
    let snapshot = registry.snapshot().unwrap();
    assert_eq!(format!("{snapshot:?}"), format!("Snapshot {{ registry: {expected}, .. }}"));
}
