use std::io::Write;

use accession::{Access, DatasetName, Identifier, Moment, Selection};
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
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let selection = match self.identifier {
            Some(identifier) => Selection::Identifier { identifier, dataset: Some(self.dataset) },
            None => dataset_at(self.dataset, self.at, session.now()?)?,
        };
        let mut registry = session.open(Access::Read)?;
        let selected = shown(registry.granules(&selection, |granule| {
            if session.is_json() {
                session.json(&granule)
            } else {
                writeln!(session.out(), "{}", granule.granule_id)
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
