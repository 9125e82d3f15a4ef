//! The help of every command, as one reference: `tests/cli/help.txt`.

use std::path::PathBuf;
use std::process::Command;

use crate::harness::console::program;

/// `--help` of a command and of those below it.
fn help(path: &[&str], all: &mut String) {
    let output =
        Command::new(program()).args(path).arg("--help").env("COLUMNS", "100").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    all.push_str(&format!("# accession {}\n\n{text}\n", path.join(" ")));
    let below: Vec<&str> = text
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    for command in below {
        help(&[path, &[command]].concat(), all);
    }
}

#[test]
fn the_help_is_the_one_that_was_read_and_agreed() {
    let mut all = String::new();
    help(&[], &mut all);
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cli/help.txt");
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        std::fs::write(&file, &all).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), all);
}
