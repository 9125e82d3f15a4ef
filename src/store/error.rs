//! The errors of a registry file.

use std::io;
use std::path::PathBuf;

use crate::disk;
use crate::model::quoted;

/// An error of a registry file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file does not exist.
    #[error("there is no registry here")]
    Missing,
    /// A file already exists at the path of a new registry.
    #[error("there is a file or a registry here already")]
    Exists,
    /// The file is not a registry.
    #[error("not a registry: {what}")]
    NotARegistry {
        /// What it is instead.
        what: String,
    },
    /// The file was written by a newer version of this software.
    #[error("the registry has schema {found}, but this version supports only schemas 1 to {known}")]
    Newer {
        /// The schema of the file.
        found: u32,
        /// The newest schema that this version supports.
        known: u32,
    },
    /// Another process is writing, and did not finish within the busy wait.
    #[error("another process was writing to the registry and did not finish in time")]
    Busy,
    /// A registry that can have only one connection has a snapshot that is still open.
    #[error(
        "the registry has only one connection, which a snapshot or another operation still uses"
    )]
    InUse,
    /// The disk, or a quota, is full.
    #[error("the disk is full")]
    Full,
    /// A registry cannot be created beside the `-wal` or `-journal` file of one that no longer
    /// exists.
    #[error(
        "there is no registry here, but {} contains changes to one that existed",
        quoted(&path.to_string_lossy())
    )]
    Orphaned {
        /// The file with the changes.
        path: PathBuf,
    },
    /// A registry was renamed to be replaced; that failed, and it cannot be renamed back.
    #[error(
        "{} was moved to {}, and cannot be moved back",
        quoted(&from.to_string_lossy()),
        quoted(&to.to_string_lossy())
    )]
    MovedAway {
        /// Where it was.
        from: PathBuf,
        /// Where it is.
        to: PathBuf,
        /// Why it was not replaced.
        source: Box<Error>,
    },
    /// The file cannot be written.
    #[error("the registry cannot be written")]
    ReadOnly,
    /// The file or its directory cannot be opened.
    #[error("cannot open the registry, or the -wal and -shm files beside it")]
    CannotOpen,
    /// The path is too long for SQLite.
    #[error("the absolute path is {bytes} bytes long, but only {most} are allowed")]
    PathTooLong {
        /// The length of the absolute path in bytes, with links resolved.
        bytes: usize,
        /// The greatest length that is allowed, in bytes.
        most: usize,
    },
    /// The name belongs to a file that SQLite creates and deletes beside a registry.
    #[error("a name that ends in -wal, -shm or -journal belongs to a registry beside it")]
    ReservedName,
    /// The file changed while it was read without locks.
    #[error("the registry changed while it was being read")]
    Changed,
    /// The path no longer refers to the file that was opened.
    #[error("the registry was moved, removed or replaced while it was open")]
    Replaced,
    /// The content of the file is damaged.
    #[error("the registry is damaged: {what}")]
    Damaged {
        /// What is wrong, and where.
        what: String,
    },
    /// The disk failed to read, write or sync. A full disk may report this too.
    #[error("the disk failed, or is full")]
    Disk(#[source] rusqlite::Error),
    /// A value is longer than any value in a registry.
    #[error("a string is too long: a row has at most {most_bytes} bytes")]
    TooLong {
        /// The greatest length of a row, in bytes.
        most_bytes: usize,
    },
    /// SQLite needs more memory than it may use.
    #[error("SQLite needs more than the {mebibytes} MiB that it may use: is a row too long?")]
    Memory {
        /// The limit, in MiB.
        mebibytes: u32,
    },
    /// A temporary file cannot be created or used.
    #[error(
        "cannot use the directory {} for temporary files (the environment variable TMPDIR names another)",
        quoted(&directory.to_string_lossy())
    )]
    Temporary {
        /// The directory for temporary files.
        directory: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// An operation on a file failed.
    #[error("cannot {verb} {}", quoted(&path.to_string_lossy()))]
    Io {
        /// The operation that failed, as a verb.
        verb: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the operating system reported.
        source: io::Error,
    },
    /// The address of a server cannot be read.
    #[error("the address of the registry cannot be read: {what}")]
    Address {
        /// What is wrong with it. The address is not repeated, since it can contain a password.
        what: String,
    },
    /// The server cannot be reached, or refuses the connection.
    #[error("cannot connect to the server: {what}")]
    Unreachable {
        /// What the server or the network reported.
        what: String,
    },
    /// The connection to the server was lost before the change was committed, or during a read.
    #[error("the connection to the server was lost: {what}")]
    ConnectionLost {
        /// What the server or the network reported.
        what: String,
    },
    /// The connection was lost while the change was committed, and the server could not be asked
    /// afterwards.
    #[error(
        "it is not known whether the change was made: the connection to the server was lost during the commit, and the server cannot be asked"
    )]
    OutcomeUnknown,
    /// The change was made, but a machine of a cluster did not finish it in time.
    #[error(
        "the change was made, but cannot be seen yet: a machine of the cluster was lost during the commit"
    )]
    NotVisible,
    /// Other changes interfered with this one, again and again.
    #[error("other changes interfered with this one: {what}")]
    Conflict {
        /// What the server reported.
        what: String,
    },
    /// The role lacks a privilege.
    #[error("the server denies this to the role: {what}")]
    Denied {
        /// What the server reported.
        what: String,
    },
    /// The server cancelled a statement.
    #[error("the server cancelled a statement: {what}")]
    Cancelled {
        /// What the server reported.
        what: String,
    },
    /// The registry has an older schema, and was opened for reading only.
    #[error("the registry has schema {found}, and this version reads schema {known} of a server")]
    Older {
        /// The schema of the registry.
        found: u32,
        /// The schema that this version supports.
        known: u32,
    },
    /// The registry is an unfinished copy of another.
    #[error("the registry is an unfinished copy of {}", quoted(source_name))]
    Unfinished {
        /// The path or the address of the other.
        source_name: String,
    },
    /// A value that the server cannot store.
    #[error("the server cannot store {what}")]
    Unstorable {
        /// The value.
        what: String,
    },
    /// The operation is for a registry in a file.
    #[error("{what} is for a registry in a file, and this one is on a server")]
    NotAFile {
        /// The operation.
        what: &'static str,
    },
    /// The operation is for a registry on a server.
    #[error("{what} is for a registry on a server, and this one is a file")]
    NotAServer {
        /// The operation.
        what: &'static str,
    },
    /// The database lacks the extension that distributes tables.
    #[error("the extension citus is not installed in the database")]
    NoCitus,
    /// Another error that the server reported.
    #[error("the server reported error {code}: {message}")]
    Server {
        /// Its SQLSTATE.
        code: String,
        /// Its message.
        message: String,
    },
    /// This program was built without PostgreSQL.
    #[error("this program was built without the feature `postgres`")]
    NoPostgres,
    /// Another error that SQLite reported.
    #[error("the database reported an error")]
    Database(#[source] rusqlite::Error),
}

impl From<disk::Error> for Error {
    fn from(error: disk::Error) -> Self {
        match error {
            disk::Error::Exists { .. } => Error::Exists,
            disk::Error::ReservedName { .. } => Error::ReservedName,
            disk::Error::Scratch { directory, source, .. } => {
                Error::Temporary { directory, source: source.into() }
            }
            disk::Error::Io { verb, path, source } => Error::Io { verb, path, source },
        }
    }
}

impl Error {
    /// The stable name of the error kind, for scripts.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Missing => "registry-missing",
            Error::Exists => "registry-exists",
            Error::NotARegistry { .. } => "not-a-registry",
            Error::Newer { .. } => "newer",
            Error::Busy | Error::InUse => "busy",
            Error::Orphaned { .. } => "orphaned",
            Error::MovedAway { .. } => "moved-away",
            Error::Full => "full",
            Error::ReadOnly => "read-only",
            Error::CannotOpen => "cannot-open",
            Error::PathTooLong { .. } => "path-too-long",
            Error::ReservedName => "reserved-name",
            Error::Changed => "changed",
            Error::Replaced => "replaced",
            Error::Damaged { .. } => "damaged",
            Error::TooLong { .. } => "too-long",
            Error::Memory { .. } => "memory",
            Error::Temporary { .. } => "temporary",
            Error::Interrupted => "interrupted",
            Error::Disk(_) | Error::Io { .. } => "io",
            Error::Address { .. } => "registry-address",
            Error::Unreachable { .. } => "unreachable",
            Error::ConnectionLost { .. } => "connection-lost",
            Error::OutcomeUnknown => "outcome-unknown",
            Error::NotVisible => "not-visible",
            Error::Conflict { .. } => "conflict",
            Error::Denied { .. } => "denied",
            Error::Cancelled { .. } => "cancelled",
            Error::Older { .. } => "older",
            Error::Unfinished { .. } => "unfinished-copy",
            Error::Unstorable { .. } => "unstorable",
            Error::NotAFile { .. } => "not-a-file",
            Error::NotAServer { .. } => "not-a-server",
            Error::NoCitus => "no-citus",
            Error::NoPostgres => "no-postgres",
            Error::Database(_) | Error::Server { .. } => "database",
        }
    }

    /// Whether nothing was changed and the same change may succeed if it is made again at once:
    /// other changes interfered with it.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Error::Conflict { .. })
    }

    /// Whether the error concerns the content of the registry or the disk below it, so that another
    /// part of the registry may still be readable.
    pub(crate) fn is_of_content(&self) -> bool {
        matches!(
            self,
            Error::Damaged { .. }
                | Error::NotARegistry { .. }
                | Error::TooLong { .. }
                | Error::Memory { .. }
                | Error::Disk(_)
                | Error::Database(_)
                | Error::Server { .. }
        )
    }
}
