//! Eight processes create one registry at the same moment. None fails, and the registry has the changes of all.

use harness::values::clock;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use accession::Registry;

use crate::answers::{assert_sound, datasets};
use crate::rounds::rounds;
use crate::victim::program_in;

const PROCESSES: usize = 8;

/// The number of processes that are creating the registry now.
fn temporary_files(directory: &Path) -> usize {
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    files.filter(|file| file.to_string_lossy().ends_with(".new")).count()
}

#[test]
fn eight_processes_that_create_one_registry_at_the_same_time_all_succeed() {
    let start = Instant::now();
    let rounds = rounds(25).min(200);
    let mut rivals = 0;
    for round in 0..rounds {
        let directory = harness::directory();
        let path = directory.path().join("accession.db");
        let spawn = |n: usize| -> Child {
            // Each waits for a line on its stdin, so that all begin at the same time.
            let program = program_in(directory.path());
            let mut command = Command::new("sh");
            command.args(["-c", "read line; exec \"$@\"", "sh"]).arg(program.get_program());
            command.arg("--registry").arg(&path);
            match n % 4 {
                0 => command.args(["dataset", "create", &format!("DATASET.{n}"), "--title", "T"]),
                1 => command.args(["import", &format!("DATASET.{n}"), "--create", "-"]),
                _ => command.args([
                    "ingest",
                    &format!("DATASET.{n}"),
                    "--create",
                    "--id",
                    "A",
                    "--id",
                    "B",
                ]),
            };
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let mut children: Vec<Child> = (0..PROCESSES).map(spawn).collect();
        for child in &mut children {
            // The shell reads one line. An import reads the lines after it. None of them may be lost if another
            // process was faster.
            let changes = b"now\n2001-01-01T00:00:00Z\t+\tA\n2001-01-01T00:00:00Z\t+\tB\n";
            child.stdin.take().unwrap().write_all(changes).unwrap();
        }
        let mut most = 0;
        while !path.exists() {
            most = most.max(temporary_files(directory.path()));
        }
        rivals += u64::from(most > 1);
        for child in children {
            let output = child.wait_with_output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "round {round}: {error}");
        }
        let registry = Registry::open(&path, clock()).unwrap();
        assert_sound(&registry, "first open");
        let datasets = datasets(&registry).unwrap();
        let names: Vec<&str> = datasets.iter().map(|listed| listed.dataset.name.as_str()).collect();
        let expected: Vec<String> = (0..PROCESSES).map(|n| format!("DATASET.{n}")).collect();
        assert_eq!(names, expected, "round {round}");
        let changes = datasets.iter().filter_map(|listed| listed.latest.as_ref());
        assert_eq!(changes.filter(|latest| latest.granules == 2).count(), PROCESSES * 3 / 4);
        drop(registry);
        let left: Vec<_> = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["accession.db"], "round {round}");
    }
    println!(
        "first open: {rounds} rounds of {PROCESSES} processes in {:.1?}; in {rivals} several were seen \
         to make it at once",
        start.elapsed()
    );
    assert!(rivals > 0, "no two processes created the registry at the same moment");
}
