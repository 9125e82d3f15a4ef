//! The files of a set: checking them, and computing their checksums. Results are recorded at intervals.

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

/// The interval at which results of a check are recorded, the interval at which computed checksums are recorded
/// in a change, and the interval at which these are tested.
const SAVED_EVERY: Duration = Duration::from_secs(60);
const STATED_EVERY: Duration = Duration::from_secs(3_600);
const TICK: Duration = Duration::from_millis(200);

/// The approximate number of files that are searched to test if a root is mounted. They are evenly distributed
/// over all files.
const SAMPLED: u64 = 1_000;

/// The files of a set, in canonical order of the granules. They can be read repeatedly. A granule without
/// records counts as one file without a record.
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

    /// Reads the files from the start.
    pub fn read(&self) -> Result<impl Iterator<Item = Result<RecordedFile>> + use<>> {
        let without = self.without.clone();
        let has_none = move |file: &RecordedFile| {
            file.checksums.iter().all(|it| Some(it.algorithm()) != without.as_ref())
        };
        let files = of_granules(self.registry.files(&self.set));
        Ok(files.filter(move |file| file.as_ref().map_or(true, &has_none)))
    }

    /// Checks that at least one of these files exists below a root, or else one of all files of the set,
    /// because the files without a checksum may be few and new.
    fn require_any(&self, root: &Root) -> Result<()> {
        // Reading all records costs little compared with reading all files, but is not needed if the first file
        // exists.
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

    /// Checks that some of the files exist below a root, and begins to report progress.
    fn begin(&self, root: &Root, reading: &ReadOptions) -> Result<OpenWork> {
        self.require_any(root)?;
        let watcher = self.registry.watcher();
        // The number of bytes until a time is not known in advance.
        let total = match watcher.shows_totals() && reading.begin_until.is_none() {
            true => Some(self.bytes()?).filter(|bytes| *bytes > 0),
            false => None,
        };
        Ok(watcher.begin(Work::ReadBytes, total))
    }

    /// The sum of the recorded sizes of the files, in bytes.
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

/// The directory with the files of a set, and the options for reading them.
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

    /// Whether the directory is known to be the right one. Otherwise, a directory that is empty or has none of
    /// the files is rejected, because a file system may not be mounted. Default: no.
    #[must_use]
    pub fn mounted(mut self, is_mounted: bool) -> Self {
        self.mounted = if is_mounted { MountCheck::Yes } else { MountCheck::Unknown };
        self
    }

    /// The number of files that are read in parallel. Default: the number of cores.
    #[must_use]
    pub fn jobs(mut self, jobs: impl Into<Option<NonZeroUsize>>) -> Self {
        self.reading =
            ReadOptions { begin_until: self.reading.begin_until, ..ReadOptions::new(jobs) };
        self
    }

    /// Sets the time after which no file except the first is started. Default: all are read.
    #[must_use]
    pub fn begin_until(mut self, begin_until: impl Into<Option<Instant>>) -> Self {
        self.reading.begin_until = begin_until.into();
        self
    }

    /// The time after which no file is started. `None` means that all are read.
    pub fn deadline(&self) -> Option<Instant> {
        self.reading.begin_until
    }

    fn open(&self) -> Result<Arc<Root>> {
        Root::open(&self.root, self.mounted).map(Arc::new)
    }
}

/// The options for a check of the files of a set.
#[derive(Debug, Clone, Default)]
pub struct CheckOptions {
    depth: Depth,
    unexpected: Unexpected,
    root_name: Option<String>,
}

/// How files in the directory that belong to no granule of the set are handled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Unexpected {
    #[default]
    Ignored,
    /// They are findings of the run, but are not recorded.
    Reported,
    Recorded,
}

impl CheckOptions {
    /// Returns the default options.
    pub fn new() -> Self {
        CheckOptions::default()
    }

    /// Whether to check only the size of each file, without opening it. Default: no, so all checksums that this
    /// program can compute are checked, too.
    #[must_use]
    pub fn sizes_only(mut self, sizes_only: bool) -> Self {
        self.depth = if sizes_only { Depth::Size } else { Depth::Content };
        self
    }

    /// Whether files in the directory that belong to no granule of the set are findings, too. Default: no.
    #[must_use]
    pub fn list_unexpected(mut self, list_unexpected: bool) -> Self {
        self.unexpected = match list_unexpected {
            true => Unexpected::Recorded,
            false => Unexpected::Ignored,
        };
        self
    }

    /// Makes files in the directory that belong to no granule of the set findings, without recording them,
    /// because a directory may also contain files that are not of the dataset.
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
    /// Begins to check the files of a set below a directory. Results are recorded once a minute and at the end,
    /// if the checksums of all files that a dataset holds now are checked. If the registry cannot be written,
    /// they are not recorded, and [`FixityRun::not_recorded`] returns a warning.
    ///
    /// A check with a time limit continues where the last check of this directory ended.
    ///
    /// # Errors
    ///
    /// Those of `select` and [`Registry::check_files`]; no thread can be started; the directory cannot be read,
    /// or has none of the files.
    pub fn check_fixity(
        &self,
        select: impl FnOnce(&Snapshot) -> Result<Set>,
        tree: &FileTree,
        options: CheckOptions,
    ) -> Result<FixityRun> {
        let (root, CheckOptions { depth, unexpected, root_name }) = (tree.open()?, options);
        // The directory is listed before the set is read, so that a file that is registered meanwhile is not
        // unexpected.
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
        // All files of the first granule are checked in any case, because a partly checked granule is not
        // recorded.
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
    /// Returns the index of the contents that differ in the fewest files from those below a directory, as a
    /// check with these options finds them. Reads only the files that differ between two contents, once for
    /// each of the two. Records nothing.
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

/// The files of one of two sets with the same granules. Only granules whose files differ between the two are
/// included.
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

/// The default name under which the checks of a root are recorded: the host and the path.
fn name_of(root: &Path) -> String {
    let named = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = named.as_deref().map_or("localhost", str::trim);
    format!("{host}:{}", root.display())
}

impl Registry {
    /// Begins to compute checksums of the files of a dataset that have none of an algorithm. The findings are
    /// the files that get no checksum, and those of granules whose records changed meanwhile, which are
    /// skipped. Computed checksums are recorded in a change once an hour, and when all files were read.
    ///
    /// # Errors
    ///
    /// Before a file is read: those of [`Registry::change`]; no thread can be started; the directory cannot be
    /// read, or has none of the files.
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
        // If the dataset accepts no change, or not this note, this fails before its files are read.
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

/// A run that reads files of a set: an iterator over the files that do not match their records, by granule and
/// path. Results are saved at intervals, and by [`FixityRun::finish`].
///
/// If it is cancelled, the last item is that error; earlier results can still be saved.
pub struct FixityRun {
    /// `None` means that all files were read.
    files: Option<FileReader<Files>>,
    records: Records,
    saved: Instant,
    work: OpenWork,
    summary: CheckSummary,
    not_recorded: Option<Warning>,
}

crate::model::debug_fields!(FixityRun);

/// How results are recorded.
#[expect(clippy::large_enum_variant, reason = "a run has one")]
enum Records {
    Check {
        check: FileCheck,
        /// The files of the directory, if unexpected files are findings.
        listed: Option<DirectoryFiles>,
        unexpected: Option<UnexpectedFiles>,
        /// Whether unexpected files are recorded.
        records_unexpected: bool,
    },
    Compute(Box<Statement>),
}

/// Computed checksums that are not recorded yet, and the options for recording them.
struct Statement {
    registry: Registry,
    dataset: DatasetName,
    options: ChangeOptions,
    change: Change,
    /// The files whose records had changed meanwhile.
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

    /// Whether the results are recorded.
    pub fn is_recorded(&self) -> bool {
        match &self.records {
            Records::Check { check, .. } => check.is_recorded(),
            Records::Compute(_) => true,
        }
    }

    /// Why the results are not recorded, although they should be. `None` means that they are, or should not be.
    pub fn not_recorded(&self) -> Option<Warning> {
        self.not_recorded.clone()
    }

    /// Saves the remaining results. Started files are not finished.
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
    /// Saves the added results if it is time. If another process delays this, they are saved the next time.
    fn save(&mut self, saved: &mut Instant) -> Result<()> {
        match self {
            Records::Check { check, .. } if saved.elapsed() >= SAVED_EVERY || check.is_full() => {
                *saved = Instant::now();
                match check.save() {
                    Err(error) if error.detail() == Some(ErrorDetail::BeingChecked) => Err(error),
                    // After any other failure, it is tried again, and the result of the last attempt counts.
                    _ => Ok(()),
                }
            }
            Records::Compute(statement) if saved.elapsed() >= STATED_EVERY => {
                *saved = Instant::now();
                match statement.finish() {
                    // These checksums are recorded together with the next ones.
                    Err(error) if error.kind() == ErrorKind::Busy => Ok(()),
                    stated => stated,
                }
            }
            _ => Ok(()),
        }
    }

    /// Adds the result for the next file, and returns its problem.
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

    /// Returns the findings after all files of the set: unexpected files, or files whose records changed.
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

/// Whether another writer holds the lock of the registry. A run that checks the same files does not count,
/// because it may last for hours.
fn is_locked(error: &Error) -> bool {
    error.kind() == ErrorKind::Busy && error.detail() != Some(ErrorDetail::BeingChecked)
}

/// Repeats an operation while another writer holds the lock, until the work is cancelled. A lock only delays
/// recording, and loses nothing.
fn while_busy<T>(work: &OpenWork, mut record: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match record() {
            Err(error) if is_locked(&error) && work.check().is_ok() => {}
            recorded => return recorded,
        }
    }
}
