//! The files of a set: checks of them, and computations of their checksums, which are recorded as they go.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::check::{
    CheckSummary, CheckedFile, Depth, FileFinding, FileProblem, Purpose, RecordedFile,
};
use super::reader::{FileReader, ReadOptions};
use super::root::{MountCheck, Root};
use super::unexpected::{DirectoryFiles, UnexpectedFiles};
use crate::error::{Error, ErrorDetail, ErrorKind, Result};
use crate::model::{
    Algorithm, Content, DatasetName, FileContent, FilePath, FileRecord, ListingEntry, Set, Warning,
    WarningKind,
};
use crate::registry::{
    Change, ChangeOptions, FileCheck, Granule, HeldContents, NewCheck, OpenWork, Registry,
    Selection, Snapshot, Watcher, Work,
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
#[derive(Debug)]
pub struct FilesOfSet {
    registry: Registry,
    set: Set,
    without: Option<Algorithm>,
}

impl FilesOfSet {
    /// All files of a set.
    pub fn new(registry: &Registry, set: Set) -> Self {
        FilesOfSet { registry: registry.clone(), set, without: None }
    }

    /// The files that a dataset holds now and that have no checksum of an algorithm.
    pub fn without(registry: &Registry, dataset: &DatasetName, it: &Algorithm) -> Result<Self> {
        let selection = Selection::Dataset { name: dataset.clone(), at: None };
        let set = registry.snapshot()?.select(&selection)?.set;
        Ok(FilesOfSet { without: Some(it.clone()), ..FilesOfSet::new(registry, set) })
    }

    /// Reads the files from the first one.
    pub fn read(&self) -> Result<impl Iterator<Item = Result<RecordedFile>> + use<>> {
        let without = self.without.clone();
        let has_none = move |file: &RecordedFile| {
            file.checksums.iter().all(|it| Some(it.algorithm()) != without.as_ref())
        };
        let files = of_granules(self.registry.files(&self.set));
        Ok(files.filter(move |file| file.as_ref().map_or(true, &has_none)))
    }

    /// Checks that a root has some of the files, or of all files of the set: those without a checksum may be
    /// few and new.
    fn require_any(&self, root: &Root) -> Result<()> {
        // Reading all records costs little beside reading all files, but is not needed if the first file
        // is there.
        let first = self.read()?.next().map(|file| file.map(|file| file.path));
        if root.require_any(first).is_ok() {
            return Ok(());
        }
        let all = FilesOfSet::new(&self.registry, self.set.clone()).read()?;
        let stride =
            usize::try_from(self.set.granule_count() / SAMPLED).unwrap_or(usize::MAX).max(1);
        let sample = all.enumerate().filter(|(number, file)| number % stride == 0 || file.is_err());
        root.require_any(sample.map(|(_, file)| file.map(|file| file.path)))
    }

    /// Checks that a root has some of them, and begins to report that they are read.
    fn begin(&self, root: &Root, reading: &ReadOptions) -> Result<OpenWork> {
        self.require_any(root)?;
        let watcher = self.registry.watcher();
        // How many there will be until a time is not known.
        let total = match watcher.shows_totals() && reading.begin_until.is_none() {
            true => Some(self.bytes()?).filter(|bytes| *bytes > 0),
            false => None,
        };
        Ok(watcher.begin(Work::ReadBytes, total))
    }

    /// The sum of the known sizes of the files, in bytes.
    fn bytes(&self) -> Result<u64> {
        self.read()?.map(|file| Ok(file?.size.unwrap_or(0))).sum()
    }
}

/// The files of granules.
fn of_granules(
    granules: impl Iterator<Item = Result<Granule>>,
) -> impl Iterator<Item = Result<RecordedFile>> {
    granules.flat_map(|granule| {
        let (files, error) = match granule {
            Ok(granule) => (recorded(granule), None),
            Err(error) => (Vec::new(), Some(Err(error))),
        };
        files.into_iter().map(Ok).chain(error)
    })
}

fn recorded(granule: Granule) -> Vec<RecordedFile> {
    let Granule { granule_id, content } = granule;
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

/// The directory that has the files of a set, and how they are read.
#[derive(Debug, Clone)]
pub struct FileTree {
    pub(super) root: PathBuf,
    pub(super) mounted: MountCheck,
    pub(super) reading: ReadOptions,
}

impl FileTree {
    /// The files below a directory.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let (mounted, reading) = (MountCheck::Unknown, ReadOptions::new(None));
        FileTree { root: root.into(), mounted, reading }
    }

    /// Whether the directory is known to be the right one. Otherwise, a directory that is empty, or has none of the
    /// files, is refused: a file system may not be mounted there. Default: no.
    #[must_use]
    pub fn mounted(mut self, is_mounted: bool) -> Self {
        self.mounted = if is_mounted { MountCheck::Yes } else { MountCheck::Unknown };
        self
    }

    /// How many files are read at a time. Default: the number of cores.
    #[must_use]
    pub fn jobs(mut self, jobs: impl Into<Option<NonZeroUsize>>) -> Self {
        self.reading =
            ReadOptions { begin_until: self.reading.begin_until, ..ReadOptions::new(jobs) };
        self
    }

    /// After which time no file is begun but the first. Default: all are read.
    #[must_use]
    pub fn begin_until(mut self, begin_until: impl Into<Option<Instant>>) -> Self {
        self.reading.begin_until = begin_until.into();
        self
    }

    /// After which time no file is begun. `None` means that all are read.
    pub fn deadline(&self) -> Option<Instant> {
        self.reading.begin_until
    }

    fn open(&self) -> Result<Arc<Root>> {
        Root::open(&self.root, self.mounted).map(Arc::new)
    }
}

/// What of the files of a set is checked.
#[derive(Debug, Clone, Default)]
pub struct CheckOptions {
    depth: Depth,
    unexpected: Unexpected,
    root_name: Option<String>,
}

/// What becomes of the files of the directory that no granule of the set has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Unexpected {
    #[default]
    Ignored,
    /// They are findings of the run, and are not recorded.
    Reported,
    Recorded,
}

impl CheckOptions {
    /// Returns the default options.
    pub fn new() -> Self {
        CheckOptions::default()
    }

    /// Whether only the size of each file is checked, and no file is opened. Default: no, so all checksums that
    /// this program computes are checked, too.
    #[must_use]
    pub fn sizes_only(mut self, sizes_only: bool) -> Self {
        self.depth = if sizes_only { Depth::Size } else { Depth::Content };
        self
    }

    /// Whether files of the directory that no granule of the set has are findings, too. Default: no.
    #[must_use]
    pub fn list_unexpected(mut self, list_unexpected: bool) -> Self {
        self.unexpected = match list_unexpected {
            true => Unexpected::Recorded,
            false => Unexpected::Ignored,
        };
        self
    }

    /// Files of the directory that no granule of the set has are findings, and are not recorded: a directory may
    /// have files of its own beside those of a dataset.
    #[must_use]
    pub fn report_unexpected(mut self) -> Self {
        self.unexpected = Unexpected::Reported;
        self
    }

    /// The name under which checks of the directory are recorded. Default: `HOST:PATH`.
    #[must_use]
    pub fn root_name(mut self, root_name: impl Into<Option<String>>) -> Self {
        self.root_name = root_name.into();
        self
    }
}

impl Registry {
    /// Begins to check files of a set below a directory. What was checked is recorded once a minute, and when it
    /// is finished, if it is the checksums of all files that a dataset holds now; if the registry cannot be
    /// written, that is not, either, which [`FixityRun::not_recorded`] says. A check that begins no file after some
    /// time goes on where the last one of this directory has ended.
    ///
    /// # Errors
    ///
    /// Those of `select` and [`Registry::check_files`]; no thread can be started; the directory cannot be read, or
    /// has none of the files.
    pub fn check_fixity(
        &self,
        select: impl FnOnce(&Snapshot) -> Result<Set>,
        tree: &FileTree,
        options: CheckOptions,
    ) -> Result<FixityRun> {
        let (root, CheckOptions { depth, unexpected, root_name }) = (tree.open()?, options);
        // Before the set is read, so that a file that is registered meanwhile is not unexpected.
        let is_listed = unexpected != Unexpected::Ignored;
        let listed = is_listed.then(|| DirectoryFiles::list(&root)).transpose()?;
        let set = select(&self.snapshot()?)?;
        let work = FilesOfSet::new(self, set.clone()).begin(&root, &tree.reading)?;
        let root_name = root_name.unwrap_or_else(|| name_of(root.path()));
        let is_rolling = tree.reading.begin_until.is_some();
        let begin = |is_recorded| {
            let new = NewCheck { root: root_name.clone(), is_rolling, is_recorded };
            while_busy(&work, || self.for_saves().check_files(&set, new.clone()))
        };
        let is_present = set.subset().is_none() && set.instance().until.is_none();
        let recorded = (is_present && depth == Depth::Content).then(|| begin(true));
        let (check, not_recorded) = match recorded {
            Some(Err(error)) if error.prevents_recording() => {
                (begin(false)?, Some(format!("{error}: the check is not recorded")))
            }
            Some(check) => (check?, None),
            None => (begin(false)?, None),
        };
        let mut granules = check.granules()?.peekable();
        // All files of the first granule are checked in any case: a part of it is not recorded.
        let at_least = match granules.peek() {
            Some(Ok(granule)) => granule.content.files().len().max(1) as u64,
            _ => 1,
        };
        let (reading, files) = (ReadOptions { at_least, ..tree.reading }, of_granules(granules));
        let records_unexpected = unexpected == Unexpected::Recorded;
        let records = Records::Check { check, listed, unexpected: None, records_unexpected };
        let run = FixityRun::start(
            &root,
            Box::new(files),
            Purpose::Check(depth),
            reading,
            records,
            (self.watcher(), work),
        )?;
        let not_recorded = not_recorded.map(|it| Warning::new(WarningKind::CheckNotRecorded, it));
        Ok(FixityRun { not_recorded, ..run })
    }
}

impl Registry {
    /// Returns the index of the contents from which the fewest files below a directory differ, as a check with
    /// these options finds them. Reads only the files that differ between two contents, once for each of the two.
    /// Records nothing.
    ///
    /// # Errors
    ///
    /// The directory cannot be read, or has none of the files; a set cannot be read; the work was cancelled.
    pub fn nearest_to_files(
        &self,
        contents: &[HeldContents],
        tree: &FileTree,
        options: &CheckOptions,
    ) -> Result<usize> {
        let root = tree.open()?;
        let reading = ReadOptions { begin_until: None, ..tree.reading };
        // The latest contents are the most likely, so they are tried first.
        let mut nearest = contents.len().saturating_sub(1);
        for other in (0..nearest).rev() {
            let sets = [&contents[nearest].set, &contents[other].set];
            let mut findings = [0, 0];
            for (own, findings) in findings.iter_mut().enumerate() {
                let files = differing(self, sets, own)?;
                let purpose = Purpose::Check(options.depth);
                for file in FileReader::start(&root, files, purpose, reading, self.watcher())? {
                    *findings += u64::from(file?.problem().is_some());
                }
            }
            if findings[1] < findings[0] {
                nearest = other;
            }
        }
        Ok(nearest)
    }
}

/// The files of one of two sets that have the same granules, but only of granules whose files differ between
/// the two.
fn differing(
    registry: &Registry,
    [one, two]: [&Set; 2],
    own: usize,
) -> Result<impl Iterator<Item = Result<RecordedFile>> + use<>> {
    let pairs = registry.files(one).zip(registry.files(two));
    let differing = pairs.filter_map(move |pair| match pair {
        (Ok(one), Ok(two)) if one.content == two.content => None,
        (Ok(one), Ok(two)) => Some(Ok([one, two])),
        (Err(error), _) | (_, Err(error)) => Some(Err(error)),
    });
    let own = differing.map(move |pair| {
        let [one, two] = pair?;
        Ok(if own == 0 { one } else { two })
    });
    Ok(of_granules(own))
}

/// The name under which the checks of a root are recorded that has no other: that of the host, and the path.
fn name_of(root: &Path) -> String {
    let named = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = named.as_deref().map_or("localhost", str::trim);
    format!("{host}:{}", root.display())
}

impl Registry {
    /// Begins to compute the checksums of files of a dataset that have none of an algorithm. The findings are the
    /// files that get none, and those of granules of which something else became known meanwhile, which are
    /// skipped. What was computed is stated once an hour, and when all files were read.
    ///
    /// # Errors
    ///
    /// Before a file is read: those of [`Registry::change`]; no thread can be started; the directory cannot be read,
    /// or has none of the files.
    pub fn compute_checksums(
        &self,
        dataset: &DatasetName,
        tree: &FileTree,
        algorithm: Algorithm,
        note: Option<String>,
    ) -> Result<FixityRun> {
        let (root, reading) = (tree.open()?, tree.reading);
        let (watcher, dataset) = (self.watcher(), dataset.clone());
        // A granule that was deleted meanwhile needs no checksum.
        let options = ChangeOptions::new().note(note).skip_missing(true);
        let files = FilesOfSet::without(self, &dataset, &algorithm)?;
        let work = files.begin(&root, &reading)?;
        let (change, contradicted) = (Change::of_some_files(), VecDeque::new());
        let registry = self.for_saves();
        let mut statement = Statement { registry, dataset, options, change, contradicted };
        // A dataset that accepts no change, or a note, is refused before its files are read.
        while_busy(&work, || statement.state())?;
        let files = Box::new(files.read()?);
        let records = Records::Compute(Box::new(statement));
        FixityRun::start(
            &root,
            files,
            Purpose::Compute(algorithm),
            reading,
            records,
            (watcher, work),
        )
    }
}

/// The files that are read.
type Files = Box<dyn Iterator<Item = Result<RecordedFile>> + Send>;

/// Files of a set that are being read: an iterator over those that are not as recorded, by granule and path.
/// What was found out is saved from time to time, and by [`FixityRun::finish`].
///
/// If it is cancelled, that is the last error; what was found out before can still be saved.
pub struct FixityRun {
    /// `None` once all were read.
    files: Option<FileReader<Files>>,
    records: Records,
    saved: Instant,
    work: OpenWork,
    summary: CheckSummary,
    not_recorded: Option<Warning>,
}

crate::model::debug_fields!(FixityRun);

/// What becomes of what was found out.
#[expect(clippy::large_enum_variant, reason = "a run has one")]
enum Records {
    Check {
        check: FileCheck,
        /// The files of the directory, if those that no granule has are findings.
        listed: Option<DirectoryFiles>,
        unexpected: Option<UnexpectedFiles>,
        /// Whether these files are recorded.
        records_unexpected: bool,
    },
    Compute(Box<Statement>),
}

/// What was computed and not stated yet, and how it is stated.
struct Statement {
    registry: Registry,
    dataset: DatasetName,
    options: ChangeOptions,
    change: Change,
    /// The files of which something else had become known meanwhile.
    contradicted: VecDeque<FileFinding>,
}

impl FixityRun {
    fn start(
        root: &Arc<Root>,
        files: Files,
        purpose: Purpose,
        reading: ReadOptions,
        records: Records,
        (watcher, work): (&Watcher, OpenWork),
    ) -> Result<Self> {
        let files = Some(FileReader::start(root, files, purpose, reading, watcher)?);
        let (saved, summary) = (Instant::now(), CheckSummary::default());
        Ok(FixityRun { files, records, saved, work, summary, not_recorded: None })
    }

    /// Whether what is found out is recorded.
    pub fn is_recorded(&self) -> bool {
        match &self.records {
            Records::Check { check, .. } => check.is_recorded(),
            Records::Compute(_) => true,
        }
    }

    /// Why it is not recorded, although it should be. `None` means that it is, or should not be.
    pub fn not_recorded(&self) -> Option<Warning> {
        self.not_recorded.clone()
    }

    /// Saves the rest. Files that were begun are not finished.
    pub fn finish(mut self) -> Result<CheckSummary> {
        self.files = None;
        let summary = self.summary;
        while_busy(&self.work, || match &mut self.records {
            Records::Check { check, .. } => {
                Ok(CheckSummary { complete: check.finish()?, ..summary })
            }
            Records::Compute(statement) => {
                statement.finish()?;
                let findings = summary.findings + statement.contradicted.len() as u64;
                Ok(CheckSummary { findings, ..summary })
            }
        })
    }

    fn step(&mut self) -> Result<Option<FileFinding>> {
        while let Some(files) = &mut self.files {
            self.work.check()?;
            let is_ready = files.wait(TICK);
            self.records.save(&mut self.saved)?;
            if !is_ready {
                continue;
            }
            let Some(checked) = files.next() else {
                (self.files, self.summary.complete) = (None, true);
                match &mut self.records {
                    Records::Check { listed, unexpected, .. } => {
                        *unexpected = listed.take().map(DirectoryFiles::unexpected).transpose()?;
                    }
                    Records::Compute(statement) => {
                        while_busy(&self.work, || statement.finish())?;
                    }
                }
                break;
            };
            let CheckedFile { file, bytes, content } = checked?;
            self.summary.files += 1;
            self.summary.bytes += bytes;
            let is_unknown = content == Err(FileProblem::NO_RECORD) && !file.checksums.is_empty();
            self.summary.sizes_unknown += u64::from(is_unknown);
            if let Some(problem) = self.records.add(&file, bytes, content)? {
                self.summary.findings += 1;
                return Ok(Some(FileFinding::of(file, problem)));
            }
        }
        let finding = self.records.next_at_the_end()?;
        self.summary.findings += u64::from(finding.is_some());
        Ok(finding)
    }
}

impl Iterator for FixityRun {
    type Item = Result<FileFinding>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.files = None;
        }
        step.transpose()
    }
}

impl Records {
    /// Saves what was added, if it is time. What another process delays is saved the next time.
    fn save(&mut self, saved: &mut Instant) -> Result<()> {
        match self {
            Records::Check { check, .. } if saved.elapsed() >= SAVED_EVERY || check.is_full() => {
                *saved = Instant::now();
                match check.save() {
                    Err(error) if error.detail() == Some(ErrorDetail::BeingChecked) => Err(error),
                    // If it fails otherwise, it is tried again, and the last time counts.
                    _ => Ok(()),
                }
            }
            Records::Compute(statement) if saved.elapsed() >= STATED_EVERY => {
                *saved = Instant::now();
                match statement.finish() {
                    // It is stated with what is computed next.
                    Err(error) if error.kind() == ErrorKind::Busy => Ok(()),
                    stated => stated,
                }
            }
            _ => Ok(()),
        }
    }

    /// Adds what was found out about the next file, and says what is wrong with it.
    fn add(
        &mut self,
        file: &RecordedFile,
        bytes: u64,
        content: Result<Option<FileContent>, FileProblem>,
    ) -> Result<Option<FileProblem>> {
        match self {
            Records::Check { check, listed, .. } => {
                let problem = content.err();
                if let Some(listed) = listed {
                    listed.expect(&file.path)?;
                }
                let found = problem.clone().map(|it| (it.status, it.expected, it.found));
                check.add(&file.granule_id, &file.path, bytes, found);
                Ok(problem)
            }
            Records::Compute(statement) => statement.add(file, content),
        }
    }

    /// After all files of the set, a file that no granule has, or of which something else became known.
    fn next_at_the_end(&mut self) -> Result<Option<FileFinding>> {
        let (check, unexpected, is_recorded) = match self {
            Records::Check { check, unexpected, records_unexpected, .. } => {
                (check, unexpected, *records_unexpected)
            }
            Records::Compute(statement) => return Ok(statement.contradicted.pop_front()),
        };
        let Some(files) = unexpected else { return Ok(None) };
        let Some((path, problem)) = files.next().transpose()? else {
            if is_recorded {
                check.end_unexpected();
            }
            *unexpected = None;
            return Ok(None);
        };
        if is_recorded {
            check.add_unexpected(&path, problem.status);
        }
        Ok(Some(FileFinding::at(path, problem)))
    }
}

impl Statement {
    fn add(
        &mut self,
        file: &RecordedFile,
        content: Result<Option<FileContent>, FileProblem>,
    ) -> Result<Option<FileProblem>> {
        let path = FilePath::new(file.path.as_str());
        let path = path.map_err(|cause| FileProblem::unreadable(cause.to_string()));
        let (path, content) = match content.and_then(|content| Ok((path?, content))) {
            Ok(computed) => computed,
            Err(problem) => return Ok(Some(problem)),
        };
        let FileContent { size, checksum } = content.unwrap_or_default();
        let known = FileRecord::new(&file.granule_id, Some(path), size, checksum);
        let content = Content::of(&file.granule_id, known.into_iter().collect()).ok();
        self.change
            .describe(ListingEntry { content, ..ListingEntry::from(file.granule_id.clone()) })?;
        Ok(None)
    }

    fn finish(&mut self) -> Result<()> {
        if self.change.count() == 0 { Ok(()) } else { self.state() }
    }

    fn state(&mut self) -> Result<()> {
        self.change.options.clone_from(&self.options);
        let applied = self.registry.change_computed(&self.dataset, &self.change)?;
        self.change = Change::of_some_files();
        self.contradicted.extend(applied.contradicted.iter().map(|conflict| {
            let path = conflict.path().to_owned();
            let granule = Some(conflict.granule_id().to_string());
            FileFinding { granule, ..FileFinding::at(path, FileProblem::CHANGING) }
        }));
        Ok(())
    }
}

/// Whether another writer has the lock of the registry. The run that checks the same files is none: it may last for
/// hours.
fn is_locked(error: &Error) -> bool {
    error.kind() == ErrorKind::Busy && error.detail() != Some(ErrorDetail::BeingChecked)
}

/// Repeats what another writer does not let through, until the work is cancelled: a lock of one delays
/// what is recorded, and loses nothing.
fn while_busy<T>(work: &OpenWork, mut record: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match record() {
            Err(error) if is_locked(&error) && work.check().is_ok() => {}
            recorded => return recorded,
        }
    }
}
