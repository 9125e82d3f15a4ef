//! Decides where the chain is resumed, and makes the pass over the granules from there.

use super::addition::Addition;
use crate::chain::{Hashing, Sweep};
use crate::model::{Checkpoint, DatasetName, GranuleId, Identifier, Timestamp};
use crate::registry::error::{Error, Result};
use crate::registry::handle::Work as Progress;
use crate::store::{Begin, Period};

/// The number of checkpoints that are stored at once.
const BATCH_CHECKPOINTS: usize = 256;

/// The work that a change took, counted so that tests can check its documented cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Work {
    /// The number of chain steps that were hashed.
    pub steps: u64,
    /// The number of granule rows that were read.
    pub rows: u64,
    /// The number of checkpoints that were set.
    pub checkpoints: u64,
}

/// The point at which the chain is resumed.
pub(super) enum Resume {
    /// At the end of the canonical order, after the latest identifier, with this id.
    End(Identifier, GranuleId),
    /// After the last checkpoint before the divergence.
    After(Checkpoint),
    /// At the beginning, since there is no checkpoint before the divergence.
    Start,
}

/// Decides where to resume for events whose smallest id is `divergence`, and deletes the
/// checkpoints that they invalidate. Must be called before any row is changed.
///
/// The point is chosen by sort position, not by time. The rule in Curt Tilmes' message (resume
/// from the identifier that was stored before the ingest of the preceding granule) is correct only
/// if granules are ingested in canonical order (docs/about/errata.md, Resuming a computation).
pub(super) fn resume_before(addition: &Addition<'_>, divergence: &GranuleId) -> Result<Resume> {
    let Addition { transaction, dataset, .. } = *addition;
    if let Some(latest) = &addition.latest
        && !transaction.holds_from(dataset, divergence)?
    {
        return Ok(Resume::End(latest.identifier, divergence.clone()));
    }
    transaction.drop_checkpoints_from(dataset, divergence.as_str())?;
    Ok(match transaction.checkpoint_before(dataset, divergence.as_str())? {
        Some(checkpoint) => Resume::After(checkpoint),
        None => Resume::Start,
    })
}

impl Resume {
    /// The chain value to resume with, and the id to begin at.
    fn point(&self) -> (Identifier, Begin<'_>) {
        match self {
            Resume::End(identifier, granule_id) => (*identifier, Begin::At(granule_id)),
            Resume::After(checkpoint) => (checkpoint.chain, Begin::After(&checkpoint.granule_id)),
            Resume::Start => (Identifier::EMPTY, Begin::Start),
        }
    }

    /// How many of the granules held so far are before that point. `None` means that it is not
    /// known, since an older version of this program set the checkpoint.
    fn granules_before(&self, held: u64) -> Option<u64> {
        match self {
            Resume::End(..) => Some(held),
            Resume::After(checkpoint) => checkpoint.granules,
            Resume::Start => Some(0),
        }
    }
}

/// Hashes the granules of the new instances, and sets checkpoints.
///
/// # Errors
///
/// [`Error::Inconsistent`]: the number of rows read is not the number that the history counts.
pub(super) fn sweep(
    addition: &Addition<'_>,
    resume: &Resume,
    mut progress: Progress,
) -> Result<(Sweep, Work)> {
    let Addition { transaction, dataset, name, times, latest, .. } = addition;
    let (chain, begin) = resume.point();
    let last = latest.as_ref().map(|latest| latest.timestamp);
    let held_before = latest.as_ref().map_or(0, |latest| latest.granules);
    let before = resume.granules_before(held_before);
    let mut rows = 0;
    // The number of rows of the stored history after the resume point.
    let mut stored = 0;
    let mut checkpoints = Checkpoints { addition, batch: Vec::new(), stored: 0 };
    let sweep = std::thread::scope(|scope| {
        let leave_checkpoint = |granule_id: &str, chain: Identifier, held: u64| -> Result<()> {
            let granules = before.map(|before| before + held);
            let granule_id = GranuleId::new(granule_id).map_err(|_| not_an_id(name))?;
            checkpoints.add(Checkpoint { granule_id, chain, granules })
        };
        let mut hashing = Hashing::new(scope, Sweep::resume(times.len(), chain), leave_checkpoint);
        transaction.each_period(*dataset, begin, last, |period| {
            rows += 1;
            progress.advance()?;
            let is_stored = last.is_some_and(|last| period.ingested <= last.as_micros());
            stored += u64::from(is_stored);
            let (granule_id, span) = span(name, times, period)?;
            hashing.hold(granule_id, span)
        })?;
        hashing.finish()
    })?;
    checkpoints.store()?;
    if let Some(before) = before
        && before + stored != held_before
    {
        let what = format!(
            "{name} has rows of {} granules, but its history counts {held_before}",
            before + stored
        );
        return Err(Error::Inconsistent { what });
    }
    let work = Work { steps: sweep.steps(), rows, checkpoints: checkpoints.stored };
    Ok((sweep, work))
}

/// Collects checkpoints, and stores them in batches.
struct Checkpoints<'a> {
    addition: &'a Addition<'a>,
    batch: Vec<Checkpoint>,
    stored: u64,
}

impl Checkpoints<'_> {
    fn add(&mut self, checkpoint: Checkpoint) -> Result<()> {
        self.batch.push(checkpoint);
        if self.batch.len() == BATCH_CHECKPOINTS { self.store() } else { Ok(()) }
    }

    fn store(&mut self) -> Result<()> {
        let Addition { transaction, dataset, .. } = *self.addition;
        transaction.insert_checkpoints(dataset, &self.batch)?;
        self.stored += self.batch.len() as u64;
        self.batch.clear();
        Ok(())
    }
}

/// A granule's id, and the numbers of the new instances that hold it during a period.
fn span<'row>(
    name: &DatasetName,
    times: &[Timestamp],
    period: Period<'row>,
) -> Result<(&'row str, std::ops::Range<usize>)> {
    let granule_id = std::str::from_utf8(period.granule_id)
        .ok()
        .filter(|text| GranuleId::check(text).is_ok())
        .ok_or_else(|| not_an_id(name))?;
    let number = |micros: i64| times.partition_point(|time| time.as_micros() < micros);
    let to = period.deleted.map_or(times.len(), number);
    Ok((granule_id, number(period.ingested).min(to)..to))
}

fn not_an_id(name: &DatasetName) -> Error {
    Error::Inconsistent { what: format!("{name} has a row whose granule id is not valid") }
}
