use std::io::Write;

use accession::{Access, DatasetName, GranuleId, Identifier, Moment, Selection, quoted};
use anyhow::Result;

use crate::cli::Exit;
use crate::cli::output::in_force;
use crate::cli::selection::dataset_at;
use crate::cli::session::{Session, shown};

/// List the exact granules that a dataset held, in canonical order
///
/// Examples:
///   accession granules US.FOOL2.002 --at 2001-01-05
///   accession granules US.FOOL2.002 --identifier DI:763122197bfb3ffbf0da14adbfb1b13b
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,

    /// The time: RFC 3339, or a date, which means the end of that day; default: now
    #[arg(long, value_name = "T", conflicts_with = "identifier")]
    at: Option<Moment>,

    /// The identifier that was in force
    #[arg(long, value_name = "DI")]
    identifier: Option<Identifier>,

    /// Every stay of the granules that their producer called so, held still or not; exit status 1
    /// if there is none
    #[arg(long, value_name = "ID", conflicts_with_all = ["at", "identifier"])]
    producer: Option<GranuleId>,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if let Some(producer) = &self.producer {
            return of_producer(session, &self.dataset, producer);
        }
        let selection = match self.identifier {
            Some(identifier) => Selection::Identifier { identifier, dataset: Some(self.dataset) },
            None => dataset_at(self.dataset, self.at, session.now()?)?,
        };
        let mut registry = session.open(Access::Read)?;
        let selected = shown(registry.granules(&selection, |granule| {
            if session.is_json() {
                session.json(&granule)
            } else {
                let id = granule.granule_id.as_str();
                writeln!(session.out(), "{id}")
            }
        }))?;
        if let (Some(at), false) = (self.at, selected.others.is_empty()) {
            session.warn(&format!(
                "on {at} the dataset changed; these are its granules {}",
                in_force(&selected.instance)
            ));
        }
        Ok(Exit::Done)
    }
}

fn of_producer(session: &mut Session, dataset: &DatasetName, producer: &GranuleId) -> Result<Exit> {
    let mut registry = session.open(Access::Read)?;
    let stays = shown(registry.granules_of_producer(dataset, producer, |granule| {
        if session.is_json() {
            return session.json(&granule);
        }
        let until = granule.deleted.map_or("now".to_owned(), |deleted| deleted.to_string());
        let id = granule.granule_id.as_str();
        writeln!(session.out(), "{id}  {} until {until}", granule.ingested)
    }))?;
    if stays == 0 {
        let producer = quoted(producer.as_str());
        session.warn(&format!("{dataset} never held a granule with the producer id {producer}"));
        return Ok(Exit::Differs);
    }
    Ok(Exit::Done)
}
