//! `complete`, which the completion scripts call for the names of datasets.

use std::any::TypeId;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use accession::registry::Withdrawn;
use accession::{Access, DatasetName, Registry};
use clap::{Arg, ArgAction};

use crate::cli::args::{TypedDataset, TypedSet};
use crate::cli::error::{Exit, Result};
use crate::cli::session::Session;

/// Print the names of datasets that can complete the last word of a command
///
/// The scripts of `accession completions` call it. It prints nothing where the word is something else,
/// or the registry cannot be read within a second.
#[derive(clap::Args)]
pub struct Args {
    /// The words of the command after the name of the program
    #[arg(last = true, value_name = "WORD", allow_hyphen_values = true)]
    words: Vec<String>,
}

/// The greatest number of names that are printed.
const MAX_NAMES: u32 = 1_000;

/// A person who waits for a completion is faster than a server that cannot be reached.
const MAX_WAIT: Duration = Duration::from_secs(1);

impl Args {
    /// `program` is the program with all its commands.
    pub fn run(self, session: &mut Session, program: clap::Command) -> Result<Exit> {
        let Some((word, before)) = self.words.split_last() else { return Ok(Exit::Done) };
        let Some(path) = sought(program, before, word, session) else { return Ok(Exit::Done) };
        let (sender, receiver) = mpsc::channel();
        let beginning = word.clone();
        thread::spawn(move || sender.send(names(&path, &beginning).unwrap_or_default()));
        // Whatever fails, there is nothing to complete.
        for name in receiver.recv_timeout(MAX_WAIT).unwrap_or_default() {
            writeln!(session.out(), "{name}")?;
        }
        Ok(Exit::Done)
    }
}

/// The names of datasets that begin so.
fn names(registry: &Path, beginning: &str) -> accession::error::Result<Vec<String>> {
    let snapshot = Registry::open(registry, Access::Read)?.snapshot()?;
    let (mut names, mut after): (Vec<String>, Option<DatasetName>) = (Vec::new(), None);
    if let Ok(name) = beginning.parse::<DatasetName>() {
        names.extend(snapshot.dataset(&name).ok().map(|it| it.dataset.name.to_string()));
        names.retain(|name| name == beginning);
        after = Some(name);
    }
    let (records, _) = snapshot.records(after.as_ref(), Withdrawn::Listed, MAX_NAMES)?;
    let records = records.into_iter().map(|record| record.name.to_string());
    names.extend(records.filter(|name| name.starts_with(beginning)));
    Ok(names)
}

/// The registry of which the last word of a command names a dataset. `None` means that it is something else.
fn sought(
    mut program: clap::Command,
    before: &[String],
    word: &str,
    session: &Session,
) -> Option<PathBuf> {
    program.build();
    let (mut command, mut registry) = (&program, session.registry_path());
    let (mut position, mut is_after_options) = (1, false);
    let mut words = before.iter();
    while let Some(typed) = words.next() {
        let option = if is_after_options { None } else { option_of(command, typed) };
        match option {
            _ if typed == "--" && !is_after_options => is_after_options = true,
            Some((argument, value)) if argument.get_action().takes_values() => {
                let is_registry = argument.get_id() == "registry";
                match value.map(str::to_owned).or_else(|| words.next().cloned()) {
                    Some(value) if is_registry => registry = expanded(&value),
                    Some(_) => {}
                    // The word is the value of the option.
                    None => return names_dataset(command, argument).then_some(registry),
                }
            }
            Some(_) => {}
            None if typed.starts_with('-') && typed.len() > 1 && !is_after_options => {}
            None => match command.find_subcommand(typed).filter(|_| position == 1) {
                Some(subcommand) => command = subcommand,
                None => position += 1,
            },
        }
    }
    if word.starts_with('-') && !is_after_options {
        return None;
    }
    let is_many = |argument: &&Arg| {
        argument.get_num_args().is_some_and(|count| count.max_values() > 1)
            || matches!(argument.get_action(), ArgAction::Append)
    };
    let mut places = command.get_positionals();
    let argument = places.find(|argument| argument.get_index() == Some(position));
    let argument = argument.or_else(|| command.get_positionals().last().filter(is_many))?;
    names_dataset(command, argument).then_some(registry)
}

/// The option that a word is, and the value in the same word.
fn option_of<'a>(command: &'a clap::Command, word: &'a str) -> Option<(&'a Arg, Option<&'a str>)> {
    if let Some(long) = word.strip_prefix("--") {
        let (long, value) = match long.split_once('=') {
            Some((long, value)) => (long, Some(value)),
            None => (long, None),
        };
        let mut options = command.get_arguments();
        return options.find(|it| it.get_long() == Some(long)).map(|option| (option, value));
    }
    let short = word.strip_prefix('-')?.chars().next_back()?;
    let mut options = command.get_arguments();
    options.find(|it| it.get_short() == Some(short)).map(|option| (option, None))
}

/// Whether an argument names a dataset of this registry that exists.
fn names_dataset(command: &clap::Command, argument: &Arg) -> bool {
    let is_new = match argument.get_id().as_str() {
        "new" | "primary_dataset" => true,
        id => command.get_name() == "add" && id == "name",
    };
    let value = argument.get_value_parser().type_id();
    let types =
        [TypeId::of::<DatasetName>(), TypeId::of::<TypedDataset>(), TypeId::of::<TypedSet>()];
    !is_new && types.iter().any(|of_dataset| value == *of_dataset)
}

/// A path with the home directory in the place of `~`, which the shell has not expanded yet.
fn expanded(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(below), Some(home)) => PathBuf::from(home).join(below),
        _ => PathBuf::from(path),
    }
}

/// A completion script of clap, with the names of datasets where a command takes one.
pub fn with_names(shell: clap_complete::Shell, script: &str) -> String {
    match shell {
        clap_complete::Shell::Bash => format!("{script}{BASH}"),
        clap_complete::Shell::Zsh => script.replacen("\n_accession() {", ZSH, 1),
        clap_complete::Shell::Fish => format!("{script}{FISH}"),
        _ => script.to_owned(),
    }
}

// Bash takes the characters of COMP_WORDBREAKS for ends of words, among them the colon, which a name may
// have, and what completes a word is what follows the last one.
const BASH: &str = r#"
_accession_or_names() {
    _accession "$@"
    local rest=${COMP_LINE:0:COMP_POINT} words=() word names
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if [[ ${#words[@]} -gt 0 && "${rest}" != [[:space:]]* && "${words[-1]}${word}" == *[:=]* ]]; then
            words[-1]+=${word}
        else
            rest=${rest#"${rest%%[![:space:]]*}"}
            words+=("${word}")
        fi
        rest=${rest#"${word}"}
    done
    names=$("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
    if [[ -n "${names}" ]]; then
        mapfile -t COMPREPLY <<< "${names}"
        if [[ "${COMP_WORDBREAKS}" == *:* ]]; then
            COMPREPLY=("${COMPREPLY[@]#"${words[-1]%"${words[-1]##*:}"}"}")
        fi
    fi
}
complete -F _accession_or_names -o bashdefault -o default accession
"#;

const ZSH: &str = r#"
_accession() {
    local -a names
    names=("${(@f)$(${words[1]} complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${names[1]}" ]]; then
        compadd -a names
    else
        _accession_or_words "$@"
    fi
}

_accession_or_words() {"#;

// No file is offered where a dataset is named.
const FISH: &str = r#"
function __accession_names
    set -g __accession_found (accession complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
    test -n "$__accession_found"
end
complete -c accession -n __accession_names -f -a '$__accession_found'
"#;
