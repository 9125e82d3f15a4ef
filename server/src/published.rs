//! The directory with the files for mirrors. A dataset is published into it whenever it has changed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use accession::dataset::DatasetRecord;
use accession::publish::SiteDirectory;
use accession::{DatasetFilter, DatasetName};
use accession::{Error, ErrorKind, Result};
use accession::{Registry, Snapshot};

/// The greatest number of cached digests: enough for a log of 4 TiB in segments, and the files beside it.
const MAX_DIGESTS: usize = 65_536;

/// The number of bytes of a file that are read at once, and that are in memory for each slow client.
const PART_BYTES: u64 = 64 * 1_024;

/// The directory with the files for mirrors.
pub struct PublishedFiles {
    /// The directory, which is removed at the end. `None` means that it was not needed yet.
    directory: Mutex<Option<Arc<SiteDirectory>>>,
    known: Mutex<BTreeMap<DatasetName, Version>>,
    /// The digests of files that have not changed since these were computed.
    digests: quick_cache::sync::Cache<Identity, [u8; 32]>,
    /// One permit for each dataset, so that only one task publishes it at a time.
    turns: Mutex<BTreeMap<DatasetName, Arc<Semaphore>>>,
    /// One permit for each dataset that may be published at the same time.
    publishing: Arc<Semaphore>,
}

/// The number of datasets that may be published at the same time.
const PUBLISHING: usize = 4;

/// A version of a file: its device, inode, length, and modification time.
type Identity = (u64, u64, u64, i64, i64);

/// The state on which the files of a dataset depend: the opened registry, the record with the latest change,
/// the latest cited subset, and the number of annotations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    generation: u64,
    listed: DatasetRecord,
    last_subset: u64,
    annotations: u64,
}

impl Version {
    /// Reads the version of a dataset.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](accession::ErrorKind::DatasetUnknown): no dataset has this name.
    pub fn of(snapshot: &Snapshot, name: &DatasetName, generation: u64) -> Result<Self> {
        let listed = snapshot.dataset(name)?;
        let last_subset = snapshot.subset_counter(&listed.dataset.name)?;
        let annotations = snapshot.count_annotations(&listed.dataset.name)?;
        Ok(Version { generation, listed, last_subset, annotations })
    }

    /// The current name of the dataset.
    pub fn name(&self) -> &DatasetName {
        &self.listed.dataset.name
    }
}

/// An open file whose content does not change.
#[derive(Debug)]
pub struct Stored {
    file: File,
    /// Its length.
    pub bytes: u64,
    /// The SHA-256 of its bytes.
    pub sha256: [u8; 32],
}

impl Stored {
    /// Reads the first bytes of a range, on a thread that may wait for a disk.
    ///
    /// # Errors
    ///
    /// The file is shorter than its length, or the disk fails.
    pub async fn part(self: Arc<Self>, range: Range<u64>) -> io::Result<Bytes> {
        let read = tokio::task::spawn_blocking(move || {
            let bytes = PART_BYTES.min(range.end - range.start);
            let mut content = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
            self.file.read_exact_at(&mut content, range.start)?;
            Ok(content.into())
        });
        read.await.map_err(io::Error::other)?
    }
}

impl PublishedFiles {
    /// Creates an empty state. Removes directories that killed servers left behind.
    pub fn new() -> Self {
        SiteDirectory::remove_abandoned();
        PublishedFiles {
            directory: Mutex::default(),
            known: Mutex::default(),
            digests: quick_cache::sync::Cache::new(MAX_DIGESTS),
            turns: Mutex::default(),
            publishing: Arc::new(Semaphore::new(PUBLISHING)),
        }
    }

    /// Waits until a dataset may be published. No other task publishes it until the permits are dropped.
    ///
    /// # Errors
    /// The server is shutting down.
    pub async fn turn(
        &self,
        name: &DatasetName,
    ) -> std::result::Result<[OwnedSemaphorePermit; 2], AcquireError> {
        let turn = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            let turn = turns.entry(name.clone()).or_insert_with(|| Arc::new(Semaphore::new(1)));
            Arc::clone(turn)
        };
        let own = turn.acquire_owned().await?;
        Ok([own, Arc::clone(&self.publishing).acquire_owned().await?])
    }

    /// Whether the published files of a dataset are those of this version.
    pub fn is_current(&self, version: &Version) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&version.listed.dataset.name) == Some(version)
    }

    /// Publishes a dataset. If its history contradicts the published log, for example because the registry was
    /// restored from a backup, the published files are removed, and all of them are written again.
    ///
    /// # Errors
    ///
    /// Those of [`publish`].
    pub fn publish(&self, registry: &Registry, version: Version) -> Result<()> {
        let directory = self.directory()?;
        let name = &version.listed.dataset.name;
        let filter = DatasetFilter::from(name.clone());
        let run =
            || registry.publish(directory.path(), &filter, |_, published| published.map(drop));
        match run() {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::PublishedOtherwise | ErrorKind::PublishedDamaged
                ) =>
            {
                directory.remove_dataset(name)?;
                run()?;
            }
            done => done?,
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(name.clone(), version);
        Ok(())
    }

    /// Opens a file of a dataset. `None` means that the file does not exist. Its digest is computed once.
    /// Meanwhile `proceed` is called, and may stop the computation.
    ///
    /// The opened file stays the same if another file replaces it. Content that is appended later is not sent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`], and those of `proceed`. The inner error means that the file cannot be read.
    pub fn open(
        &self,
        name: &DatasetName,
        file: &str,
        proceed: impl Fn() -> Result<()>,
    ) -> Result<io::Result<Option<Stored>>> {
        let opened = self.directory()?.open(&format!("datasets/{name}/{file}"))?;
        let Some(file) = opened else { return Ok(Ok(None)) };
        match self.stored(file, proceed) {
            Ok(stored) => Ok(Ok(Some(stored))),
            // An error of `proceed` is returned unchanged.
            Err(failed) => failed.downcast::<Error>().map_or_else(|io| Ok(Err(io)), Err),
        }
    }

    fn stored(&self, mut file: File, proceed: impl Fn() -> Result<()>) -> io::Result<Stored> {
        let found = file.metadata()?;
        let bytes = found.len();
        let identity = (found.dev(), found.ino(), bytes, found.mtime(), found.mtime_nsec());
        let sha256 = self.digests.get_or_insert_with(&identity, || {
            let (mut sha256, mut part) = (Sha256::new(), vec![0; 64 * 1_024]);
            let mut rest = (&mut file).take(bytes);
            loop {
                match rest.read(&mut part)? {
                    0 => return Ok::<[u8; 32], io::Error>(sha256.finalize().into()),
                    read => sha256.update(&part[..read]),
                }
                proceed().map_err(io::Error::other)?;
            }
        })?;
        Ok(Stored { file, bytes, sha256 })
    }

    fn directory(&self) -> Result<Arc<SiteDirectory>> {
        let mut own = self.directory.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = match own.take() {
            Some(directory) => directory,
            None => Arc::new(SiteDirectory::temporary()?),
        };
        Ok(Arc::clone(own.insert(directory)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_dataset_is_published_once_at_a_time_and_waits_for_no_other() {
        let files = PublishedFiles::new();
        let (one, other) = ("US".parse().unwrap(), "EU".parse().unwrap());
        let _turn = files.turn(&one).await.unwrap();
        let _other = files.turn(&other).await.unwrap();
        let time = std::time::Duration::from_millis(1);
        assert!(tokio::time::timeout(time, files.turn(&one)).await.is_err());
    }
}
