//! Histories: the ingests and deletions of granules, with their times.

use std::io::BufRead;

use accession::input::{self, InputFormat, Options};
use accession::mirror::manifest;
use accession::{EventKind, Import, Monitor, quoted};
use anyhow::{Context, Result};

use super::file::open;
use super::input_file::InputFile;
use super::search_pages::{MissingPages, SearchPages};
use super::spaces::EdgeSpaces;
use crate::cli::output::{PROGRESS_ROWS, Progress};
use crate::cli::session::Session;
use crate::cli::usage::UsageError;
use crate::cli::warning::WarningKind;

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
