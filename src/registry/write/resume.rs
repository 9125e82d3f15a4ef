//! Decides where the chain is resumed, and makes the pass over the granules from there.
//!
//! The pass hashes the granules in force once more, beside those of the new instances: from the point
//! where the chain is resumed to the first granule that differs they are the same, and from there two
//! chains take little longer than one. Unless the granules in force have the identifier in force, a
//! row was damaged, and the change is refused: it would issue a wrong identifier.

use std::ops::Range;

use super::target::Target;
use crate::chain::Timeline;
use crate::chain::{Hashing, Reached, Sweep};
use crate::error::Result;
use crate::model::{Checkpoint, GranuleId, Identifier, Timestamp};
use crate::registry::proof;
use crate::store::{Begin, NewPeriod};

/// The number of checkpoints that are stored at once.
const BATCH_CHECKPOINTS: usize = 256;

/// The work that a change took, counted so that tests can check its documented cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Effort {
    /// The number of chain steps that were hashed: a granule that is held before and after the change
    /// takes one up to the first granule that differs, and two from there.
    pub steps: u64,
    /// The number of granule rows that were read. New granules after all others are hashed as they
    /// are stored, and not read.
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
/// checkpoints that they invalidate. Must be called before any row is changed. `is_after_all` means
/// that the dataset is known not to hold the divergence or any granule after it.
///
/// The point is chosen by sort position, not by time. The rule in Curt Tilmes' message (resume
/// from the identifier that was stored before the ingest of the preceding granule) is correct only
/// if granules are ingested in canonical order (docs/about/errata.md, Resuming a computation).
pub(super) fn resume_before(
    target: &Target<'_>,
    divergence: &GranuleId,
    is_after_all: bool,
) -> Result<Resume> {
    let Target { transaction, dataset, .. } = *target;
    if let Some(latest) = &target.latest
        && (is_after_all || !transaction.holds_from(dataset, divergence)?)
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

/// The pass over the granules of the instance in force and of the new ones, from where the chain is
/// resumed: it hashes them, and sets checkpoints.
pub(super) struct Pass<'a> {
    target: &'a Target<'a>,
    checkpoints: Checkpoints<'a>,
    hashing: Hashing,
    /// The times of these instances. The first is that of the instance in force, if there is one.
    timeline: Timeline,
    resume: Resume,
    /// The number of granule rows that were read.
    rows: u64,
    /// How many of them are in force.
    in_force: u64,
}

impl<'a> Pass<'a> {
    /// Begins a pass.
    pub fn new(target: &'a Target<'a>, resume: Resume) -> Self {
        let (chain, _) = resume.point();
        let before = resume.granules_before(target.held());
        let checkpoints = Checkpoints { target, before, batch: Vec::new(), stored: 0 };
        let in_force = target.latest.as_ref().map(|latest| latest.timestamp);
        let timeline = Timeline::of(in_force.into_iter().chain(target.times.iter().copied()));
        let hashing = Hashing::with_checkpoints(Sweep::resume(timeline.changes(), chain));
        Pass { target, checkpoints, hashing, timeline, resume, rows: 0, in_force: 0 }
    }

    /// Whether all granules after the resume point are new, so that none has to be read.
    pub fn appends(&self) -> bool {
        self.target.latest.is_none() || matches!(self.resume, Resume::End(..))
    }

    /// Hashes a new granule, if all of them are new. Must be called in canonical order, and by time
    /// within it.
    pub fn append(&mut self, period: &NewPeriod<'_>) -> Result<()> {
        let deleted = period.deleted.map(Timestamp::as_micros);
        let span = span(&mut self.timeline, period.ingested.as_micros(), deleted);
        self.checkpoints.add(self.hashing.hold(period.granule_id.as_str(), span))
    }

    /// Reads and hashes the rows after the resume point.
    fn read(&mut self) -> Result<()> {
        let Target { registry, transaction, dataset, latest, name, .. } = self.target;
        let mut progress = registry.begin("hashing", "granules", None);
        let (_, begin) = self.resume.point();
        let last = latest.as_ref().map(|latest| latest.timestamp);
        transaction.each_period(*dataset, begin, last, |period| {
            self.rows += 1;
            progress.advance()?;
            let span = span(&mut self.timeline, period.ingested, period.deleted);
            self.in_force += u64::from(span.start == 0 && !span.is_empty());
            self.checkpoints
                .add(self.hashing.hold(proof::granule_id(period.granule_id, name)?, span))
        })
    }

    /// Hashes what is left, and returns the identifiers of the new instances.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the granules that were read are not those
    /// of the identifier in force.
    pub fn finish(mut self) -> Result<(Vec<Identifier>, Effort)> {
        let reads = !self.appends();
        if reads {
            self.read()?;
        }
        let (sweep, reached) = self.hashing.finish();
        self.checkpoints.add(reached)?;
        let mut identifiers = sweep.identifiers();
        if let Some(latest) = &self.target.latest {
            let in_force = identifiers.next().unwrap_or(Identifier::EMPTY);
            let granules =
                self.checkpoints.before.filter(|_| reads).map(|before| before + self.in_force);
            proof::check(latest, in_force, granules.unwrap_or(latest.granules))?;
        }
        let identifiers = identifiers.collect();
        let checkpoints = self.checkpoints.store()?;
        let effort = Effort { steps: sweep.steps(), rows: self.rows, checkpoints };
        Ok((identifiers, effort))
    }
}

/// Collects checkpoints, and stores them in batches.
struct Checkpoints<'a> {
    target: &'a Target<'a>,
    /// The number of granules held before the resume point. `None` means that it is not known.
    before: Option<u64>,
    batch: Vec<Checkpoint>,
    stored: u64,
}

impl Checkpoints<'_> {
    fn add(&mut self, reached: Vec<Reached>) -> Result<()> {
        for Reached { granule_id, identifier, held } in reached {
            let granule_id =
                GranuleId::new(granule_id).map_err(|_| proof::not_an_id(&self.target.name))?;
            let granules = self.before.map(|before| before + held);
            self.batch.push(Checkpoint { granule_id, chain: identifier, granules });
        }
        if self.batch.len() >= BATCH_CHECKPOINTS { self.store().map(|_| ()) } else { Ok(()) }
    }

    /// Stores the rest, and returns how many were stored in all.
    fn store(&mut self) -> Result<u64> {
        let Target { transaction, dataset, .. } = *self.target;
        transaction.insert_checkpoints(dataset, &self.batch)?;
        self.stored += self.batch.len() as u64;
        self.batch.clear();
        Ok(self.stored)
    }
}

/// The numbers of the instances that hold a granule during a period, in microseconds.
fn span(timeline: &mut Timeline, ingested: i64, deleted: Option<i64>) -> Range<usize> {
    let mut number = |micros| timeline.number(micros).unwrap_or_else(|next| next);
    let from = number(ingested);
    let to = deleted.map(number);
    let to = to.unwrap_or(timeline.changes());
    from.min(to)..to
}
