//! Making one change, as `ingest`, `delete`, `change` and others do.

use std::io::Write;

use accession::{Applied, DatasetName, Registry, Stamp, Timestamp};
use anyhow::Result;

use super::commit::Commit;
use super::exit::Exit;
use super::output::{AppliedJson, Created, Outcome, write_applied};
use super::session::{Create, Session, Written};

/// How one change is made.
pub struct Application {
    /// The time at which it takes effect. `None`: now.
    pub at: Option<Timestamp>,
    /// Whether the registry and the dataset are created if they do not exist.
    pub create: bool,
    /// Whether everything is undone again.
    pub dry_run: bool,
    /// Why there are no changes, if there are none. `None`: because of what was skipped.
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
    let is_new_registry = session.new_registry(create).is_some();
    let applied = session.write(create, |registry, session| {
        let applied = change(registry, &session.stamp(at)?)?;
        let changed = applied.instance.is_some() && !dry_run;
        Ok(Written { result: applied, committed: changed.then_some(Commit::History) })
    })?;
    let changed = applied.instance.is_some();
    let created =
        Created { registry: is_new_registry && changed, dataset: applied.created_dataset };
    session.warn_of(&applied);
    if session.is_json() {
        let in_force = applied.in_force.as_ref();
        let skipped = applied.skipped;
        let outcome = Outcome { dataset, in_force, changed, dry_run, skipped, created };
        session.json(&AppliedJson::from(outcome))?;
    } else {
        session.write_created(dataset, created, dry_run)?;
        match unchanged.filter(|_| !changed) {
            Some(why) => writeln!(session.out(), "no changes: {why}")?,
            None => write_applied(session.out(), &applied, dry_run)?,
        }
    }
    Ok(Exit::Done)
}
