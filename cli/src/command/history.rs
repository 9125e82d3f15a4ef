//! Commands that search histories: `lookup`, `history`, `find`, `resolve`, `subsets`.

use accession::dataset::Withdrawal;
use accession::history::{ChangeCounts, GranulePrefix};
use accession::history::{DigestPeriod, FoundPeriod};
use accession::text::quoted;
use accession::{
    DatasetName, ErrorKind, GranuleId, HistoryOptions, Instance, Moment, Selection, Snapshot,
};
use accession::{Warning, WarningKind};
use serde::Serialize;
use serde_json::Value;

use crate::applied::sides;
use crate::args::{
    KnownAtArgs, SiteArgs, TypedDataset, TypedName, TypedSet, dataset_at, moment, refuse_future,
};
use crate::error::{Error, Exit, Result};
use crate::output::{Column, annotation_in, digest_in, in_words, selected_in};
use crate::session::{Session, suggestion};

/// Show the identifier of a dataset that was in force at a time
///
/// A date means the end of that day. If other identifiers were in force during the day, a warning
/// names them.
///
/// Example:
///   accession lookup US.FOOL2.002 --at 2001-01-05
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Lookup {
    /// The dataset, by its name or its DOI, or DATASET@TIME
    dataset: TypedSet,

    /// The time: RFC 3339, or a date [default: now]
    #[arg(long, value_name = "T")]
    at: Option<Moment>,

    #[command(flatten)]
    known_at: KnownAtArgs,
}

#[derive(Serialize)]
struct FoundInstance<'a> {
    #[serde(flatten)]
    instance: &'a Instance,
    digests: &'a [DigestPeriod],
    withdrawn: Option<&'a Withdrawal>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    others: &'a [Instance],
}

impl Lookup {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let snapshot = session.open()?.snapshot()?;
        let (name, at) = match (self.dataset.named(&snapshot)?, self.at) {
            (Selection::Dataset { name, at: None }, at) => (name, at),
            (Selection::Dataset { name, at }, None) => (name, at),
            (Selection::Dataset { .. }, Some(_)) => {
                return Err(Error::usage("the dataset already has a time: omit --at"));
            }
            _ => {
                return Err(Error::usage("this is the name of a set, and not of a dataset")
                    .with_hint("`accession resolve` finds the datasets that held it"));
            }
        };
        let selection = dataset_at(name.clone(), at, session.now()?)?;
        let snapshot = self.known_at.apply(snapshot, session)?;
        let selected = snapshot.select(&selection)?;
        let period = snapshot.period(selected.set)?;
        session.warn_of_dataset(&snapshot, &name)?;
        drop(snapshot);
        if !session.is_json() {
            session.warn_all(Warning::of_others(at, &selected.others));
        }
        let (instance, digests) = (period.set.instance(), period.digests());
        let (withdrawn, others) = (period.withdrawn.as_ref(), selected.others.as_slice());
        let found = FoundInstance { instance, digests: &digests, withdrawn, others };
        let done = session.fields(INSTANCE, &found)?;
        if digests.len() > 1 && !session.is_json() {
            session.fields(&[Column::text("digests").by(digest_in)], &found)?;
        }
        Ok(done)
    }
}

/// What is shown of one instance.
const INSTANCE: &[Column] = &[
    Column::text("identifier"),
    Column::text("digest"),
    Column::text("dataset"),
    Column::text("in force").of("").by(in_force),
    Column::number("granules"),
    Column::text("change").of("").by(sides_in),
    Column::text("recorded"),
    Column::text("by").of("recorded_by"),
    Column::prose("note"),
    Column::prose("annotation").of("annotations").by(annotation_in),
];

/// List every identifier of a dataset, with the time from which it was in force
///
/// With --granule, list instead every period in which that granule was held, with the notes of the
/// changes that ingested and deleted it; the exit status is 1 if there was none.
///
/// Examples:
///   accession history US.FOOL2.002
///   accession history US.FOOL2.002 --reverse --limit 10
///   accession history US.FOOL2.002 --min-deleted 100
///   accession history US.FOOL2.002 --granule FOOL2.v2.10.533b2a95-d57f-4f75-9b7d-914d3d220310
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ListHistory {
    /// The dataset, by its name or its DOI
    dataset: TypedDataset,

    /// Only changes that took effect at or after this time: RFC 3339, or a date
    #[arg(long, value_name = "T", value_parser = moment)]
    since: Option<Moment>,

    /// Only changes that took effect at or before this time: RFC 3339, or a date, which means the
    /// end of that day
    #[arg(long, value_name = "T", value_parser = moment)]
    until: Option<Moment>,

    /// Only changes that deleted at least this many granules
    #[arg(long, value_name = "N")]
    min_deleted: Option<u64>,

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
        conflicts_with_all = ["since", "until", "min_deleted", "limit", "reverse", "known_at"]
    )]
    granule: Option<GranuleId>,
}

impl ListHistory {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let snapshot = session.open()?.snapshot()?;
        let dataset = self.dataset.name(&snapshot)?;
        if let Some(granule_id) = &self.granule {
            return list_periods(session, &snapshot, &dataset, granule_id);
        }
        let registry = snapshot.registry().clone();
        drop(snapshot);
        let mut options = self.known_at.of_history(HistoryOptions::new(), session)?;
        if let Some(since) = self.since {
            options = options.since(since.first_instant());
        }
        if let Some(until) = self.until {
            options = options.until(until.last_instant());
        }
        if self.reverse {
            options = options.newest_first();
        }
        let history = registry.history(&dataset, &options);
        let least = self.min_deleted.unwrap_or(0);
        let history = history.filter(|instance| {
            instance.as_ref().map_or(true, |instance| instance.deleted >= least)
        });
        session.rows(INSTANCES, history.take(self.limit.unwrap_or(usize::MAX)))?;
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

/// When an instance was in force, as it is serialized.
fn in_force(found: &Value) -> String {
    let digests = found["digests"].as_array();
    let (first, last) = (digests.and_then(|it| it.first()), digests.and_then(|it| it.last()));
    let until = last.and_then(|last| last["until"].as_str()).unwrap_or("now");
    format!("{} until {until}", first.map(|first| in_words(&first["from"])).unwrap_or_default())
}

/// The sides of the change of an instance, as it is serialized.
fn sides_in(instance: &Value) -> String {
    let count = |side: &str| instance[side].as_u64().unwrap_or_default();
    let mut counts = ChangeCounts::default();
    counts.ingested = count("ingested");
    counts.deleted = count("deleted");
    counts.described = count("described");
    counts.replaced = count("replaced");
    sides(counts)
}

fn list_periods(
    session: &mut Session,
    snapshot: &Snapshot,
    dataset: &DatasetName,
    granule_id: &GranuleId,
) -> Result<Exit> {
    let periods = snapshot.history_of_granule(dataset, granule_id)?;
    const COLUMNS: &[Column] = &[
        Column::text("ingested"),
        Column::text("deleted").or("held"),
        Column::prose("ingest note").of("ingest_note"),
        Column::prose("delete note").of("delete_note"),
    ];
    if session.rows(COLUMNS, periods.iter().map(Ok))? == 0 {
        let granule = quoted(granule_id.as_str());
        session.warn(WarningKind::NeverHeld, &format!("{dataset} never held {granule}"));
        return Ok(Exit::Differs);
    }
    Ok(Exit::Done)
}

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

/// List every dataset and period in which an identifier was in force
///
/// The identifier of a subset that was cited is listed with the period of the set from which
/// it was selected. The exit status is 1 if the identifier was never in force, or not at the time
/// given.
///
/// Example:
///   accession resolve DI:763122197bfb3ffbf0da14adbfb1b13b --at 2001-01-05
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Resolve {
    /// The identifier, with or without DI:, alone or in a citation or an address, or its first 8 or
    /// more digits; or a digest, sha256: and its first 12 or more digits
    #[arg(value_name = "DI")]
    named: TypedName,

    #[command(flatten)]
    site: SiteArgs,

    /// Search this dataset only
    #[arg(long, value_name = "D")]
    dataset: Option<DatasetName>,

    /// Check that the identifier was in force then: RFC 3339, or a date, which means any time of
    /// that day
    #[arg(long, value_name = "T")]
    at: Option<Moment>,
}

impl Resolve {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if let Some(at) = self.at {
            refuse_future(at, session.now()?)?;
        }
        self.site.follow(session, &[TypedSet::Name(self.named.clone())])?;
        let snapshot = session.open()?.snapshot()?;
        session.warn_all(self.named.unchecked(&snapshot)?);
        let at = self.at.map_or_else(|| self.named.date(&snapshot), |at| Ok(Some(at)))?;
        let dataset = self.dataset.as_ref();
        let meant = |unknown: &str| {
            suggestion(&snapshot, unknown).map_or(String::new(), |meant| format!(": {meant}"))
        };
        let mut resolution = match self.named.resolve(&snapshot, dataset, at) {
            Err(error) if error.kind() == ErrorKind::IdentifierUnknown => {
                let meant = error.unknown().map(meant).unwrap_or_default();
                session.warn(WarningKind::NotInForce, &format!("{error}{meant}"));
                return Ok(Exit::Differs);
            }
            found => found?,
        };
        for row in &mut resolution.rows {
            row.is_of_site = self.site.is_given();
        }
        let identifier = match (&self.named, resolution.rows.first()) {
            (TypedName::Identifier(_), Some(row)) => row.set.identifier().to_string(),
            (named, _) => named.to_string(),
        };
        let meant = match resolution.rows.is_empty() {
            true => meant(&identifier),
            false => String::new(),
        };
        let mut datasets: Vec<_> = resolution.rows.iter().map(|row| row.set.dataset()).collect();
        datasets.dedup();
        for dataset in datasets {
            session.warn_of_dataset(&snapshot, dataset)?;
        }
        drop(snapshot);
        let searched = dataset.map_or("any dataset here".to_owned(), ToString::to_string);
        let disagreement = match at {
            _ if resolution.rows.is_empty() => {
                Some(format!("{identifier} was never in force in {searched}{meant}"))
            }
            Some(at) if resolution.agreement().is_none() && !resolution.is_unknown_then() => {
                Some(format!("{identifier} was not in force at {at} in {searched}"))
            }
            _ => None,
        };
        if let Some(disagreement) = &disagreement {
            session.warn(WarningKind::NotInForce, disagreement);
        }
        if let Some(at) = at
            && resolution.is_unknown_then()
        {
            session.warn(
                WarningKind::NotInForce,
                &format!(
                    "{identifier} is a subset here: whether it was the same at {at} is not known"
                ),
            );
        }
        const COLUMNS: &[Column] = &[
            Column::text("dataset"),
            Column::text("from"),
            Column::text("until").or("now"),
            Column::number("granules"),
            Column::prose("subset").by(selected_in),
        ];
        session.rows(COLUMNS, resolution.rows.iter().map(Ok))?;
        Ok(disagreement.map_or(Exit::Done, |_| Exit::Differs))
    }
}

/// List the subsets of a dataset that were cited
///
/// Example:
///   accession subsets US.FOOL2.002
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Subsets {
    /// The dataset, by its name or its DOI
    dataset: TypedDataset,
}

impl Subsets {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let snapshot = session.open()?.snapshot()?;
        let subsets = snapshot.subsets(&self.dataset.name(&snapshot)?)?;
        drop(snapshot);
        const COLUMNS: &[Column] = &[
            Column::text("identifier"),
            Column::text("as of").of("timestamp"),
            Column::number("granules"),
            Column::text("cited"),
            Column::prose("patterns").or("named one by one"),
        ];
        session.rows(COLUMNS, subsets.iter().map(Ok))?;
        Ok(Exit::Done)
    }
}
