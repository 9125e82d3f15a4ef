//! Records how far a check of files has come, and what it found.
//!
//! # Rolling checks
//!
//! A rolling check goes on where earlier ones of its root have ended. Its runs belong to a cycle, in which
//! each part of the set is checked once. A run leases what it is going to check, a few minutes of work at a
//! time, so that another one that is begun meanwhile takes what follows. A lease lapses after
//! [`LEASE_MICROS`]: what a killed run has not saved is then checked by the next one.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

pub use super::check_findings::CheckMode;
use super::check_findings::{Changes, EarlierFindings};
use super::stamp::Stamp;
use crate::error::{Error, Result};
use crate::model::{Algorithm, GranuleId, Set, Timestamp};
use crate::registry::files::{first_gap, known_files};
use crate::registry::handle::{End, Registry};
use crate::registry::snapshot::{FileList, GranuleFiles, GranulePages, dataset_of, runs_of};
use crate::store::{self, DatasetKey, StoredRun, Transaction};

/// How long a lease lasts. It is renewed whenever the check is saved, once a minute.
const LEASE_MICROS: i64 = 180 * 1_000_000;

/// What is leased at first and at most, in bytes. A file costs as much as this many bytes beside its own.
const FIRST_LEASE: u64 = 16 * 1_024 * 1_024;
const LARGEST_LEASE: u64 = 4 * 1_024 * 1_024 * 1_024;
const COST_OF_FILE: u64 = 64 * 1_024;

/// How many findings are kept until they are saved.
const MOST_UNSAVED: usize = 1_000;

/// What is to be checked, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCheck {
    /// The name of the root directory.
    pub root: String,
    /// What is compared.
    pub mode: CheckMode,
    /// Whether it goes on where the last one has ended.
    pub is_rolling: bool,
    /// Whether it is recorded. What is not recorded is only begun at the right granule.
    pub is_recorded: bool,
}

/// A check of files that is being recorded.
///
/// The files are those of [`FileCheck::granules`]. Once they were all checked, in their order, or no
/// further one is, [`FileCheck::finish`] saves the rest.
#[derive(Clone)]
pub struct FileCheck {
    state: Rc<RefCell<State>>,
}

struct State {
    registry: Registry,
    set: Set,
    check: NewCheck,
    stamp: Stamp,
    cycle: Option<u64>,
    /// How much is leased next.
    lease: u64,
    /// Those that are not finished, in order of their intervals.
    runs: VecDeque<Run>,
    /// Those that are finished, and not saved.
    finished: Vec<Run>,
    /// The granules that are being checked, with the number of their files.
    begun: VecDeque<(GranuleId, usize)>,
    /// What was found in the first of them.
    granule: Tally,
    /// `None` means that nothing is recorded.
    earlier: Option<EarlierFindings>,
    /// Whether all that was leased was handed out, and the last granule of the set with it.
    is_over: bool,
    is_at_end: bool,
}

/// The part of a check that is one interval.
struct Run {
    /// As it is, and as it was saved: not before what was found in it.
    stored: StoredRun,
    saved: StoredRun,
    /// Everything up to this granule is leased. `None` means to the end.
    until: Option<String>,
    changes: Changes,
    last_finding: u64,
}

#[derive(Default)]
struct Tally {
    files: u64,
    bytes: u64,
    findings: u64,
    changes: Changes,
}

/// A part of the set that may be checked.
struct Leased {
    from: String,
    until: Option<String>,
    last_record: u64,
}

impl Registry {
    /// Begins to record a check of the files of a set. What earlier checks found and what ended since is
    /// closed.
    ///
    /// # Errors
    ///
    /// Those of the store: the registry cannot be written; [`ErrorKind::ClockAhead`](crate::ErrorKind::ClockAhead).
    pub fn check_files(&self, set: &Set, check: NewCheck, stamp: &Stamp) -> Result<FileCheck> {
        let settled = || {
            let root = (check.root.as_str(), check.mode);
            EarlierFindings::settle(self, set.dataset(), root, stamp)
        };
        let earlier = check.is_recorded.then(settled).transpose()?;
        let mut state = State {
            registry: self.clone(),
            set: set.clone(),
            check,
            stamp: stamp.clone(),
            cycle: None,
            lease: FIRST_LEASE,
            runs: VecDeque::new(),
            finished: Vec::new(),
            begun: VecDeque::new(),
            granule: Tally::default(),
            earlier,
            is_over: false,
            is_at_end: false,
        };
        // A registry that cannot be written is found out before a file is read.
        state.lease()?;
        Ok(FileCheck { state: Rc::new(RefCell::new(state)) })
    }
}

impl FileCheck {
    /// The granules that are to be checked, with what is recorded of their files. A granule of which
    /// nothing is recorded counts as one file.
    pub fn granules(&self) -> GranulesToCheck {
        GranulesToCheck { check: self.clone(), list: None, until: None, next: None, is_first: true }
    }

    /// A file of the first granule that was not finished was checked; so many bytes of it were read.
    /// `found`: its status, what is recorded, and what was found instead, if it is not as recorded.
    ///
    /// # Errors
    ///
    /// The error of a registry.
    pub fn add(
        &self,
        granule_id: &GranuleId,
        path: &str,
        bytes: u64,
        found: Option<(&str, Option<String>, Option<String>)>,
    ) -> Result<()> {
        let state = &mut *self.state.borrow_mut();
        state.granule.files += 1;
        state.granule.bytes += bytes;
        state.granule.findings += u64::from(found.is_some());
        // A check of sizes says nothing of a file whose size is not known.
        let is_unknown = state.check.mode == CheckMode::Size
            && found.as_ref().is_some_and(|(status, ..)| *status == "no-record");
        if let Some(earlier) = state.earlier.as_mut().filter(|_| !is_unknown) {
            let found = found.map(|(status, expected, found)| (status.to_owned(), expected, found));
            let now = state.stamp.read_clock();
            let changes = earlier.compare(granule_id.as_str(), path, found, now)?;
            state.granule.changes.append(changes);
        }
        if let Some((_, files)) = state.begun.front_mut() {
            *files -= 1;
            if *files == 0 {
                state.begun.pop_front();
                state.end_granule(granule_id.as_str());
            }
        }
        Ok(())
    }

    /// Whether it is recorded.
    pub fn is_recorded(&self) -> bool {
        self.state.borrow().check.is_recorded
    }

    /// Whether there was nothing to check: other checks have leased all of it.
    pub fn is_idle(&self) -> bool {
        let state = self.state.borrow();
        state.runs.is_empty() && state.finished.is_empty()
    }

    /// Whether so much was found that it should be saved.
    pub fn is_full(&self) -> bool {
        let state = self.state.borrow();
        let runs = state.runs.iter().chain(&state.finished);
        runs.map(|run| run.changes.count()).sum::<usize>() >= MOST_UNSAVED
    }

    /// Saves what was checked, without a gap, and renews the leases. It is called once a minute, also
    /// while one file is being read.
    ///
    /// # Errors
    ///
    /// The error of a registry; what was not saved is saved the next time.
    pub fn save(&self) -> Result<()> {
        self.state.borrow_mut().save(false)
    }

    /// A file of the root that no granule has. All of them are added after the files of the granules.
    ///
    /// # Errors
    ///
    /// The error of a registry.
    pub fn add_unexpected(
        &self,
        path: &str,
        (status, expected, found): (&str, Option<String>, Option<String>),
    ) -> Result<()> {
        let state = &mut *self.state.borrow_mut();
        let Some(earlier) = &mut state.earlier else { return Ok(()) };
        let found = Some((status.to_owned(), expected, found));
        let changes = earlier.compare("", path, found, state.stamp.read_clock())?;
        if let Some(run) = state.runs.back_mut() {
            run.stored.findings += 1;
            run.changes.append(changes);
        }
        Ok(())
    }

    /// All files that no granule has were added.
    ///
    /// # Errors
    ///
    /// The error of a registry.
    pub fn end_unexpected(&self) -> Result<()> {
        let state = &mut *self.state.borrow_mut();
        let Some(earlier) = &mut state.earlier else { return Ok(()) };
        let changes = earlier.rest("")?;
        if let Some(run) = state.runs.back_mut() {
            run.changes.append(changes);
        }
        Ok(())
    }

    /// Saves the rest and ends the leases. Returns whether all files up to the end of the set were
    /// checked.
    ///
    /// # Errors
    ///
    /// The error of a registry.
    pub fn finish(self) -> Result<bool> {
        let state = &mut *self.state.borrow_mut();
        let has_all = state.is_over && state.begun.is_empty();
        if has_all {
            for run in &mut state.runs {
                run.stored.to_id.clone_from(&run.until);
            }
        }
        state.save(true)?;
        Ok(has_all && state.is_at_end)
    }
}

impl State {
    fn now(&self, transaction: &Transaction) -> Result<(Timestamp, Option<String>)> {
        self.stamp.record(transaction, None, Timestamp::MIN)
    }

    /// Leases a part of the set that follows what was leased before. `None` means that nothing is left.
    fn lease(&mut self) -> Result<Option<Leased>> {
        let last = self.runs.back().or(self.finished.last());
        let position = match last.map(|run| run.until.clone()) {
            Some(None) => return Ok(None),
            Some(Some(until)) => Some(until),
            None => None,
        };
        if self.is_over || !self.check.is_rolling && position.is_some() {
            return Ok(None);
        }
        let next = match self.check.is_recorded {
            true => self.registry.write(|transaction| {
                let begun = self.now(transaction)?;
                let next = self.next_run(transaction, begun, position.as_deref())?;
                let Some((key, run)) = &next else { return Ok((next, End::RollBack)) };
                match self.runs.back().filter(|last| last.stored.run == run.run) {
                    Some(last) => {
                        let StoredRun { to_id, files, bytes, findings, .. } = last.saved.clone();
                        let run = StoredRun { to_id, files, bytes, findings, ..run.clone() };
                        transaction.save_fixity_run(*key, &run)?;
                    }
                    None => transaction.insert_fixity_runs(*key, std::slice::from_ref(run))?,
                }
                Ok((next, End::Commit))
            })?,
            false => {
                let read = self.registry.read()?;
                let begun = (self.stamp.read_clock(), None);
                let next = self.next_run(&read, begun, position.as_deref());
                next.map_err(|error| self.registry.named(error))?
            }
        };
        let Some((_, stored)) = next else { return Ok(None) };
        self.lease = LARGEST_LEASE.min(self.lease * 2);
        self.cycle = stored.cycle;
        let until = stored.lease_to_id.clone();
        let last_record = stored.last_record;
        let from = match self.runs.back_mut() {
            Some(last) if last.stored.run == stored.run => {
                last.stored = stored;
                std::mem::replace(&mut last.until, until.clone()).unwrap_or_default()
            }
            _ => {
                let from = stored.from_id.clone();
                let (changes, last_finding) = (Changes::default(), 0);
                let saved = stored.clone();
                let until = until.clone();
                self.runs.push_back(Run { stored, saved, until, changes, last_finding });
                from
            }
        };
        Ok(Some(Leased { from, until, last_record }))
    }

    /// The run in which a part that nobody else checks is leased: the last one, if the part follows it.
    fn next_run(
        &self,
        read: &store::Snapshot,
        (now, recorded_by): (Timestamp, Option<String>),
        position: Option<&str>,
    ) -> Result<Option<(DatasetKey, StoredRun)>> {
        let dataset = self.set.dataset();
        let (key, _) = dataset_of(read, dataset)?;
        let (is_subset, identifier) = (self.set.subset().is_some(), self.set.identifier());
        let mut runs = runs_of(read, key)?;
        let last_run = runs.last_key_value().map_or(0, |(run, _)| *run);
        runs.retain(|_, run| {
            run.root == self.check.root
                && run.forgotten.is_none()
                && run.cycle.is_some()
                && run.mode == self.check.mode.as_str()
                && run.is_subset == is_subset
                && (!is_subset || run.identifier == identifier)
        });
        let mut cycle = self.cycle.or_else(|| runs.values().filter_map(|run| run.cycle).max());
        let of_cycle = |cycle| runs.values().filter(move |run| run.cycle == cycle);
        fn saved(run: &StoredRun) -> (&str, Option<&str>) {
            (&run.from_id, run.to_id.as_deref())
        }
        if self.cycle.is_none() && first_gap(of_cycle(cycle).map(saved).collect(), "").is_none() {
            cycle = cycle.map(|cycle| cycle + 1);
        }
        let cycle = Some(cycle.unwrap_or(1)).filter(|_| self.check.is_rolling);
        let live = of_cycle(cycle).filter(|run| run.lease_ends.is_some_and(|ends| ends > now));
        let leased = live.map(|run| (run.from_id.as_str(), run.lease_to_id.as_deref()));
        let covered = match cycle {
            Some(_) => leased.chain(of_cycle(cycle).map(saved)).collect(),
            None => Vec::new(),
        };
        let Some((from, end)) = first_gap(covered, position.unwrap_or_default()) else {
            return Ok(None);
        };
        let until = match cycle {
            Some(_) if self.check.is_recorded => self.end_of_lease(read, key, from, end)?,
            _ => end.map(str::to_owned),
        };
        let lease_ends = cycle.and(Timestamp::from_micros(now.as_micros() + LEASE_MICROS));
        if let Some(last) = self.runs.back().filter(|last| last.until.as_deref() == Some(from)) {
            let stored = last.stored.clone();
            return Ok(Some((key, StoredRun { lease_to_id: until, lease_ends, ..stored })));
        }
        let algorithms: Vec<&str> = match self.check.mode {
            CheckMode::Checksums => Algorithm::KNOWN.iter().map(Algorithm::as_str).collect(),
            CheckMode::Size => Vec::new(),
        };
        let run = StoredRun {
            run: last_run + 1,
            timestamp: self.set.instance().timestamp,
            identifier,
            is_subset,
            cycle,
            mode: self.check.mode.as_str().to_owned(),
            root: self.check.root.clone(),
            algorithms: serde_json::json!(algorithms).to_string(),
            last_record: read.last_file_record(key)?,
            from_id: from.to_owned(),
            to_id: Some(from.to_owned()),
            lease_to_id: until,
            lease_ends,
            started: now,
            ended: now,
            recorded_by,
            files: 0,
            bytes: 0,
            findings: 0,
            forgotten: None,
        };
        Ok(Some((key, run)))
    }

    /// The last granule of the next lease, within a part that begins after a granule.
    fn end_of_lease(
        &self,
        read: &store::Snapshot,
        key: DatasetKey,
        from: &str,
        end: Option<&str>,
    ) -> Result<Option<String>> {
        let mut pages = GranulePages::of(read, &self.set)?;
        if !from.is_empty() {
            pages = pages.after(GranuleId::new(from).map_err(Error::damaged)?);
        }
        let mut cost = 0;
        while let Some(page) = pages.next_ids(read)? {
            let ids: Vec<&str> = page.iter().collect();
            let known = known_files(read.file_records_among(key, &ids)?);
            let mut known = known.iter().peekable();
            for id in ids {
                if end.is_some_and(|end| id >= end) {
                    return Ok(end.map(str::to_owned));
                }
                cost += COST_OF_FILE;
                while let Some(file) = known.next_if(|file| file.granule_id.as_str() == id) {
                    cost = file.state.size().unwrap_or(0).saturating_add(cost);
                }
                if cost >= self.lease {
                    return Ok(Some(id.to_owned()));
                }
            }
        }
        Ok(end.map(str::to_owned))
    }

    /// All files of a granule were checked, and those of all granules before it.
    fn end_granule(&mut self, granule_id: &str) {
        let granule = std::mem::take(&mut self.granule);
        while self.runs.len() > 1
            && let Some(mut run) = self
                .runs
                .pop_front_if(|run| run.until.as_deref().is_some_and(|until| until < granule_id))
        {
            run.stored.to_id.clone_from(&run.until);
            self.finished.push(run);
        }
        if let Some(run) = self.runs.front_mut() {
            run.stored.to_id = Some(granule_id.to_owned());
            run.stored.files += granule.files;
            run.stored.bytes += granule.bytes;
            run.stored.findings += granule.findings;
            run.changes.append(granule.changes);
        }
    }

    fn save(&mut self, is_over: bool) -> Result<()> {
        let Some(_) = &self.earlier else { return Ok(()) };
        let dataset = self.set.dataset();
        let saved = self.registry.write(|transaction| {
            let (key, _) = dataset_of(transaction, dataset)?;
            let (now, _) = self.now(transaction)?;
            let mut saved = Vec::new();
            let (finished, going) = (self.finished.iter(), self.runs.iter());
            for (run, is_over) in
                finished.map(|run| (run, true)).chain(going.map(|run| (run, is_over)))
            {
                let mut stored =
                    StoredRun { ended: run.stored.ended.max(now), ..run.stored.clone() };
                let is_leased = !is_over && stored.cycle.is_some();
                stored.lease_to_id = run.until.clone().filter(|_| is_leased);
                stored.lease_ends = Some(now.as_micros() + LEASE_MICROS)
                    .filter(|_| is_leased)
                    .and_then(Timestamp::from_micros);
                let last = run.changes.save(transaction, key, stored.run, run.last_finding, now)?;
                transaction.save_fixity_run(key, &stored)?;
                saved.push((stored, last));
            }
            Ok((saved, End::Commit))
        })?;
        let kept = saved.into_iter().skip(self.finished.len());
        self.finished.clear();
        for (run, (stored, last_finding)) in self.runs.iter_mut().zip(kept) {
            (run.stored, run.saved) = (stored.clone(), stored);
            (run.changes, run.last_finding) = (Changes::default(), last_finding);
        }
        Ok(())
    }
}

/// The granules of a check, in canonical order.
pub struct GranulesToCheck {
    check: FileCheck,
    list: Option<FileList>,
    /// The last granule that is leased. `None` means that all are.
    until: Option<String>,
    /// A granule that is not leased yet.
    next: Option<GranuleFiles>,
    is_first: bool,
}

impl GranulesToCheck {
    fn lease(&mut self) -> Result<Option<Leased>> {
        let mut state = self.check.state.borrow_mut();
        // The first part was leased when the check began.
        match std::mem::take(&mut self.is_first) {
            true => Ok(state.runs.back().map(|run| Leased {
                from: run.stored.from_id.clone(),
                until: run.until.clone(),
                last_record: run.stored.last_record,
            })),
            false => state.lease(),
        }
    }

    fn load(&mut self) -> Result<Option<GranuleFiles>> {
        loop {
            let granule = match (self.next.take(), &mut self.list) {
                (Some(granule), _) => Some(granule),
                (None, Some(list)) => list.next().transpose()?,
                (None, None) => None,
            };
            match granule {
                None if self.list.is_some() => {
                    let mut state = self.check.state.borrow_mut();
                    (state.is_over, state.is_at_end) = (true, true);
                    return Ok(None);
                }
                Some(granule)
                    if self
                        .until
                        .as_deref()
                        .is_none_or(|until| granule.granule_id.as_str() <= until) =>
                {
                    let begun = (granule.granule_id.clone(), granule.files.len().max(1));
                    self.check.state.borrow_mut().begun.push_back(begun);
                    return Ok(Some(granule));
                }
                next => self.next = next,
            }
            let Some(Leased { from, until, last_record }) = self.lease()? else {
                // Others check the rest, or have checked it.
                self.check.state.borrow_mut().is_over = true;
                return Ok(None);
            };
            if self.list.is_none() || self.until.as_deref() != Some(&from) {
                let state = self.check.state.borrow();
                let snapshot = state.registry.snapshot()?;
                let after = Some(from.as_str()).filter(|from| !from.is_empty());
                let after = after.map(GranuleId::new).transpose().map_err(Error::damaged)?;
                let files = snapshot.files_from(&state.set, after.as_ref())?;
                (self.list, self.next) = (Some(files.known_up_to(last_record)), None);
            }
            self.until = until;
        }
    }
}

impl Iterator for GranulesToCheck {
    type Item = Result<GranuleFiles>;

    fn next(&mut self) -> Option<Result<GranuleFiles>> {
        self.load().transpose()
    }
}
