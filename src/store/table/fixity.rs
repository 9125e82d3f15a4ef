//! The tables `fixity_run` and `fixity_finding`: checks of files, and what they found.

use crate::model::Timestamp;
use crate::store::Result;
use crate::store::page::ascending;
use crate::store::rows::{DatasetKey, StoredFinding, StoredRun};
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{Columns, Insert, Scope, Sql};

impl Snapshot {
    /// The checks of files after one (0 means from the first), in order, at most `limit` of them.
    pub fn fixity_runs_after(
        &self,
        dataset: DatasetKey,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredRun>> {
        static PAGE: Sql = Sql::new(
            "SELECT run, timestamp, identifier, mode, root, algorithms, last_record, from_id, to_id,
                lease_to_id, lease_ends, started, ended, recorded_by, files, bytes, findings, forgotten
            FROM {fixity_run}
            WHERE dataset_id = ?1 AND run > ?2
            ORDER BY run
            LIMIT ?3",
        );
        let values = [dataset.into(), after.into(), limit.into()];
        ascending(
            "fixity_run",
            self.rows(Scope::Dataset(dataset), &PAGE, &values, |row| self.fixity_run(row))?,
            |first| first.run > after,
            |one, next| one.run < next.run,
        )
    }

    /// What checks of files found, after a finding (`None` means from the first), by run, granule and
    /// path, at most `limit` of them.
    pub fn fixity_findings_after(
        &self,
        dataset: DatasetKey,
        after: Option<&StoredFinding>,
        limit: u32,
    ) -> Result<Vec<StoredFinding>> {
        static PAGE: Sql = Sql::new(
            "SELECT run, granule_id, path, status, expected, found, checked, closed, closed_by
            FROM {fixity_finding}
            WHERE dataset_id = ?1 AND (run, granule_id, path) > (?2, ?3, ?4)
            ORDER BY run, granule_id, path
            LIMIT ?5",
        );
        fn position(finding: &StoredFinding) -> (u64, &str, &str) {
            (finding.run, &finding.granule_id, &finding.path)
        }
        let (run, granule_id, path) = after.map_or((0, "", ""), position);
        let values = [dataset.into(), run.into(), granule_id.into(), path.into(), limit.into()];
        ascending(
            "fixity_finding",
            self.rows(Scope::Dataset(dataset), &PAGE, &values, finding)?,
            |first| after.is_none_or(|after| position(after) < position(first)),
            |one, next| position(one) < position(next),
        )
    }

    fn fixity_run(&self, row: &dyn Columns) -> Result<StoredRun> {
        Ok(StoredRun {
            run: row.count(0)?,
            timestamp: row.instant(1)?,
            identifier: row.identifier(2)?,
            mode: row.string(3)?,
            root: row.string(4)?,
            algorithms: row.string(5)?,
            last_record: row.count(6)?,
            from_id: row.string(7)?,
            to_id: row.string_or_null(8)?,
            lease_to_id: row.string_or_null(9)?,
            lease_ends: row.instant_or_null(10)?,
            started: row.instant(11)?,
            ended: row.instant(12)?,
            recorded_by: self.shown(row.string_or_null(13)?),
            files: row.count(14)?,
            bytes: row.count(15)?,
            findings: row.count(16)?,
            forgotten: row.instant_or_null(17)?,
        })
    }
}

impl Transaction {
    /// Adds checks of files.
    pub fn insert_fixity_runs(&self, dataset: DatasetKey, runs: &[StoredRun]) -> Result<()> {
        static INSERT: Insert = Insert::new(
            "INSERT INTO {fixity_run}
                (dataset_id, run, timestamp, identifier, mode, root, algorithms, last_record, from_id,
                 to_id, lease_to_id, lease_ends, started, ended, recorded_by, files, bytes, findings,
                 forgotten)",
            19,
        );
        self.insert(dataset, &INSERT, runs, |run| {
            [
                dataset.into(),
                run.run.into(),
                run.timestamp.into(),
                run.identifier.into(),
                run.mode.as_str().into(),
                run.root.as_str().into(),
                run.algorithms.as_str().into(),
                run.last_record.into(),
                run.from_id.as_str().into(),
                run.to_id.as_deref().into(),
                run.lease_to_id.as_deref().into(),
                run.lease_ends.into(),
                run.started.into(),
                run.ended.into(),
                run.recorded_by.as_deref().into(),
                run.files.into(),
                run.bytes.into(),
                run.findings.into(),
                run.forgotten.into(),
            ]
        })
    }

    /// Adds what checks of files found.
    pub fn insert_fixity_findings(
        &self,
        dataset: DatasetKey,
        findings: &[StoredFinding],
    ) -> Result<()> {
        static INSERT: Insert = Insert::new(
            "INSERT INTO {fixity_finding}
                (dataset_id, run, granule_id, path, status, expected, found, checked, closed,
                 closed_by)",
            10,
        );
        self.insert(dataset, &INSERT, findings, |finding| {
            let closed: Option<Timestamp> = finding.closed.as_ref().map(|(closed, _)| *closed);
            [
                dataset.into(),
                finding.run.into(),
                finding.granule_id.as_str().into(),
                finding.path.as_str().into(),
                finding.status.as_str().into(),
                finding.expected.as_deref().into(),
                finding.found.as_deref().into(),
                finding.checked.into(),
                closed.into(),
                finding.closed.as_ref().map(|(_, by)| by.as_str()).into(),
            ]
        })
    }
}

fn finding(row: &dyn Columns) -> Result<StoredFinding> {
    Ok(StoredFinding {
        run: row.count(0)?,
        granule_id: row.string(1)?,
        path: row.string(2)?,
        status: row.string(3)?,
        expected: row.string_or_null(4)?,
        found: row.string_or_null(5)?,
        checked: row.instant(6)?,
        closed: row.instant_or_null(7)?.zip(row.string_or_null(8)?),
    })
}
