//! The files that a command names: lists of granules, histories, and payment ids.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use accession::input::{self, Hits, InputFormat, OldPaymentIds, Options, Record};
use accession::minting::payment::PaymentId;
use accession::mirror::manifest;
use accession::{Entry, EventKind, GranuleId, Import, Monitor, SourceLocation, quoted};
use anyhow::{Context, Result};

use super::output::{PROGRESS_ROWS, Progress, count};
use super::session::Session;
use super::usage::UsageError;
use super::warning::WarningKind;

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
pub fn open(file: &InputFile) -> Result<(Box<dyn Read>, String)> {
    let name = file.name();
    let Some(path) = file.path() else { return Ok((Box::new(io::stdin()), name)) };
    let opened = File::open(path).with_context(|| format!("cannot read {}", quoted(&name)))?;
    Ok((Box::new(opened), name))
}

/// Passes the granules of one file, whose format is detected, to `take`.
pub fn each_entry_of_file(
    file: &InputFile,
    session: &Session,
    take: impl FnMut(Entry) -> Result<()>,
) -> Result<()> {
    each_entry_of_files(std::slice::from_ref(file), &Options::default(), session, take)
}

/// Passes the granules of all files, in the order of the files, to `take`. Granules that a file marks
/// as deleted are skipped, with a warning.
pub fn each_entry_of_files(
    files: &[InputFile],
    options: &Options,
    session: &Session,
    take: impl FnMut(Entry) -> Result<()>,
) -> Result<()> {
    each_entry_of_pages(files, options, MissingPages::Warn, session, take)
}

/// The same as [`each_entry_of_files`], for files that may have to be all pages of a search result.
pub fn each_entry_of_pages(
    files: &[InputFile],
    options: &Options,
    missing: MissingPages,
    session: &Session,
    mut take: impl FnMut(Entry) -> Result<()>,
) -> Result<()> {
    let mut pages = SearchPages::default();
    for file in files {
        let (reader, name) = open(file)?;
        let progress = Progress::new();
        progress.begin("reading", "granules", None);
        let mut records = input::open(reader, &name, options)?;
        let mut spaces = EdgeSpaces::default();
        let mut deleted_count = 0_u64;
        for (index, record) in records.by_ref().enumerate() {
            let Record { granule_id, location, is_deleted, .. } = record?;
            if index.is_multiple_of(PROGRESS_ROWS) {
                let _ = progress.advance(PROGRESS_ROWS as u64);
            }
            if is_deleted {
                deleted_count += 1;
                continue;
            }
            spaces.add(&granule_id, Some(&location));
            take(Entry { granule_id, producer_granule: None, location: Some(location) })?;
        }
        pages.add(records.hits(), records.has_next_page());
        progress.end();
        for warning in records.warnings() {
            session.warn(WarningKind::of_input(warning.kind), &warning.to_string());
        }
        if deleted_count > 0 {
            session.warn(
                WarningKind::DeletedInFile,
                &format!(
                    "{name}: skipped {} that the file marks as deleted",
                    count(deleted_count, "granule")
                ),
            );
        }
        spaces.warn_if_any(session);
    }
    Ok(pages.check(missing, session)?)
}

/// Reads the events of a file into an import. Returns how many were left out, because their day is
/// not complete.
pub fn import_events(
    file: &InputFile,
    options: &Options,
    missing: MissingPages,
    session: &Session,
    import: &mut Import,
) -> Result<u64> {
    let (reader, name) = open(file)?;
    let progress = Progress::new();
    progress.begin("reading", "granules", None);
    let mut reader = input::unzipped(reader, &name)?;
    let format = match options.format {
        Some(format) => Some(format),
        None => {
            let beginning =
                reader.fill_buf().with_context(|| format!("cannot read {}", quoted(&name)))?;
            InputFormat::detect(beginning, options.column.as_deref()).ok()
        }
    };
    if format == Some(InputFormat::Manifest) {
        let manifest = manifest::Reader::open(reader, &name, session.now()?)?;
        if import.is_daily() {
            return Err(UsageError::new(
                "a manifest has its own times: they cannot be combined by day",
            )
            .with_hint("omit --every")
            .into());
        }
        manifest.read_into(import, |events| {
            let _ = progress.advance(events);
        })?;
        return Ok(0);
    }
    let options = Options { format, ..options.clone() };
    let mut events = input::open_events(reader, &name, &options)?;
    let mut spaces = EdgeSpaces::default();
    for (index, event) in events.by_ref().enumerate() {
        let event = event?;
        if event.kind == EventKind::Ingested {
            spaces.add(&event.granule_id, event.location.as_ref());
        }
        import.add(event)?;
        if index.is_multiple_of(PROGRESS_ROWS) {
            let _ = progress.advance(PROGRESS_ROWS as u64);
        }
    }
    progress.end();
    for warning in events.warnings() {
        session.warn(WarningKind::of_input(warning.kind), &warning.to_string());
    }
    spaces.warn_if_any(session);
    let mut pages = SearchPages::default();
    pages.add(events.hits(), events.has_next_page());
    pages.check(missing, session)?;
    Ok(events.left_out())
}

/// What to do with a search result of which pages are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingPages {
    /// Refuse it, since one page is easily mistaken for the whole dataset.
    Refuse,
    /// Accept it, with a warning.
    Warn,
}

impl MissingPages {
    /// The meaning of `--partial`.
    pub fn when(partial: bool) -> Self {
        if partial { MissingPages::Warn } else { MissingPages::Refuse }
    }
}

/// Pages of a search result are missing.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct PagesMissing {
    what: String,
}

/// The number of granules that a search found, and how many of them its pages contain.
#[derive(Default)]
pub struct SearchPages {
    found: u64,
    contained: u64,
    /// How many pages refer to a next one.
    next_pages: u64,
    pages: u64,
}

impl SearchPages {
    /// Adds a page. `None` means a file that is not a search result, or does not state how many
    /// granules the search found.
    pub fn add(&mut self, page: Option<Hits>, has_next_page: bool) {
        if let Some(page) = page {
            self.found = self.found.max(page.hits);
            self.contained += page.items;
        }
        self.pages += 1;
        self.next_pages += u64::from(has_next_page);
    }

    /// Refuses the search result, or warns, if some of its pages are missing.
    ///
    /// # Errors
    ///
    /// [`PagesMissing`].
    pub fn check(&self, missing: MissingPages, session: &Session) -> Result<(), PagesMissing> {
        let SearchPages { found, contained, next_pages, pages } = *self;
        let what = if found > contained {
            format!(
                "the search found {found} granules, but the files contain only {contained} of them: other pages are missing"
            )
        } else if found == 0 && next_pages > 0 && next_pages == pages {
            "the search result names a next page, which is missing".to_owned()
        } else {
            return Ok(());
        };
        match missing {
            MissingPages::Refuse => Err(PagesMissing { what }),
            MissingPages::Warn => {
                session.warn(WarningKind::PagesMissing, &what);
                Ok(())
            }
        }
    }
}

/// Counts the ids with a space at an end, and remembers the first of them.
#[derive(Default)]
pub struct EdgeSpaces {
    first: Option<(GranuleId, Option<SourceLocation>)>,
    more: u64,
}

impl EdgeSpaces {
    /// Adds an id and its source location.
    pub fn add(&mut self, granule_id: &GranuleId, location: Option<&SourceLocation>) {
        if !granule_id.has_edge_space() {
            return;
        }
        if self.first.is_some() {
            self.more += 1;
        } else {
            self.first = Some((granule_id.clone(), location.cloned()));
        }
    }

    /// Prints one warning, if there is such an id.
    pub fn warn_if_any(&self, session: &Session) {
        let Some((granule_id, location)) = &self.first else { return };
        let location =
            location.as_ref().map(|location| format!("{location}: ")).unwrap_or_default();
        let more = match self.more {
            0 => String::new(),
            1 => "; so does 1 more id".to_owned(),
            more => format!("; so do {more} more ids"),
        };
        session.warn(
            WarningKind::EdgeSpace,
            &format!(
                "{location}{} begins or ends with a space, which is part of the id{more}",
                quoted(granule_id.as_str())
            ),
        );
    }
}

/// Reads payment ids, one per line.
///
/// # Errors
///
/// The file cannot be read, or a line is not a payment id.
pub fn old_payment_ids(file: &InputFile) -> Result<Vec<PaymentId>> {
    let (reader, name) = open(file)?;
    Ok(OldPaymentIds::open(reader, &name)?.collect::<Result<_, input::Error>>()?)
}
