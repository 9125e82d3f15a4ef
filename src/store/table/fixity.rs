//! The tables `fixity_root` and `fixity_finding`: the progress of file checks, and their findings.

use crate::model::{DatasetName, GranuleId, Timestamp};
use crate::store::Result;
use crate::store::checked_row::{optional_part, row};
use crate::store::rows::{DatasetKey, FindingCounts, OpenFinding, RootState};
use crate::store::session::{Transaction, View};
use crate::store::statement::{Sql, Value};

row!(OpenFinding in FIXITY_FINDING {
    granule, path, root, status, expected, found, first_seen
});

row!(RootState in FIXITY_ROOT { root, cursor, started, since, lock, files, bytes });
optional_part!((String, Timestamp));

impl View {
    /// A root in which files of a dataset were checked. `None` means that no files were checked there.
    pub fn fixity_root(&self, dataset: DatasetKey, root: &str) -> Result<Option<RootState>> {
        let roots: Vec<RootState> = self.first(dataset, u32::MAX)?;
        Ok(roots.into_iter().find(|stored| stored.root == root))
    }

    /// The findings of some granules of a dataset, at all roots.
    pub fn fixity_findings_among(
        &self,
        dataset: DatasetKey,
        granule_ids: &[&str],
    ) -> Result<Vec<OpenFinding>> {
        static AMONG: Sql = Sql::new(
            "SELECT {fixity_finding.*}
            FROM {fixity_finding}
            WHERE dataset_id = ?1 AND granule_id IN rarray(?2)",
        );
        let values = [dataset.into(), Value::Texts(granule_ids)];
        self.select(&AMONG, &values)
    }

    /// The numbers of findings of a dataset.
    pub fn finding_counts(&self, dataset: DatasetKey) -> Result<FindingCounts> {
        static COUNTS: Sql = Sql::new(
            "SELECT count(*) FILTER (WHERE status = 'missing'),
                count(*) FILTER (WHERE status IN ('size', 'checksum', 'unreadable')), count(*)
            FROM {fixity_finding}
            WHERE dataset_id = ?1",
        );
        let counts = self.row(&COUNTS, &[dataset.into()], |row| {
            let (missing, damaged, all) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(FindingCounts { missing, damaged, all, files: 0 })
        })?;
        let Some(counts) = counts.filter(|counts| counts.all > 0) else {
            return Ok(FindingCounts::default());
        };
        static FILES: Sql = Sql::new(
            "SELECT count(*)
            FROM (
                SELECT DISTINCT granule_id, path
                FROM {fixity_finding}
                WHERE dataset_id = ?1 AND granule_id <> '') AS file",
        );
        let files = self.row(&FILES, &[dataset.into()], |row| row.get(0))?;
        Ok(FindingCounts { files: files.unwrap_or(0), ..counts })
    }

    /// The names of the datasets whose files were checked, in order. Asks every machine.
    pub fn checked_datasets(&self) -> Result<Vec<DatasetName>> {
        static CHECKED: Sql = Sql::by_store(
            "SELECT name
            FROM dataset
            WHERE (?2 = 1 OR id IN rarray(?1)) AND EXISTS (
                SELECT 1
                FROM fixity_root
                WHERE fixity_root.dataset_id = dataset.id)
            ORDER BY name",
            "SELECT DISTINCT dataset.name
            FROM {fixity_root}
            JOIN {dataset} ON dataset.id = fixity_root.dataset_id
            WHERE ?2 = 1 OR dataset.id IN rarray(?1)
            ORDER BY dataset.name",
        );
        self.rows(&CHECKED, &self.with_shown([]), |row| row.get(0))
    }
}

impl Transaction {
    /// Deletes a root and its findings.
    pub fn delete_fixity_root(&self, dataset: DatasetKey, root: &str) -> Result<()> {
        static ROOT: Sql = Sql::new(
            "DELETE FROM {fixity_root}
            WHERE dataset_id = ?1 AND root = ?2",
        );
        self.delete_unexpected_files(dataset, root)?;
        self.delete_fixity_findings(dataset, root, ("", None))?;
        self.run(dataset, &ROOT, &[dataset.into(), root.into()])
    }

    /// Deletes the findings at a root for the granules after one (`""` means from the first) up to another
    /// (`None` means to the last).
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
        // Longer than any id, and after all of them.
        let last = || "\u{10ffff}".repeat(GranuleId::MAX_BYTES).into();
        let up_to = up_to.map_or_else(last, Value::from);
        self.run(dataset, &DELETE, &[dataset.into(), root.into(), after.into(), up_to])
    }

    /// Deletes the findings at a root for files that belong to no granule.
    pub fn delete_unexpected_files(&self, dataset: DatasetKey, root: &str) -> Result<()> {
        static DELETE: Sql = Sql::new(
            "DELETE FROM {fixity_finding}
            WHERE dataset_id = ?1 AND root = ?2 AND granule_id = ''",
        );
        self.run(dataset, &DELETE, &[dataset.into(), root.into()])
    }

    /// Deletes the findings for some granules, at all roots.
    pub fn delete_fixity_findings_of(
        &self,
        dataset: DatasetKey,
        granule_ids: &[&str],
    ) -> Result<()> {
        static DELETE: Sql = Sql::new(
            "DELETE FROM {fixity_finding}
            WHERE dataset_id = ?1 AND granule_id IN rarray(?2)",
        );
        self.run(dataset, &DELETE, &[dataset.into(), Value::Texts(granule_ids)])
    }
}
