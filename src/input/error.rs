//! The errors of input files, with their source locations.

use std::io;
use std::sync::Arc;

use super::MAX_ROW_BYTES;
use crate::error::ErrorKind;
use crate::model::{
    ChecksumError, FilePathError, GranuleId, GranuleIdError, SourceLocation, Timestamp,
    TimestampError, quoted,
};

/// How many columns a message names.
pub(super) const MAX_LISTED_COLUMNS: usize = 20;

/// An error in an input file, with its source location.
#[derive(Debug, thiserror::Error)]
#[error("{location}: {kind}")]
pub struct Error {
    /// Where it was found. An error that concerns the whole file is located in line 1.
    pub location: SourceLocation,
    /// The kind of error.
    pub kind: InputErrorKind,
}

/// The kinds of error in an input file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputErrorKind {
    /// Not a granule id.
    #[error("{} is refused: {cause}", shown(text))]
    GranuleId {
        /// What was read, shortened if it is very long.
        text: String,
        /// Why it is not an id.
        cause: GranuleIdError,
    },
    /// Not a payment id.
    #[error("{} is not a payment id", shown(text))]
    PaymentId {
        /// What was read, shortened if it is very long.
        text: String,
    },
    /// The requested column does not exist in the file.
    #[error("there is no column {}; the columns are {}", quoted(column), listed(columns))]
    NoColumn {
        /// The requested column.
        column: String,
        /// The first columns of the file.
        columns: Vec<String>,
    },
    /// A table without any column that usually has the ids.
    #[error("no column has a usual name for granule ids; the columns are {}", listed(columns))]
    NoUsualColumn {
        /// The first columns of the file.
        columns: Vec<String>,
    },
    /// A header that names the column twice.
    #[error("there are two columns named {}", quoted(column))]
    TwoColumns {
        /// The column.
        column: String,
    },
    /// A row with more or fewer cells than the header.
    #[error(
        "the row has {} and the header has {}: the file is truncated, or not a table",
        counted(*cells),
        counted(*columns)
    )]
    Cells {
        /// The number of cells in the row.
        cells: usize,
        /// The number of cells in the header.
        columns: usize,
    },
    /// A row, or a value in a document, that does not end within [`MAX_ROW_BYTES`].
    #[error("a row has more than {MAX_ROW_BYTES} bytes: is a closing quote missing?")]
    RowTooLong,
    /// A line that does not end within what its format allows.
    #[error("the line has more than {max_bytes} bytes")]
    LineTooLong {
        /// The greatest length in bytes.
        max_bytes: u64,
    },
    /// Not a time.
    #[error("{} is refused: {cause}", shown(text))]
    Time {
        /// What was read.
        text: String,
        /// Why it is not a time.
        cause: TimestampError,
    },
    /// A file without dates, although they are needed.
    #[error("the file has no dates of ingest")]
    NoDates,
    /// Columns are named, and the format has none.
    #[error("the file is not a table, so it has no columns")]
    NotATable,
    /// An algorithm is named, and the format has no checksums.
    #[error("the file has no checksums, so it needs no algorithm")]
    NoChecksums,
    /// A granule without a date of ingest.
    #[error("the granule has no date of ingest")]
    NoIngestDate,
    /// A granule that was deleted before it was ingested.
    #[error("the granule was deleted at {deleted}, before it was ingested at {ingested}")]
    DeletedBeforeIngested {
        /// The time of ingest.
        ingested: Timestamp,
        /// The time of deletion.
        deleted: Timestamp,
    },
    /// An event file or a manifest, although a list of granules is expected.
    #[error("this is a history, not a list of granules")]
    IsAHistory,
    /// A line that is not part of an event file.
    #[error("a line of an event file is a time, a TAB, + or -, a TAB, and an id")]
    NotAChange,
    /// A response without its list of granules, such as one that reports an error.
    #[error("there is no list at {field}")]
    NoList {
        /// The path of the list.
        field: String,
    },
    /// An object without a field, or with a value there that is not a string.
    #[error("there is no string at {field}")]
    NoField {
        /// The field.
        field: String,
    },
    /// A key that occurs twice in one object.
    #[error("the key {} occurs twice in one object", shown(key))]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// Not JSON, or not of the structure that the format has.
    #[error("this is not valid JSON")]
    NotJson,
    /// Not a product delivery record.
    #[error("a line of a delivery record is NAME = VALUE; and each OBJECT has its END_OBJECT")]
    NotAPdr,
    /// Not a line of a list of checksums.
    #[error("a line of a list of checksums is a checksum, two blanks, and a path")]
    NotAChecksum,
    /// Not the path of a file.
    #[error("{} is refused: {cause}", shown(text))]
    FilePath {
        /// What was read.
        text: String,
        /// Why it is not a path.
        cause: FilePathError,
    },
    /// Not a size.
    #[error("{} is not a size in bytes", shown(text))]
    Size {
        /// What was read.
        text: String,
    },
    /// Not a checksum of its algorithm, or not the name of one.
    #[error("{} is refused: {cause}", shown(text))]
    Checksum {
        /// What was read.
        text: String,
        /// Why it is not a checksum.
        cause: ChecksumError,
    },
    /// Not a multihash.
    #[error("{} is not a multihash", shown(text))]
    Multihash {
        /// What was read.
        text: String,
    },
    /// A checksum of which it is not known by which algorithm it was computed.
    #[error("the algorithm of the checksum {} is not known", shown(text))]
    NoAlgorithm {
        /// What was read.
        text: String,
    },
    /// Not a valid manifest.
    #[error("not a manifest: {what}")]
    Manifest {
        /// What is wrong with it.
        what: String,
    },
    /// Not the blocks or the ids of a set that a server was asked for.
    #[error("not the list that was asked for: {what}")]
    List {
        /// What is wrong with it.
        what: String,
    },
    /// A file that ends in the middle of a value.
    #[error("the file is truncated")]
    Truncated,
    /// An HTML or XML document.
    #[error("this is an HTML or XML page, not a file of granules")]
    Markup,
    /// UTF-16, as some editors and PowerShell write it.
    #[error("the file is UTF-16, not UTF-8")]
    Utf16,
    /// A directory.
    #[error("this is a directory, not a file")]
    Directory,
    /// A file whose name ends in `.gz` and that is not gzip.
    #[error("the name ends in .gz, but the file is not gzip")]
    NotGzip,
    /// A gzip file without its end.
    #[error("the gzip file is truncated")]
    TruncatedGzip,
    /// A gzip file whose data or checksum is wrong.
    #[error("the gzip file is damaged: {}", crate::Error::chain_of(cause))]
    DamagedGzip {
        /// What is wrong with it.
        cause: io::Error,
    },
    /// A document in none of the formats.
    #[error("a JSON array is not one of the formats")]
    UnknownFormat,
    /// A file that cannot be read.
    #[error("the file cannot be read: {}", crate::Error::chain_of(cause))]
    Unreadable {
        /// What the operating system reported.
        cause: io::Error,
    },
}

impl InputErrorKind {
    fn as_kind(&self) -> ErrorKind {
        use InputErrorKind::*;
        match self {
            GranuleId { .. } => ErrorKind::NotAGranuleId,
            NoColumn { .. } | NoUsualColumn { .. } => ErrorKind::NoColumn,
            Cells { .. } => ErrorKind::Cells,
            Time { cause: TimestampError::NoOffset, .. } => ErrorKind::NoOffset,
            NoDates | NoIngestDate => ErrorKind::NoDates,
            IsAHistory => ErrorKind::IsAHistory,
            NoList { .. } => ErrorKind::NoList,
            NoField { .. } => ErrorKind::NoField,
            UnknownFormat => ErrorKind::UnknownFormat,
            NotATable | NoChecksums => ErrorKind::NotOfFormat,
            Markup => ErrorKind::Markup,
            Manifest { .. } | List { .. } => ErrorKind::NotPublished,
            NotGzip => ErrorKind::NotGzip,
            FilePath { .. } | Size { .. } | Checksum { .. } | Multihash { .. } => {
                ErrorKind::StatedFile
            }
            NoAlgorithm { .. } => ErrorKind::NoAlgorithm,
            _ => ErrorKind::Input,
        }
    }

    /// What is wrong with a file that cannot be read any further.
    pub(crate) fn of_io(cause: io::Error) -> Self {
        match cause.kind() {
            io::ErrorKind::IsADirectory => InputErrorKind::Directory,
            // Only decompression returns these: reading a plain file simply ends.
            io::ErrorKind::UnexpectedEof => InputErrorKind::TruncatedGzip,
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                InputErrorKind::DamagedGzip { cause }
            }
            _ => InputErrorKind::Unreadable { cause },
        }
    }
}

impl Error {
    pub(crate) fn new(source_name: &Arc<str>, line: u64, kind: InputErrorKind) -> Self {
        Error { location: SourceLocation::Line { source: source_name.clone(), line }, kind }
    }
}

impl From<Error> for crate::error::Error {
    fn from(error: Error) -> Self {
        let message = error.kind.to_string();
        crate::error::Error::new(error.kind.as_kind(), message).at(error.location)
    }
}

/// Quotes what was read. An id is shown in full, since people copy it from the message; of a string
/// that is too long to be an id, only the first 80 characters are shown.
fn shown(text: &str) -> String {
    if text.len() <= GranuleId::MAX_BYTES {
        return quoted(text).to_string();
    }
    let start: String = text.chars().take(80).collect();
    format!("{} …", quoted(&start))
}

fn counted(cells: usize) -> String {
    if cells == 1 { "1 cell".to_owned() } else { format!("{cells} cells") }
}

fn listed(columns: &[String]) -> String {
    let first = columns.iter().take(MAX_LISTED_COLUMNS);
    let mut text = first.map(|column| shown(column)).collect::<Vec<_>>().join(", ");
    if columns.len() > MAX_LISTED_COLUMNS {
        text.push_str(", …");
    }
    text
}
