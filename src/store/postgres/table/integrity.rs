//! Comparison of the second copies, rows without a dataset, and queries that work on damaged rows.

use super::column::value;
use crate::model::DatasetName;
use crate::store::order::ascending;
use crate::store::postgres::parameter::{bigint, text};
use crate::store::postgres::session::Snapshot;
use crate::store::rows::DatasetKey;
use crate::store::{Error, Result};

/// The rows that differ from their checksums, by table: how many, and the first. The expressions are
/// those of the columns in the migration.
///
/// These ask every machine, since verification is of the whole registry.
const DIFFERING: [(&str, &str); 7] = [
    (
        "dataset",
        "
        SELECT count(*), min(name)
        FROM accession.dataset
        WHERE checksum IS DISTINCT FROM md5(
            id::text || quote_nullable(name) || quote_nullable(doi) || quote_nullable(title)
            || quote_nullable(description) || quote_nullable(creators) || quote_nullable(publisher)
            || quote_nullable(version) || quote_nullable(year::text) || quote_nullable(url)
            || quote_nullable(licence) || quote_nullable(archive) || quote_nullable(withdrawn::text)
            || quote_nullable(withdrawn_note))",
    ),
    (
        "dataset_name",
        "
        SELECT count(*), min(name)
        FROM accession.dataset_name
        WHERE checksum IS DISTINCT FROM md5(
            quote_nullable(name) || quote_nullable(dataset_id::text)
            || quote_nullable(renamed::text))",
    ),
    (
        "record_version",
        "
        SELECT count(*), min('version ' || version || ' of dataset ' || dataset_id)
        FROM accession.record_version
        WHERE checksum IS DISTINCT FROM md5(
            quote_nullable(dataset_id::text) || quote_nullable(version::text)
            || quote_nullable(recorded::text) || quote_nullable(recorded_by)
            || quote_nullable(action) || quote_nullable(record))",
    ),
    (
        "instance",
        "
        SELECT count(*), min('timestamp ' || timestamp || ' of dataset ' || dataset_id)
        FROM accession.instance
        WHERE checksum IS DISTINCT FROM md5(
            quote_nullable(dataset_id::text) || quote_nullable(timestamp::text)
            || quote_nullable(recorded::text) || quote_nullable(recorded_by)
            || quote_nullable(note))",
    ),
    (
        "granule",
        "
        SELECT count(*), min(granule_id)
        FROM accession.granule
        WHERE (producer_granule IS NOT NULL OR checksum IS NOT NULL)
          AND checksum IS DISTINCT FROM
              CASE WHEN producer_granule IS NOT NULL
              THEN left(md5(quote_nullable(granule_id) || quote_nullable(producer_granule)), 8) END",
    ),
    (
        "saved_selection",
        "
        SELECT count(*), min('subset ' || id || ' of dataset ' || dataset_id)
        FROM accession.saved_selection
        WHERE checksum IS DISTINCT FROM md5(
            quote_nullable(dataset_id::text) || quote_nullable(timestamp::text)
            || quote_nullable(granules::text) || quote_nullable(cited::text))",
    ),
    (
        "payment_taken",
        "
        SELECT count(*), min(id)
        FROM accession.payment_taken
        WHERE checksum IS DISTINCT FROM md5(id)",
    ),
];

/// Rows of a dataset, or a subset, that does not exist, by table. A foreign key would compare each
/// row of an import (see the migration). These ask every machine as well.
const ORPHANS: [(&str, &str); 6] = [
    (
        "instance",
        "
        SELECT count(*)
        FROM accession.instance
        WHERE NOT EXISTS (SELECT 1 FROM accession.dataset WHERE id = dataset_id)",
    ),
    (
        "granule",
        "
        SELECT count(*)
        FROM accession.granule
        WHERE NOT EXISTS (SELECT 1 FROM accession.dataset WHERE id = dataset_id)",
    ),
    (
        "checkpoint",
        "
        SELECT count(*)
        FROM accession.checkpoint
        WHERE NOT EXISTS (SELECT 1 FROM accession.dataset WHERE id = dataset_id)",
    ),
    (
        "record_version",
        "
        SELECT count(*)
        FROM accession.record_version
        WHERE NOT EXISTS (SELECT 1 FROM accession.dataset WHERE id = dataset_id)",
    ),
    (
        "saved_selection",
        "
        SELECT count(*)
        FROM accession.saved_selection
        WHERE NOT EXISTS (SELECT 1 FROM accession.dataset WHERE dataset.id = dataset_id)",
    ),
    (
        "named_granule",
        "
        SELECT count(*)
        FROM accession.named_granule
        WHERE NOT EXISTS (
            SELECT 1
            FROM accession.saved_selection
            WHERE saved_selection.dataset_id = named_granule.dataset_id
              AND saved_selection.id = named_granule.selection_id)",
    ),
];

impl Snapshot {
    /// The tables with rows that differ from their second copy, or that belong to a dataset that
    /// does not exist. Costs one pass over the whole registry.
    ///
    /// The files below the tables are the server's to check: `initdb --data-checksums` and
    /// `pg_amcheck` do so.
    pub fn integrity(&self) -> Result<Vec<String>> {
        let mut findings = Vec::new();
        for (table, sql) in DIFFERING {
            let row = self.found(table, sql, &mut findings)?;
            if let Some((rows @ 1.., Some(first))) = row {
                findings.push(format!(
                    "{rows} rows of {table} differ from their checksums, first that of {first}"
                ));
            }
        }
        if let Err(Error::Damaged { what }) = self.payment_workers() {
            findings.push(what);
        }
        for (table, sql) in ORPHANS {
            let row = self.found(table, sql, &mut findings)?;
            if let Some((rows @ 1.., _)) = row {
                findings.push(format!("{rows} rows of {table} belong to a row that is missing"));
            }
        }
        Ok(findings)
    }

    /// The count and the text that a check returns. A check that damage makes fail is a finding.
    fn found(
        &self,
        table: &str,
        sql: &str,
        findings: &mut Vec<String>,
    ) -> Result<Option<(i64, Option<String>)>> {
        match self.reading()?.query_opt(sql, &[]) {
            Ok(None) => Ok(None),
            Ok(Some(row)) => {
                let first = if row.len() > 1 { value(&row, 1)? } else { None };
                Ok(Some((value(&row, 0)?, first)))
            }
            Err(error) if error.is_of_content() => {
                findings.push(format!("the check of {table} failed before its end: {error}"));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub fn dataset_names_after(&self, after: &str, limit: u32) -> Result<Vec<String>> {
        const PAGE: &str = "
            SELECT name
            FROM accession.dataset
            WHERE name > $1
            ORDER BY name
            LIMIT $2";
        let limit = i64::from(limit);
        let rows = self.reading()?.query(PAGE, &[text(after), bigint(limit)])?;
        let rows = rows.iter().map(|row| value(row, 0)).collect::<Result<_>>()?;
        ascending("dataset", rows, |first: &String| first.as_str() > after, |one, next| one < next)
    }

    pub fn dataset_key(&self, name: &DatasetName) -> Result<Option<DatasetKey>> {
        const KEY: &str = "
            SELECT id
            FROM accession.dataset
            WHERE name = $1";
        let row = self.reading()?.query_opt(KEY, &[text(name.as_str())])?;
        row.map(|row| value(&row, 0).map(DatasetKey)).transpose()
    }
}
