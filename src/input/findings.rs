//! The findings of a reader besides the granules: skipped lines, suspicious content, and signs of an incomplete
//! file.
//!
//! A reader only reports them. [`Findings`] collects those of all files of one listing, and decides which of
//! them reject the listing, which are warnings, and what a result reports.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::format::InputFormat;
use super::pages::{INCOMPLETE, Pages, Totals};
use super::watched::Watched;
use crate::error::{Error, ErrorKind};
use crate::model::{
    Algorithm, DatasetName, SourceLocation, Timestamp, Warning, WarningKind, plural, quoted,
};

/// A kind of content that a reader skips and counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skipped {
    /// A comment.
    Comment,
    /// A line before the header, skipped by `--skip-lines`.
    Preamble,
    /// A row that repeats the header.
    Header,
    /// A directory.
    Directory,
    /// An empty object that stands for a directory.
    FolderMarker,
    /// A granule whose ingest is not complete.
    NotCompleted,
    /// A row that `--only` does not select.
    NotSelected,
}

impl Skipped {
    fn counted(self, count: u64) -> String {
        match self {
            Skipped::Comment => plural(count, "comment"),
            Skipped::Preamble => plural(count, "line before the header"),
            Skipped::Header => format!("{} of the header", plural(count, "repetition")),
            Skipped::Directory if count == 1 => "1 directory".to_owned(),
            Skipped::Directory => format!("{count} directories"),
            Skipped::FolderMarker => plural(count, "empty folder object"),
            Skipped::NotCompleted => format!("{} that are not completed", plural(count, "granule")),
            Skipped::NotSelected => format!("{} that --only does not select", plural(count, "row")),
        }
    }
}

/// The findings of one file.
#[derive(Debug, Default)]
pub struct FileFindings {
    /// The numbers of skipped lines, rows or elements.
    pub(super) skipped: BTreeMap<Skipped, u64>,
    /// The suspicious content.
    pub(super) suspicious: Vec<Finding>,
    /// The unread columns and fields that may mark granules that should not be read.
    pub(super) watched: Vec<Watched>,
    /// The size of the search result, as the file states it. `None` means that the file is not the response of
    /// a catalogue.
    pub(super) totals: Option<Totals>,
    /// The number of elements in the response of a catalogue.
    pub(super) elements: u64,
    /// The format. `None` means that the records were not counted.
    pub(super) format: Option<InputFormat>,
    /// The number of ids.
    pub(super) ids: u64,
    /// The first and the last id.
    pub(super) ends: Option<(String, String)>,
    /// The algorithms that were guessed from the lengths of checksums, each with the number of files.
    pub(super) guessed: BTreeMap<Algorithm, u64>,
    /// The number of ETags that are not the MD5 checksum of their object.
    pub(super) other_etags: u64,
    /// The time when the listing was made, if the file states it.
    pub(super) created: Option<Timestamp>,
    /// Whether the file is a list of paths, some of which contain directories.
    pub(super) has_nested_paths: bool,
    /// Whether the file lists objects of a bucket without checksums, and its ETags, if any, are not read.
    pub(super) lacks_checksums: bool,
}

/// The findings of all files of one listing.
#[derive(Debug, Default)]
pub struct Findings {
    skipped: BTreeMap<Skipped, u64>,
    suspicious: Vec<Finding>,
    /// The values of all files are counted together, because each file may have only one status.
    watched: Vec<Watched>,
    guessed: BTreeMap<Algorithm, u64>,
    other_etags: u64,
    created: Option<Timestamp>,
    has_nested_paths: bool,
    lacks_checksums: bool,
    pages: Pages,
    /// The number of granules in the listing, if the caller knows it.
    total: Option<u64>,
    entries: u64,
    read: Vec<FileRead>,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    /// The name of the file in messages.
    pub name: String,
    /// Its format, or `directory`.
    pub format: String,
    /// The number of granules that it lists, including repeated ones.
    pub ids: u64,
    /// The first and the last id. `None` means that it lists none.
    pub ends: Option<(String, String)>,
}

/// The greatest number of files that are named as read. Further ones are left out.
const MAX_FILES_READ: usize = 20;

impl Findings {
    /// Creates the findings of a listing. `total` is the number of its granules, if the caller knows it.
    pub fn new(total: impl Into<Option<u64>>) -> Self {
        Findings { total: total.into(), ..Findings::default() }
    }

    /// Adds the findings of a file. All of its granules must have been read. Messages call it `name`.
    pub(super) fn add(&mut self, name: &str, file: FileFindings) {
        for (kind, count) in file.skipped {
            *self.skipped.entry(kind).or_default() += count;
        }
        for finding in file.suspicious {
            match self.suspicious.iter_mut().find(|known| known.kind == finding.kind) {
                Some(known) => known.lines += finding.lines,
                None => self.suspicious.push(finding),
            }
        }
        for watched in file.watched {
            match self.watched.iter_mut().find(|known| known.is_same(&watched)) {
                Some(known) => known.add_file(&watched),
                None => self.watched.push(watched),
            }
        }
        for (algorithm, files) in file.guessed {
            *self.guessed.entry(algorithm).or_default() += files;
        }
        self.other_etags += file.other_etags;
        self.created = self.created.max(file.created);
        self.has_nested_paths |= file.has_nested_paths;
        self.lacks_checksums |= file.lacks_checksums;
        self.entries += file.ids;
        if let Some(totals) = file.totals {
            self.pages.add(name, totals, file.elements);
        }
        if let Some(format) = file.format {
            let (name, format) = (name.to_owned(), format.to_string());
            self.add_read(FileRead { name, format, ids: file.ids, ends: file.ends });
        }
    }

    /// Adds the guessed algorithms and missing checksums of another listing, which is complete in itself.
    pub fn add_contents(&mut self, other: &Findings) {
        for (algorithm, files) in &other.guessed {
            *self.guessed.entry(algorithm.clone()).or_default() += files;
        }
        self.lacks_checksums |= other.lacks_checksums;
    }

    /// The time when the listing was made: the latest time that a file states. `None` means that no file states
    /// one.
    pub fn created(&self) -> Option<Timestamp> {
        self.created
    }

    /// Adds a file or directory that was read.
    pub fn add_read(&mut self, read: FileRead) {
        if self.read.len() < MAX_FILES_READ {
            self.read.push(read);
        }
    }

    /// Whether the listing contains paths, some of which contain directories.
    pub fn has_nested_paths(&self) -> bool {
        self.has_nested_paths
    }

    /// Whether the objects of a bucket are listed without checksums and ETags, so that changed contents remain
    /// unnoticed.
    pub fn lacks_checksums(&self) -> bool {
        self.lacks_checksums
    }

    /// The error for checksums whose algorithm was guessed from their length, if the dataset has no checksums
    /// of this algorithm. `command` is the same command with `--algorithm`.
    pub fn guessed(
        algorithm: &Algorithm,
        files: u64,
        dataset: &DatasetName,
        command: &str,
    ) -> Error {
        let checksums = plural(files, "checksum");
        let message = format!(
            "only the length of {checksums} says that the algorithm is {algorithm}, and {dataset} has no checksum of it"
        );
        let hint = format!(
            "if they are, `{command}`; `b3sum`, `sha3sum` and `xxh128sum` print checksums of the same lengths (inputs.md, Algorithms)"
        );
        Error::new(ErrorKind::Input, message).with_hint(hint)
    }

    /// The error for two paths with the same id.
    pub fn same_id(id: &str, paths: [&str; 2], location: Option<SourceLocation>) -> Error {
        let [one, other] = paths.map(|path| quoted(path).to_string());
        let message = format!("{one} and {other} both give the id {}", quoted(id));
        Error::new(ErrorKind::NotAList, message)
            .at(location)
            .with_hint("--granule path keeps the whole path (inputs.md, Paths that give one id)")
    }

    /// The error for a path whose id begins or ends with a blank.
    pub fn edge_blank(path: &str, id: &str, location: Option<SourceLocation>) -> Error {
        let message = format!(
            "{} gives the id {}, which begins or ends with a blank",
            quoted(path),
            quoted(id)
        );
        Error::new(ErrorKind::NotAList, message)
            .at(location)
            .with_hint("rename the file, or leave it out of the list (inputs.md, Ids with blanks)")
    }

    /// The files that were read, at most 20.
    pub fn read(&self) -> &[FileRead] {
        &self.read
    }

    /// The algorithms that were guessed from the lengths of checksums, each with the number of files.
    pub fn guessed_algorithms(&self) -> impl Iterator<Item = (&Algorithm, u64)> {
        self.guessed.iter().map(|(algorithm, files)| (algorithm, *files))
    }

    /// The reason to reject the listing: it does not look like a list of its format, or it is incomplete.
    /// `None` means that nothing is suspicious.
    pub fn refusal(&self) -> Option<Error> {
        self.not_a_list().or_else(|| self.incomplete().map(|finding| finding.error()))
    }

    /// The reason to reject the listing, except that it is incomplete.
    pub fn not_a_list(&self) -> Option<Error> {
        let suspicious = self.suspicious.first().map(Finding::error);
        suspicious.or_else(|| self.watched.iter().find_map(Watched::finding).map(|it| it.error()))
    }

    /// Describes the missing part. `None` means that nothing is known to be missing.
    pub fn missing(&self) -> Option<String> {
        self.incomplete().map(|finding| finding.to_string())
    }

    fn incomplete(&self) -> Option<Finding> {
        let (kind, sentence) = match self.total {
            Some(total) if total == self.entries => return None,
            Some(total) => {
                let (total, entries) = (plural(total, "granule"), self.entries);
                let sentence = format!("--total states {total}, and the listing has {entries}");
                (&INCOMPLETE, sentence)
            }
            None => self.pages.missing()?,
        };
        let begin = || {
            let source = self.read.first().map_or("", |read| &read.name);
            SourceLocation::Line { source: source.into(), line: 1 }
        };
        let location = self.pages.location.clone().unwrap_or_else(begin);
        Some(Finding::new(kind, location, sentence))
    }

    /// The warnings. One of them lists everything that was skipped.
    pub fn warnings(&self, name: &str) -> Vec<Warning> {
        let counts: Vec<String> = self
            .skipped
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(kind, count)| kind.counted(*count))
            .collect();
        let mut warnings = Vec::new();
        if !counts.is_empty() {
            let message = format!("{name}: skipped {}", counts.join(", "));
            warnings.push(Warning::new(WarningKind::Skipped, message));
        }
        if self.other_etags > 0 {
            let message = format!(
                "{name}: {} of {} are recorded as s3-etag, because they are not MD5 checksums",
                self.other_etags,
                plural(self.entries, "ETag")
            );
            warnings.push(Warning::new(WarningKind::NoChecksum, message));
        }
        warnings
    }
}
