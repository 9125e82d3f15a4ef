//! The formats, and how each shows in a file's beginning.

use std::fmt;
use std::str::FromStr;

use super::{Fault, table, time};

/// How a file is written; the table in [`super`] says what each is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One id a line.
    Lines,
    /// A table with a header.
    Csv,
    /// One JSON object a line.
    Ndjson,
    /// CMR's `granules.umm_json`.
    UmmJson,
    /// CMR's `granules.json`.
    CmrJson,
    /// A STAC ItemCollection.
    Stac,
    /// A product delivery record.
    Pdr,
    /// A change log.
    Changes,
    /// A manifest ([`crate::mirror::manifest`]).
    Manifest,
}

impl Format {
    /// Every format, by its name on the command line.
    pub const ALL: [(&'static str, Format); 9] = [
        ("lines", Format::Lines),
        ("csv", Format::Csv),
        ("ndjson", Format::Ndjson),
        ("umm-json", Format::UmmJson),
        ("cmr-json", Format::CmrJson),
        ("stac", Format::Stac),
        ("pdr", Format::Pdr),
        ("changes", Format::Changes),
        ("manifest", Format::Manifest),
    ];

    /// The format that a file's beginning shows, in this order:
    ///
    /// 1. `{` first, with the keys of a manifest or a known answer: that; otherwise `ndjson`
    /// 2. a line `OBJECT = FILE_GROUP`: `pdr`
    /// 3. a first line with a time, a TAB, `+` or `-`, and a TAB: `changes`
    /// 4. a column is asked for; a first line with a cell that usually has ids, or of several cells
    ///    that are all quoted; or lines that all have as many commas, semicolons or TABs: `csv`
    /// 5. else `lines`
    ///
    /// # Errors
    ///
    /// A JSON array, HTML or XML: they are none of the formats, and as lines would be taken for ids.
    pub fn detect(beginning: &[u8], column: Option<&str>) -> Result<Self, Fault> {
        let first_line = beginning.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let text = beginning.trim_ascii_start();
        if text.starts_with(b"{") {
            return Ok(detect_json(text));
        }
        if let Some(rest) = text.strip_prefix(b"[")
            && matches!(rest.trim_ascii_start().first(), Some(b'{' | b'"' | b']'))
        {
            return Err(Fault::UnknownFormat);
        }
        if is_markup(text) {
            return Err(Fault::Markup);
        }
        Ok(if has_file_group(beginning) {
            Format::Pdr
        } else if is_change(first_line) {
            Format::Changes
        } else if column.is_some() || table::is_header(first_line) || table::has_rows(beginning) {
            // Who asks for a column that is not there, or gives a table without a usual one, is told
            // so: as lines, its rows would be granules for ever.
            Format::Csv
        } else {
            Format::Lines
        })
    }
}

fn detect_json(text: &[u8]) -> Format {
    let keys = outer_keys(text);
    if keys.first().is_some_and(|key| *key == b"accession_manifest") {
        return Format::Manifest;
    }
    // Objects one a line: the first ends where its line does, and another follows.
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first_is_whole = lines.next().is_some_and(|line| line.ends_with(b"}"));
    if first_is_whole && lines.any(|line| line.starts_with(b"{")) {
        return Format::Ndjson;
    }
    let has = |key: &str| keys.contains(&key.as_bytes());
    if has("feed") {
        Format::CmrJson
    } else if has("features") || text.windows(19).any(|window| window == b"\"FeatureCollection\"") {
        Format::Stac
    } else if has("items") || (has("hits") && has("took")) {
        Format::UmmJson
    } else {
        Format::Ndjson
    }
}

/// The keys of the outermost object, as far as the text goes.
fn outer_keys(text: &[u8]) -> Vec<&[u8]> {
    let mut keys = Vec::new();
    let (mut depth, mut string_from, mut is_escaped) = (0_u32, None, false);
    let mut last = &text[..0];
    for (at, &byte) in text.iter().enumerate() {
        match (string_from, byte) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), b'\\') => is_escaped = true,
            (Some(from), b'"') => {
                last = &text[from..at];
                string_from = None;
            }
            (Some(_), _) => {}
            (None, b'"') => string_from = Some(at + 1),
            (None, b':') if depth == 1 => keys.push(last),
            (None, b'{' | b'[') => depth += 1,
            (None, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    keys
}

fn has_file_group(text: &[u8]) -> bool {
    text.split(|&byte| byte == b'\n').any(|line| {
        let bare: Vec<u8> =
            line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        bare.starts_with(b"OBJECT=FILE_GROUP")
    })
}

/// Whether a text begins as a page does, such as a server's answer that something went wrong.
fn is_markup(text: &[u8]) -> bool {
    let begins =
        |with: &[u8]| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    begins(b"<!doctype") || begins(b"<html") || begins(b"<?xml")
}

fn is_change(line: &[u8]) -> bool {
    let mut cells = line.splitn(3, |&byte| byte == b'\t');
    let (Some(at), Some(b"+" | b"-"), Some(_)) = (cells.next(), cells.next(), cells.next()) else {
        return false;
    };
    std::str::from_utf8(at).is_ok_and(|at| time::read(at).is_ok())
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let known = Format::ALL.into_iter().find(|(name, _)| *name == text);
        known.map(|(_, format)| format).ok_or(UnknownFormat)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Format::ALL.into_iter().find(|(_, format)| format == self);
        f.write_str(known.map_or("", |(name, _)| name))
    }
}

/// A name that no [`Format`] has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the formats are auto, {}", Format::ALL.map(|(name, _)| name).join(", "))]
pub struct UnknownFormat;
