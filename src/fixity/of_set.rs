//! Checks, and computations, of all files of a set, which are recorded as they go.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::check::{CheckedFile, Depth, Purpose, RecordedFile};
use super::problem::FileProblem;
use super::reader::{Check, ReadOptions};
use super::root::Root;
use super::unexpected::{DirectoryFiles, UnexpectedFiles};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Algorithm, Content, DatasetName, Entry, Extent, FileContent, FilePath, KnownFile, Set,
};
use crate::registry::{
    Change, ChangeOptions, FileCheck, GranuleFiles, Monitor, NewCheck, Registry, Selection, Stamp,
};

/// How often what was checked is recorded, and how often what was computed is stated, which is a change; and
/// how often it is looked whether it should be.
const SAVED_EVERY: Duration = Duration::from_secs(60);
const STATED_EVERY: Duration = Duration::from_secs(3_600);
const TICK: Duration = Duration::from_millis(200);

/// About how many files are looked for, evenly distributed over all of them, to see whether a root is
/// mounted.
const SAMPLED: u64 = 1_000;

/// The files of a set, in canonical order of the granules. They can be read from the first one again. A
/// granule without records is one file, of which nothing is known.
pub struct FilesOfSet {
    registry: Registry,
    set: Set,
    without: Option<Algorithm>,
}

type Files = Box<dyn Iterator<Item = Result<RecordedFile>>>;

impl FilesOfSet {
    /// All files of a set.
    pub fn new(registry: &Registry, set: Set) -> Self {
        FilesOfSet { registry: registry.clone(), set, without: None }
    }

    /// The files that a dataset holds now and that have no checksum of an algorithm.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`](crate::Snapshot::select).
    pub fn without(registry: &Registry, dataset: &DatasetName, it: &Algorithm) -> Result<Self> {
        let selection = Selection::Dataset { name: dataset.clone(), at: None };
        let set = registry.snapshot()?.select(&selection)?.set;
        Ok(FilesOfSet { without: Some(it.clone()), ..FilesOfSet::new(registry, set) })
    }

    /// Reads the files from the first one.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::files`](crate::Snapshot::files).
    pub fn read(&self) -> Result<impl Iterator<Item = Result<RecordedFile>> + use<>> {
        self.read_while(None)
    }

    /// The same until the monitor stops it: the next file without a checksum may be far.
    fn read_while(
        &self,
        monitor: Option<Arc<dyn Monitor>>,
    ) -> Result<impl Iterator<Item = Result<RecordedFile>> + use<>> {
        let without = self.without.clone();
        let has_none = move |file: &RecordedFile| {
            file.checksums.iter().all(|it| Some(it.algorithm()) != without.as_ref())
        };
        let files = of_granules(self.registry.snapshot()?.files(&self.set)?);
        let files = files.take_while(move |_| go_on(monitor.as_ref()).is_ok());
        Ok(files.filter(move |file| file.as_ref().map_or(true, &has_none)))
    }

    /// Checks that a root has some of the files, or of all files of the set: those without a checksum may be
    /// few and new.
    ///
    /// # Errors
    ///
    /// Those of [`Root::require_any`], and of reading the files.
    pub fn require_any(&self, root: &Root) -> Result<()> {
        // Reading all records costs little beside reading all files, but is not needed if the first file
        // is there.
        let first = self.read()?.next().map(|file| file.map(|file| file.path));
        if root.require_any(first).is_ok() {
            return Ok(());
        }
        let all = FilesOfSet::new(&self.registry, self.set.clone()).read()?;
        let stride = usize::try_from(self.set.granules() / SAMPLED).unwrap_or(usize::MAX).max(1);
        let sample = all.enumerate().filter(|(number, file)| number % stride == 0 || file.is_err());
        root.require_any(sample.map(|(_, file)| file.map(|file| file.path)))
    }

    /// The sum of the known sizes of the files, in bytes.
    ///
    /// # Errors
    ///
    /// Those of [`FilesOfSet::read`].
    pub fn bytes(&self) -> Result<u64> {
        self.read()?.map(|file| Ok(file?.size.unwrap_or(0))).sum()
    }
}

fn of_granules(
    granules: impl Iterator<Item = Result<GranuleFiles>>,
) -> impl Iterator<Item = Result<RecordedFile>> {
    granules.flat_map(|granule| {
        let (files, error) = match granule {
            Ok(granule) => (recorded(granule), None),
            Err(error) => (Vec::new(), Some(Err(error))),
        };
        files.into_iter().map(Ok).chain(error)
    })
}

fn recorded(granule: GranuleFiles) -> Vec<RecordedFile> {
    let GranuleFiles { granule_id, content } = granule;
    if content.is_empty() {
        return vec![RecordedFile::unrecorded(granule_id)];
    }
    let recorded = content.files().into_iter().map(|file| RecordedFile {
        granule_id: granule_id.clone(),
        path: file.path(&granule_id).to_owned(),
        size: file.size(),
        checksums: file.checksums().to_vec(),
    });
    recorded.collect()
}

/// A file that is not as it is recorded.
///
/// Its fields, in this order, are those of the rows of `fixity check` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileFinding {
    /// The granule. `None` means that no granule has the file.
    pub granule: Option<String>,
    /// The path below the root.
    pub path: String,
    /// What is wrong: the name of a [`FileProblem`].
    pub status: &'static str,
    /// What is recorded. `None` means nothing.
    pub expected: Option<String>,
    /// What was found instead. `None` means nothing.
    pub found: Option<String>,
}

impl FileFinding {
    /// What is wrong with the file of a granule.
    pub fn of(file: RecordedFile, problem: &FileProblem) -> Self {
        let granule = Some(file.granule_id.to_string());
        FileFinding { granule, ..FileFinding::at(file.path, problem) }
    }

    fn at(path: String, problem: &FileProblem) -> Self {
        let (expected, found) = (problem.expected(), problem.found());
        FileFinding { granule: None, path, status: problem.status(), expected, found }
    }
}

/// How much was read, and how much was wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CheckSummary {
    /// The files of granules.
    pub files: u64,
    /// The bytes that were read of them.
    pub bytes: u64,
    /// The files that are not as they are recorded.
    pub findings: u64,
    /// Whether all files up to the end of the set were read.
    pub complete: bool,
}

/// A check of the files of a set: an iterator over those that are not as recorded, by granule and path. What
/// was checked is saved once a minute, and by [`SetCheck::finish`].
///
/// If the monitor of the options stops it, that is the last error.
pub struct SetCheck {
    check: FileCheck,
    why_not_recorded: Option<Error>,
    depth: Depth,
    /// `None` once all were read.
    files: Option<Check<Files>>,
    /// The files of the root, if those that no granule has are findings.
    directory: Option<DirectoryFiles>,
    unexpected: Option<UnexpectedFiles>,
    saved: Instant,
    monitor: Option<Arc<dyn Monitor>>,
    summary: CheckSummary,
    sizes_unknown: u64,
}

impl SetCheck {
    /// Begins to check the files of a set below a root. Only a check of the checksums of all files that a
    /// dataset holds now is recorded; if the registry cannot be written, that is not, either.
    /// `directory`: those of its files that no granule of the set has are findings, too; it was listed before
    /// the set was read, so that what is registered meanwhile is not.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::check_files`] and [`Check::start`].
    pub fn start(
        (registry, set): (&Registry, &Set),
        root: &Arc<Root>,
        (new, depth): (NewCheck, Depth),
        directory: Option<DirectoryFiles>,
        options: ReadOptions,
        stamp: &Stamp,
    ) -> Result<Self> {
        let monitor = options.monitor.clone();
        let is_present = set.subset().is_none() && set.instance().until.is_none();
        let is_recorded = new.is_recorded && is_present && depth == Depth::Content;
        let new = NewCheck { is_recorded, ..new };
        let begun = while_busy(monitor.as_ref(), || registry.check_files(set, new.clone(), stamp));
        let (check, why_not_recorded) = match begun {
            Err(error) if error.kind().is_of_recording() => {
                let new = NewCheck { is_recorded: false, ..new };
                (registry.check_files(set, new, stamp)?, Some(error))
            }
            check => (check?, None),
        };
        let mut granules = check.granules()?.peekable();
        // All files of the first granule are checked in any case: a part of it is not recorded.
        let at_least = match granules.peek() {
            Some(Ok(granule)) => granule.content.files().len().max(1) as u64,
            _ => 1,
        };
        let options = ReadOptions { at_least, ..options };
        let files: Files = Box::new(of_granules(granules));
        Ok(SetCheck {
            check,
            why_not_recorded,
            depth,
            files: Some(Check::start(root, files, Purpose::Check(depth), options)?),
            directory,
            unexpected: None,
            saved: Instant::now(),
            monitor,
            summary: CheckSummary::default(),
            sizes_unknown: 0,
        })
    }

    /// How many files with a checksum were not checked, since only sizes are and theirs is unknown.
    pub fn sizes_unknown(&self) -> u64 {
        self.sizes_unknown
    }

    /// Why it is not recorded, although it should be.
    pub fn why_not_recorded(&self) -> Option<Error> {
        self.why_not_recorded.clone()
    }

    /// Whether it is recorded.
    pub fn is_recorded(&self) -> bool {
        self.check.is_recorded()
    }

    /// Saves the rest. Files that were begun are not finished.
    ///
    /// # Errors
    ///
    /// The error of a registry.
    pub fn finish(mut self) -> Result<CheckSummary> {
        self.files = None;
        let complete = while_busy(self.monitor.as_ref(), || self.check.finish())?;
        Ok(CheckSummary { complete, ..self.summary })
    }

    fn step(&mut self) -> Result<Option<FileFinding>> {
        while let Some(files) = &mut self.files {
            go_on(self.monitor.as_ref())?;
            let is_ready = files.wait(TICK);
            if self.saved.elapsed() >= SAVED_EVERY || self.check.is_full() {
                match self.check.save() {
                    Err(error) if error.kind() == ErrorKind::BeingChecked => return Err(error),
                    // If it fails otherwise, it is tried again, and the last time counts.
                    _ => self.saved = Instant::now(),
                }
            }
            if !is_ready {
                continue;
            }
            let Some(checked) = files.next() else {
                self.files = None;
                self.unexpected =
                    self.directory.take().map(DirectoryFiles::unexpected).transpose()?;
                break;
            };
            let CheckedFile { file, bytes, content } = checked?;
            let problem = content.err();
            if let Some(directory) = &mut self.directory {
                directory.expect(&file.path)?;
            }
            let is_unknown = self.depth == Depth::Size && problem == Some(FileProblem::NoRecord);
            self.sizes_unknown += u64::from(is_unknown && !file.checksums.is_empty());
            let found = problem.as_ref().map(|it| (it.status(), it.expected(), it.found()));
            self.check.add(&file.granule_id, &file.path, bytes, found);
            self.summary.files += 1;
            self.summary.bytes += bytes;
            if let Some(problem) = problem {
                self.summary.findings += 1;
                return Ok(Some(FileFinding::of(file, &problem)));
            }
        }
        let Some(unexpected) = &mut self.unexpected else { return Ok(None) };
        let Some((path, problem)) = unexpected.next().transpose()? else {
            self.check.end_unexpected();
            self.unexpected = None;
            return Ok(None);
        };
        self.check.add_unexpected(&path, problem.status());
        self.summary.findings += 1;
        Ok(Some(FileFinding::at(path, &problem)))
    }
}

/// Repeats what another writer does not let through, until the monitor stops the work: a lock of one delays
/// what is recorded, and loses nothing.
fn while_busy<T>(
    monitor: Option<&Arc<dyn Monitor>>,
    mut record: impl FnMut() -> Result<T>,
) -> Result<T> {
    loop {
        match record() {
            Err(error) if error.kind() == ErrorKind::Busy && go_on(monitor).is_ok() => {}
            recorded => return recorded,
        }
    }
}

/// # Errors
///
/// Of kind `interrupted`: the monitor stops the work.
fn go_on(monitor: Option<&Arc<dyn Monitor>>) -> Result<()> {
    match monitor.is_some_and(|monitor| monitor.advance(0).is_break()) {
        true => Err(Error::interrupted()),
        false => Ok(()),
    }
}

impl Iterator for SetCheck {
    type Item = Result<FileFinding>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            (self.files, self.directory, self.unexpected) = (None, None, None);
        }
        step.transpose()
    }
}

/// The name under which the checks of a root are recorded that has no other: that of the host, and the path.
pub fn root_name(root: &Path) -> String {
    let named = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = named.as_deref().map_or("localhost", str::trim);
    format!("{host}:{}", root.display())
}

/// The checksums of files that have none of an algorithm: an iterator over the files that get none. What was
/// computed is stated once an hour, and by [`SetCompute::finish`].
///
/// If the monitor of the options stops it, that is the last error.
pub struct SetCompute {
    registry: Registry,
    dataset: DatasetName,
    options: ChangeOptions,
    stamp: Stamp,
    /// `None` once all were read.
    files: Option<Check<Files>>,
    /// What was computed and not stated yet.
    change: Change,
    saved: Instant,
    monitor: Option<Arc<dyn Monitor>>,
    summary: CheckSummary,
}

impl SetCompute {
    /// Refuses a dataset that accepts no change, or a note, before its files are read.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::change`].
    pub fn check(
        registry: &Registry,
        dataset: &DatasetName,
        note: Option<&str>,
        stamp: &Stamp,
    ) -> Result<()> {
        let mut nothing = Change::stating(Extent::Named);
        nothing.options.note = note.map(str::to_owned);
        nothing.options.skip_missing = true;
        registry.change_computed(dataset, &nothing, stamp).map(drop)
    }

    /// Begins to compute the checksums of files of a dataset.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::change`] and [`Check::start`].
    pub fn start(
        (registry, dataset): (&Registry, &DatasetName),
        root: &Arc<Root>,
        algorithm: &Algorithm,
        note: Option<String>,
        options: ReadOptions,
        stamp: &Stamp,
    ) -> Result<Self> {
        let files = FilesOfSet::without(registry, dataset, algorithm)?;
        files.require_any(root)?;
        let (monitor, files) = (
            options.monitor.clone(),
            Box::new(files.read_while(options.monitor.clone())?) as Files,
        );
        Ok(SetCompute {
            registry: registry.clone(),
            dataset: dataset.clone(),
            // A granule that was deleted meanwhile needs no checksum.
            options: ChangeOptions { note, skip_missing: true, ..ChangeOptions::default() },
            stamp: stamp.clone(),
            files: Some(Check::start(root, files, Purpose::Compute(algorithm.clone()), options)?),
            change: Change::stating(Extent::Named),
            saved: Instant::now(),
            monitor,
            summary: CheckSummary::default(),
        })
    }

    /// Records the rest. Files that were begun are not finished.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::change`].
    pub fn finish(&mut self) -> Result<CheckSummary> {
        self.files = None;
        let monitor = self.monitor.clone();
        while_busy(monitor.as_ref(), || self.record())?;
        Ok(self.summary)
    }

    fn record(&mut self) -> Result<()> {
        self.saved = Instant::now();
        if self.change.count() == 0 {
            return Ok(());
        }
        self.change.options.clone_from(&self.options);
        self.registry.change_computed(&self.dataset, &self.change, &self.stamp)?;
        self.change = Change::stating(Extent::Named);
        Ok(())
    }

    fn step(&mut self) -> Result<Option<FileFinding>> {
        while let Some(files) = &mut self.files {
            go_on(self.monitor.as_ref())?;
            let is_ready = files.wait(TICK);
            let computed = if is_ready { files.next() } else { None };
            if self.saved.elapsed() >= STATED_EVERY {
                match self.record() {
                    // It is recorded with what is computed next.
                    Err(error) if error.kind() == ErrorKind::Busy => {}
                    recorded => recorded?,
                }
            }
            let Some(computed) = computed else {
                if is_ready {
                    go_on(self.monitor.as_ref())?;
                    (self.files, self.summary.complete) = (None, true);
                }
                continue;
            };
            let CheckedFile { file, bytes, content } = computed?;
            self.summary.files += 1;
            let path = FilePath::new(file.path.as_str());
            let path = path.map_err(|cause| FileProblem::Unreadable { reason: cause.to_string() });
            match content.and_then(|content| Ok((path?, content))) {
                Ok((path, content)) => {
                    self.summary.bytes += bytes;
                    let FileContent { size, checksum } = content.unwrap_or_default();
                    let known = KnownFile::new(&file.granule_id, Some(path), size, checksum);
                    let content = Content::of(&file.granule_id, known.into_iter().collect()).ok();
                    let entry = Entry::from(file.granule_id);
                    self.change.describe(Entry { content, ..entry })?;
                }
                Err(problem) => {
                    self.summary.findings += 1;
                    return Ok(Some(FileFinding::of(file, &problem)));
                }
            }
        }
        Ok(None)
    }
}

impl Iterator for SetCompute {
    type Item = Result<FileFinding>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.files = None;
        }
        step.transpose()
    }
}
