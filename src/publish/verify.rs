//! Compares what was published with the registry.

use std::error::Error as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use serde::Serialize;

use super::files::{ANNOTATIONS, DATASETS, FILES, HEAD, LOG, Place, SUBSETS, head_in, text_in};
use super::log::zipped_name;
#[cfg(feature = "serve")]
use super::pages::{self, INDEX, Kept};
use crate::disk::Directory;
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::log::manifest;
use crate::mirror::log::{
    AnnotationReader, FilesHead, Head, HeadFile, LinesDigest, LogWriter, MAX_LINE_BYTES, Segment,
    Segments, SubsetReader, SubsetWriter,
};
use crate::model::{DatasetName, Identifier, Timestamp};
use crate::registry::{Exported, Listed, Registry, Snapshot};

/// What was found of a dataset in a published directory, or of the files that belong to none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifiedFiles {
    /// The name of the dataset's directory. `None` means the files that belong to no dataset.
    pub dataset: Option<DatasetName>,
    /// How many changes its log has.
    pub changes: u64,
    /// Whether it is the present state of the registry. If it is not, the next run publishes the rest.
    pub current: bool,
    /// Whether every file is as this registry publishes it.
    pub ok: bool,
    /// Those that are not.
    pub differences: Vec<Difference>,
}

/// A published file that is not as the registry publishes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The file, relative to the directory.
    pub file: String,
    /// The first line that differs, from 1. `None` means that it concerns the whole file.
    pub line: Option<u64>,
    /// What is wrong with it.
    pub text: String,
}

/// Reads all that was published of datasets (none means all, and the files that belong to none), and compares it with the
/// registry. `show` is called after each dataset. Nothing is changed.
///
/// What was published may be an earlier state: a log that the registry continues is as it should be.
///
/// # Errors
///
/// [`ErrorKind::Io`](crate::ErrorKind::Io): a file cannot be read, or is a symbolic link; those of the registry.
pub fn verify<E: From<Error>>(
    registry: &Registry,
    directory: &Path,
    datasets: &[DatasetName],
    mut show: impl FnMut(VerifiedFiles) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let place = Place::to_read(directory)?;
    let names = match datasets {
        [] => place.names()?,
        named => named.to_vec(),
    };
    let made = place.root.enter(DATASETS)?;
    #[cfg(feature = "serve")]
    let site = SiteFiles::kept(registry, &place)?;
    #[cfg(feature = "serve")]
    let mut are_current = true;
    for name in &names {
        let mut found = Found::new(Some(name.clone()));
        let directory = made.as_ref().map(|made| made.enter(name.as_str())).transpose();
        match directory?.flatten() {
            Some(directory) => {
                let listed = found.dataset(registry, name, &directory)?;
                #[cfg(feature = "serve")]
                if let (Some(listed), Some(site), true) = (&listed, &site, found.0.current) {
                    site.compare_page(&mut found, listed, &directory)?;
                }
                // The list of datasets does not have those that the registry does not have.
                #[cfg(not(feature = "serve"))]
                let _ = listed;
                #[cfg(feature = "serve")]
                {
                    are_current &= listed.is_none() || found.0.current;
                }
            }
            None => {
                found.0.current = false;
                found.differs(HEAD, None, "it is missing");
            }
        }
        show(found.done())?;
    }
    #[cfg(feature = "serve")]
    if let (true, [], Some(site), Some(made)) = (are_current, datasets, &site, &made) {
        let mut found = Found::new(None);
        site.compare_site(&mut found, made)?;
        show(found.done())?;
    }
    Ok(())
}

/// What is being found.
struct Found(VerifiedFiles);

impl Found {
    fn new(dataset: Option<DatasetName>) -> Self {
        let (changes, current, ok, differences) = (0, true, true, Vec::new());
        Found(VerifiedFiles { dataset, changes, current, ok, differences })
    }

    fn done(mut self) -> VerifiedFiles {
        self.0.ok = self.0.differences.is_empty();
        self.0
    }

    fn differs(&mut self, file: &str, line: Option<u64>, text: &str) {
        let dataset = self.0.dataset.as_ref();
        let file = dataset.map_or(file.to_owned(), |it| format!("{DATASETS}/{it}/{file}"));
        self.0.differences.push(Difference { file, line, text: text.to_owned() });
    }

    /// Compares the end of a file of a directory, which is called `within`.
    fn end(&mut self, within: &str, compared: Compared, follows: &'static str) -> Result<()> {
        if let Some(unlike) = compared.end(follows)? {
            self.differs(&format!("{within}{}", unlike.name), unlike.line, unlike.text);
        }
        Ok(())
    }

    /// Compares the head, the log and the cited subsets of a dataset. `None` means that the registry
    /// does not have it.
    fn dataset(
        &mut self,
        registry: &Registry,
        name: &DatasetName,
        directory: &Directory,
    ) -> Result<Option<Listed>> {
        let snapshot = registry.snapshot()?;
        let listed = match snapshot.dataset(name) {
            Err(error) if error.kind() == ErrorKind::DatasetUnknown => {
                self.0.current = false;
                self.differs(HEAD, None, "the registry does not have this dataset");
                return Ok(None);
            }
            listed => listed?,
        };
        let present = &listed.dataset.name;
        match head_in(directory) {
            Ok(Some(HeadFile::Head(head))) => {
                self.0.changes = head.changes;
                let log = self.log(&snapshot, present, &head, directory)?;
                let subsets = self.subsets(&snapshot, present, &head, directory)?;
                let annotations = self.annotations(&snapshot, present, &head, directory)?;
                let files = self.files(&snapshot, present, head.files.as_ref(), directory)?;
                let line = Head::of(&listed, &log, [subsets, annotations], files).to_line().ok();
                self.0.current = present == name && text_in(directory, HEAD)? == line;
            }
            Ok(Some(HeadFile::MovedTo(target))) => {
                // If it was renamed again, the next run says so.
                self.0.current = target == *present && name != present;
                if target != *present && !listed.former_names.contains(&target) {
                    self.differs(HEAD, None, "it names a dataset that the registry does not");
                }
            }
            Ok(None) => {
                self.0.current = false;
                self.differs(HEAD, None, "it is missing");
            }
            Err(error) if error.kind() == ErrorKind::PublishedDamaged => {
                let what = error.source().map_or_else(String::new, ToString::to_string);
                self.0.current = false;
                self.differs(HEAD, None, &what);
            }
            Err(error) => return Err(error),
        }
        Ok(Some(listed))
    }

    /// Compares the segments and their compressed forms with the log of the registry. Returns that log to its
    /// present end.
    fn log(
        &mut self,
        snapshot: &Snapshot,
        name: &DatasetName,
        head: &Head,
        directory: &Directory,
    ) -> Result<LogWriter> {
        let (mut log, first) = LogWriter::begin();
        let mut published = ComparedSegments::open(self, directory, LOG, &head.segments)?;
        published.line(self, first.as_bytes(), log.segments())?;
        let is_announced = |log: &LogWriter, latest: Option<Identifier>| {
            let position = log.position();
            (position.changes, position.granules, log.check(), log.segments())
                == (head.changes, head.granules, head.check, &head.segments)
                && position.timestamp.zip(latest) == head.latest()
        };
        let mut is_in_registry = is_announced(&log, None);
        for exported in snapshot.export(name, None)? {
            let exported = exported?;
            let latest = match &exported {
                Exported::Change(instance) => Some(instance.identifier),
                Exported::Event(_) => None,
            };
            let line = log.add(exported);
            let line =
                line.map_err(|error| Error::cannot("write", directory.path(), error.into()))?;
            let Some(line) = line else { continue };
            is_in_registry |= latest.is_some() && is_announced(&log, latest);
            published.line(self, line.as_bytes(), log.segments())?;
        }
        published.end(self, log.segments())?;
        if !is_in_registry {
            self.differs(HEAD, None, NEVER_THERE);
        }
        Ok(log)
    }

    /// Compares the log of the file records with that of the registry. Returns what a head would
    /// announce of them.
    fn files(
        &mut self,
        snapshot: &Snapshot,
        name: &DatasetName,
        announced: Option<&FilesHead>,
        directory: &Directory,
    ) -> Result<Option<FilesHead>> {
        let none = Segments::default();
        let segments = announced.map_or(&none, |it| &it.segments);
        let mut published = ComparedSegments::open(self, directory, FILES, segments)?;
        let mut is_in_registry = announced.is_none();
        let head = manifest::write_files(snapshot, name, None, |line, log| {
            is_in_registry = is_in_registry || log.is_at(announced);
            published.line(self, line.as_bytes(), log.segments())
        })?;
        published.end(self, head.as_ref().map_or(&none, |head| &head.segments))?;
        if !is_in_registry {
            self.differs(HEAD, None, NEVER_THERE);
        }
        Ok(head)
    }

    /// Compares the cited subsets with those of the registry or, if others were cited since then, with
    /// what the head announces.
    fn subsets(
        &mut self,
        snapshot: &Snapshot,
        name: &DatasetName,
        head: &Head,
        directory: &Directory,
    ) -> Result<LinesDigest> {
        let mut subsets = SubsetWriter::default();
        let mut expected = Expected { compared: Compared::open(directory, SUBSETS)?, failed: None };
        let path = directory.path_of(SUBSETS);
        let unread = |source| Error::cannot("read", &path, source);
        let (until, out) = (Timestamp::MAX, &mut expected);
        let written = manifest::write_subsets(snapshot, name, until, &mut subsets, out, unread);
        let Expected { compared, failed } = expected;
        match (failed, written) {
            (Some(error), _) => return Err(error),
            (None, written) => written?,
        }
        let digest = subsets.finish();
        if digest == head.subsets {
            self.end("", compared, "the head announces nothing that follows")?;
        } else {
            let mut reader = SubsetReader::default();
            if self.announced_lines(directory, SUBSETS, |line, place| reader.read(line, place))?
                && let Err(what) = reader.check(head.subsets)
            {
                self.differs(SUBSETS, None, &what);
            }
        }
        Ok(digest)
    }

    /// Compares the annotations with those of the registry or, if others were added since then, with what
    /// the head announces.
    fn annotations(
        &mut self,
        snapshot: &Snapshot,
        name: &DatasetName,
        head: &Head,
        directory: &Directory,
    ) -> Result<LinesDigest> {
        let path = directory.path_of(ANNOTATIONS);
        let unread = |source| Error::cannot("read", &path, source);
        let digest = manifest::write_annotations(snapshot, name, &mut io::sink(), unread)?;
        if head.annotations.is_empty() && directory.read(ANNOTATIONS)?.is_none() {
            return Ok(digest);
        }
        let mut reader = AnnotationReader::default();
        if self.announced_lines(directory, ANNOTATIONS, |line, place| reader.read(line, place))?
            && let Err(what) = reader.check(head.annotations)
        {
            self.differs(ANNOTATIONS, None, &what);
        }
        Ok(digest)
    }

    /// Reads the lines of a file that a head announces, up to the first that cannot be read. Returns
    /// whether the file is there, and all could.
    fn announced_lines<T>(
        &mut self,
        directory: &Directory,
        name: &str,
        mut read: impl FnMut(&[u8], (&Arc<str>, u64)) -> std::result::Result<T, String>,
    ) -> Result<bool> {
        let Some(file) = directory.read(name)? else {
            self.differs(name, None, "it is missing");
            return Ok(false);
        };
        let (source, mut file): (Arc<str>, _) = (name.into(), BufReader::new(file));
        let unread = |source| Error::cannot("read", &directory.path_of(name), source);
        let (mut line, mut number) = (Vec::new(), 0);
        while file.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line).map_err(unread)? > 0 {
            number += 1;
            if let Err(what) = read(&line, (&source, number)) {
                self.differs(name, Some(number), &what);
                return Ok(false);
            }
            line.clear();
        }
        Ok(true)
    }
}

/// The segments of a log and their compressed forms, which are compared with its lines.
struct ComparedSegments<'a> {
    /// Their directory. `None` means that there is none.
    files: Option<Directory>,
    name: &'static str,
    announced: &'a Segments,
    /// The segment of the last line.
    current: Vec<Compared>,
    index: usize,
}

const FOLLOWS: &str = "no head announces what follows";
const NEVER_THERE: &str = "the registry never had what it announces";

impl<'a> ComparedSegments<'a> {
    fn open(
        found: &mut Found,
        directory: &Directory,
        name: &'static str,
        announced: &'a Segments,
    ) -> Result<Self> {
        let files = directory.enter(name)?;
        if files.is_none() && !announced.0.is_empty() {
            found.differs(name, None, "it is missing");
        }
        let mut opened = ComparedSegments { files, name, announced, current: Vec::new(), index: 0 };
        opened.current = opened.segment(0)?;
        Ok(opened)
    }

    fn is_sealed(&self, index: usize) -> bool {
        self.announced.0.get(index).is_some_and(Segment::is_sealed)
    }

    fn segment(&self, index: usize) -> Result<Vec<Compared>> {
        let Some(files) = self.files.as_ref().filter(|_| !self.announced.0.is_empty()) else {
            return Ok(Vec::new());
        };
        let mut opened = vec![Compared::open(files, &Segment::file_name(index))?];
        if self.is_sealed(index) {
            opened.push(Compared::open(files, &zipped_name(index))?);
        }
        Ok(opened)
    }

    /// Compares the next line of the log, which then has these segments.
    fn line(&mut self, found: &mut Found, line: &[u8], so_far: &Segments) -> Result<()> {
        if so_far.bytes() > self.announced.bytes() {
            return Ok(());
        }
        let last = so_far.0.len().saturating_sub(1);
        if self.index < last {
            let next = self.segment(last)?;
            for compared in std::mem::replace(&mut self.current, next) {
                found.end(&format!("{}/", self.name), compared, FOLLOWS)?;
            }
            self.index = last;
        }
        self.current.iter_mut().try_for_each(|compared| compared.expect(line))
    }

    /// Compares the end. The log of the registry has these segments.
    fn end(mut self, found: &mut Found, all: &Segments) -> Result<()> {
        let within = format!("{}/", self.name);
        let follows = match all.bytes() < self.announced.bytes() {
            true => "the registry does not have what follows",
            false => FOLLOWS,
        };
        for compared in std::mem::take(&mut self.current) {
            found.end(&within, compared, follows)?;
        }
        let names = self.files.as_ref().map(Directory::names).transpose()?.unwrap_or_default();
        for file in names {
            let Some((number, ending)) = file.split_once(".jsonl") else { continue };
            let Ok(number) = number.parse::<usize>() else { continue };
            let is_expected = number <= self.index && !self.announced.0.is_empty();
            if !is_expected || (ending == ".gz" && !self.is_sealed(number)) {
                let what = match number < self.announced.0.len() {
                    true => "the registry does not have what it contains",
                    false => "no head announces it",
                };
                found.differs(&format!("{within}{file}"), None, what);
            }
        }
        Ok(())
    }
}

/// A writer that compares what is written with a file.
struct Expected {
    compared: Compared,
    failed: Option<Error>,
}

impl Write for Expected {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.compared.expect(bytes).map_err(|error| {
            self.failed = Some(error);
            io::Error::other("the file cannot be read")
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The pages, as they were published last.
#[cfg(feature = "serve")]
struct SiteFiles<'a> {
    registry: Registry,
    place: &'a Place,
    kept: Kept,
    written: Timestamp,
}

#[cfg(feature = "serve")]
impl<'a> SiteFiles<'a> {
    /// `None` means that no pages were published.
    fn kept(registry: &Registry, place: &'a Place) -> Result<Option<Self>> {
        let Some(kept) = Kept::read(&place.root)? else { return Ok(None) };
        let registry = registry.published(&[]);
        Ok(kept.written().map(|written| SiteFiles { registry, place, kept, written }))
    }

    /// Compares the page of a dataset or, under a former name, the page that leads to it.
    fn compare_page(
        &self,
        found: &mut Found,
        listed: &Listed,
        directory: &Directory,
    ) -> Result<()> {
        let (site, name) = (self.kept.site(2), &listed.dataset.name);
        if found.0.dataset.as_ref() != Some(name) {
            return compare_whole(found, directory, "", INDEX, &crate::pages::moved(&site, name));
        }
        for (file, text) in pages::dataset_files(&self.registry, name, &site, self.written)? {
            compare_whole(found, directory, "", file, &text)?;
        }
        Ok(())
    }

    /// Compares the files that belong to no dataset.
    fn compare_site(&self, found: &mut Found, datasets: &Directory) -> Result<()> {
        let published = pages::published(&self.registry, datasets)?;
        let site = self.kept.site(0);
        for (path, text) in pages::site_files(&self.registry, &site, published, self.written)? {
            match path.split_once('/') {
                None => compare_whole(found, &self.place.root, "", &path, &text)?,
                Some((within, name)) => match self.place.root.enter(within)? {
                    Some(directory) => {
                        compare_whole(found, &directory, &format!("{within}/"), name, &text)?;
                    }
                    None => found.differs(&path, None, "it is missing"),
                },
            }
        }
        Ok(())
    }
}

#[cfg(feature = "serve")]
fn compare_whole(
    found: &mut Found,
    directory: &Directory,
    within: &str,
    name: &str,
    text: &str,
) -> Result<()> {
    let mut compared = Compared::open(directory, name)?;
    compared.expect(text.as_bytes())?;
    found.end(within, compared, "something follows that is not published")
}

/// The expected content is given piece by piece. The first difference is kept.
struct Compared {
    name: String,
    path: PathBuf,
    file: Box<dyn BufRead>,
    line: u64,
    found: Option<Unlike>,
}

/// The difference of a file.
struct Unlike {
    /// The name of the file in its directory.
    pub name: String,
    /// The first line that differs, from 1. `None` means that it concerns the whole file.
    pub line: Option<u64>,
    /// What is wrong.
    pub text: &'static str,
}

impl Compared {
    /// Opens a file.
    pub fn open(directory: &Directory, name: &str) -> Result<Self> {
        let (name, path) = (name.to_owned(), directory.path_of(name));
        let (file, found): (Box<dyn BufRead>, _) = match directory.read(&name)? {
            Some(file) if name.ends_with(".gz") => {
                (Box::new(BufReader::new(MultiGzDecoder::new(BufReader::new(file)))), None)
            }
            Some(file) => (Box::new(BufReader::new(file)), None),
            None => {
                let text = "it is missing";
                (Box::new(io::empty()), Some(Unlike { name: name.clone(), line: None, text }))
            }
        };
        Ok(Compared { name, path, file, line: 1, found })
    }

    /// Compares the next part of the file.
    pub fn expect(&mut self, expected: &[u8]) -> Result<()> {
        if self.found.is_some() {
            return Ok(());
        }
        let mut found = Vec::new();
        let read = self.file.by_ref().take(expected.len() as u64).read_to_end(&mut found);
        if !self.is_readable(read)? || found == expected {
            self.line += lines(expected);
            return Ok(());
        }
        let same = found.iter().zip(expected).take_while(|(one, other)| one == other).count();
        self.line += lines(&expected[..same]);
        self.differs(match found.len() == same {
            true => "it is cut",
            false => "it is not as this registry publishes it",
        });
        Ok(())
    }

    /// Compares the end of the file: nothing may follow. `text` says what is wrong otherwise.
    pub fn end(mut self, text: &'static str) -> Result<Option<Unlike>> {
        if self.found.is_none() {
            let read = self.file.fill_buf().map(<[u8]>::len);
            let rest = *read.as_ref().unwrap_or(&0);
            if self.is_readable(read)? && rest > 0 {
                self.differs(text);
            }
        }
        Ok(self.found)
    }

    /// Whether it could be read: a compressed file that is damaged is a difference.
    fn is_readable(&mut self, read: io::Result<usize>) -> Result<bool> {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        match read {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof) => {
                self.differs("it cannot be decompressed");
                Ok(false)
            }
            Err(source) => Err(Error::cannot("read", &self.path, source)),
        }
    }

    fn differs(&mut self, text: &'static str) {
        // The lines of a compressed file are not what its reader sees.
        let line = (!self.name.ends_with(".gz")).then_some(self.line);
        self.found = Some(Unlike { name: self.name.clone(), line, text });
    }
}

fn lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}
