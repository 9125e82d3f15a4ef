//! Errors in input files. The caller that knows the line adds it.

use std::io;
use std::sync::Arc;

use crate::error::{Class, Error, ErrorDetail, ErrorKind};
use crate::model::{GranuleId, ParseError, SourceLocation, quoted};

/// The greatest length of a row of a table, a line of JSON, or an element of a document, in bytes.
pub const MAX_ROW_BYTES: u64 = 16 * 1_024 * 1_024;

/// The error for a row that is longer than [`MAX_ROW_BYTES`].
#[derive(Debug, thiserror::Error)]
#[error("the row is too long")]
pub(super) struct RationSpent;

/// The greatest number of columns that a message names.
pub(super) const MAX_LISTED_COLUMNS: usize = 20;

impl Error {
    /// Adds the location of a line, unless the error has a location. An error about the whole file gets line 1.
    pub(crate) fn at_line(self, source_name: &Arc<str>, line: u64) -> Self {
        if self.location().is_some() {
            return self;
        }
        self.at(SourceLocation::Line { source: source_name.clone(), line })
    }

    /// An error with this message, and no detail or hint.
    pub(super) fn input(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Input, message)
    }

    /// The error for a rejected text, with the reason.
    pub(super) fn refused(
        class: impl Into<Class>,
        text: &str,
        cause: impl std::fmt::Display,
    ) -> Self {
        Error::new(class, format!("{} is refused: {cause}", shown(text)))
    }

    /// The error for a text that is not a granule id.
    pub(crate) fn not_an_id(text: &str, cause: ParseError) -> Self {
        Error::refused(ErrorDetail::NotAGranuleId, text, cause)
    }

    /// The error for a file without the requested column.
    pub(super) fn no_column(column: &str, columns: &[String]) -> Self {
        let columns = listed(columns);
        let message = format!("there is no column {}; the columns are {columns}", quoted(column));
        Error::new(ErrorDetail::NoColumn, message)
    }

    /// The error for a table without a column of a usual name for ids.
    pub(super) fn no_usual_column(columns: &[String]) -> Self {
        let columns = listed(columns);
        let message =
            format!("no column has a usual name for granule ids; the columns are {columns}");
        Error::new(ErrorDetail::NoColumn, message)
    }

    /// The error for a table whose first row is data.
    pub(super) fn no_header() -> Self {
        let message =
            "no column has a usual name for granule ids, and the first row looks like data";
        Error::new(ErrorDetail::NoColumn, message).with_hint(
            "--no-header --column 1 reads the ids in the first column of all rows; if each line is one id, --format lines (inputs.md, Tables)",
        )
    }

    /// The error for a row, or a value in a document, that is longer than [`MAX_ROW_BYTES`].
    fn row_too_long() -> Self {
        Error::input(format!(
            "a row has more than {MAX_ROW_BYTES} bytes: is a closing quote missing?"
        ))
    }

    /// The error for a file without dates, although they are needed.
    pub(super) fn no_dates() -> Self {
        Error::new(ErrorDetail::NoDates, "the file has no dates of ingest")
    }

    /// The error for a granule without a date of ingest.
    pub(super) fn no_ingest_date() -> Self {
        Error::new(ErrorDetail::NoDates, "the granule has no date of ingest")
    }

    /// The error for options that name columns, if the format has none.
    pub(super) fn not_a_table() -> Self {
        Error::new(ErrorDetail::NotOfFormat, "the file is not a table, so it has no columns")
    }

    /// The error for a response without its list of granules, such as one that reports an error.
    pub(super) fn no_list(path: &[&str]) -> Self {
        Error::new(ErrorDetail::NoList, format!("there is no list at {}", path.join(".")))
    }

    /// The error for an object without a field, or whose field is not a string.
    pub(super) fn no_field(field: &str) -> Self {
        Error::new(ErrorDetail::NoField, format!("there is no string at {field}"))
    }

    /// The error for a key that occurs twice in one object.
    pub(super) fn duplicate_key(key: &str) -> Self {
        Error::input(format!("the key {} occurs twice in one object", shown(key)))
    }

    /// The error for invalid JSON, or for JSON of another structure than that of the format.
    pub(super) fn not_json() -> Self {
        Error::input("this is not valid JSON")
    }

    /// The error for a file that is not a product delivery record.
    pub(super) fn not_a_pdr() -> Self {
        Error::input(
            "a line of a delivery record is NAME = VALUE; and each OBJECT has its END_OBJECT",
        )
    }

    /// The error for an invalid manifest.
    pub(crate) fn not_a_manifest(what: &str) -> Self {
        Error::new(ErrorKind::PrimaryInvalid, format!("not a manifest: {what}"))
    }

    /// The error for a file that ends in the middle of a value.
    pub(super) fn truncated() -> Self {
        Error::input("the file is truncated")
    }

    /// The error for a file that cannot be read any further.
    pub(crate) fn unreadable(cause: &io::Error) -> Self {
        if cause.get_ref().is_some_and(|inner| inner.is::<RationSpent>()) {
            return Error::row_too_long();
        }
        Error::input(match cause.kind() {
            io::ErrorKind::IsADirectory => "this is a directory, not a file".to_owned(),
            // Only decompression returns these: reading a plain file past its end is not an error.
            io::ErrorKind::UnexpectedEof => "the gzip file is truncated".to_owned(),
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                format!("the gzip file is damaged: {}", Error::chain_of(cause))
            }
            _ => format!("the file cannot be read: {}", Error::chain_of(cause)),
        })
    }
}

/// Rejects a file that begins like a document of another format: a page that a server sends instead of a file,
/// a catalogue's response in XML, or a table in a binary format.
pub(super) fn refuse_foreign(text: &[u8]) -> Result<(), Error> {
    // An id may begin with the same characters. A text is rejected only if it continues like a tag, a
    // declaration or a comment, and a binary format only if control characters follow.
    let is_markup = match text {
        [b'<', next, rest @ ..] => {
            (next.is_ascii_alphabetic() || matches!(next, b'!' | b'?')) && rest.contains(&b'>')
        }
        _ => false,
    };
    let is_binary = text.iter().take(64).any(|byte| *byte < b'\t');
    let begins_with =
        |name: &[u8]| text.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    let (detail, what) = match is_markup {
        true if begins_with(b"<!doctype html") || begins_with(b"<html") => {
            (ErrorDetail::Markup, "an HTML page")
        }
        true => (ErrorDetail::Markup, "an XML document"),
        false if is_binary && text.starts_with(b"PAR1") => {
            (ErrorDetail::BinaryTable, "a Parquet file")
        }
        false if is_binary && text.starts_with(b"ORC") => (ErrorDetail::BinaryTable, "an ORC file"),
        false => return Ok(()),
    };
    Err(Error::new(detail, format!("this is {what}, not a list of granules")))
}

/// Parses an id.
pub(super) fn granule_id(bytes: &[u8]) -> Result<GranuleId, Error> {
    GranuleId::from_bytes(bytes)
        .map_err(|cause| Error::not_an_id(&String::from_utf8_lossy(bytes), cause))
}

/// Quotes a text that was read. An id is shown in full, because people copy it from the message. If the text is
/// too long to be an id, only its first 80 characters are shown.
pub(super) fn shown(text: &str) -> String {
    if text.len() <= GranuleId::MAX_BYTES {
        return quoted(text).to_string();
    }
    let start: String = text.chars().take(80).collect();
    format!("{} …", quoted(&start))
}

fn listed(columns: &[String]) -> String {
    let first = columns.iter().take(MAX_LISTED_COLUMNS);
    let mut text = first.map(|column| shown(column)).collect::<Vec<_>>().join(", ");
    if columns.len() > MAX_LISTED_COLUMNS {
        text.push_str(", …");
    }
    text
}
