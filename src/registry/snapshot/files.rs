//! What is known of the files of a set.

use std::collections::{BTreeMap, VecDeque};

use super::view::Snapshot;
use crate::error::{Error, Result};
#[cfg(feature = "serve")]
use crate::model::DatasetName;
use crate::model::{Algorithm, Checksum, GranuleId, IdPage, Set, Timestamp};
use crate::registry::files::{KnownFile, known_files};
use crate::registry::handle::Registry;
use crate::registry::listing::Listing;
use crate::store::DatasetKey;

impl Snapshot {
    /// What is known of the files of a set, in canonical order of the granules: as known now or, in a
    /// snapshot of an earlier state, as it was known then.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::granules`].
    pub fn files(&self, set: &Set) -> Result<FileList> {
        self.files_from(set, None)
    }

    /// As [`Snapshot::files`], of granules of a set that are listed: of a subset that is not stored.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::files`]; [`ErrorKind::Temporary`](crate::ErrorKind::Temporary).
    pub fn files_listed(&self, set: &Set, listing: &Listing) -> Result<FileList> {
        self.files_of(set, listing.id_pages()?)
    }

    /// As [`Snapshot::files`], of the granules after one (`None` means from the first).
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::granules`].
    pub(in crate::registry) fn files_from(
        &self,
        set: &Set,
        after: Option<&GranuleId>,
    ) -> Result<FileList> {
        let granules = self.granules(set)?;
        let granules = match after {
            Some(after) => granules.after(after),
            None => granules,
        };
        self.files_of(set, granules.into_id_pages())
    }

    /// The files of granules of a set, whose ids are in canonical order.
    fn files_of(
        &self,
        set: &Set,
        pages: impl Iterator<Item = Result<IdPage>> + Send + 'static,
    ) -> Result<FileList> {
        let (dataset, last) = self.ask_of(set.dataset(), |read, dataset| {
            Ok((dataset, read.last_record_batch(dataset, self.known)?))
        })?;
        Ok(FileList {
            registry: self.registry.clone(),
            pages: Box::new(pages),
            dataset,
            last_number: last.as_ref().map_or(0, |last| last.last_number),
            recorded: last.map(|last| last.recorded),
            read: VecDeque::new(),
        })
    }
}

impl Snapshot {
    /// The usual algorithm of the first file records of a dataset. The outer `None` means that there is
    /// none, the inner one that they have no checksum.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown).
    #[cfg(feature = "serve")]
    pub(crate) fn recorded_algorithm(
        &self,
        dataset: &DatasetName,
    ) -> Result<Option<Option<Algorithm>>> {
        let first = self.ask_of(dataset, |read, key| read.file_records_after(key, None, 16))?;
        let checksums = first.iter().filter_map(|stored| stored.record.content.checksum());
        let algorithms = checksums.map(|it| (it.algorithm().clone(), 1)).collect();
        let totals = FileTotals { algorithms, ..FileTotals::default() };
        Ok((!first.is_empty()).then(|| totals.usual_algorithm().cloned()))
    }
}

/// What is known of the files of a granule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GranuleFiles {
    /// The granule.
    pub granule_id: GranuleId,
    /// Its files, by path. Empty if none is known.
    pub files: Vec<ListedFile>,
}

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// The path, relative to the root directory of the dataset's files.
    pub path: String,
    /// The size in bytes. `None` means that it is not known.
    pub size: Option<u64>,
    /// The checksums, at most one of each algorithm.
    pub checksums: Vec<Checksum>,
}

/// The granules of a set with what is known of their files, in canonical order.
///
/// Each page is read in a short transaction of its own. What is recorded later is not listed. The
/// granules of the set are proved as by [`Granules`](super::Granules).
pub struct FileList {
    registry: Registry,
    pages: Box<dyn Iterator<Item = Result<IdPage>> + Send>,
    dataset: DatasetKey,
    last_number: u64,
    recorded: Option<Timestamp>,
    read: VecDeque<GranuleFiles>,
}

impl FileList {
    /// Leaves out what was recorded after a record.
    pub(in crate::registry) fn known_up_to(self, record: u64) -> Self {
        FileList { last_number: self.last_number.min(record), ..self }
    }

    /// The number of the last record that is listed. 0 if there is none.
    pub fn last_record(&self) -> u64 {
        self.last_number
    }

    /// When the last record of the dataset was entered. `None` means that it has none.
    pub fn recorded(&self) -> Option<Timestamp> {
        self.recorded
    }

    /// Reads the next page. `false` means that there is none.
    fn load(&mut self) -> Result<bool> {
        let Some(page) = self.pages.next().transpose()? else { return Ok(false) };
        let ids: Vec<&str> = page.iter().collect();
        let mut known = Vec::new();
        if self.last_number > 0 {
            let registry = &self.registry;
            let read = || {
                let read = registry.read()?;
                let records = read.file_records_among(self.dataset, &ids)?;
                read.check_same_file()?;
                Ok(records)
            };
            let records = read().map_err(|error| registry.named(error))?;
            let last_number = self.last_number;
            known = known_files(records.into_iter().filter(|it| it.number <= last_number));
        }
        let mut known = known.into_iter().peekable();
        for id in ids {
            let mut files = Vec::new();
            while let Some(file) = known.next_if(|file| file.granule_id.as_str() == id) {
                let KnownFile { path, state, .. } = file;
                let (size, checksums) = (state.size(), state.checksums().to_vec());
                files.push(ListedFile { path, size, checksums });
            }
            let granule_id = GranuleId::new(id).map_err(Error::damaged)?;
            self.read.push_back(GranuleFiles { granule_id, files });
        }
        Ok(true)
    }
}

impl Iterator for FileList {
    type Item = Result<GranuleFiles>;

    fn next(&mut self) -> Option<Result<GranuleFiles>> {
        while self.read.is_empty() {
            match self.load() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        self.read.pop_front().map(Ok)
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

impl FileList {
    /// How much is known. Costs a pass over the granules of the set.
    ///
    /// # Errors
    ///
    /// Those of reading the list.
    pub fn totals(self) -> Result<FileTotals> {
        let mut totals = FileTotals::default();
        for granule in self {
            let GranuleFiles { files, .. } = granule?;
            totals.granules += 1;
            totals.with_checksums += u64::from(files.iter().any(|it| !it.checksums.is_empty()));
            for file in files {
                totals.files += 1;
                totals.bytes = totals.bytes.saturating_add(file.size.unwrap_or(0));
                totals.without_size += u64::from(file.size.is_none());
                for checksum in file.checksums {
                    *totals.algorithms.entry(checksum.algorithm().clone()).or_default() += 1;
                }
            }
        }
        Ok(totals)
    }
}
