//! Decides where the chain is resumed, and makes the pass over the granules from there.
//!
//! The pass hashes the granules in force once more, beside those of the new instances. They are the same from
//! the point where the chain is resumed to the first granule that differs. From there, two chains take little
//! longer than one. If the granules in force do not have the identifier in force, a row was damaged. Then the
//! change is rejected, because it would issue a wrong identifier.

use std::ops::Range;

use super::target::Target;
use crate::chain::{CanonicalList, Hashing, Reached, Sweep, Timeline};
use crate::error::{Error, Result};
use crate::model::{Checkpoint, Digest, GranuleId, Identifier, Timestamp};
use crate::registry::contents::{Contents, FilesDuring, FilesOverTime};
use crate::registry::observer::Work;
use crate::registry::proof::{self, Recomputed};
use crate::registry::work_counts::WorkCounts;
use crate::store::{NewPeriod, StoredContent};

/// The point at which the chain and the list are resumed.
pub(super) struct Resume {
    /// The last checkpoint before the divergence. `None` means that they begin at the first granule.
    after: Option<Checkpoint>,
    /// Whether all granules from the divergence on are new.
    appends: bool,
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
    if target.latest.is_none() {
        return Ok(Resume { after: None, appends: true });
    }
    let is_after_all = is_after_all || !transaction.holds_from(dataset, divergence)?;
    if !is_after_all {
        transaction.drop_checkpoints_from(dataset, divergence.as_str())?;
    }
    let after = transaction.checkpoint_before(dataset, divergence.as_str())?;
    Ok(Resume { after, appends: is_after_all })
}

impl Resume {
    /// Resumes at the first granule of a dataset whose rows are stored, and whose checkpoints are not.
    pub const FROM_FIRST: Resume = Resume { after: None, appends: false };

    /// The identifier to resume with.
    fn chain(&self) -> Identifier {
        self.after.as_ref().map_or(Identifier::EMPTY, |checkpoint| checkpoint.chain)
    }

    /// The list to resume with.
    fn list(&self) -> Result<CanonicalList> {
        let Some(Checkpoint { granule_id, list, .. }) = &self.after else {
            return Ok(CanonicalList::start());
        };
        let damaged = || Error::damaged(format!("the checkpoint after {granule_id} has no list"));
        CanonicalList::resume(list).ok_or_else(damaged)
    }

    /// The number of granules held before that point.
    fn granules_before(&self) -> u64 {
        self.after.as_ref().map_or(0, |checkpoint| checkpoint.granules)
    }
}

/// The pass over the granules of the instance in force and of the new instances, from where the chain is
/// resumed. It hashes them, and sets checkpoints.
pub(super) struct Pass<'a> {
    target: &'a Target<'a>,
    checkpoints: Checkpoints<'a>,
    hashing: Hashing,
    /// The times of the instances. The first is that of the instance in force, if there is one.
    timeline: Timeline,
    resume: Resume,
    /// The contents of the granule that was appended last.
    known: FilesOverTime,
    /// The number of granule rows that were read.
    rows: u64,
    /// The number of hashed granules that the instance in force holds.
    in_force: u64,
}

impl<'a> Pass<'a> {
    /// Begins a pass. If all granules from the divergence on are new, it reads the rows before them at once:
    /// about 1,000 after the last checkpoint.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): a checkpoint or a row is damaged.
    pub fn new(target: &'a Target<'a>, resume: Resume) -> Result<Self> {
        let chain = resume.chain();
        let before = resume.granules_before();
        let checkpoints = Checkpoints::after(before, target);
        let in_force = target.latest.as_ref().map(|latest| latest.timestamp);
        let timeline = Timeline::of(in_force.into_iter().chain(target.times.iter().copied()));
        let sweep = Sweep::resume(timeline.changes(), chain);
        let hashing = Hashing::with_checkpoints(sweep, resume.list()?);
        let known = FilesOverTime::default();
        let mut pass =
            Pass { target, checkpoints, hashing, timeline, resume, known, rows: 0, in_force: 0 };
        if pass.appends() && target.latest.is_some() {
            // These rows are too few to be reported as separate work, and the caller's work is still open.
            pass.read(|| Ok(()))?;
        }
        Ok(pass)
    }

    /// Whether all granules from the divergence on are new. If so, they are hashed as they are stored.
    pub fn appends(&self) -> bool {
        self.resume.appends
    }

    /// Hashes a new granule, if all of them are new. Must be called in canonical order, and by time within it.
    /// `contents` has the new contents of this granule, among others, in that order.
    pub fn append(&mut self, period: &NewPeriod<'_>, contents: &[StoredContent]) -> Result<()> {
        let (ingested, deleted) = (period.ingested, period.deleted);
        let of_period = |it: &&StoredContent| {
            it.granule_id == *period.granule_id && deleted.is_none_or(|deleted| it.since < deleted)
        };
        let position = (period.granule_id, ingested);
        let start = contents.partition_point(|it| (&it.granule_id, it.since) < position);
        let mut known = std::mem::take(&mut self.known);
        known.clear();
        for stored in contents[start..].iter().take_while(of_period) {
            known.push(stored.since.as_micros(), stored.content.encoded());
        }
        let dates = (ingested.as_micros(), deleted.map(Timestamp::as_micros));
        let held = self.hold(period.granule_id.as_str(), dates, known.during(i64::MIN, None));
        self.known = known;
        held
    }

    /// Hashes a granule that is held from one instant until just before another.
    fn hold(
        &mut self,
        granule_id: &str,
        (ingested, deleted): (i64, Option<i64>),
        known: FilesDuring<'_>,
    ) -> Result<()> {
        let span = span(&mut self.timeline, ingested, deleted);
        self.in_force += u64::from(span.start == 0 && !span.is_empty());
        let timeline = &mut self.timeline;
        let number = |micros| timeline.number(micros).unwrap_or_else(|next| next);
        self.checkpoints.add(known.hold(&mut self.hashing, granule_id, span, number))
    }

    /// Reads and hashes the rows after the resume point. `advance` is called for each.
    fn read(&mut self, mut advance: impl FnMut() -> Result<()>) -> Result<()> {
        let Target { transaction, dataset, latest, name, .. } = self.target;
        let after = self.resume.after.take();
        let after = after.as_ref().map_or("", |checkpoint| checkpoint.granule_id.as_str());
        let last = latest.as_ref().map(|latest| latest.timestamp);
        let mut contents = Contents::of(transaction, *dataset, after);
        transaction.each_period(*dataset, after, last, |period| {
            self.rows += 1;
            advance()?;
            let granule_id = proof::granule_id(period.granule_id, name)?;
            let known = contents.during(&period)?;
            self.hold(granule_id, (period.ingested, period.deleted), known)
        })
    }

    /// Hashes the remaining rows, and returns the identifiers and the digests of the new instances.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the granules that were read, or their contents, are
    /// not those of the instance in force.
    pub fn finish(mut self) -> Result<(Vec<(Identifier, Digest)>, WorkCounts)> {
        if !self.appends() {
            let mut progress = self.target.registry.begin(Work::Hash, None);
            self.read(|| progress.advance())?;
        }
        let before = self.checkpoints.before;
        let hashed = self.hashing.finish();
        self.checkpoints.add(hashed.reached.clone())?;
        let mut sets = hashed.sets();
        if let Some(latest) = &self.target.latest {
            let (identifier, digest) = sets.next().unwrap_or((Identifier::EMPTY, Digest::EMPTY));
            let granules = before + self.in_force;
            Recomputed { identifier, digest, granules }.check(latest)?;
        }
        let sets: Vec<(Identifier, Digest)> = sets.collect();
        let steps = hashed.sweep.steps();
        let checkpoints = self.checkpoints.store()?;
        let effort = WorkCounts { steps, rows: self.rows, checkpoints, ..WorkCounts::default() };
        Ok((sets, effort))
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

/// The number of checkpoints that are stored at once.
const BATCH_CHECKPOINTS: usize = 256;

/// Collects checkpoints, and stores them in batches.
struct Checkpoints<'a> {
    target: &'a Target<'a>,
    /// The number of granules held before the resume point.
    pub before: u64,
    batch: Vec<Checkpoint>,
    stored: u64,
}

impl<'a> Checkpoints<'a> {
    /// The checkpoints of a pass that resumes after `before` granules.
    pub fn after(before: u64, target: &'a Target<'a>) -> Self {
        Checkpoints { target, before, batch: Vec::new(), stored: 0 }
    }

    /// Adds the checkpoints that hashing has reached.
    pub fn add(&mut self, reached: Vec<Reached>) -> Result<()> {
        for Reached { granule_id, identifier, list, held } in reached {
            let granule_id =
                GranuleId::new(granule_id).map_err(|_| proof::not_an_id(&self.target.name))?;
            let (list, granules) = (list.unwrap_or_default(), self.before + held);
            self.batch.push(Checkpoint { granule_id, chain: identifier, list, granules });
        }
        if self.batch.len() >= BATCH_CHECKPOINTS { self.store().map(|_| ()) } else { Ok(()) }
    }

    /// Stores the rest, and returns the number of all stored checkpoints.
    pub fn store(&mut self) -> Result<u64> {
        let Target { transaction, dataset, .. } = *self.target;
        transaction.insert(dataset, &self.batch)?;
        self.stored += self.batch.len() as u64;
        self.batch.clear();
        Ok(self.stored)
    }
}
