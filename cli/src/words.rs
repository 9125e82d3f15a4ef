//! Words that users type instead of commands: those of other programs, and of commands that belong to a group.
//!
//! A word is looked up here only if it is not a command, so commands always take precedence. A word in a group
//! is listed with the name of the group.

use std::ffi::OsString;

use clap::{ArgMatches, CommandFactory};

use super::error::Error;
use super::program::Arguments;

/// The meaning of a word.
enum Meaning {
    /// Other names of commands. If there are several, the first that accepts the other arguments is run, else
    /// the last.
    Command(&'static [&'static [&'static str]]),
    /// What to do, in one sentence, if the word means several commands or their arguments differ.
    Advice(&'static str),
}

use Meaning::{Advice, Command as As};

/// The words and their meanings.
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
    (
        "apply",
        Advice(
            "`accession sync NAME LISTING --dry-run` shows what would change, and `accession sync NAME LISTING` records it",
        ),
    ),
    ("backup", Advice("`accession registry backup FILE` backs up the registry")),
    (
        "change",
        Advice(
            "`accession ingest NAME LISTING --delete LISTING` adds and deletes granules in one change",
        ),
    ),
    (
        "checkout",
        Advice("`accession granules NAME@TIME` lists the granules that a dataset held at a time"),
    ),
    (
        "clone",
        Advice(
            "`accession mirror pull NAME ADDRESS --create` follows a dataset of another archive",
        ),
    ),
    ("commit", Advice("`accession sync NAME LISTING` records a change")),
    ("copy", Advice("`accession registry copy SOURCE TARGET` copies a registry")),
    (
        "create",
        Advice(
            "`accession sync NAME LISTING --create` creates a dataset from a listing, and `accession dataset create NAME` an empty one",
        ),
    ),
    (
        "dataset add",
        Advice(
            "`accession dataset create NAME` creates a dataset, and `accession ingest NAME LISTING` adds granules",
        ),
    ),
    ("dataset delete", Advice(WITHDRAW)),
    ("dataset rm", Advice(WITHDRAW)),
    ("dataset show", Advice("`accession show NAME` describes a dataset")),
    ("export", Advice("`accession dataset export NAME` prints the history of a dataset")),
    (
        "fixity list",
        Advice("`accession granules SET --format checksums` lists the checksums of a set"),
    ),
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
        "mirror add",
        Advice(
            "`accession mirror pull NAME ADDRESS --create` follows a dataset of another archive",
        ),
    ),
    ("mirror list", Advice("`accession status` lists the primaries of mirrors")),
    ("mirror status", Advice("`accession status` lists the primaries of mirrors")),
    (
        "mirror sync",
        Advice("`accession mirror pull NAME` makes a mirror hold what its primary holds"),
    ),
    (
        "payment-id",
        Advice(
            "`accession ids payment` issues payment ids, and `accession ids explain ID` explains one",
        ),
    ),
    ("proof check", Advice("`accession proof verify FILE` verifies a proof")),
    ("prove", Advice("`accession proof create SET` writes a proof about a set")),
    ("pull", Advice("`accession mirror pull NAME` makes a mirror hold what its primary holds")),
    ("push", Advice("`accession publish DIR` writes a website, from which mirrors pull")),
    (
        "registry create",
        Advice(
            "`accession sync NAME LISTING --create` creates the registry with its first dataset",
        ),
    ),
    (
        "registry init",
        Advice(
            "`accession sync NAME LISTING --create` creates the registry with its first dataset",
        ),
    ),
    ("registry list", Advice("`accession dataset list` lists the datasets of the registry")),
    ("registry status", Advice("`accession status` shows the latest changes of all datasets")),
    ("registry verify", Advice("`accession verify` verifies the registry")),
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
        "tag",
        Advice(
            "`accession annotate SET TEXT` adds a note to a set, and `accession cite SET` prints its identifier",
        ),
    ),
    (
        "withdraw",
        Advice("`accession dataset withdraw NAME --note WHY` closes a dataset to changes"),
    ),
];

const WITHDRAW: &str = "`accession dataset withdraw NAME --note WHY` closes a dataset, and `accession delete NAME LISTING` deletes granules";

/// The meaning of arguments whose command is one of the words.
pub enum Meant {
    /// Run these arguments.
    Arguments(Vec<OsString>),
    /// Report this error, which names the right command.
    Nothing(Error),
}

/// The meaning of arguments that clap rejects. `None` means that their command is none of the words.
pub fn meant(arguments: &[OsString]) -> Option<Meant> {
    let program = Arguments::command();
    let matches = with_any_word(program.clone()).try_get_matches_from(arguments).ok()?;
    let (word, rest) = unknown_word(&program, &matches)?;
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

/// The same program, except that each group accepts any word as a command.
fn with_any_word(command: clap::Command) -> clap::Command {
    match command.has_subcommands() {
        true => command.allow_external_subcommands(true).mut_subcommands(with_any_word),
        false => command,
    }
}

/// The first word that is not a command, with the name of its group, and the number of arguments after it.
fn unknown_word(program: &clap::Command, matches: &ArgMatches) -> Option<(String, usize)> {
    let (word, below) = matches.subcommand()?;
    match program.find_subcommand(word) {
        Some(group) => {
            let (word, rest) = unknown_word(group, below)?;
            Some((format!("{} {word}", group.get_name()), rest))
        }
        None => {
            let rest = below.get_many::<OsString>("").unwrap_or_default();
            Some((word.to_owned(), rest.len()))
        }
    }
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
            ("accession dataset add A", "there is no command dataset add"),
            ("accession --json mirror status", "there is no command mirror status"),
            ("accession dataset nothing", "nothing"),
            ("accession dataset create add", "nothing"),
            ("accession --unknown add", "nothing"),
        ] {
            assert_eq!(meant_by(line), command, "{line}");
        }
    }
}
