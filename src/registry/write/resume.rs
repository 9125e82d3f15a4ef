//! From where a change is hashed, and the pass over the granules from there on.

use super::addition::Addition;
use crate::chain::{Hashing, Sweep};
use crate::model::{Checkpoint, DatasetName, GranuleId, Identifier, Timestamp};
use crate::registry::error::{Error, Result};
use crate::registry::handle::Work as Progress;
use crate::store::{Begin, Period};

/// Checkpoints that are stored at once.
const BATCH_CHECKPOINTS: usize = 256;

/// What a change cost: counted, so that tests can hold it to its promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Work {
    /// Steps of the chain that were hashed.
    pub steps: u64,
    /// Granule rows that were read for it.
    pub rows: u64,
    /// Checkpoints that were set.
    pub checkpoints: u64,
}

/// From where the chain is hashed forward.
pub(super) enum Resume {
    /// From the end of the canonical order: from the latest identifier, on with this id.
    End(Identifier, GranuleId),
    /// From the last checkpoint before the divergence.
    After(Checkpoint),
    /// From the start: there is no checkpoint before the divergence.
    Start,
}

/// Decides from where to hash for events whose smallest id is `divergence`, and drops the
/// checkpoints that they make wrong. Called before any row is changed.
///
/// By sort position, never by time: the seed's rule (resume from the identifier stored before the
/// ingest of the granule just before) is wrong unless granules arrive in canonical order
/// (identifier.md, The seed's rewind is not sound).
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
    /// The chain to resume, and the id that it goes on with.
    fn point(&self) -> (Identifier, Begin<'_>) {
        match self {
            Resume::End(identifier, granule_id) => (*identifier, Begin::At(granule_id)),
            Resume::After(checkpoint) => (checkpoint.chain, Begin::After(&checkpoint.granule_id)),
            Resume::Start => (Identifier::EMPTY, Begin::Start),
        }
    }

    /// How many of the granules held so far come before that. `None`: an older version set the
    /// checkpoint, and did not say.
    fn granules_before(&self, held: u64) -> Option<u64> {
        match self {
            Resume::End(..) => Some(held),
            Resume::After(checkpoint) => checkpoint.granules,
            Resume::Start => Some(0),
        }
    }
}

/// Hashes forward over the granules of the new instances, and leaves checkpoints.
///
/// # Errors
///
/// [`Error::Inconsistent`]: the rows read are not as many as the history counts.
pub(super) fn sweep(
    addition: &Addition<'_>,
    resume: &Resume,
    mut progress: Progress<'_>,
) -> Result<(Sweep, Work)> {
    let Addition { transaction, dataset, name, times, latest, .. } = addition;
    let (chain, begin) = resume.point();
    let last = latest.as_ref().map(|latest| latest.timestamp);
    let held_before = latest.as_ref().map_or(0, |latest| latest.granules);
    let before = resume.granules_before(held_before);
    let mut rows = 0;
    // Rows of the stored history after the resume point.
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
            "{name} has rows of {} granules, its history counts {held_before}",
            before + stored
        );
        return Err(Error::Inconsistent { what });
    }
    let work = Work { steps: sweep.steps(), rows, checkpoints: checkpoints.stored };
    Ok((sweep, work))
}

/// Checkpoints on their way into the store.
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

/// A granule's id, and the new instances that hold it during a period, by their numbers.
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
    Error::Inconsistent { what: format!("{name} has a row whose granule id cannot be one") }
}
