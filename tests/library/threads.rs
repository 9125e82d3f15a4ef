//! Values of the library can be sent between threads.

use accession::dataset::DatasetMetadata;
use accession::fixity::{FileTree, FixityRun};
use accession::history::Exported;
use accession::history::{FileList, SideBySide};
use accession::listing::{Events, Findings, OpenedFile, Records};
use accession::mirror::{ComparedMirror, MirrorComparison, Primary, PublishedSite, PullReport};
use accession::proof::StatementLog;
use accession::proof::{Policy, SigningKey, StatementProof, StatementTree};
use accession::status::{DatasetStatus, FileCheck};
use accession::verify::Verifications;
use accession::verify::{DatasetVerification, Finding};
use accession::{
    Author, CancelToken, Change, ChangeOptions, ChangeReport, CitationFacts, Clock, DatasetFilter,
    Difference, Differences, Error, ErrorKind, Granules, HistoryOptions, Import, Listing,
    ListingBuilder, Periods, Registry, Selected, Selection, Set, Snapshot, SubsetMembers, Watcher,
};

#[test]
fn the_values_of_the_library_can_be_sent_to_another_thread() {
    fn owned_and_send<T: Send + 'static>() {}
    fn sync<T: Sync>() {}
    fn shared<T: Clone + Send + Sync + 'static>() {}
    shared::<Registry>();
    shared::<ChangeOptions>();
    shared::<Listing>();
    shared::<Clock>();
    shared::<Author>();
    shared::<(CancelToken, DatasetFilter, HistoryOptions, Watcher)>();
    owned_and_send::<(FileList, FixityRun, SideBySide)>();
    owned_and_send::<(Snapshot, Granules, Differences)>();
    owned_and_send::<Verifications>();
    owned_and_send::<(Change, Import, ListingBuilder, SubsetMembers)>();
    owned_and_send::<(
        ChangeReport,
        ChangeReport,
        CitationFacts,
        Periods,
        Selected,
        DatasetVerification,
        Finding,
    )>();
    owned_and_send::<(Selection, Set, DatasetMetadata, Difference, Exported)>();
    owned_and_send::<(Error, ErrorKind)>();
    sync::<(Error, Listing, DatasetVerification, ChangeReport)>();
    shared::<Primary>();
    owned_and_send::<FileTree>();
    owned_and_send::<(Events, OpenedFile, Records, Findings)>();
    owned_and_send::<(DatasetStatus, FileCheck, StatementLog)>();
    owned_and_send::<(SigningKey, Policy, StatementProof, StatementTree)>();
    owned_and_send::<(MirrorComparison, ComparedMirror, PullReport, PublishedSite)>();
}

#[test]
fn a_registry_is_closed_once_nothing_uses_it() {
    let directory = harness::directory();
    let registry =
        Registry::create(directory.path().join("accession.db"), harness::values::clock()).unwrap();
    let (clone, snapshot) = (registry.clone(), registry.snapshot().unwrap());
    assert_eq!(registry.close().unwrap_err().kind().as_str(), "busy");
    drop(snapshot);
    clone.close().unwrap();
}

#[test]
fn a_registry_is_shown_for_debugging_by_its_location() {
    let directory = harness::directory();
    let path = directory.path().join("accession.db");
    let registry = Registry::create(&path, harness::values::clock()).unwrap();
    let expected = format!("Registry {{ location: File({path:?}), .. }}");
    assert_eq!(format!("{registry:?}"), expected);
    let snapshot = registry.snapshot().unwrap();
    assert_eq!(format!("{snapshot:?}"), format!("Snapshot {{ registry: {expected}, .. }}"));
}
