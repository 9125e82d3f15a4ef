//! The log of file records: its form down to the byte, that it only grows, and that lost records come
//! back from it.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

use accession::mirror::manifest;
use accession::model::{Algorithm, Checksum, FileContent, FilePath, FileRecord};
use accession::publish::{publish, verify};
use accession::registry::{FileListing, FileOptions, Imported};
use accession::{Access, Error, ErrorKind, Import, Registry, Stamp};
use proptest::prelude::*;

use crate::harness::history::{change, id, name, now, second};
use crate::harness::store::new_registry;

fn content(size: Option<u64>, checksum: Option<(Algorithm, &str)>) -> FileContent {
    let checksum = checksum.map(|(algorithm, text)| Checksum::parse(algorithm, text).unwrap());
    FileContent::new(size, checksum).unwrap()
}

fn record(granule: &str, path: &str, content: FileContent) -> FileRecord {
    FileRecord::new(id(granule), FilePath::new(path).unwrap(), content)
}

fn listed(records: impl IntoIterator<Item = FileRecord>) -> FileListing {
    let mut listing = FileListing::new();
    records.into_iter().for_each(|record| listing.add(&record, None).unwrap());
    listing
}

fn add(registry: &Registry, records: Vec<FileRecord>, note: Option<&str>, at: i64) {
    let options = FileOptions {
        accept_content: note.is_some(),
        note: note.map(str::to_owned),
        ..FileOptions::default()
    };
    let stamp = Stamp { recorded_by: Some("curator".to_owned()), ..Stamp::now(second(at)) };
    registry.add_files(&name("us"), &listed(records), &options, &stamp).unwrap();
}

/// Records of every form: with and without a size, a checksum and a path of its own; decimal and
/// unknown checksums; a replacement.
fn registry() -> Registry {
    let registry = new_registry();
    registry
        .change(&name("us"), &change(["A.nc", "B"], []), &Stamp::at(second(0), second(1)))
        .unwrap();
    let sm3 = "sm3".parse().unwrap();
    let records = vec![
        record("A.nc", "A.nc", content(Some(7), Some((Algorithm::Crc32, "2a")))),
        record("A.nc", "browse/\"ä\"\n.png", content(Some(0), None)),
        record("B", "B.dat", content(None, Some((Algorithm::Cksum, "42")))),
        record("B", "B.met", content(Some(9), Some((sm3, "Zm9v=")))),
    ];
    add(&registry, records, None, 10);
    let replacing = record("A.nc", "A.nc", content(Some(8), Some((Algorithm::Crc32, "2b"))));
    add(&registry, vec![replacing], Some("reprocessed:\t\"ü\""), 20);
    registry
}

fn written(registry: &Registry) -> String {
    let mut bytes = Vec::new();
    manifest::write(registry, &name("us"), &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn imported(registry: &Registry, text: &str) -> accession::error::Result<Imported> {
    let reader = manifest::Reader::open(Cursor::new(text.to_owned()), "us.jsonl", now())?;
    let mut import = Import::new();
    let record = reader.read_into(&mut import, |_| {})?;
    import.options.create_dataset = true;
    let stamp = Stamp { is_clock_confirmed: true, ..Stamp::now(now()) };
    registry.import(&record.name, &import, &stamp)
}

#[test]
fn the_bytes_of_the_file_records_are_those_of_the_fixture() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/log/files.jsonl");
    let text = written(&registry());
    let from = text.find("{\"accession_files\":").unwrap();
    let files = &text[from..text.find("{\"accession_head\":").unwrap()];
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        std::fs::write(&fixture, files).unwrap();
    }
    assert_eq!(files, std::fs::read_to_string(&fixture).unwrap());
    // Who recorded them is not published.
    assert!(!text.contains("curator"));
}

#[test]
fn a_dataset_without_file_records_has_the_manifest_that_it_had() {
    let registry = new_registry();
    registry.change(&name("us"), &change(["A"], []), &Stamp::at(second(0), second(1))).unwrap();
    assert!(!written(&registry).contains("files"));
}

#[test]
fn an_imported_manifest_has_the_same_records_again() {
    let text = written(&registry());
    let copy = new_registry();
    let files = imported(&copy, &text).unwrap().files;
    assert_eq!((files.added, files.equal, files.replaced), (4, 0, 1));
    assert_eq!(written(&copy), text);
    let files = imported(&copy, &text).unwrap().files;
    assert_eq!((files.added, files.equal, files.replaced), (0, 5, 0));
}

#[test]
fn records_that_were_entered_in_another_order_are_merged_by_an_import() {
    let text = written(&registry());
    let other = new_registry();
    let change = change(["A.nc", "B"], []);
    other.change(&name("us"), &change, &Stamp::at(second(0), second(1))).unwrap();
    // What the primary itself replaced is replaced here, with its note.
    let known = vec![
        record("B", "B.dat", content(Some(3), None)),
        record("A.nc", "A.nc", content(None, Some((Algorithm::Crc32, "2a")))),
    ];
    add(&other, known, None, 5);
    let files = imported(&other, &text).unwrap().files;
    assert_eq!((files.added, files.equal, files.replaced), (3, 0, 1));
    assert!(written(&other).contains("\"checksum\":\"0000002b\",\"recorded\":\"2026-01-01T00:00:00Z\",\"note\":\"reprocessed:\\t\\\"ü\\\"\""));

    let third = new_registry();
    third.change(&name("us"), &change, &Stamp::at(second(0), second(1))).unwrap();
    add(&third, vec![record("B", "B.dat", content(None, Some((Algorithm::Cksum, "43"))))], None, 5);
    let error = imported(&third, &text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContentContradicts);
    assert!(error.to_string().contains("\"B.dat\""), "{error}");
    assert!(!written(&third).contains("B.met"), "nothing was changed");
}

#[test]
fn a_damaged_or_hostile_log_of_file_records_is_refused_where_it_is_wrong() {
    let text = written(&registry());
    let line = |containing: &str| text.lines().find(|line| line.contains(containing)).unwrap();
    let third = line("\"number\":3,");
    for (what, damaged, message) in [
        ("cut", text.replace(&format!("{third}\n"), ""), "not as it was written"),
        ("changed", text.replace("0000002a", "0000002c"), "not as it was written"),
        (
            "no records",
            {
                let from = text.find("{\"accession_files\":").unwrap();
                format!("{}{}", &text[..from], line("accession_head")) + "\n"
            },
            "the file records are missing",
        ),
        (
            "newer",
            text.replace("{\"accession_files\":1", "{\"accession_files\":2"),
            "it has version 2",
        ),
        ("repeated", text.replace(third, &format!("{third}\n{third}")), "not as it was written"),
        (
            "another order of lines",
            {
                let subset = line("accession_files");
                text.replace(&format!("{subset}\n"), "")
            },
            "not as it was written",
        ),
    ] {
        let empty = new_registry();
        let error = imported(&empty, &damaged).unwrap_err();
        let error =
            format!("{error}: {:?}", std::error::Error::source(&error).map(ToString::to_string));
        assert!(error.contains(message), "{what}: {error}");
    }
}

/// Every file of a directory with its bytes; not the lock.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory.join("datasets/us/files")).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        found.insert(name, std::fs::read(&path).unwrap());
    }
    found
}

fn published(registry: &Registry, directory: &Path) -> accession::error::Result<()> {
    publish(registry, directory, &[], |_| Ok::<(), Error>(()))
}

fn differences(registry: &Registry, directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    verify(registry, directory, &[], |files| {
        found.extend(files.differences.into_iter().map(|it| format!("{} {}", it.file, it.text)));
        Ok::<(), Error>(())
    })
    .unwrap();
    found
}

#[test]
fn published_records_are_only_appended_to_and_verified() {
    let directory = tempfile::tempdir().unwrap();
    let registry = new_registry();
    registry
        .change(&name("us"), &change(["A", "B"], []), &Stamp::at(second(0), second(1)))
        .unwrap();
    published(&registry, directory.path()).unwrap();
    assert_eq!(files(directory.path()), BTreeMap::new());
    let mut before = Vec::new();
    for (at, size) in [(10, 1), (20, 2), (30, 3)] {
        add(&registry, vec![record("A", "A", content(Some(size), None))], Some("again"), at);
        published(&registry, directory.path()).unwrap();
        let found = files(directory.path())["000000.jsonl"].clone();
        assert!(found.starts_with(&before) && found.len() > before.len());
        assert_eq!(differences(&registry, directory.path()), [""; 0]);
        before = found;
        // As a run leaves it that was killed before its head.
        let path = directory.path().join("datasets/us/files/000000.jsonl");
        let mut file = std::fs::File::options().append(true).open(path).unwrap();
        std::io::Write::write_all(&mut file, b"half a li").unwrap();
    }
    let damaged = String::from_utf8(before).unwrap().replace("\"size\":2", "\"size\":7");
    std::fs::write(directory.path().join("datasets/us/files/000000.jsonl"), damaged).unwrap();
    let found = differences(&registry, directory.path());
    assert_eq!(found, ["datasets/us/files/000000.jsonl it is not as this registry publishes it"]);
    let refused = published(&registry, directory.path()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PublishedDamaged);
}

#[test]
fn a_restored_registry_gets_its_lost_records_back_from_what_it_published() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("accession.db");
    drop(Registry::create(&path).unwrap());
    let registry = Registry::open(&path, Access::Write).unwrap();
    registry
        .change(&name("us"), &change(["A", "B"], []), &Stamp::at(second(0), second(1)))
        .unwrap();
    add(&registry, vec![record("A", "A", content(Some(1), None))], None, 10);
    drop(registry);
    let old = directory.path().join("old.db");
    std::fs::copy(&path, &old).unwrap();

    let registry = Registry::open(&path, Access::Write).unwrap();
    add(&registry, vec![record("B", "B", content(Some(1), None))], None, 20);
    let www = directory.path().join("www");
    published(&registry, &www).unwrap();
    let manifest = written(&registry);

    let restored = Registry::open(&old, Access::Write).unwrap();
    let refused = published(&restored, &www).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PublishedOtherwise);
    let cause = std::error::Error::source(&refused).unwrap().to_string();
    assert!(cause.starts_with("record 2, entered at 2001-01-01T00:00:20Z, "), "{cause}");
    // As many records, but others: refused, too.
    let other = directory.path().join("other.db");
    std::fs::copy(&old, &other).unwrap();
    let other = Registry::open(&other, Access::Write).unwrap();
    add(&other, vec![record("B", "B", content(Some(2), None))], None, 20);
    assert_eq!(published(&other, &www).unwrap_err().kind(), ErrorKind::PublishedOtherwise);

    assert_eq!(imported(&restored, &manifest).unwrap().files.added, 1);
    published(&restored, &www).unwrap();
    assert_eq!(differences(&restored, &www), [""; 0]);
    assert_eq!(written(&restored), manifest);
}

#[test]
fn a_complete_segment_of_records_is_sealed_and_compressed() {
    let directory = tempfile::tempdir().unwrap();
    let registry = new_registry();
    registry.change(&name("us"), &change(["A"], []), &Stamp::at(second(0), second(1))).unwrap();
    let records = |from: u64| {
        let path = move |n: u64| format!("{}/{n:06}", "d".repeat(800));
        (from..from + 2_500).map(move |n| record("A", &path(n), content(Some(n), None))).collect()
    };
    for (run, from) in [(1, 0), (2, 2_500), (3, 5_000)] {
        add(&registry, records(from), None, 10 * run);
        published(&registry, directory.path()).unwrap();
        assert_eq!(differences(&registry, directory.path()), [""; 0]);
    }
    let names: Vec<String> = files(directory.path()).into_keys().collect();
    assert_eq!(names, ["000000.jsonl", "000000.jsonl.gz", "000001.jsonl"]);
    let copy = new_registry();
    imported(&copy, &written(&registry)).unwrap();
    assert_eq!(written(&copy), written(&registry));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_log_that_is_cut_or_changed_anywhere_never_panics(at in 0_usize..4_000, byte in any::<u8>()) {
        let mut bytes = written(&registry()).into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let _ = imported(&new_registry(), &text);
        let _ = imported(&new_registry(), &String::from_utf8_lossy(&bytes[..at]));
    }
}
