use std::io::Write;

use accession::{Identified, Identifier, Listing, Monitor};
use anyhow::Result;
use serde::Serialize;

use crate::cli::args::{FormatArgs, TypedIdentifier};
use crate::cli::exit::Exit;
use crate::cli::output::{Progress, count};
use crate::cli::reading::{InputFile, MissingPages, each_entry_of_pages};
use crate::cli::session::Session;
use crate::cli::warning::WarningKind;

/// Compute the identifier of a list of granules, without a registry
///
/// The list can be in any order; an id that is repeated counts once. With --expect, the exit status
/// is 1 if the identifier is a different one.
///
/// Examples:
///   ls | accession identify - --expect DI:763122197bfb3ffbf0da14adbfb1b13b
///   accession identify catalogue.csv --column granule_ur
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The files of ids; - is stdin
    #[arg(value_name = "FILE", default_value = "-")]
    files: Vec<InputFile>,

    #[command(flatten)]
    format: FormatArgs,

    /// The identifier that is expected
    #[arg(long, value_name = "DI")]
    expect: Option<TypedIdentifier>,
}

#[derive(Serialize)]
struct Printed {
    identifier: Identifier,
    granules: u64,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut listing = Listing::new();
        let options = self.format.options();
        each_entry_of_pages(&self.files, &options, MissingPages::Refuse, session, |entry| {
            Ok(listing.add(entry)?)
        })?;
        let progress = Progress::new();
        progress.begin("hashing", "granules", Some(listing.count()));
        let Identified { identifier, granules, repeated } = listing.identify()?;
        progress.end();
        if repeated > 0 {
            let skipped = count(repeated, "granule");
            session.warn(WarningKind::Skipped, &format!("skipped {skipped}: {repeated} repeated"));
        }
        if session.is_json() {
            session.json(&Printed { identifier, granules })?;
        } else {
            writeln!(session.out(), "identifier  {identifier}")?;
            writeln!(session.out(), "granules    {granules}")?;
        }
        match self.expect {
            Some(TypedIdentifier(expected)) if expected != identifier => {
                session.warn(
                    WarningKind::NotAsExpected,
                    &format!(
                        "the identifier of the list is {identifier}, but {expected} was expected"
                    ),
                );
                Ok(Exit::Differs)
            }
            _ => Ok(Exit::Done),
        }
    }
}
