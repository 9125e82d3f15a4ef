//! Lists of granules.

use accession::input::{self, Options, Record};
use accession::{Entry, Monitor};
use anyhow::Result;

use super::file::open;
use super::input_file::InputFile;
use super::search_pages::SearchPages;
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
    let pages = read_files(files, options, session, take)?;
    pages.warn_if_incomplete(session);
    Ok(())
}

/// The same for files that must list everything: a search result of which pages are missing is
/// refused.
pub fn each_entry_of_full_listing(
    files: &[InputFile],
    options: &Options,
    session: &Session,
    take: impl FnMut(Entry) -> Result<()>,
) -> Result<()> {
    Ok(read_files(files, options, session, take)?.refuse_if_incomplete()?)
}

fn read_files(
    files: &[InputFile],
    options: &Options,
    session: &Session,
    mut take: impl FnMut(Entry) -> Result<()>,
) -> Result<SearchPages> {
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
        pages.add_file(&name, &records);
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
    Ok(pages)
}
