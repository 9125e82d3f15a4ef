//! The columns of a table, found by their names in the first row, or by their numbers.

use csv::ByteRecord;

use super::error::MAX_LISTED_COLUMNS;
use super::format::USUAL_COLUMNS;
use crate::error::{Error, ErrorDetail};
use crate::model::quoted;

/// The index of the first column with this name.
pub(super) fn index_of(header: &ByteRecord, name: &str) -> Option<usize> {
    header.iter().position(|cell| cell == name.as_bytes())
}

/// The index of the requested column, whose name must match exactly. If none is requested, that of the first
/// usual one, whose name may match in any case if no usual name matches exactly.
pub(super) fn find_column(
    header: &ByteRecord,
    column: Option<&str>,
    no_header: bool,
) -> Result<usize, Error> {
    if no_header {
        return column_number(header, column);
    }
    type Comparison = fn(&[u8], &[u8]) -> bool;
    let exactly: Comparison = |cell, name| cell == name;
    let in_any_case: Comparison = <[u8]>::eq_ignore_ascii_case;
    let has =
        |name: &str, is_same: Comparison| header.iter().any(|cell| is_same(cell, name.as_bytes()));
    let usual = |is_same| {
        let name = USUAL_COLUMNS.into_iter().find(|name| has(name, is_same));
        name.map(|name| (name, is_same))
    };
    let columns = || -> Vec<String> {
        let first = header.iter().take(MAX_LISTED_COLUMNS + 1);
        first.map(|cell| String::from_utf8_lossy(cell).into_owned()).collect()
    };
    let (name, is_same) = match column {
        Some(name) if has(name, exactly) => (name, exactly),
        None if usual(exactly).or_else(|| usual(in_any_case)).is_some() => usual(exactly)
            .or_else(|| usual(in_any_case))
            .ok_or_else(|| Error::no_usual_column(&columns()).with_hint(OTHER_COLUMN))?,
        _ if header.iter().any(looks_like_data) => return Err(Error::no_header()),
        Some(name) => return Err(Error::no_column(name, &columns()).with_hint(OTHER_COLUMN)),
        None => usual(exactly)
            .or_else(|| usual(in_any_case))
            .ok_or_else(|| Error::no_usual_column(&columns()).with_hint(OTHER_COLUMN))?,
    };
    let mut same = header.iter().enumerate().filter(|(_, cell)| is_same(cell, name.as_bytes()));
    match (same.next(), same.next()) {
        (Some((index, _)), None) => Ok(index),
        _ => Err(Error::input(format!("there are two columns named {}", quoted(name)))),
    }
}

/// The hint for a table without the column.
const OTHER_COLUMN: &str = "name one of them with --column; if the first row is data, --no-header --column 1; if each line is one id, --format lines (inputs.md, Tables)";

/// The index of the column with this number, from 1.
fn column_number(row: &ByteRecord, column: Option<&str>) -> Result<usize, Error> {
    let columns = row.len();
    let number = column.and_then(|column| column.parse::<usize>().ok());
    match number.filter(|number| (1..=columns).contains(number)) {
        Some(number) => Ok(number - 1),
        None => {
            let named = column.map_or("no column is named".to_owned(), |column| {
                format!("{} is not the number of a column", quoted(column))
            });
            let message = format!("{named}: without a header, the columns are 1 to {columns}");
            Err(Error::new(ErrorDetail::NoColumn, message)
                .with_hint("name the column with the ids by its number, such as --column 1"))
        }
    }
}

/// Whether a cell of a first row looks like data instead of the name of a column.
fn looks_like_data(cell: &[u8]) -> bool {
    let is_number = !cell.is_empty()
        && cell.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b':'));
    let is_hash = cell.len() >= 32 && cell.iter().all(u8::is_ascii_hexdigit);
    let has_path = cell.contains(&b'/') && cell.iter().any(u8::is_ascii_digit);
    let is_file = std::str::from_utf8(cell).is_ok_and(is_named_like_file);
    let is_address = cell.windows(3).any(|cut| cut == b"://") || cell.starts_with(b"urn:");
    is_number || is_hash || has_path || is_address || is_file
}

/// Whether a text ends with a known file extension. Any other extension may be part of a column's name.
fn is_named_like_file(cell: &str) -> bool {
    const EXTENSIONS: [&str; 40] = [
        "bin", "bufr", "cdf", "csv", "dat", "fastq", "fit", "fits", "gif", "grb", "grb2", "grib",
        "grib2", "gz", "h5", "hdf", "hdf5", "he5", "jp2", "jpeg", "jpg", "json", "met", "nc",
        "nc4", "npy", "pdf", "png", "safe", "tar", "tgz", "tif", "tiff", "txt", "xlsx", "xml",
        "zarr", "zip", "zst", "bz2",
    ];
    let (stem, extension) = cell.trim_end().rsplit_once('.').unwrap_or_default();
    !stem.is_empty() && EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str())
}
