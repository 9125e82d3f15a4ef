//! The help of every command, compared with `cli/tests/cli/help.txt`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use crate::documents::{helps, leaf_commands};
use crate::running::console::{Sandbox, commands_in, program};

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

#[test]
fn every_command_has_a_man_page_with_its_help_and_what_all_pages_say() {
    let sandbox = Sandbox::new();
    // Twice, as when a package is built again.
    for _ in 0..2 {
        let output = sandbox.command("man --all man1").output().unwrap();
        assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    }
    // The commands that the page of the program does not list have no man page.
    let mut helps = super::documents::helps();
    let is_hidden = |name: &str| ["completions", "man"].contains(&name);
    helps.retain(|name, _| !is_hidden(name));
    for (name, help) in &helps {
        let title = [&["accession"], &*name.split_whitespace().collect::<Vec<_>>()].concat();
        let title = title.join("-");
        let path = sandbox.path().join(format!("man1/{title}.1"));
        let page = std::fs::read_to_string(&path).unwrap();
        for heading in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"] {
            assert!(page.contains(&format!(".SH {heading}\n")), "{title}: {heading}");
        }
        assert!(page.contains(&format!(".TH {title} 1 ")), "{title}");
        let first_line = help.lines().next().unwrap().replace('-', "\\-").replace('\'', "\\*(Aq");
        assert!(page.contains(&first_line), "{title}: {first_line}");
        assert!(page.contains("The exit status is 0 if"), "{title}");
        let refers = page.contains("Global options (see accession \\-\\-help)");
        assert_eq!(refers, !name.is_empty(), "{title}");
        assert_eq!(sandbox.run(&format!("accession man {name}")), page, "{title}");
    }
    let pages = std::fs::read_dir(sandbox.path().join("man1")).unwrap().count();
    assert_eq!(pages, helps.len());
    let unknown = sandbox.run("accession man nothing");
    assert!(unknown.starts_with("error: accession has no command nothing\nhint: "), "{unknown}");
    assert!(unknown.ends_with("? 2\n"), "{unknown}");
}

#[test]
fn the_short_help_of_commands_that_write_fits_a_screen() {
    for command in ["sync", "ingest", "delete", "revert", "import", "fixity add"] {
        let mut program = Command::new(program());
        let output = program.args(command.split(' ')).arg("-h").env("COLUMNS", "100").output();
        let help = String::from_utf8(output.unwrap().stdout).unwrap();
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(help.lines().count() <= 30 && widest <= Some(100), "{command}: {help}");
        assert!(!help.contains("Reading listings"), "{command}: {help}");
    }
}

#[test]
fn few_commands_and_options_are_in_the_short_help() {
    let helps = helps();
    let is_hidden = |command: &&str| ["completions", "man"].contains(command);
    let commands: Vec<_> = leaf_commands(&helps).into_iter().filter(|it| !is_hidden(it)).collect();
    assert!(commands.len() <= 44, "{commands:#?}");
    let mut options = BTreeSet::new();
    for command in helps.keys() {
        let mut program = Command::new(program());
        let output = program.args(command.split_whitespace()).arg("-h").output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let rows = help.lines().filter(|line| line.starts_with("  ")).map(str::trim_start);
        let words =
            rows.flat_map(|row| row.split_whitespace().take(2)).map(|it| it.trim_end_matches(','));
        options.extend(
            words.filter(|word| word.starts_with('-') && word.len() > 1).map(str::to_owned),
        );
    }
    // Options with a short name are counted twice, and an example contains the end of options.
    let twice = ["-q", "-v", "--"];
    options.retain(|option| !twice.contains(&&**option));
    assert!(options.len() <= 75, "{}: {options:#?}", options.len());
}
