//! The tables `fixity_root` and `fixity_finding`: how far the checks of files have come, and what is wrong.

use crate::model::{DatasetName, Timestamp};
use crate::store::Result;
use crate::store::page::ascending;
use crate::store::rows::{DatasetKey, StoredFinding, StoredRoot};
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{Columns, Insert, Scope, Sql, Value};

impl Snapshot {
    /// The roots in which files of a dataset were checked, by name.
    pub fn fixity_roots(&self, dataset: DatasetKey) -> Result<Vec<StoredRoot>> {
        static ROOTS: Sql = Sql::new(
            "SELECT root, cursor, cycle_started, full_since, locked_by, locked_until, files, bytes
            FROM {fixity_root}
            WHERE dataset_id = ?1
            ORDER BY root",
        );
        self.rows(Scope::Dataset(dataset), &ROOTS, &[dataset.into()], stored_root)
    }

    /// A root in which files of a dataset were checked. `None` means that none ever was there.
    pub fn fixity_root(&self, dataset: DatasetKey, root: &str) -> Result<Option<StoredRoot>> {
        static ROOT: Sql = Sql::new(
            "SELECT root, cursor, cycle_started, full_since, locked_by, locked_until, files, bytes
            FROM {fixity_root}
            WHERE dataset_id = ?1 AND root = ?2",
        );
        self.row(Scope::Dataset(dataset), &ROOT, &[dataset.into(), root.into()], stored_root)
    }

    /// The findings of a dataset after one of a granule, a path and a root, in this order, at most `limit`
    /// of them.
    pub fn fixity_findings_after(
        &self,
        dataset: DatasetKey,
        (granule_id, path, root): (&str, &str, &str),
        limit: u32,
    ) -> Result<Vec<StoredFinding>> {
        static PAGE: Sql = Sql::new(
            "SELECT granule_id, path, root, status, expected, found, first_seen
            FROM {fixity_finding}
            WHERE dataset_id = ?1 AND (granule_id, path, root) > (?2, ?3, ?4)
            ORDER BY granule_id, path, root
            LIMIT ?5",
        );
        fn position(finding: &StoredFinding) -> (&str, &str, &str) {
            (&finding.granule_id, &finding.path, &finding.root)
        }
        let values = [dataset.into(), granule_id.into(), path.into(), root.into(), limit.into()];
        ascending(
            "fixity_finding",
            self.rows(Scope::Dataset(dataset), &PAGE, &values, stored_finding)?,
            |first| (granule_id, path, root) < position(first),
            |one, next| position(one) < position(next),
        )
    }

    /// The findings of some granules of a dataset, at all roots.
    pub fn fixity_findings_among(
        &self,
        dataset: DatasetKey,
        granule_ids: &[&str],
    ) -> Result<Vec<StoredFinding>> {
        static AMONG: Sql = Sql::by_store(
            "SELECT granule_id, path, root, status, expected, found, first_seen
            FROM fixity_finding
            WHERE dataset_id = ?1 AND granule_id IN (SELECT value FROM rarray(?2))",
            "SELECT granule_id, path, root, status, expected, found, first_seen
            FROM {fixity_finding}
            WHERE dataset_id = ?1 AND granule_id = ANY(CAST(?2 AS text ARRAY))",
        );
        let values = [dataset.into(), Value::Texts(granule_ids)];
        self.rows(Scope::Dataset(dataset), &AMONG, &values, stored_finding)
    }

    /// How many findings a dataset has.
    pub fn count_fixity_findings(&self, dataset: DatasetKey) -> Result<u64> {
        static COUNT: Sql = Sql::new(
            "SELECT count(*)
            FROM {fixity_finding}
            WHERE dataset_id = ?1",
        );
        self.count(Scope::Dataset(dataset), &COUNT, &[dataset.into()])
    }

    /// Whether a dataset has a finding.
    pub fn has_fixity_findings(&self, dataset: DatasetKey) -> Result<bool> {
        static ANY: Sql = Sql::new(
            "SELECT EXISTS (
                SELECT 1
                FROM {fixity_finding}
                WHERE dataset_id = ?1)",
        );
        self.exists(dataset, &ANY, &[dataset.into()])
    }

    /// The names of the datasets of which files were checked, in order. Asks every machine.
    pub fn checked_datasets(&self) -> Result<Vec<DatasetName>> {
        static CHECKED: Sql = Sql::by_store(
            "SELECT name
            FROM dataset
            WHERE EXISTS (
                SELECT 1
                FROM fixity_root
                WHERE fixity_root.dataset_id = dataset.id)
            ORDER BY name",
            "SELECT DISTINCT dataset.name
            FROM {fixity_root}
            JOIN {dataset} ON dataset.id = fixity_root.dataset_id
            ORDER BY dataset.name",
        );
        self.rows(Scope::AllDatasets, &CHECKED, &[], |row| row.dataset_name(0))
    }
}

impl Transaction {
    /// Stores how far the checks at a root have come.
    pub fn save_fixity_root(&self, dataset: DatasetKey, root: &StoredRoot) -> Result<()> {
        static SAVE: Sql = Sql::new(
            "INSERT INTO {fixity_root}
                (dataset_id, root, cursor, cycle_started, full_since, locked_by, locked_until, files, bytes)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            ON CONFLICT (dataset_id, root) DO UPDATE
            SET cursor = excluded.cursor, cycle_started = excluded.cycle_started,
                full_since = excluded.full_since, locked_by = excluded.locked_by,
                locked_until = excluded.locked_until, files = excluded.files, bytes = excluded.bytes",
        );
        let (locked_by, locked_until) = match &root.lock {
            Some((by, until)) => (Some(by.as_str()), Some(*until)),
            None => (None, None),
        };
        let values = [
            dataset.into(),
            root.root.as_str().into(),
            root.cursor.as_deref().into(),
            root.cycle_started.into(),
            root.full_since.into(),
            locked_by.into(),
            locked_until.into(),
            root.files.into(),
            root.bytes.into(),
        ];
        self.run(dataset, &SAVE, &values)
    }

    /// Forgets a root, and what was found there.
    pub fn delete_fixity_root(&self, dataset: DatasetKey, root: &str) -> Result<()> {
        static FINDINGS: Sql = Sql::new(
            "DELETE FROM {fixity_finding}
            WHERE dataset_id = ?1 AND root = ?2",
        );
        static ROOT: Sql = Sql::new(
            "DELETE FROM {fixity_root}
            WHERE dataset_id = ?1 AND root = ?2",
        );
        let values = [dataset.into(), root.into()];
        self.run(dataset, &FINDINGS, &values)?;
        self.run(dataset, &ROOT, &values)
    }

    /// Removes what was found at a root in the granules after one ('' means from the first) up to another
    /// (`None` means to the last one).
    pub fn delete_fixity_findings(
        &self,
        dataset: DatasetKey,
        root: &str,
        (after, up_to): (&str, Option<&str>),
    ) -> Result<()> {
        static DELETE: Sql = Sql::new(
            "DELETE FROM {fixity_finding}
            WHERE dataset_id = ?1 AND root = ?2 AND granule_id > ?3 AND granule_id <= ?4",
        );
        static DELETE_REST: Sql = Sql::new(
            "DELETE FROM {fixity_finding}
            WHERE dataset_id = ?1 AND root = ?2 AND granule_id > ?3",
        );
        match up_to {
            Some(up_to) => {
                let values = [dataset.into(), root.into(), after.into(), up_to.into()];
                self.run(dataset, &DELETE, &values)
            }
            None => self.run(dataset, &DELETE_REST, &[dataset.into(), root.into(), after.into()]),
        }
    }

    /// Removes what was found at a root in files that no granule has.
    pub fn delete_unexpected_files(&self, dataset: DatasetKey, root: &str) -> Result<()> {
        static DELETE: Sql = Sql::new(
            "DELETE FROM {fixity_finding}
            WHERE dataset_id = ?1 AND root = ?2 AND granule_id = ''",
        );
        self.run(dataset, &DELETE, &[dataset.into(), root.into()])
    }

    /// Removes what was found in some granules, at all roots.
    pub fn delete_fixity_findings_of(
        &self,
        dataset: DatasetKey,
        granule_ids: &[&str],
    ) -> Result<()> {
        static DELETE: Sql = Sql::by_store(
            "DELETE FROM fixity_finding
            WHERE dataset_id = ?1 AND granule_id IN (SELECT value FROM rarray(?2))",
            "DELETE FROM {fixity_finding}
            WHERE dataset_id = ?1 AND granule_id = ANY(CAST(?2 AS text ARRAY))",
        );
        self.run(dataset, &DELETE, &[dataset.into(), Value::Texts(granule_ids)])
    }

    /// Adds what checks of files found.
    pub fn insert_fixity_findings(
        &self,
        dataset: DatasetKey,
        findings: &[StoredFinding],
    ) -> Result<()> {
        static INSERT: Insert = Insert::new(
            "INSERT INTO {fixity_finding}
                (dataset_id, root, granule_id, path, status, expected, found, first_seen)",
            8,
        );
        self.insert(dataset, &INSERT, findings, |finding| {
            [
                dataset.into(),
                finding.root.as_str().into(),
                finding.granule_id.as_str().into(),
                finding.path.as_str().into(),
                finding.status.as_str().into(),
                finding.expected.as_deref().into(),
                finding.found.as_deref().into(),
                finding.first_seen.into(),
            ]
        })
    }
}

fn stored_root(row: &dyn Columns) -> Result<StoredRoot> {
    let locked_until: Option<Timestamp> = row.instant_or_null(5)?;
    Ok(StoredRoot {
        root: row.string(0)?,
        cursor: row.string_or_null(1)?,
        cycle_started: row.instant_or_null(2)?,
        full_since: row.instant_or_null(3)?,
        lock: row.string_or_null(4)?.zip(locked_until),
        files: row.count(6)?,
        bytes: row.count(7)?,
    })
}

fn stored_finding(row: &dyn Columns) -> Result<StoredFinding> {
    Ok(StoredFinding {
        granule_id: row.string(0)?,
        path: row.string(1)?,
        root: row.string(2)?,
        status: row.string(3)?,
        expected: row.string_or_null(4)?,
        found: row.string_or_null(5)?,
        first_seen: row.instant(6)?,
    })
}
