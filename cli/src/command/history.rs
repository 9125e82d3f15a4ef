//! Commands that search histories: `history` and `find`.

use accession::history::{FoundPeriod, GranulePrefix};
use accession::text::quoted;
use accession::{GranuleId, HistoryOptions, Moment, SetSpec, WarningKind};

use super::show::sides_in;
use crate::args::KnownAtArgs;
use crate::error::{Error, Exit, Result};
use crate::output::Column;
use crate::session::Session;

/// List the changes of a dataset, oldest first
///
/// Examples:
///   accession history US.FOOL2.002
///   accession history US.FOOL2.002 -n 10
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ListHistory {
    /// The dataset, by its name or its DOI
    #[arg(value_name = "NAME")]
    dataset: SetSpec,

    /// Only changes that took effect at or after this time
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,

    /// Only changes that took effect at or before this time; a date means the end of that day
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,

    /// List the last N changes
    #[arg(short = 'n', value_name = "N")]
    last: Option<u32>,

    #[command(flatten)]
    known_at: KnownAtArgs,
}

impl ListHistory {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let snapshot = session.open()?.snapshot()?;
        let dataset = self.dataset.dataset(&snapshot)?;
        let registry = snapshot.registry().clone();
        drop(snapshot);
        let mut options = self.known_at.of_history(HistoryOptions::new(), session)?;
        if let Some(since) = self.since {
            options = options.since(since.first_instant());
        }
        if let Some(until) = self.until {
            options = options.until(until.last_instant());
        }
        let Some(last) = self.last else {
            session.rows(INSTANCES, registry.history(&dataset, &options))?;
            return Ok(Exit::Done);
        };
        // The last changes are few, so they are turned round in memory.
        let newest = registry.history(&dataset, &options.newest_first());
        let newest = newest.take(last as usize).collect::<accession::Result<Vec<_>>>()?;
        session.rows(INSTANCES, newest.into_iter().rev().map(Ok))?;
        Ok(Exit::Done)
    }
}

/// The columns of a history.
pub const INSTANCES: &[Column] = &[
    Column::text("timestamp"),
    Column::text("identifier"),
    Column::number("granules"),
    Column::text("change").of("").by(sides_in),
    Column::prose("note"),
];

/// List every dataset and period in which a granule was held
///
/// Datasets that were withdrawn are marked. The exit status is 1 if none of the granules was ever held.
///
/// Examples:
///   accession find FOOL2.v2.10.533b2a95-d57f-4f75-9b7d-914d3d220310
///   accession find 'FOOL2.v2.1*'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Find {
    /// The ids of the granules; a final * stands for any characters
    #[arg(value_name = "GRANULE", required = true)]
    granules: Vec<String>,

    /// Find the granules whose ids begin with each GRANULE
    #[arg(long)]
    prefix: bool,
}

/// What is found: one granule, or those whose ids begin so.
enum Sought {
    Granule(GranuleId),
    Beginning(GranulePrefix),
}

/// The number of periods that are read at once.
const PAGE_ROWS: u32 = 1_000;

impl Find {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open()?;
        const COLUMNS: &[Column] = &[
            Column::text("dataset"),
            Column::text("granule"),
            Column::text("ingested"),
            Column::text("deleted").or("held"),
            Column::text("withdrawn").of("withdrawn/timestamp"),
        ];
        let mut list = session.list(COLUMNS);
        let mut is_found = false;
        for text in &self.granules {
            let sought = self.sought(text)?;
            let (mut page, mut is_held): (Vec<FoundPeriod>, _) = (Vec::new(), false);
            loop {
                let (snapshot, last) = (registry.snapshot()?, page.last());
                page = match &sought {
                    Sought::Granule(granule_id) => {
                        let after = last.map(|last| (&last.dataset, last.ingested));
                        snapshot.find(granule_id, after, PAGE_ROWS)?
                    }
                    Sought::Beginning(prefix) => {
                        let after = last.map(FoundPeriod::position);
                        snapshot.find_prefix(prefix, after, PAGE_ROWS)?
                    }
                };
                is_held |= !page.is_empty();
                for period in &page {
                    list.add(session, period)?;
                }
                if page.len() < PAGE_ROWS as usize {
                    break;
                }
            }
            is_found |= is_held;
            if !is_held {
                let what = match &sought {
                    Sought::Granule(granule_id) => quoted(granule_id.as_str()).to_string(),
                    Sought::Beginning(prefix) => {
                        format!("a granule that begins with {}", quoted(prefix.as_str()))
                    }
                };
                session.warn(
                    WarningKind::NeverHeld,
                    &format!("{what} was never held in any dataset here"),
                );
            }
        }
        list.finish(session)?;
        Ok(if is_found { Exit::Done } else { Exit::Differs })
    }

    fn sought(&self, text: &str) -> Result<Sought> {
        let refused = |cause| Error::usage(format!("{} is refused: {cause}", quoted(text)));
        match text.strip_suffix('*').or(self.prefix.then_some(text)) {
            Some(beginning) => Ok(Sought::Beginning(beginning.parse().map_err(refused)?)),
            None => Ok(Sought::Granule(text.parse().map_err(refused)?)),
        }
    }
}
