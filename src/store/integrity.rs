//! Checks everything that is stored: finds rows that differ from their checksums, and rows whose parent row is
//! missing.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::Result;
use super::checked_row::{CHECKED_BYTES, is_sound, position};
use super::rows::DatasetKey;
use super::session::View;
use super::statement::{
    Columns, FIXITY_ROOT, INSTANCE, MIRROR_SOURCE, SUBSET, Sql, StoredTable, TABLES,
};

/// The tables whose rows belong to a row of another table than `dataset`, with the column that refers to it,
/// and that table. On a server they have no foreign keys, which would compare each row of an import (see the
/// migration).
const BELONGING: [(&str, &str, &StoredTable); 4] = [
    ("annotation", "timestamp", &INSTANCE),
    ("named_granule", "subset_id", &SUBSET),
    ("log_change", "source_id", &MIRROR_SOURCE),
    ("fixity_finding", "root", &FIXITY_ROOT),
];

/// The queries for a table: over all its rows, and over the rows of one dataset.
struct Checks {
    rows: [Sql; 2],
    /// Count the rows whose parent row is missing.
    orphans: [Sql; 2],
    /// The table of the parent rows.
    parent: &'static str,
}

static CHECKS: LazyLock<BTreeMap<&str, Checks>> =
    LazyLock::new(|| TABLES.iter().map(|table| (table.name, Checks::of(table))).collect());

impl Checks {
    fn of(table: &'static StoredTable) -> Self {
        let name = table.name;
        // For a table whose rows belong to no dataset, only the query over all rows is used.
        let column = table.columns[table.dataset_column().unwrap_or(0)];
        let both = |sql: String, word| {
            let of_dataset = format!("{sql} {word} {name}.{column} = ?1");
            [sql, of_dataset].map(Sql::of)
        };
        let other = BELONGING.iter().find(|(belonging, ..)| *belonging == name);
        let (parent, on) = match other {
            None => ("dataset", format!("dataset.id = {name}.{column}")),
            Some((_, part, parent)) => {
                let (parent, key) = (parent.name, parent.columns[1]);
                let of_dataset = format!("{parent}.dataset_id = {name}.dataset_id");
                (parent, format!("{of_dataset} AND {parent}.{key} = {name}.{part}"))
            }
        };
        let orphans = format!(
            "SELECT count(*) FROM {{{name}}} WHERE NOT EXISTS (SELECT 1 FROM {{{parent}}} WHERE {on})"
        );
        let rows = format!("SELECT {{{name}.*}} FROM {{{name}}}");
        Checks { rows: both(rows, "WHERE"), orphans: both(orphans, "AND"), parent }
    }
}

impl View {
    /// Returns the findings of the store's own check, the rows whose parent row is missing, and the rows that
    /// differ from their checksums. If `datasets` is empty, everything is checked. For a file, SQLite checks
    /// the pages and indexes, and reports at most 100 findings. Costs a few passes over everything, or over the
    /// rows of the given datasets.
    pub fn integrity(&self, datasets: &[DatasetKey]) -> Result<Vec<String>> {
        let mut findings = self.session()?.integrity(datasets)?;
        for table in TABLES.into_iter().filter(|table| table.dataset_column().is_some()) {
            let mut orphans = 0;
            let Checks { orphans: sql, parent, .. } = &CHECKS[table.name];
            // The row of a given dataset exists.
            if *parent == table.name || *parent == "dataset" && !datasets.is_empty() {
                continue;
            }
            let counted = self.each_of(table, sql, datasets, &mut |row| {
                orphans += row.get::<u64>(0)?;
                Ok(())
            });
            note_failure(counted, table.name, &mut findings)?;
            if orphans > 0 {
                let name = table.name;
                findings
                    .push(format!("{orphans} rows of {name} belong to a {parent} that is missing"));
            }
        }
        // Rows of `instance` are not checked here: the verification of a dataset names each damaged one.
        let is_checked = |table: &&StoredTable| table.what.is_some() && table.name != "instance";
        for table in TABLES.into_iter().filter(is_checked) {
            let (mut rows, mut first) = (0_u64, String::new());
            let mut checked = Vec::with_capacity(CHECKED_BYTES);
            let read = self.each_of(table, &CHECKS[table.name].rows, datasets, &mut |row| {
                if !is_sound(table, row, 0, &mut checked)? {
                    if rows == 0 {
                        first = position(table, row, 0)?;
                    }
                    rows += 1;
                }
                Ok(())
            });
            let is_whole = read.is_ok();
            note_failure(read, table.name, &mut findings)?;
            if is_whole && rows > 0 {
                findings.push(format!(
                    "{rows} rows of {} differ from their checksums, first that of {first}",
                    table.name
                ));
            }
        }
        Ok(findings)
    }

    /// Calls `each` for the rows of a query on a table: of these datasets, or of all if none is given.
    fn each_of(
        &self,
        table: &StoredTable,
        [of_all, of_dataset]: &'static [Sql; 2],
        datasets: &[DatasetKey],
        each: &mut dyn FnMut(&dyn Columns) -> Result<()>,
    ) -> Result<()> {
        if datasets.is_empty() {
            return self.session()?.rows(of_all, &[], each);
        }
        let of_table = datasets.iter().filter(|_| table.dataset_column().is_some());
        of_table
            .copied()
            .try_for_each(|dataset| self.session()?.rows(of_dataset, &[dataset.into()], each))
    }
}

/// If a check failed because of damage, adds that as a finding; returns any other error.
pub(super) fn note_failure(
    check: Result<()>,
    what: &str,
    findings: &mut Vec<String>,
) -> Result<()> {
    match check {
        Err(error) if error.concerns_content() => {
            let cause = error.reason();
            findings.push(format!("the check of {what} failed before its end: {cause}"));
            Ok(())
        }
        result => result,
    }
}
