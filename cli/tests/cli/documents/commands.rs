//! The commands in documents are run, or at least exist with the options that are shown.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;

use super::{Document, document, documents, root, transcripts};
use crate::running::console::{assert_transcript, commands_in, program};

#[test]
fn every_command_in_every_document_prints_what_is_shown() {
    let mut replayed = 0;
    std::thread::scope(|scope| {
        for document in documents() {
            if !document.code_in("console").is_empty() {
                replayed += 1;
                scope.spawn(move || assert_transcript(&root().join(&document.path)));
            }
        }
    });
    assert!(replayed >= 5, "only {replayed} documents have commands");
}

/// A block in another language would not be tested.
#[test]
fn code_blocks_are_console_sessions_or_text_that_is_not_run() {
    for document in documents() {
        let opened = document.text.lines().filter(|line| line.starts_with("```")).step_by(2);
        for line in opened {
            let language = &line[3..];
            assert!(
                matches!(
                    language,
                    "console" | "sh" | "json" | "rust" | "python" | "js" | "sql" | "text"
                ),
                "{}: a block of {language:?}",
                document.path.display()
            );
        }
        for line in document.code_in("text").iter().chain(&document.code_in("json")) {
            let is_command = line.starts_with("$ ") || line.starts_with("accession ");
            assert!(!is_command, "{}: not run: {line}", document.path.display());
        }
    }
}

/// The help of every command, by its words: `mirror pull`.
pub fn helps() -> HashMap<String, String> {
    fn collect(path: &[&str], helps: &mut HashMap<String, String>) {
        let output = Command::new(program()).args(path).arg("--help").output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        for command in commands_in(&help) {
            collect(&[path, &[command]].concat(), helps);
        }
        helps.insert(path.join(" "), help);
    }
    let mut helps = HashMap::new();
    collect(&[], &mut helps);
    helps
}

/// The commands that are not only groups of other commands.
pub fn leaf_commands(helps: &HashMap<String, String>) -> Vec<&str> {
    let mut leaves: Vec<&str> = helps
        .iter()
        .filter(|(_, help)| commands_in(help).is_empty())
        .map(|(name, _)| &**name)
        .collect();
    leaves.sort_unstable();
    leaves
}

/// The command that the words of a line call, and the words after it.
pub fn command_of<'a>(
    words: &'a [&'a str],
    helps: &HashMap<String, String>,
) -> (String, Vec<&'a str>) {
    let mut command = String::new();
    let mut options = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let longer = format!("{command} {word}").trim_start().to_owned();
        if helps.contains_key(&longer) {
            command = longer;
        } else if *word == "--registry" {
            rest.next();
        } else {
            options.push(*word);
        }
    }
    (command, options)
}

/// The words of every call of the program in a line of the shell or a piece of inline code.
fn calls(line: &str) -> Vec<Vec<&str>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let begins = words.iter().enumerate().filter(|(_, word)| **word == "accession");
    begins
        .map(|(at, _)| {
            let is_end = |word: &&&str| {
                matches!(**word, "|" | "||" | "&&" | ";" | "<" | ">" | ">>" | "\\")
                    || word.ends_with(';')
            };
            words[at + 1..].iter().take_while(|word| !is_end(word)).copied().collect()
        })
        .collect()
}

#[test]
fn commands_that_are_shown_and_not_run_exist_with_their_options() {
    let helps = helps();
    let mut checked = 0;
    for document in documents() {
        let inline = document.inline_code().into_iter();
        let inline = inline.filter(|code| code.starts_with("accession "));
        let blocks = document.code_in("sh").into_iter().map(str::to_owned);
        for line in inline.chain(blocks) {
            for words in calls(&line) {
                let (command, options) = command_of(&words, &helps);
                let place = format!("{}: {line}", document.path.display());
                let is_option_of_all = words.first().is_none_or(|word| word.starts_with("--"));
                assert!(!command.is_empty() || is_option_of_all, "{place}: no such command");
                for option in options.iter().filter(|option| option.starts_with("--")) {
                    let name = option.split('=').next().unwrap();
                    let is_option = helps[&command].contains(name) || name == "--help";
                    assert!(is_option, "{place}: no option {name}");
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "only {checked} commands were found");
}

#[test]
fn benchmarks_and_tests_that_are_named_exist() {
    let exists = |directory: &str, name: &str| {
        ["", "cli", "server"].iter().any(|package| {
            let directory = root().join(package).join(directory);
            directory.join(name).join("main.rs").exists()
                || directory.join(format!("{name}.rs")).exists()
        })
    };
    for document in documents() {
        let inline = document.inline_code().into_iter();
        let blocks = document.code_in("sh").into_iter().map(str::to_owned);
        for line in inline.chain(blocks).filter(|line| line.starts_with("cargo ")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            for pair in words.windows(2) {
                let directory = match pair[0] {
                    "--bench" => "benches",
                    "--test" => "tests",
                    _ => continue,
                };
                assert!(exists(directory, pair[1]), "{}: {line}", document.path.display());
            }
        }
    }
}

#[test]
fn every_command_is_in_the_reference() {
    let reference = document(Path::new("docs/reference/commands.md"));
    let helps = helps();
    let leaves = leaf_commands(&helps);
    assert!(leaves.len() > 15, "{leaves:?}");
    for command in leaves {
        let cell = format!("| `accession {command}");
        assert!(reference.text.contains(&cell), "{command} is not in docs/reference/commands.md");
    }
}

/// The last command of each line of a transcript that ends with status 1.
fn calls_that_differ(document: &Document) -> Vec<String> {
    let joined = document.code_in("console").join("\n").replace("\\\n", " ");
    let mut last = String::new();
    let mut calls = Vec::new();
    for line in joined.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            command.rsplit([';', '|']).next().unwrap().trim().clone_into(&mut last);
        } else if line == "? 1" {
            calls.push(last.clone());
        }
    }
    calls
}

#[test]
fn every_command_that_ends_with_status_1_is_in_the_table_of_exit_statuses() {
    let reference = document(Path::new("docs/reference/commands.md"));
    let rows = reference.text.lines().filter_map(|line| line.strip_prefix("| 1 | "));
    let named: Vec<&str> = rows
        .flat_map(|row| row.split(" | ").next().unwrap().split('`').skip(1).step_by(2))
        .collect();
    let helps = helps();
    let mut shown: BTreeSet<&str> = BTreeSet::new();
    for document in documents().iter().chain(&transcripts()) {
        for line in calls_that_differ(document) {
            for words in calls(&line) {
                let (command, options) = command_of(&words, &helps);
                let is_named = |name: &&str| {
                    let mut words = name.split(' ').skip(command.split(' ').count());
                    let of_command = *name == command || name.starts_with(&format!("{command} "));
                    of_command && words.all(|option| options.contains(&option))
                };
                let row = named.iter().copied().filter(is_named).max_by_key(|name| name.len());
                let place = format!("{}: {line}", document.path.display());
                assert!(row.is_some(), "{place}: not in the table");
                shown.extend(row);
            }
        }
    }
    let missing: Vec<_> = named.iter().filter(|name| !shown.contains(*name)).collect();
    assert!(missing.is_empty(), "no transcript shows status 1 of {missing:?}");
}

#[test]
fn every_row_of_a_table_has_as_many_cells_as_its_header() {
    for document in documents() {
        let mut cells = None;
        for line in document.prose() {
            // In a table, a bar within code is escaped.
            let in_line = line.replace("\\|", "").matches('|').count();
            if !line.starts_with('|') {
                cells = None;
                continue;
            }
            let place = document.path.display();
            assert_eq!(in_line, *cells.get_or_insert(in_line), "{place}: {line}");
        }
    }
}
