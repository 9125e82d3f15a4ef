//! Where in somebody's input a value stands.

use std::fmt;
use std::sync::Arc;

/// Where in somebody's input a value stands, as messages name it: `ids.txt:12`, `argument 3`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SourceLocation {
    /// A line of a file or stream.
    Line {
        /// The file as it was named, or `standard input`.
        source: Arc<str>,
        /// Counted from 1.
        line: u64,
    },
    /// An argument of the command line.
    Argument {
        /// Counted from 1 among the arguments of its kind.
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
