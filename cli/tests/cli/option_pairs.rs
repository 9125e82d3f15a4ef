//! Every pair of options of a command: none is accepted and without effect.
//!
//! The options are those that the help lists, so a new option needs a value here. An option has an effect if the
//! command prints or writes something else with it, or ends otherwise. An option that has an effect alone must have
//! one beside every other option, unless the two are rejected together.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use crate::coverage::options_of;
use crate::documents::{helps, leaf_commands};
use crate::running::console::{Sandbox, masked};

/// A command, and in which world its options are tried.
struct Case {
    command: &'static str,
    /// What follows the command. Several: no single one shows an effect of every option.
    lines: &'static [&'static str],
    /// The options, each with a value, or without one if it is a flag.
    values: &'static [(&'static str, &'static str)],
    /// Options whose effect no line shows.
    hidden: &'static [&'static str],
}

/// The fields of a dataset.
const FIELDS: &[(&str, &str)] = &[
    ("--archive", "Archive"),
    ("--at", "now"),
    ("--creator", "Archive"),
    ("--dataset-version", "2"),
    ("--description", "Granules"),
    ("--doi", "10.9999/other"),
    ("--free-access", "yes"),
    ("--from", "record.json"),
    ("--granule-url", "https://example.org/{granule}"),
    ("--keyword", "clouds"),
    ("--licence", "CC0-1.0"),
    ("--max-add", "3"),
    ("--max-delete", "3"),
    ("--max-replace", "3"),
    ("--publisher", "Publisher"),
    ("--resolver", "https://example.org"),
    ("--shared-doi", ""),
    ("--temporal", "2001-01-01/.."),
    ("--title", "Title"),
    ("--url", "https://example.org/foo"),
    ("--year", "2001"),
];

const CASES: &[Case] = &[
    Case {
        command: "dataset create",
        lines: &["NEW", "NEW --doi 10.9999/us"],
        values: FIELDS,
        // The clock is right.
        hidden: &["--at"],
    },
    Case {
        command: "dataset export",
        lines: &["US"],
        values: &[("--output", "new.jsonl"), ("--until", "2001-01-02")],
        hidden: &[],
    },
    Case {
        command: "ids explain",
        lines: &["000000300", "A_CGgZSM0L --collection A___1"],
        values: &[("--collection", "A___1"), ("--epoch", "2020-01-01"), ("--layout", "wide")],
        hidden: &[],
    },
    Case {
        command: "ids granule",
        lines: &["table.csv --collection A___1", "--collection A___1 --id A"],
        values: &[
            ("--column", "file"),
            ("--format", "csv"),
            ("--granule", "name"),
            ("--hash-length", "4"),
            ("--id", "B"),
            ("--strip-prefix", "data"),
            ("--strip-suffix", ".nc"),
            ("--timestamp", ""),
        ],
        hidden: &[],
    },
    Case {
        command: "mirror compare",
        lines: &["THEM us.jsonl"],
        values: &[
            ("--all", ""),
            ("--ca-file", "list.txt"),
            ("--insecure", ""),
            ("--max-age", "0s"),
            ("--max-bytes", "1"),
            ("--primary-dataset", "NONE"),
            ("--timeout", "1"),
        ],
        // The manifest was written just now.
        hidden: &["--all", "--max-age"],
    },
    Case {
        command: "mirror pull",
        lines: &["OTHER us.jsonl", "OTHER us.jsonl --reset"],
        values: &[
            ("--all", ""),
            ("--at", "2001-02-01"),
            ("--ca-file", "list.txt"),
            ("--create", ""),
            ("--dry-run", ""),
            ("--insecure", ""),
            ("--max-add", "0"),
            ("--max-age", "0s"),
            ("--max-bytes", "1"),
            ("--max-delete", "0"),
            ("--max-replace", "1"),
            ("--primary-dataset", "NONE"),
            ("--reset", ""),
            ("--timeout", "1"),
        ],
        // The mirrors exist, no checksums are known, and the manifest was written just now.
        hidden: &["--create", "--max-age", "--max-replace"],
    },
    Case {
        command: "proof sign",
        lines: &["--key us.key"],
        values: &[("--policy", "policy"), ("--recover", "nowhere"), ("--timeout", "1")],
        hidden: &["--policy", "--timeout"],
    },
    Case {
        command: "proof verify",
        lines: &["us.tlog-proof", "us.tlog-proof --policy policy"],
        values: &[
            ("--at", "2001-01-02"),
            ("--list", "table.csv"),
            ("--policy", "policy"),
            ("--vkey", "none"),
        ],
        hidden: &[],
    },
    Case {
        command: "publish",
        lines: &["www"],
        values: &[
            ("--contact", "mailto:us@example.org"),
            ("--public-url", "https://example.org"),
            ("--site-name", "Us"),
        ],
        hidden: &[],
    },
    Case {
        command: "status",
        lines: &[""],
        values: &[("--checked-within", "0s"), ("--max-age", "0s")],
        hidden: &["--checked-within"],
    },
];

/// Commands with several options whose pairs are not tried yet, or that print something else each time. The options
/// of `dataset edit` are those of `dataset create`.
const NOT_TRIED: &[&str] = &[
    "annotate",
    "cite",
    "compare",
    "dataset edit",
    "dataset withdraw",
    "delete",
    "find",
    "fixity add",
    "fixity check",
    "fixity compute",
    "granules",
    "history",
    "import",
    "ingest",
    "ids payment",
    "revert",
    "serve",
    "show",
    "sync",
];

/// A directory with everything that the cases name.
fn world() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(
        "accession ingest US --create --at 2001-01-02 --id A --id B; accession ingest US --at 2001-01-03 --id C",
    );
    sandbox.run("accession dataset edit US --doi 10.9999/us");
    sandbox.run("accession ingest THEM --create --at 2001-01-04 --id A --id B");
    sandbox.run("accession ingest OTHER --create --at 2001-01-04 --id A --id X");
    sandbox.run("accession dataset export US --output us.jsonl");
    sandbox.run("accession proof keygen us.example.org/statements --output us.key > us.vkey");
    sandbox.run("accession proof sign --key us.key");
    sandbox.run("accession proof create US --output us.tlog-proof");
    sandbox.run("(printf 'log '; cat us.vkey; echo quorum none) > policy");
    sandbox.run("printf 'id,file\\ndata/data.nc,data/B.nc\\n' > table.csv; echo X > list.txt");
    sandbox.run(
        r#"echo '{"DOI":"10.9999/record","title":"Record","publisher":"Records"}' > record.json"#,
    );
    sandbox
}

/// Copies files and directories, but not the links that every sandbox has.
fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The texts of all files, but of registries and of what is compressed.
fn texts_below(directory: &Path, texts: &mut String) {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_text = !name.contains(".db") && !name.ends_with(".gz");
        let kind = path.symlink_metadata().unwrap().file_type();
        if kind.is_dir() && name != ".bin" {
            texts_below(&path, texts);
        } else if kind.is_file() && is_text {
            let bytes = std::fs::read(&path).unwrap();
            writeln!(texts, "{name}: {}", masked(&String::from_utf8_lossy(&bytes))).unwrap();
        }
    }
}

/// What a command prints and writes, and how it ends.
fn outcome(world: &Sandbox, line: &str) -> String {
    let sandbox = Sandbox::new();
    copy(world.path(), sandbox.path());
    let mut outcome = masked(&sandbox.run(&format!("accession {line}")));
    texts_below(sandbox.path(), &mut outcome);
    outcome
}

/// What is wrong with the options of a case.
fn faults(case: &Case, options: &BTreeSet<String>, world: &Sandbox) -> Vec<String> {
    let Case { command, lines, values, hidden } = case;
    let mut faults = Vec::new();
    let named = |option: &&String| values.iter().any(|(name, _)| name == *option);
    let in_lines = |option: &&String| lines.iter().any(|line| line.contains(option.as_str()));
    let without_value = options.iter().filter(|option| !named(option) && !in_lines(option));
    faults.extend(without_value.map(|option| format!("{command}: {option} has no value")));
    let mut seen = BTreeSet::new();
    for line in *lines {
        let line = format!("{command} {line}");
        let base = outcome(world, &line);
        let tried = values.iter().filter(|(option, _)| !line.contains(option));
        let tried: Vec<(&str, String, String)> = tried
            .map(|(option, value)| {
                let given = format!("{option} {value}");
                let alone = outcome(world, &format!("{line} {given}"));
                (*option, given, alone)
            })
            .collect();
        let has_effect = |alone: &str| alone != base;
        seen.extend(tried.iter().filter(|(_, _, it)| has_effect(it)).map(|(option, ..)| *option));
        for (index, (left, given, left_alone)) in tried.iter().enumerate() {
            for (right, other, right_alone) in &tried[..index] {
                let both = outcome(world, &format!("{line} {given} {other}"));
                if both.lines().any(|line| line == "? 2") {
                    continue;
                }
                for (option, alone, without) in
                    [(left, left_alone, right_alone), (right, right_alone, left_alone)]
                {
                    if has_effect(alone) && both == *without {
                        faults.push(format!("{line} {given} {other}: {option} has no effect"));
                    }
                }
            }
        }
    }
    for (option, _) in *values {
        if seen.contains(option) == hidden.contains(option) {
            faults.push(format!(
                "{command}: is an effect of {option} seen? {}",
                seen.contains(option)
            ));
        }
    }
    faults
}

#[test]
fn no_pair_of_options_is_accepted_of_which_one_has_no_effect() {
    let (helps, world) = (helps(), world());
    let own = |command: &str| options_of(&helps[command]);
    let commands = leaf_commands(&helps);
    let several = commands.into_iter().filter(|command| own(command).len() > 1);
    let tried = |command: &str| CASES.iter().any(|case| case.command == command);
    for command in several {
        assert_ne!(tried(command), NOT_TRIED.contains(&command), "{command}");
    }
    let faults: Vec<String> = std::thread::scope(|scope| {
        let world = &world;
        let running: Vec<_> = CASES
            .iter()
            .map(|case| {
                let options = own(case.command);
                scope.spawn(move || faults(case, &options, world))
            })
            .collect();
        running.into_iter().flat_map(|running| running.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{faults:#?}");
}
