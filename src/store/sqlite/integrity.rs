//! The findings of SQLite's own checks of the file, and queries that work on a damaged file.

use std::collections::BTreeMap;

use rusqlite::{Connection, ToSql};

use super::schema;
use super::session::FileSession;
use crate::store::Result;

/// The number of findings after which SQLite's check of the file stops.
const MAX_FINDINGS: u32 = 100;

/// The query for the number of rows of a table that belong to no dataset.
macro_rules! rows_without_dataset {
    ($table:literal) => {
        concat!(
            "WITH RECURSIVE owner (id) AS (
                SELECT min(dataset_id) FROM ",
            $table,
            "
                UNION ALL
                SELECT (SELECT min(dataset_id) FROM ",
            $table,
            " WHERE dataset_id > owner.id)
                FROM owner
                WHERE owner.id IS NOT NULL
            )
            SELECT count(*)
            FROM ",
            $table,
            "
            WHERE dataset_id IN (
                SELECT id FROM owner WHERE id NOT IN (SELECT id FROM dataset))"
        )
    };
}

impl FileSession {
    /// The errors that SQLite's check of the pages and indexes finds, and the rows that refer to a row that
    /// does not exist; at most 100 findings for each table. Costs one pass over the whole file, whichever
    /// the datasets are.
    ///
    /// If others have added tables or indexes to the file, only those of the schema are checked:
    /// the others may have constraints that take hours to evaluate, or that fail.
    pub(super) fn check_integrity(&self) -> Result<Vec<String>> {
        let tables: Vec<&str> = schema::tables().collect();
        let mut findings = Vec::new();
        if schema::has_others(self.connection())? {
            for table in &tables {
                found(integrity_check(self.connection(), table), table, &mut findings)?;
            }
        } else {
            found(integrity_check(self.connection(), MAX_FINDINGS), "the file", &mut findings)?;
        }
        for table in &tables {
            let rows = match *table {
                "granule" => self.rows_without_dataset(rows_without_dataset!("granule"), table),
                "content" => self.rows_without_dataset(rows_without_dataset!("content"), table),
                _ => self.rows_without_parent(table),
            };
            found(rows, table, &mut findings)?;
        }
        Ok(by_index(findings))
    }

    /// As [`FileSession::rows_without_parent`], but with one look-up for each dataset instead of one for
    /// each row: the rows are in order of dataset.
    fn rows_without_dataset(&self, sql: &str, table: &str) -> Result<Vec<String>> {
        let rows: i64 = self.connection().query_row(sql, [], |row| row.get(0))?;
        let finding = || format!("{rows} rows of {table} belong to a dataset that is missing");
        Ok((rows > 0).then(finding).into_iter().collect())
    }

    fn rows_without_parent(&self, table: &str) -> Result<Vec<String>> {
        let mut rows: BTreeMap<String, u64> = BTreeMap::new();
        self.connection().pragma(None, "foreign_key_check", table, |row| {
            *rows.entry(row.get(2)?).or_default() += 1;
            Ok(())
        })?;
        let text = |(parent, count)| {
            format!("{count} rows of {table} belong to a {parent} that is missing")
        };
        Ok(rows.into_iter().map(text).collect())
    }
}

/// Adds the findings of a check. If the check itself fails because of damage, that is a finding.
fn found(check: Result<Vec<String>>, what: &str, findings: &mut Vec<String>) -> Result<()> {
    match check {
        Ok(mut found) => findings.append(&mut found),
        Err(error) if error.kind().is_of_content() => {
            let cause = error.reason();
            findings.push(format!("the check of {what} failed before its end: {cause}"));
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Combines the findings about rows that are missing from an index into one for each index.
fn by_index(findings: Vec<String>) -> Vec<String> {
    let mut grouped: Vec<(String, Option<String>, u64)> = Vec::new();
    for finding in findings {
        let index = finding.split_once(" missing from index ").map(|(_, index)| index.to_owned());
        let known = grouped.iter_mut().find(|(_, known, _)| known.is_some() && *known == index);
        match known {
            Some((.., others)) => *others += 1,
            None => grouped.push((finding, index, 0)),
        }
    }
    let text = |(first, _, others)| match others {
        0 => first,
        _ => format!("{first}, and {others} rows or more like it"),
    };
    grouped.into_iter().map(text).collect()
}

/// The findings of SQLite's check of a table, or of the file up to a number of findings.
fn integrity_check(connection: &Connection, of: impl ToSql) -> Result<Vec<String>> {
    let mut findings: Vec<String> = Vec::new();
    connection.pragma(None, "integrity_check", of, |row| {
        findings.push(row.get(0)?);
        Ok(())
    })?;
    findings.retain(|finding| finding != "ok");
    Ok(findings)
}
