//! The help of every command, compared with `tests/cli/help.txt`.

use std::path::PathBuf;
use std::process::Command;

use crate::harness::console::{commands_in, program};

/// Appends the `--help` of a command and of its subcommands.
fn help(path: &[&str], all: &mut String) {
    let output =
        Command::new(program()).args(path).arg("--help").env("COLUMNS", "100").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let title = [&["accession"], path].concat().join(" ");
    all.push_str(&format!("# {title}\n\n{text}\n"));
    for command in commands_in(&text) {
        help(&[path, &[command]].concat(), all);
    }
}

#[test]
fn the_help_of_every_command_is_the_reviewed_one() {
    let mut all = String::new();
    help(&[], &mut all);
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cli/help.txt");
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        std::fs::write(&file, &all).unwrap();
    }
    let agreed = std::fs::read_to_string(&file).unwrap();
    for (number, (printed, agreed)) in all.lines().zip(agreed.lines()).enumerate() {
        assert_eq!(printed, agreed, "help.txt:{}", number + 1);
    }
    assert_eq!(all.len(), agreed.len(), "one ends earlier");
}
