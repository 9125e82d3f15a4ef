//! What SQLite's own checks find wrong in the file.

use rusqlite::{Connection, ToSql};

use crate::store::Result;
use crate::store::sqlite::schema;
use crate::store::sqlite::session::Snapshot;

/// Findings of SQLite's check of the file that are listed; it stops after them.
const MAX_FINDINGS: u32 = 100;

/// Tables with a row for each granule or id, whose rows other checks prove.
const LARGE_TABLES: [&str; 4] = ["checkpoint", "granule", "named_granule", "payment_taken"];

impl Snapshot {
    /// What SQLite's check finds wrong in the tables that are not checked by recomputing: where the
    /// two copies of a row differ (V5). Costs a pass over them; none has a row for each granule.
    pub fn integrity_of_records(&self) -> Result<Vec<String>> {
        let mut findings = Vec::new();
        for table in schema::tables()? {
            if !LARGE_TABLES.contains(&table.as_str()) {
                findings.append(&mut integrity_check(self.connection(), table)?);
            }
        }
        Ok(findings)
    }

    /// What SQLite's check of the file's pages and indexes finds wrong, where the two copies of a
    /// row differ that nothing else could prove (V5), and which rows belong to something that does
    /// not exist; at most 100 findings a table. One pass over the whole file.
    ///
    /// Where others keep tables or indexes in the file, only ours are checked: theirs may have rules
    /// that take hours to evaluate, or that fail.
    pub fn integrity(&self) -> Result<Vec<String>> {
        let tables = schema::tables()?;
        let mut findings = if schema::has_others(self.connection())? {
            let mut findings = Vec::new();
            for table in &tables {
                findings.append(&mut integrity_check(self.connection(), table)?);
            }
            findings
        } else {
            integrity_check(self.connection(), MAX_FINDINGS)?
        };
        for table in tables {
            let (mut rows, mut parent) = (0_u64, String::new());
            self.connection().pragma(None, "foreign_key_check", &table, |row| {
                rows += 1;
                parent = row.get(2)?;
                Ok(())
            })?;
            if rows > 0 {
                findings
                    .push(format!("{rows} rows of {table} belong to a {parent} that is missing"));
            }
        }
        Ok(findings)
    }
}

/// What SQLite's check finds wrong: in a table, or in the file, up to a number of findings.
pub(super) fn integrity_check(connection: &Connection, of: impl ToSql) -> Result<Vec<String>> {
    let mut findings: Vec<String> = Vec::new();
    connection.pragma(None, "integrity_check", of, |row| {
        findings.push(row.get(0)?);
        Ok(())
    })?;
    findings.retain(|finding| finding != "ok");
    Ok(findings)
}
