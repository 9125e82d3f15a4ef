//! `status`: the latest changes of datasets, their primaries and files, and their problems.

use std::io::{self, Write};
use std::time::Duration;

use accession::DatasetName;
use accession::Warning;
use accession::status::{DatasetStatus, StatusThresholds};
use serde::Serialize;
use serde_json::Value;

use super::facts::improvement;
use crate::args::{age, named_or_all};
use crate::error::{Exit, Result};
use crate::output::{
    Column, Output, counted, in_words, one_line, plural, to_the_second, write_rows,
};
use crate::session::Session;

/// Show the latest changes, and what needs attention
///
/// If a dataset has a problem, the exit status is 1. Problems are: the present set is questionable; sync rejected
/// the latest listing; the primary of a mirror or a replica cannot be read, pulled or imported; files are not as
/// recorded; something is older than --max-age or --checked-within, or too few witnesses have seen it. Datasets with
/// problems are listed first, then the primaries of mirrors, then the first ten files of each dataset that are not as
/// recorded.
///
/// The age of a dataset counts from its latest change, confirmed listing, or identical comparison with its
/// primary. Only the primary of the latest pull can be too old or fail, and of a dataset that was never pulled that of
/// the latest import can fail. Withdrawn datasets are left out.
///
/// Examples:
///   accession status
///   accession status US.FOOL2.002 --max-age 36h --checked-within 90d
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The datasets [default: all]
    #[arg(value_name = "DATASET")]
    datasets: Vec<DatasetName>,

    /// The greatest age of a dataset: 90m, 36h or 2d
    ///
    /// A mirror must also have been identical to its primary since, and witnesses must have seen older statements.
    #[arg(long, value_name = "AGE", value_parser = age)]
    max_age: Option<Duration>,

    /// The time in which all files must have been checked: 36h or 90d
    ///
    /// It applies to each directory in which files of the dataset were ever checked. A check that has begun counts.
    #[arg(long, value_name = "AGE", value_parser = age)]
    checked_within: Option<Duration>,
}

/// The maximum number of rows that are printed as text: one screen.
const MAX_ROWS: usize = 20;

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open()?;
        let now = registry.now();
        let oldest = StatusThresholds {
            seen: self.max_age.map(|age| now.before(age)),
            checked: self.checked_within.map(|age| now.before(age)),
        };
        let snapshot = registry.snapshot()?;
        for name in &self.datasets {
            session.warn_all(Warning::of_former_name(name, &snapshot.dataset(name)?.dataset.name));
        }
        drop(snapshot);
        let rows = registry.status(&named_or_all(&self.datasets), oldest)?;
        let wrong = rows.iter().filter(|row| !row.problems.is_empty()).count();
        let program = session.program();
        let rows = rows.iter().map(|row| StatusRow { row, improve: improvement_of(row, &program) });
        session.present_list(&rows.collect::<Vec<_>>(), write_status)?;
        Ok(if wrong == 0 { Exit::Done } else { Exit::Differs })
    }
}

/// The state of a dataset, as JSON.
#[derive(Serialize)]
struct StatusRow<'a> {
    #[serde(flatten)]
    row: &'a DatasetStatus,
    /// The command that checks the files of a mirror.
    improve: Option<String>,
}

fn improvement_of(row: &DatasetStatus, program: &str) -> Option<String> {
    let files = &row.mirrors.first()?.facts.files;
    let roots = row.fixity.as_ref().map_or(&[][..], |checked| &checked.roots);
    improvement(program, &row.dataset, files, roots)
}

fn write_status(out: &mut Output, rows: &Value) -> io::Result<()> {
    let rows = rows.as_array().map_or(&[][..], Vec::as_slice);
    let shown = &rows[..rows.len().min(MAX_ROWS)];
    write_rows(out, STATUS, shown)?;
    write_primaries(out, shown)?;
    for row in shown {
        write_open_findings(out, row)?;
    }
    let more = rows.len() - shown.len();
    if more > 0 {
        writeln!(out, "… and {more} more; --json lists all")?;
    }
    let datasets = plural(rows.len() as u64, "dataset");
    let has_problems = |row: &&Value| row["problems"].as_array().is_some_and(|it| !it.is_empty());
    match rows.iter().filter(has_problems).count() {
        0 => writeln!(out, "{datasets}: all well"),
        wrong => writeln!(out, "{datasets}: {wrong} with problems"),
    }
}

/// Writes the primaries of the datasets that are mirrors.
fn write_primaries(out: &mut Output, rows: &[Value]) -> io::Result<()> {
    let mirrors = |row: &Value| row["mirrors"].as_array().cloned().unwrap_or_default();
    let mut primaries = Vec::new();
    for row in rows {
        for mut primary in mirrors(row) {
            primary["dataset"] = row["dataset"].clone();
            primaries.push(primary);
        }
    }
    if primaries.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    write_rows(out, PRIMARIES, &primaries)?;
    writeln!(out)?;
    for row in rows {
        let (dataset, mirrors) = (in_words(&row["dataset"]), mirrors(row));
        for primary in &mirrors {
            let of = match mirrors.len() {
                1 => String::new(),
                _ => format!(" of {}", one_line(&in_words(&primary["source"]))),
            };
            writeln!(out, "{dataset}{of}: {}", in_words(&primary["facts"]["text"]))?;
        }
        if let Some(improve) = row["improve"].as_str() {
            writeln!(out, "  check its files: {improve}")?;
        }
    }
    Ok(())
}

/// Writes the first files of a dataset that differ from their records, if there are any.
fn write_open_findings(out: &mut Output, row: &Value) -> io::Result<()> {
    let fixity = &row["fixity"];
    let open = fixity["open"].as_u64().unwrap_or(0);
    if open == 0 {
        return Ok(());
    }
    let (dataset, files) = (in_words(&row["dataset"]), counted(&fixity["open"], "file"));
    writeln!(out, "\n{dataset}: {files} not as recorded")?;
    let first = fixity["first"].as_array().map_or(&[][..], Vec::as_slice);
    write_rows(out, OPEN_FINDINGS, first)?;
    match open.saturating_sub(first.len() as u64) {
        0 => Ok(()),
        more => writeln!(out, "… and {more} more"),
    }
}

/// The columns of primaries.
const PRIMARIES: &[Column] = &[
    Column::text("mirror").of("dataset"),
    Column::text("verdict"),
    Column::number("changes"),
    Column::text("up to").of("timestamp"),
    Column::text("read").by(to_the_second),
    Column::text("identical").by(to_the_second).or("never"),
    Column::text("default"),
    Column::text("source"),
    Column::prose("last error").of("failure").if_any(),
];

/// The columns of datasets.
const STATUS: &[Column] = &[
    Column::text("dataset"),
    Column::text("changed").of("changed/recorded").by(to_the_second),
    Column::text("confirmed").of("confirmed/timestamp").by(to_the_second).if_any(),
    Column::text("identical").by(to_the_second).if_any(),
    Column::prose("problems")
        .by(|problems| {
            let problems = problems.as_array().into_iter().flatten();
            problems.map(in_words).collect::<Vec<_>>().join("; ")
        })
        .or_below(),
];

/// The columns of files that differ from their records.
const OPEN_FINDINGS: &[Column] = &[
    Column::text("granule"),
    // If a path equals the granule, it is not printed twice.
    Column::text("path").unless("granule"),
    Column::text("status"),
    Column::text("first seen").of("first_seen").by(to_the_second),
    Column::text("root"),
    Column::prose("found"),
];
