//! Making one change, as `ingest`, `delete` and `change` do.

use accession::{Change, DatasetName, Error, Instance, Moment, Registry, Stamp};
use anyhow::Result;

use super::args::ChangeArgs;
use super::commit::Commit;
use super::exit::Exit;
use super::output::{InForce, write_applied};
use super::session::{Create, Session, Written};

/// Makes one change, and prints it.
pub fn apply(
    session: &mut Session,
    dataset: &DatasetName,
    args: ChangeArgs,
    change: Change,
) -> Result<Exit> {
    let dry_run = args.dry_run;
    let stamp = Stamp { at: args.at.map(Moment::of_change), now: session.now()? };
    let change = Change { note: args.note, dry_run, ..change };
    let create = Create::when(change.create, dry_run);
    let (applied, in_force) = session.write(create, |registry, _| {
        let applied = registry.change(dataset, change.clone(), stamp)?;
        let in_force = match &applied.instance {
            Some(instance) => Some(instance.clone()),
            None => latest(registry, dataset)?,
        };
        let changed = applied.instance.is_some() && !dry_run;
        Ok(Written { result: (applied, in_force), committed: changed.then_some(Commit::History) })
    })?;
    session.warn_of(&applied);
    if session.is_json() {
        session.json(&InForce::of(dataset, in_force))?;
    } else {
        write_applied(session.out(), &applied, dry_run)?;
    }
    Ok(Exit::Done)
}

/// The instance in force; `None` if the dataset has no history, or does not exist.
pub fn latest(registry: &mut Registry, dataset: &DatasetName) -> Result<Option<Instance>> {
    match registry.dataset(dataset) {
        Ok(listed) => Ok(listed.latest),
        Err(Error::NoDataset { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
