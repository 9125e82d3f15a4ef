//! The format of a file, which is detected from its beginning.

use struson::reader::{JsonReader, JsonStreamReader, ReaderError, ValueType};

use super::checksums;
use super::csv_rows;
use super::error::refuse_foreign;
use super::format::{InputFormat, USUAL_COLUMNS, parse_time};
use crate::error::{Error, ErrorDetail, ErrorKind};

impl InputFormat {
    /// Returns the format of a file with this beginning. The first of these rules that applies
    /// decides:
    ///
    /// 1. It begins with `{`, and the first line is no id in braces: a manifest or a known response if it has the keys of one, else
    ///    `ndjson`. It begins with `[` and an object with the keys of `rclone` or `cmr-deleted`: these.
    /// 2. A line is `OBJECT = FILE_GROUP`: `pdr`.
    /// 3. The first line is a time, a TAB, `+` or `-`, and a TAB: `changes`.
    /// 4. The first line that is neither empty nor a comment (`#`, `;`, `%`) is a checksum of 32 digits or more and a
    ///    path, or one in the style of BSD, or the first line is that of `hashdeep`, and no column is asked for:
    ///    `checksums`.
    /// 5. A column is asked for; or a cell of the first line is a usual name for granule ids, in
    ///    any case; or the first line has several cells, all quoted; or all lines have the same
    ///    number of commas, semicolons or TABs: `csv`.
    /// 6. Otherwise `lines`.
    ///
    /// # Errors
    ///
    /// Another JSON array, HTML, XML, Parquet, ORC or a canonical list: these are not among the formats, and
    /// each of their lines would be read as an id.
    pub fn detect(beginning: &[u8], column: Option<&str>) -> Result<Self, Error> {
        let first_line = beginning.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let text = beginning.trim_ascii_start();
        // Ids can be in braces, as GUIDs are: a line without blanks, quotes and colons is no part of an object.
        let is_braced = |line: &[u8]| !line.iter().any(|byte| b" \t\":'".contains(byte));
        let is_object = text.strip_prefix(b"{").is_some_and(|rest| {
            let is_valid = matches!(rest.trim_ascii_start().first(), Some(b'"' | b'}') | None);
            is_valid || !is_braced(first_line)
        });
        if is_object {
            return detect_json(text, column);
        }
        if let Some(rest) = text.strip_prefix(b"[")
            && matches!(rest.trim_ascii_start().first(), Some(b'{' | b'"' | b']'))
        {
            let members = outer_members(rest.trim_ascii_start());
            let has = |key: &str| members.iter().any(|member| member.key == key);
            return match () {
                () if has("Path") && has("IsDir") => Ok(InputFormat::Rclone),
                () if has("granule-ur") => Ok(InputFormat::CmrDeleted),
                () => {
                    let message = "a JSON array is not one of the formats";
                    Err(Error::new(ErrorDetail::UnknownFormat, message))
                }
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
            // A table without the column that was asked for, or a usual one, is an error. Read as
            // lines, each of its rows would become a granule.
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
    } else if has("Contents")
        || has("Versions") && has("IsTruncated")
        || has("Versions") && has("Name")
    {
        InputFormat::S3Objects
    } else if has("items") || (has("hits") && has("took")) {
        InputFormat::UmmJson
    } else {
        refuse_document(&members, column, first_is_whole)?;
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

/// Whether a file has one item after the other, instead of a list of them.
pub(super) fn has_items_in_a_row(beginning: &[u8]) -> bool {
    let members = outer_members(beginning.trim_ascii_start());
    is_stac_item(&members) || is_cmr_item(&members)
}

/// Whether a file lists versions of objects.
pub(super) fn has_versions(beginning: &[u8]) -> bool {
    let members = outer_members(beginning.trim_ascii_start());
    let has = |key: &str| members.iter().any(|member| member.key == key);
    has("Versions") && !has("Contents")
}

/// Refuses one document that is not a list of granules, by what it is.
fn refuse_document(
    members: &[Member],
    column: Option<&str>,
    is_one_line: bool,
) -> Result<(), Error> {
    let has = |key: &str| members.iter().any(|member| member.key == key);
    let is_of_type =
        |kind: &str| members.iter().any(|it| it.key == "type" && it.text.as_deref() == Some(kind));
    let names_ids = USUAL_COLUMNS.iter().any(|name| *name != "id" && has(name));
    let is_flat = members.iter().all(|member| !member.is_nested);
    if is_one_line && (column.is_some() || names_ids || is_flat) {
        return Ok(());
    }
    let list = members.iter().find(|member| member.is_list);
    let (what, hint) = if has("digestAlgorithm") && (has("manifest") || has("versions")) {
        (
            "the inventory of an OCFL object",
            "`jq -r '.manifest[][]' FILE` prints the paths of its files".to_owned(),
        )
    } else if is_of_type("Collection") {
        ("a STAC collection", "ask the catalogue for the items of the collection, which `/items` after its address returns".to_owned())
    } else if is_of_type("Catalog") {
        ("a STAC catalogue", "ask the catalogue for the items of its collections".to_owned())
    } else if has("@graph") {
        ("a crate of linked data", r#"`jq -r '."@graph"[] | select(."@type" == "File") | ."@id"' FILE` prints the paths of its files"#.to_owned())
    } else if has("files") {
        ("one record with files", "`jq -c '.files[]' FILE` prints one file a line; --column key names the field with the id".to_owned())
    } else if let Some(Member { key, .. }) = list {
        let key = key.replace('\'', "");
        (
            "one document with lists",
            format!(
                "`jq -c '.\"{key}\"[]' FILE` prints one element a line; --column names the field with the id"
            ),
        )
    } else if !is_flat {
        (
            "one document with objects in it",
            "write one object a line, and name the field with --column".to_owned(),
        )
    } else {
        ("one document over several lines", "`jq -c . FILE` writes it on one line".to_owned())
    };
    Err(Error::new(ErrorKind::NotAList, format!("this is {what}, not a list of granules"))
        .with_hint(format!("{hint} (inputs.md, One JSON document)")))
}

/// A member of the outermost object.
struct Member {
    key: String,
    /// Its value, if it is a string.
    text: Option<String>,
    /// Whether its value is an array or an object.
    is_nested: bool,
    /// Whether its value is an array.
    is_list: bool,
}

/// The members of the outermost object, as far as it was read.
fn outer_members(text: &[u8]) -> Vec<Member> {
    let mut json = JsonStreamReader::new(text);
    let mut members: Vec<Member> = Vec::new();
    let mut next = || -> Result<bool, ReaderError> {
        if members.is_empty() {
            json.begin_object()?;
        }
        if !json.has_next()? {
            return Ok(false);
        }
        let key = json.next_name_owned()?;
        let kind = json.peek();
        let is_list = matches!(kind, Ok(ValueType::Array));
        let is_nested = is_list || matches!(kind, Ok(ValueType::Object));
        members.push(Member { key, text: None, is_nested, is_list });
        let is_text = matches!(kind?, ValueType::String);
        let text = if is_text { Some(json.next_string()?) } else { None };
        if text.is_none() {
            json.skip_value()?;
        }
        if let Some(member) = members.last_mut() {
            member.text = text;
        }
        Ok(true)
    };
    // Where it was cut is an error, too.
    while next().unwrap_or(false) {}
    members
}

fn has_file_group(text: &[u8]) -> bool {
    text.split(|&byte| byte == b'\n').any(|line| {
        let bare: Vec<u8> =
            line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        bare.starts_with(b"OBJECT=FILE_GROUP")
    })
}

/// Whether a line is of a canonical list, and states a file of its granule. Without files, it is an id.
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
