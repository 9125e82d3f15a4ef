use std::io::Write;

use accession::{Access, DatasetName, GranuleId, Identifier, Moment, Selection, quoted};
use anyhow::Result;

use crate::cli::args::dataset_at;
use crate::cli::dataset_warnings::warn_of_dataset;
use crate::cli::exit::Exit;
use crate::cli::output::{Column, in_force};
use crate::cli::session::Session;
use crate::cli::warning::WarningKind;

/// List the exact granules that a dataset held, in canonical order
///
/// With --producer, list instead every period in which granules with this producer id were held;
/// the exit status is 1 if there was none.
///
/// Examples:
///   accession granules US.FOOL2.002 --at 2001-01-05
///   accession granules US.FOOL2.002 --identifier DI:763122197bfb3ffbf0da14adbfb1b13b
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,

    /// The time: RFC 3339, or a date, which means the end of that day [default: now]
    #[arg(long, value_name = "T", conflicts_with = "identifier")]
    at: Option<Moment>,

    /// An identifier that was in force
    #[arg(long, value_name = "DI")]
    identifier: Option<Identifier>,

    /// A producer id
    #[arg(long, value_name = "ID", conflicts_with_all = ["at", "identifier"])]
    producer: Option<GranuleId>,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if let Some(producer) = &self.producer {
            return list_of_producer(session, &self.dataset, producer);
        }
        let name = self.dataset.clone();
        let selection = match self.identifier {
            Some(identifier) => Selection::Identifier { identifier, dataset: Some(self.dataset) },
            None => dataset_at(self.dataset, self.at, session.now()?)?,
        };
        let snapshot = session.open(Access::Read)?.snapshot()?;
        let selected = snapshot.select(&selection)?;
        let granules = snapshot.granules(&selected.set)?;
        warn_of_dataset(session, &snapshot, &name)?;
        drop(snapshot);
        for granule in granules {
            let granule = granule?;
            if session.is_json() {
                session.json(&granule)?;
            } else {
                writeln!(session.out(), "{}", granule.granule_id.as_str())?;
            }
        }
        if let (Some(at), false) = (self.at, selected.others.is_empty()) {
            session.warn(
                WarningKind::OtherIdentifiers,
                &format!(
                    "the dataset changed on {at}; these are its granules {}",
                    in_force(selected.instance())
                ),
            );
        }
        Ok(Exit::Done)
    }
}

const HOLDING_PERIOD: [Column; 3] =
    [Column::text("granule"), Column::text("ingested"), Column::text("deleted")];

fn list_of_producer(
    session: &mut Session,
    dataset: &DatasetName,
    producer: &GranuleId,
) -> Result<Exit> {
    let snapshot = session.open(Access::Read)?.snapshot()?;
    let granules = snapshot.granules_of_producer(dataset, producer)?;
    drop(snapshot);
    let mut table = session.table(HOLDING_PERIOD);
    let mut periods = 0;
    for granule in granules {
        let granule = granule?;
        periods += 1;
        if session.is_json() {
            session.json(&granule)?;
            continue;
        }
        let deleted = granule.deleted.map_or("held".to_owned(), |deleted| deleted.to_string());
        let cells = [granule.granule_id.to_string(), granule.ingested.to_string(), deleted];
        table.add_row(session.out(), cells)?;
    }
    table.finish(session.out())?;
    if periods == 0 {
        let producer = quoted(producer.as_str());
        session.warn(
            WarningKind::NeverHeld,
            &format!("{dataset} never held a granule with the producer id {producer}"),
        );
        return Ok(Exit::Differs);
    }
    Ok(Exit::Done)
}
