use std::str::FromStr;

use accession::{DatasetName, Moment, Revert, TimestampError};
use anyhow::Result;

use crate::cli::applied::{Application, apply};
use crate::cli::args::{ChangeArgs, TypedIdentifier, refuse_future, stored_name};
use crate::cli::exit::Exit;
use crate::cli::session::Session;

/// Make a dataset hold an earlier set of granules again, in one new change
///
/// Nothing is erased: the history keeps all changes, and the identifier is that of the earlier set.
///
/// Examples:
///   accession revert US.FOOL2.002 --to 2001-02-03 --note 'the listing was incomplete'
///   accession revert US.FOOL2.002 --to DI:763122197bfb3ffbf0da14adbfb1b13b
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    #[arg(value_parser = stored_name)]
    dataset: DatasetName,

    /// The time of the earlier set: RFC 3339, or a date, which means the end of that day; or an
    /// identifier that was in force
    #[arg(long, value_name = "T|DI")]
    to: To,

    #[command(flatten)]
    change: ChangeArgs,
}

/// An earlier state, as it is typed.
#[derive(Debug, Clone, Copy)]
enum To {
    At(Moment),
    Identifier(TypedIdentifier),
}

impl FromStr for To {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        match text.parse() {
            Ok(identifier) => Ok(To::Identifier(identifier)),
            Err(_) => text.parse().map(To::At),
        }
    }
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut revert = match self.to {
            To::At(at) => {
                refuse_future(at, session.now()?)?;
                Revert::to(at)
            }
            To::Identifier(TypedIdentifier(identifier)) => Revert::to_identifier(identifier),
        };
        revert.note(self.change.note.clone());
        if self.change.dry_run {
            revert.dry_run();
        }
        let application = Application {
            unchanged: Some("the dataset holds the same granules as then"),
            ..self.change.application(false)
        };
        apply(session, &self.dataset, application, |registry, stamp| {
            registry.revert(&self.dataset, &revert, stamp)
        })
    }
}
