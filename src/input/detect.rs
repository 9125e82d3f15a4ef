//! Detects the format of a file from its beginning.

use super::checksums;
use super::csv_rows;
use super::error::refuse_foreign;
use super::format::{InputFormat, parse_time};
use super::json_document::{
    Member, is_list_of_lists, outer_members, refuse_array, refuse_document,
};
use crate::error::Error;

impl InputFormat {
    /// Returns the format of a file with this beginning. The first of these rules that matches decides:
    ///
    /// 1. The text begins with `{`, and the first line is not an id in braces: a manifest or a known response
    ///    if it has the keys of one, otherwise `ndjson`. If the text begins with `[` and an object with the
    ///    keys of `rclone` or `cmr-deleted`, it is that format.
    /// 2. A line is `OBJECT = FILE_GROUP`: `pdr`.
    /// 3. The first line is a time, a TAB, `+` or `-`, and a TAB: `changes`.
    /// 4. No column is requested, and the first line is that of `hashdeep`, or the first line that is neither
    ///    empty nor a comment (`#`, `;`, `%`) is a checksum of 32 digits or more and a path, or is in the style
    ///    of BSD: `checksums`.
    /// 5. A column is requested, or a cell of the first line is a usual name for granule ids, in any case; or
    ///    the first line has several cells, all quoted; or all lines have the same number of commas, semicolons
    ///    or TABs: `csv`.
    /// 6. Otherwise: `lines`.
    ///
    /// # Errors
    ///
    /// The file is another JSON array, HTML, XML, Parquet, ORC or a canonical list. These formats are not
    /// supported, and each of their lines would be read as an id.
    pub fn detect(beginning: &[u8], column: Option<&str>) -> Result<Self, Error> {
        let first_line = beginning.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let text = beginning.trim_ascii_start();
        // Ids can be in braces, as GUIDs are. A line without blanks, quotes and colons is not part of an
        // object.
        let is_braced = |line: &[u8]| !line.iter().any(|byte| b" \t\":'".contains(byte));
        let is_object = text.strip_prefix(b"{").is_some_and(|rest| {
            let is_valid = matches!(rest.trim_ascii_start().first(), Some(b'"' | b'}') | None);
            is_valid || !is_braced(first_line)
        });
        if is_object {
            return detect_json(text, column);
        }
        if let Some(rest) = text.strip_prefix(b"[")
            && (matches!(rest.trim_ascii_start().first(), Some(b'{' | b'"' | b']'))
                || is_list_of_lists(text))
        {
            let members = outer_members(rest.trim_ascii_start());
            let has = |key: &str| members.iter().any(|member| member.key == key);
            return match () {
                () if has("Path") && has("IsDir") => Ok(InputFormat::Rclone),
                () if has("granule-ur") => Ok(InputFormat::CmrDeleted),
                () => refuse_array(text),
            };
        }
        refuse_foreign(text)?;
        Ok(if has_file_group(beginning) {
            InputFormat::Pdr
        } else if is_change(first_line) {
            InputFormat::Changes
        } else if column.is_none() && is_canonical(first_line) {
            let message = "this is the canonical list of a set with its files: its SHA-256 is the digest of the set, and `cut -f 1` prints the ids";
            return Err(Error::input(message));
        } else if column.is_none() && checksums::has_checksums(beginning, None) {
            InputFormat::Checksums
        } else if column.is_some()
            || csv_rows::is_header(first_line)
            || csv_rows::has_rows(beginning)
        {
            // A table without the requested or a usual column is an error. If it were read as lines, each of
            // its rows would become a granule.
            InputFormat::Csv
        } else {
            InputFormat::Lines
        })
    }
}

fn detect_json(text: &[u8], column: Option<&str>) -> Result<InputFormat, Error> {
    let members = outer_members(text);
    let has = |key: &str| members.iter().any(|member| member.key == key);
    if members.first().is_some_and(|first| first.key == "accession_log") {
        return Ok(InputFormat::Manifest);
    }
    // One object per line: the first object ends at the end of its line, and another one follows.
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first_is_whole = lines.next().is_some_and(|line| line.ends_with(b"}"));
    let is_of_lines = first_is_whole && lines.clone().any(|line| line.starts_with(b"{"));
    let is_of_items = column.is_none_or(|column| column == "id");
    if is_of_items && is_stac_item(&members) {
        return Ok(InputFormat::Stac);
    }
    if is_cmr_item(&members) {
        return Ok(InputFormat::UmmJson);
    }
    if is_of_lines {
        return Ok(InputFormat::Ndjson);
    }
    let is_collection = || text.windows(19).any(|window| window == b"\"FeatureCollection\"");
    Ok(if has("fileSchema") && has("files") {
        InputFormat::S3Inventory
    } else if has("response") && (has("responseHeader") || has("facet_counts")) {
        InputFormat::Esgf
    } else if has("feed") {
        InputFormat::CmrJson
    } else if has("features") || is_collection() {
        InputFormat::Stac
    } else if has("Contents") || is_of_versions(&members, text) {
        InputFormat::S3Objects
    } else if has("items") || (has("hits") && has("took")) {
        InputFormat::UmmJson
    } else {
        refuse_document(text, &members, column, first_is_whole)?;
        InputFormat::Ndjson
    })
}

/// Whether the members of an object are those of a STAC item.
fn is_stac_item(members: &[Member]) -> bool {
    let is_feature =
        members.iter().any(|it| it.key == "type" && it.text.as_deref() == Some("Feature"));
    is_feature && members.iter().any(|it| matches!(it.key.as_str(), "stac_version" | "assets"))
}

/// Whether the members of an object are those of a granule of CMR.
fn is_cmr_item(members: &[Member]) -> bool {
    let has = |key: &str| members.iter().any(|member| member.key == key);
    has("umm") && has("meta")
}

/// Whether a file contains one item after the other, instead of one list of items.
pub(super) fn has_items_in_a_row(beginning: &[u8]) -> bool {
    let members = outer_members(beginning.trim_ascii_start());
    is_stac_item(&members) || is_cmr_item(&members)
}

/// Whether a file lists object versions.
pub(super) fn has_versions(beginning: &[u8]) -> bool {
    let text = beginning.trim_ascii_start();
    let members = outer_members(text);
    is_of_versions(&members, text) && !members.iter().any(|member| member.key == "Contents")
}

/// Whether an object has the members of a list of object versions, in any order. Some of them may come after
/// the beginning that was read.
fn is_of_versions(members: &[Member], text: &[u8]) -> bool {
    let has = |key: &str| members.iter().any(|member| member.key == key);
    let has_version = || text.windows(11).any(|window| window == b"\"VersionId\"");
    let is_named = has("IsTruncated") || has("Name") || has("DeleteMarkers");
    has("Versions") && (is_named || has_version()) || has("DeleteMarkers") && has_version()
}

fn has_file_group(text: &[u8]) -> bool {
    text.split(|&byte| byte == b'\n').any(|line| {
        let bare: Vec<u8> =
            line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        bare.starts_with(b"OBJECT=FILE_GROUP")
    })
}

/// Whether a line of a canonical list has a file entry. A line without one is an id.
fn is_canonical(line: &[u8]) -> bool {
    const STATED: [&str; 6] = ["size:", "sha-512:", "sha-384:", "sha-256:", "sha-1:", "md5:"];
    let file = line.split(|&byte| byte == b'\t').nth(1).unwrap_or_default();
    let is_long_hash = || {
        let file = std::str::from_utf8(file).unwrap_or_default();
        let mut parts = file.splitn(3, ':');
        let value = parts.nth(1).unwrap_or_default();
        let is_hexadecimal = value.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
        is_hexadecimal && value.len() >= 56
    };
    STATED.iter().any(|stated| file.starts_with(stated.as_bytes())) || is_long_hash()
}

fn is_change(line: &[u8]) -> bool {
    let mut cells = line.splitn(3, |&byte| byte == b'\t');
    let (Some(at), Some(b"+" | b"-"), Some(_)) = (cells.next(), cells.next(), cells.next()) else {
        return false;
    };
    std::str::from_utf8(at).is_ok_and(|at| parse_time(at).is_ok())
}
