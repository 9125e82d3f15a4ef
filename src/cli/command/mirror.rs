use std::io::{self, Write};

use accession::mirror::{
    MirrorComparison, Primary, PullOptions, Pulled, Standing, Status, compare, pull,
};
use accession::{Access, DatasetName, Difference, Instance, Moment, Registry, Stamp};
use anyhow::Result;

use crate::cli::apply::latest;
use crate::cli::args::PrimaryArgs;
use crate::cli::commit::Commit;
use crate::cli::exit::Exit;
use crate::cli::output::{Column, InForce, Table, count, json, write_work};
use crate::cli::session::{Create, Session, Written, printed};
use crate::cli::usage::UsageError;

/// Compare a mirror with its primary, and bring it up to date
#[derive(clap::Subcommand)]
pub enum Command {
    Compare(Compare),
    Pull(Pull),
}

/// Show whether a mirror is identical to its primary, behind, ahead or diverged
///
/// Every granule of both is compared, and those that only one of them has are listed. The exit
/// status is 0 only if they are identical.
///
/// Example:
///   accession mirror compare THEM.FOOL2.002 FOOL2.manifest.jsonl
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Compare {
    #[command(flatten)]
    primary: PrimaryArgs,

    /// List all granules that differ, instead of the first 20
    #[arg(long)]
    all: bool,
}

/// Make a mirror hold what its primary holds, in one change
///
/// The change is committed only if the new identifier is that of the primary. Exit status 0 means
/// that the mirror is now identical to it.
///
/// Example:
///   accession mirror pull THEM.FOOL2.002 us.db --primary-dataset US.FOOL2.002 --create
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Pull {
    #[command(flatten)]
    primary: PrimaryArgs,

    /// When the change takes effect in the mirror: RFC 3339, or a date, which means 00:00:00Z of
    /// that day [default: now]
    #[arg(long, value_name = "T")]
    at: Option<Moment>,

    /// Create the dataset and the registry if they do not exist
    #[arg(long)]
    create: bool,

    /// Show what would be done, without changing anything
    #[arg(long)]
    dry_run: bool,
}

impl Command {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Command::Compare(compare) => compare.run(session),
            Command::Pull(pull) => pull.run(session),
        }
    }
}

/// How many granules are listed without `--all`.
const MAX_LISTED: u64 = 20;

impl Compare {
    fn run(self, session: &mut Session) -> Result<Exit> {
        let mut primary = self.primary.open(session)?;
        let mut registry = session.open(Access::Read)?;
        registry.dataset(&self.primary.dataset)?;
        let (dataset, at) = (&self.primary.dataset, self.primary.primary_at);
        // The counts are printed before the granules, so a first pass only counts.
        let found = compare(&mut registry, dataset, &mut primary, at, |_| Ok(()))?;
        if session.is_json() {
            write_json(session, &mut registry, dataset, &mut primary, at, &found)?;
        } else {
            let table = session.table(COLUMNS);
            write_found(session.out(), table, dataset, primary.dataset(), &found)?;
            let mut differences = 0;
            let again = printed(compare(&mut registry, dataset, &mut primary, at, |difference| {
                differences += 1;
                if self.all || differences <= MAX_LISTED {
                    write_difference(session.out(), &difference)?;
                }
                Ok(())
            }))?;
            refuse_change(&found, &again)?;
            if !self.all && differences > MAX_LISTED {
                let more = differences - MAX_LISTED;
                writeln!(session.out(), "and {more} more; --all lists all")?;
            }
        }
        Ok(if found.status == Status::Identical { Exit::Done } else { Exit::Differs })
    }
}

fn write_difference(out: &mut impl Write, difference: &Difference) -> io::Result<()> {
    let (word, granule_id) = match difference {
        Difference::OnlyLeft(granule_id) => ("unexpected", granule_id),
        Difference::OnlyRight(granule_id) => ("missing", granule_id),
    };
    writeln!(out, "{word:10}  {}", granule_id.as_str())
}

/// Refuses a second pass that found something else than the first.
fn refuse_change(found: &MirrorComparison, again: &MirrorComparison) -> Result<()> {
    if found == again {
        return Ok(());
    }
    let message = "the mirror or the primary was changed while they were compared";
    Err(UsageError::new(message).with_hint("try again").into())
}

/// Writes the differences while they are found: there may be too many to keep in memory.
fn write_json(
    session: &mut Session,
    registry: &mut Registry,
    dataset: &DatasetName,
    primary: &mut Primary,
    at: Option<Moment>,
    found: &MirrorComparison,
) -> Result<()> {
    let status = json::to_string(&found.status);
    let (mirror, instance) = (json::to_string(&found.mirror), json::to_string(&found.primary));
    let matched = found.matched;
    let out = session.out();
    write!(out, "{{\"status\":{status},\"mirror\":{mirror},\"primary\":{instance},")?;
    write!(out, "\"matched\":{matched}")?;
    for name in ["missing", "unexpected"] {
        write!(session.out(), ",\"{name}\":[")?;
        let mut is_first = true;
        let again = printed(compare(registry, dataset, primary, at, |difference| {
            let granule_id = match (&difference, name) {
                (Difference::OnlyRight(granule_id), "missing") => granule_id,
                (Difference::OnlyLeft(granule_id), "unexpected") => granule_id,
                _ => return Ok(()),
            };
            let comma = if std::mem::take(&mut is_first) { "" } else { "," };
            let granule_id = json::to_string(granule_id);
            Ok(write!(session.out(), "{comma}{granule_id}")?)
        }))?;
        refuse_change(found, &again)?;
        write!(session.out(), "]")?;
    }
    Ok(writeln!(session.out(), "}}")?)
}

const COLUMNS: [Column; 4] = [
    Column::text("side"),
    Column::text("identifier"),
    Column::text("dataset"),
    Column::text("as of"),
];

fn write_found(
    out: &mut impl Write,
    mut table: Table,
    mirror_dataset: &DatasetName,
    primary_dataset: &DatasetName,
    found: &MirrorComparison,
) -> io::Result<()> {
    let MirrorComparison { matched, missing, unexpected, .. } = found;
    let both = count(*matched, "granule");
    match found.status {
        Status::Identical => writeln!(out, "identical: {both}")?,
        Status::Behind => {
            writeln!(out, "behind{}", by_changes("at the primary", found.standing))?;
        }
        Status::Ahead => writeln!(out, "ahead{}", by_changes("here", found.standing))?,
        Status::Diverged => writeln!(out, "diverged")?,
    }
    if found.status != Status::Identical {
        writeln!(out, "{both} in both, {missing} missing here, {unexpected} unexpected here")?;
    }
    table.add_row(out, side("mirror", mirror_dataset, found.mirror.as_ref()))?;
    table.add_row(out, side("primary", primary_dataset, Some(&found.primary)))?;
    table.finish(out)?;
    if let Some(first) = &found.first_difference {
        writeln!(out, "first difference at {}", first.as_str())?;
    }
    Ok(())
}

fn side(name: &str, dataset: &DatasetName, instance: Option<&Instance>) -> [String; 4] {
    let (identifier, timestamp) = match instance {
        Some(instance) => (instance.identifier.to_string(), instance.timestamp.to_string()),
        None => ("no history yet".to_owned(), String::new()),
    };
    [name.to_owned(), identifier, dataset.to_string(), timestamp]
}

/// How far one side is behind the other, and when the identifier was in force `location`.
fn by_changes(location: &str, standing: Option<Standing>) -> String {
    let Some(Standing { since, until, changes_ago }) = standing else { return String::new() };
    let until = until.map_or("now".to_owned(), |until| until.to_string());
    let changes = count(changes_ago, "change");
    format!(" by {changes}: in force {location} {since} until {until}")
}

impl Pull {
    fn run(self, session: &mut Session) -> Result<Exit> {
        let mut primary = self.primary.open(session)?;
        let stamp = Stamp { at: self.at.map(Moment::of_change), now: session.now()? };
        let (primary_at, create, dry_run) = (self.primary.primary_at, self.create, self.dry_run);
        let options = PullOptions { primary_at, stamp, create, dry_run };
        let dataset = &self.primary.dataset;
        let (pulled, in_force) = session.write(Create::when(create, dry_run), |registry, _| {
            let pulled = pull(registry, dataset, &mut primary, options)?;
            let in_force = match &pulled.change {
                Some(change) => Some(change.clone()),
                None => latest(registry, dataset)?,
            };
            let changed = pulled.change.is_some() && !dry_run;
            Ok(Written {
                result: (pulled, in_force),
                committed: changed.then_some(Commit::History),
            })
        })?;
        if session.is_json() {
            session.json(&InForce::of(dataset, in_force))?;
        } else {
            write_pulled(session.out(), &pulled, dry_run)?;
        }
        Ok(Exit::Done)
    }
}

fn write_pulled(out: &mut impl Write, pulled: &Pulled, dry_run: bool) -> io::Result<()> {
    let Pulled { change, primary, work } = pulled;
    let Some(change) = change else {
        return writeln!(out, "no changes: the mirror is already identical to the primary");
    };
    let Instance { dataset, timestamp, ingested, deleted, granules, identifier, .. } = change;
    writeln!(out, "{dataset} at {timestamp}: +{ingested} -{deleted}, holds {granules}")?;
    writeln!(out, "identifier {identifier}")?;
    writeln!(out, "identical to {} as of {}", primary.dataset, primary.timestamp)?;
    write_work(out, work)?;
    if dry_run {
        writeln!(out, "dry run: nothing was changed")?;
    }
    Ok(())
}
