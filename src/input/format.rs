//! The formats of input files.

use std::fmt;
use std::str::FromStr;

/// The format of an input file. The table in [`crate::input`] describes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputFormat {
    /// One id per line.
    Lines,
    /// A table with a header.
    Csv,
    /// One JSON object per line.
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

impl InputFormat {
    /// Every format with its name.
    pub const ALL: [(&'static str, InputFormat); 9] = [
        ("lines", InputFormat::Lines),
        ("csv", InputFormat::Csv),
        ("ndjson", InputFormat::Ndjson),
        ("umm-json", InputFormat::UmmJson),
        ("cmr-json", InputFormat::CmrJson),
        ("stac", InputFormat::Stac),
        ("pdr", InputFormat::Pdr),
        ("changes", InputFormat::Changes),
        ("manifest", InputFormat::Manifest),
    ];
}

impl FromStr for InputFormat {
    type Err = UnknownInputFormat;

    fn from_str(text: &str) -> Result<Self, UnknownInputFormat> {
        let known = InputFormat::ALL.into_iter().find(|(name, _)| *name == text);
        known.map(|(_, format)| format).ok_or(UnknownInputFormat)
    }
}

impl fmt::Display for InputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = InputFormat::ALL.into_iter().find(|(_, format)| format == self);
        f.write_str(known.map_or("", |(name, _)| name))
    }
}

/// The error for a name that no [`InputFormat`] has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the formats are auto, {}", InputFormat::ALL.map(|(name, _)| name).join(", "))]
pub struct UnknownInputFormat;
