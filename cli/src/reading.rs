//! The files that a command names: lists of granules, histories, payment ids, and citations.

use std::cell::RefCell;
use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use accession::ListingOptions;
use accession::citation::record;
use accession::citation::{self, Reference};
use accession::dataset::DatasetMetadata;
use accession::listing::{
    self, DirectoryListing, InputFormat, ListedRecords, OpenedFile, Record, SearchPages,
};
use accession::mirror::Primary;
use accession::mirror::PrimaryOptions;
use accession::proof::Policy;
use accession::text::quoted;
use accession::{
    DatasetName, ErrorDetail, ErrorKind, GranuleId, Import, ListingEntry, SourceLocation,
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
/// warnings are printed; the last item may be that pages are missing.
pub struct Entries<'a> {
    session: &'a Session,
    ids: std::iter::Enumerate<std::slice::Iter<'a, String>>,
    files: std::slice::Iter<'a, InputFile>,
    options: ListingOptions,
    paths: &'a PathArgs,
    missing: MissingPages<'a>,
    open: Option<OpenListing>,
    pages: SearchPages,
    /// Whether what is listed becomes part of a dataset: then the registry itself is refused.
    is_recorded: bool,
    /// Where warnings are kept, in the place of printing them.
    warnings: Option<&'a RefCell<Vec<Warning>>>,
    /// How many entries were read.
    read: u64,
    has_ended: bool,
}

/// How many entries are read before it is checked whether that is cancelled.
const CHECKED_ROWS: u64 = 4_096;

/// The listing that is being read.
enum OpenListing {
    File { file: InputFile, records: Box<ListedRecords>, progress: Progress },
    Directory { files: Box<DirectoryListing>, progress: Progress },
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
        let pages = SearchPages::default();
        let (ids, files) = (ids.iter().enumerate(), files.iter());
        let (open, is_recorded, warnings, has_ended) = (None, false, None, false);
        Entries {
            session,
            ids,
            files,
            options,
            paths,
            missing,
            open,
            pages,
            is_recorded,
            warnings,
            read: 0,
            has_ended,
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
                        let granule_id = self.id_of(&record.granule_id, Some(&record.location))?;
                        return Ok(Some(Record { granule_id, ..record }.into_entry()?));
                    }
                }
                Some(OpenListing::Directory { files, progress }) => {
                    if let Some(file) = files.next().transpose()? {
                        progress.advance_row();
                        let granule_id = self.id_of(&file.path, None)?;
                        return Ok(Some(file.into_entry(granule_id)?));
                    }
                }
                None => {}
            }
            self.end_listing();
            let Some(file) = self.files.next() else {
                self.missing.check(&self.pages, self.session)?;
                return Ok(None);
            };
            self.open = Some(match file.path().filter(|path| path.is_dir()) {
                Some(directory) => self.open_directory(directory)?,
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
        let records = listing::open(reader, &name, &options)?.listed();
        Ok(OpenListing::File { file: file.clone(), records: Box::new(records), progress })
    }

    fn open_directory(&self, directory: &Path) -> Result<OpenListing> {
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
        Ok(OpenListing::Directory { files: Box::new(files), progress })
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
                self.pages.add(records.records());
                (records.warnings(&file.name()), progress)
            }
            Some(OpenListing::Directory { files, progress }) => (files.warnings(), progress),
            None => return,
        };
        progress.end();
        match self.warnings {
            Some(kept) => kept.borrow_mut().extend(warnings),
            None => self.session.warn_all(warnings),
        }
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<ListingEntry>;

    fn next(&mut self) -> Option<Result<ListingEntry>> {
        if self.has_ended {
            return None;
        }
        let entry = self.entry().transpose();
        self.has_ended = !matches!(entry, Some(Ok(_)));
        entry
    }
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
    let mut pages = SearchPages::default();
    pages.add(events.records());
    import.left_out = events.left_out();
    import.until = events.left_out_since();
    missing.check(&pages, session)
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
}

impl MissingPages<'_> {
    /// Refuses a search result, or warns, if some of its pages are missing.
    ///
    /// # Errors
    ///
    /// They are missing, and to be refused.
    fn check(self, pages: &SearchPages, session: &Session) -> Result<()> {
        match (pages.check(), self) {
            (Ok(()), _) => {}
            (Err(error), MissingPages::Refuse) => return Err(error.into()),
            (Err(error), MissingPages::Guard(guard)) => guard.refuse(error),
            (Err(error), MissingPages::Warn) => {
                session.warn(WarningKind::PagesMissing, &error.to_string());
            }
        }
        Ok(())
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
    let references = citation::references(&text);
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
