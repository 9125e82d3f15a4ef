use std::io::{self, Write};

use accession::{Access, DatasetName, Registry, Verification, Withdrawn, quoted};
use anyhow::Result;

use crate::cli::exit::Exit;
use crate::cli::output::{Column, count};
use crate::cli::session::Session;

/// Recompute every identifier that was ever issued, and check that the registry is consistent
///
/// If no dataset is named, all are checked, and the pages and indexes of the file too. Nothing is
/// repaired. The exit status is 1 if something is inconsistent; each finding is printed.
///
/// Example:
///   accession verify
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The datasets [default: all]
    #[arg(value_name = "DATASET")]
    datasets: Vec<DatasetName>,
}

const COLUMNS: [Column; 3] =
    [Column::text("dataset"), Column::number("identifiers"), Column::text("result")];

/// Datasets that are read at once.
const PAGE_ROWS: u32 = 1_000;

/// The totals that end the report.
#[derive(Default)]
struct Summary {
    datasets: u64,
    identifiers: u64,
    findings: u64,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open(Access::Read)?;
        let mut datasets = self.datasets;
        if datasets.is_empty() {
            registry.check_file()?;
            datasets = all_datasets(&registry)?;
        }
        let mut table = session.table(COLUMNS);
        let mut summary = Summary::default();
        let mut exit = Exit::Done;
        for dataset in &datasets {
            let verification = registry.verify(dataset)?;
            if !verification.ok {
                exit = Exit::Differs;
            }
            if session.is_json() {
                session.json(&verification)?;
                continue;
            }
            summary.add(&verification);
            write_findings(session.out(), &verification)?;
            table.add_row(session.out(), cells(&verification))?;
        }
        if !session.is_json() {
            table.finish(session.out())?;
            summary.write(session.out())?;
        }
        Ok(exit)
    }
}

fn all_datasets(registry: &Registry) -> Result<Vec<DatasetName>> {
    let mut datasets: Vec<DatasetName> = Vec::new();
    loop {
        let page = registry.snapshot()?.datasets(datasets.last(), Withdrawn::Listed, PAGE_ROWS)?;
        datasets.extend(page.datasets.into_iter().map(|listed| listed.dataset.name));
        if page.next.is_none() {
            return Ok(datasets);
        }
    }
}

fn write_findings(out: &mut impl Write, verification: &Verification) -> io::Result<()> {
    for finding in &verification.mismatches {
        write!(out, "{}: ", verification.dataset)?;
        match (&finding.granule, finding.timestamp) {
            (Some(granule), _) => write!(out, "{}: ", quoted(granule))?,
            (None, Some(timestamp)) => write!(out, "{timestamp}: ")?,
            (None, None) => {}
        }
        writeln!(out, "{}", finding.text)?;
    }
    Ok(())
}

fn cells(verification: &Verification) -> [String; 3] {
    let result = match verification.mismatches.len() as u64 {
        0 => "ok".to_owned(),
        findings => format!("NOT ok: {}", count(findings, "finding")),
    };
    [verification.dataset.to_string(), verification.identifiers.to_string(), result]
}

impl Summary {
    fn add(&mut self, verification: &Verification) {
        self.datasets += 1;
        self.identifiers += verification.identifiers;
        self.findings += verification.mismatches.len() as u64;
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let datasets = count(self.datasets, "dataset");
        let identifiers = count(self.identifiers, "identifier");
        match self.findings {
            0 => writeln!(out, "{datasets}, {identifiers}: all ok"),
            findings => {
                writeln!(out, "{datasets}, {identifiers}: NOT ok, {}", count(findings, "finding"))
            }
        }
    }
}
