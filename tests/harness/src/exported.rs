//! Exports and publishes a registry for a test, and reads the result into another registry.

use std::io::Cursor;
use std::path::Path;

use accession::Result;
use accession::mirror::{Primary, PrimaryOptions, manifest};
use accession::publish::{PublishedDataset, VerifiedFiles};
use accession::{ChangeReport, DatasetFilter, Error, IfMissing, Import, Registry};

use crate::history::{name, now, step};

/// The manifest of a dataset.
pub fn manifest_of(registry: &Registry, dataset: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    manifest::write(registry, &name(dataset), None, &mut bytes).unwrap();
    bytes
}

/// A primary that reads this manifest.
pub fn primary_of(manifest: impl Into<Vec<u8>>) -> Result<Primary> {
    Primary::from_reader(Cursor::new(manifest.into()), "us.jsonl", PrimaryOptions::default())
}

/// Imports a manifest. A new dataset gets its record.
pub fn import_of(
    registry: &Registry,
    dataset: &str,
    manifest: impl Into<Vec<u8>>,
) -> Result<ChangeReport> {
    let mut import = Import::new();
    import.options = import.options.if_missing(IfMissing::Create);
    let record = primary_of(manifest)?.read_into(&name(dataset), &mut import, now(), |_| {})?;
    import.options = import.options.record(record);
    registry.import(&name(dataset), &import)
}

/// Publishes all datasets, and returns the result for each.
pub fn published(registry: &Registry, directory: &Path) -> Result<Vec<PublishedDataset>> {
    let mut published = Vec::new();
    registry
        .publish(directory, &DatasetFilter::All, |_, one| one.map(|one| published.push(one)))?;
    Ok(published)
}

/// Publishes all datasets.
pub fn publish_all(registry: &Registry, directory: &Path) -> Result<()> {
    published(registry, directory).map(drop)
}

/// The results of verifying a published directory.
pub fn verified(registry: &Registry, directory: &Path) -> Vec<VerifiedFiles> {
    let mut rows = Vec::new();
    registry
        .verify_published(directory, &DatasetFilter::All, |found| {
            rows.push(found);
            Ok::<(), Error>(())
        })
        .unwrap();
    assert!(!rows.is_empty(), "nothing was verified");
    assert!(rows.iter().all(|row| row.ok == row.differences.is_empty()));
    rows
}

/// Ingests this many granules with long ids: 7,000 of them complete a segment of a log.
pub fn enlarge(registry: &Registry, dataset: &str, at: i64, granules: usize) {
    let ids: Vec<String> =
        (0..granules).map(|n| format!("{at}.{n:04}.{}", "x".repeat(600))).collect();
    step(registry, dataset, at, ids.iter().map(String::as_str), []);
}
