use std::io::Write;
use std::path::PathBuf;

#[cfg(feature = "serve")]
use accession::pages::{Serves, Site};
use accession::publish::publish;
#[cfg(feature = "serve")]
use accession::publish::publish_pages;
use accession::{Access, DatasetName};
use anyhow::Result;

#[cfg(feature = "serve")]
use crate::cli::args::PublicUrl;
use crate::cli::args::{named_path, stored_name};
use crate::cli::exit::Exit;
use crate::cli::output::count;
use crate::cli::session::Session;

/// Publish datasets as files for any web server, from which mirrors read
///
/// The directory gets the page, the log, the head and the cited subsets of each dataset, in
/// datasets/NAME/, and a list of the datasets.
/// Run again after each change, or every night, the command writes only what is new. A registry
/// whose history contradicts what was published is refused. Notes of changes are published; who made
/// a change is not.
///
/// Examples:
///   accession publish /srv/www
///   accession publish /srv/www US.FOOL2.002 --public-url https://data.archive.example
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The directory, which is created if it does not exist
    #[arg(value_parser = named_path())]
    directory: PathBuf,

    /// The datasets (can be repeated) [default: all]
    #[arg(value_parser = stored_name)]
    datasets: Vec<DatasetName>,

    /// The address at which readers reach the directory: pages link to it, and sitemap.xml lists
    /// them
    #[cfg(feature = "serve")]
    #[arg(long, value_name = "URL")]
    public_url: Option<PublicUrl>,

    /// The name of the site, which every page shows
    #[cfg(feature = "serve")]
    #[arg(long, value_name = "TEXT", default_value = "Granule registry")]
    site_name: String,

    /// How to reach the people who run it: an e-mail address, a web address, or any text
    #[cfg(feature = "serve")]
    #[arg(long, value_name = "TEXT")]
    contact: Option<String>,
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
        #[cfg(feature = "serve")]
        publish_pages(&registry, &self.directory, &self.site(), session.now()?)?;
        Ok(Exit::Done)
    }

    #[cfg(feature = "serve")]
    fn site(&self) -> Site {
        Site {
            name: self.site_name.clone(),
            contact: self.contact.clone(),
            public_url: self.public_url.as_ref().map(|PublicUrl(url)| url.clone()),
            serves: Serves::Files,
        }
    }
}
