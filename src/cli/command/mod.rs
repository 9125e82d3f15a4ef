//! The commands: one file each, its `Args` doc is its help.

pub mod backup;
pub mod change;
pub mod check;
pub mod cite;
pub mod compare;
pub mod completions;
pub mod dataset;
pub mod delete;
pub mod export;
pub mod granule_id;
pub mod granules;
pub mod history;
pub mod import;
pub mod ingest;
pub mod lookup;
pub mod mirror;
pub mod payment_id;
pub mod resolve;
pub mod verify;

use accession::{Applied, Change, DatasetName, Moment, Stamp};
use anyhow::Result;

use super::Exit;
use super::output::write_applied;
use super::session::{Create, Session};

/// What `ingest`, `delete` and `change` have in common.
#[derive(clap::Args)]
struct When {
    /// When the change took effect: RFC 3339, or a date, which means its 00:00:00Z; default: now
    #[arg(long, value_name = "T")]
    at: Option<Moment>,

    /// What is to be remembered with the change
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    /// Show what would be done, and leave everything as it is
    #[arg(long)]
    dry_run: bool,
}

/// Makes one change, and shows it.
fn apply(session: &mut Session, dataset: &DatasetName, when: When, change: Change) -> Result<Exit> {
    let stamp = Stamp { at: when.at.map(Moment::of_change), now: session.now()? };
    let change = Change { note: when.note, dry_run: when.dry_run, ..change };
    let create = Create::when(change.create, change.dry_run);
    let applied =
        session.write(create, |registry| Ok(registry.change(dataset, change.clone(), stamp)?))?;
    session.warn_of(&applied);
    show(session, dataset, &applied, when.dry_run)?;
    Ok(Exit::Done)
}

fn show(
    session: &mut Session,
    dataset: &DatasetName,
    applied: &Applied,
    dry_run: bool,
) -> Result<()> {
    if !session.is_json() {
        return Ok(write_applied(session.out(), applied, dry_run)?);
    }
    // With nothing left to do, the instance is the one that stays in force.
    let instance = match &applied.instance {
        Some(instance) => Some(instance.clone()),
        None => session.write(Create::Never, |registry| Ok(registry.dataset(dataset)?.latest))?,
    };
    Ok(session.json(&instance)?)
}
