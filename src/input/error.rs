//! What can be wrong with somebody's file, and where.

use std::io;
use std::sync::Arc;

use crate::model::{GranuleIdError, TimestampError, quoted};

/// What is wrong with a file, and where.
#[derive(Debug, thiserror::Error)]
#[error("{}:{line}: {fault}", source_name.escape_debug())]
pub struct Error {
    /// The file as it was named.
    pub source_name: Arc<str>,
    /// The line, counted from 1.
    pub line: u64,
    /// What is wrong there.
    pub fault: Fault,
}

/// What can be wrong at a place of a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Not a granule id.
    #[error("{} is refused: {cause}", shown(text))]
    GranuleId {
        /// The text, or as much of it as shows what it is.
        text: String,
        /// Why it is none.
        cause: GranuleIdError,
    },
    /// No such column.
    #[error("there is no column {}; there are {}", quoted(column), listed(columns))]
    NoColumn {
        /// The column asked for.
        column: String,
        /// Those there are.
        columns: Vec<String>,
    },
    /// None of the columns that usually have ids.
    #[error("no column has a name that granule ids usually have; there are {}", listed(columns))]
    NoUsualColumn {
        /// Those there are.
        columns: Vec<String>,
    },
    /// A header that names the column twice.
    #[error("there are two columns {}", quoted(column))]
    TwoColumns {
        /// The column.
        column: String,
    },
    /// A row with more or fewer cells than the header.
    #[error(
        "a row of {cells} cells, where the header has {columns}: the file is cut, or not a table"
    )]
    Cells {
        /// How many cells the row has.
        cells: usize,
        /// How many the header has.
        columns: usize,
    },
    /// A row that does not end.
    #[error("a row of more than {} bytes: is a quote missing?", super::MAX_ROW_BYTES)]
    RowTooLong,
    /// Not a time, or one without an offset.
    #[error("{} is refused: {cause}", shown(text))]
    Time {
        /// The text.
        text: String,
        /// Why it is none.
        cause: TimestampError,
    },
    /// A file without dates, where they are needed.
    #[error("there are no dates of ingest here")]
    NoDates,
    /// A granule without a date of ingest.
    #[error("the granule has no date of ingest")]
    NoIngestDate,
    /// A change log, where granules are asked for.
    #[error("this is a history, not a list of granules")]
    IsAHistory,
    /// A line that is none of a change log.
    #[error("a line of a change log is a time, a TAB, + or -, a TAB, and an id")]
    NotAChange,
    /// An answer without its list: of an error, perhaps.
    #[error("there is no list at {field}")]
    NoList {
        /// Where it should be.
        field: String,
    },
    /// An object without the field.
    #[error("there is no text at {field}")]
    NoField {
        /// Which field.
        field: String,
    },
    /// Not JSON.
    #[error("this is not JSON as it should be")]
    NotJson,
    /// Not a product delivery record.
    #[error("a line of a delivery record is NAME = VALUE; and objects end as they begin")]
    NotAPdr,
    /// Not a manifest as it should be.
    #[error("not a manifest: {what}")]
    Manifest {
        /// What is wrong with it.
        what: String,
    },
    /// A file that ends in the middle.
    #[error("the file ends in the middle: it is cut")]
    Cut,
    /// A page, where a list should be.
    #[error("this is HTML or XML, not a list of granules")]
    Markup,
    /// Something else behind the name of a compressed file.
    #[error("the name ends in .gz, and this is no gzip")]
    NotGzip,
    /// A document in none of the formats.
    #[error("a JSON array is none of the formats")]
    UnknownFormat,
    /// The file cannot be read on.
    #[error("cannot read on: {cause}")]
    Unreadable {
        /// What the operating system said.
        cause: io::Error,
    },
}

impl Error {
    pub(crate) fn new(source_name: &Arc<str>, line: u64, fault: Fault) -> Self {
        Error { source_name: source_name.clone(), line, fault }
    }

    /// What to do next, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        let hint = match self.fault {
            Fault::NoColumn { .. } | Fault::NoUsualColumn { .. } => {
                "name one of them with --column; --format lines takes each line as one granule"
            }
            Fault::GranuleId { .. } => "nothing was changed; mend the file, and try again",
            Fault::Cells { .. } => "--format lines takes each line as one granule",
            Fault::Time { cause: TimestampError::NoOffset, .. } => {
                "nothing was changed; add the offset, or Z if the times are UTC"
            }
            Fault::NoDates | Fault::NoIngestDate => {
                "an import needs a column ingested, or a change log; `accession ingest` takes lists"
            }
            Fault::IsAHistory => "`accession import` takes change logs and manifests",
            Fault::NoList { .. } => "see whether the answer is an error, or of another --format",
            Fault::NoField { .. } => "name the field with --column",
            Fault::UnknownFormat => {
                "write one object a line (jq -c '.[]'), and name the field with --column; or one id a \
                 line (jq -r '.[]')"
            }
            Fault::Markup => "perhaps a server answered with a page about an error; get it again",
            Fault::NotGzip => "get it again, or give it the name of what it is",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// Ids that may be copied are shown whole; what is far too long to be one, only its beginning.
fn shown(text: &str) -> String {
    if text.len() <= 2_048 {
        return quoted(text).to_string();
    }
    let start: String = text.chars().take(64).collect();
    format!("{} …", quoted(&start))
}

fn listed(columns: &[String]) -> String {
    columns.iter().map(|column| quoted(column).to_string()).collect::<Vec<_>>().join(", ")
}
