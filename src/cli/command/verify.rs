use std::io::{self, Write};

use accession::{Access, DatasetName, Verification, quoted};
use anyhow::Result;

use crate::cli::Exit;
use crate::cli::output::count;
use crate::cli::session::Session;

/// Recompute every identifier ever issued, and check that the registry agrees with itself
///
/// Without a dataset, every one is checked, and the pages and indexes of the file as well. Nothing
/// is repaired. Exit status 1: something does not agree, and it is named.
///
/// Example:
///   accession verify
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The datasets; default: all
    #[arg(value_name = "DATASET")]
    datasets: Vec<DatasetName>,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut registry = session.open(Access::Read)?;
        let mut datasets = self.datasets;
        if datasets.is_empty() {
            registry.check_file()?;
            registry.each_dataset(|listed| {
                datasets.push(listed.dataset.name);
                Ok(())
            })?;
        }
        let mut exit = Exit::Done;
        for dataset in &datasets {
            let verification = registry.verify(dataset)?;
            if !verification.ok {
                exit = Exit::Differs;
            }
            if session.is_json() {
                session.json(&verification)?;
            } else {
                write_verification(session.out(), &verification)?;
            }
        }
        Ok(exit)
    }
}

fn write_verification(out: &mut impl Write, verification: &Verification) -> io::Result<()> {
    let Verification { dataset, identifiers, .. } = verification;
    for finding in &verification.mismatches {
        write!(out, "{dataset}: ")?;
        match (&finding.granule, finding.timestamp) {
            (Some(granule), _) => write!(out, "{}: ", quoted(granule))?,
            (None, Some(timestamp)) => write!(out, "{timestamp}: ")?,
            (None, None) => {}
        }
        writeln!(out, "{}", finding.text)?;
    }
    let identifiers = count(*identifiers, "identifier");
    match verification.mismatches.len() as u64 {
        0 => writeln!(out, "{dataset}: {identifiers} ok"),
        findings => {
            writeln!(out, "{dataset}: {identifiers} NOT ok, {}", count(findings, "finding"))
        }
    }
}
