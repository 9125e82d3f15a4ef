//! Recomputing everything: does the registry still agree with itself?

use std::collections::VecDeque;
use std::ops::Range;

use serde::Serialize;

use super::{Monitor, Registry, dataset_of};
use crate::chain::{Sweep, stands_after};
use crate::model::{Checkpoint, DatasetName, GranuleId, Instance, Timestamp, quoted};
use crate::store::Stay;
use crate::{Error, Result};

/// What `verify` found out about a dataset.
///
/// Its fields, in this order, are those of the rows of `verify` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// The dataset.
    pub dataset: DatasetName,
    /// How many identifiers were recomputed: one for each instance.
    pub identifiers: u64,
    /// All that does not agree, instances first; at most [`Verification::MAX_MISMATCHES`], and
    /// then one that counts the rest.
    pub mismatches: Vec<Finding>,
    /// Whether everything agrees.
    pub ok: bool,
}

impl Verification {
    /// How many mismatches are listed one by one: a file that is all wrong must not fill memory.
    pub const MAX_MISMATCHES: usize = 10_000;
}

/// One thing that does not agree, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which kind of thing.
    pub code: Code,
    /// The instance it is about.
    pub timestamp: Option<Timestamp>,
    /// The granule it is about, or behind which it is, as text.
    pub granule: Option<String>,
    /// What it is, in words.
    pub text: String,
}

/// The kinds of [`Finding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Code {
    /// The identifier of an instance is not that of its granules.
    Identifier,
    /// A count of an instance is not that of its granules.
    Count,
    /// An instance says it was recorded before it took effect.
    Recorded,
    /// A granule row has an id that no granule can have.
    GranuleId,
    /// A granule row has a date at which the dataset had no change, or deleted before ingested.
    Date,
    /// Two rows say that a granule was held twice at once.
    Overlap,
    /// A checkpoint is wrong, missing, or stands where none should.
    Checkpoint,
    /// There are more findings than are listed.
    More,
}

impl Registry {
    /// Recomputes every identifier of a dataset's history from its granule rows, and checks its
    /// counts, dates and checkpoints. Nothing is repaired.
    ///
    /// One pass over the granules ([`Sweep`]); the memory is that of the history and of the
    /// checkpoints, not of the granules.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`]; [`Error::Store`] if rows cannot be read at all. What does not agree is
    /// no error: it is found.
    pub fn verify(&mut self, dataset: &DatasetName) -> Result<Verification> {
        self.reading(|read, monitor| {
            let (key, _) = dataset_of(read, dataset)?;
            let mut instances = Vec::new();
            read.each_instance_of(key, |instance| {
                instances.push(instance);
                Ok::<_, Error>(())
            })?;
            let ingests = instances.iter().map(|instance| instance.ingested);
            let stays = ingests.fold(0, u64::saturating_add);
            monitor.begin("verifying", stays);
            let mut check = Check::of(&instances, read.checkpoints(key)?);
            let checked = read.each_stay(key, |stay| {
                check.stay(stay, monitor);
                Ok::<_, Error>(())
            });
            monitor.end();
            checked?;
            let findings = check.finish();
            Ok(Verification {
                dataset: dataset.clone(),
                identifiers: instances.len() as u64,
                ok: findings.is_empty(),
                mismatches: findings,
            })
        })
    }

    /// Lets SQLite check the pages and indexes of the file.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] of kind `damaged`, with what it found.
    pub fn check_file(&mut self) -> Result<()> {
        let found = self.reading(|read, _| Ok(read.integrity()?))?;
        if found.is_empty() {
            return Ok(());
        }
        let source = crate::store::Error::Damaged { what: found.join("; ") };
        Err(Error::from(source).in_file(self.path()))
    }
}

/// The check of one dataset, granule row by granule row.
struct Check<'history> {
    instances: &'history [Instance],
    timestamps: Vec<i64>,
    sweep: Sweep,
    tallies: Vec<Tally>,
    checkpoints: VecDeque<Checkpoint>,
    previous: Option<(Vec<u8>, usize)>,
    last_agreeing: Option<GranuleId>,
    findings: Vec<Finding>,
    more: u64,
    rows: u64,
}

/// What the granule rows say of one instance.
#[derive(Clone, Default)]
struct Tally {
    ingested: u64,
    deleted: u64,
}

impl<'history> Check<'history> {
    fn of(instances: &'history [Instance], checkpoints: Vec<Checkpoint>) -> Self {
        Check {
            instances,
            timestamps: instances.iter().map(|instance| instance.timestamp.as_micros()).collect(),
            sweep: Sweep::over(instances.len()),
            tallies: vec![Tally::default(); instances.len()],
            checkpoints: checkpoints.into(),
            previous: None,
            last_agreeing: None,
            findings: Vec::new(),
            more: 0,
            rows: 0,
        }
    }

    /// Takes the next row of `granule`, in the order of id and time.
    fn stay(&mut self, stay: Stay<'_>, monitor: &mut dyn Monitor) {
        self.rows += 1;
        if self.rows.is_multiple_of(65_536) {
            monitor.advance(65_536);
        }
        let granule_id = match std::str::from_utf8(stay.granule_id) {
            Ok(text) if GranuleId::check(text).is_ok() => text,
            _ => {
                let text = String::from_utf8_lossy(stay.granule_id);
                let problem = "no granule can have this id".to_owned();
                return self.find(Code::GranuleId, None, Some(&text), problem);
            }
        };
        let span = self.span(granule_id, stay);
        let span = self.without_overlap(granule_id, span);
        self.sweep.hold(granule_id, span.clone());
        let is_held_now = !span.is_empty() && span.end == self.instances.len();
        if is_held_now {
            self.checkpoint_after(granule_id);
        }
    }

    /// The instances during which a row says that its granule was held; finds fault with dates at
    /// which there was no change.
    fn span(&mut self, granule_id: &str, stay: Stay<'_>) -> Range<usize> {
        let begins = self.timestamps.binary_search(&stay.ingested);
        let ends = stay.deleted.map(|deleted| self.timestamps.binary_search(&deleted));
        match begins {
            Ok(index) => self.tallies[index].ingested += 1,
            Err(_) => self.date(granule_id, "ingested", stay.ingested),
        }
        match ends {
            None => {}
            Some(Ok(index)) => self.tallies[index].deleted += 1,
            Some(Err(_)) => self.date(granule_id, "deleted", stay.deleted.unwrap_or_default()),
        }
        if stay.deleted.is_some_and(|deleted| deleted <= stay.ingested) {
            let problem = "deleted before it was ingested".to_owned();
            self.find(Code::Date, None, Some(granule_id), problem);
        }
        let start = begins.unwrap_or_else(|next| next);
        let end = ends.map_or(self.instances.len(), |end| end.unwrap_or_else(|next| next));
        start..end.max(start)
    }

    fn date(&mut self, granule_id: &str, what: &str, micros: i64) {
        let written = Timestamp::from_micros(micros)
            .map_or_else(|| format!("{micros} microseconds"), |timestamp| timestamp.to_string());
        let problem = format!("{what} {written}, when the dataset had no change");
        self.find(Code::Date, Timestamp::from_micros(micros), Some(granule_id), problem);
    }

    /// The span without what the granule's row before it covers already.
    fn without_overlap(&mut self, granule_id: &str, span: Range<usize>) -> Range<usize> {
        let mut start = span.start;
        match &mut self.previous {
            Some((previous, end)) if previous.as_slice() == granule_id.as_bytes() => {
                start = start.max(*end);
                *end = span.end.max(*end);
            }
            Some((previous, end)) => {
                previous.clear();
                previous.extend_from_slice(granule_id.as_bytes());
                *end = span.end;
            }
            none => *none = Some((granule_id.into(), span.end)),
        }
        if start > span.start {
            let at = self.instances.get(span.start).map(|instance| instance.timestamp);
            let problem = "held twice at once".to_owned();
            self.find(Code::Overlap, at, Some(granule_id), problem);
        }
        start..span.end.max(start)
    }

    /// Compares the running chain of the granules now held with the checkpoints.
    fn checkpoint_after(&mut self, granule_id: &str) {
        while self.checkpoints.front().is_some_and(|next| next.granule_id.as_str() < granule_id) {
            self.refuse_next_checkpoint();
        }
        let stands_here =
            self.checkpoints.front().is_some_and(|next| next.granule_id.as_str() == granule_id);
        if !stands_after(granule_id) {
            if stands_here {
                self.refuse_next_checkpoint();
            }
            return;
        }
        if !stands_here {
            let problem = "the checkpoint after this granule is missing".to_owned();
            return self.find(Code::Checkpoint, None, Some(granule_id), problem);
        }
        let Some(checkpoint) = self.checkpoints.pop_front() else { return };
        if checkpoint.chain == self.sweep.latest() {
            self.last_agreeing = Some(checkpoint.granule_id);
            return;
        }
        let since = match &self.last_agreeing {
            Some(last) => format!("; the one after {} agrees", quoted(last.as_str())),
            None => String::new(),
        };
        let problem = format!(
            "the checkpoint after this granule is {}, its granules give {}{since}",
            checkpoint.chain,
            self.sweep.latest()
        );
        self.find(Code::Checkpoint, None, Some(granule_id), problem);
    }

    fn refuse_next_checkpoint(&mut self) {
        if let Some(checkpoint) = self.checkpoints.pop_front() {
            let problem = "a checkpoint stands after this granule, where none should".to_owned();
            self.find(Code::Checkpoint, None, Some(checkpoint.granule_id.as_str()), problem);
        }
    }

    fn finish(mut self) -> Vec<Finding> {
        while !self.checkpoints.is_empty() {
            self.refuse_next_checkpoint();
        }
        let of_granules = std::mem::take(&mut self.findings);
        self.instances_themselves();
        let room = Verification::MAX_MISMATCHES.saturating_sub(self.findings.len());
        self.more += of_granules.len().saturating_sub(room) as u64;
        self.findings.extend(of_granules.into_iter().take(room));
        if self.more > 0 {
            let text = format!("and {} more", self.more);
            self.findings.push(Finding { code: Code::More, timestamp: None, granule: None, text });
        }
        self.findings
    }

    fn instances_themselves(&mut self) {
        let identifiers: Vec<_> = self.sweep.identifiers().collect();
        let tallies = std::mem::take(&mut self.tallies);
        let mut granules: u64 = 0;
        let mut before: Option<Timestamp> = None;
        for ((instance, identifier), tally) in self.instances.iter().zip(identifiers).zip(tallies) {
            let at = Some(instance.timestamp);
            if instance.identifier != identifier {
                let problem = format!(
                    "the identifier is {}, its granules give {identifier}",
                    instance.identifier
                );
                self.find(Code::Identifier, at, None, problem);
            }
            granules = (granules + tally.ingested).saturating_sub(tally.deleted);
            for (what, says, counted) in [
                ("held", instance.granules, granules),
                ("ingested", instance.ingested, tally.ingested),
                ("deleted", instance.deleted, tally.deleted),
            ] {
                if says != counted {
                    let problem =
                        format!("the count of granules {what} is {says}, the rows are {counted}");
                    self.find(Code::Count, at, None, problem);
                }
            }
            // A clock that stood behind the last change stamps a microsecond after that.
            let was_stamped_next = before.and_then(Timestamp::next) == at;
            if instance.recorded < instance.timestamp && !was_stamped_next {
                let problem = format!("recorded {}, before it took effect", instance.recorded);
                self.find(Code::Recorded, at, None, problem);
            }
            before = at;
        }
    }

    fn find(
        &mut self,
        code: Code,
        timestamp: Option<Timestamp>,
        granule: Option<&str>,
        text: String,
    ) {
        if self.findings.len() == Verification::MAX_MISMATCHES {
            self.more += 1;
            return;
        }
        let granule = granule.map(str::to_owned);
        self.findings.push(Finding { code, timestamp, granule, text });
    }
}
