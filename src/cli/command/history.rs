use std::io::Write;

use accession::{Access, DatasetName, Instance};
use anyhow::Result;

use crate::cli::Exit;
use crate::cli::output::one_line;
use crate::cli::session::{Session, shown};

/// List every identifier that a dataset ever had, and since when
///
/// Example:
///   accession history US.FOOL2.002
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut registry = session.open(Access::Read)?;
        let mut is_first = true;
        shown(registry.history(&self.dataset, |instance| {
            if session.is_json() {
                return session.json(&instance);
            }
            if std::mem::take(&mut is_first) {
                let identifier = "identifier";
                writeln!(session.out(), "{:20}  {identifier:32}  granules  change", "timestamp")?;
            }
            write_row(session.out(), &instance)
        }))?;
        Ok(Exit::Done)
    }
}

fn write_row(out: &mut impl Write, instance: &Instance) -> std::io::Result<()> {
    let Instance { timestamp, identifier, granules, ingested, deleted, .. } = instance;
    write!(out, "{timestamp:20}  {identifier}  {granules:8}  +{ingested} -{deleted}")?;
    match &instance.note {
        Some(note) => writeln!(out, "  {}", one_line(note)),
        None => writeln!(out),
    }
}
