//! Detects the format of a file from its beginning.

use struson::reader::{JsonReader, JsonStreamReader, ReaderError};

use super::error::refuse_foreign;
use super::format::{InputFormat, parse_time};
use super::{checksums, table};
use crate::error::{Error, ErrorKind};

impl InputFormat {
    /// Returns the format of a file with this beginning. The first of these rules that applies
    /// decides:
    ///
    /// 1. It begins with `{`: a manifest or a known response if it has the keys of one, else
    ///    `ndjson`. It begins with `[` and an object with the keys of `rclone` or `cmr-deleted`: these.
    /// 2. A line is `OBJECT = FILE_GROUP`: `pdr`.
    /// 3. The first line is a time, a TAB, `+` or `-`, and a TAB: `changes`.
    /// 4. The first line is a checksum of 32 digits or more and a path, or one in the style of BSD, and
    ///    no column is asked for: `checksums`.
    /// 5. A column is asked for; or a cell of the first line is a usual name for granule ids, in
    ///    any case; or the first line has several cells, all quoted; or all lines have the same
    ///    number of commas, semicolons or TABs: `csv`.
    /// 6. Otherwise `lines`.
    ///
    /// # Errors
    ///
    /// Another JSON array, HTML, XML, Parquet or ORC: these are not among the formats, and each of their
    /// lines would be read as an id.
    pub fn detect(beginning: &[u8], column: Option<&str>) -> Result<Self, Error> {
        let first_line = beginning.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let text = beginning.trim_ascii_start();
        if text.starts_with(b"{") {
            return Ok(detect_json(text));
        }
        if let Some(rest) = text.strip_prefix(b"[")
            && matches!(rest.trim_ascii_start().first(), Some(b'{' | b'"' | b']'))
        {
            let keys = outer_keys(rest.trim_ascii_start());
            let has = |key: &str| keys.iter().any(|known| known == key);
            return match () {
                () if has("Path") && has("IsDir") => Ok(InputFormat::Rclone),
                () if has("granule-ur") => Ok(InputFormat::CmrDeleted),
                () => {
                    let message = "a JSON array is not one of the formats";
                    Err(Error::new(ErrorKind::UnknownFormat, message))
                }
            };
        }
        refuse_foreign(text)?;
        Ok(if has_file_group(beginning) {
            InputFormat::Pdr
        } else if is_change(first_line) {
            InputFormat::Changes
        } else if column.is_none() && checksums::is_checksum(first_line) {
            InputFormat::Checksums
        } else if column.is_some() || table::is_header(first_line) || table::has_rows(beginning) {
            // A table without the column that was asked for, or a usual one, is an error. Read as
            // lines, each of its rows would become a granule.
            InputFormat::Csv
        } else {
            InputFormat::Lines
        })
    }
}

fn detect_json(text: &[u8]) -> InputFormat {
    let keys = outer_keys(text);
    if keys.first().is_some_and(|key| key == "accession_log") {
        return InputFormat::Manifest;
    }
    // One object per line: the first object ends at the end of its line, and another one follows.
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first_is_whole = lines.next().is_some_and(|line| line.ends_with(b"}"));
    if first_is_whole && lines.any(|line| line.starts_with(b"{")) {
        return InputFormat::Ndjson;
    }
    let has = |key: &str| keys.iter().any(|known| known == key);
    if has("fileSchema") && has("files") {
        InputFormat::S3Inventory
    } else if has("response") && (has("responseHeader") || has("facet_counts")) {
        InputFormat::Esgf
    } else if has("feed") {
        InputFormat::CmrJson
    } else if has("features") || text.windows(19).any(|window| window == b"\"FeatureCollection\"") {
        InputFormat::Stac
    } else if has("items") || (has("hits") && has("took")) {
        InputFormat::UmmJson
    } else {
        InputFormat::Ndjson
    }
}

/// The keys of the outermost object, as far as it was read.
fn outer_keys(text: &[u8]) -> Vec<String> {
    let mut json = JsonStreamReader::new(text);
    let mut keys = Vec::new();
    let mut next = || -> Result<bool, ReaderError> {
        if keys.is_empty() {
            json.begin_object()?;
        } else {
            json.skip_value()?;
        }
        let is_key = json.has_next()?;
        if is_key {
            keys.push(json.next_name_owned()?);
        }
        Ok(is_key)
    };
    // Where it was cut is an error, too.
    while next().unwrap_or(false) {}
    keys
}

fn has_file_group(text: &[u8]) -> bool {
    text.split(|&byte| byte == b'\n').any(|line| {
        let bare: Vec<u8> =
            line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        bare.starts_with(b"OBJECT=FILE_GROUP")
    })
}

fn is_change(line: &[u8]) -> bool {
    let mut cells = line.splitn(3, |&byte| byte == b'\t');
    let (Some(at), Some(b"+" | b"-"), Some(_)) = (cells.next(), cells.next(), cells.next()) else {
        return false;
    };
    std::str::from_utf8(at).is_ok_and(|at| parse_time(at).is_ok())
}
