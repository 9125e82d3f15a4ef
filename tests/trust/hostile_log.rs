//! The memory of a mirror whose primary is hostile: it does not grow with what the primary sends, nor
//! with what that decompresses to.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use accession::Timestamp;

use crate::harness::hostile_log::HostileLog;
use crate::harness::oracle::{naive, naive_digest};
use crate::harness::values::second;
use crate::harness::web_server::WebServer;
use crate::rounds::rounds;
use crate::victim::program_in;

/// The most memory that may be resident, in kB.
const MOST: u64 = 64 * 1_024;

/// Runs a command to its end. Returns its exit status, its errors, and its peak memory in kB.
fn run(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, u64) {
    let mut command = program_in(directory);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    // The peak never falls, so its value shortly before the end is close to the final one.
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let mark = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let mark = mark.and_then(|mark| mark.trim().trim_end_matches(" kB").parse().ok());
        peak = mark.unwrap_or(peak);
        std::thread::sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned(), peak)
}

/// What a primary publishes to make its mirrors grow.
struct Case {
    name: &'static str,
    make: fn(&mut HostileLog, u64),
    /// How often something is repeated. 0 means that the log is one line, which is refused.
    size: u64,
}

fn at(n: u64) -> Timestamp {
    second(n as i64)
}

/// Changes that ingest a granule and delete it in turn, each with a note of this length.
fn changes(log: &mut HostileLog, size: u64, note_bytes: usize) {
    let note = "n".repeat(note_bytes);
    for n in 0..size {
        let (ingested, deleted, held) = match n % 2 {
            0 => ("\"A\"", "", &["A"][..]),
            _ => ("", "\"A\"", &[][..]),
        };
        let identifier = naive(held.iter().copied());
        let digest = naive_digest(held.iter().copied()).to_string();
        log.line(&format!(
            "{{\"timestamp\":\"{}\",\"ingested\":[{ingested}],\"deleted\":[{deleted}],\"described\":[],\"replaced\":[],\"note\":\"{note}\",\"identifier\":\"{identifier}\",\"digest\":\"{digest}\"",
            at(n)
        ));
        log.announce(at(n), (identifier, &digest), held.len() as u64);
    }
}

/// A line that is as long as a line may be.
fn long_line(log: &mut HostileLog, ingested: &str, note: &str) {
    let (identifier, digest) = (naive(["A"]), naive_digest(["A"]).to_string());
    log.line(&format!(
        "{{\"timestamp\":\"{}\",\"ingested\":[{ingested}],\"deleted\":[],\"described\":[],\"replaced\":[],\"note\":\"{note}\",\"identifier\":\"{identifier}\",\"digest\":\"{digest}\"",
        at(0)
    ));
    log.announce(at(0), (identifier, &digest), 1);
}

fn subsets(log: &mut HostileLog, size: u64) {
    log.change(at(0), "[\"A\"]", "", &["A".to_owned()]);
    let patterns: Vec<String> = (0..2_000).map(|n| format!("\"{n}\"")).collect();
    let patterns = patterns.join(",");
    for n in 0..size {
        log.subset(&format!(
            "{{\"subset\":\"{n:032x}\",\"digest\":\"sha256:{n:064x}\",\"timestamp\":\"{0}\",\"patterns\":[{patterns}],\"count\":1,\"cited\":\"{0}\"}}\n",
            at(0)
        ));
    }
}

/// Subsets of named granules, each of which used to be sorted in memory.
fn named_subsets(log: &mut HostileLog, size: u64) {
    log.change(at(0), "[\"A\"]", "", &["A".to_owned()]);
    let ids: Vec<String> = (0..1_000).map(|n| format!("\"{n:0>1000}\"")).collect();
    let ids = ids.join(",");
    for n in 0..size {
        log.subset(&format!(
            "{{\"subset\":\"{n:032x}\",\"digest\":\"sha256:{n:064x}\",\"timestamp\":\"{0}\",\"granules\":[{ids}],\"count\":1000,\"cited\":\"{0}\"}}\n",
            at(0)
        ));
    }
}

const CASES: &[Case] = &[
    Case { name: "notes", make: |log, size| changes(log, size, 64 * 1_024), size: 1_300 },
    Case { name: "changes", make: |log, size| changes(log, size, 0), size: 10_000 },
    Case {
        name: "a long note",
        make: |log, _| long_line(log, "\"A\"", &"n".repeat(8_000_000)),
        size: 0,
    },
    Case {
        name: "a long note of escapes",
        make: |log, _| long_line(log, "\"A\"", &"\\n".repeat(4_000_000)),
        size: 0,
    },
    Case {
        name: "millions of ids",
        make: |log, _| long_line(log, &vec!["\"\""; 2_600_000].join(","), ""),
        size: 0,
    },
    Case { name: "subsets", make: subsets, size: 3_000 },
    Case { name: "subsets of named granules", make: named_subsets, size: 30 },
];

#[test]
fn a_hostile_log_does_not_make_a_mirror_grow() {
    let world = tempfile::tempdir().unwrap();
    let directory = |name: &str| {
        let path = world.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    };
    let (www, tmp) = (directory("www"), directory("tmp"));
    let server = WebServer::over(&www);
    let url = server.dataset("us");
    let mut highest = 0;
    for case in CASES {
        let mut log = HostileLog::below(&www);
        (case.make)(&mut log, case.size * rounds(1));
        let sent = log.finish();
        for command in [&["mirror", "pull", "M"][..], &["import", "M"]] {
            let path = world.path().join("m.db");
            for suffix in ["", "-wal", "-shm"] {
                let _ = std::fs::remove_file(world.path().join(format!("m.db{suffix}")));
            }
            let registry = path.to_str().unwrap();
            let arguments = [&["--registry", registry][..], command, &[&url, "--create"]].concat();
            let (status, errors, peak) = run(&tmp, &arguments);
            let shown = format!("{} {command:?}", case.name);
            println!("{shown}: {sent} bytes published, {peak} kB resident, exit {status:?}");
            // What the subsets say is not what the history selects, which an import finds.
            let is_import_of_subsets = command[0] == "import" && case.name.starts_with("subsets");
            let expected = if case.size == 0 || is_import_of_subsets { 2 } else { 0 };
            assert_eq!(status, Some(expected), "{shown}: {errors}");
            assert!(peak < MOST, "{shown}: {peak} kB");
            highest = highest.max(peak);
        }
    }
    assert!(highest > 1_000, "the memory was not measured: {highest} kB");
}
