//! When the files of datasets were checked, and what is wrong with them.

use serde::Serialize;

use super::view::Snapshot;
use crate::error::Result;
use crate::model::{DatasetName, Timestamp};
use crate::store::{self, StoredFinding, StoredRoot};

/// A file that is not as it is recorded: what the last check of it has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenFinding {
    /// The name of the root directory.
    pub root: String,
    /// The granule. `None` means that no granule has the file.
    pub granule: Option<String>,
    /// The path below the root.
    pub path: String,
    /// What is wrong: `missing`, `size`, `checksum`, …
    pub status: String,
    /// What is recorded. `None` means nothing.
    pub expected: Option<String>,
    /// What was found instead. `None` means nothing.
    pub found: Option<String>,
    /// When it was first found like this.
    pub first_seen: Timestamp,
}

/// The checks at a root directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RootState {
    /// The name of the directory.
    pub root: String,
    /// Every file that was held then was checked since this time. `None` means that no check has come to the
    /// end of the dataset.
    pub since: Option<Timestamp>,
    /// When the check of all files began that has not come to the end yet. `None` means that none is under
    /// way.
    pub started: Option<Timestamp>,
    /// How many files it has checked; if none is under way, the last one.
    pub files: u64,
    /// How many bytes it has read.
    pub bytes: u64,
}

impl RootState {
    /// Whether it was neither checked completely nor begun to be, since a time.
    pub(crate) fn is_older_than(&self, oldest: Timestamp) -> bool {
        self.since.or(self.started).is_none_or(|since| since < oldest)
    }
}

impl From<StoredRoot> for RootState {
    fn from(stored: StoredRoot) -> Self {
        let StoredRoot { root, cycle_started, full_since, files, bytes, .. } = stored;
        RootState { root, since: full_since, started: cycle_started, files, bytes }
    }
}

impl From<StoredFinding> for OpenFinding {
    fn from(stored: StoredFinding) -> Self {
        let StoredFinding { root, granule_id, path, status, expected, found, first_seen } = stored;
        let granule = Some(granule_id).filter(|granule_id| !granule_id.is_empty());
        OpenFinding { root, granule, path, status, expected, found, first_seen }
    }
}

impl Snapshot {
    /// The directories in which files of a dataset were checked, by name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown).
    pub fn checked_roots(&self, dataset: &DatasetName) -> Result<Vec<RootState>> {
        let roots = self.ask_of(dataset, store::View::fixity_roots)?;
        Ok(roots.into_iter().map(RootState::from).collect())
    }

    /// What is wrong with files of a dataset, by granule, path and root: the first `most` findings.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown).
    pub fn open_findings(&self, dataset: &DatasetName, most: u32) -> Result<Vec<OpenFinding>> {
        let first =
            self.ask_of(dataset, |read, key| read.fixity_findings_after(key, ("", "", ""), most))?;
        Ok(first.into_iter().map(OpenFinding::from).collect())
    }

    /// How many files of a dataset are not as recorded, each counted at every root.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown).
    pub fn count_open_findings(&self, dataset: &DatasetName) -> Result<u64> {
        self.ask_of(dataset, store::View::count_fixity_findings)
    }

    /// The datasets of which files were checked, by name.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read.
    pub fn checked_datasets(&self) -> Result<Vec<DatasetName>> {
        self.ask(store::View::checked_datasets)
    }

    /// Since when something is known of the files of the first granule of a dataset of which it is. `None`
    /// means that nothing is known of any.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown).
    pub(in crate::registry) fn files_known_since(
        &self,
        dataset: &DatasetName,
    ) -> Result<Option<Timestamp>> {
        let first = self.ask_of(dataset, |read, key| read.first_content(key, 1))?;
        Ok(first.first().map(|known| known.since))
    }
}
