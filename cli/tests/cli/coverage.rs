//! Every option, and every kind of error and of warning, occurs in a transcript or in a replayed document,
//! where a reviewer sees it. `documents` tests the same for the fields of the JSON output.

use std::collections::{BTreeMap, BTreeSet};

use crate::documents::{command_of, documents, helps, leaf_commands, root, section, transcripts};

/// Kinds of errors that need a fault, another process or a file that this program does not write: the kind, the
/// file of the test that causes it, and the text that the test contains.
const CAUSED_BY: &[(&str, &str, &str)] = &[
    ("certificate", "cli/tests/server/encrypted.rs", "\"certificate\""),
    ("busy", "tests/library/refusals.rs", "\"busy\""),
    ("clock-ahead", "cli/tests/cli/clock.rs", "clock-ahead"),
    ("denied", "cli/tests/trust/full_disk.rs", "\"denied\""),
    ("database", "cli/tests/trust/faults.rs", "\"database\""),
    ("full", "cli/tests/trust/full_disk.rs", "\"full\""),
    ("interrupted", "cli/tests/cli/file_checks.rs", "interrupted"),
    ("misplaced", "cli/tests/trust/restore.rs", "\"misplaced\""),
    ("not-as-expected", "tests/library/mirror_properties.rs", "\"not-as-expected\""),
    ("published-damaged", "tests/library/publish.rs", "\"published-damaged\""),
    ("primary-invalid", "tests/library/log_limits.rs", "\"primary-invalid\""),
    ("primary-conflict", "cli/tests/server/restored_primary.rs", "\"primary-conflict\""),
    ("invalid-path", "cli/tests/cli/registry_paths.rs", "\"invalid-path\""),
    ("replaced", "tests/library/replaced.rs", "\"replaced\""),
    ("too-long", "tests/library/hostile_registries.rs", "\"too-long\""),
];

/// The same for registries on a server, which not every machine has.
const CAUSED_BY_A_SERVER: &[(&str, &str, &str)] = &[
    ("conflict", "cli/tests/postgres/errors.rs", "\"conflict\""),
    ("connection-lost", "cli/tests/postgres/errors.rs", "\"connection-lost\""),
    ("machines-missing", "cli/tests/postgres/lost_machines.rs", "\"machines-missing\""),
    ("not-visible", "cli/tests/postgres/warned.rs", "not-visible"),
    ("outcome-unknown", "cli/tests/postgres/moments.rs", "\"outcome-unknown\""),
];

/// Kinds of warnings that need a wrong clock, or a file without write permission.
const WARNED_BY: &[(&str, &str, &str)] = &[
    ("back-dated", "tests/library/nights.rs", "WarningKind::BackDated"),
    ("check-not-recorded", "cli/tests/cli/file_checks.rs", "check-not-recorded"),
    ("clock-ahead", "cli/tests/cli/clock.rs", "\"clock-ahead\""),
    ("clock-behind", "cli/tests/cli/clock.rs", "\"clock-behind\""),
    ("last-change-in-future", "cli/tests/cli/clock.rs", "\"last-change-in-future\""),
    ("not-confirmed", "tests/library/nights.rs", "WarningKind::NotConfirmed"),
    ("mirror-not-remembered", "cli/tests/cli/file_checks.rs", "mirror-not-remembered"),
    ("subset-not-saved", "cli/tests/cli/file_checks.rs", "subset-not-saved"),
];

/// The output of the program in transcripts and documents.
fn consoles() -> String {
    let shown = transcripts().into_iter().chain(documents());
    shown.map(|document| document.code_in("console").join("\n") + "\n").collect()
}

/// The words of each call of the program.
fn calls(consoles: &str) -> Vec<Vec<String>> {
    let joined = consoles.replace("\\\n", " ");
    let commands = joined.lines().filter_map(|line| line.strip_prefix("$ "));
    let calls = commands.flat_map(|line| line.split("accession ").skip(1));
    let words = calls.map(|call| {
        let call = call.split(['|', ';', '>', '<', ')']).next().unwrap_or_default();
        call.split_whitespace().map(str::to_owned).collect()
    });
    words.collect()
}

/// The long options in a help.
pub fn options_of(help: &str) -> BTreeSet<String> {
    let lines = help.lines().skip_while(|line| !line.starts_with("Options:")).skip(1);
    let options = lines.filter_map(|line| {
        let line = line.trim_start();
        let line =
            line.get(4..).filter(|_| line[1..].starts_with(|c: char| c != '-')).unwrap_or(line);
        let name = line.strip_prefix("--")?;
        let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let end = name.find(|c| !is_of_name(c)).unwrap_or(name.len());
        Some(format!("--{}", &name[..end]))
    });
    options.filter(|name| name.len() > 2 && name != "--help").collect()
}

#[test]
fn every_option_occurs_in_a_transcript_of_its_command() {
    let helps = helps();
    let of_all = options_of(&helps[""]);
    let mut shown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut shown_anywhere = BTreeSet::new();
    for words in calls(&consoles()) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (command, _) = command_of(&words, &helps);
        let names = words.iter().filter(|word| word.starts_with("--"));
        let names: Vec<String> =
            names.map(|word| word.split('=').next().unwrap_or(word).to_owned()).collect();
        shown_anywhere.extend(names.iter().cloned());
        shown.entry(command).or_default().extend(names);
    }
    let mut missing = Vec::new();
    let leaves = leaf_commands(&helps);
    assert!(leaves.len() > 30 && of_all.contains("--json"), "{leaves:?} {of_all:?}");
    for command in leaves {
        let shown = shown.get(command).cloned().unwrap_or_else(|| {
            missing.push(command.to_owned());
            BTreeSet::new()
        });
        let own = options_of(&helps[command]);
        let own = own.difference(&of_all).filter(|name| !shown.contains(*name));
        missing.extend(own.map(|name| format!("{command} {name}")));
    }
    missing.extend(of_all.difference(&shown_anywhere).cloned());
    assert!(missing.is_empty(), "in no transcript: {missing:#?}");
}

/// Asserts that a transcript shows every kind of a section in an object of this name, or that a test elsewhere
/// causes it.
fn assert_kinds_are_shown(title: &str, object: &str, elsewhere: &[(&str, &str, &str)]) {
    let (consoles, kinds) = (consoles(), section(title));
    for (kind, file, name) in elsewhere {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        // Code that reports a kind of error also contains its name, but does not test it.
        let tests = if file.starts_with("src/") {
            text.split_once("\nmod tests {").map_or("", |(_, tests)| tests)
        } else {
            &text
        };
        assert!(tests.contains(name), "no test in {file} causes {kind}");
        assert!(kinds.iter().any(|(known, _)| known == kind), "{kind} is not known");
    }
    let is_shown = |kind: &str| {
        elsewhere.iter().any(|(other, ..)| *other == kind)
            || consoles.contains(&format!("{{\"{object}\":{{\"kind\":\"{kind}\""))
    };
    let kinds = kinds.iter().map(|(kind, _)| kind);
    let missing: Vec<&String> = kinds.filter(|kind| !is_shown(kind)).collect();
    assert!(missing.is_empty(), "in no transcript: {missing:#?}");
}

#[test]
fn every_kind_of_error_occurs_in_a_transcript() {
    let elsewhere = [CAUSED_BY, CAUSED_BY_A_SERVER].concat();
    assert_kinds_are_shown("Error kinds", "error", &elsewhere);
}

#[test]
fn every_kind_of_warning_occurs_in_a_transcript() {
    assert_kinds_are_shown("Warning kinds", "warning", WARNED_BY);
}
