//! The state after every operation if the store fails at any of its calls.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use crate::error::ErrorKind;
use crate::mirror::{Primary, PrimaryOptions, PullOptions, manifest};
use crate::model::Moment;
use crate::model::{
    DatasetFilter, DatasetMetadata, DatasetName, Event, EventKind, GranuleId, Timestamp,
};
use crate::registry::{
    Change, ChangeOptions, Clock, IfMissing, Import, ListingBuilder, Registry, Selection,
    SubsetMembers,
};
use crate::store::Fault;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn second(second: i64) -> Timestamp {
    Timestamp::from_micros(1_000_000_000_000_000 + second * 1_000_000).unwrap()
}

fn id(text: &str) -> GranuleId {
    text.parse().unwrap()
}

fn name() -> DatasetName {
    "US".parse().unwrap()
}

/// A registry with a dataset with two changes.
fn registry() -> Registry {
    let registry = Registry::temporary(Clock::fixed(second(100))).unwrap();
    let mut change = Change::new();
    (0..90).for_each(|number| change.ingest(id(&format!("A{number}"))).unwrap());
    change.options = change.options.if_missing(IfMissing::Create).at(second(0));
    registry.change(&name(), &change).unwrap();
    let mut change = Change::new();
    change.ingest(id("B")).unwrap();
    change.delete(id("A7")).unwrap();
    change.options = change.options.at(second(1));
    registry.change(&name(), &change).unwrap();
    registry.add_dataset(&DatasetMetadata::named("UNUSED".parse().unwrap())).unwrap();
    registry
}

fn change(registry: &Registry, _: &Path) -> Outcome {
    let mut change = Change::new();
    change.ingest(id("A7"))?;
    change.delete(id("B"))?;
    change.ingest(id("C"))?;
    change.options = change.options.at(second(2));
    Ok(registry.change(&name(), &change).map(drop)?)
}

fn sync(registry: &Registry, _: &Path) -> Outcome {
    let mut listing = ListingBuilder::new();
    (0..88).try_for_each(|number| listing.add(id(&format!("A{number}"))))?;
    let listing = listing.finish();
    let options = ChangeOptions::new().at(second(2));
    Ok(registry.sync(&name(), &listing, &options).map(drop)?)
}

fn import(registry: &Registry, _: &Path) -> Outcome {
    let mut import = Import::new();
    for (at, kind, granule) in [
        (2, EventKind::Ingested, "C"),
        (3, EventKind::Deleted, "A8"),
        (4, EventKind::Ingested, "D"),
    ] {
        let (at, granule_id) = (second(at), id(granule));
        import.add(Event {
            at,
            kind,
            granule_id,
            producer_granule: None,
            content: None,
            location: None,
        })?;
    }
    Ok(registry.import(&name(), &import).map(drop)?)
}

fn revert(registry: &Registry, _: &Path) -> Outcome {
    let to = Selection::Dataset { name: name(), at: Some(Moment::Instant(second(0))) };
    Ok(registry.revert(&name(), &to, &ChangeOptions::default().at(second(2))).map(drop)?)
}

fn edit(registry: &Registry, _: &Path) -> Outcome {
    Ok(registry
        .edit_dataset(&name(), |dataset| dataset.title = Some("A title".to_owned()))
        .map(drop)?)
}

fn correct(registry: &Registry, _: &Path) -> Outcome {
    let after = Some(Moment::Instant(second(0)));
    Ok(registry.correct_dataset(&name(), after, false).map(drop)?)
}

fn remove(registry: &Registry, _: &Path) -> Outcome {
    let unused: DatasetName = "UNUSED".parse()?;
    Ok(registry.remove_dataset(&unused).map(drop)?)
}

fn cite(registry: &Registry, _: &Path) -> Outcome {
    let mut listing = ListingBuilder::new();
    ["A1", "B"].iter().try_for_each(|text| listing.add(id(text)))?;
    let listing = listing.finish();
    let members = SubsetMembers::Listed(listing);
    Ok(registry.cite_subset(&name(), None, &members).map(drop)?)
}

fn copy(registry: &Registry, directory: &Path) -> Outcome {
    let target = directory.join("copy.db");
    registry.copy_with_payment_ids_to(&target)?;
    let copy = Registry::open(&target, Clock::fixed(second(100)))?;
    let copied = copy.contents()?;
    drop(copy);
    std::fs::remove_file(target)?;
    assert_eq!(copied, registry.contents()?);
    Ok(())
}

fn pull(registry: &Registry, _: &Path) -> Outcome {
    let primary = self::registry();
    let mut log = Vec::new();
    manifest::write(&primary, &name(), None, &mut log)?;
    let primary = Primary::from_reader(Cursor::new(log), "us.jsonl", PrimaryOptions::default())?;
    let options = PullOptions::new().if_missing(IfMissing::Create).at(second(2));
    let mirror: DatasetName = "mirror".parse()?;
    Ok(registry.pull(&mirror, &primary, options).map(drop)?)
}

fn published(registry: &Registry, directory: &Path) -> Outcome {
    let directory = directory.join("published");
    Ok(registry.publish(&directory, &DatasetFilter::All, |_, published| published.map(drop))?)
}

/// After an error in the content, rows are read one by one, so that the rows before the damage are shown.
#[test]
fn an_error_that_passes_does_not_leave_a_query_for_each_row() {
    let registry = Registry::temporary(Clock::fixed(second(100))).unwrap();
    let mut change = Change::new();
    (0..6_000).for_each(|number| change.ingest(id(&format!("A{number:04}"))).unwrap());
    change.options = change.options.if_missing(IfMissing::Create).at(second(0));
    registry.change(&name(), &change).unwrap();
    let verified = |fault: &Arc<Fault>| registry.with_fault(fault.clone()).verify(&name());
    let sound = Fault::passing(ErrorKind::Damaged, usize::MAX);
    assert!(verified(&sound).unwrap().ok);
    let (mut passed, mut most) = (0, 0);
    for call in 1..=sound.calls() {
        let fault = Fault::passing(ErrorKind::Damaged, call);
        // A row that is read only once cannot be read again, so the error stays.
        passed += u32::from(verified(&fault).is_ok_and(|verification| verification.ok));
        most = most.max(fault.calls());
    }
    assert!(passed > 0, "no error passes");
    // One page of single rows, and then whole pages again.
    assert!((1_024..2_000).contains(&most), "{most} calls instead of {}", sound.calls());
}

type Operation = fn(&Registry, &Path) -> Outcome;

#[test]
fn every_operation_is_done_or_not_done_whichever_call_of_the_store_fails() {
    let operations: [(&str, Operation); 11] = [
        ("change", change),
        ("sync", sync),
        ("import", import),
        ("revert", revert),
        ("edit", edit),
        ("correct", correct),
        ("remove", remove),
        ("cite", cite),
        ("copy", copy),
        ("pull", pull),
        ("publish", published),
    ];
    let kinds = [
        ErrorKind::Conflict,
        ErrorKind::OutcomeUnknown,
        ErrorKind::Full,
        ErrorKind::ConnectionLost,
    ];
    for (what, operation) in operations {
        let directory = tempfile::tempdir().unwrap();
        let complete = registry();
        operation(&complete, directory.path()).unwrap();
        let after = complete.contents().unwrap();
        for kind in kinds {
            for call in 1.. {
                let directory = tempfile::tempdir().unwrap();
                let registry = registry();
                let before = registry.contents().unwrap();
                let fault = Fault::new(kind, call);
                let failing = registry.with_fault(fault.clone());
                let at = format!("{what}: {kind:?} at call {call}");
                match operation(&failing, directory.path()) {
                    Ok(()) => assert_eq!(registry.contents().unwrap(), after, "{at}"),
                    Err(error) => {
                        assert!(
                            crate::Error::chain_of(&*error).contains("the fault of call"),
                            "{at}: {error}"
                        );
                        assert!(!directory.path().join("copy.db").exists(), "{at}");
                        if kind == ErrorKind::OutcomeUnknown {
                            assert_eq!(registry.contents().unwrap(), after, "{at}");
                        } else {
                            assert_eq!(registry.contents().unwrap(), before, "{at}");
                            operation(&registry, directory.path()).expect(&at);
                            assert_eq!(registry.contents().unwrap(), after, "{at}");
                        }
                    }
                }
                if !fault.has_struck() {
                    assert!(call > 3, "{at}: nothing failed");
                    break;
                }
            }
        }
    }
}
