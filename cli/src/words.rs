//! Words that people type for commands: those of other programs, and of commands that are part of a group.
//!
//! A word is looked up here only if it is not a command, so a command always takes precedence.

use std::ffi::OsString;

use clap::CommandFactory;

use super::error::Error;
use super::program::Arguments;

/// What a word means.
enum Meaning {
    /// A command by another name. If there are several, the first that accepts the other arguments is meant.
    Command(&'static [&'static [&'static str]]),
    /// What to do, in one sentence: the word means several commands, or they take other arguments.
    Advice(&'static str),
}

use Meaning::{Advice, Command as As};

/// The words, each with its meaning.
const WORDS: &[(&str, Meaning)] = &[
    ("diff", As(&[&["compare"]])),
    ("log", As(&[&["history"]])),
    ("lookup", As(&[&["show"]])),
    ("ls", As(&[&["dataset", "list"], &["granules"]])),
    ("undo", As(&[&["revert"]])),
    (
        "add",
        Advice(
            "`accession ingest NAME LISTING` adds granules, and `accession dataset create NAME` a dataset",
        ),
    ),
    ("backup", Advice("`accession registry backup FILE` backs up the registry")),
    (
        "change",
        Advice(
            "`accession ingest NAME LISTING --delete LISTING` adds and deletes granules in one change",
        ),
    ),
    ("copy", Advice("`accession registry copy SOURCE TARGET` copies a registry")),
    (
        "create",
        Advice(
            "`accession sync NAME LISTING --create` creates a dataset from a listing, and `accession dataset create NAME` an empty one",
        ),
    ),
    ("export", Advice("`accession dataset export NAME` prints the history of a dataset")),
    (
        "granule-id",
        Advice(
            "`accession ids granule` makes granule ids, and `accession ids explain ID` explains one",
        ),
    ),
    (
        "identify",
        Advice("`accession show LISTING` prints the identifier and the digest of a listing"),
    ),
    (
        "init",
        Advice(
            "`accession sync NAME LISTING --create` creates the registry with its first dataset",
        ),
    ),
    (
        "key",
        Advice(
            "`accession proof keygen NAME --output FILE` makes a key, and `accession proof pubkey FILE` prints its public part",
        ),
    ),
    (
        "list",
        Advice(
            "`accession dataset list` lists the datasets, and `accession granules SET` the granules of a set",
        ),
    ),
    (
        "payment-id",
        Advice(
            "`accession ids payment` issues payment ids, and `accession ids explain ID` explains one",
        ),
    ),
    ("prove", Advice("`accession proof create SET` writes a proof about a set")),
    (
        "remove",
        Advice(
            "`accession delete NAME LISTING` marks granules as deleted, `accession dataset withdraw NAME --note WHY` closes a dataset, and `accession dataset remove NAME` removes an unused one",
        ),
    ),
    ("rename", Advice("`accession dataset rename OLD NEW` renames a dataset")),
    ("resolve", Advice("`accession show DI:…` lists where and when an identifier was in force")),
    ("restore", Advice("`accession registry restore FILE` restores the registry from a backup")),
    ("rm", Advice("`accession delete NAME LISTING` marks granules as deleted")),
    ("search", Advice("`accession find GRANULE` shows where and when a granule was held")),
    ("sign", Advice("`accession proof sign --key FILE` signs the history")),
    ("subsets", Advice("`accession show NAME` lists the cited subsets of a dataset")),
    (
        "withdraw",
        Advice("`accession dataset withdraw NAME --note WHY` closes a dataset to changes"),
    ),
];

/// What arguments mean whose command is one of the words.
pub enum Meant {
    /// These arguments.
    Arguments(Vec<OsString>),
    /// Nothing: the error names the right command.
    Nothing(Error),
}

/// What arguments mean that clap does not accept. `None` means that their command is none of the words.
pub fn meant(arguments: &[OsString]) -> Option<Meant> {
    let program = Arguments::command();
    let is_command = |word: &str| program.find_subcommand(word).is_some();
    let with_any_word = program.clone().allow_external_subcommands(true);
    let matches = with_any_word.try_get_matches_from(arguments).ok()?;
    let (word, rest) = matches.subcommand().filter(|(word, _)| !is_command(word))?;
    let rest = rest.get_many::<OsString>("").unwrap_or_default().len();
    let (before, after) = arguments.split_at(arguments.len() - rest);
    let before = before.split_last().map_or(before, |(_, before)| before);
    let (_, meaning) = WORDS.iter().find(|(other, _)| *other == word)?;
    let commands = match meaning {
        Advice(advice) => {
            let error = Error::usage(format!("there is no command {word}")).with_hint(*advice);
            return Some(Meant::Nothing(error));
        }
        As(commands) => commands,
    };
    let of_command = |command: &&[&str]| -> Vec<OsString> {
        let command = command.iter().map(OsString::from);
        before.iter().cloned().chain(command).chain(after.iter().cloned()).collect()
    };
    let accepts =
        |arguments: &Vec<OsString>| Arguments::command().try_get_matches_from(arguments).is_ok();
    let mut meant: Vec<Vec<OsString>> = commands.iter().map(of_command).collect();
    let last = meant.pop()?;
    Some(Meant::Arguments(meant.into_iter().find(accepts).unwrap_or(last)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn is_command(program: &clap::Command, words: &[&str]) -> bool {
        let found = words.iter().try_fold(program, |command, word| command.find_subcommand(word));
        found.is_some()
    }

    #[test]
    fn every_word_leads_to_a_command() {
        let program = Arguments::command();
        for (word, meaning) in WORDS {
            let commands: Vec<Vec<&str>> = match meaning {
                As(commands) => commands.iter().map(|words| words.to_vec()).collect(),
                Advice(advice) => {
                    let code = advice.split('`').skip(1).step_by(2);
                    let named = code.map(|code| code.strip_prefix("accession ").unwrap());
                    let words = named.map(|named| {
                        let is_word = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
                        named.split(' ').take_while(is_word).collect()
                    });
                    words.collect()
                }
            };
            assert!(!commands.is_empty(), "{word}");
            for command in commands {
                assert!(is_command(&program, &command), "{word}: {command:?}");
            }
        }
    }

    #[test]
    fn each_word_is_listed_once() {
        let words: BTreeSet<&str> = WORDS.iter().map(|(word, _)| *word).collect();
        assert_eq!(words.len(), WORDS.len());
    }

    fn meant_by(line: &str) -> String {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        match meant(&arguments) {
            None => "nothing".to_owned(),
            Some(Meant::Nothing(error)) => error.to_string(),
            Some(Meant::Arguments(arguments)) => {
                arguments.join(std::ffi::OsStr::new(" ")).into_string().unwrap()
            }
        }
    }

    #[test]
    fn only_the_word_in_the_place_of_the_command_is_replaced() {
        for (line, command) in [
            ("accession diff A B", "accession compare A B"),
            ("accession --by log log A", "accession --by log history A"),
            ("accession ls", "accession dataset list"),
            ("accession ls --json", "accession dataset list --json"),
            ("accession --registry ls ls ls", "accession --registry ls granules ls"),
            ("accession ls -n", "accession granules -n"),
            ("accession --json add A", "there is no command add"),
            ("accession nothing", "nothing"),
            ("accession history list", "nothing"),
            ("accession dataset add", "nothing"),
            ("accession --unknown add", "nothing"),
        ] {
            assert_eq!(meant_by(line), command, "{line}");
        }
    }
}
