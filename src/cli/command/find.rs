use accession::{Access, FoundPeriod, GranuleId, quoted};
use anyhow::Result;

use crate::cli::exit::Exit;
use crate::cli::output::{Column, one_line};
use crate::cli::session::Session;
use crate::cli::warning::WarningKind;

/// List every dataset and period in which a granule was held
///
/// The exit status is 1 if none of the granules was ever held.
///
/// Example:
///   accession find FOOL2.v2.10.533b2a95-d57f-4f75-9b7d-914d3d220310
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The ids of the granules
    #[arg(value_name = "GRANULE", required = true)]
    granules: Vec<GranuleId>,
}

/// The number of periods that are read at once.
const PAGE_ROWS: u32 = 1_000;

const COLUMNS: [Column; 4] = [
    Column::text("dataset"),
    Column::text("granule"),
    Column::text("ingested"),
    Column::text("deleted"),
];

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open(Access::Read)?;
        let mut table = session.table(COLUMNS);
        let mut is_found = false;
        for granule_id in &self.granules {
            let (mut page, mut is_held): (Vec<FoundPeriod>, _) = (Vec::new(), false);
            loop {
                let after = page.last().map(|last| (&last.dataset, last.ingested));
                page = registry.snapshot()?.find(granule_id, after, PAGE_ROWS)?;
                is_held |= !page.is_empty();
                for period in &page {
                    if session.is_json() {
                        session.json(period)?;
                    } else {
                        table.add_row(session.out(), cells(period))?;
                    }
                }
                if page.len() < PAGE_ROWS as usize {
                    break;
                }
            }
            is_found |= is_held;
            if !is_held {
                let granule = quoted(granule_id.as_str());
                session.warn(
                    WarningKind::NeverHeld,
                    &format!("{granule} was never held in any dataset here"),
                );
            }
        }
        table.finish(session.out())?;
        Ok(if is_found { Exit::Done } else { Exit::Differs })
    }
}

fn cells(period: &FoundPeriod) -> [String; 4] {
    [
        period.dataset.to_string(),
        one_line(period.granule.as_str()).to_string(),
        period.ingested.to_string(),
        period.deleted.map_or("held".to_owned(), |deleted| deleted.to_string()),
    ]
}
