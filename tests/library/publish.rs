//! A published directory is only appended to, complete for every reader, and mended after a kill.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use accession::mirror::manifest;
use accession::publish::{Error, Published, Result, publish};
use accession::{Registry, Stamp};
use proptest::prelude::*;

use crate::harness::history::{History, POOL, change, name, now, second};

fn published(registry: &Registry, directory: &Path) -> Result<Vec<Published>> {
    let mut published = Vec::new();
    publish(registry, directory, &[], |one| {
        published.push(one);
        Ok::<(), Error>(())
    })?;
    Ok(published)
}

/// Every file of a directory with its bytes; not the lock.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut paths = vec![directory.to_owned()];
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if !path.ends_with(".accession-publish.lock") {
            let name = path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
            found.insert(name, std::fs::read(&path).unwrap());
        }
    }
    found
}

/// The manifest that the files of a dataset make up.
fn assembled(files: &BTreeMap<String, Vec<u8>>, dataset: &str) -> Vec<u8> {
    let log = format!("datasets/{dataset}/log/");
    let segments =
        files.iter().filter(|(name, _)| name.starts_with(&log) && name.ends_with(".jsonl"));
    let mut bytes: Vec<u8> = segments.flat_map(|(_, bytes)| bytes.clone()).collect();
    bytes.extend(&files[&format!("datasets/{dataset}/subsets.jsonl")]);
    bytes.extend(&files[&format!("datasets/{dataset}/head.json")]);
    bytes
}

fn manifest_of(registry: &Registry, dataset: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    manifest::write(registry, &name(dataset), &mut bytes).unwrap();
    bytes
}

fn toggle(registry: &Registry, history: &mut History, at: usize, indices: &BTreeSet<usize>) {
    let ids = indices.iter().map(|index| POOL[*index].as_str()).collect();
    let plan = history.toggle(&ids);
    history.change(registry, &name("us"), second(at as i64), &plan);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn what_is_published_after_any_changes_is_the_manifest_and_was_only_appended_to(
        toggles in prop::collection::vec(prop::collection::btree_set(0..POOL.len(), 1..5), 1..8),
        skips in prop::collection::vec(any::<bool>(), 8),
        garbage in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::in_memory().unwrap();
        let mut history = History::default();
        let log = "datasets/us/log/000000.jsonl";
        let mut before: Vec<u8> = Vec::new();
        for (at, indices) in toggles.iter().enumerate() {
            toggle(&registry, &mut history, at, indices);
            if skips[at] {
                continue;
            }
            published(&registry, directory.path()).unwrap();
            let found = files(directory.path());
            prop_assert!(found[log].starts_with(&before));
            prop_assert_eq!(assembled(&found, "us"), manifest_of(&registry, "us"));
            before = found[log].clone();
            // As a run leaves it that was killed before its head: the next one mends it.
            let mut file = std::fs::File::options().append(true).open(directory.path().join(log)).unwrap();
            std::io::Write::write_all(&mut file, &garbage).unwrap();
        }
    }
}

#[test]
fn a_run_without_news_adds_no_byte_and_writes_the_head_again() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::in_memory().unwrap();
    registry.change(&name("us"), &change(["A"], []), &Stamp::at(second(0), now())).unwrap();
    let first = published(&registry, directory.path()).unwrap();
    assert_eq!((first[0].changes, first[0].new_changes), (1, 1));
    let before = files(directory.path());
    let head = directory.path().join("datasets/us/head.json");
    let old = std::time::SystemTime::UNIX_EPOCH;
    std::fs::File::options().write(true).open(&head).unwrap().set_modified(old).unwrap();
    let again = published(&registry, directory.path()).unwrap();
    assert_eq!((again[0].new_changes, again[0].bytes), (0, 0));
    assert_eq!(files(directory.path()), before);
    assert!(head.metadata().unwrap().modified().unwrap() > old);
}

/// A history of several segments: each line is about 600 kB.
fn large(registry: &Registry) {
    for at in 0..9_i64 {
        let ids: Vec<String> =
            (0..1_000).map(|n| format!("{at}.{n:04}.{}", "x".repeat(600))).collect();
        let stamp = Stamp::at(second(at), now());
        registry.change(&name("us"), &change(ids.iter().map(String::as_str), []), &stamp).unwrap();
    }
}

#[test]
fn a_long_log_has_complete_segments_with_a_compressed_form_beside_each() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::in_memory().unwrap();
    large(&registry);
    published(&registry, directory.path()).unwrap();
    let found = files(directory.path());
    assert_eq!(assembled(&found, "us"), manifest_of(&registry, "us"));
    let head: serde_json::Value = serde_json::from_slice(&found["datasets/us/head.json"]).unwrap();
    let segments = head["segments"].as_array().unwrap();
    assert_eq!(segments.len(), 2);
    for (index, segment) in segments.iter().enumerate() {
        let file = format!("datasets/us/log/{index:06}.jsonl");
        let bytes = &found[&file];
        assert_eq!(segment["bytes"], bytes.len() as u64);
        // It is complete with the line that takes it past 4 MiB.
        let last_line = bytes[..bytes.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap();
        assert!(last_line as u64 <= 4 * 1_024 * 1_024);
        let is_complete = bytes.len() > 4 * 1_024 * 1_024;
        assert_eq!(is_complete, index + 1 < segments.len());
        let zipped = found.get(&format!("{file}.gz"));
        assert_eq!(zipped.is_some(), is_complete);
        if let Some(zipped) = zipped {
            let mut plain = Vec::new();
            flate2::read::GzDecoder::new(zipped.as_slice()).read_to_end(&mut plain).unwrap();
            assert_eq!(&plain, bytes);
        }
    }
}

#[test]
fn a_history_that_went_on_differently_is_refused_with_the_first_change_that_differs() {
    let directory = tempfile::tempdir().unwrap();
    let of = |last: &[&str]| {
        let registry = Registry::in_memory().unwrap();
        for (at, id) in ["A", "B"].iter().chain(last).enumerate() {
            let stamp = Stamp::at(second(at as i64), now());
            registry.change(&name("us"), &change([*id], []), &stamp).unwrap();
        }
        registry
    };
    published(&of(&["C", "D"]), directory.path()).unwrap();
    let before = files(directory.path());
    // Restored from the backup of yesterday, with fewer, other and more changes since then.
    for last in [&[][..], &["X"], &["C", "X"], &["X", "Y", "Z"], &["X", "D"]] {
        let refused = published(&of(last), directory.path()).unwrap_err();
        let Error::Contradicts { change, timestamp, .. } = &refused else { panic!("{refused}") };
        let first = if last.first() == Some(&"C") { 4 } else { 3 };
        assert_eq!((*change, *timestamp), (first, second(first as i64 - 1)), "{last:?}");
        assert_eq!(files(directory.path()), before);
    }
    // The same history, longer, goes on.
    published(&of(&["C", "D", "E"]), directory.path()).unwrap();
}

#[test]
fn a_damaged_directory_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::in_memory().unwrap();
    registry.change(&name("us"), &change(["A"], []), &Stamp::at(second(0), now())).unwrap();
    published(&registry, directory.path()).unwrap();
    for file in ["datasets/us/log/000000.jsonl", "datasets/us/head.json"] {
        let path = directory.path().join(file);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        let before = files(directory.path());
        let refused = published(&registry, directory.path()).unwrap_err();
        assert_eq!(refused.kind(), "published-damaged");
        assert!(refused.to_string().contains(path.file_name().unwrap().to_str().unwrap()));
        assert_eq!(files(directory.path()), before);
        std::fs::write(&path, &whole).unwrap();
    }
    published(&registry, directory.path()).unwrap();
}

#[test]
fn under_a_former_name_the_head_says_where_the_dataset_is() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::in_memory().unwrap();
    registry.change(&name("us"), &change(["A"], []), &Stamp::at(second(0), now())).unwrap();
    published(&registry, directory.path()).unwrap();
    registry.rename_dataset(&name("us"), &name("US.2"), &Stamp::now(now())).unwrap();
    for _ in 0..2 {
        let shown = published(&registry, directory.path()).unwrap();
        assert_eq!(shown[0].dataset, name("US.2"));
        let found = files(directory.path());
        let former: serde_json::Value =
            serde_json::from_slice(&found["datasets/us/head.json"]).unwrap();
        assert_eq!(former["moved_to"], "US.2");
        assert_eq!(assembled(&found, "US.2"), manifest_of(&registry, "US.2"));
    }
}

#[test]
fn a_dataset_without_history_has_a_head_and_the_first_line_of_a_log() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::in_memory().unwrap();
    registry.add_dataset(&accession::Dataset::named(name("us")), &Stamp::now(now())).unwrap();
    for _ in 0..2 {
        published(&registry, directory.path()).unwrap();
        assert_eq!(assembled(&files(directory.path()), "us"), manifest_of(&registry, "us"));
    }
}
