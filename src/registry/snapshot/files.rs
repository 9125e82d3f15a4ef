//! What is known of the files of a set.

use std::collections::BTreeMap;

use super::cursor::{SetCursor, SetEntries};
use super::view::Snapshot;
use crate::error::Result;
#[cfg(feature = "serve")]
use crate::model::DatasetName;
use crate::model::{Algorithm, Content, Entry, GranuleId, IdPage, Set};
use crate::registry::proof::{Claim, Proof};

impl Snapshot {
    /// What was known of the files of a set when it was in force, in canonical order of the granules.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::granules`].
    pub fn files(&self, set: &Set) -> Result<FileList> {
        let cursor = self.cursor(set)?.proving(Some(Proof::of(&self.registry, set)));
        let entries = self.with_files(SetEntries::of(cursor), set)?;
        Ok(FileList { entries: entries.proving_files(Claim::of(&self.registry, set)) })
    }

    /// As [`Snapshot::files`], of the granules after one (`None` means from the first), without the proof.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::granules`].
    pub fn files_after(&self, set: &Set, after: Option<&GranuleId>) -> Result<FileList> {
        let cursor = self.cursor(set)?;
        let cursor = match after {
            Some(after) => cursor.after(after),
            None => cursor,
        };
        Ok(FileList { entries: self.with_files(SetEntries::of(cursor), set)? })
    }

    /// Adds to the granules of a set what was known of their files when it was in force.
    pub(super) fn with_files<Pages: Iterator<Item = Result<IdPage>>>(
        &self,
        entries: SetEntries<Pages>,
        set: &Set,
    ) -> Result<SetEntries<Pages>> {
        let dataset = self.ask_of(set.dataset(), |_, dataset| Ok(dataset))?;
        Ok(entries.with_files(&self.registry, dataset, set.instance().timestamp))
    }
}

impl Snapshot {
    /// The usual algorithm of the first granules of a dataset of which something is known. The outer `None`
    /// means that there is none, the inner one that they have no checksum.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown).
    #[cfg(feature = "serve")]
    pub(crate) fn recorded_algorithm(
        &self,
        dataset: &DatasetName,
    ) -> Result<Option<Option<Algorithm>>> {
        let first = self.ask_of(dataset, |read, key| read.first_content(key, 16))?;
        let mut totals = FileTotals::default();
        for stored in &first {
            totals.add(&stored.content);
        }
        Ok((!first.is_empty()).then(|| totals.usual_algorithm().cloned()))
    }
}

/// What is known of the files of a granule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GranuleFiles {
    /// The granule.
    pub granule_id: GranuleId,
    /// Its files. Empty if none is known.
    pub content: Content,
}

/// The granules of a set with what is known of their files, in canonical order.
///
/// Each page is read in a short transaction of its own. The granules of the set are proved as by
/// [`Granules`](super::Granules); what is known of them has the digest of the set, else the last item is an
/// error of kind `damaged`.
pub struct FileList {
    entries: SetEntries<SetCursor>,
}

impl Iterator for FileList {
    type Item = Result<GranuleFiles>;

    fn next(&mut self) -> Option<Result<GranuleFiles>> {
        let entry = self.entries.next()?;
        Some(entry.map(|Entry { granule_id, content, .. }| GranuleFiles {
            granule_id,
            content: content.unwrap_or_default(),
        }))
    }
}

/// How much is known of the files of a set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileTotals {
    /// The granules of the set.
    pub granules: u64,
    /// The granules with a file that has a checksum.
    pub with_checksums: u64,
    /// The files that something is known of.
    pub files: u64,
    /// The sum of the sizes that are known, in bytes.
    pub bytes: u64,
    /// The files whose sizes are not known.
    pub without_size: u64,
    /// The number of files with a checksum of each algorithm.
    pub algorithms: BTreeMap<Algorithm, u64>,
}

impl FileTotals {
    /// SHA-256 if a file has one, else the strongest algorithm that a file has a checksum of. `None`
    /// means that there is no checksum.
    pub fn usual_algorithm(&self) -> Option<&Algorithm> {
        use Algorithm::{Adler32, Cksum, Crc32, Md5, Sha1, Sha256, Sha384, Sha512};
        let strength = [Sha256, Sha512, Sha384, Sha1, Md5, Crc32, Cksum, Adler32];
        let known = strength.iter().find_map(|it| self.algorithms.get_key_value(it));
        known.or_else(|| self.algorithms.first_key_value()).map(|(algorithm, _)| algorithm)
    }
}

impl FileTotals {
    /// Adds what is known of a granule.
    fn add(&mut self, content: &Content) {
        let files = content.files();
        self.granules += 1;
        self.with_checksums += u64::from(files.iter().any(|it| !it.checksums().is_empty()));
        for file in files {
            self.files += 1;
            self.bytes = self.bytes.saturating_add(file.size().unwrap_or(0));
            self.without_size += u64::from(file.size().is_none());
            for checksum in file.checksums() {
                *self.algorithms.entry(checksum.algorithm().clone()).or_default() += 1;
            }
        }
    }
}

impl FileList {
    /// How much is known. Costs a pass over the granules of the set.
    ///
    /// # Errors
    ///
    /// Those of reading the list.
    pub fn totals(self) -> Result<FileTotals> {
        let mut totals = FileTotals::default();
        for granule in self {
            totals.add(&granule?.content);
        }
        Ok(totals)
    }
}
