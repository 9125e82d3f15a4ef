use accession::{Access, DatasetName, Identifier, MirrorSource, Snapshot, Timestamp, Withdrawn};
use anyhow::Result;
use serde::Serialize;

use crate::cli::args::stored_name;
use crate::cli::exit::Exit;
use crate::cli::output::Column;
use crate::cli::session::Session;

/// List the primaries that mirrors were compared with, and what was read of them
///
/// Only primaries at an address and manifests are listed: what was read of them is remembered.
///
/// Example:
///   accession mirror status THEM.FOOL2.002
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset [default: all]
    #[arg(value_parser = stored_name)]
    dataset: Option<DatasetName>,
}

/// A primary of a mirror.
#[derive(Serialize)]
struct Row<'a> {
    dataset: &'a DatasetName,
    source: &'a str,
    changes: u64,
    timestamp: Option<Timestamp>,
    identifier: Option<Identifier>,
    read: Timestamp,
    identical: Option<Timestamp>,
}

const COLUMNS: [Column; 6] = [
    Column::text("dataset"),
    Column::number("changes"),
    Column::text("up to"),
    Column::text("read"),
    Column::text("identical"),
    Column::prose("source"),
];

/// The number of datasets that are read at once.
const PAGE_DATASETS: u32 = 1_000;

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let snapshot = session.open(Access::Read)?.snapshot()?;
        let sources = match &self.dataset {
            Some(dataset) => snapshot.mirror_sources(dataset)?,
            None => all(&snapshot)?,
        };
        drop(snapshot);
        let mut table = session.table(COLUMNS);
        for source in &sources {
            let row = row(source);
            if session.is_json() {
                session.json(&row)?;
            } else {
                table.add_row(session.out(), cells(&row))?;
            }
        }
        table.finish(session.out())?;
        Ok(Exit::Done)
    }
}

/// The sources of all datasets.
fn all(snapshot: &Snapshot) -> Result<Vec<MirrorSource>> {
    let (mut sources, mut after) = (Vec::new(), None);
    loop {
        let page = snapshot.datasets(after.as_ref(), Withdrawn::Listed, PAGE_DATASETS)?;
        for listed in page.datasets {
            sources.extend(snapshot.mirror_sources(&listed.dataset.name)?);
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(sources),
        }
    }
}

fn row(source: &MirrorSource) -> Row<'_> {
    let last = source.last.as_ref();
    Row {
        dataset: &source.dataset,
        source: &source.source,
        changes: last.map_or(0, |last| last.number),
        timestamp: last.map(|last| last.timestamp),
        identifier: last.map(|last| last.identifier),
        read: source.read,
        identical: source.identical,
    }
}

fn cells(row: &Row<'_>) -> [String; 6] {
    let time = |time: Option<Timestamp>| time.map_or_else(String::new, |time| time.to_string());
    [
        row.dataset.to_string(),
        row.changes.to_string(),
        time(row.timestamp),
        row.read.to_string(),
        row.identical.map_or_else(|| "never".to_owned(), |identical| identical.to_string()),
        row.source.to_owned(),
    ]
}
