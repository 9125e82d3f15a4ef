//! Comparison of the second copies, rows without a dataset, and queries that work on damaged rows.

use super::connection::value;
use super::session::ServerSession;
use crate::store::Result;
use crate::store::rows::DatasetKey;
use crate::store::statement::Value;

/// A query about the rows of a table: how many there are, and the first of them.
struct Check {
    table: &'static str,
    /// The column that says which dataset a row belongs to, if it belongs to one.
    dataset: Option<&'static str>,
    /// The first row, as a finding names it.
    first: &'static str,
    condition: String,
}

/// The tables with checksums, how the first row that differs is named, and the columns that a checksum is
/// made of, as the migrations write them.
const QUOTED: [(&str, &str, &str); 10] = [
    ("dataset_name", "min(name)", "name dataset_id::text renamed::text"),
    (
        "record_version",
        "min('version ' || version || ' of dataset ' || dataset_id)",
        "dataset_id::text version::text recorded::text recorded_by action record",
    ),
    (
        "saved_selection",
        "min('subset ' || id || ' of dataset ' || dataset_id)",
        "dataset_id::text id::text timestamp::text granules::text cited::text",
    ),
    (
        "mirror_source",
        "min(source)",
        "dataset_id::text id::text source read::text identical::text etag pulled::text options \
         failed::text failure",
    ),
    (
        "annotation",
        "min('timestamp ' || timestamp || ' of dataset ' || dataset_id)",
        "dataset_id::text timestamp::text number::text note questionable::text recorded::text \
         recorded_by",
    ),
    (
        "confirmation",
        "min('dataset ' || dataset_id)",
        "dataset_id::text recorded::text recorded_by granules::text",
    ),
    (
        "record_batch",
        "min('batch ' || batch || ' of dataset ' || dataset_id)",
        "dataset_id::text batch::text last_number::text recorded::text recorded_by note \
         replaces::text",
    ),
    (
        "fixity_root",
        "min(root || ' of dataset ' || dataset_id)",
        "dataset_id::text root cursor cycle_started::text full_since::text locked_by \
         locked_until::text files::text bytes::text",
    ),
    (
        "fixity_finding",
        "min('path ' || path || ' of dataset ' || dataset_id)",
        "dataset_id::text root granule_id path status expected found first_seen::text",
    ),
    (
        "log_change",
        "min('change ' || number || ' of dataset ' || dataset_id)",
        "dataset_id::text source_id::text number::text timestamp::text encode(identifier,'hex') \
         encode(line_check,'hex') bytes::text granules::text ingested::text deleted::text note",
    ),
];

/// The columns of the table `dataset` that its checksum is made of, after the id.
const OF_DATASET: &str = "name doi title description creators publisher version year::text url \
    licence archive withdrawn::text withdrawn_note granule_url keywords free_access::text temporal \
    max_delete max_add";

/// The tables whose rows belong to a row of another one. A foreign key would compare each row of an
/// import (see the migration).
const BELONGING: [(&str, &str, &str); 14] = [
    ("instance", "dataset", "dataset.id = dataset_id"),
    ("granule", "dataset", "dataset.id = dataset_id"),
    ("checkpoint", "dataset", "dataset.id = dataset_id"),
    ("record_version", "dataset", "dataset.id = dataset_id"),
    ("saved_selection", "dataset", "dataset.id = dataset_id"),
    (
        "named_granule",
        "saved_selection",
        "saved_selection.dataset_id = named_granule.dataset_id \
         AND saved_selection.id = named_granule.selection_id",
    ),
    ("mirror_source", "dataset", "dataset.id = dataset_id"),
    (
        "annotation",
        "instance",
        "instance.dataset_id = annotation.dataset_id AND instance.timestamp = annotation.timestamp",
    ),
    ("confirmation", "dataset", "dataset.id = dataset_id"),
    ("record_batch", "dataset", "dataset.id = dataset_id"),
    ("file_record", "dataset", "dataset.id = dataset_id"),
    ("fixity_root", "dataset", "dataset.id = dataset_id"),
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

/// Columns, one after the other, each quoted.
fn quoted(columns: &str) -> String {
    let quoted = columns.split_whitespace().map(|column| format!("quote_nullable({column})"));
    quoted.collect::<Vec<_>>().join(" || ")
}

/// The rows that differ from their checksums.
fn differing() -> Vec<Check> {
    let differs = |sum: String| format!("checksum IS DISTINCT FROM {sum}");
    let dataset = Some("dataset_id");
    let mut checks = vec![
        Check {
            table: "dataset",
            dataset: Some("id"),
            first: "min(name)",
            condition: differs(format!("md5(id::text || {})", quoted(OF_DATASET))),
        },
        Check {
            table: "granule",
            dataset,
            first: "min(granule_id)",
            condition: format!(
                "(producer_granule IS NOT NULL OR checksum IS NOT NULL) AND {}",
                differs(format!(
                    "CASE WHEN producer_granule IS NOT NULL THEN left(md5({}), 8) END",
                    quoted("granule_id producer_granule")
                ))
            ),
        },
        Check {
            table: "payment_taken",
            dataset: None,
            first: "min(id)",
            condition: differs("md5(id)".to_owned()),
        },
    ];
    checks.extend(QUOTED.map(|(table, first, columns)| {
        let condition = differs(format!("md5({})", quoted(columns)));
        Check { table, dataset, first, condition }
    }));
    checks
}

/// The rows that belong to a row that does not exist.
fn orphans() -> impl Iterator<Item = Check> {
    BELONGING.into_iter().map(|(table, parent, on)| {
        let condition = format!("NOT EXISTS (SELECT 1 FROM accession.{parent} WHERE {on})");
        Check { table, dataset: Some("dataset_id"), first: "NULL", condition }
    })
}

impl ServerSession {
    /// The tables with rows that differ from their second copy, or that belong to a row that does not
    /// exist: of these datasets, or in the whole registry if none is given. Costs a pass over their
    /// rows.
    ///
    /// The files below the tables are the server's to check: `initdb --data-checksums` and
    /// `pg_amcheck` do so.
    pub(super) fn check_integrity(&self, datasets: &[DatasetKey]) -> Result<Vec<String>> {
        let mut findings = Vec::new();
        for check in differing() {
            if let Some((rows, first)) = self.found(&check, datasets, &mut findings)? {
                let first = first.map_or(String::new(), |first| format!(", first that of {first}"));
                let table = check.table;
                findings.push(format!("{rows} rows of {table} differ from their checksums{first}"));
            }
        }
        if datasets.is_empty() {
            findings.extend(self.differing_worker()?);
        }
        for check in orphans() {
            if let Some((rows, _)) = self.found(&check, datasets, &mut findings)? {
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
        let Check { table, dataset, first, condition } = check;
        // About the whole registry, it asks every machine.
        let of_all = format!("SELECT count(*), {first} FROM accession.{table} WHERE {condition}");
        let of_one = dataset.map(|column| format!("{of_all} AND {column} = $1"));
        let queries: Vec<(&str, Vec<Value<'_>>)> = match (datasets, &of_one) {
            ([], _) => vec![(of_all.as_str(), Vec::new())],
            (datasets, Some(sql)) => {
                datasets.iter().map(|&key| (sql.as_str(), vec![key.into()])).collect()
            }
            (_, None) => Vec::new(),
        };
        let mut found = (0, None);
        for (sql, values) in queries {
            match self.query_opt(sql, &values) {
                Ok(None) => {}
                Ok(Some(row)) => {
                    found.0 += value::<i64>(&row, 0)?;
                    found.1 = found.1.or(value(&row, 1)?);
                }
                Err(error) if error.kind().is_of_content() => {
                    findings.push(format!("the check of {table} failed before its end: {error}"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(found).filter(|(rows, _)| *rows > 0))
    }

    /// The finding about the first payment worker whose row differs from its checksum.
    fn differing_worker(&self) -> Result<Option<String>> {
        let sum = quoted("worker::text layout epoch::text last_second::text next_counter::text");
        let sql = format!(
            "SELECT min(worker) FROM accession.payment_worker WHERE checksum IS DISTINCT FROM md5({sum})"
        );
        let row = self.query_opt(&sql, &[])?;
        let worker: Option<i32> = row.map_or(Ok(None), |row| value(&row, 0))?;
        Ok(worker.map(|it| format!("the row of payment worker {it} differs from its checksum")))
    }
}
