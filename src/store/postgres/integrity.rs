//! Rows without a dataset, damaged ids of producers, and queries that work on damaged rows.

use super::connection::value;
use super::session::ServerSession;
use crate::store::Result;
use crate::store::rows::DatasetKey;
use crate::store::statement::{StoredTable, TABLES, Value};

/// The tables whose rows belong to a row of another one than `dataset`. A foreign key would compare each
/// row of an import (see the migration).
const BELONGING: [(&str, &str, &str); 4] = [
    (
        "named_granule",
        "saved_selection",
        "saved_selection.dataset_id = named_granule.dataset_id \
         AND saved_selection.id = named_granule.selection_id",
    ),
    (
        "annotation",
        "instance",
        "instance.dataset_id = annotation.dataset_id AND instance.timestamp = annotation.timestamp",
    ),
    (
        "fixity_finding",
        "fixity_root",
        "fixity_root.dataset_id = fixity_finding.dataset_id AND fixity_root.root = fixity_finding.root",
    ),
    (
        "log_change",
        "mirror_source",
        "mirror_source.dataset_id = log_change.dataset_id \
         AND mirror_source.id = log_change.source_id",
    ),
];

impl ServerSession {
    /// The tables with rows whose producer's id differs from its checksum, or that belong to a row that
    /// does not exist: of these datasets, or in the whole registry if none is given. Costs a pass over their
    /// rows.
    ///
    /// The files below the tables are the server's to check: `initdb --data-checksums` and
    /// `pg_amcheck` do so.
    pub(super) fn check_integrity(&self, datasets: &[DatasetKey]) -> Result<Vec<String>> {
        let mut findings = Vec::new();
        let producers = "checksum IS DISTINCT FROM CASE WHEN producer_granule IS NOT NULL
            THEN left(md5(quote_nullable(granule_id) || quote_nullable(producer_granule)), 8) END";
        if let Some(rows) = self.found("granule", producers, datasets, &mut findings)? {
            findings.push(format!("{rows} rows of granule differ from their checksums"));
        }
        for StoredTable { name: table, .. } in TABLES.into_iter().filter(|table| table.owner > 0) {
            let other = BELONGING.iter().find(|(of, ..)| of == table);
            let (parent, on) = other
                .map_or(("dataset", "dataset.id = dataset_id"), |(_, parent, on)| (parent, on));
            let orphans = format!("NOT EXISTS (SELECT 1 FROM accession.{parent} WHERE {on})");
            if let Some(rows) = self.found(table, &orphans, datasets, &mut findings)? {
                findings.push(format!("{rows} rows of {table} belong to a row that is missing"));
            }
        }
        Ok(findings)
    }

    /// How many rows of a table meet a condition, if any does. A check that damage makes fail is a
    /// finding.
    fn found(
        &self,
        table: &str,
        condition: &str,
        datasets: &[DatasetKey],
        findings: &mut Vec<String>,
    ) -> Result<Option<i64>> {
        // About the whole registry, it asks every machine.
        let of_all = format!("SELECT count(*) FROM accession.{table} WHERE {condition}");
        let of_one = format!("{of_all} AND dataset_id = $1");
        let queries: Vec<(&str, Vec<Value<'_>>)> = match datasets {
            [] => vec![(of_all.as_str(), Vec::new())],
            keys => keys.iter().map(|&key| (of_one.as_str(), vec![key.into()])).collect(),
        };
        let mut found = 0;
        for (sql, values) in queries {
            match self.query_opt(sql, &values) {
                Ok(row) => found += row.map_or(Ok(0), |row| value::<i64>(&row, 0))?,
                Err(error) if error.kind().is_of_content() => {
                    findings.push(format!("the check of {table} failed before its end: {error}"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(found).filter(|rows| *rows > 0))
    }
}
