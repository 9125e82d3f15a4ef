//! The mirror and the primary of `mirror compare` and `mirror pull`.

use accession::mirror::Primary;
use accession::{DatasetName, Moment};
use anyhow::Result;

use super::dataset::stored_name;
use super::http::HttpArgs;
use super::time::refuse_future;
use crate::cli::reading::{InputFile, open};
use crate::cli::session::Session;

/// A mirror and its primary.
#[derive(clap::Args)]
pub struct PrimaryArgs {
    /// The mirror: a dataset of this registry
    #[arg(value_parser = stored_name)]
    pub dataset: DatasetName,

    /// The primary: the address of a published dataset, a manifest, compressed with gzip or not, or
    /// a registry file; - is a manifest on stdin
    primary: InputFile,

    /// The dataset of the primary [default: the one of the same name, or the only one]
    #[arg(long, value_name = "N", value_parser = stored_name)]
    primary_dataset: Option<DatasetName>,

    /// The time as of which the primary is read: RFC 3339, or a date, which means the end of that
    /// day [default: its latest change]
    #[arg(long, value_name = "T")]
    pub primary_at: Option<Moment>,

    #[command(flatten)]
    http: HttpArgs,
}

impl PrimaryArgs {
    /// Opens the primary.
    pub fn open(&self, session: &Session) -> Result<Primary> {
        let now = session.now()?;
        if let Some(at) = self.primary_at {
            refuse_future(at, now)?;
        }
        let named = self.primary_dataset.as_ref();
        if let Some(remote) = self.http.remote(&self.primary.name(), session)? {
            return Ok(Primary::at_address(remote, named));
        }
        Ok(match &self.primary {
            InputFile::Path(path) => Primary::open(path, &self.dataset, named, now)?,
            InputFile::StandardInput => {
                let (manifest, name) = open(&self.primary)?;
                Primary::from_manifest(manifest, &name, named, now)?
            }
        })
    }
}
