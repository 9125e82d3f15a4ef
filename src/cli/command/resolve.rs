use accession::{Access, DatasetName, Moment, Resolved};
use anyhow::Result;

use crate::cli::args::{TypedIdentifier, refuse_future, stored_name};
use crate::cli::dataset_warnings::warn_of_dataset;
use crate::cli::exit::Exit;
use crate::cli::output::{Column, selected_by};
use crate::cli::session::Session;
use crate::cli::warning::WarningKind;

/// List every dataset and interval in which an identifier was in force
///
/// The identifier of a subset that was cited is listed with the interval of the instance from which
/// it was selected. The exit status is 1 if the identifier was never in force, or not at the time
/// given.
///
/// Example:
///   accession resolve DI:763122197bfb3ffbf0da14adbfb1b13b --at 2001-01-05
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The identifier, with or without DI:, alone or in a citation or an address
    #[arg(value_name = "DI")]
    identifier: TypedIdentifier,

    /// Search this dataset only
    #[arg(long, value_name = "D", value_parser = stored_name)]
    dataset: Option<DatasetName>,

    /// Check that the identifier was in force then: RFC 3339, or a date, which means any time of
    /// that day
    #[arg(long, value_name = "T")]
    at: Option<Moment>,
}

const COLUMNS: [Column; 5] = [
    Column::text("dataset"),
    Column::text("from"),
    Column::text("until"),
    Column::number("granules"),
    Column::prose("subset"),
];

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if let Some(at) = self.at {
            refuse_future(at, session.now()?)?;
        }
        let snapshot = session.open(Access::Read)?.snapshot()?;
        let dataset = self.dataset.as_ref();
        let resolution = snapshot.resolve(self.identifier.0, dataset, self.at)?;
        let mut datasets: Vec<DatasetName> = resolution
            .rows
            .iter()
            .map(|resolved| resolved.set.instance().dataset.clone())
            .collect();
        datasets.dedup();
        for dataset in &datasets {
            warn_of_dataset(session, &snapshot, dataset)?;
        }
        drop(snapshot);
        let searched = dataset.map_or("any dataset here".to_owned(), ToString::to_string);
        let TypedIdentifier(identifier) = self.identifier;
        let disagreement = match self.at {
            _ if resolution.rows.is_empty() => {
                Some(format!("{identifier} was never in force in {searched}"))
            }
            Some(at) if resolution.agreeing == 0 => {
                Some(format!("{identifier} was not in force at {at} in {searched}"))
            }
            _ => None,
        };
        if let Some(disagreement) = &disagreement {
            session.warn(WarningKind::NotInForce, disagreement);
        }
        let mut table = session.table(COLUMNS);
        for resolved in &resolution.rows {
            if session.is_json() {
                session.json(resolved)?;
            } else {
                table.add_row(session.out(), cells(resolved))?;
            }
        }
        table.finish(session.out())?;
        Ok(disagreement.map_or(Exit::Done, |_| Exit::Differs))
    }
}

fn cells(resolved: &Resolved) -> [String; 5] {
    let instance = resolved.set.instance();
    let subset = resolved.set.subset();
    [
        instance.dataset.to_string(),
        instance.timestamp.to_string(),
        instance.until.map_or("now".to_owned(), |until| until.to_string()),
        resolved.set.granules().to_string(),
        subset.map(|subset| selected_by(&subset.criteria)).unwrap_or_default(),
    ]
}
