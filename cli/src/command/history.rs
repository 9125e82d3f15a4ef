//! Commands that search histories: `history` and `find`.

use std::io::{self, Write};

use accession::history::{Exported, FoundPeriod, GranuleQuery};
use accession::text::quoted;
use accession::{
    DatasetName, EventKind, GranuleId, HistoryOptions, Moment, Registry, SetSpec, Timestamp,
    WarningKind,
};
use serde::Serialize;
use serde_json::Value;

use super::show::sides_in;
use crate::args::{KnownAtArgs, moment};
use crate::error::{Error, Exit, Result};
use crate::output::{Column, Output, counted, in_words, one_line};
use crate::session::Session;

/// List the changes of datasets
///
/// Changes are listed oldest first. Without a name, the changes of all datasets are listed in the order in which they were recorded.
///
/// Examples:
///   accession history US.FOOL2.002
///   accession history US.FOOL2.002 -n 1 --changes
///   accession history
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ListHistory {
    /// The datasets, by their names or DOIs [default: all]
    #[arg(value_name = "NAME")]
    datasets: Vec<SetSpec>,

    /// List the last N changes of each; without a name, of all [default without a name: 100, or all --since a time]
    #[arg(short = 'n', value_name = "N")]
    last: Option<u32>,

    /// List the granules of each change: + ingested, - deleted, ~ other files
    #[arg(long, requires = "datasets")]
    changes: bool,

    /// Only changes that took effect at or after this time; without a name, that were recorded then
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Moment>,

    /// Only changes that took effect at or before this time; a date means the end of that day
    #[arg(long, value_name = "TIME", requires = "datasets", value_parser = moment)]
    until: Option<Moment>,

    #[command(flatten)]
    known_at: KnownAtArgs,
}

/// The number of changes that are listed if no dataset is named.
const LISTED: u32 = 100;

/// A granule of a change.
#[derive(Serialize)]
struct ChangedGranule {
    dataset: DatasetName,
    timestamp: Timestamp,
    granule: GranuleId,
    event: &'static str,
}

impl ListHistory {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open()?;
        if self.datasets.is_empty() {
            let snapshot = self.known_at.apply(registry.snapshot()?, session)?;
            let since = self.since.map_or(Timestamp::MIN, |since| since.first_instant());
            let listed = if self.since.is_some() { u32::MAX } else { LISTED };
            let last = snapshot.recorded_last(since, self.last.unwrap_or(listed))?;
            drop(snapshot);
            session.rows(OF_ALL, last.into_iter().map(Ok))?;
            return Ok(Exit::Done);
        }
        let snapshot = registry.snapshot()?;
        let names = self.datasets.iter().map(|spec| spec.dataset(&snapshot));
        let names = names.collect::<accession::Result<Vec<_>>>()?;
        for name in &names {
            self.known_at.check_dataset(name, &snapshot)?;
        }
        for name in names.iter().filter(|_| !session.is_json()) {
            // A damaged record must not hide the history.
            let corrections = snapshot.dataset(name).map(|listed| listed.corrections);
            for correction in corrections.unwrap_or_default() {
                session.note(&format!("{name}: {correction}"));
            }
        }
        drop(snapshot);
        let columns = if names.len() > 1 { OF_ALL } else { INSTANCES };
        let mut options = self.known_at.of_history(HistoryOptions::new(), session)?;
        if let Some(since) = self.since {
            options = options.since(since.first_instant());
        }
        if let Some(until) = self.until {
            options = options.until(until.last_instant());
        }
        let mut list = session.list(columns);
        for name in &names {
            let first = self.first(&registry, name, &options)?;
            let options = match first {
                Some(first) => options.clone().since(first),
                None => options.clone(),
            };
            if self.changes {
                list_changes(session, &registry, name, &options)?;
                continue;
            }
            for instance in registry.history(name, &options) {
                list.add(session, &instance?)?;
            }
        }
        list.finish(session)?;
        Ok(Exit::Done)
    }

    /// The time of the first of the last N changes. `None` means that all changes are listed.
    fn first(
        &self,
        registry: &Registry,
        name: &DatasetName,
        options: &HistoryOptions,
    ) -> Result<Option<Timestamp>> {
        let Some(last) = self.last else { return Ok(None) };
        let newest = registry.history(name, &options.clone().newest_first());
        let first = newest.take(last as usize).last().transpose()?;
        // If there are no changes, none is listed.
        Ok(Some(first.map_or(Timestamp::MAX, |first| first.timestamp)))
    }
}

/// Prints each change in a line, followed by its granules.
fn list_changes(
    session: &mut Session,
    registry: &Registry,
    name: &DatasetName,
    options: &HistoryOptions,
) -> Result<()> {
    let mut changes = registry.history(name, options);
    let Some(first) = changes.next().transpose()? else { return Ok(()) };
    let before = Timestamp::from_micros(first.timestamp.as_micros() - 1);
    let mut exported = registry.export(name, before)?;
    for instance in std::iter::once(Ok(first)).chain(changes) {
        let instance = instance?;
        session.present(&instance, write_instance)?;
        for exported in exported.by_ref() {
            let Exported::Event(changed) = exported? else { break };
            let event = match changed.kind {
                EventKind::Ingested => "ingested",
                EventKind::Deleted => "deleted",
                EventKind::Described => "described",
                EventKind::Replaced => "replaced",
            };
            let (dataset, timestamp, granule) = (name.clone(), changed.at, changed.granule_id);
            let changed = ChangedGranule { dataset, timestamp, granule, event };
            session.present(&changed, write_changed_granule)?;
        }
    }
    Ok(())
}

/// Writes a change in a line.
fn write_instance(out: &mut Output, instance: &Value) -> io::Result<()> {
    let [timestamp, identifier] =
        ["timestamp", "identifier"].map(|member| in_words(&instance[member]));
    let granules = counted(&instance["granules"], "granule");
    write!(out, "{timestamp}  DI:{identifier}  {granules}")?;
    match instance["note"].as_str() {
        Some(note) => writeln!(out, "  {}", one_line(note)),
        None => writeln!(out),
    }
}

/// Writes a granule of a change in a line.
fn write_changed_granule(out: &mut Output, changed: &Value) -> io::Result<()> {
    let mark = match changed["event"].as_str() {
        Some("ingested") => '+',
        Some("deleted") => '-',
        _ => '~',
    };
    writeln!(out, "  {mark} {}", one_line(&in_words(&changed["granule"])))
}

/// The columns of the histories of several datasets.
const OF_ALL: &[Column] = &[
    Column::text("recorded"),
    Column::text("dataset"),
    Column::text("timestamp"),
    Column::text("identifier"),
    Column::number("granules"),
    Column::text("change").of("").by(sides_in),
    Column::prose("note"),
];

/// The columns of a history.
pub const INSTANCES: &[Column] = &[
    Column::text("timestamp"),
    Column::text("identifier"),
    Column::number("granules"),
    Column::text("change").of("").by(sides_in),
    Column::prose("note"),
];

/// Show where and when a granule was held
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
    #[arg(long, hide_short_help = true)]
    prefix: bool,
}

/// The number of periods that are read in one page.
const PAGE_ROWS: u32 = 1_000;

impl Find {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        self.refuse_without_effect()?;
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
            let query = self.query(text)?;
            let (mut page, mut is_held): (Vec<FoundPeriod>, _) = (Vec::new(), false);
            loop {
                let after = page.last().map(FoundPeriod::position);
                page = registry.snapshot()?.find(&query, after, PAGE_ROWS)?;
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
                let beginning = if query.is_prefix() { "a granule that begins with " } else { "" };
                let what = format!("{beginning}{}", quoted(query.as_str()));
                session.warn(
                    WarningKind::NeverHeld,
                    &format!("{what} was never held in any dataset here"),
                );
            }
        }
        list.finish(session)?;
        Ok(if is_found { Exit::Done } else { Exit::Differs })
    }

    fn refuse_without_effect(&self) -> Result<()> {
        let starred = self.granules.iter().find(|text| text.ends_with('*'));
        let Some(starred) = starred.filter(|_| self.prefix) else { return Ok(()) };
        let message = format!("--prefix means what the * of {} means", quoted(starred));
        Err(Error::usage(message).with_hint("omit --prefix, or the *"))
    }

    fn query(&self, text: &str) -> Result<GranuleQuery> {
        let query = if self.prefix { GranuleQuery::with_prefix(text) } else { text.parse() };
        query.map_err(|cause| Error::usage(format!("{} is refused: {cause}", quoted(text))))
    }
}
