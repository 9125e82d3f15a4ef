use std::io::Write;
use std::path::PathBuf;

use accession::publish::publish;
use accession::{Access, DatasetName};
use anyhow::Result;

use crate::cli::args::stored_name;
use crate::cli::exit::Exit;
use crate::cli::output::count;
use crate::cli::session::Session;

/// Publish datasets as files for any web server, from which mirrors read
///
/// The directory gets the log, the head and the cited subsets of each dataset, in datasets/NAME/.
/// Run again after each change, or every night, the command writes only what is new. A registry
/// whose history contradicts what was published is refused. Notes of changes are published; who made
/// a change is not.
///
/// Examples:
///   accession publish /srv/www
///   accession publish /srv/www US.FOOL2.002
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The directory, which is created if it does not exist
    directory: PathBuf,

    /// The datasets (can be repeated) [default: all]
    #[arg(value_parser = stored_name)]
    datasets: Vec<DatasetName>,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open(Access::Read)?;
        publish(&registry, &self.directory, &self.datasets, |published| -> Result<()> {
            if session.is_json() {
                return Ok(session.json(&published)?);
            }
            if session.is_quiet() {
                return Ok(());
            }
            let (dataset, changes) = (&published.dataset, count(published.changes, "change"));
            match published.new_changes {
                0 => writeln!(session.out(), "{dataset}: {changes}, none of them new")?,
                new => {
                    let bytes = published.bytes;
                    writeln!(
                        session.out(),
                        "{dataset}: {changes}, {new} new, {bytes} bytes added"
                    )?;
                }
            }
            Ok(())
        })?;
        Ok(Exit::Done)
    }
}
