//! Listings that the library reads: files in any format, directories, and streams.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use accession::file::{Algorithm, Checksum};
use accession::listing::{DirectoryListing, InputFormat};
use accession::{ChangeOptions, Clock, ErrorKind, IfMissing, Listing, Location, Registry, Watcher};
use accession::{ErrorDetail, ListingOptions};
use harness::oracle::naive;
use harness::store::new_registry;
use harness::values::name;
use sha2::{Digest, Sha256};

/// Writes files into a directory. The content of each file is its path.
fn write(directory: &Path, paths: &[&str]) {
    for path in paths {
        let file = directory.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, path).unwrap();
    }
}

fn read(directory: &Path) -> Listing {
    Listing::read(directory, &ListingOptions::new()).unwrap()
}

/// The ids of a list, each with the size of its file.
fn sizes(listing: &Listing) -> Vec<(String, Option<u64>)> {
    let size = |granule: accession::Granule| {
        let size = granule.content.files().first().and_then(|file| file.size());
        (granule.granule_id.to_string(), size)
    };
    listing.files().unwrap().map(|granule| size(granule.unwrap())).collect()
}

/// Asserts that reading the directory fails with this kind of error, and that the error names this entry.
fn assert_refused(directory: &Path, kind: ErrorKind, entry: &Path) {
    let error = Listing::read(directory, &ListingOptions::new()).unwrap_err();
    assert_eq!((error.kind(), error.path()), (kind, Some(entry)), "{error}");
}

#[test]
fn the_files_of_a_directory_are_listed_by_their_paths_and_sizes() {
    let directory = harness::directory();
    write(directory.path(), &["b.nc", "2001/a.nc", "2001/02/c c.nc", "2001/02/é"]);
    let listing = read(directory.path());
    let expected = [("2001/02/c c.nc", 14), ("2001/02/é", 10), ("2001/a.nc", 9), ("b.nc", 4)];
    let expected = expected.map(|(id, size)| (id.to_owned(), Some(size)));
    assert_eq!(sizes(&listing), expected);
    let ids = expected.iter().map(|(id, _)| id.as_str());
    assert_eq!(listing.identify().unwrap().identifier, naive(ids));

    let options = ListingOptions::new().without_files(true);
    let names = Listing::read(directory.path(), &options).unwrap();
    assert!(!names.states_files() && listing.states_files());
    let (names, listing) = (names.identify().unwrap(), listing.identify().unwrap());
    assert_eq!(names.identifier, listing.identifier);
    assert_ne!(names.digest, listing.digest);
}

#[test]
fn links_to_files_are_followed_and_links_to_directories_and_hidden_names_are_counted() {
    let (directory, elsewhere) = (harness::directory(), harness::directory());
    write(directory.path(), &["a", "d/b", ".hidden", ".git/config", "d/.DS_Store"]);
    write(elsewhere.path(), &["target", "tree/c"]);
    symlink(elsewhere.path().join("target"), directory.path().join("d/link")).unwrap();
    symlink(elsewhere.path().join("tree"), directory.path().join("tree")).unwrap();
    // This link leads back to the directory itself.
    symlink("..", directory.path().join("d/up")).unwrap();
    let _socket = UnixListener::bind(directory.path().join("socket")).unwrap();
    let listing = read(directory.path());
    let expected = [("a", 1), ("d/b", 3), ("d/link", 6)];
    assert_eq!(sizes(&listing), expected.map(|(id, size)| (id.to_owned(), Some(size))));
    let skipped = "skipped 3 hidden names, 2 links to directories, 1 special file";
    assert!(listing.warnings()[0].message.ends_with(skipped), "{:?}", listing.warnings());
    // The directory can be named by a symbolic link.
    let link = elsewhere.path().join("link");
    symlink(directory.path(), &link).unwrap();
    assert_eq!(sizes(&read(&link)), sizes(&listing));
}

#[test]
fn an_entry_that_cannot_be_read_is_an_error_that_names_it() {
    for (kind, make) in [
        (ErrorKind::Io, (|entry| symlink("missing", entry).unwrap()) as fn(&Path)),
        (ErrorKind::Io, |entry| symlink(entry, entry).unwrap()),
        (ErrorKind::Input, |entry| fs::write(entry, "").unwrap()),
    ] {
        let directory = harness::directory();
        write(directory.path(), &["a", "d/b"]);
        let entry = match kind {
            ErrorKind::Io => directory.path().join("d/entry"),
            _ => directory.path().join("d").join(OsStr::from_bytes(b"gr\xf6sse")),
        };
        make(&entry);
        assert_refused(directory.path(), kind, &entry);
    }
    let directory = harness::directory();
    write(directory.path(), &["a\tb"]);
    assert_refused(directory.path(), ErrorKind::Input, &directory.path().join("a\tb"));
    let missing = directory.path().join("missing");
    assert_refused(&missing, ErrorKind::Io, &missing);
}

#[test]
fn ten_thousand_files_are_a_dataset() {
    let directory = harness::directory();
    let paths: Vec<String> = (0..10_000).map(|n| format!("{:02}/{n:05}.nc", n % 100)).collect();
    write(directory.path(), &paths.iter().map(String::as_str).collect::<Vec<_>>());
    let listing = read(directory.path());
    assert_eq!(listing.count(), 10_000);
    let registry = new_registry();
    let options = ChangeOptions::new().if_missing(IfMissing::Create);
    let synced = registry.sync(&name("D"), &listing, &options).unwrap();
    let identifier = naive(paths.iter().map(String::as_str));
    assert_eq!(synced.in_force.unwrap().identifier, identifier);
}

#[test]
fn the_checksums_of_the_files_of_a_directory_are_computed_wherever_links_lead() {
    let (directory, elsewhere) = (harness::directory(), harness::directory());
    write(directory.path(), &["a", "d/b", "d/large", ".hidden"]);
    write(elsewhere.path(), &["target"]);
    symlink(elsewhere.path().join("target"), directory.path().join("d/link")).unwrap();
    fs::write(directory.path().join("d/large"), vec![b'x'; 1 << 20]).unwrap();
    let hashed = ListingOptions::new().checksums(Algorithm::Sha256);
    let listing = Listing::read(directory.path(), &hashed).unwrap();
    assert_eq!(listing.count(), 4);
    assert!(listing.warnings()[0].message.ends_with("skipped 1 hidden name"));
    let listed: Vec<accession::Granule> = listing.files().unwrap().map(Result::unwrap).collect();
    for granule in &listed {
        let bytes = fs::read(directory.path().join(granule.granule_id.as_str())).unwrap();
        let file = &granule.content.files()[0];
        let digest = Checksum::from_bytes(Algorithm::Sha256, &Sha256::digest(&bytes)).unwrap();
        assert_eq!(file.size(), Some(bytes.len() as u64), "{granule:?}");
        assert_eq!(file.checksums(), [digest], "{granule:?}");
    }
    let names = Listing::read(directory.path(), &hashed.clone().without_files(true)).unwrap();
    assert!(!names.states_files());
    let list = directory.path().join("a");
    let error = Listing::read(&list, &hashed).unwrap_err();
    assert_eq!(error.detail(), Some(ErrorDetail::NotOfFormat), "a file has no files: {error}");
}

#[test]
fn a_file_that_changes_before_it_is_hashed_is_an_error_that_names_it() {
    let directory = harness::directory();
    write(directory.path(), &["a", "b"]);
    let hashed = ListingOptions::new().checksums(Algorithm::Sha256);
    let mut files = DirectoryListing::open(directory.path(), &hashed, &Watcher::new()).unwrap();
    // The directory has already been read.
    let path = directory.path().join("b");
    fs::write(&path, "longer").unwrap();
    let error = files.find_map(Result::err).unwrap();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(path.as_path())), "{error}");
    assert!(files.next().is_none());
}

#[test]
fn the_files_of_the_registry_are_left_out_of_its_directory() {
    let directory = harness::directory();
    write(directory.path(), &["a", "d/archive.db", "archive.db.txt"]);
    let path = directory.path().join("archive.db");
    let _registry = Registry::create(&path, Clock::system()).unwrap();
    write(directory.path(), &["archive.db-journal"]);
    symlink("../archive.db", directory.path().join("d/link")).unwrap();
    let ids = |options: &ListingOptions| -> Vec<String> {
        let listing = Listing::read(directory.path(), options).unwrap();
        sizes(&listing).into_iter().map(|(id, _)| id).collect()
    };
    let options = ListingOptions::new().registry(Location::from(&path));
    assert_eq!(ids(&options), ["a", "archive.db.txt", "d/archive.db"]);
    assert!(ids(&ListingOptions::new()).len() > 4);
}

#[test]
fn a_directory_without_an_entry_may_be_one_where_nothing_is_mounted() {
    let directory = harness::directory();
    assert_refused(directory.path(), ErrorKind::NotMounted, directory.path());
}

#[test]
fn a_directory_without_a_file_is_an_empty_list() {
    let directory = harness::directory();
    fs::create_dir(directory.path().join("d")).unwrap();
    let listing = read(directory.path());
    assert!(listing.is_empty());
    assert_eq!(listing.warnings(), []);
}

#[test]
fn options_that_only_files_have_are_refused_for_a_directory() {
    let directory = harness::directory();
    for options in [
        ListingOptions::new().format(InputFormat::Csv),
        ListingOptions::new().column("id".to_owned()),
        ListingOptions::new().with_etags(true),
    ] {
        let error = Listing::read(directory.path(), &options).unwrap_err();
        assert_eq!(error.detail(), Some(ErrorDetail::NotOfFormat), "{options:?}");
    }
}

#[test]
fn a_file_and_a_stream_are_read_in_any_format() {
    let directory = harness::directory();
    let path = directory.path().join("list.csv");
    let table = "granule_id,bytes\nA,7\nB,8\nA,7\n";
    fs::write(&path, table).unwrap();
    let options = ListingOptions::new().size_column("bytes".to_owned());
    let file = Listing::read(&path, &options).unwrap();
    let stream = Listing::from_reader(table.as_bytes(), "standard input", &options).unwrap();
    for listing in [file, stream] {
        let expected = [("A", 7), ("B", 8)].map(|(id, size)| (id.to_owned(), Some(size)));
        assert_eq!((sizes(&listing), listing.count()), (expected.to_vec(), 3));
        assert_eq!(listing.warnings(), []);
    }
    let odd = Listing::from_reader(&b"A\n#March\n"[..], "ids", &ListingOptions::new()).unwrap();
    assert_eq!((odd.count(), odd.warnings().len()), (2, 1));
    let odd = Listing::from_reader(&b"#March\nA\n"[..], "ids", &ListingOptions::new());
    assert_eq!(odd.unwrap_err().kind(), ErrorKind::NotAList);
    let error = Listing::from_reader(&b"a\x01b\n"[..], "ids", &ListingOptions::new()).unwrap_err();
    assert!(error.to_string().starts_with("ids:1: "), "{error}");
}

#[test]
fn granules_that_a_file_marks_as_deleted_are_counted_and_missing_pages_refused() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/input");
    let listing = Listing::read(directory.join("esgf.json"), &ListingOptions::new()).unwrap();
    assert!(listing.warnings()[0].to_string().contains("skipped 1 granule that the file marks"));
    let page = r#"{"hits":3,"took":1,"items":[{"umm":{"GranuleUR":"A"}}]}"#;
    let page = Listing::from_reader(page.as_bytes(), "page", &ListingOptions::new());
    assert_eq!(page.unwrap_err().kind(), ErrorKind::Incomplete);
}
