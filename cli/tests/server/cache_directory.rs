//! The directory with the logs that mirrors read: one that is kept, and a temporary one.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

use accession::Registry;
use accession::publish::publish;

use crate::running::serving::Serving;
use crate::sockets::serve;
use harness::files::files;
use harness::values::step;

/// The program over a registry, with this directory for its temporary files.
fn serve_with(path: &Path, temporary: &Path) -> Serving {
    let mut command = Serving::command(path, &[]);
    command.env("TMPDIR", temporary);
    Serving::of(command)
}

fn registry(path: &Path, sets: &[&[&str]]) -> Registry {
    let registry = Registry::create(path).unwrap();
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
fn a_kept_directory_with_another_history_is_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let at = |file: &str| directory.path().join(file);
    let other = registry(&at("other.db"), &[&["A"], &["B"], &["C"]]);
    publish(&other, &at("cache"), &[], |_, published| published.map(drop)).unwrap();
    registry(&at("us.db"), &[&["A"], &["X"]]);
    let before = files(&at("cache"));
    let cache = at("cache");
    {
        let serving = serve(&at("us.db"), &["--cache", cache.to_str().unwrap()]);
        for _ in 0..2 {
            let (status, response) = head(&serving);
            assert_eq!(status, 409, "{response}");
            assert!(response.contains("\"kind\":\"published-otherwise\""), "{response}");
            let path = directory.path().to_str().unwrap();
            assert!(!response.contains(path), "no path of the server: {response}");
        }
    }
    assert_eq!(files(&cache), before);
    // The log says which directory and which change.
    let mut command = Serving::command(&at("us.db"), &["--cache", cache.to_str().unwrap()]);
    let log = at("log");
    command.stderr(std::fs::File::create(&log).unwrap());
    let serving = Serving::of(command);
    assert_eq!(head(&serving).0, 409);
    drop(serving);
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("change 2, at 2001-01-01T00:00:01Z"), "{log}");
    assert!(log.contains("cache/datasets/US"), "{log}");
}

#[test]
fn a_kept_directory_is_continued_and_what_else_it_has_stays() {
    let directory = tempfile::tempdir().unwrap();
    let at = |file: &str| directory.path().join(file);
    let us = registry(&at("us.db"), &[&["A"], &["B"]]);
    publish(&us, &at("cache"), &[], |_, published| published.map(drop)).unwrap();
    let log = at("cache/datasets/US/log/000000.jsonl");
    let before = std::fs::read(&log).unwrap();
    std::fs::write(at("cache/notes.txt"), "ours").unwrap();
    step(&us, "US", 9, ["C"], []);
    let cache = at("cache");
    let serving = serve(&at("us.db"), &["--cache", cache.to_str().unwrap()]);
    let (status, response) = head(&serving);
    assert!(status == 200 && response.contains("\"changes\":3"), "{response}");
    let after = std::fs::read(&log).unwrap();
    assert!(after.len() > before.len() && after.starts_with(&before));
    drop(serving);
    assert!(log.exists(), "it is kept");
    assert_eq!(std::fs::read(at("cache/notes.txt")).unwrap(), b"ours");
}

#[test]
fn a_directory_that_cannot_be_made_is_reported_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("us.db");
    registry(&path, &[&["A"]]);
    std::fs::write(directory.path().join("file"), "").unwrap();
    let cache = directory.path().join("file/cache");
    let mut command = Serving::command(&path, &["--json", "--cache", cache.to_str().unwrap()]);
    let output = command.stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(error["error"]["kind"], "io", "{error}");
    assert!(error["error"]["message"].as_str().unwrap().contains("file/cache"), "{error}");
    assert_eq!(output.stdout, b"");
}

#[test]
fn a_temporary_directory_is_removed_at_the_end() {
    let directory = tempfile::tempdir().unwrap();
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
    let directory = tempfile::tempdir().unwrap();
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
    let directory = tempfile::tempdir().unwrap();
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
    let directory = tempfile::tempdir().unwrap();
    let at = |file: &str| directory.path().join(file);
    registry(&at("us.db"), &[&["A"], &["B"], &["C"]]);
    registry(&at("other.db"), &[&["A"], &["X"]]);
    let serving = serve(&at("us.db"), &[]);
    let (_, before) = head(&serving);
    assert!(before.contains("\"changes\":3"), "{before}");
    // As `accession restore` does it.
    std::fs::rename(at("us.db"), at("old.db")).unwrap();
    std::fs::rename(at("other.db"), at("us.db")).unwrap();
    let (status, after) = head(&serving);
    assert_eq!(status, 200, "{after}");
    assert!(after.contains("\"changes\":2"), "{after}");
}

#[test]
fn no_symbolic_link_in_the_directory_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let (path, cache) = (directory.path().join("us.db"), directory.path().join("cache"));
    registry(&path, &[&["A"]]);
    let serving = serve(&path, &["--cache", cache.to_str().unwrap()]);
    assert_eq!(head(&serving).0, 200);
    let secret = directory.path().join("secret");
    std::fs::write(&secret, "not for mirrors").unwrap();
    let subsets = cache.join("datasets/US/subsets.jsonl");
    let _ = std::fs::remove_file(&subsets);
    std::os::unix::fs::symlink(&secret, &subsets).unwrap();
    let (status, response) = get(&serving, "subsets.jsonl");
    assert!(status == 503 && !response.contains("not for"), "{response}");
}
