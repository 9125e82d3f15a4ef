//! The findings of SQLite's own check of the file.

use rusqlite::{Connection, ToSql};

use super::schema;
use super::session::FileSession;
use crate::store::Result;
use crate::store::integrity::note_failure;

/// The number of findings after which SQLite's check of the file stops.
const MAX_FINDINGS: u32 = 100;

impl FileSession {
    /// The errors that SQLite's check of the pages and indexes finds, at most 100. Costs one pass over the
    /// whole file, whichever the datasets are.
    ///
    /// If others have added tables or indexes to the file, only those of the schema are checked:
    /// the others may have constraints that take hours to evaluate, or that fail.
    pub(super) fn check_integrity(&self) -> Result<Vec<String>> {
        let connection = self.connection();
        let mut findings = Vec::new();
        if schema::has_others(connection)? {
            for table in schema::tables() {
                let checked = integrity_check(connection, table, &mut findings);
                note_failure(checked, table, &mut findings)?;
            }
        } else {
            let checked = integrity_check(connection, MAX_FINDINGS, &mut findings);
            note_failure(checked, "the file", &mut findings)?;
        }
        Ok(by_index(findings))
    }
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

/// Adds the findings of SQLite's check of a table, or of the file up to a number of findings.
fn integrity_check(
    connection: &Connection,
    of: impl ToSql,
    findings: &mut Vec<String>,
) -> Result<()> {
    let mut found: Vec<String> = Vec::new();
    connection.pragma(None, "integrity_check", of, |row| {
        found.push(row.get(0)?);
        Ok(())
    })?;
    findings.extend(found.into_iter().filter(|finding| finding != "ok"));
    Ok(())
}
