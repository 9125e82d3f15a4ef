//! Where granule ids come from: arguments, files, stdin.

use std::fs::File;
use std::io::{self, BufRead, Read, Seek};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use accession::input::{
    self, Hits, InputFormat, OldPaymentIds, Options, Record, UnknownInputFormat,
};
use accession::minting::payment::PaymentId;
use accession::minting::unique_granule::{CollectionId, HashLength, unique};
use accession::mirror::manifest;
use accession::{Entry, EventKind, GranuleId, Import, Monitor, SourceLocation, quoted};
use anyhow::{Context, Result};

use super::progress::Progress;
use super::report::Usage;
use super::session::Session;

/// The granules that a command is about.
#[derive(clap::Args)]
pub struct Source {
    /// The granules' ids
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    /// A file of ids; - is stdin (can be repeated)
    #[arg(long, value_name = "FILE")]
    from: Vec<PathBuf>,

    #[command(flatten)]
    reading: Reading,
}

/// Rows after which progress is told.
const MONITORED_ROWS: usize = 4_096;

/// How files are read.
#[derive(Default, clap::Args)]
pub struct Reading {
    /// How the file is written: auto (by its content), lines, csv (TSV too), ndjson, umm-json,
    /// cmr-json, stac, pdr or, for an import, changes or manifest; gzip of any
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    format: FileFormat,

    /// The column or field that has the ids; default: the first there is of granule_id, granuleId,
    /// granuleUr, "Granule UR", id. For ndjson, /a/b is a JSON pointer; for CMR's answers,
    /// producer is the producer's id
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
}

/// A format, or `auto`.
#[derive(Debug, Clone, Copy, Default)]
struct FileFormat(Option<InputFormat>);

impl FromStr for FileFormat {
    type Err = UnknownInputFormat;

    fn from_str(text: &str) -> Result<Self, UnknownInputFormat> {
        if text == "auto" {
            Ok(FileFormat(None))
        } else {
            text.parse().map(|format| FileFormat(Some(format)))
        }
    }
}

impl Source {
    /// The entries that were named, arguments first.
    ///
    /// # Errors
    ///
    /// None are named; one is no id; a file cannot be read.
    pub fn entries(&self, session: &Session) -> Result<Vec<Entry>> {
        if self.ids.is_empty() && self.from.is_empty() {
            let usage = Usage::new("no granules are named");
            return Err(usage.with_hint("name them as arguments, or a file with --from").into());
        }
        let mut entries = Vec::new();
        for (index, text) in self.ids.iter().enumerate() {
            let location = SourceLocation::Argument { number: index as u64 + 1 };
            let granule_id = GranuleId::new(text.as_str()).map_err(|cause| {
                Usage::new(format!("{location}: {} is refused: {cause}", quoted(text)))
            })?;
            entries.push(Entry { granule_id, producer_granule: None, location: Some(location) });
        }
        warn_of_edge_space(&entries, session);
        entries.extend(entries_of_files(&self.from, &self.reading, session)?);
        Ok(entries)
    }
}

impl Reading {
    fn options(&self) -> Options {
        let column = self.column.clone();
        Options { format: self.format.0, column, ..Options::default() }
    }
}

/// How producer's ids become unique ones.
pub struct Uniquify {
    collection: CollectionId,
    hash_length: HashLength,
    with_time: bool,
}

impl Uniquify {
    pub fn new(collection: CollectionId, hash_length: HashLength, with_time: bool) -> Self {
        Uniquify { collection, hash_length, with_time }
    }

    /// The entries under their unique ids, each with its producer's.
    ///
    /// # Errors
    ///
    /// The hash is not so long, or an id becomes too long; with its place.
    pub fn apply(&self, entries: Vec<Entry>, session: &Session) -> Result<Vec<Entry>> {
        let now = u128::try_from(session.now()?.as_micros()).unwrap_or(0) * 1_000;
        let made = (0..).zip(entries).map(|(number, entry)| {
            // Each has a nanosecond of its own.
            let nanoseconds = self.with_time.then_some(now + number);
            let producer = entry.granule_id;
            let granule_id = unique(&producer, &self.collection, self.hash_length, nanoseconds)
                .map_err(|cause| match &entry.location {
                    Some(location) => Usage::new(format!("{location}: {cause}")),
                    None => Usage::new(cause.to_string()),
                })?;
            Ok(Entry { granule_id, producer_granule: Some(producer), ..entry })
        });
        made.collect()
    }
}

/// Payment ids of the old scheme, one a line, in upper case.
///
/// # Errors
///
/// The file cannot be read, or a line is not an id.
pub fn old_payment_ids(file: &Path) -> Result<Vec<PaymentId>> {
    let (reader, name) = open(file)?;
    Ok(OldPaymentIds::open(reader, &name)?.collect::<Result<_, input::Error>>()?)
}

/// The entries of one file of ids, whatever its format.
pub fn entries_of_ids(file: &Path, session: &Session) -> Result<Vec<Entry>> {
    entries_of_files(&[file.to_owned()], &Reading::default(), session)
}

/// The entries of all files, in their order.
pub fn entries_of_files(
    files: &[PathBuf],
    reading: &Reading,
    session: &Session,
) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut pages = Pages::default();
    for file in files {
        let (reader, name) = open(file)?;
        let first = entries.len();
        let mut progress = Progress::new();
        progress.begin("reading", "granules", 0);
        let mut records = input::open(reader, &name, &reading.options())?;
        let mut gone = 0;
        for (index, record) in records.by_ref().enumerate() {
            let Record { granule_id, location, is_deleted, .. } = record?;
            if index.is_multiple_of(MONITORED_ROWS) {
                progress.advance(MONITORED_ROWS as u64);
            }
            if is_deleted {
                gone += 1;
                continue;
            }
            entries.push(Entry { granule_id, producer_granule: None, location: Some(location) });
        }
        pages.add(records.hits());
        if gone > 0 {
            session.warn(&format!("{name}: passed over {gone} that the file says are deleted"));
        }
        warn_of_edge_space(&entries[first..], session);
    }
    pages.warn(session);
    Ok(entries)
}

/// A file that can be read again, from its beginning.
pub enum Rereadable {
    /// As often as one likes.
    File(PathBuf),
    /// What came from a pipe, kept.
    Kept {
        /// Without a name: gone with the process.
        file: File,
        /// What messages call it.
        name: String,
    },
}

impl Rereadable {
    /// The file itself; or what comes from a pipe, kept in `folder` meanwhile.
    pub fn kept_in(folder: &Path, file: &Path) -> Result<Self> {
        let is_file = file != Path::new("-") && file.metadata().is_ok_and(|found| found.is_file());
        if is_file {
            return Ok(Rereadable::File(file.to_owned()));
        }
        let (mut reader, name) = open(file)?;
        let cannot =
            || format!("cannot keep {} in {}", quoted(&name), quoted(&folder.to_string_lossy()));
        let mut kept = tempfile::tempfile_in(folder).with_context(cannot)?;
        io::copy(&mut reader, &mut kept).with_context(cannot)?;
        Ok(Rereadable::Kept { file: kept, name })
    }

    fn open(&self) -> Result<(Box<dyn Read>, String)> {
        match self {
            Rereadable::File(path) => open(path),
            Rereadable::Kept { file, name } => {
                let cannot = || format!("cannot read {} again", quoted(name));
                let mut file = file.try_clone().with_context(cannot)?;
                file.rewind().with_context(cannot)?;
                Ok((Box::new(file), name.clone()))
            }
        }
    }
}

/// Reads the events of a file into an import.
pub fn import_events(
    file: &Rereadable,
    reading: &Reading,
    session: &Session,
    import: &mut Import<'_>,
) -> Result<()> {
    let (reader, name) = file.open()?;
    let mut progress = Progress::new();
    progress.begin("reading", "granules", 0);
    let mut reader = input::unzipped(reader, &name)?;
    let format = match reading.format.0 {
        Some(format) => Some(format),
        None => {
            let beginning =
                reader.fill_buf().with_context(|| format!("cannot read {}", quoted(&name)))?;
            InputFormat::detect(beginning, reading.column.as_deref()).ok()
        }
    };
    if format == Some(InputFormat::Manifest) {
        let manifest = manifest::Reader::open(reader, &name)?;
        return Ok(manifest.read_into(import, |events| progress.advance(events))?);
    }
    let options = Options { format, ..reading.options() };
    let mut events = input::open_events(reader, &name, &options)?;
    let (mut first_spaced, mut more_spaced) = (None, 0);
    for (index, event) in events.by_ref().enumerate() {
        let event = event?;
        if event.kind == EventKind::Ingested && event.granule_id.has_edge_space() {
            match first_spaced {
                None => first_spaced = Some((event.granule_id.clone(), event.location.clone())),
                Some(_) => more_spaced += 1,
            }
        }
        import.add(event)?;
        if index.is_multiple_of(MONITORED_ROWS) {
            progress.advance(MONITORED_ROWS as u64);
        }
    }
    if let Some((granule_id, location)) = first_spaced {
        warn_of_one_edge_space(&granule_id, location.as_ref(), more_spaced, session);
    }
    let mut pages = Pages::default();
    pages.add(events.hits());
    pages.warn(session);
    Ok(())
}

/// The pages of a search: what it found, and how much of that they hold together.
#[derive(Default)]
struct Pages {
    hits: u64,
    items: u64,
}

impl Pages {
    fn add(&mut self, page: Option<Hits>) {
        if let Some(page) = page {
            self.hits = self.hits.max(page.hits);
            self.items += page.items;
        }
    }

    /// A page is not a dataset.
    fn warn(&self, session: &Session) {
        if self.hits > self.items {
            session.warn(&format!(
                "the search found {} granules, and only {} of them are here: the other pages are missing",
                self.hits, self.items
            ));
        }
    }
}

pub fn open(file: &Path) -> Result<(Box<dyn Read>, String)> {
    if file == Path::new("-") {
        return Ok((Box::new(io::stdin()), "standard input".to_owned()));
    }
    let name = file.to_string_lossy().into_owned();
    let opened = File::open(file).with_context(|| format!("cannot read {}", quoted(&name)))?;
    Ok((Box::new(opened), name))
}

/// The folder that a path names a file in.
pub fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Spaces at the ends of ids are kept, but an accident is likelier (identifier.md).
fn warn_of_edge_space(entries: &[Entry], session: &Session) {
    let mut spaced = entries.iter().filter(|entry| entry.granule_id.has_edge_space());
    if let Some(first) = spaced.next() {
        let more = spaced.count();
        warn_of_one_edge_space(&first.granule_id, first.location.as_ref(), more, session);
    }
}

fn warn_of_one_edge_space(
    granule_id: &GranuleId,
    location: Option<&SourceLocation>,
    more: usize,
    session: &Session,
) {
    let location = location.map(|location| format!("{location}: ")).unwrap_or_default();
    let more = match more {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    session.warn(&format!(
        "{location}{} has a space at an end, which belongs to the id{more}",
        quoted(granule_id.as_str())
    ));
}
