//! The findings of SQLite's own checks of the file, and queries that work on a damaged file.

use rusqlite::{Connection, OptionalExtension, ToSql, named_params};
use std::collections::BTreeMap;

use crate::model::DatasetName;
use crate::store::Result;
use crate::store::order::ascending;
use crate::store::rows::DatasetKey;
use crate::store::sqlite::schema;
use crate::store::sqlite::session::Snapshot;

/// The number of findings after which SQLite's check of the file stops.
const MAX_FINDINGS: u32 = 100;

impl Snapshot {
    /// The errors that SQLite's check of the pages and indexes finds, the rows whose second copy
    /// (V5) differs, and the rows that refer to a row that does not exist; at most 100 findings for
    /// each table. Costs one pass over the whole file, whichever the datasets are.
    ///
    /// If others have added tables or indexes to the file, only those of the schema are checked:
    /// the others may have constraints that take hours to evaluate, or that fail.
    pub fn integrity(&self, _: &[DatasetKey]) -> Result<Vec<String>> {
        let tables = schema::tables()?;
        let mut findings = Vec::new();
        if schema::has_others(self.connection())? {
            for table in &tables {
                found(integrity_check(self.connection(), table), table, &mut findings)?;
            }
        } else {
            found(integrity_check(self.connection(), MAX_FINDINGS), "the file", &mut findings)?;
        }
        for table in &tables {
            let rows = match table.as_str() {
                "granule" => self.granules_without_dataset(),
                _ => self.rows_without_parent(table),
            };
            found(rows, table, &mut findings)?;
        }
        Ok(by_index(findings))
    }

    /// As [`Snapshot::rows_without_parent`], but with one look-up for each dataset instead of one for
    /// each row: the rows are in order of dataset.
    fn granules_without_dataset(&self) -> Result<Vec<String>> {
        const ROWS: &str = "
            WITH RECURSIVE owner (id) AS (
                SELECT min(dataset_id) FROM granule
                UNION ALL
                SELECT (SELECT min(dataset_id) FROM granule WHERE dataset_id > owner.id)
                FROM owner
                WHERE owner.id IS NOT NULL
            )
            SELECT count(*)
            FROM granule
            WHERE dataset_id IN (
                SELECT id FROM owner WHERE id NOT IN (SELECT id FROM dataset))";
        let rows: i64 = self.connection().query_row(ROWS, [], |row| row.get(0))?;
        let finding = || format!("{rows} rows of granule belong to a dataset that is missing");
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

    /// The names of the datasets after one (`""` means from the first), in order, at most `limit`
    /// of them, as they are stored. They are read from an index, so that a damaged record hides
    /// neither its own name nor those after it.
    pub fn dataset_names_after(&self, after: &str, limit: u32) -> Result<Vec<String>> {
        const PAGE: &str = "
            SELECT name
            FROM dataset
            WHERE name > :after
            ORDER BY name
            LIMIT :limit";
        let params = named_params! { ":after": after, ":limit": limit };
        let mut statement = self.connection().prepare_cached(PAGE)?;
        let rows =
            statement.query_map(params, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        ascending("dataset", rows, |first: &String| first.as_str() > after, |one, next| one < next)
    }

    /// The key of a dataset, whether or not its record can be read. `None` means that there is no
    /// such dataset.
    pub fn dataset_key(&self, name: &DatasetName) -> Result<Option<DatasetKey>> {
        const KEY: &str = "
            SELECT id
            FROM dataset
            WHERE name = :name";
        let mut statement = self.connection().prepare_cached(KEY)?;
        let params = named_params! { ":name": name.as_str() };
        Ok(statement.query_row(params, |row| row.get(0).map(DatasetKey)).optional()?)
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
pub(super) fn integrity_check(connection: &Connection, of: impl ToSql) -> Result<Vec<String>> {
    let mut findings: Vec<String> = Vec::new();
    connection.pragma(None, "integrity_check", of, |row| {
        findings.push(row.get(0)?);
        Ok(())
    })?;
    findings.retain(|finding| finding != "ok");
    Ok(findings)
}
