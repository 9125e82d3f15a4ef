//! The schema: the migrations that create it, the version of a registry's schema, and the distribution of its
//! tables over the machines of a Citus cluster.

use std::sync::LazyLock;

use super::connection::{Connection, value};
use crate::error::ErrorDetail;
use crate::store::statement::Value;
use crate::store::{Error, Result};

/// The SQL that migrates a registry from schema `n` to `n + 1`, by `n`.
///
/// Until the first release, the only migration is edited in place. A released migration is never edited.
const MIGRATIONS: &[&str] = &[include_str!("../../../migrations/postgres/V1__registry.sql")];

/// The schema of this version.
pub(super) const VERSION: u32 = MIGRATIONS.len() as u32;

/// The row of the table `registry`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StatedSchema {
    /// Distinguishes the registry from another one at the same address.
    pub registry_id: String,
    /// The version of its schema.
    pub version: u32,
    /// Distinguishes the schema from others that state the same version.
    schema_check: String,
}

impl StatedSchema {
    /// Reads the columns `registry_id`, `version` and `schema_check`, in text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotARegistry`]: the table is empty.
    pub fn of(row: &[Option<String>]) -> Result<Self> {
        let [Some(registry_id), Some(version), Some(schema_check), ..] = row else {
            let what = "the table accession.registry is empty".to_owned();
            return Err(Error::not_a_registry(what));
        };
        let version = version
            .parse()
            .map_err(|_| Error::not_a_registry(format!("its schema is {version:?}")))?;
        Ok(StatedSchema {
            registry_id: registry_id.clone(),
            version,
            schema_check: schema_check.clone(),
        })
    }

    /// Whether migrations are missing.
    pub fn is_older(&self) -> bool {
        self.version < VERSION
    }

    /// Rejects a registry that this version cannot use.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OtherSchema`].
    pub fn check_schema(&self) -> Result<()> {
        static CHECK: LazyLock<String> = LazyLock::new(|| schema_check().to_string());
        match self.version {
            VERSION if self.schema_check == *CHECK => Ok(()),
            VERSION => Err(Error::other_schema("its tables were created by another version")),
            found => Err(Error::other_version(found, VERSION)),
        }
    }
}

/// Creates the schema `accession` and everything in it, in the current transaction.
///
/// # Errors
///
/// [`ErrorKind::AlreadyExists`]: a registry exists. [`ErrorKind::NotARegistry`]: a schema of that name exists,
/// with something else in it. [`ErrorKind::Database`]: the database does not store UTF-8.
pub(super) fn create(connection: &Connection) -> Result<()> {
    // An administrator may have created the schema for a role that cannot create one.
    const FOUND: &str = "
        SELECT to_regnamespace('accession') IS NOT NULL,
            to_regclass('accession.registry') IS NOT NULL,
            current_setting('server_encoding'),
            current_setting('server_version_num')::integer";
    const CREATE: &str = "CREATE SCHEMA accession";
    const STATE: &str = "
        INSERT INTO accession.registry (registry_id, version, schema_check)
        VALUES (gen_random_uuid(), $1, $2)";
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
    // If another process is creating the same schema, this statement waits, and then fails as a duplicate.
    let taken = |error: Error| if error.is_duplicate() { Error::exists() } else { error };
    if !has_schema {
        connection.run(CREATE).map_err(taken)?;
    }
    for migration in MIGRATIONS {
        connection.run_each(&statements(migration)).map_err(taken)?;
    }
    connection.execute(STATE, &[VERSION.into(), schema_check().into()])?;
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
        SET version = $1, schema_check = $2";
    let row = connection.query_opt(VERSION_LOCKED, &[])?.ok_or_else(Error::missing)?;
    let found: i32 = value(&row, 0)?;
    if found as u32 >= VERSION {
        return Ok(());
    }
    for migration in MIGRATIONS.get(found as usize..).unwrap_or_default() {
        connection.run_each(&statements(migration))?;
    }
    connection.execute(SET, &[VERSION.into(), schema_check().into()])
}

/// The CRC-32 of the statements of all migrations, which distinguishes schemas with the same version.
fn schema_check() -> i64 {
    let mut check = crc32fast::Hasher::new();
    for statement in MIGRATIONS.iter().flat_map(|migration| statements(migration)) {
        check.update(statement.as_bytes());
    }
    check.finalize().into()
}

/// Splits a migration into its statements. Each must be a message of its own, because Citus sends the text of a
/// message on to other machines.
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

/// Small tables that are read with every dataset, so every machine gets a copy. All other tables are
/// distributed by dataset. A referenced table comes before the table that refers to it.
const REFERENCE_TABLES: [&str; 7] = [
    "dataset",
    "dataset_name",
    "payment_taken",
    "payment_worker",
    "registry",
    "statement",
    "tree_head",
];

/// Begins a transaction that distributes tables, or changes distributed tables: the setting allows it to create
/// triggers. Citus calls triggers unsafe because they could query other machines. The triggers of a registry
/// read only their own row, except for `refuse_but_unused`, whose comment says why it may read others. A server
/// without Citus ignores the setting.
pub(super) const DISTRIBUTING: [&str; 1] = ["SET LOCAL citus.enable_unsafe_triggers = on"];

/// Whether the extension `citus` is installed in the database.
fn has_citus(connection: &Connection) -> Result<bool> {
    const HAS_CITUS: &str = "
        SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')";
    is_true(connection, HAS_CITUS)
}

/// Whether the registry is distributed.
pub(super) fn is_distributed(connection: &Connection) -> Result<bool> {
    const IS_DISTRIBUTED: &str = "
        SELECT EXISTS (
            SELECT FROM pg_dist_partition
            WHERE logicalrelid = 'accession.writer'::regclass AND partmethod = 'h')";
    Ok(has_citus(connection)? && is_true(connection, IS_DISTRIBUTED)?)
}

/// Distributes every table that is not distributed yet. Returns the number of these tables.
pub(super) fn distribute_rest(connection: &Connection) -> Result<u64> {
    // The table with the locks of datasets comes first: the others are placed beside it.
    const LOCAL: &str = "
        SELECT relname::text
        FROM pg_class
        WHERE relnamespace = 'accession'::regnamespace AND relkind = 'r'
          AND NOT EXISTS (
              SELECT FROM pg_dist_partition
              WHERE logicalrelid = pg_class.oid AND (partmethod = 'h' OR repmodel = 't'))
        ORDER BY coalesce(array_position($1, relname::text), 100), relname <> 'writer', relname";
    let rows = connection.query(LOCAL, &[Value::Texts(&REFERENCE_TABLES)])?;
    let tables = rows.iter().map(|row| value(row, 0)).collect::<Result<Vec<String>>>()?;
    for table in &tables {
        let beside = if table == "writer" { "" } else { ", colocate_with => 'accession.writer'" };
        connection.run(&match REFERENCE_TABLES.contains(&table.as_str()) {
            true => format!("SELECT create_reference_table('accession.{table}')"),
            false => format!(
                "SELECT create_distributed_table('accession.{table}', 'dataset_id'{beside})"
            ),
        })?;
    }
    Ok(tables.len() as u64)
}

fn is_true(connection: &Connection, question: &str) -> Result<bool> {
    let row = connection.query_opt(question, &[])?;
    row.map_or(Ok(false), |row| value(&row, 0))
}

/// Distributes every table that is not distributed yet, so that the rows of one dataset are on one machine.
/// Returns the number of these tables. The transaction must have begun with [`DISTRIBUTING`]. The registry
/// cannot be used until it ends.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`]: the extension is not in the database. [`ErrorKind::Busy`]: other connections are
/// using the registry. [`ErrorKind::Denied`]: the role is not the owner of the tables.
pub(super) fn distribute(connection: &Connection) -> Result<u64> {
    const ALONE: &str = "LOCK TABLE accession.registry IN ACCESS EXCLUSIVE MODE";
    if !has_citus(connection)? {
        let message = "the extension citus is not installed in the database";
        return Err(Error::stored(ErrorDetail::NoCitus, message));
    }
    connection.run(ALONE)?;
    distribute_rest(connection)
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
