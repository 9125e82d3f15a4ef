//! Comparison of the second copies, rows without a dataset, and queries that work on damaged rows.

use super::connection::value;
use super::session::ServerSession;
use crate::store::Result;
use crate::store::rows::DatasetKey;
use crate::store::statement::{Scope, Value};

/// A query about the rows of a table: how many there are, and the first of them.
///
/// As it is, it asks every machine, since it is about the whole registry.
struct Check {
    table: &'static str,
    /// The column that says which dataset a row belongs to, if it belongs to one.
    dataset: Option<&'static str>,
    /// Ends in conditions, to which that of one dataset can be added.
    sql: &'static str,
}

/// The rows that differ from their checksums. The expressions are those of the columns in the
/// migrations.
const DIFFERING: [Check; 14] = [
    Check {
        table: "dataset",
        dataset: Some("id"),
        sql: "
        SELECT count(*), min(name)
        FROM accession.dataset
        WHERE checksum IS DISTINCT FROM md5(
            id::text || quote_nullable(name) || quote_nullable(doi) || quote_nullable(title)
            || quote_nullable(description) || quote_nullable(creators) || quote_nullable(publisher)
            || quote_nullable(version) || quote_nullable(year::text) || quote_nullable(url)
            || quote_nullable(licence) || quote_nullable(archive) || quote_nullable(withdrawn::text)
            || quote_nullable(withdrawn_note) || quote_nullable(granule_url)
            || quote_nullable(keywords) || quote_nullable(free_access::text)
            || quote_nullable(temporal) || quote_nullable(max_delete) || quote_nullable(max_add))",
    },
    Check {
        table: "dataset_name",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), min(name)
        FROM accession.dataset_name
        WHERE checksum IS DISTINCT FROM md5(
            quote_nullable(name) || quote_nullable(dataset_id::text)
            || quote_nullable(renamed::text))",
    },
    Check {
        table: "record_version",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), min('version ' || version || ' of dataset ' || dataset_id)
        FROM accession.record_version
        WHERE checksum IS DISTINCT FROM md5(
            quote_nullable(dataset_id::text) || quote_nullable(version::text)
            || quote_nullable(recorded::text) || quote_nullable(recorded_by)
            || quote_nullable(action) || quote_nullable(record))",
    },
    Check {
        table: "instance",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), min('timestamp ' || timestamp || ' of dataset ' || dataset_id)
        FROM accession.instance
        WHERE checksum IS DISTINCT FROM md5(
            quote_nullable(dataset_id::text) || quote_nullable(timestamp::text)
            || quote_nullable(recorded::text) || quote_nullable(recorded_by)
            || quote_nullable(note))",
    },
    Check {
        table: "granule",
        dataset: Some("dataset_id"),
        sql:
            "
        SELECT count(*), min(granule_id)
        FROM accession.granule
        WHERE (producer_granule IS NOT NULL OR checksum IS NOT NULL)
          AND checksum IS DISTINCT FROM
              CASE WHEN producer_granule IS NOT NULL
              THEN left(md5(quote_nullable(granule_id) || quote_nullable(producer_granule)), 8) END",
    },
    Check {
        table: "saved_selection",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), min('subset ' || id || ' of dataset ' || dataset_id)
        FROM accession.saved_selection
        WHERE checksum IS DISTINCT FROM md5(
            quote_nullable(dataset_id::text) || quote_nullable(id::text)
            || quote_nullable(timestamp::text) || quote_nullable(granules::text)
            || quote_nullable(cited::text))",
    },
    Check {
        table: "payment_taken",
        dataset: None,
        sql: "
        SELECT count(*), min(id)
        FROM accession.payment_taken
        WHERE checksum IS DISTINCT FROM md5(id)",
    },
    Check {
        table: "mirror_source",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), min(source)
        FROM accession.mirror_source
        WHERE checksum IS DISTINCT FROM md5(
            quote_nullable(dataset_id::text) || quote_nullable(id::text) || quote_nullable(source)
            || quote_nullable(read::text) || quote_nullable(identical::text)
            || quote_nullable(etag) || quote_nullable(pulled::text) || quote_nullable(options)
            || quote_nullable(failed::text) || quote_nullable(failure) || quote_nullable(files))",
    },
    Check {
        table: "annotation",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), min('timestamp ' || timestamp || ' of dataset ' || dataset_id)
        FROM accession.annotation
        WHERE checksum IS DISTINCT FROM md5(
            quote_nullable(dataset_id::text) || quote_nullable(timestamp::text)
            || quote_nullable(number::text) || quote_nullable(note)
            || quote_nullable(questionable::text) || quote_nullable(recorded::text)
            || quote_nullable(recorded_by))",
    },
    Check {
        table: "confirmation",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), min('dataset ' || dataset_id)
        FROM accession.confirmation
        WHERE checksum IS DISTINCT FROM md5(
            quote_nullable(dataset_id::text) || quote_nullable(recorded::text)
            || quote_nullable(recorded_by) || quote_nullable(granules::text))",
    },
    Check {
        table: "record_batch",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), min('batch ' || batch || ' of dataset ' || dataset_id)
        FROM accession.record_batch
        WHERE checksum IS DISTINCT FROM md5(
            quote_nullable(dataset_id::text) || quote_nullable(batch::text)
            || quote_nullable(last_number::text) || quote_nullable(recorded::text)
            || quote_nullable(recorded_by) || quote_nullable(note)
            || quote_nullable(replaces::text))",
    },
    Check {
        table: "fixity_run",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), min('run ' || run || ' of dataset ' || dataset_id)
        FROM accession.fixity_run
        WHERE checksum IS DISTINCT FROM md5(
            quote_nullable(dataset_id::text) || quote_nullable(run::text)
            || quote_nullable(timestamp::text) || quote_nullable(encode(identifier, 'hex'))
            || quote_nullable(is_subset::text) || quote_nullable(cycle::text)
            || quote_nullable(mode) || quote_nullable(root) || quote_nullable(algorithms)
            || quote_nullable(last_record::text) || quote_nullable(from_id)
            || quote_nullable(to_id) || quote_nullable(lease_to_id)
            || quote_nullable(lease_ends::text) || quote_nullable(started::text)
            || quote_nullable(ended::text) || quote_nullable(recorded_by)
            || quote_nullable(files::text) || quote_nullable(bytes::text)
            || quote_nullable(findings::text) || quote_nullable(forgotten::text))",
    },
    Check {
        table: "fixity_finding",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), min('run ' || run || ' of dataset ' || dataset_id)
        FROM accession.fixity_finding
        WHERE checksum IS DISTINCT FROM md5(
            quote_nullable(dataset_id::text) || quote_nullable(run::text)
            || quote_nullable(number::text) || quote_nullable(granule_id)
            || quote_nullable(path) || quote_nullable(status) || quote_nullable(expected)
            || quote_nullable(found) || quote_nullable(checked::text) || quote_nullable(closed::text)
            || quote_nullable(closed_by))",
    },
    Check {
        table: "log_change",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), min('change ' || number || ' of dataset ' || dataset_id)
        FROM accession.log_change
        WHERE checksum IS DISTINCT FROM md5(
            quote_nullable(dataset_id::text) || quote_nullable(source_id::text)
            || quote_nullable(number::text) || quote_nullable(timestamp::text)
            || quote_nullable(encode(identifier, 'hex'))
            || quote_nullable(encode(line_check, 'hex')) || quote_nullable(bytes::text)
            || quote_nullable(granules::text) || quote_nullable(ingested::text)
            || quote_nullable(deleted::text) || quote_nullable(note))",
    },
];

/// Rows of a dataset, or of another row, that does not exist. A foreign key would compare each row of
/// an import (see the migration).
const ORPHANS: [Check; 14] = [
    Check {
        table: "instance",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), NULL
        FROM accession.instance
        WHERE NOT EXISTS (SELECT 1 FROM accession.dataset WHERE dataset.id = dataset_id)",
    },
    Check {
        table: "granule",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), NULL
        FROM accession.granule
        WHERE NOT EXISTS (SELECT 1 FROM accession.dataset WHERE dataset.id = dataset_id)",
    },
    Check {
        table: "checkpoint",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), NULL
        FROM accession.checkpoint
        WHERE NOT EXISTS (SELECT 1 FROM accession.dataset WHERE dataset.id = dataset_id)",
    },
    Check {
        table: "record_version",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), NULL
        FROM accession.record_version
        WHERE NOT EXISTS (SELECT 1 FROM accession.dataset WHERE dataset.id = dataset_id)",
    },
    Check {
        table: "saved_selection",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), NULL
        FROM accession.saved_selection
        WHERE NOT EXISTS (SELECT 1 FROM accession.dataset WHERE dataset.id = dataset_id)",
    },
    Check {
        table: "named_granule",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), NULL
        FROM accession.named_granule
        WHERE NOT EXISTS (
            SELECT 1
            FROM accession.saved_selection
            WHERE saved_selection.dataset_id = named_granule.dataset_id
              AND saved_selection.id = named_granule.selection_id)",
    },
    Check {
        table: "mirror_source",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), NULL
        FROM accession.mirror_source
        WHERE NOT EXISTS (SELECT 1 FROM accession.dataset WHERE dataset.id = dataset_id)",
    },
    Check {
        table: "annotation",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), NULL
        FROM accession.annotation
        WHERE NOT EXISTS (
            SELECT 1
            FROM accession.instance
            WHERE instance.dataset_id = annotation.dataset_id
              AND instance.timestamp = annotation.timestamp)",
    },
    Check {
        table: "confirmation",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), NULL
        FROM accession.confirmation
        WHERE NOT EXISTS (SELECT 1 FROM accession.dataset WHERE dataset.id = dataset_id)",
    },
    Check {
        table: "record_batch",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), NULL
        FROM accession.record_batch
        WHERE NOT EXISTS (SELECT 1 FROM accession.dataset WHERE dataset.id = dataset_id)",
    },
    Check {
        table: "file_record",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), NULL
        FROM accession.file_record
        WHERE NOT EXISTS (SELECT 1 FROM accession.dataset WHERE dataset.id = dataset_id)",
    },
    Check {
        table: "fixity_run",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), NULL
        FROM accession.fixity_run
        WHERE NOT EXISTS (SELECT 1 FROM accession.dataset WHERE dataset.id = dataset_id)",
    },
    Check {
        table: "fixity_finding",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), NULL
        FROM accession.fixity_finding
        WHERE NOT EXISTS (
            SELECT 1
            FROM accession.fixity_run
            WHERE fixity_run.dataset_id = fixity_finding.dataset_id
              AND fixity_run.run = fixity_finding.run)",
    },
    Check {
        table: "log_change",
        dataset: Some("dataset_id"),
        sql: "
        SELECT count(*), NULL
        FROM accession.log_change
        WHERE NOT EXISTS (
            SELECT 1
            FROM accession.mirror_source
            WHERE mirror_source.dataset_id = log_change.dataset_id
              AND mirror_source.id = log_change.source_id)",
    },
];

impl ServerSession {
    /// The tables with rows that differ from their second copy, or that belong to a row that does not
    /// exist: of these datasets, or in the whole registry if none is given. Costs a pass over their
    /// rows.
    ///
    /// The files below the tables are the server's to check: `initdb --data-checksums` and
    /// `pg_amcheck` do so.
    pub(super) fn check_integrity(&self, datasets: &[DatasetKey]) -> Result<Vec<String>> {
        let mut findings = Vec::new();
        for check in &DIFFERING {
            if let Some((rows, first)) = self.found(check, datasets, &mut findings)? {
                let first = first.map_or(String::new(), |first| format!(", first that of {first}"));
                let table = check.table;
                findings.push(format!("{rows} rows of {table} differ from their checksums{first}"));
            }
        }
        if datasets.is_empty() {
            findings.extend(self.differing_worker()?);
        }
        for check in &ORPHANS {
            if let Some((rows, _)) = self.found(check, datasets, &mut findings)? {
                let table = check.table;
                findings.push(format!("{rows} rows of {table} belong to a row that is missing"));
            }
        }
        Ok(findings)
    }

    /// The rows that a check finds, if there are any. A check that damage makes fail is a finding.
    fn found(
        &self,
        check: &Check,
        datasets: &[DatasetKey],
        findings: &mut Vec<String>,
    ) -> Result<Option<(i64, Option<String>)>> {
        let of_one = check.dataset.map(|column| format!("{} AND {column} = $1", check.sql));
        let queries: Vec<(Scope, &str, Vec<Value<'_>>)> = match (datasets, &of_one) {
            ([], _) => vec![(Scope::AllDatasets, check.sql, Vec::new())],
            (datasets, Some(sql)) => datasets
                .iter()
                .map(|&key| (Scope::Dataset(key), sql.as_str(), vec![key.into()]))
                .collect(),
            (_, None) => Vec::new(),
        };
        let mut found = (0, None);
        for (scope, sql, values) in queries {
            match self.query_opt(scope, sql, &values) {
                Ok(None) => {}
                Ok(Some(row)) => {
                    found.0 += value::<i64>(&row, 0)?;
                    found.1 = found.1.or(value(&row, 1)?);
                }
                Err(error) if error.kind().is_of_content() => {
                    let table = check.table;
                    findings.push(format!("the check of {table} failed before its end: {error}"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(found).filter(|(rows, _)| *rows > 0))
    }

    /// The finding about the first payment worker whose row differs from its checksum.
    fn differing_worker(&self) -> Result<Option<String>> {
        const DIFFERING: &str = "
            SELECT min(worker)
            FROM accession.payment_worker
            WHERE checksum IS DISTINCT FROM md5(
                quote_nullable(worker::text) || quote_nullable(layout)
                || quote_nullable(epoch::text) || quote_nullable(last_second::text)
                || quote_nullable(next_counter::text))";
        let row = self.query_opt(Scope::Registry, DIFFERING, &[])?;
        let worker: Option<i32> = row.map_or(Ok(None), |row| value(&row, 0))?;
        Ok(worker.map(|it| format!("the row of payment worker {it} differs from its checksum")))
    }
}
