//! Converts the driver's errors into errors of a registry.

use std::error::Error as _;

use tokio_postgres::error::{DbError, SqlState};

use crate::store::Error;

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(reported) => of_server(reported),
            // A value in a row that is not of the type of its column.
            None if is_of_value(&error) => Error::Damaged { what: with_cause(&error) },
            None => Error::ConnectionLost { what: with_cause(&error) },
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
        SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::T_R_DEADLOCK_DETECTED
        | SqlState::UNIQUE_VIOLATION => Error::Conflict { what: message },
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
        _ => match code.code().get(..2) {
            // Data corrupted, index corrupted; the checksum of a page.
            Some("XX") => Error::Damaged { what: message },
            Some("08") => Error::ConnectionLost { what: message },
            _ => Error::Server { code: code.code().to_owned(), message },
        },
    }
}

fn is_of_value(error: &tokio_postgres::Error) -> bool {
    let message = error.to_string();
    message.starts_with("error deserializing column") || message.starts_with("invalid column")
}

fn with_cause(error: &tokio_postgres::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
