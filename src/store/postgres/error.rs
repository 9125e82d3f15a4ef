//! Converts the driver's errors into errors of a registry.

use std::fmt;

use tokio_postgres::error::{DbError, SqlState};

use crate::error::ErrorDetail;
use crate::store::{Error, ErrorKind};

/// The SQLSTATE of a cancelled statement.
const CANCELLED: &str = "57014";

impl From<&tokio_postgres::Error> for Error {
    fn from(error: &tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(reported) => of_server(reported),
            None => Error::connection_lost(Error::chain_of(error)),
        }
    }
}

impl Error {
    /// Whether a COMMIT that failed with this error may have been done: its response was lost or not waited
    /// for, or a machine of a cluster failed after others had committed.
    pub(super) fn leaves_outcome_open(&self) -> bool {
        let is_of_server =
            |code: &str| code == CANCELLED || code.starts_with("XX") || code.starts_with("58");
        self.kind() == ErrorKind::ConnectionLost || self.server_code().is_some_and(is_of_server)
    }

    /// Whether the object to create already exists.
    pub(super) fn is_duplicate(&self) -> bool {
        matches!(self.server_code(), Some("23505" | "42P06" | "42P07"))
    }

    /// The server cannot be reached, or rejects the connection.
    pub(super) fn unreachable(what: impl fmt::Display) -> Self {
        Error::stored(ErrorKind::Unreachable, format!("cannot connect to the server: {what}"))
    }

    /// The connection was lost before the change was committed, or during a read.
    pub(super) fn connection_lost(what: impl fmt::Display) -> Self {
        let message = format!("the connection to the server was lost: {what}");
        Error::stored(ErrorKind::ConnectionLost, message)
    }

    /// Other changes interfered with this one.
    pub(super) fn conflict(what: impl fmt::Display) -> Self {
        let message = format!("other changes interfered with this one: {what}");
        Error::stored(ErrorKind::Conflict, message)
    }

    /// Converts the error of a change that is known not to be committed. If only the connection was lost, the
    /// change can be made again, so the result is a conflict.
    pub(super) fn made_again(self) -> Self {
        match self.kind() {
            ErrorKind::ConnectionLost => {
                let message = "other changes interfered with this one";
                Error::stored(ErrorKind::Conflict, message).because(self)
            }
            _ => self,
        }
    }

    /// The connection was lost during the commit, and the server cannot be asked.
    pub(super) fn outcome_unknown() -> Self {
        let message = "it is not known whether the change was made: the connection to the server was lost during the commit, and the server cannot be asked";
        Error::stored(ErrorKind::OutcomeUnknown, message)
    }

    /// A value that the server cannot store.
    pub(super) fn unstorable(what: impl fmt::Display) -> Self {
        Error::stored(ErrorKind::Database, format!("the server cannot store {what}"))
    }
}

/// Converts the error of an attempt to connect.
pub(super) fn of_connecting(error: &tokio_postgres::Error) -> Error {
    match error.as_db_error() {
        Some(reported) => Error::unreachable(reported.message()),
        None => Error::unreachable(Error::chain_of(error)),
    }
}

/// Converts the error that a server reports about a statement. Its detail is left out, since it can contain
/// whole rows.
fn of_server(reported: &DbError) -> Error {
    let (code, message) = (reported.code(), reported.message());
    match *code {
        SqlState::LOCK_NOT_AVAILABLE => Error::busy(),
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => {
            Error::conflict(message)
        }
        // Two writers added the same dataset. Any other duplicate was written under a lock, so a second attempt
        // would fail too.
        SqlState::UNIQUE_VIOLATION if is_of_constraint(reported, "dataset_name_key") => {
            Error::conflict(message)
        }
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => Error::damaged(message),
        SqlState::READ_ONLY_SQL_TRANSACTION => Error::read_only(),
        SqlState::INSUFFICIENT_PRIVILEGE => {
            let message = format!("the server denies this to the role: {message}");
            Error::stored(ErrorKind::Denied, message)
        }
        SqlState::DISK_FULL => Error::full(),
        SqlState::INVALID_SCHEMA_NAME | SqlState::UNDEFINED_TABLE => Error::missing(),
        // A registry of a testing version lacks the columns that this version reads first.
        SqlState::UNDEFINED_COLUMN => Error::other_schema(message),
        SqlState::UNTRANSLATABLE_CHARACTER | SqlState::CHARACTER_NOT_IN_REPERTOIRE => {
            Error::unstorable("the character NUL")
        }
        SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::CANNOT_CONNECT_NOW
        | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT => Error::connection_lost(message),
        SqlState::QUERY_CANCELED => {
            let message = format!("the server cancelled a statement: {message}");
            Error::stored(ErrorDetail::Cancelled, message).reported_as(CANCELLED)
        }
        _ if code.code().starts_with("08") || is_of_worker(reported) => {
            Error::connection_lost(message)
        }
        _ => {
            let code = code.code();
            let message = format!("the server reported error {code}: {message}");
            Error::stored(ErrorKind::Database, message).reported_as(code)
        }
    }
}

/// Whether this constraint was violated. The constraint of a shard has a number after the name.
fn is_of_constraint(reported: &DbError, name: &str) -> bool {
    reported.constraint().is_some_and(|constraint| constraint.starts_with(name))
}

/// Whether Citus lost another machine in the middle of a statement. Citus has no error code for that: it
/// reports an internal error, or an I/O error, from these source files.
fn is_of_worker(reported: &DbError) -> bool {
    matches!(*reported.code(), SqlState::INTERNAL_ERROR | SqlState::IO_ERROR)
        && matches!(reported.file(), Some("remote_commands.c" | "multi_copy.c"))
}
