//! The tables `fixity_run` and `fixity_finding`: checks of files, and what they found.

use crate::model::{DatasetName, Timestamp};
use crate::store::Result;
use crate::store::page::{ascending, paged};
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
            "SELECT run, timestamp, identifier, is_subset, cycle, mode, root, algorithms, last_record,
                from_id, to_id, lease_to_id, lease_ends, started, ended, recorded_by, files, bytes, findings, forgotten
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

    /// All checks of the files of a dataset, in order.
    pub fn fixity_runs(&self, dataset: DatasetKey) -> impl Iterator<Item = Result<StoredRun>> {
        paged(
            0,
            move |after, limit| self.fixity_runs_after(dataset, *after, limit),
            |last| last.run,
        )
    }

    /// What checks of files found, after a finding of a run (0 means from the first), by run and number, at
    /// most `limit` of them.
    pub fn fixity_findings_after(
        &self,
        dataset: DatasetKey,
        (run, number): (u64, u64),
        limit: u32,
    ) -> Result<Vec<StoredFinding>> {
        static PAGE: Sql = Sql::new(
            "SELECT run, number, granule_id, path, status, expected, found, checked, closed, closed_by
            FROM {fixity_finding}
            WHERE dataset_id = ?1 AND (run, number) > (?2, ?3)
            ORDER BY run, number
            LIMIT ?4",
        );
        let values = [dataset.into(), run.into(), number.into(), limit.into()];
        ascending(
            "fixity_finding",
            self.rows(Scope::Dataset(dataset), &PAGE, &values, finding)?,
            |first| (run, number) < (first.run, first.number),
            |one, next| (one.run, one.number) < (next.run, next.number),
        )
    }

    /// The open findings of a dataset after one of a granule, a run and a number in it, in this order, at
    /// most `limit` of them.
    pub fn open_findings_after(
        &self,
        dataset: DatasetKey,
        (granule_id, run, number): (&str, u64, u64),
        limit: u32,
    ) -> Result<Vec<StoredFinding>> {
        static PAGE: Sql = Sql::new(
            "SELECT run, number, granule_id, path, status, expected, found, checked, closed, closed_by
            FROM {fixity_finding}
            WHERE dataset_id = ?1 AND closed IS NULL AND (granule_id, run, number) > (?2, ?3, ?4)
            ORDER BY granule_id, run, number
            LIMIT ?5",
        );
        fn position(finding: &StoredFinding) -> (&str, u64, u64) {
            (&finding.granule_id, finding.run, finding.number)
        }
        let values = [dataset.into(), granule_id.into(), run.into(), number.into(), limit.into()];
        ascending(
            "fixity_finding",
            self.rows(Scope::Dataset(dataset), &PAGE, &values, finding)?,
            |first| (granule_id, run, number) < position(first),
            |one, next| position(one) < position(next),
        )
    }

    /// The names of the datasets of which files were ever checked, in order. Asks every machine.
    pub fn checked_datasets(&self) -> Result<Vec<DatasetName>> {
        static CHECKED: Sql = Sql::by_store(
            "SELECT name
            FROM dataset
            WHERE EXISTS (
                SELECT 1
                FROM fixity_run
                WHERE fixity_run.dataset_id = dataset.id)
            ORDER BY name",
            "SELECT DISTINCT dataset.name
            FROM {fixity_run}
            JOIN {dataset} ON dataset.id = fixity_run.dataset_id
            ORDER BY dataset.name",
        );
        self.rows(Scope::AllDatasets, &CHECKED, &[], |row| row.dataset_name(0))
    }

    /// When files of a dataset were last checked. `None` means never.
    pub fn last_checked(&self, dataset: DatasetKey) -> Result<Option<Timestamp>> {
        static LAST: Sql = Sql::new(
            "SELECT ended
            FROM {fixity_run}
            WHERE dataset_id = ?1 AND files > 0 AND forgotten IS NULL
            ORDER BY run DESC
            LIMIT 1",
        );
        self.row(Scope::Dataset(dataset), &LAST, &[dataset.into()], |row| row.instant(0))
    }

    fn fixity_run(&self, row: &dyn Columns) -> Result<StoredRun> {
        Ok(StoredRun {
            run: row.count(0)?,
            timestamp: row.instant(1)?,
            identifier: row.identifier(2)?,
            is_subset: row.count(3)? == 1,
            cycle: row.count_or_null(4)?,
            mode: row.string(5)?,
            root: row.string(6)?,
            algorithms: row.string(7)?,
            last_record: row.count(8)?,
            from_id: row.string(9)?,
            to_id: row.string_or_null(10)?,
            lease_to_id: row.string_or_null(11)?,
            lease_ends: row.instant_or_null(12)?,
            started: row.instant(13)?,
            ended: row.instant(14)?,
            recorded_by: self.shown(row.string_or_null(15)?),
            files: row.count(16)?,
            bytes: row.count(17)?,
            findings: row.count(18)?,
            forgotten: row.instant_or_null(19)?,
        })
    }
}

impl Transaction {
    /// Adds checks of files.
    pub fn insert_fixity_runs(&self, dataset: DatasetKey, runs: &[StoredRun]) -> Result<()> {
        static INSERT: Insert = Insert::new(
            "INSERT INTO {fixity_run}
                (dataset_id, run, timestamp, identifier, is_subset, cycle, mode, root, algorithms,
                 last_record, from_id, to_id, lease_to_id, lease_ends, started, ended, recorded_by,
                 files, bytes, findings, forgotten)",
            21,
        );
        self.insert(dataset, &INSERT, runs, |run| {
            [
                dataset.into(),
                run.run.into(),
                run.timestamp.into(),
                run.identifier.into(),
                i64::from(run.is_subset).into(),
                run.cycle.into(),
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

    /// Saves how far a check of files has come.
    pub fn save_fixity_run(&self, dataset: DatasetKey, run: &StoredRun) -> Result<()> {
        static SAVE: Sql = Sql::new(
            "UPDATE {fixity_run}
            SET to_id = ?3, lease_to_id = ?4, lease_ends = ?5, ended = ?6, files = ?7, bytes = ?8,
                findings = ?9
            WHERE dataset_id = ?1 AND run = ?2",
        );
        let values = [
            dataset.into(),
            run.run.into(),
            run.to_id.as_deref().into(),
            run.lease_to_id.as_deref().into(),
            run.lease_ends.into(),
            run.ended.into(),
            run.files.into(),
            run.bytes.into(),
            run.findings.into(),
        ];
        self.run(dataset, &SAVE, &values)
    }

    /// Forgets the root of a check of files, which no longer leases anything.
    pub fn forget_fixity_run(
        &self,
        dataset: DatasetKey,
        run: u64,
        forgotten: Timestamp,
    ) -> Result<()> {
        static FORGET: Sql = Sql::new(
            "UPDATE {fixity_run}
            SET forgotten = ?3, lease_to_id = NULL, lease_ends = NULL
            WHERE dataset_id = ?1 AND run = ?2",
        );
        self.run(dataset, &FORGET, &[dataset.into(), run.into(), forgotten.into()])
    }

    /// Closes a finding, unless it is closed.
    pub fn close_finding(
        &self,
        dataset: DatasetKey,
        (run, number): (u64, u64),
        closed: Timestamp,
        closed_by: &str,
    ) -> Result<()> {
        static CLOSE: Sql = Sql::new(
            "UPDATE {fixity_finding}
            SET closed = ?4, closed_by = ?5
            WHERE dataset_id = ?1 AND run = ?2 AND number = ?3 AND closed IS NULL",
        );
        let values = [dataset.into(), run.into(), number.into(), closed.into(), closed_by.into()];
        self.run(dataset, &CLOSE, &values)
    }

    /// Adds what checks of files found.
    pub fn insert_fixity_findings(
        &self,
        dataset: DatasetKey,
        findings: &[StoredFinding],
    ) -> Result<()> {
        static INSERT: Insert = Insert::new(
            "INSERT INTO {fixity_finding}
                (dataset_id, run, number, granule_id, path, status, expected, found, checked, closed,
                 closed_by)",
            11,
        );
        self.insert(dataset, &INSERT, findings, |finding| {
            let closed: Option<Timestamp> = finding.closed.as_ref().map(|(closed, _)| *closed);
            [
                dataset.into(),
                finding.run.into(),
                finding.number.into(),
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
        number: row.count(1)?,
        granule_id: row.string(2)?,
        path: row.string(3)?,
        status: row.string(4)?,
        expected: row.string_or_null(5)?,
        found: row.string_or_null(6)?,
        checked: row.instant(7)?,
        closed: row.instant_or_null(8)?.zip(row.string_or_null(9)?),
    })
}
