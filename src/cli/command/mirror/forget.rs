use std::io::Write;

use accession::{Access, DatasetName};
use serde::Serialize;

use crate::cli::args::source_name;
use crate::cli::error::{Error, Exit, Result};
use crate::cli::session::Session;

/// Forget what was read of a primary, and that a mirror was pulled from it
///
/// The primary is no longer listed by `mirror status`. If it was the one from which the mirror was
/// last pulled, the one before it is pulled the next time, or none. The history of the mirror is not
/// changed. When the primary is read again, an older state of it is not noticed.
///
/// Example:
///   accession mirror forget THEM.FOOL2.002 old.manifest.jsonl
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,

    /// The primary, as `accession mirror status` lists it
    source: String,
}

/// The result, as JSON.
#[derive(Serialize)]
struct Forgotten<'a> {
    dataset: &'a DatasetName,
    source: &'a str,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open(Access::Write)?;
        let dataset = registry.snapshot()?.dataset(&self.dataset)?.dataset.name;
        let typed = source_name(&self.source);
        let mut forgotten = None;
        for source in [&self.source, &typed] {
            if forgotten.is_none() && registry.forget_mirror_source(&dataset, source)? {
                forgotten = Some(source);
            }
        }
        let Some(source) = forgotten else {
            return Err(Error::usage(format!("{dataset} was never compared with {typed}"))
                .with_hint("`accession mirror status` lists the primaries of each dataset"));
        };
        let done = Forgotten { dataset: &dataset, source };
        session.confirm(&done, |out| writeln!(out, "{dataset}: forgot {source}"))
    }
}
