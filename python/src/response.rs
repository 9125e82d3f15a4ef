//! Pages of a search, which `accession_registry.sources` asks catalogues for.

use std::io::Cursor;

use accession::ListingOptions;
use accession::listing;
use pyo3::prelude::*;

use crate::error::Failure;
use crate::ids::format_named;
use crate::record::warn_all;

/// A granule, and of one of its files the path, the size, and the checksum after its algorithm and a colon.
type Row = (String, Option<String>, Option<u64>, Option<String>);

/// Reads a page: its rows, how many granules it has, also such as are deleted, and how many it states that
/// the search found. Messages call it `name`.
#[pyfunction]
pub fn read_page(
    py: Python<'_>,
    page: Vec<u8>,
    name: &str,
    format: &str,
) -> Result<(Vec<Row>, u64, Option<u64>), Failure> {
    let (format, of_deletion) = (format_named(Some(format))?, true);
    let options =
        ListingOptions::new().format(format).of_deletion(of_deletion).skip_odd_files(true);
    let mut records = listing::open(Cursor::new(page), name, &options)?;
    let (mut rows, mut granules) = (Vec::new(), 0);
    for record in records.by_ref() {
        let record = record?;
        granules += 1;
        if record.is_deleted {
            continue;
        }
        let granule = record.granule_id.to_string();
        rows.extend(record.files.iter().map(|file| {
            let checksum = file.checksum.as_ref();
            let checksum = checksum.map(|it| format!("{}:{it}", it.algorithm().as_str()));
            (granule.clone(), Some(file.path.to_string()), file.size, checksum)
        }));
        if record.files.is_empty() {
            rows.push((granule, None, None, None));
        }
    }
    warn_all(py, &records.warnings())?;
    Ok((rows, granules, records.search_total()))
}
