use accession::registry::{MirrorSource, Withdrawn};
use accession::{Access, DatasetName, Identifier, Snapshot, Timestamp};
use serde::Serialize;

use crate::cli::error::{Exit, Result};
use crate::cli::output::{Column, Row};
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
    dataset: Option<DatasetName>,
}

/// A primary of a mirror.
#[derive(Serialize)]
struct MirrorRow<'a> {
    dataset: &'a DatasetName,
    source: &'a str,
    changes: u64,
    timestamp: Option<Timestamp>,
    identifier: Option<Identifier>,
    read: Timestamp,
    identical: Option<Timestamp>,
}

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
        session.rows(sources.iter().map(|source| Ok(MirrorRow::of(source))))?;
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

impl<'a> MirrorRow<'a> {
    fn of(source: &'a MirrorSource) -> Self {
        let last = source.last.as_ref();
        MirrorRow {
            dataset: &source.dataset,
            source: &source.source,
            changes: last.map_or(0, |last| last.number),
            timestamp: last.map(|last| last.timestamp),
            identifier: last.map(|last| last.identifier),
            read: source.read,
            identical: source.identical,
        }
    }
}

impl Row for MirrorRow<'_> {
    const COLUMNS: &'static [Column] = &[
        Column::text("dataset"),
        Column::number("changes"),
        Column::text("up to"),
        Column::text("read"),
        Column::text("identical"),
        Column::prose("source"),
    ];

    fn cells(&self) -> Vec<String> {
        let time = |time: Option<Timestamp>| time.map(|time| time.to_string());
        vec![
            self.dataset.to_string(),
            self.changes.to_string(),
            time(self.timestamp).unwrap_or_default(),
            self.read.to_string(),
            time(self.identical).unwrap_or("never".to_owned()),
            self.source.to_owned(),
        ]
    }
}
