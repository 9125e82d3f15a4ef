use std::io::Write;

use accession::registry::MirrorSource;
use accession::{Access, DatasetName};
use serde::Serialize;

use crate::cli::args::source_name;
use crate::cli::error::{Error, Exit, Result};
use crate::cli::output::count;
use crate::cli::session::Session;

/// Forget what was read of a primary, and that a mirror was pulled from it
///
/// The primary is no longer listed by `mirror status`. If it was the one from which the mirror was
/// last pulled, the one before it is pulled the next time, or none. The history of the mirror is not
/// changed. When the primary is read again, an older state of it is not noticed.
///
/// Examples:
///   accession mirror forget THEM.FOOL2.002 old.manifest.jsonl
///   accession mirror forget THEM.FOOL2.002 https://data.example.org/datasets/US.FOOL2.002/
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
    /// How many changes of its log were remembered.
    changes: u64,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open(Access::Write)?;
        let snapshot = registry.snapshot()?;
        let dataset = snapshot.dataset(&self.dataset)?.dataset.name;
        let known = snapshot.mirror_sources(&dataset)?;
        drop(snapshot);
        let meant = source_name(&self.source);
        let found = known.iter().find(|known| [&self.source, &meant].contains(&&known.source));
        let Some(MirrorSource { source, last, .. }) = found else {
            return Err(Error::usage(format!("{dataset} was never compared with {meant}"))
                .with_hint("`accession mirror status` lists the primaries of each dataset"));
        };
        registry.forget_mirror_source(&dataset, source)?;
        let changes = last.as_ref().map_or(0, |last| last.number);
        session.confirm(&Forgotten { dataset: &dataset, source, changes }, |out| {
            let changes = count(changes, "change");
            writeln!(out, "{dataset}: forgot {source}, of which {changes} had been read")
        })
    }
}
