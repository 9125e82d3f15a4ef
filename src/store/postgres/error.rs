//! Converts the driver's errors into errors of a registry.

use std::error::Error as _;

use tokio_postgres::error::{DbError, SqlState};

use crate::store::Error;

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(reported) => of_server(reported),
            None => Error::ConnectionLost { what: with_cause(&error) },
        }
    }
}

impl Error {
    /// Whether a COMMIT that failed with this error may have been done: the answer was lost, or was
    /// not waited for, or a machine of a cluster failed when others had done it.
    pub(super) fn leaves_outcome_open(&self) -> bool {
        match self {
            Error::ConnectionLost { .. } | Error::Cancelled { .. } => true,
            Error::Server { code, .. } => code.starts_with("XX") || code.starts_with("58"),
            _ => false,
        }
    }
}

/// The error of an attempt to connect.
pub(super) fn of_connecting(error: &tokio_postgres::Error) -> Error {
    let what = match error.as_db_error() {
        Some(reported) => reported.message().to_owned(),
        None => with_cause(error),
    };
    Error::Unreachable { what }
}

/// The error that a server reports about a statement. Its detail is not shown, since it can contain
/// whole rows.
fn of_server(reported: &DbError) -> Error {
    let code = reported.code();
    let message = reported.message().to_owned();
    match *code {
        SqlState::LOCK_NOT_AVAILABLE => Error::Busy,
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => {
            Error::Conflict { what: message }
        }
        // Two have added the same dataset. Anything else that is there twice was written under a
        // lock, and would be there again.
        SqlState::UNIQUE_VIOLATION if is_of_constraint(reported, "dataset_name_key") => {
            Error::Conflict { what: message }
        }
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => Error::Damaged { what: message },
        SqlState::READ_ONLY_SQL_TRANSACTION => Error::ReadOnly,
        SqlState::INSUFFICIENT_PRIVILEGE => Error::Denied { what: message },
        SqlState::DISK_FULL => Error::Full,
        SqlState::INVALID_SCHEMA_NAME | SqlState::UNDEFINED_TABLE => Error::Missing,
        SqlState::UNTRANSLATABLE_CHARACTER | SqlState::CHARACTER_NOT_IN_REPERTOIRE => {
            Error::Unstorable { what: "the character NUL".to_owned() }
        }
        SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::CANNOT_CONNECT_NOW
        | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT => Error::ConnectionLost { what: message },
        SqlState::QUERY_CANCELED => Error::Cancelled { what: message },
        _ if code.code().starts_with("08") || is_of_worker(reported) => {
            Error::ConnectionLost { what: message }
        }
        _ => Error::Server { code: code.code().to_owned(), message },
    }
}

/// Whether a constraint was violated. That of a shard has a number after its name.
fn is_of_constraint(reported: &DbError, name: &str) -> bool {
    reported.constraint().is_some_and(|constraint| constraint.starts_with(name))
}

/// Whether Citus lost another machine in the middle of a statement. It has no code of its own for
/// that: it reports an internal error, or one of input and output, from these files.
fn is_of_worker(reported: &DbError) -> bool {
    matches!(*reported.code(), SqlState::INTERNAL_ERROR | SqlState::IO_ERROR)
        && matches!(reported.file(), Some("remote_commands.c" | "multi_copy.c"))
}

pub(super) fn with_cause(error: &tokio_postgres::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
