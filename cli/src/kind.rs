//! The kinds of errors of the command line.

use accession::ErrorKind;

/// The kind of an error, from the library or from the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A kind of the library.
    Library(ErrorKind),
    /// The server cannot listen on an address.
    CannotListen,
    /// Some machines of a cluster cannot be reached, so the output lacks their data.
    Incomplete,
    /// The output cannot be written.
    Output,
}

impl Kind {
    /// The stable name, for scripts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Library(kind) => kind.as_str(),
            Kind::CannotListen => "cannot-listen",
            Kind::Incomplete => "machines-missing",
            Kind::Output => "output",
        }
    }
}

impl From<ErrorKind> for Kind {
    fn from(kind: ErrorKind) -> Self {
        Kind::Library(kind)
    }
}

impl PartialEq<ErrorKind> for Kind {
    fn eq(&self, other: &ErrorKind) -> bool {
        *self == Kind::Library(*other)
    }
}
