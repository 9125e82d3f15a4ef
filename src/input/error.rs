//! What is wrong with an input file. The line is added where it is known.

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

/// How many columns a message names.
pub(super) const MAX_LISTED_COLUMNS: usize = 20;

impl Error {
    /// The same error, which was found in a line of a file, unless it is located already. One that
    /// concerns the whole file is located in line 1.
    pub(crate) fn at_line(self, source_name: &Arc<str>, line: u64) -> Self {
        if self.location().is_some() {
            return self;
        }
        self.at(SourceLocation::Line { source: source_name.clone(), line })
    }

    /// What is wrong, and nothing special can be done about it.
    pub(super) fn input(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Input, message)
    }

    /// A text that is refused, with the reason.
    pub(super) fn refused(
        class: impl Into<Class>,
        text: &str,
        cause: impl std::fmt::Display,
    ) -> Self {
        Error::new(class, format!("{} is refused: {cause}", shown(text)))
    }

    /// Not a granule id.
    pub(crate) fn not_an_id(text: &str, cause: ParseError) -> Self {
        Error::refused(ErrorDetail::NotAGranuleId, text, cause)
    }

    /// The requested column does not exist in the file.
    pub(super) fn no_column(column: &str, columns: &[String]) -> Self {
        let columns = listed(columns);
        let message = format!("there is no column {}; the columns are {columns}", quoted(column));
        Error::new(ErrorDetail::NoColumn, message)
    }

    /// A table without any column that usually has the ids.
    pub(super) fn no_usual_column(columns: &[String]) -> Self {
        let columns = listed(columns);
        let message =
            format!("no column has a usual name for granule ids; the columns are {columns}");
        Error::new(ErrorDetail::NoColumn, message)
    }

    /// A table whose first row is data.
    pub(super) fn no_header() -> Self {
        let message =
            "no column has a usual name for granule ids, and the first row looks like data";
        Error::new(ErrorDetail::NoColumn, message).with_hint(
            "--no-header --column 1 reads the ids in the first column of all rows; if each line is one id, --format lines (inputs.md, Tables)",
        )
    }

    /// A row, or a value in a document, that does not end within [`MAX_ROW_BYTES`].
    fn row_too_long() -> Self {
        Error::input(format!(
            "a row has more than {MAX_ROW_BYTES} bytes: is a closing quote missing?"
        ))
    }

    /// A file without dates, although they are needed.
    pub(super) fn no_dates() -> Self {
        Error::new(ErrorDetail::NoDates, "the file has no dates of ingest")
    }

    /// A granule without a date of ingest.
    pub(super) fn no_ingest_date() -> Self {
        Error::new(ErrorDetail::NoDates, "the granule has no date of ingest")
    }

    /// Columns are named, and the format has none.
    pub(super) fn not_a_table() -> Self {
        Error::new(ErrorDetail::NotOfFormat, "the file is not a table, so it has no columns")
    }

    /// A response without its list of granules, such as one that reports an error.
    pub(super) fn no_list(path: &[&str]) -> Self {
        Error::new(ErrorDetail::NoList, format!("there is no list at {}", path.join(".")))
    }

    /// An object without a field, or with a value there that is not a string.
    pub(super) fn no_field(field: &str) -> Self {
        Error::new(ErrorDetail::NoField, format!("there is no string at {field}"))
    }

    /// A key that occurs twice in one object.
    pub(super) fn duplicate_key(key: &str) -> Self {
        Error::input(format!("the key {} occurs twice in one object", shown(key)))
    }

    /// Not JSON, or not of the structure that the format has.
    pub(super) fn not_json() -> Self {
        Error::input("this is not valid JSON")
    }

    /// Not a product delivery record.
    pub(super) fn not_a_pdr() -> Self {
        Error::input(
            "a line of a delivery record is NAME = VALUE; and each OBJECT has its END_OBJECT",
        )
    }

    /// Not a valid manifest.
    pub(crate) fn not_a_manifest(what: &str) -> Self {
        Error::new(ErrorKind::PrimaryInvalid, format!("not a manifest: {what}"))
    }

    /// A file that ends in the middle of a value.
    pub(super) fn truncated() -> Self {
        Error::input("the file is truncated")
    }

    /// A file that cannot be read any further.
    pub(crate) fn unreadable(cause: &io::Error) -> Self {
        if cause.get_ref().is_some_and(|inner| inner.is::<RationSpent>()) {
            return Error::row_too_long();
        }
        Error::input(match cause.kind() {
            io::ErrorKind::IsADirectory => "this is a directory, not a file".to_owned(),
            // Only decompression returns these: reading a plain file simply ends.
            io::ErrorKind::UnexpectedEof => "the gzip file is truncated".to_owned(),
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                format!("the gzip file is damaged: {}", Error::chain_of(cause))
            }
            _ => format!("the file cannot be read: {}", Error::chain_of(cause)),
        })
    }
}

/// Refuses a file that begins like a document that is none of the formats: a page that a server sends in
/// place of a file, the response of a catalogue in its XML, or a table in a binary format.
pub(super) fn refuse_foreign(text: &[u8]) -> Result<(), Error> {
    // An id may begin like one, too: of text, the rest of a tag, a declaration or a comment follows, and of
    // a binary format control characters.
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

/// Reads an id.
pub(super) fn granule_id(bytes: &[u8]) -> Result<GranuleId, Error> {
    GranuleId::from_bytes(bytes)
        .map_err(|cause| Error::not_an_id(&String::from_utf8_lossy(bytes), cause))
}

/// Quotes what was read. An id is shown in full, since people copy it from the message; of a string
/// that is too long to be an id, only the first 80 characters are shown.
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
