//! The record in a manifest is checked like the options are, and names of older registries can
//! still be read.

use accession::chain::Chain;
use accession::mirror::manifest::Reader;
use accession::{Access, DatasetName, Registry, Selection, Stamp};

use crate::harness::history::{change, name, now, second};

/// A manifest without changes, whose header has this record, with the checks of its lines.
fn manifest(record: &str) -> Vec<u8> {
    let body = format!(
        r#"{{"accession_manifest":1,"rule":"md5-chain","dataset":{record},"instances":0,"latest":null"#
    );
    let mut chain = Chain::start();
    chain.push(&body);
    format!("{body},\"check\":\"{}\"}}\n", chain.identifier()).into_bytes()
}

#[test]
fn a_manifest_whose_url_is_not_a_web_address_is_refused() {
    for url in ["javascript:alert(1)", "file:///etc/passwd", "see the wiki", ""] {
        let file = manifest(&format!(r#"{{"name":"US","url":"{url}"}}"#));
        let Err(error) = Reader::open(file.as_slice(), "us.jsonl") else { panic!("{url}") };
        assert_eq!(
            error.to_string(),
            format!("us.jsonl:1: not a manifest: \"{url}\" is not a web address")
        );
    }
    let file = manifest(r#"{"name":"US","url":"https://example.org/data"}"#);
    let reader = Reader::open(file.as_slice(), "us.jsonl").unwrap();
    assert_eq!(reader.dataset().url.as_ref().unwrap().as_str(), "https://example.org/data");
}

#[test]
fn a_manifest_of_an_older_registry_keeps_its_dataset_name() {
    let file = manifest(r#"{"name":"10.5067/ABC"}"#);
    let reader = Reader::open(file.as_slice(), "us.jsonl").unwrap();
    assert_eq!(reader.dataset().name.as_str(), "10.5067/ABC");
    let file = manifest(r#"{"name":"A@B"}"#);
    assert!(Reader::open(file.as_slice(), "us.jsonl").is_err());
}

#[test]
fn a_registry_with_a_name_of_an_older_version_can_be_read_and_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("accession.db");
    let registry = Registry::create(&path).unwrap();
    let stamp = |seconds| Stamp::at(second(seconds), now());
    registry.change(&name("US"), &change(["A"], []), &stamp(0)).unwrap();
    drop(registry);
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute("UPDATE dataset SET name = '../US'", [])
        .unwrap();

    let older = DatasetName::from_stored("../US").unwrap();
    let registry = Registry::open(&path, Access::Write).unwrap();
    registry.change(&older, &change(["B"], []), &stamp(1)).unwrap();
    let selection = Selection::Dataset { name: older.clone(), at: None };
    let snapshot = registry.snapshot().unwrap();
    assert_eq!(snapshot.select(&selection).unwrap().set.granules(), 2);
    assert!(!snapshot.dataset(&older).unwrap().dataset.name.is_publishable());
}
