//! Lists of granules.

use accession::input::{self, Options, Record};
use accession::{Entry, Monitor};
use anyhow::Result;

use super::file::open;
use super::input_file::InputFile;
use super::search_pages::{MissingPages, SearchPages};
use super::spaces::EdgeSpaces;
use crate::cli::output::{PROGRESS_ROWS, Progress, count};
use crate::cli::session::Session;
use crate::cli::warning::WarningKind;

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
