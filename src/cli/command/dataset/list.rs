use accession::{Access, Listed, Withdrawn};
use anyhow::Result;

use crate::cli::dataset_warnings::{in_force_now, warn_of_future};
use crate::cli::output::Column;
use crate::cli::session::Session;

/// List the datasets, each with its latest identifier
///
/// Datasets that were withdrawn are left out, unless --all is given.
///
/// Example:
///   accession dataset list --all
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Also list the datasets that were withdrawn
    #[arg(long)]
    all: bool,
}

const COLUMNS: [Column; 5] = [
    Column::text("dataset"),
    Column::text("identifier"),
    Column::number("granules"),
    Column::text("since"),
    Column::text("withdrawn"),
];

/// The number of datasets in a page.
const PAGE_ROWS: u32 = 1_000;

impl Args {
    pub fn run(self, session: &mut Session) -> Result<()> {
        let withdrawn = if self.all { Withdrawn::Listed } else { Withdrawn::LeftOut };
        let columns = if self.all { &COLUMNS[..] } else { &COLUMNS[..4] };
        let registry = session.open(Access::Read)?;
        let now = session.now()?;
        let mut table = session.table(columns);
        let (mut after, mut missing) = (None, 0);
        loop {
            let snapshot = registry.snapshot()?;
            let mut page = snapshot.reachable_datasets(after.as_ref(), withdrawn, PAGE_ROWS)?;
            for listed in &mut page.datasets {
                missing += u64::from(listed.problem.is_some());
                warn_of_future(session, listed, now);
                in_force_now(&snapshot, listed, now)?;
            }
            drop(snapshot);
            for listed in &page.datasets {
                if session.is_json() {
                    session.json(listed)?;
                } else {
                    table.add_row(session.out(), &cells(listed)[..columns.len()])?;
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        table.finish(session.out())?;
        match missing {
            0 => Ok(()),
            datasets => Err(accession::Error::Incomplete { datasets }.into()),
        }
    }
}

fn cells(listed: &Listed) -> [String; 5] {
    let name = listed.dataset.name.to_string();
    let withdrawn = listed.withdrawn.as_ref();
    let withdrawn = withdrawn.map(|withdrawal| withdrawal.timestamp.to_string());
    let withdrawn = withdrawn.unwrap_or_default();
    let nothing_known = |why: &str, granules: &str| {
        [name.clone(), why.to_owned(), granules.to_owned(), String::new(), withdrawn.clone()]
    };
    match &listed.latest {
        None if listed.problem.is_some() => nothing_known("cannot be reached", ""),
        None => nothing_known("no history yet", "0"),
        Some(latest) => [
            name,
            latest.identifier.to_string(),
            latest.granules.to_string(),
            latest.timestamp.to_string(),
            withdrawn,
        ],
    }
}
