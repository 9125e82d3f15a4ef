//! The record in a manifest is checked like the options are, and names of older registries can
//! still be read.

use accession::mirror::{self, manifest::Reader};
use accession::{Access, Dataset, DatasetName, Import, Registry, Selection, Stamp};

use crate::harness::history::{change, name, now, second};
use crate::properties::resealed;

/// A manifest without changes, whose head has this record, with the checks of its lines.
fn manifest(record: &str) -> Vec<u8> {
    let text = format!(
        r#"{{"accession_log":1,"rule":"md5-chain"
{{"accession_head":1,"rule":"md5-chain","dataset":{record},"former_names":[],"withdrawn":null,"changes":0,"timestamp":null,"identifier":null,"granules":0,"check":"","segments":[{{"bytes":0,"timestamp":null,"check":""}}],"subsets":{{}}"#
    );
    resealed(&text, str::to_owned)
}

fn record(manifest: &[u8]) -> mirror::Result<Dataset> {
    let reader = Reader::open(manifest, "us.jsonl", now())?;
    reader.read_into(&mut Import::new(), |_| {})
}

#[test]
fn a_manifest_whose_url_is_not_a_web_address_is_refused() {
    for url in ["javascript:alert(1)", "file:///etc/passwd", "see the wiki", ""] {
        let file = manifest(&format!(r#"{{"name":"US","url":"{url}"}}"#));
        let error = record(&file).expect_err(url).to_string();
        let why = "us.jsonl:2: not a manifest: the head cannot be read: a web address begins with";
        assert!(error.starts_with(why), "{error}");
        assert!(error.contains(&format!("and a host, unlike \"{url}\" at line 1")), "{error}");
    }
    let file = manifest(r#"{"name":"US","url":"https://example.org/data"}"#);
    assert_eq!(record(&file).unwrap().url.as_ref().unwrap().as_str(), "https://example.org/data");
}

#[test]
fn a_manifest_of_an_older_registry_keeps_its_dataset_name() {
    let file = manifest(r#"{"name":"10.5067/ABC"}"#);
    assert_eq!(record(&file).unwrap().name.as_str(), "10.5067/ABC");
    let file = manifest(r#"{"name":"A@B"}"#);
    assert!(record(&file).is_err());
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
