//! Files of a directory that no granule has, and checksums that another program computed.

use harness::values::AtTime;
use std::fs;
use std::path::Path;

use accession::FileRecord;
use accession::file::{Algorithm, Checksum, Content};
use accession::fixity::{DirectoryFiles, FoundFiles, MountCheck, RecordedFile, Root};
use accession::{ListingEntry, Selection};

use harness::history::{change, name, second, stating, with_file};
use harness::store::new_registry;

fn unexpected(root: &Path, expected: &[&str]) -> Vec<String> {
    let root = Root::open(root, MountCheck::Unknown).unwrap();
    let mut files = DirectoryFiles::list(&root).unwrap();
    for path in expected {
        files.expect(path).unwrap();
    }
    let unexpected = files.unexpected().unwrap().map(Result::unwrap);
    unexpected.map(|(path, problem)| format!("{path} {}", problem.status)).collect()
}

#[test]
fn files_that_no_granule_has_are_listed_in_order_of_path() {
    let directory = harness::directory();
    for path in ["b/2", "b/1", "b/c/d/e", "b.nc", "a", "z/only"] {
        let file = directory.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }
    fs::create_dir(directory.path().join("empty")).unwrap();
    let all = ["a", "b.nc", "b/1", "b/2", "b/c/d/e", "z/only"];
    let shown: Vec<String> = all.iter().map(|path| format!("{path} unexpected")).collect();
    assert_eq!(unexpected(directory.path(), &[]), shown);
    assert_eq!(unexpected(directory.path(), &all), [""; 0]);
    // Paths of granules are in any order, repeated, missing, and written in several ways.
    let expected = ["z//only", "./b/2", "none", "b/c/./d/e", "a", "b", "a"];
    assert_eq!(unexpected(directory.path(), &expected), ["b.nc unexpected", "b/1 unexpected"]);
}

#[cfg(unix)]
#[test]
fn a_link_is_a_file_unless_it_leads_to_a_directory() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    let directory = harness::directory();
    let path = |name: &str| directory.path().join(name);
    fs::create_dir(path("data")).unwrap();
    fs::write(path("data/a"), "").unwrap();
    symlink("data", path("directory")).unwrap();
    symlink(".", path("data/loop")).unwrap();
    symlink("data/a", path("file")).unwrap();
    symlink("nowhere", path("dangling")).unwrap();
    fs::write(directory.path().join(std::ffi::OsStr::from_bytes(b"\xff")), "").unwrap();
    assert_eq!(
        unexpected(directory.path(), &["data/a"]),
        ["dangling unexpected", "file unexpected", "\u{fffd} unexpected"]
    );
}

#[test]
fn adding_a_short_checksum_to_a_long_one_changes_neither_the_list_nor_the_digest() {
    let registry = new_registry();
    let of_file = |text: &str| with_file("A", "A", None, Some(text.parse().unwrap()));
    let dataset = name("US");
    let state = |text: &str, seconds| {
        let stated = stating([of_file(text)]);
        registry.change(&dataset, &stated.at(second(seconds))).unwrap();
        let snapshot = registry.snapshot().unwrap();
        let selection = Selection::Dataset { name: dataset.clone(), at: None };
        let set = snapshot.select(&selection).unwrap().set;
        let files = snapshot.registry().files(&set);
        drop(snapshot);
        let totals = files.totals().unwrap();
        (set.digest(), totals.usual_algorithm().unwrap().to_string())
    };
    registry.change(&dataset, &change(["A"], []).at(second(0))).unwrap();
    let of_long = state(&format!("blake3:{}", "a1".repeat(32)), 1);
    assert_eq!(of_long.1, "blake3");
    assert_eq!(state("adler32:00620062", 2), of_long);
    let of_sha256 = state(&format!("sha-256:{}", "b2".repeat(32)), 3);
    assert_eq!(of_sha256.1, "sha-256");
    assert_ne!(of_sha256.0, of_long.0);
}

fn sha256(digit: &str) -> Checksum {
    Checksum::parse(Algorithm::Sha256, &digit.repeat(64)).unwrap()
}

fn md5(digit: &str) -> Checksum {
    Checksum::parse(Algorithm::Md5, &digit.repeat(32)).unwrap()
}

fn recorded(path: &str, size: Option<u64>, checksums: &[Checksum]) -> RecordedFile {
    let mut file = RecordedFile::unrecorded(format!("granule of {path}").parse().unwrap());
    file.path = path.to_owned();
    (file.size, file.checksums) = (size, checksums.to_vec());
    file
}

/// What was found of a file whose path is the id of its granule.
fn found(path: &str, size: Option<u64>, checksum: Option<Checksum>) -> ListingEntry {
    let granule_id = path.parse().unwrap();
    let file = FileRecord::new(&granule_id, None, size, checksum).unwrap();
    let content = Some(Content::of(&granule_id, vec![file]).unwrap());
    ListingEntry { content, ..ListingEntry::from(granule_id) }
}

#[test]
fn a_list_of_another_program_is_compared_as_the_files_are() {
    let mut files = FoundFiles::new();
    // In any order, one algorithm a line, and files of which nothing is recorded.
    for (path, (size, checksum)) in [
        ("z", (None, Some(sha256("a")))),
        ("good", (Some(3), Some(sha256("a")))),
        ("unknown", (None, Some(sha256("a")))),
        ("both", (None, Some(md5("b")))),
        ("both", (None, Some(sha256("a")))),
        ("second", (None, Some(md5("b")))),
        ("second", (None, Some(sha256("f")))),
        ("size", (Some(4), Some(sha256("a")))),
        ("only-size", (Some(3), None)),
        ("other-algorithm", (Some(3), Some(md5("b")))),
        ("no-size", (None, Some(md5("b")))),
    ] {
        files.add(&found(path, size, checksum), |path| path).unwrap();
    }
    for file in [
        recorded("z", None, &[sha256("a")]),
        recorded("size", Some(3), &[sha256("a")]),
        recorded("second", None, &[md5("b"), sha256("a")]),
        recorded("both", None, &[md5("b"), sha256("a")]),
        recorded("missing", Some(3), &[]),
        recorded("nothing", None, &[]),
        recorded("only-size", Some(3), &[]),
        recorded("other-algorithm", Some(3), &[sha256("a")]),
        recorded("no-size", Some(3), &[]),
        recorded("good", Some(3), &[sha256("a")]),
    ] {
        files.expect(&file).unwrap();
    }
    let mut compared = files.compare().unwrap();
    let lines: Vec<String> = compared
        .by_ref()
        .map(|finding| {
            let finding = finding.unwrap();
            assert_eq!(finding.granule, Some(format!("granule of {}", finding.path)));
            format!("{} {}", finding.path, finding.status)
        })
        .collect();
    assert_eq!((compared.summary().files, compared.summary().findings), (10, 6));
    assert_eq!(
        lines,
        [
            "missing missing",
            "no-size no-record",
            "nothing no-record",
            "other-algorithm cannot-compute",
            "second checksum",
            "size size",
        ]
    );
}

#[test]
fn two_granules_may_have_the_same_file() {
    let mut files = FoundFiles::new();
    files.add(&found("A", None, Some(md5("b"))), |path| path).unwrap();
    for id in ["one", "two"] {
        let mut file = recorded("A", None, &[md5("b")]);
        file.granule_id = id.parse().unwrap();
        files.expect(&file).unwrap();
    }
    let mut compared = files.compare().unwrap();
    assert!(compared.next().is_none());
    assert_eq!(compared.summary().files, 2);
}
