//! What a reader found beside the granules: what it skipped, what is suspicious, and what states whether the
//! file is complete.
//!
//! A reader decides nothing by it. [`Findings`] are those of all files of one listing, and they alone say which
//! of them refuse the listing, which are warnings, and what a result says.

use std::collections::BTreeMap;
use std::fmt;

use super::format::InputFormat;
use crate::error::{Error, ErrorKind};
use crate::model::{
    Algorithm, DatasetName, SourceLocation, Timestamp, Warning, WarningKind, plural, quoted,
};
use crate::registry::ListedDirectory;

/// A kind of suspicious input.
#[derive(Debug, PartialEq, Eq)]
pub struct FindingKind {
    /// Its code, which docs/reference/inputs.md lists.
    pub name: &'static str,
    /// The kind of the error by which the listing is refused.
    pub refused_as: ErrorKind,
    /// The heading of docs/reference/inputs.md that explains it.
    pub heading: &'static str,
    /// What is wrong with the example.
    pub what: &'static str,
    /// What to do about it.
    pub hint: &'static str,
}

/// Something suspicious, with the first example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: &'static FindingKind,
    /// Where it was read first.
    pub location: SourceLocation,
    /// What was read there, or what was counted. Empty means that the kind says it.
    pub example: Example,
    /// In how many lines.
    pub lines: u64,
}

/// The example of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Example {
    /// A text that was read, which messages quote.
    Text(String),
    /// The sentence.
    Sentence(String),
}

/// The greatest length of an example, in characters.
const MAX_EXAMPLE_CHARS: usize = 100;

impl Finding {
    /// Something that is said in a sentence.
    pub(super) fn new(
        kind: &'static FindingKind,
        location: SourceLocation,
        sentence: impl Into<String>,
    ) -> Self {
        Finding { kind, location, example: Example::Sentence(sentence.into()), lines: 1 }
    }

    /// The hint: what to do, and where it is explained.
    fn hint(&self) -> String {
        format!("{} (inputs.md, {})", self.kind.hint, self.kind.heading)
    }

    /// The error that refuses the listing.
    pub(super) fn error(&self) -> Error {
        Error::new(self.kind.refused_as, self.to_string())
            .with_hint(self.hint())
            .at(self.location.clone())
    }
}

/// The sentence, without the location.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.example {
            Example::Sentence(sentence) => f.write_str(sentence)?,
            Example::Text(text) => {
                let shown: String = text.chars().take(MAX_EXAMPLE_CHARS).collect();
                let cut = if shown.len() < text.len() { " …" } else { "" };
                write!(f, "{}{cut} {}", quoted(&shown), self.kind.what)?;
            }
        }
        match self.lines {
            0 | 1 => Ok(()),
            lines => write!(f, " ({lines} such lines)"),
        }
    }
}

/// What a reader left out, and counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skipped {
    /// A comment.
    Comment,
    /// A line before the header, which `--skip-lines` left out.
    Preamble,
    /// A row that repeats the header.
    Header,
    /// A directory.
    Directory,
    /// An empty object that stands for a directory.
    FolderMarker,
    /// A granule whose ingest is not completed.
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

/// What a file states of how much a search found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// How many granules the search found.
    pub hits: Option<u64>,
    /// How many granules are before those of the file. `None` means that it is not stated.
    pub start: Option<u64>,
    /// Whether the file refers to a next page.
    pub has_next_page: bool,
}

/// What one file has beside its granules.
#[derive(Debug, Default)]
pub struct FileFindings {
    /// What was skipped.
    pub(super) skipped: BTreeMap<Skipped, u64>,
    /// What is suspicious.
    pub(super) suspicious: Vec<Finding>,
    /// What it states of the search. `None` means that it is not the response of a catalogue.
    pub(super) totals: Option<Totals>,
    /// The number of elements of the response of a catalogue.
    pub(super) elements: u64,
    /// The format. `None` means that the records were not counted.
    pub(super) format: Option<InputFormat>,
    /// The number of ids.
    pub(super) ids: u64,
    /// The first and the last id.
    pub(super) ends: Option<(String, String)>,
    /// The algorithms that follow only from the length of checksums, each with the number of files.
    pub(super) guessed: BTreeMap<Algorithm, u64>,
    /// How many ETags are not the MD5 checksum of their object.
    pub(super) other_etags: u64,
    /// When the listing was made, if the file states it.
    pub(super) created: Option<Timestamp>,
    /// Whether it is a list of paths, some of which have directories.
    pub(super) has_nested_paths: bool,
    /// Whether its objects have ETags or none at all, and no checksums are read.
    pub(super) lacks_checksums: bool,
}

/// What is in the files of one listing beside the granules.
#[derive(Debug, Default)]
pub struct Findings {
    skipped: BTreeMap<Skipped, u64>,
    suspicious: Vec<Finding>,
    guessed: BTreeMap<Algorithm, u64>,
    other_etags: u64,
    created: Option<Timestamp>,
    has_nested_paths: bool,
    lacks_checksums: bool,
    pages: Pages,
    /// How many granules the caller says that there are.
    total: Option<u64>,
    entries: u64,
    read: Vec<FileRead>,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    /// What messages call it.
    pub name: String,
    /// Its format, or `directory`.
    pub format: String,
    /// How many granules it lists, repeated ones included.
    pub ids: u64,
    /// The first and the last id. `None` means that it lists none.
    pub ends: Option<(String, String)>,
}

/// How many files are named as read: others are counted.
const MAX_FILES_READ: usize = 20;

/// The pages of search results.
#[derive(Debug, Default)]
struct Pages {
    /// The greatest number of granules that a search found.
    found: u64,
    /// How many granules the searches found together of which the first page was read.
    begun: u64,
    contained: u64,
    /// The files that state no number, and their elements.
    silent: u64,
    /// How many of them have as many elements as a page, and the number of the last of them.
    full: u64,
    silent_elements: u64,
    /// How many pages refer to a next one.
    next_pages: u64,
    pages: u64,
    /// The first file.
    location: Option<SourceLocation>,
}

/// The sizes of pages that catalogues return unless another is requested.
const PAGE_SIZES: [u64; 7] = [10, 20, 50, 100, 1_000, 2_000, 10_000];

/// Pages of a search result are missing, or can be.
static INCOMPLETE: FindingKind = FindingKind {
    name: "incomplete",
    refused_as: ErrorKind::Incomplete,
    heading: "Incomplete search results",
    what: "is not the whole search result",
    hint: "name the files of all pages in one command",
};

/// A response has as many granules as a page, and states no total.
static POSSIBLE_PAGE: FindingKind = FindingKind {
    name: "possible-page",
    refused_as: ErrorKind::Incomplete,
    heading: "Incomplete search results",
    what: "may be one page of a search result",
    hint: "--total N states how many granules the search found; CMR sends the number in the header CMR-Hits",
};

impl Findings {
    /// Creates the findings of a listing of which a caller may know how many granules it has.
    pub fn new(total: impl Into<Option<u64>>) -> Self {
        Findings { total: total.into(), ..Findings::default() }
    }

    /// Adds what a file has beside its granules, all of which are read. Messages call it `name`.
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

    /// When the listing was made: the latest time that a file states. `None` means that none does.
    pub fn created(&self) -> Option<Timestamp> {
        self.created
    }

    /// Adds a file or directory that was read.
    pub fn add_read(&mut self, read: FileRead) {
        if self.read.len() < MAX_FILES_READ {
            self.read.push(read);
        }
    }

    /// Whether it is a list of paths, some of which have directories.
    pub fn has_nested_paths(&self) -> bool {
        self.has_nested_paths
    }

    /// Whether the objects of a bucket are listed without checksums and ETags, so that other contents are not
    /// noticed.
    pub fn lacks_checksums(&self) -> bool {
        self.lacks_checksums
    }

    /// The refusal of a list of paths that has a directory beside what is in it.
    pub fn directory(listed: &ListedDirectory) -> Error {
        let ListedDirectory { directory, location, below, .. } = listed;
        let message = format!(
            "{} is a directory of {}, which is listed, too",
            quoted(directory.as_str()),
            quoted(below.as_str())
        );
        Error::new(ErrorKind::NotAList, message).at(location.clone()).with_hint(
            "`find DIR -type f` lists files without directories (inputs.md, Directories)",
        )
    }

    /// The refusal of checksums of which only the length says what the algorithm is, in a dataset that has none of
    /// this algorithm.
    pub fn guessed(algorithm: &Algorithm, files: u64, dataset: &DatasetName) -> Error {
        let checksums = plural(files, "checksum");
        let message = format!(
            "only the length of {checksums} says that the algorithm is {algorithm}, and {dataset} has no checksum of it"
        );
        let hint = format!(
            "--algorithm {algorithm} says so; `b3sum`, `sha3sum` and `xxh128sum` print checksums of the same lengths (inputs.md, Algorithms)"
        );
        Error::new(ErrorKind::Input, message).with_hint(hint)
    }

    /// The refusal of two paths that give one id.
    pub fn same_id(id: &str, paths: [&str; 2], location: Option<SourceLocation>) -> Error {
        let [one, other] = paths.map(|path| quoted(path).to_string());
        let message = format!("{one} and {other} both give the id {}", quoted(id));
        Error::new(ErrorKind::NotAList, message)
            .at(location)
            .with_hint("--granule path keeps the whole path (inputs.md, Paths that give one id)")
    }

    /// The files that were read, at most 20.
    pub fn read(&self) -> &[FileRead] {
        &self.read
    }

    /// The algorithms that follow only from the length of checksums, each with the number of files.
    pub fn guessed_algorithms(&self) -> impl Iterator<Item = (&Algorithm, u64)> {
        self.guessed.iter().map(|(algorithm, files)| (algorithm, *files))
    }

    /// The reason to refuse the listing, if it does not look like what it is read as, or is incomplete. `None`
    /// means that nothing is suspicious.
    pub fn refusal(&self) -> Option<Error> {
        let suspicious = self.suspicious.first().map(Finding::error);
        suspicious.or_else(|| self.incomplete().map(|finding| finding.error()))
    }

    /// The reason to refuse the listing, without what concerns completeness.
    pub fn not_a_list(&self) -> Option<Error> {
        self.suspicious.first().map(Finding::error)
    }

    /// What is missing, in words. `None` means that nothing is known to be missing.
    pub fn missing(&self) -> Option<String> {
        self.incomplete().map(|finding| finding.to_string())
    }

    fn incomplete(&self) -> Option<Finding> {
        let location = self.pages.location.clone();
        let begin = || {
            let source = self.read.first().map_or("", |read| &read.name);
            SourceLocation::Line { source: source.into(), line: 1 }
        };
        let incomplete = |kind, sentence: String| {
            Some(Finding::new(kind, location.clone().unwrap_or_else(begin), sentence))
        };
        if let Some(total) = self.total {
            let entries = self.entries;
            if total != entries {
                return incomplete(
                    &INCOMPLETE,
                    format!(
                        "--total states {}, and the listing has {entries}",
                        plural(total, "granule")
                    ),
                );
            }
        }
        let Pages {
            found, begun, contained, silent, full, silent_elements, next_pages, pages, ..
        } = self.pages;
        let found = found.max(begun);
        let is_stated = self.total.is_some();
        if found > contained && !is_stated {
            return incomplete(
                &INCOMPLETE,
                format!(
                    "the search found {found} granules, but the files contain only {contained} of them: other pages are missing"
                ),
            );
        }
        // The last page of a search has no next one, so one page less than all refers to a next one.
        if next_pages > 0 && next_pages == pages && !is_stated {
            let sentence = "the search result names a next page, which is missing".to_owned();
            return incomplete(&INCOMPLETE, sentence);
        }
        // The last page is mostly not full.
        if full > 0 && full == silent && silent == pages && !is_stated {
            return incomplete(
                &POSSIBLE_PAGE,
                format!(
                    "the response has exactly {silent_elements} granules, which is the size of a page, and does not state how many the search found"
                ),
            );
        }
        None
    }

    /// The warnings: what was skipped, in one sentence.
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

impl Pages {
    fn add(&mut self, name: &str, totals: Totals, elements: u64) {
        let Totals { hits, start, has_next_page } = totals;
        if self.location.is_none() {
            self.location = Some(SourceLocation::Line { source: name.into(), line: 1 });
        }
        match hits {
            Some(hits) => {
                self.found = self.found.max(hits);
                self.begun += if start == Some(0) { hits } else { 0 };
                self.contained += elements;
            }
            None if !has_next_page => {
                self.silent += 1;
                if PAGE_SIZES.contains(&elements) {
                    self.full += 1;
                    self.silent_elements = elements;
                }
            }
            None => {}
        }
        self.pages += 1;
        self.next_pages += u64::from(has_next_page);
    }
}
