//! Makes one change, for `ingest`, `delete`, `change` and others.

use std::io::Write;

use accession::{Applied, DatasetName, Registry, Stamp};
use anyhow::Result;

use super::change_time::ChangeTime;
use super::commit::Commit;
use super::dataset_warnings::{warn_of_back_dated, warn_of_former_name, warn_of_future_change};
use super::exit::Exit;
use super::output::{AppliedJson, Created, Outcome, write_applied, write_dry_run};
use super::session::{Create, Session, Written};

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
    mut change: impl FnMut(&Registry, &Stamp<'_>) -> accession::Result<Applied>,
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
    session.warn_of(&applied);
    warn_of_time(session, dataset, at, &applied)?;
    session.report_work(&applied.work);
    if session.is_json() {
        let in_force = applied.in_force.as_ref();
        let skipped = applied.skipped;
        let outcome = Outcome { dataset, in_force, changed, dry_run, skipped, created };
        session.json(&AppliedJson::from(outcome))?;
    } else if !session.is_quiet() {
        session.write_created(dataset, created, dry_run)?;
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
            write_dry_run(session.out(), &applied.first, applied.instance.as_ref())?;
        }
    }
    Ok(Exit::Done)
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
