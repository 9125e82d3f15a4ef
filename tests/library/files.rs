//! Sizes and checksums of files: what is recorded, refused, listed, copied and verified.

use std::sync::Arc;

use accession::model::{
    Algorithm, Checksum, Content, FileContent, FilePath, FileRecord, KnownFile,
};
use accession::registry::{FileCounts, FileListing, FileOptions};
use accession::{
    Access, Change, Entry, ErrorKind, Import, Limits, Listing, Registry, Selection, SourceLocation,
    Stamp,
};

use crate::harness::history::{change, id, name, now, second};
use crate::harness::store::{new_registry, new_registry_in};

/// A record of a file, with a checksum whose bytes are all the same.
fn file(granule: &str, path: &str, size: Option<u64>, sum: Option<(Algorithm, u8)>) -> FileRecord {
    let checksum = sum.map(|(algorithm, byte)| {
        let bytes = vec![byte; algorithm.checksum_bytes().unwrap()];
        Checksum::from_bytes(algorithm, &bytes).unwrap()
    });
    let content = FileContent::new(size, checksum).unwrap();
    FileRecord::new(id(granule), FilePath::new(path).unwrap(), content)
}

fn sha256(granule: &str, byte: u8) -> FileRecord {
    file(granule, granule, None, Some((Algorithm::Sha256, byte)))
}

/// A granule that is listed with these records of its files.
fn entry(granule: &str, records: &[FileRecord]) -> Entry {
    let granule_id = id(granule);
    let files = records.iter().map(|FileRecord { path, content, .. }| {
        let (size, checksum) = (content.size(), content.checksum().cloned());
        KnownFile::new(&granule_id, path.clone(), size, checksum).unwrap()
    });
    let content = Content::of(&granule_id, files.collect()).unwrap();
    Entry { content: Some(content), ..granule_id.into() }
}

fn listing(records: &[FileRecord]) -> FileListing {
    let mut listing = FileListing::new();
    records.iter().for_each(|record| listing.add(record, None).unwrap());
    listing
}

fn stamp() -> Stamp {
    Stamp::now(now())
}

fn options() -> FileOptions {
    FileOptions::default()
}

fn accepting() -> FileOptions {
    let note = Some("processed again".to_owned());
    FileOptions { accept_content: true, note, ..FileOptions::default() }
}

fn add(
    registry: &Registry,
    records: &[FileRecord],
    options: &FileOptions,
) -> accession::error::Result<(FileCounts, u64)> {
    registry.add_files(&name("D"), &listing(records), options, &stamp())
}

fn counts(added: u64, equal: u64, replaced: u64) -> FileCounts {
    FileCounts { added, equal, replaced }
}

/// A registry whose dataset D holds A, B and C.
fn with_granules(registry: Registry) -> Registry {
    registry
        .change(&name("D"), &change(["A", "B", "C"], []), &Stamp::at(second(1), now()))
        .unwrap();
    registry
}

/// What is listed of the latest set, a line a file.
fn listed(registry: &Registry) -> Vec<String> {
    listed_of(registry.snapshot().unwrap())
}

fn listed_of(snapshot: accession::Snapshot) -> Vec<String> {
    let selection = Selection::Dataset { name: name("D"), at: None };
    let set = snapshot.select(&selection).unwrap().set;
    let mut lines = Vec::new();
    let files = snapshot.files(&set).unwrap();
    drop(snapshot);
    for granule in files {
        let granule = granule.unwrap();
        for file in granule.files {
            let sums: Vec<String> =
                file.checksums.iter().map(|it| format!("{it:?}")[..10].to_owned()).collect();
            let size = file.size.map_or("?".to_owned(), |size| size.to_string());
            lines.push(format!("{} {} {size} {}", granule.granule_id, file.path, sums.join(",")));
        }
    }
    lines
}

fn assert_verifies(registry: &Registry) {
    assert_eq!(registry.verify(&name("D")).unwrap().mismatches, []);
}

#[test]
fn records_are_added_once_and_what_says_more_is_added() {
    let registry = with_granules(new_registry());
    let first = [sha256("B", 2), sha256("A", 1), file("A", "data/A.nc", Some(9), None)];
    assert_eq!(add(&registry, &first, &options()).unwrap(), (counts(3, 0, 0), 0));
    assert_eq!(add(&registry, &first, &options()).unwrap(), (counts(0, 3, 0), 0));
    // A size and another algorithm.
    let more = [
        file("A", "A", Some(7), None),
        file("A", "A", None, Some((Algorithm::Md5, 5))),
        sha256("A", 1),
    ];
    assert_eq!(add(&registry, &more, &options()).unwrap(), (counts(2, 1, 0), 0));
    let expected = ["A A 7 sha-256:01,md5:050505", "A data/A.nc 9 ", "B B ? sha-256:02"];
    assert_eq!(listed(&registry), expected);
    assert_verifies(&registry);
}

#[test]
fn a_contradiction_refuses_all_and_is_accepted_with_the_option() {
    let registry = with_granules(new_registry());
    let known = [file("A", "A", Some(7), Some((Algorithm::Sha256, 1))), sha256("B", 2)];
    add(&registry, &known, &options()).unwrap();
    add(&registry, &[file("A", "A", None, Some((Algorithm::Md5, 5)))], &options()).unwrap();
    for other in [
        sha256("A", 9),
        file("A", "A", Some(8), None),
        // The size counts for every algorithm.
        file("A", "A", Some(8), Some((Algorithm::Sha1, 1))),
    ] {
        let error = add(&registry, &[sha256("C", 3), other], &options()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ContentContradicts);
        assert_eq!(error.granule(), Some(&id("A")));
    }
    assert_eq!(listed(&registry), ["A A 7 sha-256:01,md5:050505", "B B ? sha-256:02"]);
    // What is in force then is only what was accepted; before it, what was.
    let rehearsed = FileOptions { dry_run: true, ..accepting() };
    for options in [rehearsed, accepting()] {
        let counted = add(&registry, &[sha256("A", 9), sha256("B", 2)], &options).unwrap();
        assert_eq!(counted, (counts(0, 1, 1), 0));
    }
    assert_eq!(listed(&registry), ["A A ? sha-256:09", "B B ? sha-256:02"]);
    // The bytes from before need to be accepted, too.
    assert!(add(&registry, &[sha256("A", 1)], &options()).is_err());
    assert_verifies(&registry);
}

#[test]
fn one_listing_that_contradicts_itself_is_never_accepted() {
    let registry = with_granules(new_registry());
    for options in [options(), accepting()] {
        let error = add(&registry, &[sha256("A", 1), sha256("A", 2)], &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ContentContradicts);
        assert!(error.to_string().contains("also listed"), "{error}");
    }
    assert!(listed(&registry).is_empty());
}

#[test]
fn a_listing_that_contradicts_itself_many_lines_apart_is_refused_and_names_both() {
    let registry = with_granules(new_registry());
    let lines = Arc::from("sums.txt");
    let line = |number| SourceLocation::Line { source: Arc::clone(&lines), line: number };
    for options in [options(), accepting()] {
        let mut files = FileListing::new();
        files.add(&sha256("A", 1), Some(&line(1))).unwrap();
        for number in 2..20_000 {
            let path = format!("browse/{number:05}.png");
            files.add(&file("A", &path, Some(number), None), Some(&line(number))).unwrap();
        }
        files.add(&sha256("A", 2), Some(&line(20_000))).unwrap();
        let error = registry.add_files(&name("D"), &files, &options, &stamp()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ContentContradicts);
        let error = error.to_string();
        let [first, second] = [1, 2].map(|byte| format!("{byte:02x}").repeat(32));
        let named =
            format!("sums.txt:20000: \"A\" has sha-256 {second}, but {first} is also listed");
        assert!(error.contains(&named), "{error}");
    }
    assert!(listed(&registry).is_empty());
}

#[test]
fn the_first_twenty_contradictions_are_named_and_the_others_counted() {
    let registry = new_registry();
    let ids: Vec<String> = (0..25).map(|n| format!("G{n:02}")).collect();
    let mut granules = Change::new();
    granules.options.create_dataset = true;
    ids.iter().for_each(|granule| granules.ingest(id(granule)).unwrap());
    registry.change(&name("D"), &granules, &Stamp::at(second(1), now())).unwrap();
    let of_byte = |byte| ids.iter().map(|id| sha256(id, byte)).collect::<Vec<_>>();
    add(&registry, &of_byte(1), &options()).unwrap();
    let error = add(&registry, &of_byte(2), &options()).unwrap_err().to_string();
    assert_eq!(error.split("; ").count(), 20 + 1, "{error}");
    assert!(
        error.starts_with("25 files contradict what is recorded of them: \"G00\" has"),
        "{error}"
    );
    assert!(error.ends_with("and 5 more"), "{error}");
}

#[test]
fn a_granule_that_is_not_held_is_refused_or_skipped() {
    let registry = with_granules(new_registry());
    let records = [sha256("A", 1), sha256("X", 1)];
    let error = add(&registry, &records, &options()).unwrap_err();
    assert_eq!((error.kind(), error.granule()), (ErrorKind::NotHeld, Some(&id("X"))));
    let skipping = FileOptions { skip_missing: true, ..options() };
    assert_eq!(add(&registry, &records, &skipping).unwrap(), (counts(1, 0, 0), 1));
    let unknown = registry.add_files(&name("E"), &listing(&records), &options(), &stamp());
    assert_eq!(unknown.unwrap_err().kind(), ErrorKind::DatasetUnknown);
    registry.withdraw_dataset(&name("D"), "wrong", &stamp()).unwrap();
    assert_eq!(add(&registry, &records, &skipping).unwrap_err().kind(), ErrorKind::Withdrawn);
}

#[test]
fn records_outlive_the_granule_and_other_bytes_never_pass() {
    let registry = with_granules(new_registry());
    add(&registry, &[sha256("A", 1)], &options()).unwrap();
    let at = |n| Stamp::at(second(n), now());
    registry.change(&name("D"), &change([], ["A"]), &at(2)).unwrap();
    let mut again = Change::new();
    again.ingest(entry("A", &[sha256("A", 2)])).unwrap();
    let error = registry.change(&name("D"), &again, &at(3)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContentContradicts);
    assert!(listed(&registry).is_empty(), "it is not held");
    again.options.accept_content = true;
    again.options.note = Some("processed again".to_owned());
    let applied = registry.change(&name("D"), &again, &at(3)).unwrap();
    assert_eq!((applied.files, applied.instance.is_some()), (counts(0, 0, 1), true));
    assert_eq!(listed(&registry), ["A A ? sha-256:02"]);
    assert_verifies(&registry);
}

#[test]
fn a_sync_records_files_without_a_change_and_is_refused_by_other_bytes() {
    let registry = with_granules(new_registry());
    let sync = |byte: u8, at: i64| {
        let mut listing = Listing::new();
        for granule in ["A", "B", "C"] {
            listing.add(entry(granule, &[sha256(granule, byte)])).unwrap();
        }
        let (most, options) = (Limits::default(), accession::ChangeOptions::default());
        registry.sync(&name("D"), &listing, most, &options, &Stamp::at(second(at), now()))
    };
    let applied = sync(1, 2).unwrap();
    assert_eq!((applied.files, applied.instance), (counts(3, 0, 0), None));
    assert_eq!(sync(1, 2).unwrap().files, counts(0, 3, 0));
    assert_eq!(sync(2, 2).unwrap_err().kind(), ErrorKind::ContentContradicts);
    assert_eq!(listed(&registry).len(), 3);
}

#[test]
fn an_import_records_files() {
    let registry = new_registry();
    let mut import = Import::new();
    import.options.create_dataset = true;
    import
        .add(accession::Event {
            granule_id: id("A"),
            at: second(1),
            kind: accession::EventKind::Ingested,
            producer_granule: None,
            content: entry("A", &[sha256("A", 1)]).content,
            location: None,
        })
        .unwrap();
    for expected in [counts(1, 0, 0), counts(0, 1, 0)] {
        assert_eq!(registry.import(&name("D"), &import, &stamp()).unwrap().files, expected);
    }
    assert_eq!(listed(&registry), ["A A ? sha-256:01"]);
}

#[test]
fn what_was_known_at_a_time_is_listed_as_it_was_known_then() {
    let registry = with_granules(new_registry());
    let at = |n: i64| accession::Timestamp::from_micros(now().as_micros() + n).unwrap();
    let add = |byte, options: &FileOptions, n| {
        let stamp = Stamp::now(at(n));
        registry.add_files(&name("D"), &listing(&[sha256("A", byte)]), options, &stamp).unwrap();
    };
    add(1, &options(), 10);
    add(2, &accepting(), 20);
    for (n, expected) in
        [(0, vec![]), (10, vec!["A A ? sha-256:01"]), (20, vec!["A A ? sha-256:02"])]
    {
        let snapshot = registry.snapshot().unwrap().known_at(at(n));
        assert_eq!(listed_of(snapshot), expected, "{n}");
    }
}

#[test]
fn many_records_in_any_order_are_listed_in_order_and_copied() {
    let directory = tempfile::tempdir().unwrap();
    let (_, registry) = new_registry_in(directory.path());
    let ids: Vec<String> = (0..20_000).map(|n| format!("granule.{n:06}")).collect();
    let mut granules = Change::new();
    granules.options.create_dataset = true;
    for (n, granule) in ids.iter().enumerate().rev() {
        let browse = file(granule, "z/browse.png", Some(n as u64), None);
        granules.ingest(entry(granule, &[sha256(granule, n as u8), browse])).unwrap();
    }
    let applied = registry.change(&name("D"), &granules, &Stamp::at(second(1), now())).unwrap();
    assert_eq!(applied.files, counts(40_000, 0, 0));
    let expected = listed(&registry);
    assert_eq!(expected.len(), 40_000);
    assert!(expected.is_sorted());
    assert_verifies(&registry);
    let copy = directory.path().join("copy.db");
    registry.copy_to(&copy, accession::registry::PaymentIds::LeftOut).unwrap();
    let copy = Registry::open(&copy, Access::Write).unwrap();
    assert_eq!(listed(&copy), expected);
    // The numbers go on after those that were copied.
    add(&copy, &[file(&ids[0], "new", Some(1), None)], &options()).unwrap();
    assert_verifies(&copy);
}

#[test]
fn nothing_is_added_to_a_list_while_its_files_are_read() {
    let registry = new_registry();
    registry.change(&name("D"), &change(["A", "B"], []), &stamp()).unwrap();
    let snapshot = registry.snapshot().unwrap();
    let set = snapshot.select(&Selection::Dataset { name: name("D"), at: None }).unwrap().set;
    let mut listed = Listing::new();
    listed.add(id("A")).unwrap();
    let files = snapshot.files_listed(&set, &listed).unwrap();
    assert_eq!(listed.add(id("B")).unwrap_err().kind(), ErrorKind::Usage);
    drop(files);
    listed.add(id("B")).unwrap();
    assert_eq!(snapshot.files_listed(&set, &listed).unwrap().count(), 2);
}
