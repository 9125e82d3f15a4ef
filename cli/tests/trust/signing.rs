//! `proof sign` is killed before each of its calls that change a file. What it signed before is continued.
//!
//! The last signed body is stored beside the key before a signature leaves the process. Whenever the process is
//! killed, that body belongs to the tree that the next run continues. What was published in between stays the
//! beginning of that tree.

use harness::values::clock;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use accession::Registry;
use accession::proof::LogCheckpoint;

use crate::interposed::{Errno, Fault, Interposed, Mode};
use crate::victim::program_in;

fn run(mut command: Command, directory: &Path, words: &str) -> Output {
    command.current_dir(directory).args(["--registry", "us.db", "--quiet"]);
    command.args(words.split(' ')).output().unwrap()
}

fn succeed(directory: &Path, words: &str) {
    let output = run(program_in(&directory.join("tmp")), directory, words);
    assert!(output.status.success(), "{words}: {output:?}");
}

/// An archive that has signed once, and has a new set to state.
fn prepare(directory: &Path) {
    std::fs::create_dir(directory).unwrap();
    std::fs::create_dir(directory.join("tmp")).unwrap();
    for words in [
        "ingest US --create --at 2001-01-02 --id A --id B",
        "proof keygen us.example.org/statements --output us.key",
        "proof sign --key us.key",
        "ingest US --at 2001-01-03 --id C",
        "ingest OTHER --create --at 2001-01-03 --id X",
    ] {
        succeed(directory, words);
    }
}

#[test]
fn sign_that_is_killed_at_any_step_has_signed_what_the_next_run_continues() {
    let outside = harness::directory();
    let outside = outside.path().canonicalize().unwrap();
    prepare(&outside.join("before"));
    let (mut killed, mut kept) = (0, [0; 2]);
    for nth in 1.. {
        let directory = outside.join("killed");
        let _ = std::fs::remove_dir_all(&directory);
        let copied =
            Command::new("cp").arg("-r").args([&outside.join("before"), &directory]).status();
        assert!(copied.unwrap().success());
        let disk =
            Interposed::failing(&directory, Fault { mode: Mode::Kill, errno: Errno::Eio, nth });
        let output =
            run(disk.command(&directory.join("tmp")), &directory, "proof sign --key us.key");
        if output.status.success() {
            break;
        }
        assert_eq!(output.status.signal(), Some(9), "{nth}: {output:?}");
        killed += 1;
        let last = std::fs::read_to_string(directory.join("us.key.last")).unwrap();
        let last: LogCheckpoint = last.parse().unwrap();
        assert!([1, 4].contains(&last.size), "{nth}: {last}");
        kept[usize::from(last.size == 4)] += 1;
        for words in ["publish www", "proof sign --key us.key", "publish www", "verify"] {
            succeed(&directory, words);
        }
        let registry = Registry::open(directory.join("us.db"), clock()).unwrap();
        let log = registry.snapshot().unwrap().statement_log().unwrap();
        assert_eq!((log.tree.size(), log.tree.root(last.size)), (4, Some(last.root)), "{nth}");
        assert_eq!(log.signed.unwrap().checkpoint.size, 4);
        let left = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains("last.")).collect();
        assert!(left.is_empty(), "{nth}: {left:?}");
    }
    println!(
        "killed at {killed} steps: {} before and {} after the body was kept",
        kept[0], kept[1]
    );
    assert!(kept.iter().all(|kept| *kept > 0) && killed > 10, "{killed} {kept:?}");
}
