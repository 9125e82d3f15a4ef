use std::io::Write;

use accession::{Access, DatasetName};
use serde::Serialize;

use crate::cli::error::{Error, Exit, Result};
use crate::cli::output::count;
use crate::cli::session::Session;

/// Forget a directory in which files were checked, and is no longer used
///
/// It is no longer listed by `fixity status`, and what was found there is closed. The checks stay in
/// the registry.
///
/// Example:
///   accession fixity forget US.FOOL2.002 old-host:/data/fool2
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,

    /// The directory, as `accession fixity status` lists it
    root: String,
}

/// The result, as JSON.
#[derive(Serialize)]
struct Forgotten<'a> {
    dataset: &'a DatasetName,
    root: &'a str,
    /// How many findings were closed.
    findings: u64,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open(Access::Write)?;
        let dataset = registry.snapshot()?.dataset(&self.dataset)?.dataset.name;
        let stamp = session.stamp(None)?;
        let Some(findings) = registry.forget_root(&dataset, &self.root, &stamp)? else {
            return Err(Error::usage(format!("{dataset} was never checked at {}", self.root))
                .with_hint("`accession fixity status DATASET` lists where it was"));
        };
        let forgotten = Forgotten { dataset: &dataset, root: &self.root, findings };
        session.confirm(&forgotten, |out| {
            let findings = count(findings, "finding");
            writeln!(out, "{dataset}: forgot {}, closed {findings}", self.root)
        })
    }
}
