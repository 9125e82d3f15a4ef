//! The schema: the migrations that create it, and which of them a registry has.

use super::connection::Connection;
use super::parameter::integer;
use crate::store::{Error, Result};

/// The SQL that brings a registry from schema `n` to `n + 1`, by `n`. A released one is never
/// edited.
const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/postgres/V1__registry.sql"),
    include_str!("../../../migrations/postgres/V2__mirror_memory.sql"),
];

/// The schema of this version.
pub(super) const VERSION: u32 = MIGRATIONS.len() as u32;

/// What a registry states about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stated {
    /// Distinguishes it from another registry at the same address.
    pub registry_id: String,
    /// Its schema.
    pub version: u32,
    /// The registry that it is an unfinished copy of. `None` means that it is complete.
    pub copied_from: Option<String>,
}

impl Stated {
    /// Reads the columns `registry_id`, `version` and `copied_from`, in text.
    ///
    /// # Errors
    ///
    /// [`Error::NotARegistry`]: the table is empty.
    pub fn of(row: &[Option<String>]) -> Result<Self> {
        let [Some(registry_id), Some(version), copied_from, ..] = row else {
            let what = "the table accession.registry is empty".to_owned();
            return Err(Error::NotARegistry { what });
        };
        let version = version
            .parse()
            .map_err(|_| Error::NotARegistry { what: format!("its schema is {version:?}") })?;
        Ok(Stated { registry_id: registry_id.clone(), version, copied_from: copied_from.clone() })
    }

    /// Refuses a registry that this version cannot use.
    ///
    /// # Errors
    ///
    /// [`Error::Newer`]; [`Error::Older`].
    pub fn check_version(&self) -> Result<()> {
        match self.version {
            found if found > VERSION => Err(Error::Newer { found, known: VERSION }),
            VERSION => Ok(()),
            found => Err(Error::Older { found, known: VERSION }),
        }
    }
}

/// Creates the schema `accession` and everything in it, within the present transaction.
///
/// # Errors
///
/// [`Error::Exists`]: there is a registry. [`Error::NotARegistry`]: there is a schema of that name
/// with something else in it. [`Error::Unstorable`]: the database does not store UTF-8.
pub(super) fn create(connection: &Connection) -> Result<()> {
    // The schema may have been created for a role that may not create any itself.
    const FOUND: &str = "
        SELECT to_regnamespace('accession') IS NOT NULL,
            to_regclass('accession.registry') IS NOT NULL,
            current_setting('server_encoding'),
            current_setting('server_version_num')::integer";
    const CREATE: &str = "CREATE SCHEMA accession";
    const STATE: &str = "
        INSERT INTO accession.registry (registry_id, version)
        VALUES (gen_random_uuid(), $1)";
    const WRITER: &str = "
        INSERT INTO accession.writer (dataset_id)
        VALUES (0)";
    let row = connection.query_opt(FOUND, &[])?.ok_or(Error::Missing)?;
    let (has_schema, has_registry): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    if has_registry {
        return Err(Error::Exists);
    }
    let (encoding, server): (String, i32) = (row.try_get(2)?, row.try_get(3)?);
    check_server(&encoding, server)?;
    // Whoever creates the same one waits here, and then finds it.
    let taken = |error: Error| match error {
        Error::Conflict { .. } => Error::Exists,
        Error::Server { code, .. } if ["42P06", "42P07"].contains(&code.as_str()) => Error::Exists,
        other => other,
    };
    if !has_schema {
        connection.run(CREATE).map_err(taken)?;
    }
    for migration in MIGRATIONS {
        connection.run(migration).map_err(taken)?;
    }
    connection.execute(STATE, &[integer(VERSION as i32)])?;
    connection.execute(WRITER, &[])?;
    Ok(())
}

fn check_server(encoding: &str, server: i32) -> Result<()> {
    let what = if encoding != "UTF8" {
        format!("the database stores text as {encoding}, and a registry needs UTF8")
    } else if server < 130_000 {
        format!("the server is PostgreSQL {}, and a registry needs 13 or newer", server / 10_000)
    } else {
        return Ok(());
    };
    Err(Error::NotARegistry { what })
}

/// Runs the migrations that have not been applied: all of them, or none.
///
/// The version is read under a lock on its row, so if two processes migrate one registry, the
/// second has nothing to do.
pub(super) fn migrate(connection: &Connection) -> Result<()> {
    const VERSION_LOCKED: &str = "
        SELECT version
        FROM accession.registry
        FOR UPDATE";
    const SET: &str = "
        UPDATE accession.registry
        SET version = $1";
    let row = connection.query_opt(VERSION_LOCKED, &[])?.ok_or(Error::Missing)?;
    let found: i32 = row.try_get(0)?;
    for migration in MIGRATIONS.get(found as usize..).unwrap_or_default() {
        connection.run(migration)?;
    }
    if (found as u32) < VERSION {
        connection.execute(SET, &[integer(VERSION as i32)])?;
    }
    Ok(())
}
