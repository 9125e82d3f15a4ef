//! The memory of a mirror with a hostile primary. It grows neither with the size of what the primary sends, nor
//! with its decompressed size.

use accession::Timestamp;

use crate::rounds::rounds;
use crate::victim::program_in;
use harness::hostile_log::HostileLog;
use harness::peak_memory::peak_memory;
use harness::values::second;
use harness::web_server::WebServer;

/// The maximum resident memory, in kB.
const MOST: u64 = 64 * 1_024;

/// A log that a primary publishes to make its mirrors grow.
struct Case {
    name: &'static str,
    make: fn(&mut HostileLog, u64),
    /// The number of repetitions. 0 means that the log is one line, which is rejected.
    size: u64,
}

fn at(n: u64) -> Timestamp {
    second(n as i64)
}

/// Changes that ingest a granule and delete it in turn, each with a note of this length.
fn changes(log: &mut HostileLog, size: u64, note_bytes: usize) {
    let note = "n".repeat(note_bytes);
    for n in 0..size {
        match n % 2 {
            0 => log.change(at(n), ["[\"A\"]", "[]"], &note, &["A"]),
            _ => log.change(at(n), ["[]", "[\"A\"]"], &note, &[""; 0]),
        }
    }
}

/// Subsets that are cited by this list of members, as JSON.
fn subsets(log: &mut HostileLog, size: u64, members: &str, count: u64) {
    log.change(at(0), ["[\"A\"]", "[]"], "", &["A"]);
    for n in 0..size {
        log.subset(&format!(
            "{{\"subset\":\"{n:032x}\",\"digest\":\"sha256:{n:064x}\",\"timestamp\":\"{0}\",{members},\"count\":{count},\"cited\":\"{0}\"}}\n",
            at(0)
        ));
    }
}

fn of_patterns(log: &mut HostileLog, size: u64) {
    let patterns: Vec<String> = (0..20).map(|n| format!("\"{n:0>1000}\"")).collect();
    subsets(log, size, &format!("\"patterns\":[{}]", patterns.join(",")), 1);
}

/// Subsets of named granules. Once, each was sorted in memory.
fn of_names(log: &mut HostileLog, size: u64) {
    let ids: Vec<String> = (0..1_000).map(|n| format!("\"{n:0>1000}\"")).collect();
    subsets(log, size, &format!("\"granules\":[{}]", ids.join(",")), 1_000);
}

const CASES: &[Case] = &[
    Case { name: "notes", make: |log, size| changes(log, size, 64 * 1_024), size: 1_300 },
    Case { name: "changes", make: |log, size| changes(log, size, 0), size: 10_000 },
    Case {
        name: "a long note",
        make: |log, _| log.change(at(0), ["[\"A\"]", "[]"], &"n".repeat(8_000_000), &["A"]),
        size: 0,
    },
    Case {
        name: "a long note of escapes",
        make: |log, _| log.change(at(0), ["[\"A\"]", "[]"], &"\n".repeat(4_000_000), &["A"]),
        size: 0,
    },
    Case {
        name: "millions of ids",
        make: |log, _| {
            log.change(
                at(0),
                [&format!("[{}]", vec!["\"\""; 2_600_000].join(",")), "[]"],
                "",
                &["A"],
            );
        },
        size: 0,
    },
    Case { name: "subsets", make: of_patterns, size: 3_000 },
    Case { name: "subsets of named granules", make: of_names, size: 30 },
];

#[test]
fn a_hostile_log_does_not_make_a_mirror_grow() {
    let world = harness::directory();
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
            let (output, peak) = peak_memory(program_in(&tmp).args(arguments));
            let (status, errors) = (output.status.code(), String::from_utf8_lossy(&output.stderr));
            let shown = format!("{} {command:?}", case.name);
            println!("{shown}: {sent} bytes published, {peak} kB resident, exit {status:?}");
            // The subsets contradict the history, which an import detects.
            let is_import_of_subsets = command[0] == "import" && case.name.starts_with("subsets");
            let expected = if case.size == 0 || is_import_of_subsets { 2 } else { 0 };
            assert_eq!(status, Some(expected), "{shown}: {errors}");
            assert!(peak < MOST, "{shown}: {peak} kB");
            highest = highest.max(peak);
        }
    }
    assert!(highest > 1_000, "the memory was not measured: {highest} kB");
}
