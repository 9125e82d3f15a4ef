//! Where a value was read.

use std::fmt;
use std::sync::Arc;

/// Where a value was read, as messages name it: `ids.txt:12`, `argument 3`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SourceLocation {
    /// A line of a file or stream.
    Line {
        /// The name of the file as it was given, or `standard input`.
        source: Arc<str>,
        /// The line number, counted from 1.
        line: u64,
    },
    /// An argument of the command line.
    Argument {
        /// The position among the arguments of its kind, counted from 1.
        number: u64,
    },
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceLocation::Line { source, line } => write!(f, "{}:{line}", source.escape_debug()),
            SourceLocation::Argument { number } => write!(f, "argument {number}"),
        }
    }
}
