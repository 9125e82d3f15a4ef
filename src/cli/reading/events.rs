//! Histories: what happened to which granule, and when.

use std::io::BufRead;

use accession::input::{self, Format, Options};
use accession::mirror::manifest;
use accession::{EventKind, Import, Monitor, quoted};
use anyhow::{Context, Result};

use super::rereadable::Rereadable;
use super::search_pages::SearchPages;
use super::spaces::EdgeSpaces;
use crate::cli::output::{PROGRESS_ROWS, Progress};
use crate::cli::session::Session;

/// Reads the events of a file into an import.
pub fn import_events(
    file: &Rereadable,
    options: &Options,
    session: &Session,
    import: &mut Import<'_>,
) -> Result<()> {
    let (reader, name) = file.open()?;
    let mut progress = Progress::new();
    progress.begin("reading", "granules", 0);
    let mut reader = input::unzipped(reader, &name)?;
    let format = match options.format {
        Some(format) => Some(format),
        None => {
            let beginning =
                reader.fill_buf().with_context(|| format!("cannot read {}", quoted(&name)))?;
            Format::detect(beginning, options.column.as_deref()).ok()
        }
    };
    if format == Some(Format::Manifest) {
        let manifest = manifest::Reader::open(reader, &name)?;
        return Ok(manifest.read_into(import, |events| progress.advance(events))?);
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
            progress.advance(PROGRESS_ROWS as u64);
        }
    }
    spaces.warn_if_any(session);
    let mut pages = SearchPages::default();
    pages.add(events.hits());
    pages.warn_if_incomplete(session);
    Ok(())
}
