//! The directory with what mirrors read, which is published whenever a dataset has changed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;
use tokio::sync::Semaphore;

use crate::model::{DatasetName, Subset};
use crate::publish::{self, Error as PublishError, publish};
use crate::registry::{Listed, Registry, Result, Snapshot};

/// The greatest length of a file that is delivered, in bytes: a segment is complete with the line
/// that takes it past 4 MiB.
const MAX_FILE_BYTES: u64 = 64 * 1_024 * 1_024;

/// The directory with what mirrors read.
pub struct Cache {
    directory: Mutex<Place>,
    known: Mutex<BTreeMap<DatasetName, Version>>,
    /// Only one dataset is published at a time.
    pub turn: Arc<Semaphore>,
}

enum Place {
    /// A directory that is kept.
    Kept(PathBuf),
    /// One that is removed at the end. `None` means that it was not needed yet.
    Own(Option<TempDir>),
}

/// What of a dataset decides its files: the registry that was opened, the record with the latest
/// change, and the cited subsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    generation: u64,
    listed: Listed,
    subsets: Vec<Subset>,
}

impl Version {
    /// Reads the version of a dataset.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`](crate::Error::NoDataset).
    pub fn of(snapshot: &Snapshot, name: &DatasetName, generation: u64) -> Result<Self> {
        let listed = snapshot.dataset(name)?;
        let subsets = snapshot.subsets(&listed.dataset.name)?;
        Ok(Version { generation, listed, subsets })
    }
}

impl Cache {
    /// A cache in a directory that is kept, or in a temporary one.
    pub fn new(directory: Option<PathBuf>) -> Self {
        Cache {
            directory: Mutex::new(directory.map_or(Place::Own(None), Place::Kept)),
            known: Mutex::default(),
            turn: Arc::new(Semaphore::new(1)),
        }
    }

    /// Whether the files of a dataset are those of this version.
    pub fn is_current(&self, version: &Version) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&version.listed.dataset.name) == Some(version)
    }

    /// Publishes a dataset. One whose history contradicts what was published is published anew in
    /// a temporary directory, and refused in one that is kept.
    ///
    /// # Errors
    ///
    /// Those of [`publish`].
    pub fn publish(&self, registry: &Registry, version: Version) -> publish::Result<()> {
        let directory = self.directory()?;
        let name = &version.listed.dataset.name;
        let run = || publish(registry, &directory, std::slice::from_ref(name), |_| Ok(()));
        match run() {
            Err(PublishError::Contradicts { path, .. }) if self.is_own() => {
                let removed = fs::remove_dir_all(&path);
                removed.map_err(|source| PublishError::File { verb: "remove", path, source })?;
                run()?;
            }
            done => done?,
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(name.clone(), version);
        Ok(())
    }

    /// Reads a file of a dataset. `None` means that the file does not exist.
    ///
    /// # Errors
    ///
    /// [`PublishError::File`].
    pub fn file(&self, name: &DatasetName, file: &str) -> publish::Result<Option<Vec<u8>>> {
        let path = self.directory()?.join("datasets").join(name.as_str()).join(file);
        let mut bytes = Vec::new();
        match File::open(&path).and_then(|it| it.take(MAX_FILE_BYTES).read_to_end(&mut bytes)) {
            Ok(_) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(PublishError::File { verb: "read", path, source }),
        }
    }

    fn is_own(&self) -> bool {
        let place = self.directory.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(*place, Place::Own(_))
    }

    fn directory(&self) -> publish::Result<PathBuf> {
        let mut place = self.directory.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *place {
            Place::Kept(directory) => Ok(directory.clone()),
            Place::Own(Some(directory)) => Ok(directory.path().to_owned()),
            Place::Own(own) => {
                let made = tempfile::tempdir().map_err(|source| {
                    let path = Path::new("a temporary directory").to_owned();
                    PublishError::File { verb: "create", path, source }
                })?;
                Ok(own.insert(made).path().to_owned())
            }
        }
    }
}
