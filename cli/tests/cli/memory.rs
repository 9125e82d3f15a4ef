//! A change needs little memory, even if granules are repeated or have many files or long histories.

use std::fmt::Write;
use std::process::{Command, Output};

use crate::running::console::{Sandbox, program, stderr};
use harness::peak_memory::peak_memory;

/// Runs a command on a registry in a sandbox. Returns its output on stderr, and its peak memory in kB.
#[track_caller]
fn peak(sandbox: &Sandbox, command: &str) -> (String, u64) {
    let (output, peak) = run(sandbox, command);
    let printed = stderr(&output);
    assert!(output.status.success(), "{command}: {printed}");
    (printed, peak)
}

fn run(sandbox: &Sandbox, command: &str) -> (Output, u64) {
    let mut words = Command::new(program());
    peak_memory(words.args(command.split(' ')).current_dir(sandbox.path()))
}

fn write(sandbox: &Sandbox, name: &str, text: &str) {
    std::fs::write(sandbox.path().join(name), text).unwrap();
}

#[test]
fn an_id_that_is_listed_a_million_times_takes_the_memory_of_one() {
    const REPETITIONS: usize = 1_000_000;
    let sandbox = Sandbox::new();
    write(&sandbox, "list.txt", &"A\n".repeat(REPETITIONS));
    sandbox.run("accession ingest D --create --id B");
    for command in ["ingest D list.txt --skip-existing", "delete D list.txt --skip-missing"] {
        let (printed, peak) = peak(&sandbox, command);
        assert!(printed.contains("999999 repeated"), "{command}: {printed}");
        // The peak was once 170,000 kB.
        assert!(peak < 90_000, "{command}: {peak} kB");
    }
}

#[test]
fn granules_with_megabytes_of_files_are_changed_twice_in_a_row() {
    // The files of one batch of granules, in one statement, need more memory than SQLite may use.
    const GRANULES: usize = 66;
    const FILES: usize = 1_100;
    let sandbox = Sandbox::new();
    let mut table = String::from("granule_id,path,size\n");
    for granule in 0..GRANULES {
        for file in 0..FILES {
            writeln!(table, "G{granule:02},{file:01000},1").unwrap();
        }
    }
    write(&sandbox, "files.csv", &table);
    for command in ["ingest D --create", "fixity add D"] {
        let columns = "files.csv --path-column path --size-column size";
        let (_, peak) = peak(&sandbox, &format!("{command} {columns}"));
        assert!(peak < 150_000, "{command}: {peak} kB");
    }
}

#[test]
fn granules_with_long_histories_are_changed_twice_in_a_row() {
    // The periods of one batch of granules need more memory than SQLite may use.
    const GRANULES: usize = 1_600;
    const PERIODS: usize = 50;
    let sandbox = Sandbox::new();
    let (mut table, mut ids) = (String::from("granule_id,ingested,deleted\n"), String::new());
    for granule in 0..GRANULES {
        writeln!(ids, "{granule:01000}").unwrap();
        for period in 0..PERIODS {
            let [from, to] = [2 * period, 2 * period + 1]
                .map(|day| format!("2001-{:02}-{:02}T00:00:00Z", 1 + day / 28, 1 + day % 28));
            writeln!(table, "{granule:01000},{from},{to}").unwrap();
        }
    }
    write(&sandbox, "history.csv", &table);
    write(&sandbox, "ids.txt", &ids);
    for command in [
        "import D history.csv --create",
        "dataset edit D --max-delete 100%",
        "ingest D ids.txt --at 2002-01-01",
        "delete D ids.txt --at 2002-01-02",
        "sync D ids.txt --at 2002-01-03",
    ] {
        let (_, peak) = peak(&sandbox, command);
        assert!(peak < 150_000, "{command}: {peak} kB");
    }
    assert!(sandbox.run("accession verify").contains("all ok"));
}

#[test]
fn a_comparison_that_lists_everything_takes_the_memory_of_one_that_lists_nothing() {
    const GRANULES: usize = 150_000;
    let sandbox = Sandbox::new();
    let list: String = (0..GRANULES).map(|n| format!("granule-{n:040}\n")).collect();
    write(&sandbox, "list.txt", &list);
    sandbox.run("accession ingest ONE --create --id A; accession ingest ANOTHER --create --id B");
    let [few, all] = ["0", "1000000"].map(|limit| {
        let (output, peak) =
            run(&sandbox, &format!("compare ONE ANOTHER list.txt --limit {limit}"));
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        peak
    });
    // The rows were once in memory as text: 75,000 kB more.
    assert!(all < few + 20_000, "{few} and {all} kB");
}
