//! Lists of granules.

use accession::input::{self, Options, Record};
use accession::{Entry, Monitor};
use anyhow::Result;

use super::file::open;
use super::input_file::InputFile;
use super::search_pages::SearchPages;
use super::spaces::warn_of_edge_spaces;
use crate::cli::output::{PROGRESS_ROWS, Progress, count};
use crate::cli::session::Session;
use crate::cli::warning::WarningKind;

/// Reads the granules of one file, whose format is detected.
pub fn entries_of_file(file: &InputFile, session: &Session) -> Result<Vec<Entry>> {
    entries_of_files(std::slice::from_ref(file), &Options::default(), session)
}

/// Reads the granules of all files, in the order of the files. Granules that a file marks as
/// deleted are skipped, with a warning.
pub fn entries_of_files(
    files: &[InputFile],
    options: &Options,
    session: &Session,
) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut pages = SearchPages::default();
    for file in files {
        let (reader, name) = open(file)?;
        let first_of_file = entries.len();
        let mut progress = Progress::new();
        progress.begin("reading", "granules", 0);
        let mut records = input::open(reader, &name, options)?;
        let mut deleted_count = 0_u64;
        for (index, record) in records.by_ref().enumerate() {
            let Record { granule_id, location, is_deleted, .. } = record?;
            if index.is_multiple_of(PROGRESS_ROWS) {
                progress.advance(PROGRESS_ROWS as u64);
            }
            if is_deleted {
                deleted_count += 1;
                continue;
            }
            entries.push(Entry { granule_id, producer_granule: None, location: Some(location) });
        }
        pages.add(records.hits());
        if deleted_count > 0 {
            session.warn(
                WarningKind::DeletedInFile,
                &format!(
                    "{name}: skipped {} that the file marks as deleted",
                    count(deleted_count, "granule")
                ),
            );
        }
        warn_of_edge_spaces(&entries[first_of_file..], session);
    }
    pages.warn_if_incomplete(session);
    Ok(entries)
}
