//! Spreads the tables over the machines of a Citus cluster.

use super::connection::{Connection, value};
use crate::store::statement::Value;
use crate::store::{Error, ErrorKind, Result};

/// Small tables, of which every machine gets a copy: they are read with every dataset. All others
/// are distributed by dataset. A referenced table comes before the one that refers to it.
const REFERENCE_TABLES: [&str; 9] = [
    "dataset",
    "dataset_name",
    "followed_log",
    "followed_statement",
    "payment_taken",
    "payment_worker",
    "registry",
    "statement",
    "tree_head",
];

/// With what a transaction begins that distributes tables, or changes some that are distributed:
/// it uses one connection to each machine, and may create triggers. Citus calls triggers unsafe
/// because they could query other machines; those of a registry look at their own row only. A server
/// without Citus ignores both.
pub(super) const SETTINGS: [&str; 2] = [
    "SET LOCAL citus.multi_shard_modify_mode = 'sequential'",
    "SET LOCAL citus.enable_unsafe_triggers = on",
];

/// Whether the extension is in the database.
pub(super) fn has_citus(connection: &Connection) -> Result<bool> {
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

/// Distributes every table that is not. Returns how many tables were distributed.
pub(super) fn complete(connection: &Connection) -> Result<u64> {
    // The lock of a dataset comes first: the others are placed beside it.
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

/// Distributes every table that is not distributed, in the transaction that has begun with
/// [`SETTINGS`]: the rows of one dataset are on one machine. Returns how many tables were distributed.
/// Nobody can use the registry meanwhile.
///
/// # Errors
///
/// [`ErrorKind::NoCitus`]: the extension is not in the database. [`ErrorKind::Busy`]: others are using
/// the registry. [`ErrorKind::Denied`]: the role is not the owner of the tables.
pub(super) fn distribute(connection: &Connection) -> Result<u64> {
    const ALONE: &str = "LOCK TABLE accession.registry IN ACCESS EXCLUSIVE MODE";
    if !has_citus(connection)? {
        let message = "the extension citus is not installed in the database";
        return Err(Error::stored(ErrorKind::NoCitus, message));
    }
    connection.run(ALONE)?;
    complete(connection)
}
