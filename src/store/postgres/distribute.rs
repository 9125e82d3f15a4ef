//! Spreads the tables over the machines of a Citus cluster.

use tokio_postgres::types::Type;

use super::connection::Connection;
use super::parameter::array;
use super::session::{Store, begin_write};
use crate::store::{Error, Result};

/// Small tables, of which every machine gets a copy: they are read with every dataset. All others
/// are distributed by dataset. A referenced table comes before the one that refers to it.
const REFERENCE_TABLES: [&str; 5] =
    ["dataset", "dataset_name", "payment_taken", "payment_worker", "registry"];

impl Store {
    /// Distributes the tables, in one transaction: the rows of one dataset are on one machine.
    /// Returns how many tables were distributed, 0 if they had been before. Nobody can use the
    /// registry meanwhile.
    ///
    /// Citus does not allow triggers on these tables. They are removed; the privileges remain.
    ///
    /// # Errors
    ///
    /// [`Error::NoCitus`]: the extension is not in the database. [`Error::Busy`]: others are using
    /// the registry. [`Error::Denied`]: the role is not the owner of the tables.
    pub fn distribute(&self) -> Result<u64> {
        const HAS_CITUS: &str = "
            SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')";
        const IS_DISTRIBUTED: &str = "
            SELECT EXISTS (
                SELECT FROM pg_dist_partition WHERE logicalrelid = 'accession.granule'::regclass)";
        let connection = self.connection()?;
        if !is_true(&connection, HAS_CITUS)? {
            self.pool.put_back(connection);
            return Err(Error::NoCitus);
        }
        // If this function fails, the connection is dropped, which rolls back.
        connection.begin(&begin_write(self.busy_wait))?;
        connection.run(
            "SET LOCAL citus.multi_shard_modify_mode = 'sequential';
             LOCK TABLE accession.registry IN ACCESS EXCLUSIVE MODE",
        )?;
        let mut distributed = 0;
        if !is_true(&connection, IS_DISTRIBUTED)? {
            for statement in statements(&connection)? {
                connection.run(&statement)?;
                distributed += u64::from(statement.starts_with("SELECT"));
            }
        }
        connection.run("COMMIT")?;
        self.pool.put_back(connection);
        Ok(distributed)
    }
}

fn is_true(connection: &Connection, question: &str) -> Result<bool> {
    let row = connection.query_opt(question, &[])?;
    Ok(row.map_or(Ok(false), |row| row.try_get(0))?)
}

/// What distributes the tables, in order.
fn statements(connection: &Connection) -> Result<Vec<String>> {
    const TRIGGERS: &str = "
        SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass)
        FROM pg_trigger
        JOIN pg_class ON pg_class.oid = tgrelid
        WHERE relnamespace = 'accession'::regnamespace AND NOT tgisinternal
        ORDER BY 1";
    // The lock of a dataset comes first: the others are placed beside it.
    const DISTRIBUTED: &str = "
        SELECT relname::text
        FROM pg_class
        WHERE relnamespace = 'accession'::regnamespace AND relkind = 'r' AND relname <> ALL ($1)
        ORDER BY relname <> 'writer', relname";
    let strings = |sql, parameters: &[_]| -> Result<Vec<String>> {
        let rows = connection.query(sql, parameters)?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    };
    let mut statements = strings(TRIGGERS, &[])?;
    for table in REFERENCE_TABLES {
        statements.push(format!("SELECT create_reference_table('accession.{table}')"));
    }
    let names: &[&str] = &REFERENCE_TABLES;
    for table in strings(DISTRIBUTED, &[array(&names, Type::TEXT_ARRAY)])? {
        let beside = if table == "writer" { "" } else { ", colocate_with => 'accession.writer'" };
        statements.push(format!(
            "SELECT create_distributed_table('accession.{table}', 'dataset_id'{beside})"
        ));
    }
    Ok(statements)
}
