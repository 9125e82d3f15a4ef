mod status;

use std::io::{self, Write};

use accession::disk::Spool;
use accession::mirror::{
    FirstDifference, MirrorDifference, MirrorStatus, Outcome as Followed, PullOptions, PullPolicy,
    Pulled, Standing, Status, compare, pull,
};
use accession::registry::Counts;
use accession::{Access, DatasetName, Instance, MaxDelete, Timestamp};
use serde::Serialize;

use crate::cli::applied::Application;
use crate::cli::args::PrimaryArgs;
use crate::cli::command::compare::Side;
use crate::cli::error::{Exit, Result};
use crate::cli::output::{Ids, count};
use crate::cli::session::{ChangeTime, Session};
use crate::cli::warning::WarningKind;

/// Compare a mirror with its primary, and bring it up to date
#[derive(clap::Subcommand)]
pub enum Command {
    Compare(Compare),
    Pull(Pull),
    Status(status::Args),
}

/// Show whether a mirror is identical to its primary, and how they differ if it is not
///
/// Every granule of both is compared, and those that only one of them has are listed. A mirror is
/// identical, behind (the primary once held the mirror's set), ahead (the mirror once held the
/// primary's set), or diverged. Before that, the primary is compared with what this mirror read of
/// it before: it is stale if it shows an earlier state, and rewritten if a change that was read is
/// no longer there. The exit status is 0 only if they are identical.
///
/// Examples:
///   accession mirror compare THEM.FOOL2.002 FOOL2.manifest.jsonl
///   accession mirror compare THEM.FOOL2.002 https://data.example.org/datasets/US.FOOL2.002/
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Compare {
    #[command(flatten)]
    primary: PrimaryArgs,

    /// List all granules that differ, instead of the first 20
    #[arg(long)]
    all: bool,
}

/// Make a mirror hold the same granules as its primary, in one change
///
/// The change is committed only if the new identifier is that of the primary. Exit status 0 means
/// that the mirror is now identical to it. If the mirror is ahead or diverged, or the primary stale
/// or rewritten, nothing is changed unless --reset is given, and the exit status is 1: the manifest
/// may be an older one, or that of another dataset. `mirror compare --help` describes these words.
///
/// Example:
///   accession mirror pull THEM.FOOL2.002 us.db --primary-dataset US.FOOL2.002 --create
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Pull {
    #[command(flatten)]
    primary: PrimaryArgs,

    /// When the change takes effect in the mirror: RFC 3339, or a date, which means 00:00:00Z of
    /// that day, or now [default: now]
    #[arg(long, value_name = "T")]
    at: Option<ChangeTime>,

    /// Change the mirror whatever its status is, even if it is ahead or diverged
    #[arg(long)]
    reset: bool,

    /// How many granules a reset may delete: a number, or a percentage of those held [default: the
    /// larger of 10 granules and 10%, and never more than half]
    #[arg(long, value_name = "N|P%", requires = "reset")]
    max_delete: Option<MaxDelete>,

    /// Create the dataset, with the primary's record, and the registry if they do not exist
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
            Command::Status(status) => status.run(session),
        }
    }
}

/// How many granules are listed without `--all`.
const MAX_LISTED: usize = 20;

impl Compare {
    fn run(self, session: &mut Session) -> Result<Exit> {
        let primary = self.primary.open(session)?;
        let registry = session.open(Access::Read)?;
        let dataset = registry.snapshot()?.dataset(&self.primary.dataset)?.dataset.name;
        let comparison = compare(&registry, &dataset, &primary, self.primary.primary_at)?;
        let (status, mut differences) = (comparison.status(), comparison.differences()?);
        // The counts are printed before the granules, which are kept until they are known.
        let (mut missing, mut unexpected) = (Spool::default(), Spool::default());
        let mut listed = Vec::new();
        for difference in differences.by_ref() {
            let (word, ids, granule) = match difference? {
                MirrorDifference::Missing(granule) => (MISSING, &mut missing, granule),
                MirrorDifference::Unexpected(granule) => (UNEXPECTED, &mut unexpected, granule),
            };
            if listed.len() < MAX_LISTED {
                listed.push((word, granule.granule_id.clone()));
            }
            if session.is_json() || self.all {
                ids.add(granule.granule_id.as_str().as_bytes())?;
            }
        }
        let counts = differences.counts();
        if comparison.has_memory() {
            let remembered = session.open(Access::Write).and_then(|registry| {
                let stamp = session.stamp(None)?;
                Ok(comparison.remember(&registry, &dataset, &stamp, Followed::Compared)?)
            });
            // A registry that cannot be written can be compared all the same.
            if let Err(error) = remembered {
                session.warn(
                    WarningKind::MirrorNotRemembered,
                    &format!("what was read of the primary could not be remembered: {error}"),
                );
            }
        }
        let mirror = side("mirror", &dataset, status.mirror.as_ref());
        let primary = side("primary", &status.primary.dataset, Some(&status.primary));
        if session.is_json() {
            let behind = status.standing.filter(|_| status.status == Status::Behind);
            session.json(&ComparedMirror {
                status: status.status,
                mirror,
                primary,
                behind_by: behind.map(|standing| standing.changes_ago),
                in_force_at_primary: behind
                    .map(|standing| Interval { from: standing.since, until: standing.until }),
                first_difference: status.first_difference,
                matched: counts.matched,
                missing: Ids(&missing),
                unexpected: Ids(&unexpected),
            })?;
        } else {
            write_found(session.out(), status, counts)?;
            session.rows([mirror, primary].map(Ok))?;
            let out = session.out();
            if let Some((_, first)) = listed.first() {
                writeln!(out, "first difference at {}", first.as_str())?;
            }
            if self.all {
                for (word, ids) in [(MISSING, missing), (UNEXPECTED, unexpected)] {
                    for id in ids.records() {
                        writeln!(out, "{word:10}  {}", String::from_utf8_lossy(&id?))?;
                    }
                }
            } else {
                for (word, id) in &listed {
                    writeln!(out, "{word:10}  {}", id.as_str())?;
                }
                let more = counts.only_left + counts.only_right - listed.len() as u64;
                if more > 0 {
                    writeln!(out, "and {more} more; --all lists all")?;
                }
            }
        }
        Ok(if status.status == Status::Identical { Exit::Done } else { Exit::Differs })
    }
}

/// How a granule of the mirror differs from the primary.
const MISSING: &str = "missing";
const UNEXPECTED: &str = "unexpected";

/// The result of `mirror compare`, as JSON.
#[derive(Serialize)]
struct ComparedMirror<'a> {
    status: Status,
    mirror: Side<Option<&'a Instance>>,
    primary: Side<Option<&'a Instance>>,
    behind_by: Option<u64>,
    in_force_at_primary: Option<Interval>,
    first_difference: Option<FirstDifference>,
    matched: u64,
    missing: Ids<'a>,
    unexpected: Ids<'a>,
}

/// When an identifier was in force.
#[derive(Serialize)]
struct Interval {
    from: Timestamp,
    until: Option<Timestamp>,
}

fn write_found(out: &mut impl Write, found: &MirrorStatus, counts: Counts) -> io::Result<()> {
    let Counts { matched, only_left: unexpected, only_right: missing } = counts;
    let both = count(matched, "granule");
    match found.status {
        Status::Identical => writeln!(out, "identical: {both}")?,
        Status::Behind => {
            writeln!(out, "behind{}", by_changes("at the primary", found.standing))?;
        }
        Status::Ahead => writeln!(out, "ahead{}", by_changes("here", found.standing))?,
        Status::Diverged => writeln!(out, "diverged")?,
        Status::Stale => writeln!(out, "stale: an older state of the log than was read before")?,
        Status::Rewritten => {
            writeln!(out, "rewritten{}", from_change(found.first_difference))?;
        }
    }
    if found.status == Status::Identical {
        return Ok(());
    }
    writeln!(out, "{both} in both, {missing} missing here, {unexpected} unexpected here")
}

fn side<'a>(
    name: &str,
    dataset: &DatasetName,
    instance: Option<&'a Instance>,
) -> Side<Option<&'a Instance>> {
    let (identifier, timestamp) = match instance {
        Some(instance) => (instance.identifier.to_string(), instance.timestamp.to_string()),
        None => ("no history yet".to_owned(), String::new()),
    };
    let cells = [name.to_owned(), identifier, dataset.to_string(), timestamp];
    Side { compared: instance, cells }
}

/// Describes the first change at which a log contradicts what was read of it before.
fn from_change(first_difference: Option<FirstDifference>) -> String {
    let Some(FirstDifference { change, timestamp }) = first_difference else {
        return String::new();
    };
    format!(": change {change}, at {timestamp}, is not the one that was read before")
}

/// How many changes one side is behind the other, and when the identifier was in force `location`.
fn by_changes(location: &str, standing: Option<Standing>) -> String {
    let Some(Standing { since, until, changes_ago }) = standing else { return String::new() };
    let until = until.map_or("now".to_owned(), |until| until.to_string());
    let changes = count(changes_ago, "change");
    format!(" by {changes}: in force {location} {since} until {until}")
}

impl Pull {
    fn run(self, session: &mut Session) -> Result<Exit> {
        let primary = self.primary.open(session)?;
        let dry_run = self.dry_run;
        let options = PullOptions {
            primary_at: self.primary.primary_at,
            create_dataset: self.create,
            policy: match self.reset {
                true => PullPolicy::Reset(self.max_delete.unwrap_or_default()),
                false => PullPolicy::Follow,
            },
            dry_run,
        };
        let dataset = &self.primary.dataset;
        let (at, create) = (self.at, self.create);
        let application = Application { dataset, at, create, dry_run };
        let (pulled, created) = application.make(session, |registry, stamp| {
            Ok(pull(registry, dataset, &primary, options, stamp)?)
        })?;
        let status = Some(pulled.before.status);
        application
            .report(session, &pulled, created, status, |out| write_pulled(out, &pulled, dry_run))?;
        if pulled.is_identical() {
            return Ok(Exit::Done);
        }
        session.warn(WarningKind::MirrorNotChanged, &why_not_changed(dataset, &pulled.before));
        Ok(Exit::Differs)
    }
}

/// Why a mirror was not changed, and what the user can do.
fn why_not_changed(mirror: &DatasetName, before: &MirrorStatus) -> String {
    let primary = &before.primary;
    let why = match before.status {
        Status::Ahead => format!(
            "is ahead of {}, whose latest change here is {}: this is an older state of the primary, or the mirror was changed",
            primary.dataset, primary.timestamp
        ),
        Status::Stale => format!(
            "would follow an older state of {}: changes after {} were read before",
            primary.dataset, primary.timestamp
        ),
        Status::Rewritten => format!(
            "would follow a history of {} that was rewritten{}",
            primary.dataset,
            from_change(before.first_difference)
        ),
        _ => format!(
            "has diverged from {}, which never held its granules: this is another dataset, or the mirror was changed",
            primary.dataset
        ),
    };
    format!(
        "{mirror} was not changed: it {why}; `accession mirror compare` shows the differences, and --reset replaces what the mirror holds"
    )
}

fn write_pulled(out: &mut impl Write, pulled: &Pulled, dry_run: bool) -> io::Result<()> {
    let primary = &pulled.before.primary;
    let change = pulled.applied.as_ref().and_then(|applied| applied.instance.as_ref());
    let Some(change) = change else {
        let why = match pulled.before.status {
            _ if pulled.is_identical() => "the mirror is already identical to the primary",
            Status::Identical | Status::Behind => "the mirror follows the primary",
            Status::Ahead => "the mirror is ahead of the primary",
            Status::Diverged => "the mirror has diverged from the primary",
            Status::Stale => "the log is an older state of the primary",
            Status::Rewritten => "the primary rewrote its history",
        };
        return writeln!(out, "no changes: {why}");
    };
    let Instance { dataset, timestamp, ingested, deleted, granules, identifier, .. } = change;
    writeln!(out, "{dataset} at {timestamp}: +{ingested} -{deleted}, holds {granules}")?;
    writeln!(out, "identifier {identifier}")?;
    writeln!(out, "identical to {} as of {}", primary.dataset, primary.timestamp)?;
    if dry_run {
        writeln!(out, "dry run: nothing was changed")?;
    }
    Ok(())
}
