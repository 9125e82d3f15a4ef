//! How a file is to be read.

use super::format::InputFormat;

/// How a file is to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The format. `None` means that it is detected from the content ([`InputFormat::detect`]).
    pub format: Option<InputFormat>,
    /// The column or field with the ids. `None` means the usual one of the format.
    pub column: Option<String>,
    /// Whether the dates of ingest and deletion are read. If so, a file without them is refused.
    pub with_dates: bool,
}
