//! The README prints what the program prints, and names every command.

use std::path::PathBuf;
use std::process::Command;

use crate::harness::console::{assert_transcript, commands_in, program};

fn readme() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("README.md")
}

#[test]
fn the_readme_prints_what_the_program_prints() {
    assert_transcript(&readme());
}

#[test]
fn every_command_is_in_the_readme() {
    let help = Command::new(program()).arg("--help").output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let readme = std::fs::read_to_string(readme()).unwrap();
    let commands = commands_in(&help);
    assert!(commands.len() > 10, "{commands:?}");
    for command in commands {
        assert!(readme.contains(&format!("accession {command}")), "{command} is not in the README");
    }
}
