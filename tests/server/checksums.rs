//! The checksums of the files of a set, as readers verify them.

use accession::model::{Algorithm, Checksum, FileContent, FilePath, FileRecord};
use accession::registry::{FileListing, FileOptions};

use crate::site::{Served, stamp};
use crate::values::{id, name, now};

fn add(served: &Served, dataset: &str, granule: &str, path: &str, algorithm: Algorithm, byte: u8) {
    let bytes = vec![byte; algorithm.checksum_bytes().unwrap()];
    let checksum = Checksum::from_bytes(algorithm, &bytes).unwrap();
    let content = FileContent::new(None, Some(checksum)).unwrap();
    let mut files = FileListing::new();
    let record = FileRecord::new(id(granule), FilePath::new(path).unwrap(), content);
    files.add(&record, None).unwrap();
    let note = Some("again".to_owned());
    let options = FileOptions { accept_content: true, note, ..FileOptions::default() };
    served.registry.add_files(&name(dataset), &files, &options, &stamp(now())).unwrap();
}

/// Two datasets with the same granules, and the address of their checksums.
fn served() -> (Served, String) {
    let served = Served::new();
    for dataset in ["US", "THEM"] {
        served.change(dataset, "2001-01-02T00:00:00Z", &["A", "B"], &[]);
    }
    let latest = served.registry.snapshot().unwrap().dataset(&name("US")).unwrap().latest;
    let address = format!("/DI:{}/checksums", latest.unwrap().identifier);
    (served, address)
}

#[test]
fn checksums_are_listed_as_sha256sum_reads_them_and_what_is_left_out_is_counted() {
    let (served, address) = served();
    let none = served.get(&address);
    assert_eq!(none.status, 404);
    assert!(none.text().contains("\"kind\":\"no-checksums\""), "{}", none.text());
    add(&served, "US", "A", "data\\1", Algorithm::Sha256, 1);
    add(&served, "US", "A", "data\\1", Algorithm::Md5, 2);
    let listed = served.get(&address);
    assert_eq!(listed.text(), format!("\\{}  data\\\\1\n", "01".repeat(32)));
    assert_eq!(listed.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(listed.header("cache-control"), "no-cache");
    assert_eq!(listed.header("accession-left-out"), "1");
    let md5 = served.get(&format!("{address}?algorithm=MD5"));
    assert_eq!(md5.text(), format!("\\{}  data\\\\1\n", "02".repeat(16)));
    assert_ne!(md5.header("etag"), listed.header("etag"));
    assert_eq!(served.get(&format!("{address}?algorithm=sha-512")).status, 404);
    assert_eq!(served.get(&format!("{address}?algorithm=-")).status, 400);

    // It can change: another record shows in the next response.
    let tag = listed.header("etag").to_owned();
    let unchanged = served.ask(axum::http::Method::GET, &address, &[("if-none-match", &tag)], "");
    assert_eq!(unchanged.status, 304);
    add(&served, "US", "B", "B", Algorithm::Sha256, 3);
    let changed = served.ask(axum::http::Method::GET, &address, &[("if-none-match", &tag)], "");
    assert_eq!((changed.status, changed.text().lines().count()), (200, 2));
    assert_eq!(changed.header("accession-left-out"), "");
}

#[test]
fn datasets_whose_lists_differ_are_named() {
    let (served, address) = served();
    add(&served, "US", "A", "A", Algorithm::Sha256, 1);
    // A dataset without any records does not count.
    assert_eq!(served.get(&address).status, 200);
    add(&served, "THEM", "A", "A", Algorithm::Sha256, 2);
    let ambiguous = served.get(&address);
    assert_eq!(ambiguous.status, 409);
    assert!(ambiguous.text().contains("US") && ambiguous.text().contains("THEM"));
    let one = served.get(&format!("{address}?dataset=THEM"));
    assert_eq!(one.text(), format!("{}  A\n", "02".repeat(32)));
    add(&served, "US", "A", "A", Algorithm::Sha256, 2);
    assert_eq!(served.get(&address).status, 200);
}
