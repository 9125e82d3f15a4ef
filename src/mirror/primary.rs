//! The primary of a mirror: a registry, or a manifest from which one is rebuilt.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::error::{Error, Result};
use super::manifest::Reader;
use crate::input;
use crate::model::{DatasetName, Timestamp};
use crate::registry::{self, Access, Import, Registry, Stamp, Withdrawn};

/// The archive that a mirror follows, and its dataset.
pub struct Primary {
    registry: Registry,
    dataset: DatasetName,
}

impl Primary {
    /// Opens a registry file to read from it, even while its owner writes; or reads a manifest,
    /// compressed with gzip or not, and checks every identifier in it by rebuilding it in a temporary
    /// registry.
    ///
    /// The dataset is `named`; `None` means the one with the name of the mirror, or the only one.
    ///
    /// # Errors
    ///
    /// [`Error::File`]: the file cannot be read; [`Error::Registry`]: the registry cannot be opened,
    /// or the manifest contradicts itself; [`Error::Input`]: a line of the manifest cannot be read;
    /// [`Error::NoPrimaryDataset`].
    pub fn open(
        path: &Path,
        mirror: &DatasetName,
        named: Option<&DatasetName>,
        now: Timestamp,
    ) -> Result<Self> {
        let mut file =
            File::open(path).map_err(|source| Error::File { path: path.into(), source })?;
        let mut beginning = Vec::new();
        let read = (&mut file).take(registry::BEGINNING_BYTES).read_to_end(&mut beginning);
        read.map_err(|source| Error::File { path: path.into(), source })?;
        if !registry::is_registry(&beginning) {
            let whole = io::Cursor::new(beginning).chain(file);
            return Primary::from_manifest(whole, &path.to_string_lossy(), mirror, named, now);
        }
        // Closing any handle on a file drops the locks of this process on it, so this one is closed
        // before the registry is opened.
        drop(file);
        Primary::of(Registry::open(path, Access::Read)?, mirror, named)
    }

    /// Reads a manifest, as [`Primary::open`] does. Messages call it `name`.
    ///
    /// # Errors
    ///
    /// Those of [`Primary::open`].
    pub fn from_manifest(
        file: impl Read + 'static,
        name: &str,
        mirror: &DatasetName,
        named: Option<&DatasetName>,
        now: Timestamp,
    ) -> Result<Self> {
        let reader = Reader::open(input::unzipped(file, name)?, name)?;
        let dataset = reader.dataset().name.clone();
        let registry = Registry::temporary()?;
        let mut import = Import::new();
        reader.read_into(&mut import, |_| {})?;
        import.create_dataset();
        let imported = registry.import(&dataset, &import, &Stamp::now(now))?;
        if imported.instances.is_empty() {
            return Err(registry::Error::NoHistory { name: dataset }.into());
        }
        Primary::of(registry, mirror, named)
    }

    fn of(registry: Registry, mirror: &DatasetName, named: Option<&DatasetName>) -> Result<Self> {
        let snapshot = registry.snapshot()?;
        let wanted = named.unwrap_or(mirror);
        let dataset = if snapshot.has_dataset(wanted)? {
            wanted.clone()
        } else {
            let first = snapshot.datasets(None, Withdrawn::Listed, LISTED_DATASETS)?.datasets;
            let names: Vec<DatasetName> = first.into_iter().map(|it| it.dataset.name).collect();
            match (names.as_slice(), named) {
                ([only], None) => only.clone(),
                _ => return Err(Error::NoPrimaryDataset { name: wanted.clone(), names }),
            }
        };
        drop(snapshot);
        Ok(Primary { registry, dataset })
    }

    /// The registry.
    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The dataset.
    pub fn dataset(&self) -> &DatasetName {
        &self.dataset
    }
}

/// The number of datasets that an error can list.
const LISTED_DATASETS: u32 = 21;
