//! Makes one change, for `ingest`, `delete`, `change` and others, and reports what was changed.

use std::io::{self, Write};

use accession::{
    Applied, DatasetName, GranuleId, Identifier, Instance, Registry, Skipped, Stamp, quoted,
};
use anyhow::Result;
use serde::Serialize;

use super::commit::Commit;
use super::dataset_warnings::{warn_of_back_dated, warn_of_former_name, warn_of_future_change};
use super::exit::Exit;
use super::output::{count, in_force, one_line};
use super::session::{ChangeTime, Create, Session, Written};
use super::warning::WarningKind;

/// The options of one change.
pub struct Application {
    /// The time at which it takes effect. `None` means now.
    pub at: Option<ChangeTime>,
    /// Whether the registry and the dataset are created if they do not exist.
    pub create: bool,
    /// Whether the change is rolled back.
    pub dry_run: bool,
    /// Why nothing changed, if nothing did. `None` means because granules were skipped.
    pub unchanged: Option<&'static str>,
}

/// Makes one change, and prints it.
pub fn apply(
    session: &mut Session,
    dataset: &DatasetName,
    application: Application,
    mut change: impl FnMut(&Registry, &Stamp) -> accession::Result<Applied>,
) -> Result<Exit> {
    let Application { at, create, dry_run, unchanged } = application;
    let create = Create::when(create, dry_run);
    let is_new_registry = session.new_registry(create)?.is_some();
    let applied = session.write(create, |registry, session| {
        let applied = change(registry, &session.stamp(at)?)?;
        let changed = applied.instance.is_some() && !dry_run;
        Ok(Written { result: applied, committed: changed.then_some(Commit::History) })
    })?;
    let changed = applied.instance.is_some();
    let created =
        Created { registry: is_new_registry && changed, dataset: applied.created_dataset };
    warn_of_skipped(session, &applied);
    warn_of_time(session, dataset, at, &applied)?;
    session.report_work(&applied.effort);
    if session.is_json() {
        let in_force = applied.in_force.as_ref();
        let skipped = applied.skipped;
        let outcome = Outcome { dataset, in_force, changed, dry_run, skipped, created };
        session.json(&AppliedJson::from(outcome))?;
    } else if !session.is_quiet() {
        write_created(session, dataset, created, dry_run)?;
        match unchanged.filter(|_| !changed) {
            Some(why) => {
                writeln!(session.out(), "no changes: {why}")?;
                if let Some(in_force) = &applied.in_force {
                    writeln!(session.out(), "identifier {}", in_force.identifier)?;
                }
            }
            None => write_applied(session.out(), &applied)?,
        }
        if dry_run {
            write_dry_run(
                session.out(),
                [&applied.first_ingested, &applied.first_deleted],
                applied.instance.as_ref(),
            )?;
        }
    }
    Ok(Exit::Done)
}

/// Warns about a clock that is behind, and about granules that were skipped.
fn warn_of_skipped(session: &Session, applied: &Applied) {
    if let Some(behind_micros) = applied.clock_behind_micros {
        let seconds = behind_micros / 1_000_000;
        session.warn(
            WarningKind::ClockBehind,
            &format!(
                "the clock is {seconds} s behind the last change; the change is stamped a microsecond after that"
            ),
        );
    }
    let Skipped { held, repeated, missing } = applied.skipped;
    let parts: Vec<String> =
        [(held, "already held"), (missing, "not held"), (repeated, "repeated")]
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, why)| format!("{number} {why}"))
            .collect();
    if !parts.is_empty() {
        let skipped = count(held + repeated + missing, "granule");
        session.warn(WarningKind::Skipped, &format!("skipped {skipped}: {}", parts.join(", ")));
    }
}

/// Warns about the name of the dataset and the times of its changes.
fn warn_of_time(
    session: &Session,
    asked: &DatasetName,
    at: Option<ChangeTime>,
    applied: &Applied,
) -> Result<()> {
    let Some(in_force) = &applied.in_force else { return Ok(()) };
    let now = session.now()?;
    warn_of_former_name(session, asked, &in_force.dataset);
    if applied.clock_behind_micros.is_none() {
        warn_of_future_change(session, in_force, now);
    }
    if let (Some(at), Some(_), Some(_)) =
        (at.and_then(ChangeTime::instant), &applied.instance, applied.last)
    {
        warn_of_back_dated(session, at, now);
    }
    Ok(())
}

/// The result of a command that changes the history of a dataset, as JSON: the fields of the instance
/// in force afterwards, which are null, zero or those of the empty set if the dataset has no history,
/// and what was changed.
#[derive(Serialize)]
pub struct AppliedJson<'a> {
    #[serde(flatten)]
    instance: InForce<'a>,
    changed: bool,
    dry_run: bool,
    skipped: Skipped,
    created: Created,
}

/// What was created, or in a dry run would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Created {
    /// The registry.
    pub registry: bool,
    /// The dataset.
    pub dataset: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum InForce<'a> {
    Instance(&'a Instance),
    Nothing(NoHistory<'a>),
}

/// The fields of an instance for a dataset without one.
#[derive(Serialize)]
struct NoHistory<'a> {
    dataset: &'a DatasetName,
    timestamp: Option<()>,
    until: Option<()>,
    identifier: Identifier,
    granules: u64,
    ingested: u64,
    deleted: u64,
    recorded: Option<()>,
    recorded_by: Option<()>,
    note: Option<()>,
}

/// The values from which [`AppliedJson`] is made.
pub struct Outcome<'a> {
    pub dataset: &'a DatasetName,
    /// The instance in force afterwards. `None` means that the dataset has no
    /// history, or does not exist.
    pub in_force: Option<&'a Instance>,
    /// Whether a change was made, or in a dry run would be.
    pub changed: bool,
    pub dry_run: bool,
    pub skipped: Skipped,
    pub created: Created,
}

impl<'a> From<Outcome<'a>> for AppliedJson<'a> {
    fn from(outcome: Outcome<'a>) -> Self {
        let instance = match outcome.in_force {
            Some(instance) => InForce::Instance(instance),
            None => InForce::Nothing(NoHistory {
                dataset: outcome.dataset,
                timestamp: None,
                until: None,
                identifier: Identifier::EMPTY,
                granules: 0,
                ingested: 0,
                deleted: 0,
                recorded: None,
                recorded_by: None,
                note: None,
            }),
        };
        let Outcome { changed, dry_run, skipped, created, .. } = outcome;
        AppliedJson { instance, changed, dry_run, skipped, created }
    }
}

/// Writes an instance, one field per line.
pub fn write_instance(out: &mut impl Write, instance: &Instance) -> io::Result<()> {
    writeln!(out, "identifier  {}", instance.identifier)?;
    writeln!(out, "dataset     {}", instance.dataset)?;
    writeln!(out, "in force    {}", in_force(instance))?;
    writeln!(out, "granules    {}", instance.granules)?;
    writeln!(out, "change      +{} -{}", instance.ingested, instance.deleted)?;
    match &instance.recorded_by {
        Some(by) => writeln!(out, "recorded    {} by {}", instance.recorded, one_line(by))?,
        None => writeln!(out, "recorded    {}", instance.recorded)?,
    }
    if let Some(note) = &instance.note {
        writeln!(out, "note        {}", one_line(note))?;
    }
    Ok(())
}

/// Writes which registry and which dataset were created.
pub fn write_created(
    session: &mut Session,
    dataset: &DatasetName,
    created: Created,
    dry_run: bool,
) -> io::Result<()> {
    let verb = if dry_run { "would create" } else { "created" };
    if created.registry {
        let path = session.registry_path();
        let path = quoted(&path.to_string_lossy()).to_string();
        writeln!(session.out(), "{verb} registry {path}")?;
    }
    if created.dataset {
        writeln!(session.out(), "{verb} dataset {dataset}")?;
    }
    Ok(())
}

/// Writes the result of a change.
pub fn write_applied(out: &mut impl Write, applied: &Applied) -> io::Result<()> {
    let Some(instance) = &applied.instance else {
        return match applied.skipped {
            Skipped { held: 1.., .. } => {
                writeln!(out, "no changes: every granule is already registered")
            }
            Skipped { missing: 1.., .. } => {
                writeln!(out, "no changes: none of the granules is held")
            }
            _ => writeln!(out, "no changes: the input contains no granules"),
        };
    };
    writeln!(
        out,
        "{} at {}: +{} -{}, holds {}",
        instance.dataset,
        instance.timestamp,
        instance.ingested,
        instance.deleted,
        instance.granules
    )?;
    writeln!(out, "identifier {}", instance.identifier)
}

/// Writes that a change was rolled back, with the first granules of each side as examples.
pub fn write_dry_run(
    out: &mut impl Write,
    [first_ingested, first_deleted]: [&[GranuleId]; 2],
    total: Option<&Instance>,
) -> io::Result<()> {
    let (ingested, deleted) = total.map_or((0, 0), |total| (total.ingested, total.deleted));
    for (verb, ids, count) in
        [("ingest", first_ingested, ingested), ("delete", first_deleted, deleted)]
    {
        let more = count.saturating_sub(ids.len() as u64);
        ids.iter().try_for_each(|id| writeln!(out, "would {verb} {}", id.as_str()))?;
        if more > 0 {
            writeln!(out, "would {verb} {more} more")?;
        }
    }
    writeln!(out, "dry run: nothing was changed")
}
