//! The files that a command names: lists of granules, histories, payment ids, and citations.

use std::cell::RefCell;
use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use accession::ListingOptions;
use accession::citation::Reference;
use accession::citation::record;
use accession::dataset::DatasetMetadata;
use accession::listing::{
    self, DirectoryListing, FileRead, Findings, InputFormat, ListedDirectory, ListedRecords,
    OpenedFile, Record, Records,
};
use accession::mirror::Primary;
use accession::mirror::PrimaryOptions;
use accession::proof::Policy;
use accession::text::quoted;
use accession::{
    DatasetName, ErrorDetail, ErrorKind, GranuleId, Import, Listing, ListingBuilder, ListingEntry,
    SourceLocation,
};
use accession::{ParseError, Timestamp, Warning, WarningKind};

use super::error::{Context, Error, Result};
use super::listing_guard::ListingGuard;
use super::output::{Progress, plural};
use super::paths::PathArgs;
use super::session::Session;

/// An input file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputFile {
    /// Standard input, which is named `-`.
    StandardInput,
    /// A file by its path.
    Path(PathBuf),
}

impl From<OsString> for InputFile {
    fn from(argument: OsString) -> Self {
        if argument == "-" { InputFile::StandardInput } else { InputFile::Path(argument.into()) }
    }
}

impl InputFile {
    /// The path. `None` means standard input.
    pub fn path(&self) -> Option<&Path> {
        match self {
            InputFile::StandardInput => None,
            InputFile::Path(path) => Some(path),
        }
    }

    /// Whether it is a directory, whose files are listed.
    pub fn is_directory(&self) -> bool {
        self.path().is_some_and(Path::is_dir)
    }

    /// The name of the file in messages.
    pub fn name(&self) -> String {
        match self {
            InputFile::StandardInput => "standard input".to_owned(),
            InputFile::Path(path) => path.to_string_lossy().into_owned(),
        }
    }
}

/// Citations to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CitationText {
    /// Standard input, which is named `-`.
    StandardInput,
    /// The citations themselves.
    Text(String),
}

impl FromStr for CitationText {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "-" => CitationText::StandardInput,
            text => CitationText::Text(text.to_owned()),
        })
    }
}

/// Opens a file to read it once, and returns it with the name that messages use.
pub fn open(file: &InputFile) -> Result<(Box<dyn Read + Send>, String)> {
    let name = file.name();
    let Some(path) = file.path() else { return Ok((Box::new(io::stdin()), name)) };
    if path.is_dir() {
        let message = format!("{} is a directory, not a file", quoted(&name));
        return Err(Error::new(ErrorKind::Io, message).with_hint("name a file in it"));
    }
    let opened = File::open(path).with_context(|| format!("cannot read {}", quoted(&name)))?;
    Ok((Box::new(opened), name))
}

/// The granules of arguments and then of listings, in their order. A listing is a file, or a directory, whose
/// files are granules. Granules that a file marks as deleted or replaced are skipped. After each listing its
/// warnings are printed.
pub struct Entries<'a> {
    session: &'a Session,
    ids: std::iter::Enumerate<std::slice::Iter<'a, String>>,
    files: std::slice::Iter<'a, InputFile>,
    options: ListingOptions,
    paths: &'a PathArgs,
    missing: MissingPages<'a>,
    open: Option<OpenListing>,
    findings: Findings,
    /// The paths of which a part is the id, by the hash of the id.
    listed_paths: Option<ListingBuilder>,
    /// Whether what is listed becomes part of a dataset: then the registry itself is refused.
    is_recorded: bool,
    /// Where warnings are kept, in the place of printing them.
    warnings: Option<&'a RefCell<Vec<Warning>>>,
    /// How many entries were read.
    read: u64,
}

/// How many entries are read before it is checked whether that is cancelled.
const CHECKED_ROWS: u64 = 4_096;

/// The listing that is being read.
enum OpenListing {
    File {
        file: InputFile,
        records: Box<ListedRecords>,
        progress: Progress,
    },
    Directory {
        file: InputFile,
        files: Box<DirectoryListing>,
        progress: Progress,
        ids: u64,
        /// The first and the last id.
        ends: Option<(String, String)>,
    },
}

impl<'a> Entries<'a> {
    /// The granules with these ids, and those of the files.
    pub fn new(
        session: &'a Session,
        ids: &'a [String],
        files: &'a [InputFile],
        options: ListingOptions,
        paths: &'a PathArgs,
        missing: MissingPages<'a>,
    ) -> Self {
        let findings = Findings::new(options.stated_total());
        let (ids, files) = (ids.iter().enumerate(), files.iter());
        let (open, is_recorded, warnings) = (None, false, None);
        let listed_paths = paths.changes_ids().then(ListingBuilder::new);
        Entries {
            session,
            ids,
            files,
            options,
            paths,
            missing,
            open,
            findings,
            listed_paths,
            is_recorded,
            warnings,
            read: 0,
        }
    }

    /// The granules of one listing, whose format is detected.
    pub fn of_file(session: &'a Session, file: &'a InputFile, paths: &'a PathArgs) -> Self {
        let files = std::slice::from_ref(file);
        let options = ListingOptions::new().without_files(true);
        Entries::new(session, &[], files, options, paths, MissingPages::Warn)
    }

    /// The same granules, which are to be deleted.
    pub fn of_deletion(mut self) -> Self {
        self.options = self.options.of_deletion(true);
        self
    }

    /// The same granules, whose number the caller does not state.
    pub fn without_total(mut self) -> Self {
        self.findings = Findings::new(None);
        self
    }

    /// The same granules, which become part of a dataset.
    pub fn recorded(mut self) -> Self {
        self.is_recorded = true;
        self
    }

    /// The same granules, whose warnings are kept in the place of printing them.
    pub fn keeping(mut self, warnings: &'a RefCell<Vec<Warning>>) -> Self {
        self.warnings = Some(warnings);
        self
    }

    fn entry(&mut self) -> Result<Option<ListingEntry>> {
        self.read += 1;
        if self.read.is_multiple_of(CHECKED_ROWS) {
            self.session.check_cancelled()?;
        }
        if let Some((index, text)) = self.ids.next() {
            let location = SourceLocation::Argument { number: index as u64 + 1 };
            let granule_id = GranuleId::new(text.as_str()).map_err(|cause| {
                Error::usage(format!("{location}: {} is refused: {cause}", quoted(text)))
            })?;
            let granule_id = self.id_of(&granule_id, Some(&location))?;
            let location = Some(location);
            return Ok(Some(ListingEntry { location, ..ListingEntry::from(granule_id) }));
        }
        loop {
            match &mut self.open {
                Some(OpenListing::File { file, records, progress }) => {
                    let record = records.next().transpose();
                    if let Some(record) = record.map_err(|error| with_hint_of_data(error, file))? {
                        progress.advance_row();
                        let is_path = records.records().format().lists_paths();
                        let granule_id = self.id_of(&record.granule_id, Some(&record.location))?;
                        if let Some(listed_paths) = &mut self.listed_paths
                            && is_path
                        {
                            add_path(listed_paths, &granule_id, &record)?;
                        }
                        return Ok(Some(Record { granule_id, ..record }.into_entry()?));
                    }
                }
                Some(OpenListing::Directory { files, progress, ids, ends, .. }) => {
                    if let Some(file) = files.next().transpose()? {
                        progress.advance_row();
                        *ids += 1;
                        let (_, last) =
                            ends.get_or_insert_with(|| (file.path.to_string(), String::new()));
                        file.path.as_str().clone_into(last);
                        let granule_id = self.id_of(&file.path, None)?;
                        return Ok(Some(file.into_entry(granule_id)?));
                    }
                }
                None => {}
            }
            self.end_listing();
            let Some(file) = self.files.next() else { return Ok(None) };
            self.open = Some(match file.path().filter(|path| path.is_dir()) {
                Some(directory) => self.open_directory(file, directory)?,
                None => self.open_file(file)?,
            });
        }
    }

    fn open_file(&self, file: &InputFile) -> Result<OpenListing> {
        let (reader, name) = open(file)?;
        let progress = Progress::new();
        progress.begin("reading", "granules", None);
        let directory = file.path().and_then(Path::parent).map(Path::to_owned);
        let options = self.options.clone().directory(directory).checksums(None);
        let records = Records::open(reader, &name, &options)?.listed();
        Ok(OpenListing::File { file: file.clone(), records: Box::new(records), progress })
    }

    fn open_directory(&self, file: &InputFile, directory: &Path) -> Result<OpenListing> {
        let progress = Progress::new();
        progress.begin("reading", "granules", None);
        // If the files are hashed, the progress is that of their bytes.
        let options = self.options.clone().registry(self.session.location());
        let files = DirectoryListing::open(directory, &options, &self.session.watcher());
        let files = files.map_err(|error| match error.kind() {
            ErrorKind::NotMounted => Error::from(error).with_hint("mount its file system"),
            _ => error.into(),
        })?;
        if files.is_hashing() {
            progress.end();
        }
        let (file, files) = (file.clone(), Box::new(files));
        Ok(OpenListing::Directory { file, files, progress, ids: 0, ends: None })
    }

    /// The id that a listed id or path contains. `None`: it is a path of a directory.
    fn id_of(&self, listed: &GranuleId, location: Option<&SourceLocation>) -> Result<GranuleId> {
        // A directory leaves out the files of the registry.
        if let Some(location) = location
            && self.is_recorded
            && self.session.is_own_file(listed.as_str())
        {
            let message = format!("{} is a file of the registry itself", quoted(listed.as_str()));
            return Err(Error::input(message, location.clone()).with_hint(
                "nothing was changed; leave it out of the list, or keep the registry in another directory",
            ));
        }
        match self.paths.id_of(listed.as_str()) {
            id if id == listed.as_str() => Ok(listed.clone()),
            id => GranuleId::new(id).map_err(|cause| {
                let listed_text = listed.as_str();
                let listed = quoted(listed_text);
                let message = format!("{listed} does not contain an id: {cause}");
                let error = match location {
                    Some(location) => Error::input(message, location.clone()),
                    None => Error::new(ErrorKind::Input, message),
                };
                error.with_hint(match id.is_empty() {
                    true if listed_text.ends_with('/') => {
                        "what ends in / is a directory: leave it out of the list, as `grep -v '/$'` does"
                    }
                    _ => "leave the line out of the list, or make the id of another part of it",
                })
            }),
        }
    }

    fn end_listing(&mut self) {
        let (warnings, progress) = match self.open.take() {
            Some(OpenListing::File { file, records, progress }) => {
                records.records().add_to(&mut self.findings, &file.name());
                (records.warnings(&file.name()), progress)
            }
            Some(OpenListing::Directory { file, files, progress, ids, ends }) => {
                let (name, format) = (file.name(), "directory".to_owned());
                self.findings.add_read(FileRead { name, format, ids, ends });
                (files.warnings(), progress)
            }
            None => return,
        };
        progress.end();
        self.warn(warnings);
    }

    fn warn(&self, warnings: Vec<Warning>) {
        match self.warnings {
            Some(kept) => kept.borrow_mut().extend(warnings),
            None => self.session.warn_all(warnings),
        }
    }

    /// Reads all granules, and returns what is in the listings beside them.
    ///
    /// # Errors
    ///
    /// A listing cannot be read, or `add` fails.
    pub fn read(
        mut self,
        mut add: impl FnMut(ListingEntry) -> Result<()>,
    ) -> Result<ReadListings<'a>> {
        while let Some(entry) = self.entry()? {
            add(entry)?;
        }
        let name = match self.findings.read() {
            [one] => one.name.clone(),
            files => plural(files.len() as u64, "listing"),
        };
        self.warn(self.findings.warnings(&name));
        if let Some(listed_paths) = self.listed_paths.take() {
            refuse_same_id(&listed_paths.finish())?;
        }
        let refusal = match self.missing {
            MissingPages::Refuse | MissingPages::Guard(_) => self.findings.refusal(),
            MissingPages::Warn | MissingPages::WarnAndGuard(_) => {
                if let Some(what) = self.findings.missing() {
                    self.session.warn(WarningKind::Incomplete, &what);
                }
                self.findings.not_a_list()
            }
        };
        Ok(ReadListings { findings: self.findings, refusal, guard: self.missing.guard() })
    }
}

/// What a set of listings is used for, which decides what refuses them.
pub struct Recording<'a> {
    /// The session.
    pub session: &'a Session,
    /// The dataset in which they are recorded.
    pub dataset: &'a DatasetName,
}

/// Listings that were read whole.
#[must_use = "what they look like can be a reason to refuse them"]
pub struct ReadListings<'a> {
    findings: Findings,
    refusal: Option<accession::Error>,
    guard: Option<&'a ListingGuard>,
}

impl ReadListings<'_> {
    /// What is in the listings beside the granules, unless they are refused by it. If they have a guard, it
    /// refuses the change of them in place of that.
    ///
    /// # Errors
    ///
    /// They do not look like lists of granules, or are incomplete.
    pub fn accepted(mut self) -> Result<Findings> {
        let refusal = self.refusal.take();
        self.check(refusal)?;
        Ok(self.findings)
    }

    /// What is in listings that become part of a dataset, unless they are refused by it. `directory` finds a
    /// listed id that is a directory of another.
    ///
    /// # Errors
    ///
    /// Those of [`ReadListings::accepted`]; a list of paths has a directory; checksums do not say their algorithm,
    /// and the dataset has none of the one that their length says.
    pub fn accepted_for(
        mut self,
        Recording { session, dataset }: Recording<'_>,
        directory: impl FnOnce() -> accession::Result<Option<ListedDirectory>>,
    ) -> Result<Findings> {
        let refusal = self.refusal.take();
        self.check(refusal)?;
        if self.findings.has_nested_paths()
            && let Some(listed) = directory()?
        {
            self.check(Some(Findings::directory(&listed)))?;
        }
        for (algorithm, files) in self.findings.guessed_algorithms() {
            let registry = session.open_existing()?;
            let known = match &registry {
                Some(registry) => registry.snapshot()?.has_algorithm(dataset, algorithm)?,
                None => false,
            };
            if !known {
                self.check(Some(Findings::guessed(algorithm, files, dataset)))?;
            }
        }
        Ok(self.findings)
    }

    fn check(&self, refusal: Option<accession::Error>) -> Result<()> {
        match (refusal, self.guard) {
            (None, _) => Ok(()),
            (Some(refusal), Some(guard)) => {
                guard.refuse(refusal);
                Ok(())
            }
            (Some(refusal), None) => Err(refusal.into()),
        }
    }
}

/// Adds the path of which a part is the id of a granule, so that another path with this part is found.
fn add_path(paths: &mut ListingBuilder, granule_id: &GranuleId, record: &Record) -> Result<()> {
    let hash = |text: &str| {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        hasher.finish()
    };
    let listed = record.granule_id.as_str();
    let listed = listed.strip_prefix("./").unwrap_or(listed);
    let name = listed.rsplit('/').next().unwrap_or_default();
    // Sorted, the paths that give one id and have one name are next to each other. Files of different names with
    // one stem are those of one granule.
    let key = format!("{:016x}{:016x}{:016x}", hash(granule_id.as_str()), hash(name), hash(listed));
    paths.add(ListingEntry {
        granule_id: GranuleId::new(key)?,
        producer_granule: Some(record.granule_id.clone()),
        content: None,
        location: Some(record.location.clone()),
    })?;
    Ok(())
}

/// Refuses two paths that give one id.
fn refuse_same_id(paths: &Listing) -> Result<()> {
    let mut before: Option<ListingEntry> = None;
    for entry in paths.entries()? {
        let entry = entry?;
        if let Some(before) = &before
            && before.granule_id != entry.granule_id
            && before.granule_id.as_str()[..32] == entry.granule_id.as_str()[..32]
        {
            let path = |entry: &ListingEntry| {
                entry.producer_granule.as_ref().map_or(String::new(), ToString::to_string)
            };
            let (one, other) = (path(before), path(&entry));
            let id = one.rsplit('/').next().unwrap_or_default();
            return Err(Findings::same_id(id, [&one, &other], entry.location.clone()).into());
        }
        before = Some(entry);
    }
    Ok(())
}

/// The bytes at the beginning of a file that show whether it is text.
const SHOWN_BYTES: u64 = 8 * 1_024;

/// The error of a file; of one that has data in the place of ids, with a hint of what to name instead.
fn with_hint_of_data(error: accession::Error, file: &InputFile) -> Error {
    let is_binary = |path: &Path| {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(SHOWN_BYTES).read_to_end(&mut bytes));
        read.is_ok() && bytes.contains(&0)
    };
    match file.path().filter(|path| path.is_file()) {
        Some(path) if error.detail() == Some(ErrorDetail::NotAGranuleId) && is_binary(path) => {
            Error::from(error)
                .with_hint("a listing is text; to list files of data, name their directory")
        }
        _ => error.into(),
    }
}

/// Warns of granules that a list has more than once.
pub fn warn_of_repeated(session: &Session, repeated: u64) {
    if repeated > 0 {
        let skipped = plural(repeated, "granule");
        session.warn(WarningKind::Skipped, &format!("skipped {skipped}: {repeated} repeated"));
    }
}

/// Reads the events of a file, or of what a directory publishes of the dataset, into an import.
pub fn import_events(
    dataset: &DatasetName,
    file: &InputFile,
    options: &ListingOptions,
    missing: MissingPages<'_>,
    session: &Session,
    import: &mut Import,
) -> Result<()> {
    let progress = Progress::new();
    progress.begin("reading", "granules", None);
    let now = session.now()?;
    let published = file.path().map(|path| Primary::of_directory(path, dataset, now));
    if let Some(published) = published.transpose()?.flatten() {
        options.check_log().with_context(|| file.name())?;
        return import_log(&published, dataset, (import, now), &progress);
    }
    let (reader, name) = open(file)?;
    let file = OpenedFile::open(reader, &name)?;
    if file.format(options)? == InputFormat::Manifest {
        options.check_log().with_context(|| name.clone())?;
        let manifest = Primary::from_reader(file.unzipped()?, &name, PrimaryOptions::default())?;
        return import_log(&manifest, dataset, (import, now), &progress);
    }
    let mut events = file.events(options)?;
    for event in events.by_ref() {
        import.add(event?)?;
        progress.advance_row();
    }
    progress.end();
    session.warn_all(events.records().warnings());
    let mut findings = Findings::new(options.stated_total());
    events.records().add_to(&mut findings, &name);
    session.warn_all(findings.warnings(&name));
    import.left_out = events.left_out();
    import.until = events.left_out_since();
    let refusal = findings.refusal();
    ReadListings { findings, refusal, guard: missing.guard() }.accepted().map(|_| ())
}

fn import_log(
    log: &Primary,
    dataset: &DatasetName,
    (import, now): (&mut Import, Timestamp),
    progress: &Progress,
) -> Result<()> {
    log.read_into(dataset, import, now, |events| {
        progress.advance(events);
    })?;
    Ok(())
}

/// What to do with a search result of which pages are missing.
#[derive(Debug, Clone, Copy)]
pub enum MissingPages<'a> {
    /// Refuse it, since one page is easily mistaken for the whole dataset.
    Refuse,
    /// Refuse the change of it, unless its result is expected.
    Guard(&'a ListingGuard),
    /// Accept it, with a warning.
    Warn,
    /// The same, but refuse the change of what does not look like a list, unless its result is expected.
    WarnAndGuard(&'a ListingGuard),
}

impl<'a> MissingPages<'a> {
    /// What refuses the change of the listings.
    fn guard(self) -> Option<&'a ListingGuard> {
        match self {
            MissingPages::Guard(guard) | MissingPages::WarnAndGuard(guard) => Some(guard),
            MissingPages::Refuse | MissingPages::Warn => None,
        }
    }
}

/// A limit for citations and lists of references.
const MAX_TEXT_BYTES: u64 = 64 * 1_024 * 1_024;

/// Reads the references of a file: BibTeX, RIS, CSL-JSON, or text.
///
/// # Errors
///
/// The file cannot be read or is too long, or contains no reference of the kind that the extension of its
/// name says.
pub fn read_references(file: &InputFile) -> Result<Vec<Reference>> {
    let text = read_citations(file)?;
    let references = Reference::find_all(&text);
    let extension = file.path().and_then(|path| path.extension()).and_then(|it| it.to_str());
    let extension = extension.unwrap_or_default().to_ascii_lowercase();
    let is_of_records = ["bib", "ris", "json"].contains(&extension.as_str());
    let is_list = text.trim().is_empty() || references.iter().any(|reference| reference.is_record);
    if is_of_records && !is_list {
        let message = format!("there is no reference in this .{extension} file");
        let location = SourceLocation::Line { source: file.name().into(), line: 1 };
        return Err(Error::input(message, location));
    }
    Ok(references)
}

/// Reads a file with the record of a dataset, and returns its text, which [`record::read`] accepts.
pub fn read_record(file: &InputFile) -> Result<String> {
    /// A limit for the file, far longer than any record.
    const MAX_BYTES: u64 = 16 * 1_024 * 1_024;
    let (reader, name) = open(file)?;
    let text = read_small_text(reader, MAX_BYTES);
    let text = text.with_context(|| format!("cannot read {}", quoted(&name)))?;
    let nothing = "D".parse().expect("D is a name");
    record::read(&text, &mut DatasetMetadata::named(nothing)).map_err(|error| {
        Error::usage(format!("{name}: {}", accession::Error::chain_of(&error))).with_hint(
            "the file must be CSL-JSON or DataCite JSON, as doi.org and DataCite provide it",
        )
    })?;
    Ok(text)
}

/// Reads a file to its end, as text.
///
/// # Errors
///
/// The file cannot be read or is too long.
pub fn read_citations(file: &InputFile) -> Result<String> {
    let (reader, name) = open(file)?;
    let bytes = listing::unzipped(reader).and_then(|(text, _)| read_small(text, MAX_TEXT_BYTES));
    Ok(decoded(&bytes.with_context(|| format!("cannot read {}", quoted(&name)))?))
}

/// Decodes UTF-8, or UTF-16 with a byte order mark, which some editors write. Invalid bytes are
/// replaced: they do not make the identifiers around them unreadable.
fn decoded(bytes: &[u8]) -> String {
    let utf_16 = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> =
            bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, ..] => utf_16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => utf_16(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The longest policy that is read.
const MAX_POLICY_BYTES: u64 = 256 * 1_024;

/// The text of a policy, which is one.
pub fn read_policy(file: &InputFile) -> Result<(String, Policy)> {
    let text = read_text(file, MAX_POLICY_BYTES)?;
    let policy = parsed(&text, file)?;
    Ok((text, policy))
}

/// What the text of a file says.
pub fn parsed<T: FromStr<Err = ParseError>>(text: &str, file: &InputFile) -> Result<T> {
    text.parse().map_err(|error| Error::usage(format!("{}: {error}", file.name())))
}

/// Reads a small file whole.
///
/// # Errors
///
/// It cannot be read, or is longer than `most_bytes`.
fn read_small(file: impl Read, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(most_bytes.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most_bytes {
        let what = format!("it is longer than {most_bytes} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(content)
}

/// Reads a small text whole.
///
/// # Errors
///
/// It cannot be read, is longer than `most_bytes`, or is not UTF-8.
pub fn read_small_text(file: impl Read, most_bytes: u64) -> io::Result<String> {
    let text = String::from_utf8(read_small(file, most_bytes)?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Reads a small file whole, as text.
///
/// # Errors
///
/// The file cannot be read, or is longer than `most_bytes`.
pub fn read_text(file: &InputFile, most_bytes: u64) -> Result<String> {
    let (reader, name) = open(file)?;
    let text = read_small_text(reader, most_bytes);
    text.with_context(|| format!("cannot read {}", quoted(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_16_is_decoded_after_its_byte_order_mark() {
        for unit in [u16::to_le_bytes, u16::to_be_bytes] {
            let bytes: Vec<u8> = "\u{feff}{ é }".encode_utf16().flat_map(unit).collect();
            assert_eq!(decoded(&bytes), "\u{feff}{ é }".trim_start_matches('\u{feff}'));
            assert_eq!(decoded(&[&bytes[..], b"x"].concat()), "{ é }");
        }
        assert_eq!(decoded("{ é }\u{0}".as_bytes()), "{ é }\u{0}");
        assert_eq!(decoded(b"\xff\xfd"), "\u{fffd}\u{fffd}");
    }
}
