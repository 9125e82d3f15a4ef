//! The temporary directory with the logs that mirrors read.

use harness::values::clock;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use accession::Registry;

use crate::running::serving::Serving;
use crate::sockets::serve;
use harness::files::files;
use harness::values::step;

/// Serves a registry with this directory for temporary files.
fn serve_with(path: &Path, temporary: &Path) -> Serving {
    let mut command = Serving::command(path, &[]);
    command.env("TMPDIR", temporary);
    Serving::of(&mut command).unwrap()
}

fn registry(path: &Path, sets: &[&[&str]]) -> Registry {
    let registry = Registry::create(path, clock()).unwrap();
    for (at, ingested) in sets.iter().enumerate() {
        step(&registry, "US", at as i64, ingested.iter().copied(), []);
    }
    registry
}

/// The status and the whole response.
fn get(serving: &Serving, file: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(&serving.address).unwrap();
    let request =
        format!("GET /datasets/US/{file} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    (response.split(' ').nth(1).unwrap().parse().unwrap(), response)
}

fn head(serving: &Serving) -> (u16, String) {
    get(serving, "head.json")
}

#[test]
fn a_temporary_directory_is_removed_at_the_end() {
    let directory = harness::directory();
    let path = directory.path().join("us.db");
    registry(&path, &[&["A"], &["B"]]);
    let temporary = directory.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let mut serving = serve_with(&path, &temporary);
        assert!(files(&temporary).is_empty(), "nothing was asked for");
        assert_eq!(head(&serving).0, 200);
        let found = files(&temporary);
        assert!(found.keys().any(|path| path.ends_with("datasets/US/head.json")), "{found:?}");
        let id = rustix::process::Pid::from_child(&serving.child);
        rustix::process::kill_process(id, signal).unwrap();
        assert!(serving.child.wait().unwrap().success());
        assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    }
}

#[test]
fn the_temporary_directory_of_a_killed_server_is_removed_by_the_next_one() {
    let directory = harness::directory();
    let path = directory.path().join("us.db");
    registry(&path, &[&["A"], &["B"]]);
    let temporary = directory.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let start = || serve_with(&path, &temporary);
    let heads = || {
        let found = files(&temporary).into_keys();
        found.filter(|path| path.ends_with("datasets/US/head.json")).collect::<Vec<_>>()
    };
    let (mut killed, living) = (start(), start());
    assert_eq!(head(&living).0, 200);
    let of_living = heads();
    assert_eq!(head(&killed).0, 200);
    assert_eq!(heads().len(), 2);
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert_eq!(heads().len(), 2, "it could remove nothing");
    let next = start();
    assert_eq!(head(&next).0, 200, "now it has started");
    let left = heads();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(of_living.iter().all(|path| left.contains(path)), "that of the living server stays");
    assert_eq!((head(&next).0, head(&living).0), (200, 200));
    assert_eq!(heads().len(), 2);
}

#[test]
fn a_directory_for_temporary_files_that_cannot_be_used_is_an_outage() {
    let directory = harness::directory();
    let path = directory.path().join("us.db");
    registry(&path, &[&["A"], &["B"]]);
    let temporary = directory.path().join("tmp");
    let serving = serve_with(&path, &temporary);
    let (status, response) = head(&serving);
    assert_eq!(status, 503, "{response}");
    assert!(!response.contains(directory.path().to_str().unwrap()), "{response}");
    std::fs::create_dir(&temporary).unwrap();
    assert_eq!(head(&serving).0, 200);
}

#[test]
fn a_history_that_was_replaced_is_published_anew_in_a_temporary_directory() {
    let directory = harness::directory();
    let at = |file: &str| directory.path().join(file);
    registry(&at("us.db"), &[&["A"], &["B"], &["C"]]);
    registry(&at("other.db"), &[&["A"], &["X"]]);
    let serving = serve(&at("us.db"), &[]);
    let (_, before) = head(&serving);
    assert!(before.contains("\"changes\":3"), "{before}");
    // Like `accession registry restore`.
    std::fs::rename(at("us.db"), at("old.db")).unwrap();
    std::fs::rename(at("other.db"), at("us.db")).unwrap();
    let (status, after) = head(&serving);
    assert_eq!(status, 200, "{after}");
    assert!(after.contains("\"changes\":2"), "{after}");
}

#[test]
fn no_symbolic_link_in_the_directory_is_followed() {
    let directory = harness::directory();
    let (path, temporary) = (directory.path().join("us.db"), directory.path().join("tmp"));
    registry(&path, &[&["A"]]);
    std::fs::create_dir(&temporary).unwrap();
    let serving = serve_with(&path, &temporary);
    assert_eq!(head(&serving).0, 200);
    let secret = directory.path().join("secret");
    std::fs::write(&secret, "not for mirrors").unwrap();
    let found = files(&temporary);
    let published = found.keys().find(|path| path.ends_with("datasets/US/head.json")).unwrap();
    let subsets = temporary.join(published).with_file_name("subsets.jsonl");
    let _ = std::fs::remove_file(&subsets);
    std::os::unix::fs::symlink(&secret, &subsets).unwrap();
    let (status, response) = get(&serving, "subsets.jsonl");
    assert!(status == 503 && !response.contains("not for"), "{response}");
}
