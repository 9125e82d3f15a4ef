//! Where the other side comes from.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::manifest::Reader;
use crate::input;
use crate::model::{DatasetName, Moment, Timestamp};
use crate::registry::{Access, ImportOptions, Registry, Selection};
use crate::{Error, Result};

/// The archive that a mirror follows, and its dataset.
pub struct Primary {
    registry: Registry,
    dataset: DatasetName,
    /// Where a manifest was rebuilt; gone with it.
    _folder: Option<tempfile::TempDir>,
}

/// How an SQLite database begins (sqlite.org/fileformat.html § 1.3).
const SQLITE: &[u8] = b"SQLite format 3\0";

impl Primary {
    /// Opens a registry file to read from it, even while its owner writes; or reads a manifest,
    /// gzip or not, and checks every identifier in it, by rebuilding it in a temporary registry.
    ///
    /// The dataset is `named`, or the one of the mirror's name, or the only one there is.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]; [`Error::Input`]; [`Error::Change`]: a manifest that is wrong, with the
    /// line; [`Error::NoPrimaryDataset`].
    pub fn open(
        path: &Path,
        mirror: &DatasetName,
        named: Option<&DatasetName>,
        now: Timestamp,
    ) -> Result<Self> {
        let mut file =
            File::open(path).map_err(|source| Error::File { path: path.into(), source })?;
        let mut magic = Vec::new();
        let read = (&mut file).take(SQLITE.len() as u64).read_to_end(&mut magic);
        read.map_err(|source| Error::File { path: path.into(), source })?;
        if magic != SQLITE {
            let whole = io::Cursor::new(magic).chain(file);
            return Primary::from_manifest(whole, &path.to_string_lossy(), mirror, named, now);
        }
        // SQLite's locks on a file go when any other handle on it is closed: not later than now.
        drop(file);
        Primary::of(Registry::open(path, Access::Read)?, None, mirror, named)
    }

    /// Reads a manifest, as [`Primary::open`] does; `name` is how messages call it.
    ///
    /// # Errors
    ///
    /// As [`Primary::open`].
    pub fn from_manifest(
        file: impl Read + 'static,
        name: &str,
        mirror: &DatasetName,
        named: Option<&DatasetName>,
        now: Timestamp,
    ) -> Result<Self> {
        let reader = Reader::open(input::unzipped(file, name)?, name)?;
        let dataset = reader.dataset().name.clone();
        let folder = tempfile::tempdir()
            .map_err(|source| Error::File { path: std::env::temp_dir(), source })?;
        let mut registry = Registry::create(&folder.path().join("primary.db"))?;
        let mut import = registry.begin_import()?;
        reader.read_into(&mut import, |_| {})?;
        let options = ImportOptions { create: true, dry_run: false };
        let imported = import.apply(&dataset, options, now)?;
        if imported.instances.is_empty() {
            return Err(Error::NoHistory { name: dataset });
        }
        Primary::of(registry, Some(folder), mirror, named)
    }

    fn of(
        mut registry: Registry,
        folder: Option<tempfile::TempDir>,
        mirror: &DatasetName,
        named: Option<&DatasetName>,
    ) -> Result<Self> {
        let mut names: Vec<DatasetName> = Vec::new();
        registry.each_dataset(|listed| {
            names.push(listed.dataset.name);
            Ok(())
        })?;
        let wanted = named.unwrap_or(mirror);
        let dataset = match names.as_slice() {
            names if names.contains(wanted) => wanted.clone(),
            [only] if named.is_none() => only.clone(),
            _ => return Err(Error::NoPrimaryDataset { name: wanted.clone(), names }),
        };
        Ok(Primary { registry, dataset, _folder: folder })
    }

    /// Its registry.
    pub(super) fn registry(&mut self) -> &mut Registry {
        &mut self.registry
    }

    /// Its dataset as of a time, or of its latest change.
    pub(super) fn selection(&self, at: Option<Moment>) -> Selection {
        Selection::Dataset { name: self.dataset.clone(), at }
    }

    /// Its dataset.
    pub fn dataset(&self) -> &DatasetName {
        &self.dataset
    }
}
