//! The metadata in a manifest is checked like the command-line options, and so are the names in a registry.

use harness::values::{AtTime, clock};
use std::error::Error as _;

use accession::dataset::DatasetMetadata;
use accession::dataset::Withdrawn;
use accession::mirror::{Primary, PrimaryOptions};
use accession::{DatasetFilter, Import, Registry};

use crate::properties::resealed;
use harness::history::{change, name, now, second};

/// A manifest without changes. Its head has this metadata, and its lines have correct checks.
fn manifest(record: &str) -> Vec<u8> {
    let text = format!(
        r#"{{"accession_log":3,"rule":"md5-chain"
{{"accession_head":3,"rule":"md5-chain","dataset":{record},"former_names":[],"withdrawn":null,"changes":0,"timestamp":null,"identifier":null,"digest":null,"granules":0,"check":"","segments":[{{"bytes":0,"timestamp":null,"check":""}}],"subsets":{{}}"#
    );
    resealed(&text, str::to_owned)
}

fn record(manifest: &[u8]) -> accession::Result<DatasetMetadata> {
    let primary = Primary::from_reader(manifest, "us.jsonl", PrimaryOptions::default())?;
    primary.read_into(&name("us"), &mut Import::new(), now(), |_| {})
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
fn a_manifest_whose_dataset_has_no_valid_name_is_refused() {
    for dataset in ["10.5067/ABC", "A@B", "..", ".a"] {
        let file = manifest(&format!(r#"{{"name":"{dataset}"}}"#));
        let error = record(&file).expect_err(dataset);
        let error = error.to_string();
        assert!(error.starts_with("us.jsonl:2: not a manifest: "), "{error}");
        assert!(error.contains(&format!("{dataset:?}")), "{error}");
    }
}

#[test]
fn a_registry_with_a_name_that_is_not_valid_is_refused_and_the_name_is_in_the_error() {
    let directory = harness::directory();
    let path = directory.path().join("accession.db");
    let registry = Registry::create(&path, clock()).unwrap();
    registry.change(&name("US"), &change(["A"], []).at(second(0))).unwrap();
    drop(registry);
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("UPDATE dataset SET name = '../US'", []).unwrap();
    harness::seal::seal_rows(&connection);

    let registry = Registry::open(&path, clock()).unwrap();
    let snapshot = registry.snapshot().unwrap();
    let error = snapshot.datasets(None, Withdrawn::Listed, 10).unwrap_err();
    assert_eq!(error.kind().as_str(), "damaged");
    let chain = format!("{error} {:?}", error.source().map(ToString::to_string));
    assert!(chain.contains("../US"), "{chain}");
    let verified: Vec<_> =
        registry.verify_all(&DatasetFilter::All).unwrap().map(Result::unwrap).collect();
    let findings = verified.iter().flat_map(|verification| &verification.mismatches);
    assert_eq!(findings.filter(|finding| finding.text.contains("\"../US\"")).count(), 1);
}
