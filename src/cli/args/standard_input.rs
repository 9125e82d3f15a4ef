//! Standard input, which can be read only once.

use clap::ArgMatches;

use crate::cli::reading::{CitationText, InputFile};

/// Returns how many arguments of a command name standard input.
///
/// The arguments are counted by their types, so that no command can forget to do so.
pub fn standard_input_uses(matches: &ArgMatches) -> usize {
    let here: usize = matches.ids().map(|id| uses_of(matches, id.as_str())).sum();
    let below = matches.subcommand().map_or(0, |(_, matches)| standard_input_uses(matches));
    here + below
}

/// How many values of one argument are standard input. 0 if they have another type.
fn uses_of(matches: &ArgMatches, id: &str) -> usize {
    if let Ok(Some(files)) = matches.try_get_many::<InputFile>(id) {
        return files.filter(|file| **file == InputFile::StandardInput).count();
    }
    if let Ok(Some(texts)) = matches.try_get_many::<CitationText>(id) {
        return texts.filter(|text| **text == CitationText::StandardInput).count();
    }
    0
}
