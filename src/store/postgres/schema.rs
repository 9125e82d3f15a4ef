//! The schema: the migrations that create it, and which of them a registry has.

use std::collections::BTreeMap;

use super::connection::{Connection, value};
use crate::store::statement::Value;
use crate::store::{Error, ErrorKind, Result};

/// The SQL that brings a registry from schema `n` to `n + 1`, by `n`. A released one is never
/// edited.
const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/postgres/V1__registry.sql"),
    include_str!("../../../migrations/postgres/V2__mirror_memory.sql"),
    include_str!("../../../migrations/postgres/V3__mirror_checksums.sql"),
    include_str!("../../../migrations/postgres/V4__annotations.sql"),
    include_str!("../../../migrations/postgres/V5__fixity.sql"),
    include_str!("../../../migrations/postgres/V6__fixity_checks.sql"),
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
    /// [`ErrorKind::NotARegistry`]: the table is empty.
    pub fn of(row: &[Option<String>]) -> Result<Self> {
        let [Some(registry_id), Some(version), copied_from, ..] = row else {
            let what = "the table accession.registry is empty".to_owned();
            return Err(Error::not_a_registry(what));
        };
        let version = version
            .parse()
            .map_err(|_| Error::not_a_registry(format!("its schema is {version:?}")))?;
        Ok(Stated { registry_id: registry_id.clone(), version, copied_from: copied_from.clone() })
    }

    /// Refuses a registry that this version cannot use.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Newer`]; [`ErrorKind::Older`].
    pub fn check_version(&self) -> Result<()> {
        match self.version {
            found if found > VERSION => Err(Error::newer(found, VERSION)),
            VERSION => Ok(()),
            found => {
                let message = format!(
                    "the registry has schema {found}, and this version reads schema {VERSION} of a server"
                );
                Err(Error::stored(ErrorKind::Older, message))
            }
        }
    }
}

/// Creates the schema `accession` and everything in it, within the present transaction.
///
/// # Errors
///
/// [`ErrorKind::RegistryExists`]: there is a registry. [`ErrorKind::NotARegistry`]: there is a schema of that name
/// with something else in it. [`ErrorKind::Unstorable`]: the database does not store UTF-8.
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
    let row = connection.query_opt(FOUND, &[])?.ok_or_else(Error::missing)?;
    let (has_schema, has_registry): (bool, bool) = (value(&row, 0)?, value(&row, 1)?);
    if has_registry {
        return Err(Error::exists());
    }
    let (encoding, server): (String, i32) = (value(&row, 2)?, value(&row, 3)?);
    check_server(&encoding, server)?;
    // Whoever creates the same one waits here, and then finds it.
    let taken = |error: Error| match error.kind() {
        ErrorKind::Duplicate => Error::exists(),
        _ => error,
    };
    if !has_schema {
        connection.run(CREATE).map_err(taken)?;
    }
    for migration in MIGRATIONS {
        connection.run_each(&statements(migration)).map_err(taken)?;
    }
    connection.execute(STATE, &[VERSION.into()])?;
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
    Err(Error::not_a_registry(what))
}

/// The triggers of the schema: the name of each with that of its table, and the last statement that
/// creates it (V6 replaces tables).
pub(super) fn triggers() -> BTreeMap<String, String> {
    let statements = MIGRATIONS.iter().flat_map(|migration| statements(migration));
    let named = statements.filter_map(|statement| {
        let (_, rest) = statement.split_once("CREATE TRIGGER ")?;
        let (name, rest) = rest.split_once(' ')?;
        let (_, rest) = rest.split_once(" ON ")?;
        let table = rest.split_whitespace().next()?;
        Some((format!("{name} ON {table}"), statement.clone()))
    });
    named.collect()
}

/// Runs the migrations that have not been applied: all of them, or none; and grants the privileges on
/// what they add.
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
    let row = connection.query_opt(VERSION_LOCKED, &[])?.ok_or_else(Error::missing)?;
    let found: i32 = value(&row, 0)?;
    if found as u32 >= VERSION {
        return Ok(());
    }
    let before = tables(connection)?;
    for migration in MIGRATIONS.get(found as usize..).unwrap_or_default() {
        connection.run_each(&statements(migration))?;
    }
    grant(connection, &before)?;
    connection.execute(SET, &[VERSION.into()])
}

/// The tables and views of the schema, each by its number, which another of the same name does not have.
fn tables(connection: &Connection) -> Result<Vec<String>> {
    const TABLES: &str = "
        SELECT oid::text
        FROM pg_class
        WHERE relnamespace = 'accession'::regnamespace AND relkind IN ('r', 'v')";
    connection.query(TABLES, &[])?.iter().map(|row| value(row, 0)).collect()
}

/// Grants the privileges on what a migration has added: on a table to everybody who may read or fill
/// `granule`, the same, and to everybody who may lock a dataset, what changes the added tables; on a
/// column to everybody who may change another column of its table. A table that was there `before`, for
/// which somebody has granted anything, is otherwise left as it is; one that was added has what the
/// default privileges of the database grant, too.
///
/// # Errors
///
/// Those of the statements.
fn grant(connection: &Connection, before: &[String]) -> Result<()> {
    // What writes a table beside INSERT, of those that were added after the first migration.
    const GRANTS: &str = "
        WITH change (relname, privilege) AS (
            VALUES ('mirror_source', 'UPDATE (read, identical, etag, pulled, options, failed, failure, files)'),
                ('mirror_source', 'DELETE'), ('log_change', 'DELETE'),
                ('confirmation', 'UPDATE (recorded, recorded_by, granules)'),
                ('fixity_run',
                 'UPDATE (to_id, lease_to_id, lease_ends, ended, files, bytes, findings, forgotten)'),
                ('fixity_finding', 'UPDATE (closed, closed_by)')),
        more (relname, beside, privilege) AS (
            VALUES ('dataset', 'archive',
                    'UPDATE (granule_url, keywords, free_access, temporal, max_delete, max_add)'),
                ('dataset_name', 'renamed', 'UPDATE (dataset_id)'),
                ('mirror_source', 'etag', 'UPDATE (pulled, options, failed, failure, files), DELETE')),
        added AS (
            SELECT relname
            FROM pg_class
            WHERE relnamespace = 'accession'::regnamespace AND relkind IN ('r', 'v')
              AND (relacl IS NULL OR oid::text <> ALL ($1))),
        held AS (
            SELECT relname, granted.*
            FROM pg_class, aclexplode(relacl) AS granted
            WHERE oid IN ('accession.granule'::regclass, 'accession.writer'::regclass)
            UNION
            SELECT relname, granted.*
            FROM pg_class, pg_attribute, aclexplode(attacl) AS granted
            WHERE oid = attrelid AND oid = 'accession.writer'::regclass),
        needed AS (
            SELECT added.relname, privilege_type AS privilege, grantee
            FROM added, held
            WHERE held.relname = 'granule' AND privilege_type IN ('SELECT', 'INSERT')
            UNION
            SELECT added.relname, change.privilege, grantee
            FROM added JOIN change ON change.relname = added.relname, held
            WHERE held.relname = 'writer' AND privilege_type = 'UPDATE'
            UNION
            SELECT relname, more.privilege, grantee
            FROM more
            JOIN pg_attribute ON attrelid = ('accession.' || relname)::regclass AND attname = beside,
                aclexplode(attacl)
            WHERE privilege_type = 'UPDATE')
        SELECT format('GRANT %s ON accession.%I TO %s', privilege, relname,
            CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END)
        FROM needed
        ORDER BY 1";
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    let rows = connection.query(GRANTS, &[Value::Texts(&before)])?;
    let grants = rows.iter().map(|row| value(row, 0)).collect::<Result<Vec<String>>>()?;
    if grants.is_empty() { Ok(()) } else { connection.run_each(&grants).map(drop) }
}

/// The statements of a migration. Citus sends the text of a message on to other machines, so each
/// statement is one.
fn statements(migration: &str) -> Vec<String> {
    let mut statements = Vec::new();
    let mut statement = String::new();
    let mut is_in_body = false;
    for line in migration.lines() {
        let line = line.split_once("--").map_or(line, |(before, _)| before).trim_end();
        statement.push_str(line);
        statement.push('\n');
        is_in_body ^= line.matches("$$").count() % 2 == 1;
        if line.ends_with(';') && !is_in_body {
            statements.push(std::mem::take(&mut statement));
        }
    }
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_migration_is_divided_into_its_statements() {
        let sql = "-- a; b\nCREATE TABLE a (\n  x text -- of a;\n);\nCREATE FUNCTION f() AS $$\nBEGIN;\n  x;\nEND $$;\n";
        let [table, function] = statements(sql).try_into().unwrap();
        assert_eq!(table, "\nCREATE TABLE a (\n  x text\n);\n");
        assert!(function.ends_with("x;\nEND $$;\n"), "{function}");
        for migration in MIGRATIONS {
            let statements = statements(migration);
            let words = ["CREATE ", "ALTER ", "COMMENT ", "DROP "];
            for statement in &statements {
                assert!(
                    words.iter().any(|word| statement.trim_start().starts_with(word)),
                    "{statement}"
                );
            }
            let last = migration.trim_end().rsplit('\n').next().unwrap();
            assert!(statements.last().unwrap().trim_end().ends_with(last));
        }
    }
}
