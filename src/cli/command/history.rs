use accession::{Access, DatasetName, GranuleId, Instance, Moment, NotedPeriod, quoted};
use anyhow::Result;

use crate::cli::args::{KnownAtArgs, stored_name};
use crate::cli::exit::Exit;
use crate::cli::output::{Column, one_line};
use crate::cli::session::Session;
use crate::cli::warning::WarningKind;

/// List every identifier of a dataset, with the time from which it was in force
///
/// With --granule, list instead every period in which that granule was held, with the notes of the
/// changes that ingested and deleted it; the exit status is 1 if there was none.
///
/// Examples:
///   accession history US.FOOL2.002
///   accession history US.FOOL2.002 --reverse --limit 10
///   accession history US.FOOL2.002 --granule FOOL2.v2.10.533b2a95-d57f-4f75-9b7d-914d3d220310
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    #[arg(value_parser = stored_name)]
    dataset: DatasetName,

    /// Only changes that took effect at or after this time: RFC 3339, or a date
    #[arg(long, value_name = "T")]
    since: Option<Moment>,

    /// Only changes that took effect at or before this time: RFC 3339, or a date, which means the
    /// end of that day
    #[arg(long, value_name = "T")]
    until: Option<Moment>,

    /// List at most this many changes
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// List the newest change first
    #[arg(long)]
    reverse: bool,

    #[command(flatten)]
    known_at: KnownAtArgs,

    /// The periods in which this granule was held
    #[arg(
        long,
        value_name = "ID",
        conflicts_with_all = ["since", "until", "limit", "reverse", "known_at"]
    )]
    granule: Option<GranuleId>,
}

const COLUMNS: [Column; 5] = [
    Column::text("timestamp"),
    Column::text("identifier"),
    Column::number("granules"),
    Column::text("change"),
    Column::prose("note"),
];

const PERIOD_COLUMNS: [Column; 4] = [
    Column::text("ingested"),
    Column::text("deleted"),
    Column::prose("ingest note"),
    Column::prose("delete note"),
];

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if let Some(granule_id) = &self.granule {
            return list_periods(session, &self.dataset, granule_id);
        }
        let snapshot = session.open(Access::Read)?.snapshot()?;
        let mut history = self.known_at.apply(snapshot, session)?.history(&self.dataset)?;
        if let Some(since) = self.since {
            history = history.since(since.first_instant());
        }
        if let Some(until) = self.until {
            history = history.until(until.last_instant());
        }
        if self.reverse {
            history = history.newest_first();
        }
        let mut table = session.table(COLUMNS);
        for instance in history.take(self.limit.unwrap_or(usize::MAX)) {
            let instance = instance?;
            if session.is_json() {
                session.json(&instance)?;
            } else {
                table.add_row(session.out(), cells(&instance))?;
            }
        }
        table.finish(session.out())?;
        Ok(Exit::Done)
    }
}

fn cells(instance: &Instance) -> [String; 5] {
    [
        instance.timestamp.to_string(),
        instance.identifier.to_string(),
        instance.granules.to_string(),
        format!("+{} -{}", instance.ingested, instance.deleted),
        shown(instance.note.as_deref()),
    ]
}

fn list_periods(
    session: &mut Session,
    dataset: &DatasetName,
    granule_id: &GranuleId,
) -> Result<Exit> {
    let periods =
        session.open(Access::Read)?.snapshot()?.history_of_granule(dataset, granule_id)?;
    let mut table = session.table(PERIOD_COLUMNS);
    for noted in &periods {
        if session.is_json() {
            session.json(noted)?;
        } else {
            table.add_row(session.out(), cells_of_period(noted))?;
        }
    }
    table.finish(session.out())?;
    if periods.is_empty() {
        let granule = quoted(granule_id.as_str());
        session.warn(WarningKind::NeverHeld, &format!("{dataset} never held {granule}"));
        return Ok(Exit::Differs);
    }
    Ok(Exit::Done)
}

fn cells_of_period(noted: &NotedPeriod) -> [String; 4] {
    [
        noted.period.ingested.to_string(),
        noted.period.deleted.map_or("held".to_owned(), |deleted| deleted.to_string()),
        shown(noted.ingest_note.as_deref()),
        shown(noted.delete_note.as_deref()),
    ]
}

fn shown(note: Option<&str>) -> String {
    note.map(|note| one_line(note).to_string()).unwrap_or_default()
}
