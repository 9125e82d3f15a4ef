//! Instances, and the changes that made them.

use std::io::{self, Write};

use accession::{Applied, DatasetName, FirstIds, Identifier, Instance, Skipped, Work};
use serde::Serialize;

use super::escape::one_line;
use super::wording::{count, in_force};

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

/// The work that a change took, as text.
pub fn work_done(work: &Work) -> String {
    format!(
        "hashed {}, read {}, set {}",
        count(work.steps, "step"),
        count(work.rows, "row"),
        count(work.checkpoints, "checkpoint")
    )
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
    first: &FirstIds,
    total: Option<&Instance>,
) -> io::Result<()> {
    let (ingested, deleted) = total.map_or((0, 0), |total| (total.ingested, total.deleted));
    for (verb, ids, count) in
        [("ingest", &first.ingested, ingested), ("delete", &first.deleted, deleted)]
    {
        let more = count.saturating_sub(ids.len() as u64);
        ids.iter().try_for_each(|id| writeln!(out, "would {verb} {}", id.as_str()))?;
        if more > 0 {
            writeln!(out, "would {verb} {more} more")?;
        }
    }
    writeln!(out, "dry run: nothing was changed")
}
