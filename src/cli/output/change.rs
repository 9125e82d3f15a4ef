//! Instances, and the changes that made them.

use std::io::{self, Write};

use accession::{Applied, DatasetName, Identifier, Instance, Work};
use serde::Serialize;

use super::escape::one_line;
use super::wording::{count, in_force};

/// The instance in force after a command, as JSON: the fields of [`Instance`], which are null, zero
/// or those of the empty set if the dataset has no history.
#[derive(Serialize)]
#[serde(untagged)]
pub enum InForce {
    /// What is in force.
    Instance(Instance),
    /// The dataset has no history, or does not exist.
    Nothing(NoHistory),
}

/// The fields of an instance for a dataset without one.
#[derive(Serialize)]
pub struct NoHistory {
    dataset: DatasetName,
    timestamp: Option<()>,
    until: Option<()>,
    identifier: Identifier,
    granules: u64,
    ingested: u64,
    deleted: u64,
    recorded: Option<()>,
    note: Option<()>,
}

impl InForce {
    /// The instance, or the empty set of `dataset`.
    pub fn of(dataset: &DatasetName, instance: Option<Instance>) -> Self {
        match instance {
            Some(instance) => InForce::Instance(instance),
            None => InForce::Nothing(NoHistory {
                dataset: dataset.clone(),
                timestamp: None,
                until: None,
                identifier: Identifier::EMPTY,
                granules: 0,
                ingested: 0,
                deleted: 0,
                recorded: None,
                note: None,
            }),
        }
    }
}

/// Writes an instance, one field a line.
pub fn write_instance(out: &mut impl Write, instance: &Instance) -> io::Result<()> {
    writeln!(out, "identifier  {}", instance.identifier)?;
    writeln!(out, "dataset     {}", instance.dataset)?;
    writeln!(out, "in force    {}", in_force(instance))?;
    writeln!(out, "granules    {}", instance.granules)?;
    writeln!(out, "change      +{} -{}", instance.ingested, instance.deleted)?;
    writeln!(out, "recorded    {}", instance.recorded)?;
    if let Some(note) = &instance.note {
        writeln!(out, "note        {}", one_line(note))?;
    }
    Ok(())
}

/// Writes what a change cost.
pub fn write_work(out: &mut impl Write, work: &Work) -> io::Result<()> {
    writeln!(
        out,
        "hashed {}, read {}, set {}",
        count(work.steps, "step"),
        count(work.rows, "row"),
        count(work.checkpoints, "checkpoint")
    )
}

/// Writes what a change did.
pub fn write_applied(out: &mut impl Write, applied: &Applied, dry_run: bool) -> io::Result<()> {
    let Some(instance) = &applied.instance else {
        return match applied.skipped_held {
            0 => writeln!(out, "no changes: the input contains no granules"),
            _ => writeln!(out, "no changes: every granule is already registered"),
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
    writeln!(out, "identifier {}", instance.identifier)?;
    write_work(out, &applied.work)?;
    if dry_run {
        writeln!(out, "dry run: nothing was changed")?;
    }
    Ok(())
}
