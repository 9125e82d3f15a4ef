use std::io::Write;

use accession::model::quoted;
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
        let Some(MirrorSource { source, last, is_default, .. }) = found else {
            let message = format!("{dataset} has no primary {}", quoted(&meant));
            let hint = match known.is_empty() {
                true => format!("nothing was forgotten: no primary was ever read for {dataset}"),
                false => format!(
                    "nothing was forgotten; `accession mirror status {dataset}` lists its primaries"
                ),
            };
            return Err(Error::usage(message).with_hint(hint));
        };
        registry.forget_mirror_source(&dataset, source)?;
        let left = registry.snapshot()?.mirror_sources(&dataset)?;
        let next = left.iter().find(|left| left.is_default);
        let changes = last.as_ref().map_or(0, |last| last.number);
        session.confirm(&Forgotten { dataset: &dataset, source, changes }, |out| {
            let changes = count(changes, "change");
            writeln!(out, "{dataset}: forgot {source}, of which {changes} had been read")?;
            match (is_default, next) {
                (false, _) => Ok(()),
                (true, Some(next)) => writeln!(out, "it is pulled from {} now", next.source),
                (true, None) => writeln!(out, "the next pull of {dataset} must name its primary"),
            }
        })
    }
}
