//! Records the progress and the findings of a check of files.
//!
//! The registry stores a cursor for each root, and the files that are not as recorded now. A cycle checks each
//! granule of the dataset once. A run continues where the previous run ended, or begins a cycle. Only one run
//! at a time checks the files at a root. It locks the root until [`LOCK_MICROS`] after its last save, so the
//! root of a killed run is free again after that time.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, ErrorDetail, Result};
use crate::model::{DatasetName, FilePath, GranuleId, Holding, Set, Timestamp};
use crate::registry::handle::{End, Registry};
use crate::registry::look_ups::{LookUps, bytes_of_contents};
use crate::registry::snapshot::{Granule, Reads, dataset_of};
use crate::store::{DatasetKey, OpenFinding, RootState, StoredContent, Transaction};

/// The duration of a lock. It is renewed whenever the check is saved, once a minute. A lock that ends later
/// than this from now was taken by a clock that was ahead, and is ignored.
const LOCK_MICROS: i64 = 600 * 1_000_000;

/// The number of unsaved findings at which they should be saved.
const MOST_UNSAVED: usize = 1_000;

/// The greatest number of recorded files that belong to no granule.
const MOST_UNEXPECTED: usize = 10_000;

/// The greatest length of the name of a root in bytes. The name is a part of a key.
const MAX_ROOT_BYTES: usize = 512;

/// The root and the mode of a check of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCheck {
    /// The name of the root directory.
    pub root: String,
    /// Whether it continues where the last check ended.
    pub is_rolling: bool,
    /// Whether it is recorded. If not, a rolling check still begins at the recorded granule.
    pub is_recorded: bool,
}

/// A check of the files of a set.
///
/// The files are those of [`FileCheck::granules`], in their order. When all are checked, or no more will be,
/// [`FileCheck::finish`] saves the rest.
pub struct FileCheck {
    registry: Registry,
    set: Set,
    root: String,
    /// The owner of the lock of the root. `None` means that nothing is recorded.
    locked_by: Option<String>,
    /// The granule up to which everything was checked and saved. `None` means nothing yet.
    saved: Option<String>,
    /// The last granule whose files were all checked, if that is not saved yet.
    checked: Option<String>,
    /// The results for the granules that were checked since the last save.
    unsaved: Tally,
    /// The results so far for the first granule that is being checked.
    granule: Tally,
    /// The files that belong to no granule. `has_unexpected` means that these are all of them.
    unexpected: BTreeMap<String, OpenFinding>,
    has_unexpected: bool,
    begun: Arc<Mutex<Begun>>,
}

crate::model::debug_fields!(FileCheck: registry, set, root);

/// The granules that were returned to the caller, and are not checked yet.
#[derive(Default)]
struct Begun {
    /// Each granule with the number of its files.
    granules: VecDeque<(GranuleId, usize)>,
    /// Whether the last granule of the set was returned.
    is_over: bool,
}

/// A panic cannot leave the state inconsistent, so a poisoned lock is used, too.
fn lock(begun: &Mutex<Begun>) -> MutexGuard<'_, Begun> {
    begun.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
struct Tally {
    files: u64,
    bytes: u64,
    found: Vec<OpenFinding>,
}

/// A problem with one file: its status, what is recorded, and what was found instead.
type FoundProblem = (&'static str, Option<String>, Option<String>);

impl Registry {
    /// Begins to check the files of a set. A check of the files that a dataset holds now can be recorded.
    ///
    /// # Errors
    ///
    /// Those of the store: the registry cannot be written; [`ErrorDetail::BeingChecked`]: another run is
    /// checking the files at this root; [`ErrorKind::TooLong`](crate::ErrorKind::TooLong): the name of the root
    /// is too long.
    pub fn check_files(&self, set: &Set, check: NewCheck) -> Result<FileCheck> {
        let NewCheck { root, is_rolling, is_recorded } = check;
        if root.len() > MAX_ROOT_BYTES {
            return Err(Error::too_long("the name of a root", "bytes", root.len(), MAX_ROOT_BYTES));
        }
        let locked_by = is_recorded.then(|| format!("{:016x}", RandomState::new().hash_one(&root)));
        let dataset = set.dataset();
        let saved = match &locked_by {
            // If the registry cannot be written, this fails before a file is read.
            Some(by) => self.write(|transaction| {
                let (key, name) = dataset_of(transaction, dataset)?;
                let now = self.now();
                let stored = transaction.fixity_root(key, &root)?;
                if let Some((_, until)) = stored.as_ref().and_then(|root| root.lock.as_ref())
                    && (now..=lock_end(now)).contains(until)
                {
                    let message = format!("another run is checking the files of {name} at {root}");
                    return Err(Error::new(ErrorDetail::BeingChecked, message));
                }
                let cycle = stored.as_ref().filter(|it| is_rolling && it.started.is_some());
                let begun = match cycle {
                    Some(cycle) => cycle.clone(),
                    None => RootState {
                        root: root.clone(),
                        cursor: None,
                        started: Some(now),
                        since: stored.and_then(|root| root.since),
                        lock: None,
                        files: 0,
                        bytes: 0,
                    },
                };
                let lock = Some((by.clone(), lock_end(now)));
                transaction.put(key, &RootState { lock, ..begun.clone() })?;
                Ok((begun.cursor, End::Commit))
            })?,
            None => self.ask(|read| {
                let (key, _) = dataset_of(read, dataset)?;
                let stored = read.fixity_root(key, &root)?.filter(|_| is_rolling);
                Ok(stored.and_then(|root| root.cursor))
            })?,
        };
        Ok(FileCheck {
            registry: self.clone(),
            set: set.clone(),
            root,
            locked_by,
            saved,
            checked: None,
            unsaved: Tally::default(),
            granule: Tally::default(),
            unexpected: BTreeMap::new(),
            has_unexpected: false,
            begun: Arc::default(),
        })
    }

    /// Forgets the checks at a root of a dataset that is no longer used, and their findings. Returns the number
    /// of findings. `None` means that no file was checked there.
    pub fn forget_root(&self, dataset: &DatasetName, root: &str) -> Result<Option<u64>> {
        self.write(|transaction| {
            let (key, _) = dataset_of(transaction, dataset)?;
            if transaction.fixity_root(key, root)?.is_none() {
                return Ok((None, End::RollBack));
            }
            let before = transaction.count_of::<OpenFinding>(key)?;
            transaction.delete_fixity_root(key, root)?;
            let after = transaction.count_of::<OpenFinding>(key)?;
            Ok((Some(before.saturating_sub(after)), End::Commit))
        })
    }
}

impl FileCheck {
    /// The granules to check, with the recorded metadata of their files. A granule without recorded files
    /// counts as one file.
    pub fn granules(&self) -> Result<impl Iterator<Item = Result<Granule>> + use<>> {
        let after =
            self.saved.as_deref().map(GranuleId::new).transpose().map_err(Error::damaged)?;
        let mut files = self.registry.files_after(&self.set, after.as_ref());
        let begun = Arc::clone(&self.begun);
        Ok(std::iter::from_fn(move || {
            let next = files.next();
            match &next {
                None => lock(&begun).is_over = true,
                Some(Err(_)) => {}
                Some(Ok(granule)) => {
                    let files = granule.content.files().len().max(1);
                    let counted = (granule.granule_id.clone(), files);
                    lock(&begun).granules.push_back(counted);
                }
            }
            next
        }))
    }

    /// Adds a checked file of the first granule that is not finished. `bytes` is the number of bytes that were
    /// read. `found` is set if the file is not as recorded: its status, what is recorded, and what was found
    /// instead.
    pub fn add(
        &mut self,
        granule_id: &GranuleId,
        path: &str,
        bytes: u64,
        found: Option<FoundProblem>,
    ) {
        self.granule.files += 1;
        self.granule.bytes += bytes;
        let found = found.filter(|_| self.locked_by.is_some());
        let found = found.map(|found| self.finding(granule_id.as_str(), path, found));
        self.granule.found.extend(found);
        let granules = &mut lock(&self.begun).granules;
        if let Some((_, files)) = granules.front_mut() {
            *files -= 1;
            if *files == 0 {
                granules.pop_front();
                let Tally { files, bytes, found } = std::mem::take(&mut self.granule);
                self.unsaved.files += files;
                self.unsaved.bytes += bytes;
                self.unsaved.found.extend(found);
                self.checked = Some(granule_id.to_string());
            }
        }
    }

    /// Adds a file of the root that belongs to no granule. Called after all files of granules were added.
    pub(crate) fn add_unexpected(&mut self, path: &str, status: &'static str) {
        // A longer path can belong to no granule, and may be too long for a key.
        if path.len() <= FilePath::MAX_BYTES && self.unexpected.len() < MOST_UNEXPECTED {
            self.unexpected.insert(path.to_owned(), self.finding("", path, (status, None, None)));
        }
    }

    fn finding(
        &self,
        granule: &str,
        path: &str,
        (status, expected, found): FoundProblem,
    ) -> OpenFinding {
        let (root, granule, path) = (self.root.clone(), granule.to_owned(), path.to_owned());
        // When it was first seen is looked up when it is saved.
        let (status, first_seen) = (status.to_owned(), Timestamp::EPOCH);
        OpenFinding { root, granule, path, status, expected, found, first_seen }
    }

    /// Records that all files that belong to no granule were added.
    pub(crate) fn end_unexpected(&mut self) {
        self.has_unexpected = true;
    }

    /// Whether the check is recorded.
    pub fn is_recorded(&self) -> bool {
        self.locked_by.is_some()
    }

    /// Whether there are so many findings that they should be saved.
    pub(crate) fn is_full(&self) -> bool {
        self.unsaved.found.len() >= MOST_UNSAVED
    }

    /// Saves the results up to the first unchecked granule, and renews the lock. Called once a minute, even
    /// while one file is being read.
    ///
    /// # Errors
    ///
    /// The error of a registry: what was not saved is saved the next time. [`ErrorDetail::BeingChecked`]:
    /// another run has the lock, or the root was forgotten, so nothing more is saved.
    pub fn save(&mut self) -> Result<()> {
        let up_to = self.checked.clone();
        self.save_up_to(up_to.as_deref(), Going::On)
    }

    /// Saves the rest and releases the lock. Returns whether all files up to the end of the set were checked.
    ///
    /// # Errors
    ///
    /// Those of [`FileCheck::save`]; it can be called again.
    pub fn finish(&mut self) -> Result<bool> {
        let is_complete = {
            let begun = lock(&self.begun);
            begun.is_over && begun.granules.is_empty()
        };
        let going = if is_complete { Going::ToTheEnd } else { Going::NoFurther };
        let up_to = self.checked.clone();
        self.save_up_to(up_to.as_deref(), going)?;
        Ok(is_complete)
    }

    fn save_up_to(&mut self, up_to: Option<&str>, going: Going) -> Result<()> {
        let Some(by) = &self.locked_by else { return Ok(()) };
        let (dataset, after) = (self.set.dataset(), self.saved.as_deref().unwrap_or_default());
        self.registry.write(|transaction| {
            let (key, _) = dataset_of(transaction, dataset)?;
            let now = self.registry.now();
            let stored = transaction.fixity_root(key, &self.root)?;
            let is_ours = |it: &RootState| it.lock.as_ref().is_some_and(|(owner, _)| owner == by);
            let Some(mut stored) = stored.filter(is_ours) else {
                let message = format!(
                    "another run has begun to check the files of {dataset} at {}, or it was forgotten",
                    self.root
                );
                return Err(Error::new(ErrorDetail::BeingChecked, message));
            };
            let found = self.found(transaction, key, now)?;
            if going == Going::ToTheEnd {
                transaction.delete_fixity_findings(key, &self.root, (after, None))?;
                if self.has_unexpected {
                    transaction.delete_unexpected_files(key, &self.root)?;
                }
            } else if up_to.is_some() {
                transaction.delete_fixity_findings(key, &self.root, (after, up_to))?;
            }
            transaction.insert(key, &found)?;
            stored.cursor = up_to.map(str::to_owned).or(stored.cursor);
            stored.files += self.unsaved.files;
            stored.bytes += self.unsaved.bytes;
            stored.lock = Some((by.clone(), lock_end(now))).filter(|_| going == Going::On);
            if going == Going::ToTheEnd {
                stored.since = stored.started.take();
                stored.cursor = None;
            }
            transaction.put(key, &stored)?;
            Ok(((), End::Commit))
        })?;
        self.saved = self.checked.take().or(self.saved.take());
        self.unsaved = Tally::default();
        Ok(())
    }

    /// The findings to be stored. A finding that was stored before keeps the time when it was first seen.
    fn found(
        &self,
        transaction: &Transaction,
        key: DatasetKey,
        now: Timestamp,
    ) -> Result<Vec<OpenFinding>> {
        let mut found = self.still_held(transaction, key)?;
        if self.has_unexpected {
            found.extend(self.unexpected.values().cloned());
        }
        let mut ids: Vec<&str> = found.iter().map(|it| it.granule.as_str()).collect();
        ids.dedup();
        let earlier = match ids.is_empty() {
            true => Vec::new(),
            false => transaction.fixity_findings_among(key, &ids)?,
        };
        let place = |it: &OpenFinding| (it.root.clone(), it.granule.clone(), it.path.clone());
        let earlier: BTreeMap<_, _> = earlier.into_iter().map(|it| (place(&it), it)).collect();
        for finding in &mut found {
            let same = earlier.get(&place(finding)).filter(|it| {
                OpenFinding { first_seen: finding.first_seen, ..(*it).clone() } == *finding
            });
            finding.first_seen = same.map_or(now, |it| it.first_seen);
        }
        Ok(found)
    }

    /// The findings about granules that were not deleted meanwhile, and whose contents did not change
    /// meanwhile.
    fn still_held(&self, transaction: &Transaction, key: DatasetKey) -> Result<Vec<OpenFinding>> {
        let mut found = self.unsaved.found.clone();
        let mut ids: Vec<&str> = self.unsaved.found.iter().map(|it| it.granule.as_str()).collect();
        ids.dedup();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let timestamp = self.set.instance().timestamp;
        let (mut held, mut later) = (Vec::new(), Vec::new());
        let (mut look_ups, mut rest) = (LookUps::up_to(MOST_UNSAVED), ids.as_slice());
        while !rest.is_empty() {
            let (next, after) = rest.split_at(look_ups.granules().min(rest.len()));
            rest = after;
            let periods = transaction.periods_among(key, next)?;
            let contents = transaction.last_content_among(key, next)?;
            let bytes = size_of_val(periods.as_slice()) + bytes_of_contents(&contents);
            look_ups.note(next.len(), bytes);
            let is_held =
                |period: &Holding| period.deleted.is_none() && period.ingested <= timestamp;
            held.extend(periods.into_iter().filter(is_held).map(|it| it.granule_id));
            let is_later = |known: &StoredContent| known.since > timestamp;
            later.extend(contents.into_iter().filter(is_later).map(|it| it.granule_id));
        }
        let is_among = |ids: &[GranuleId], granule: &str| {
            ids.binary_search_by(|granule_id| granule_id.as_str().cmp(granule)).is_ok()
        };
        found.retain(|OpenFinding { granule, .. }| {
            is_among(&held, granule) && !is_among(&later, granule)
        });
        Ok(found)
    }
}

/// How a check continues after it was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Going {
    /// Further files are checked.
    On,
    /// The check ended before the end of the set.
    NoFurther,
    /// The check reached the end of the set.
    ToTheEnd,
}

fn lock_end(now: Timestamp) -> Timestamp {
    Timestamp::from_micros(now.as_micros() + LOCK_MICROS).unwrap_or(now)
}
