//! A published directory only grows, is complete for every reader, and is repaired after a kill.

use harness::values::{AtTime, clock};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use accession::{Clock, DatasetFilter, ErrorKind, Registry, SubsetMembers};
use proptest::prelude::*;

use harness::exported::{enlarge, manifest_of, published, verified};
use harness::files::files;
use harness::history::{History, POOL, cases, change, name, now, second, step};
use harness::primary_at_address::{HEAD, LOG, World};

/// The manifest that results from joining the files of a dataset.
fn assembled(files: &BTreeMap<String, Vec<u8>>, dataset: &str) -> Vec<u8> {
    let log = format!("datasets/{dataset}/log/");
    let segments =
        files.iter().filter(|(name, _)| name.starts_with(&log) && name.ends_with(".jsonl"));
    let mut bytes: Vec<u8> = segments.flat_map(|(_, bytes)| bytes.clone()).collect();
    bytes.extend(&files[&format!("datasets/{dataset}/subsets.jsonl")]);
    bytes.extend(&files[&format!("datasets/{dataset}/head.json")]);
    bytes
}

fn toggle(registry: &Registry, history: &mut History, at: usize, indices: &BTreeSet<usize>) {
    let ids = indices.iter().map(|index| POOL[*index].as_str()).collect();
    let plan = history.toggle(&ids);
    history.change(registry, &name("us"), second(at as i64), &plan);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(20), ..ProptestConfig::default() })]

    #[test]
    fn what_is_published_after_any_changes_is_the_manifest_and_was_only_appended_to(
        toggles in prop::collection::vec(prop::collection::btree_set(0..POOL.len(), 1..5), 1..8),
        skips in prop::collection::vec(any::<bool>(), 8),
        garbage in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let directory = harness::directory();
        let registry = Registry::temporary(clock()).unwrap();
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
            // A run that was killed before it wrote the head leaves such bytes. The next run removes them.
            let mut file = std::fs::File::options().append(true).open(directory.path().join(log)).unwrap();
            std::io::Write::write_all(&mut file, &garbage).unwrap();
        }
    }
}

/// A history with a change of one line for each id, in one segment.
fn lines(ids: &[&str]) -> Registry {
    let registry = Registry::temporary(clock()).unwrap();
    for (at, id) in ids.iter().enumerate() {
        step(&registry, "us", at as i64, [*id], []);
    }
    registry
}

#[test]
fn a_run_without_news_adds_no_byte_and_writes_the_head_again() {
    let directory = harness::directory();
    let registry = lines(&["A"]);
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

#[test]
fn a_long_log_has_complete_segments_with_a_compressed_form_beside_each() {
    let directory = harness::directory();
    let registry = Registry::temporary(clock()).unwrap();
    (0..9).for_each(|at| enlarge(&registry, "us", at, 1_000));
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
        // A segment is complete with the line that exceeds 4 MiB.
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
    let directory = harness::directory();
    let of = |last: &[&str]| lines(&[&["A", "B"], last].concat());
    published(&of(&["C", "D"]), directory.path()).unwrap();
    let before = files(directory.path());
    // Restored from an older backup, with fewer, different and more changes since.
    for last in [&[][..], &["X"], &["C", "X"], &["X", "Y", "Z"], &["X", "D"]] {
        let refused = published(&of(last), directory.path()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PublishedOtherwise, "{last:?}");
        let first = if last.first() == Some(&"C") { 4 } else { 3 };
        let differing = format!(": change {first}, at {}, is not", second(first - 1));
        assert!(refused.with_causes().contains(&differing), "{last:?}: {refused}");
        assert_eq!(files(directory.path()), before);
    }
    // A longer version of the same history continues the log.
    published(&of(&["C", "D", "E"]), directory.path()).unwrap();
}

#[test]
fn a_damaged_line_of_the_segment_that_grows_is_refused_with_its_number() {
    let directory = harness::directory();
    let path = directory.path().join("datasets/us/log/000000.jsonl");
    for line in 1..=5_usize {
        let registry = lines(&["A1", "B1", "C1", "D1"]);
        published(&registry, directory.path()).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        let damaged: Vec<String> = whole
            .split_inclusive('\n')
            .enumerate()
            .map(|(index, text)| match index + 1 == line {
                true => text.replacen('1', "2", 1),
                false => text.to_owned(),
            })
            .collect();
        std::fs::write(&path, damaged.concat()).unwrap();
        let before = files(directory.path());
        let named = format!("000000.jsonl\", line {line}, is not as it was published");
        // The error is the same with and without new changes, and when repeated. Nothing is forgotten, and
        // nothing is appended.
        for news in [None, None, Some("E1"), Some("F1")] {
            if let Some(id) = news {
                registry
                    .with_clock(Clock::fixed(now()).confirmed())
                    .change(&name("us"), &change([id], []))
                    .unwrap();
            }
            let refused = published(&registry, directory.path()).unwrap_err();
            assert_eq!(refused.kind().as_str(), "published-damaged");
            assert!(refused.to_string().contains(&named), "{refused}");
            assert_eq!(files(directory.path()), before);
        }
        // If the directory is removed and published again, the log has the same bytes.
        std::fs::remove_dir_all(directory.path().join("datasets/us")).unwrap();
        published(&registry, directory.path()).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with(&whole));
        std::fs::remove_dir_all(directory.path().join("datasets")).unwrap();
    }
}

#[test]
fn a_change_that_begins_in_a_complete_segment_is_continued() {
    let directory = harness::directory();
    for granules in [7_000, 8_500] {
        let registry = Registry::temporary(clock()).unwrap();
        enlarge(&registry, "us", 0, granules);
        for at in 1..3 {
            published(&registry, directory.path()).unwrap();
            let found = files(directory.path());
            assert!(assembled(&found, "us") == manifest_of(&registry, "us"), "{granules}");
            assert!(found.contains_key("datasets/us/log/000000.jsonl.gz"));
            let ingest = format!("new.{at}");
            let step = change([ingest.as_str()], []);
            registry.change(&name("us"), &step.at(second(at))).unwrap();
        }
        std::fs::remove_dir_all(directory.path().join("datasets")).unwrap();
    }
}

#[test]
fn a_compressed_segment_that_a_killed_run_left_is_replaced() {
    let world = World::new();
    let (gz, head) = ("datasets/us/log/000000.jsonl.gz", world.directory.path().join(HEAD));
    let of = |at: i64| {
        let registry = Registry::temporary(clock()).unwrap();
        enlarge(&registry, "us", 0, 3_000);
        enlarge(&registry, "us", at, 6_000);
        registry
    };
    let first = Registry::temporary(clock()).unwrap();
    enlarge(&first, "us", 0, 3_000);
    published(&first, world.directory.path()).unwrap();
    let first_head = std::fs::read(&head).unwrap();
    // This run is killed before it writes the head. Then the registry is restored and gets different changes.
    published(&of(1), world.directory.path()).unwrap();
    let stale = world.file(gz);
    std::fs::write(&head, first_head).unwrap();
    let restored = of(2);
    published(&restored, world.directory.path()).unwrap();
    assert!(world.file(gz) != stale);
    assert!(verified(&restored, world.directory.path())[0].ok);
    assert_eq!(world.compare().unwrap().1.len(), 9_000);
    // A killed run or an earlier version can leave each of these files.
    for left in [stale, Vec::new(), b"not compressed".to_vec()] {
        std::fs::write(world.directory.path().join(gz), left).unwrap();
        published(&restored, world.directory.path()).unwrap();
        assert!(verified(&restored, world.directory.path())[0].ok);
        world.server.served();
        assert_eq!(world.compare().unwrap().1.len(), 9_000);
        assert!(!world.server.served().iter().any(|(request, _)| request.path == LOG));
    }
}

/// Cites the granules that a pattern selects.
fn cite(registry: &Registry, pattern: &str, at: i64) {
    let members = SubsetMembers::Patterns(vec![pattern.parse().unwrap()]);
    registry.with_clock(Clock::fixed(second(at))).cite_subset(&name("us"), None, &members).unwrap();
}

#[test]
fn new_subsets_are_appended_to_the_published_ones() {
    let place = harness::directory();
    let directory = harness::directory();
    let path = directory.path().join("datasets/us/subsets.jsonl");
    let database = place.path().join("accession.db");
    let registry = Registry::create(&database, clock()).unwrap();
    step(&registry, "us", 0, ["A", "B", "C", "D"], []);
    cite(&registry, "D", 1);
    published(&registry, directory.path()).unwrap();
    let first = std::fs::read(&path).unwrap();
    let backup = place.path().join("backup.db");
    registry.back_up(&backup).unwrap();
    let number = path.metadata().unwrap().ino();
    for (at, pattern) in (2..).zip(["C", "B"]) {
        // A run that was killed before it wrote the head leaves such a file.
        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        std::io::Write::write_all(&mut file, b"{\"subset\":").unwrap();
        cite(&registry, pattern, at);
        published(&registry, directory.path()).unwrap();
        let found = files(directory.path());
        assert!(found["datasets/us/subsets.jsonl"].starts_with(&first));
        assert_eq!(path.metadata().unwrap().ino(), number);
        assert_eq!(assembled(&found, "us"), manifest_of(&registry, "us"));
        assert!(verified(&registry, directory.path())[0].current);
    }
    // A restored registry has fewer subsets, and then different ones.
    let restored = Registry::open(&backup, clock()).unwrap();
    for (at, pattern) in (9..).zip(["", "A", "A*", "?"]) {
        if !pattern.is_empty() {
            cite(&restored, pattern, at);
        }
        published(&restored, directory.path()).unwrap();
        let found = files(directory.path());
        assert_eq!(assembled(&found, "us"), manifest_of(&restored, "us"));
        assert!(verified(&restored, directory.path())[0].ok);
    }
}

#[test]
fn two_datasets_are_published_at_the_same_time() {
    let directory = harness::directory();
    let registry = lines(&["A"]);
    step(&registry, "other", 0, ["A"], []);
    published(&registry, directory.path()).unwrap();
    step(&registry, "other", 1, ["B"], []);
    // The locks that the other process holds at the same time.
    let lock = |path: &str| {
        let path = directory.path().join(path).join(".accession-publish.lock");
        std::fs::File::options().write(true).open(path).unwrap()
    };
    let (root, us) = (lock(""), lock("datasets/us"));
    root.lock_shared().unwrap();
    us.lock().unwrap();
    let publish_other = || {
        let mut new = 0;
        registry
            .publish(directory.path(), &DatasetFilter::from(name("other")), |_, published| {
                published.map(|published| new = published.new_changes)
            })
            .unwrap();
        new
    };
    assert_eq!(publish_other(), 1);
}

#[test]
fn damaged_subsets_are_written_again() {
    let directory = harness::directory();
    let registry = lines(&["A", "B"]);
    let wanted = accession::SubsetMembers::Patterns(vec!["A*".parse().unwrap()]);
    registry.cite_subset(&name("us"), None, &wanted).unwrap();
    published(&registry, directory.path()).unwrap();
    let path = directory.path().join("datasets/us/subsets.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, whole.replacen("A*", "B*", 1)).unwrap();
    published(&registry, directory.path()).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
}

#[test]
fn the_registry_is_not_read_while_a_segment_is_compressed() {
    let place = harness::directory();
    let path = place.path().join("accession.db");
    let registry = Registry::create(&path, clock()).unwrap();
    (0..3).for_each(|at| enlarge(&registry, "us", at, 7_500));
    let draft = place.path().join("www/datasets/us/log/.accession-publish.new");
    std::thread::scope(|scope| {
        let run = scope.spawn(|| published(&registry, &place.path().join("www")).map(drop));
        while !draft.exists() {
            assert!(!run.is_finished(), "no segment was compressed");
            std::thread::yield_now();
        }
        // An open read transaction would prevent the write-ahead log from being truncated.
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch("UPDATE dataset SET name = name").unwrap();
        let busy: i64 =
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
        assert!(draft.exists(), "compressing was over too early");
        assert_eq!(busy, 0);
        run.join().unwrap().unwrap();
    });
}

#[test]
fn a_dataset_that_the_registry_does_not_have_is_reported_and_left() {
    let directory = harness::directory();
    let registry = lines(&["A"]);
    registry.add_dataset(&accession::dataset::DatasetMetadata::named(name("OLD"))).unwrap();
    registry.rename_dataset(&name("OLD"), &name("NEW")).unwrap();
    published(&registry, directory.path()).unwrap();
    assert!(registry.unknown_datasets(directory.path()).unwrap().is_empty());
    let before = files(directory.path());
    let older = lines(&["A"]);
    published(&older, directory.path()).unwrap();
    for _ in 0..2 {
        let unknown = older.unknown_datasets(directory.path()).unwrap();
        assert_eq!(unknown, [name("NEW"), name("OLD")]);
        assert_eq!(files(directory.path()), before);
    }
}

#[test]
fn a_damaged_directory_is_refused_and_left_as_it_is() {
    let directory = harness::directory();
    let registry = lines(&["A"]);
    published(&registry, directory.path()).unwrap();
    for file in ["datasets/us/log/000000.jsonl", "datasets/us/head.json"] {
        let path = directory.path().join(file);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        let before = files(directory.path());
        let refused = published(&registry, directory.path()).unwrap_err();
        assert_eq!(refused.kind().as_str(), "published-damaged");
        assert!(refused.to_string().contains(path.file_name().unwrap().to_str().unwrap()));
        assert_eq!(files(directory.path()), before);
        std::fs::write(&path, &whole).unwrap();
    }
    published(&registry, directory.path()).unwrap();
}

#[test]
fn a_dataset_without_history_has_a_head_and_the_first_line_of_a_log() {
    let directory = harness::directory();
    let registry = Registry::temporary(clock()).unwrap();
    registry.add_dataset(&accession::dataset::DatasetMetadata::named(name("us"))).unwrap();
    for _ in 0..2 {
        published(&registry, directory.path()).unwrap();
        assert_eq!(assembled(&files(directory.path()), "us"), manifest_of(&registry, "us"));
    }
}
