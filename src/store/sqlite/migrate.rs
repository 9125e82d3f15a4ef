//! Bringing a file to the schema of this version.

use rusqlite::{Connection, TransactionBehavior};

use super::schema;
use crate::store::{Error, Result};

/// `application_id` of a registry: the letters `accs`, as file(1) shows them.
const APPLICATION_ID: u32 = u32::from_be_bytes(*b"accs");

/// What brings a file from one schema to the next.
#[derive(Clone, Copy)]
pub(super) struct Migration {
    pub(super) sql: &'static str,
    /// Whether it changes rows that are there. Then a copy of the file is kept, since a mistake in
    /// it could not be undone.
    rewrites_rows: bool,
}

/// What brings a file from schema `n` to `n + 1`, by `n`. A released one is never edited.
pub(super) const MIGRATIONS: &[Migration] = &[
    Migration { sql: include_str!("../../../migrations/V1__register.sql"), rewrites_rows: false },
    Migration {
        sql: include_str!("../../../migrations/V2__readable_views.sql"),
        rewrites_rows: false,
    },
    Migration {
        sql: include_str!("../../../migrations/V3__payment_workers.sql"),
        rewrites_rows: false,
    },
    Migration { sql: include_str!("../../../migrations/V4__citations.sql"), rewrites_rows: false },
    Migration {
        sql: include_str!("../../../migrations/V5__second_copies.sql"),
        rewrites_rows: false,
    },
    Migration {
        sql: include_str!("../../../migrations/V6__recorded_by.sql"),
        rewrites_rows: false,
    },
];

/// The schema of this version.
pub(super) const SCHEMA: u32 = MIGRATIONS.len() as u32;

/// What a file says that it is.
#[derive(Clone, Copy)]
pub(super) enum Stamp {
    /// A registry of the schema of this version.
    Current,
    /// A registry of an older schema.
    Older(u32),
}

/// Reads what a file says that it is.
///
/// # Errors
///
/// [`Error::NotARegistry`], [`Error::Newer`], and what reading the first page may give.
pub(super) fn stamp(connection: &Connection) -> Result<Stamp> {
    let application_id: u32 = pragma(connection, "application_id")?;
    if application_id != APPLICATION_ID {
        return Err(Error::NotARegistry {
            what: "the file is an SQLite database of something else".to_owned(),
        });
    }
    match pragma(connection, "user_version")? {
        found if found > SCHEMA => Err(Error::Newer { found, known: SCHEMA }),
        // What is made here has its version from its first moment on.
        0 => Err(Error::NotARegistry { what: "it has the mark of one, and no schema".to_owned() }),
        SCHEMA => Ok(Stamp::Current),
        found => Ok(Stamp::Older(found)),
    }
}

/// Runs the migrations that the file has not had, all or none.
///
/// The version is read under the write lock, so of two processes that migrate one file the second
/// finds nothing left to do. (The crates for this read it before they lock, and fail that race.)
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    run(connection, MIGRATIONS)
}

fn run(connection: &mut Connection, migrations: &[Migration]) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: u32 = pragma(&transaction, "user_version")?;
    schema::check_objects(&transaction, found)?;
    let missing = migrations.get(found as usize..).unwrap_or_default();
    for migration in missing {
        transaction.execute_batch(migration.sql)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", migrations.len() as u32)?;
    Ok(transaction.commit()?)
}

fn pragma(connection: &Connection, name: &str) -> Result<u32> {
    let value: i64 = connection.pragma_query_value(None, name, |row| row.get(0))?;
    // SQLite keeps both as signed 32 bits; a negative version is one we do not know either.
    Ok(value as u32)
}

/// Refuses a registry whose schema is no longer the one it was opened with.
pub(super) fn check_unchanged(connection: &Connection) -> Result<()> {
    match pragma(connection, "user_version")? {
        SCHEMA => Ok(()),
        found => Err(Error::Newer { found, known: SCHEMA }),
    }
}
