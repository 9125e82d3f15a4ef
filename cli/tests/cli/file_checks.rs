//! Checks of files that are interrupted, killed, or run where nothing can be recorded.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::running::console::{Sandbox, stderr};
use crate::running::nobody::{as_nobody, set_mode};
use harness::installed::installed;

/// A dataset with a small file, a sparse file that takes minutes to read, and another small file.
fn sandbox() -> Sandbox {
    Sandbox::after(&[
        "mkdir data; printf abc > data/A; truncate -s 200G data/B; printf abc > data/C
        for file in A B C; do
            echo \"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  $file\"
        done | accession ingest D --algorithm sha-256 --create -",
    ])
}

fn start(sandbox: &Sandbox, arguments: &str) -> Child {
    let mut command = sandbox.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until a check has begun and had time to read the first file.
fn wait_for_run(registry: &Path) {
    let began = Instant::now();
    let has_begun = || -> rusqlite::Result<bool> {
        let connection = Connection::open(registry)?;
        connection.query_row("SELECT count(*) > 0 FROM fixity_root", [], |row| row.get(0))
    };
    while !has_begun().unwrap_or(false) {
        assert!(began.elapsed() < Duration::from_secs(60), "no check has begun");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(2));
}

fn signal(child: &Child, name: &str) {
    let mut kill = Command::new("kill");
    assert!(kill.args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn ctrl_c_ends_a_check_at_once_and_keeps_what_was_checked() {
    for arguments in ["", "--for 1h"] {
        let sandbox = sandbox();
        let registry = sandbox.path().join("accession.db");
        let check =
            format!("--json fixity check D --root data --root-name nas --jobs 2 {arguments}");
        let child = start(&sandbox, &check);
        wait_for_run(&registry);
        signal(&child, "-INT");
        let asked = Instant::now();
        let output = child.wait_with_output().unwrap();
        // The documents promise a second, but this machine may be busy.
        assert!(asked.elapsed() < Duration::from_secs(60), "{:?}", asked.elapsed());
        assert_eq!(output.status.code(), Some(2));
        let printed = stderr(&output);
        assert!(
            printed.contains("\"interrupted\"") && printed.contains("is recorded"),
            "{printed}"
        );
        let summary = "{\"summary\":{\"files\":1,\"bytes\":3,\"findings\":0,\"complete\":false,\"did\":\"checked\"}}\n";
        assert_eq!(String::from_utf8(output.stdout).unwrap(), summary);
        let run = Connection::open(&registry).unwrap().query_row(
            "SELECT cursor || files || (locked_until IS NULL) FROM fixity_root",
            [],
            |row| row.get::<_, String>(0),
        );
        assert_eq!(run.unwrap(), "A11");
    }
}

/// Waits until a process has a file open.
#[cfg(target_os = "linux")]
pub fn wait_until_open(child: &Child, file: &Path) {
    let file = file.canonicalize().unwrap();
    let began = Instant::now();
    let is_open = || {
        let open = std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap();
        open.filter_map(|open| std::fs::read_link(open.unwrap().path()).ok()).any(|it| it == file)
    };
    while !is_open() {
        assert!(began.elapsed() < Duration::from_secs(60), "the file was not opened");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_a_computation_at_once_and_keeps_what_was_computed() {
    let sandbox = Sandbox::new();
    sandbox.run(
        "mkdir data; printf abc > data/A; mkfifo data/B; truncate -s 200G data/C
        printf 'A\nB\nC\n' | accession ingest D --create -",
    );
    let child = start(&sandbox, "--json fixity compute D --root data --jobs 1");
    wait_until_open(&child, &sandbox.path().join("data/C"));
    // Leaves time to store the results of the previous files.
    std::thread::sleep(Duration::from_secs(2));
    let asked = Instant::now();
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    // The documents promise a second, but this machine may be busy.
    assert!(asked.elapsed() < Duration::from_secs(60), "{:?}", asked.elapsed());
    assert_eq!(output.status.code(), Some(2));
    let stopped = stderr(&output);
    assert!(stopped.contains("\"interrupted\"") && stopped.contains("is recorded"), "{stopped}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let (row, summary) = printed.split_once('\n').unwrap();
    assert!(row.starts_with("{\"granule\":\"B\"") && row.contains("unreadable"), "{row}");
    assert_eq!(
        summary,
        "{\"summary\":{\"files\":2,\"bytes\":3,\"findings\":1,\"complete\":false,\"did\":\"computed\"}}\n"
    );
    let listed = sandbox.command("granules D --format checksums").output().unwrap();
    let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  A\n";
    assert_eq!(String::from_utf8(listed.stdout).unwrap(), known);
}

#[test]
fn files_are_checked_and_nothing_is_recorded_where_the_registry_cannot_be_written() {
    let sandbox = sandbox();
    sandbox.run("printf ab > data/B");
    let registry = sandbox.path().join("accession.db");
    let bytes = std::fs::read(&registry).unwrap();
    for arguments in ["", "--for 1h"] {
        let check = format!("--json fixity check D --root data {arguments}");
        set_mode(&registry, 0o444);
        let output = as_nobody(&sandbox, 0o555, &check);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains("check-not-recorded"), "{}", stderr(&output));
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.contains("\"files\":3,\"bytes\":8,\"findings\":1"), "{printed}");
        assert_eq!(std::fs::read(&registry).unwrap(), bytes);
    }
}

#[test]
fn a_file_that_may_not_be_read_is_unreadable_and_its_size_is_checked() {
    let sandbox = Sandbox::after(&[
        "mkdir data; printf abc > data/A; printf abc > data/B",
        "printf 'A\nB\n' | accession ingest D --create -",
        "accession fixity compute D --root data",
    ]);
    set_mode(&sandbox.path().join("data/B"), 0o000);
    for (depth, status, findings) in [("", 1, 1), ("--size-only", 0, 0)] {
        let check = format!("--json fixity check D --root data {depth}");
        let output = as_nobody(&sandbox, 0o755, &check);
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.contains(&format!("\"findings\":{findings},")), "{printed}");
        let is_unreadable = printed.contains("\"unreadable\"") && printed.contains("denied");
        assert_eq!(is_unreadable, findings == 1, "{printed}");
    }
}

#[test]
fn a_mirror_can_be_compared_if_the_registry_is_read_only() {
    let sandbox = sandbox();
    sandbox.run("accession dataset export D --output us.jsonl");
    sandbox.run("accession mirror pull M us.jsonl --create --at 2001-02-01");
    set_mode(&sandbox.path().join("accession.db"), 0o444);
    let output = as_nobody(&sandbox, 0o555, "--json mirror compare M us.jsonl");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("mirror-not-remembered"), "{}", stderr(&output));
    assert!(
        output.stdout.starts_with(b"{\"dataset\":\"M\",\"status\":\"identical\""),
        "{output:?}"
    );
}

#[test]
fn a_subset_that_cannot_be_saved_is_cited_with_its_digest() {
    let sandbox = sandbox();
    std::fs::write(sandbox.path().join("two"), "C\nA\n").unwrap();
    for selection in ["--select A --select C", "--select-from two"] {
        let cite = format!("--json cite D {selection} --digest");
        let registry = sandbox.path().join("accession.db");
        set_mode(&registry, 0o444);
        let output = as_nobody(&sandbox, 0o555, &cite);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stderr(&output).contains("subset-not-saved"), "{}", stderr(&output));
        let digest_of = |output: Output| -> serde_json::Value {
            let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            printed["digest"].clone()
        };
        let cited = digest_of(output);
        let output = as_nobody(&sandbox, 0o555, &format!("cite D {selection} --format ro-crate"));
        let described = String::from_utf8(output.stdout.clone()).unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(["\"A\"", "\"C\""].iter().all(|id| described.contains(id)), "{described}");
        assert!(!described.contains("\"B\""), "{described}");
        let listed =
            sandbox.run("accession granules D --format checksums | grep -v B | accession show -");
        let digest = listed.lines().find_map(|line| line.strip_prefix("digest      "));
        assert_eq!((cited.as_str(), digest.is_some()), (digest, true));
        // The digest is the same if the subset is saved.
        set_mode(&registry, 0o644);
        assert_eq!(digest_of(sandbox.command(&cite).output().unwrap()), cited);
    }
}

#[test]
fn a_part_that_is_checked_shows_bytes_rate_and_the_time_that_is_left() {
    let Some(script) = installed("script") else { return };
    let sandbox = sandbox();
    let line = "stty cols 120; accession fixity check D --root data --root-name nas --for 20s";
    let mut command = Command::new(script);
    command.args(["-qec", line, "/dev/null"]).current_dir(sandbox.path());
    command.env("PATH", format!("{}/.bin:/usr/bin:/bin", sandbox.path().display()));
    command.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut shown, mut part) = (String::new(), [0; 4_096]);
    let line = loop {
        let read = child.stdout.as_mut().unwrap().read(&mut part).unwrap();
        assert!(read > 0, "it ended without progress: {shown}");
        shown.push_str(&String::from_utf8_lossy(&part[..read]));
        let mut lines = shown.split(['\r', '\n']);
        if let Some(line) = lines.find(|line| line.trim_end().ends_with(" left")) {
            break line.trim_end().to_owned();
        }
    };
    // Ctrl-C at the terminal.
    child.stdin.take().unwrap().write_all(b"\x03").unwrap();
    let _ = child.wait().unwrap();
    let (_, line) = line.split_once("reading ").unwrap();
    let [bytes, rate, left] = line.split(", ").collect::<Vec<_>>().try_into().unwrap();
    assert!(bytes.ends_with("iB") && rate.ends_with("iB/s"), "{line}");
    // The remaining time is that of the time limit, not of reading 200 GB.
    let seconds: u64 = left.strip_suffix("s left").unwrap().parse().unwrap();
    assert!((1..=20).contains(&seconds), "{line}");
}

#[test]
fn files_are_checked_and_nothing_is_recorded_where_the_disk_of_the_registry_is_full() {
    let sandbox = sandbox();
    sandbox.run("printf abd > data/A; printf ab > data/B");
    // The shared memory of readers fits into this limit, but no change does. The limit does not apply to
    // output, which goes through a pipe.
    let checked =
        sandbox.run("ulimit -f 8; accession --json fixity check D --root data --root-name full");
    assert!(checked.contains("\"kind\":\"check-not-recorded\""), "{checked}");
    assert!(checked.contains("\"files\":3,\"bytes\":8,\"findings\":2"), "{checked}");
    assert!(checked.ends_with("? 1\n"), "{checked}");
    assert!(!sandbox.run("accession status D --json").contains("full"));
}
