//! Histories: what happened to which granule, and when.

use std::io::BufRead;

use accession::input::{self, InputFormat, Options};
use accession::mirror::manifest;
use accession::{EventKind, Import, Monitor, quoted};
use anyhow::{Context, Result};

use super::file::open;
use super::input_file::InputFile;
use super::search_pages::SearchPages;
use super::spaces::EdgeSpaces;
use crate::cli::output::{PROGRESS_ROWS, Progress};
use crate::cli::session::Session;

/// Reads the events of a file into an import.
pub fn import_events(
    file: &InputFile,
    options: &Options,
    session: &Session,
    import: &mut Import,
) -> Result<()> {
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
        let manifest = manifest::Reader::open(reader, &name)?;
        return Ok(manifest.read_into(import, |events| {
            let _ = progress.advance(events);
        })?);
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
    spaces.warn_if_any(session);
    let mut pages = SearchPages::default();
    pages.add(events.hits());
    pages.warn_if_incomplete(session);
    Ok(())
}
