//! Options that users type and a command does not have: those of earlier versions and of other programs.
//!
//! An option is looked up here only if the command does not have it, so an option always takes precedence.

use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::error::Error;
use super::program::Arguments;

/// The replacement for options of some commands.
struct Advice {
    commands: &'static [&'static str],
    options: &'static [&'static str],
    /// One sentence. `{command}` in it is replaced with the command.
    instead: &'static str,
}

/// The commands that use listings to change what a dataset holds.
const CHANGES: &[&str] = &["sync", "ingest", "delete", "import", "fixity add"];

/// The commands that read one set.
const READERS: &[&str] = &["show", "granules", "compare", "cite", "fixity check", "proof create"];

const ADVICE: &[Advice] = &[
    Advice {
        commands: CHANGES,
        options: &["--from", "--file", "--list"],
        instead: "`accession {command} NAME LISTING` reads a file or a directory",
    },
    Advice {
        commands: &["show", "granules"],
        options: &["--from", "--file"],
        instead: "`accession {command} LISTING` reads a file or a directory",
    },
    Advice {
        commands: &["compare"],
        options: &["--from", "--file", "--list"],
        instead: "`accession compare SET LISTING` compares a set with a file or a directory",
    },
    Advice {
        commands: &["cite"],
        options: &["--from", "--file", "--list", "--record"],
        instead: "`accession cite LISTING --of DOI` cites the files of a listing",
    },
    Advice {
        commands: READERS,
        options: &["--at", "--date"],
        instead: "`accession {command} NAME@TIME` names what a dataset held at a time",
    },
    Advice {
        commands: READERS,
        options: &["--identifier"],
        instead: "`accession {command} DI:HEX` names a set by its identifier",
    },
    Advice {
        commands: &["history"],
        options: &["--at", "--date"],
        instead: "`accession show NAME@TIME` describes what a dataset held at a time",
    },
    Advice {
        commands: &["history"],
        options: &["--granule"],
        instead: "`accession find GRANULE` shows where and when a granule was held",
    },
    Advice {
        commands: &["history"],
        options: &["--limit"],
        instead: "`accession history NAME -n N` lists the last N changes",
    },
    Advice {
        commands: &["revert"],
        options: &["--to"],
        instead: "`accession revert NAME SET` returns to an earlier set",
    },
    Advice {
        commands: &["annotate"],
        options: &["--note"],
        instead: "`accession annotate SET TEXT` adds a note to a set",
    },
    Advice {
        commands: &["import"],
        options: &["--listings", "--every", "--include-today"],
        instead: "`accession import NAME FILE...` reads listings with dates in their names, in order",
    },
    Advice {
        commands: &["ingest"],
        options: &["--uniquify", "--hash-length", "--timestamp"],
        instead: "`accession ids granule LISTING --collection NAME___VERSION` makes the ids, as a table to ingest",
    },
    Advice {
        commands: &["granules"],
        options: &["--list"],
        instead: "`accession granules SET --format list` prints the canonical list",
    },
    Advice {
        commands: &["granules"],
        options: &["--checksums"],
        instead: "`accession granules SET --format checksums` lists the checksums of a set",
    },
    Advice {
        commands: &["cite"],
        options: &["--bibtex", "--bib"],
        instead: "`accession cite SET --format bibtex` prints BibTeX",
    },
    Advice {
        commands: &["cite"],
        options: &["--ris"],
        instead: "`accession cite SET --format ris` prints RIS",
    },
    Advice {
        commands: &["cite"],
        options: &["--csl", "--csl-json"],
        instead: "`accession cite SET --format csl-json` prints CSL-JSON",
    },
    Advice {
        commands: &["fixity check"],
        options: &["--found"],
        instead: "`accession compare SET LISTING` compares checksums that another program computed",
    },
    Advice {
        commands: &["verify"],
        options: &["--proof"],
        instead: "`accession proof verify FILE` verifies a proof",
    },
    Advice {
        commands: &["publish"],
        options: &["--verify"],
        instead: "`accession verify DIR` verifies what was published in a directory",
    },
    Advice {
        commands: &["serve"],
        options: &["--port", "--host", "--bind", "--address"],
        instead: "`accession serve --listen 127.0.0.1:8080` listens on this address and port",
    },
];

/// The error that an option does not exist, with a hint that names the replacement. `None` means that it is
/// another error of clap, or that the option is not listed here.
pub fn unknown_option(error: &clap::Error, arguments: &[OsString]) -> Option<Error> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let command = command_of(arguments);
    let is_meant = |it: &&Advice| {
        it.commands.contains(&command.as_str()) && it.options.contains(&option.as_str())
    };
    let advice = ADVICE.iter().find(is_meant)?;
    let error = Error::usage(format!("{command} has no option {option}"));
    Some(error.with_hint(advice.instead.replace("{command}", &command)))
}

/// The command in the arguments, with its group.
fn command_of(arguments: &[OsString]) -> String {
    let mut command = &Arguments::command();
    let mut path = Vec::new();
    for word in arguments.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(below) = command.find_subcommand(word) {
            path.push(below.get_name());
            command = below;
        }
    }
    path.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command at the beginning of `words`, and its name.
    fn command_in<'a>(program: &'a clap::Command, words: &[&str]) -> (&'a clap::Command, String) {
        let (mut command, mut path) = (program, Vec::new());
        for word in words {
            let Some(below) = command.find_subcommand(word) else { break };
            command = below;
            path.push(*word);
        }
        (command, path.join(" "))
    }

    fn has_option(command: &clap::Command, option: &str) -> bool {
        command.get_arguments().any(|it| {
            let long = it.get_long().map(|long| format!("--{long}"));
            let short = it.get_short().map(|short| format!("-{short}"));
            [long, short].iter().flatten().any(|name| name == option)
        })
    }

    #[test]
    fn each_advice_is_for_options_that_do_not_exist_and_names_those_that_do() {
        let program = Arguments::command();
        for Advice { commands, options, instead } in ADVICE {
            for name in *commands {
                let (command, path) = command_in(&program, &name.split(' ').collect::<Vec<_>>());
                assert_eq!(path, *name);
                for option in *options {
                    assert!(!has_option(command, option), "{name} has {option}");
                }
                let instead = instead.replace("{command}", name);
                let code = instead.split('`').nth(1).unwrap();
                let words: Vec<&str> = code.split(' ').collect();
                assert_eq!(words[0], "accession", "{instead}");
                let (command, path) = command_in(&program, &words[1..]);
                assert!(!path.is_empty(), "{instead}");
                for option in words.iter().filter(|word| word.starts_with('-')) {
                    assert!(has_option(command, option), "{instead}");
                }
            }
        }
    }

    #[test]
    fn an_option_is_advised_against_once_for_each_command() {
        let mut seen = std::collections::BTreeSet::new();
        for Advice { commands, options, .. } in ADVICE {
            for (command, option) in
                commands.iter().flat_map(|it| options.iter().map(move |option| (it, option)))
            {
                assert!(seen.insert((command, option)), "{command} {option}");
            }
        }
    }
}
