use std::io::Write;

use accession::{Access, DatasetName, Identifier, Moment};
use anyhow::Result;

use crate::cli::Exit;
use crate::cli::output::{count, in_force, selected_by};
use crate::cli::selection::refuse_future;
use crate::cli::session::{Session, shown};

/// List every dataset and interval in which an identifier was in force
///
/// The identifier of a part that was cited is listed with the interval that it was cited of.
/// Exit status 1: it never was, or not at the time given.
///
/// Example:
///   accession resolve DI:763122197bfb3ffbf0da14adbfb1b13b --at 2001-01-05
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The identifier, with or without DI: before it
    #[arg(value_name = "DI")]
    identifier: Identifier,

    /// Only this dataset
    #[arg(long, value_name = "D")]
    dataset: Option<DatasetName>,

    /// Check that it was in force then: RFC 3339, or a date, which means some time of that day
    #[arg(long, value_name = "T")]
    at: Option<Moment>,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if let Some(at) = self.at {
            refuse_future(at, session.now()?)?;
        }
        let mut registry = session.open(Access::Read)?;
        let dataset = self.dataset.as_ref();
        let resolution = shown(registry.resolve(self.identifier, dataset, self.at, |resolved| {
            if session.is_json() {
                return session.json(&resolved);
            }
            let instance = &resolved.instance;
            let (name, granules) = (&instance.dataset, count(instance.granules, "granule"));
            write!(session.out(), "{name}  {}  {granules}", in_force(instance))?;
            match &resolved.selection {
                None => writeln!(session.out()),
                Some(part) => writeln!(session.out(), ", {}", selected_by(&part.criteria)),
            }
        }))?;
        let location = dataset.map_or("any dataset here".to_owned(), ToString::to_string);
        match self.at {
            _ if resolution.intervals == 0 => {
                session.warn(&format!("{} was never in force in {location}", self.identifier));
            }
            Some(at) if resolution.agreeing == 0 => {
                session
                    .warn(&format!("{} was not in force at {at} in {location}", self.identifier));
            }
            _ => return Ok(Exit::Done),
        }
        Ok(Exit::Differs)
    }
}
