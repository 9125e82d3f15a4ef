//! How a file is to be read.

use super::format::InputFormat;
use crate::model::Day;

/// How a file is to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The format. `None` means that it is detected from the content ([`InputFormat::detect`]).
    pub format: Option<InputFormat>,
    /// The column or field with the ids. `None` means the usual one of the format.
    pub column: Option<String>,
    /// Whether the dates of ingest and deletion are read. If so, a file without them is refused.
    pub with_dates: bool,
    /// The column or field that has the time of ingest. `None` means the usual one.
    pub ingested_column: Option<String>,
    /// The column or field that has the time of deletion. `None` means the usual one, if it exists.
    pub deleted_column: Option<String>,
    /// Events that a file dates without a time are left out on this day and later, and counted
    /// ([`super::Events::left_out`]): such a day can still get more of them. `None` means that
    /// all are read.
    pub unfinished_day: Option<Day>,
}
