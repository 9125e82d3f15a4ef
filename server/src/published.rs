//! The directory with what mirrors read, which is published whenever a dataset has changed.

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

/// How many digests are kept: of a log of 4 TiB in segments, and the files beside it.
const MAX_DIGESTS: usize = 65_536;

/// How much of a file is read at once, and is in memory for each client that reads slowly.
const PART_BYTES: u64 = 64 * 1_024;

/// The directory with what mirrors read.
pub struct PublishedFiles {
    /// The directory, which is removed at the end. `None` means that it was not needed yet.
    directory: Mutex<Option<Arc<SiteDirectory>>>,
    known: Mutex<BTreeMap<DatasetName, Version>>,
    /// The digests of files that did not change since they were computed.
    digests: quick_cache::sync::Cache<Identity, [u8; 32]>,
    /// One permit for each dataset, so that only one task publishes it at a time.
    turns: Mutex<BTreeMap<DatasetName, Arc<Semaphore>>>,
    /// One permit for each dataset that may be published at the same time.
    publishing: Arc<Semaphore>,
}

/// The number of datasets that may be published at the same time.
const PUBLISHING: usize = 4;

/// A file as it was at some time: its device, its number, its length, and when it was written.
type Identity = (u64, u64, u64, i64, i64);

/// What of a dataset decides its files: the registry that was opened, the record with the latest
/// change, the last subset that was cited, and how many annotations there are.
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
    /// [`ErrorKind::DatasetUnknown`](accession::ErrorKind::DatasetUnknown).
    pub fn of(snapshot: &Snapshot, name: &DatasetName, generation: u64) -> Result<Self> {
        let listed = snapshot.dataset(name)?;
        let last_subset = snapshot.subset_counter(&listed.dataset.name)?;
        let annotations = snapshot.count_annotations(&listed.dataset.name)?;
        Ok(Version { generation, listed, last_subset, annotations })
    }

    /// The present name of the dataset.
    pub fn name(&self) -> &DatasetName {
        &self.listed.dataset.name
    }
}

/// A file that stays the same.
#[derive(Debug)]
pub struct Stored {
    file: File,
    /// Its length.
    pub bytes: u64,
    /// The SHA-256 of its bytes.
    pub sha256: [u8; 32],
}

impl Stored {
    /// The first bytes of a range. They are read on a thread on which a disk may be waited for.
    ///
    /// # Errors
    ///
    /// The file has fewer bytes than its length says, or the disk fails.
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
    /// Nothing is published yet. The directories that killed servers left are removed.
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

    /// Waits until a dataset may be published. No other task publishes it while the permits exist.
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

    /// Whether the files of a dataset are those of this version.
    pub fn is_current(&self, version: &Version) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&version.listed.dataset.name) == Some(version)
    }

    /// Publishes a dataset. If its history contradicts what was published, for example because the registry was
    /// restored from a backup, it is published anew.
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

    /// Opens a file of a dataset. `None` means that the file does not exist. Its digest is computed
    /// once, with calls of `proceed` meanwhile, which can stop it.
    ///
    /// The file stays the same when another one takes its place, and what is appended later is not sent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`]; those of `proceed`. That the file cannot be read is the error within.
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
            // An error of `proceed` is returned as it is.
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
