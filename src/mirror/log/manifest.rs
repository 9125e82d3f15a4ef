//! The manifest: the whole history of one dataset in one file.
//!
//! A manifest is a [log](super), all its segments one after the other, then the lines of the
//! cited subsets and of the annotations, then the head as the last line. A truncated file is
//! therefore detected. The specification is docs/reference/manifest.md.

use std::error::Error as _;
use std::fs::File;
use std::io::{self, BufRead, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{
    AnnotationReader, AnnotationWriter, Head, HeadFile, LinesDigest, LogEntry, LogLine, LogReader,
    LogWriter, MAX_LINE_BYTES, Position, SubsetReader, SubsetWriter,
};
use crate::disk::{AtomicFile, reserved};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Criteria, Dataset, DatasetName, Event, EventKind, GranuleId, LogChange, Moment, SourceLocation,
    Timestamp, quoted,
};
use crate::registry::{
    CitedSubset, Import, Listed, LoggedAnnotation, Registry, Selection, Snapshot,
};

pub use super::BEGINNING;

/// Writes the manifest of a dataset. `out` should not be slow, since the registry's write-ahead log
/// grows meanwhile.
///
/// # Errors
///
/// [`ErrorKind::DatasetUnknown`]; [`ErrorKind::Damaged`]: the granule rows contradict
/// the history; [`ErrorKind::Output`]: what `out` returned.
pub fn write(registry: &Registry, dataset: &DatasetName, out: &mut impl Write) -> Result<()> {
    let snapshot = registry.snapshot()?;
    let listed = snapshot.dataset(dataset)?;
    write_listed(&snapshot, listed, None, out)
}

/// Writes the manifest of a dataset as if its history had ended after `until`: with the changes up to
/// and at that time, and the subsets that were cited of them, but no annotations. The record is the present one, without
/// withdrawal and former names, since it is to become that of another dataset.
///
/// # Errors
///
/// Those of [`write()`]; [`ErrorKind::NoHistory`]; [`ErrorKind::BeforeHistory`]: the dataset had no
/// history then.
pub fn write_until(
    registry: &Registry,
    dataset: &DatasetName,
    until: Timestamp,
    out: &mut impl Write,
) -> Result<()> {
    let snapshot = registry.snapshot()?;
    let at = Some(Moment::Instant(until));
    let selected = snapshot.select(&Selection::Dataset { name: dataset.clone(), at })?;
    let mut listed = snapshot.dataset(dataset)?;
    listed.latest = Some(selected.set.instance().clone());
    listed.withdrawn = None;
    listed.former_names.clear();
    write_listed(&snapshot, listed, Some(until), out)
}

fn write_listed(
    snapshot: &Snapshot,
    listed: Listed,
    until: Option<Timestamp>,
    out: &mut impl Write,
) -> Result<()> {
    let failed = Error::unwritten;
    let dataset = &listed.dataset.name;
    let last = until.unwrap_or(Timestamp::MAX);
    let (mut log, first) = LogWriter::begin();
    out.write_all(first.as_bytes()).map_err(failed)?;
    for exported in snapshot.export(dataset, None)? {
        let exported = exported?;
        if exported.timestamp() > last {
            break;
        }
        if let Some(line) = log.add(exported).map_err(|error| failed(error.into()))? {
            out.write_all(line.as_bytes()).map_err(failed)?;
        }
    }
    let mut subsets = SubsetWriter::default();
    write_subsets(snapshot, dataset, last, &mut subsets, out, failed)?;
    let annotations = match until {
        None => write_annotations(snapshot, dataset, out, failed)?,
        Some(_) => LinesDigest::default(),
    };
    let head = Head::of(&listed, &log, [subsets.finish(), annotations]);
    let line = head.to_line().map_err(|error| failed(error.into()))?;
    out.write_all(line.as_bytes()).map_err(failed)
}

/// Writes the lines of the cited subsets of the instances of a dataset up to a time. `failed` is the
/// error of what `out` returns.
pub(crate) fn write_subsets(
    snapshot: &Snapshot,
    dataset: &DatasetName,
    until: Timestamp,
    subsets: &mut SubsetWriter,
    out: &mut impl Write,
    failed: impl Fn(io::Error) -> Error,
) -> Result<()> {
    for subset in snapshot.subsets(dataset)?.into_iter().filter(|it| it.timestamp <= until) {
        let named: Box<dyn Iterator<Item = Result<GranuleId>> + '_> = match subset.criteria {
            Criteria::Patterns(_) => Box::new(std::iter::empty()),
            Criteria::Named => Box::new(snapshot.granules_of_subset(&subset)?),
        };
        subsets.add(&subset, named, |line| out.write_all(line.as_bytes()).map_err(&failed))?;
    }
    Ok(())
}

/// Writes the lines of the annotations of a dataset. `failed` is the error of what `out` returns.
pub(crate) fn write_annotations(
    snapshot: &Snapshot,
    dataset: &DatasetName,
    out: &mut impl Write,
    failed: impl Fn(io::Error) -> Error,
) -> Result<LinesDigest> {
    let mut annotations = AnnotationWriter::default();
    snapshot.each_annotation(dataset, |timestamp, annotation| {
        let line = annotations.line(timestamp, annotation);
        out.write_all(line.as_bytes()).map_err(&failed)
    })?;
    Ok(annotations.finish())
}

/// The events of a part of a change.
pub(crate) fn events(
    log_line: LogLine,
    location: &SourceLocation,
) -> impl Iterator<Item = Event> + use<'_> {
    let LogLine { timestamp: at, ingested, deleted, described, replaced, .. } = log_line;
    let of = move |kind: EventKind, entries: Vec<LogEntry>| {
        entries.into_iter().map(move |LogEntry { granule_id, producer_granule, content }| {
            let location = Some(location.clone());
            Event { at, kind, granule_id, producer_granule, content, location }
        })
    };
    let deleted = deleted.into_iter().map(|granule_id| LogEntry {
        granule_id,
        producer_granule: None,
        content: None,
    });
    of(EventKind::Ingested, ingested)
        .chain(of(EventKind::Deleted, deleted.collect()))
        .chain(of(EventKind::Described, described))
        .chain(of(EventKind::Replaced, replaced))
}

/// Something that a manifest contains.
pub(crate) enum Item {
    /// A change, or some of its granules; the change with its last line.
    Line(Box<LogLine>, Option<LogChange>),
    /// A cited subset.
    Subset(CitedSubset),
    /// An annotation.
    Annotation(LoggedAnnotation),
    /// The head, which is last.
    Head(Box<Head>),
}

/// A manifest that is being read, line by line. Every line is verified before it is returned.
pub struct Reader<R> {
    file: R,
    source: Arc<str>,
    log: LogReader,
    last: Option<LogChange>,
    /// Of the lines after the log.
    subsets: Option<SubsetReader>,
    annotations: Option<AnnotationReader>,
    line: u64,
    head: Option<Dataset>,
    buffer: Vec<u8>,
}

impl<R: BufRead> Reader<R> {
    /// Begins to read a manifest. `name` is what messages call it; a change after `not_after` is
    /// refused.
    ///
    /// # Errors
    ///
    /// The file is not a manifest, or has a newer version.
    pub fn open(file: R, name: &str, not_after: Timestamp) -> Result<Self> {
        let source: Arc<str> = name.into();
        let log = LogReader::at(Position::default(), Arc::clone(&source), 0, not_after);
        let buffer = Vec::new();
        let mut reader = Reader {
            file,
            source,
            log,
            last: None,
            subsets: None,
            annotations: None,
            line: 0,
            head: None,
            buffer,
        };
        if !reader.next_line()? {
            return reader.fail("it is empty");
        }
        reader.log.read(&reader.buffer)?;
        Ok(reader)
    }

    /// Reads all changes, cited subsets and annotations into an import, which then makes each change only if it
    /// results in the identifier recorded in the manifest. `read` is called with the number of granules of
    /// each line. Returns the record of the dataset.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotPublished`]: what is wrong, and in which line.
    pub fn read_into(mut self, import: &mut Import, mut read: impl FnMut(u64)) -> Result<Dataset> {
        while let Some(item) = self.item()? {
            match item {
                Item::Line(log_line, change) => {
                    let location = self.log.lines().location();
                    read(log_line.granules() as u64);
                    for event in events(*log_line, &location) {
                        import.add(event)?;
                    }
                    if let Some(LogChange { timestamp, identifier, digest, note, .. }) = change {
                        import.expect(timestamp, identifier, Some(digest), Some(location));
                        import.note(timestamp, note.as_deref())?;
                    }
                }
                Item::Subset(subset) => import.keep_subset(&subset)?,
                Item::Annotation(annotation) => import.keep_annotation(annotation)?,
                Item::Head(head) => {
                    import.options.record = Some(head.record);
                    import.withdrawn = head.withdrawn;
                }
            }
        }
        match self.head {
            Some(record) => Ok(record),
            None => Ok(self.fail("it is cut short: its head, the last line, is missing")?),
        }
    }

    /// What the next line, or the next ones, contain. `None` means that the file has ended, after its head.
    pub(crate) fn item(&mut self) -> Result<Option<Item>> {
        loop {
            if !self.next_line()? {
                return match self.head {
                    Some(_) => Ok(None),
                    None => self.fail("it is cut short: its head, the last line, is missing"),
                };
            }
            if self.head.is_some() {
                return self.fail("something follows its head");
            }
            let text = std::str::from_utf8(&self.buffer).unwrap_or_default();
            if text.starts_with(super::HEAD_BEGINNING) {
                return self.read_head().map(Some);
            }
            if text.starts_with(super::ANNOTATION_BEGINNING) {
                let annotations = self.annotations.get_or_insert_default();
                return match annotations.read(text.as_bytes(), (&self.source, self.line)) {
                    Ok(annotation) => Ok(Some(Item::Annotation(annotation))),
                    Err(what) => self.fail(&what),
                };
            }
            if self.annotations.is_some() {
                return self.fail("something other than the head follows the annotations");
            }
            if text.starts_with(super::SUBSET_BEGINNING) {
                let subsets = self.subsets.get_or_insert_default();
                let line = (&self.source, self.line);
                match subsets.read(text.as_bytes(), line) {
                    Ok(Some(subset)) => return Ok(Some(Item::Subset(subset))),
                    Ok(None) => continue,
                    Err(what) => return self.fail(&what),
                }
            }
            if self.subsets.is_some() {
                return self.fail("a change follows the cited subsets");
            }
            if let Some((log_line, change)) = self.log.read(&self.buffer)? {
                if change.is_some() {
                    self.last.clone_from(&change);
                }
                return Ok(Some(Item::Line(Box::new(log_line), change)));
            }
        }
    }

    fn read_head(&mut self) -> Result<Item> {
        let text = std::str::from_utf8(&self.buffer).unwrap_or_default();
        let head = match HeadFile::parse(text) {
            Ok(HeadFile::Head(head)) => head,
            Ok(HeadFile::MovedTo(_)) => return self.fail("it has the head of another dataset"),
            Err(what) => return self.fail(&what),
        };
        let position = self.log.position();
        if !self.log.is_between_changes() {
            return self.fail("the change before its head is cut");
        }
        let is_whole =
            position.bytes == head.segments.bytes() && position.check == Some(head.check);
        if let Err(what) = head.check_end(position.changes, self.last.as_ref()) {
            return self.fail(&what);
        }
        if !is_whole {
            return self.fail("the log before its head is not the one that the head announces");
        }
        if let Err(what) = self.subsets.take().unwrap_or_default().check(head.subsets) {
            return self.fail(&what);
        }
        if let Err(what) = self.annotations.take().unwrap_or_default().check(head.annotations) {
            return self.fail(&what);
        }
        self.head = Some(head.record.clone());
        Ok(Item::Head(head))
    }

    /// Reads a line into the buffer, with its line end. Returns whether there was one.
    fn next_line(&mut self) -> Result<bool> {
        self.line += 1;
        self.buffer.clear();
        let read = (&mut self.file).take(MAX_LINE_BYTES).read_until(b'\n', &mut self.buffer);
        match read {
            Err(cause) => Err(Error::unreadable(&cause).at_line(&self.source, self.line)),
            Ok(read) => Ok(read > 0),
        }
    }

    /// The last line of the log that was read.
    pub(crate) fn location(&mut self) -> SourceLocation {
        self.log.lines().location()
    }

    fn fail<T>(&self, what: &str) -> Result<T> {
        Err(Error::not_a_manifest(what).at_line(&self.source, self.line))
    }
}

/// The name of the dataset in the last line of a manifest. `None`: the file does not end with a head.
///
/// # Errors
///
/// The file cannot be read.
pub fn dataset_of(file: &mut (impl io::Read + io::Seek)) -> io::Result<Option<DatasetName>> {
    let length = file.seek(io::SeekFrom::End(0))?;
    let begin = length.saturating_sub(MAX_LINE_BYTES);
    file.seek(io::SeekFrom::Start(begin))?;
    let mut end = Vec::new();
    file.take(MAX_LINE_BYTES).read_to_end(&mut end)?;
    let body = end.strip_suffix(b"\n").unwrap_or(&end);
    let from = body.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let line = std::str::from_utf8(&end[from..]).unwrap_or_default();
    Ok(match HeadFile::parse(line) {
        Ok(HeadFile::Head(head)) => Some(head.record.name),
        _ => None,
    })
}

impl Error {
    /// A manifest cannot be written.
    fn unwritten(source: io::Error) -> Self {
        Error::new(ErrorKind::Output, "cannot write the manifest").because(source)
    }
}

/// Writes the manifest of a dataset: of its whole history, or as if that had ended after `until`.
///
/// # Errors
///
/// Those of [`write()`] and [`write_until`].
pub fn write_up_to(
    registry: &Registry,
    dataset: &DatasetName,
    until: Option<Moment>,
    out: &mut impl Write,
) -> Result<()> {
    match until {
        Some(until) => write_until(registry, dataset, until.last_instant(), out),
        None => write(registry, dataset, out),
    }
}

/// Writes the manifest to the file at `path`, which appears when it is complete, or to a pipe.
///
/// # Errors
///
/// Those of [`write_up_to`]; [`ErrorKind::NotReplaced`]: the file is not a manifest of this dataset, or a
/// link to a file that does not exist.
pub fn export(
    registry: &Registry,
    dataset: &DatasetName,
    until: Option<Moment>,
    path: &Path,
) -> Result<()> {
    // A broken pipe is an error here, while a reader of stdout may end when it has read enough.
    let cannot = |source: io::Error| Error::cannot("write", path, source);
    let write_to = |file: &File| -> Result<()> {
        let mut out = BufWriter::new(file);
        match write_up_to(registry, dataset, until, &mut out) {
            Err(error) if error.kind() == ErrorKind::Output => {
                let cause = error.source().map_or_else(String::new, ToString::to_string);
                return Err(cannot(io::Error::other(cause)));
            }
            result => result?,
        }
        out.flush().map_err(cannot)
    };
    match target(path)? {
        Target::Stream(file) => write_to(&file),
        Target::File(path) => {
            refuse_other_manifest(registry, dataset, &path)?;
            let in_writing = |error: Error| {
                let cause = error.with_causes();
                let message = format!("cannot write {}: {cause}", quoted(&path.to_string_lossy()));
                Error::new(error.kind(), message)
            };
            let temporary = AtomicFile::beside(&path).map_err(in_writing)?;
            write_to(temporary.as_file())?;
            temporary.replace().map_err(in_writing)
        }
    }
}

/// Refuses to replace the manifest of another dataset.
fn refuse_other_manifest(registry: &Registry, dataset: &DatasetName, path: &Path) -> Result<()> {
    let Some(other) = dataset_of_manifest(path) else { return Ok(()) };
    let listed = registry.snapshot()?.dataset(dataset)?;
    if other == listed.dataset.name || listed.former_names.contains(&other) {
        return Ok(());
    }
    let shown = quoted(&path.to_string_lossy()).to_string();
    let message = format!("{shown} is the manifest of {other}: it was not overwritten");
    Err(Error::new(ErrorKind::NotReplaced, message))
}

/// The dataset of the manifest in a file. `None` means that the file does not exist, or is not a
/// readable manifest.
fn dataset_of_manifest(path: &Path) -> Option<DatasetName> {
    dataset_of(&mut File::open(path).ok()?).ok()?
}

/// What exists at the path of the output.
enum Target {
    /// Nothing yet, or a manifest that is replaced.
    File(PathBuf),
    /// A pipe or a device.
    Stream(File),
}

/// Decides how the output is written. Only a manifest may be overwritten: a typing error must not
/// destroy the registry, which is often in the same directory.
fn target(path: &Path) -> Result<Target> {
    reserved::check(path)?;
    let name = path.to_string_lossy();
    let shown = quoted(&name);
    let cannot = |source: io::Error| Error::cannot("write", path, source);
    // `metadata` follows links. A pipe is opened by the path as it was given.
    match path.metadata() {
        Ok(kind) if kind.is_file() || kind.is_dir() => {}
        Ok(_) => {
            let file = File::options().write(true).open(path).map_err(cannot)?;
            return Ok(Target::Stream(file));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            let message = format!("{shown} is a link to a file that does not exist");
            return Err(Error::new(ErrorKind::NotReplaced, message));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Target::File(path.into()));
        }
        Err(error) => return Err(cannot(error)),
    }
    let path = &path.canonicalize().map_err(cannot)?;
    let mut beginning = Vec::new();
    let manifest_beginning = BEGINNING.as_bytes();
    let file = File::open(path).map_err(cannot)?;
    let beginning_bytes = manifest_beginning.len() as u64;
    file.take(beginning_bytes).read_to_end(&mut beginning).map_err(cannot)?;
    if !beginning.is_empty() && beginning != manifest_beginning {
        let message = format!("{shown} exists and is not a manifest: it was not overwritten");
        return Err(Error::new(ErrorKind::NotReplaced, message));
    }
    Ok(Target::File(path.clone()))
}
