//! The primary of a mirror: the log of a dataset, in a file, a directory or at an address.

use std::io::{self, BufWriter, Read};
use std::path::Path;

use super::followed_statements::FollowOptions;
use super::log::{latest_change, manifest};
use super::place::{HEAD, ManifestFile, Place, PublishedDirectory, Remote, source_name};
use crate::disk::{self, scratch};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, SourceOptions, Timestamp};
use crate::registry::{self, Access, Registry, Withdrawn};

/// The archive that a mirror follows, and its dataset.
pub struct Primary {
    pub(super) place: Box<dyn Place>,
    /// With which it is read. Without a dataset, any is accepted.
    pub(super) options: SourceOptions,
    /// The latest time that a change may have.
    pub(super) not_after: Timestamp,
    pub(super) follow: FollowOptions,
}

impl Primary {
    /// Opens a manifest, compressed with gzip or not, which is read when it is compared; or a published
    /// directory; or a registry file, whose dataset is exported, even while its owner writes.
    ///
    /// The dataset is `named`; `None` means the one with the name of the mirror, or the only one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io): the file cannot be read; the registry cannot be opened;
    /// [`ErrorKind::PrimaryDatasetUnknown`](crate::ErrorKind::PrimaryDatasetUnknown).
    pub fn open(
        path: &Path,
        mirror: &DatasetName,
        named: Option<&DatasetName>,
        now: Timestamp,
    ) -> Result<Self> {
        Registry::check_is_file(path, "a primary")?;
        let failed = |source| Error::cannot("read", path, source);
        let name = path.to_string_lossy();
        if path.is_dir() {
            let published = Primary::of_directory(path, mirror, named, now)?;
            let missing = io::ErrorKind::NotFound.into();
            return published.ok_or_else(|| Error::cannot("read", &path.join(HEAD), missing));
        }
        let source = Some(source_name(&name));
        let mut file = disk::open_regular(path).map_err(failed)?;
        let mut beginning = Vec::new();
        let read = (&mut file).take(registry::BEGINNING_BYTES).read_to_end(&mut beginning);
        read.map_err(failed)?;
        if registry::is_registry(&beginning) {
            // Closing any handle on a file drops the locks of this process on it, so this one is
            // closed before the registry is opened.
            drop(file);
            let registry = Registry::open(path, Access::Read)?;
            return Primary::of_registry(&registry, source, (mirror, named), now);
        }
        let place = ManifestFile::open(file, &name, source)?;
        Ok(Primary::at(Box::new(place), named, now))
    }

    /// Opens a directory into which a dataset is published, or several. `None` means that nothing is
    /// published there.
    ///
    /// # Errors
    ///
    /// Those of [`Primary::open`].
    pub fn of_directory(
        path: &Path,
        mirror: &DatasetName,
        named: Option<&DatasetName>,
        now: Timestamp,
    ) -> Result<Option<Self>> {
        let Some(place) = PublishedDirectory::find(path, mirror, named)? else { return Ok(None) };
        let directory = place.directory().to_owned();
        let mut primary = Primary::at(Box::new(place), named, now);
        if directory != path {
            // Other datasets may be published there the next time.
            let dataset = directory.file_name().and_then(|name| name.to_str()?.parse().ok());
            primary.options.primary_dataset = dataset;
        }
        Ok(Some(primary))
    }

    /// Copies a manifest to a temporary file, to read it from there; `name` is what messages call
    /// it.
    ///
    /// # Errors
    ///
    /// the temporary file cannot be written; the manifest cannot be read.
    pub fn from_manifest(
        manifest: impl Read,
        name: &str,
        named: Option<&DatasetName>,
        now: Timestamp,
    ) -> Result<Self> {
        Ok(Primary::at(Box::new(ManifestFile::copy(manifest, name)?), named, now))
    }

    /// A dataset at an address. Nothing is requested before it is compared.
    pub fn at_address(remote: Remote, named: Option<&DatasetName>) -> Self {
        let now = remote.now();
        Primary::at(Box::new(remote), named, now)
    }

    /// The same primary with the options that are remembered when a mirror was pulled from it.
    #[must_use]
    pub fn with_options(self, options: SourceOptions) -> Self {
        Primary { options: options.or(&self.options), ..self }
    }

    /// The same primary, whose statements are read like this.
    #[must_use]
    pub fn following(self, follow: FollowOptions) -> Self {
        Primary { follow, ..self }
    }

    fn at(place: Box<dyn Place>, named: Option<&DatasetName>, now: Timestamp) -> Self {
        let options = SourceOptions { primary_dataset: named.cloned(), ..SourceOptions::default() };
        let follow = FollowOptions::default();
        Primary { place, options, not_after: latest_change(now), follow }
    }

    /// Exports a dataset of a registry to a temporary file, to read it from there.
    fn of_registry(
        registry: &Registry,
        source: Option<String>,
        (mirror, named): (&DatasetName, Option<&DatasetName>),
        now: Timestamp,
    ) -> Result<Self> {
        let snapshot = registry.snapshot()?;
        let wanted = named.unwrap_or(mirror);
        let dataset = if snapshot.has_dataset(wanted)? {
            wanted.clone()
        } else {
            let first = snapshot.datasets(None, Withdrawn::Listed, LISTED_DATASETS)?;
            let names: Vec<DatasetName> = first.into_iter().map(|it| it.dataset.name).collect();
            match (names.as_slice(), named) {
                ([only], None) => only.clone(),
                _ => return Err(Error::primary_dataset_unknown(wanted, &names)),
            }
        };
        drop(snapshot);
        let mut file = BufWriter::new(scratch::file()?);
        manifest::write(registry, &dataset, None, &mut file)?;
        let written = file.into_inner().map_err(io::IntoInnerError::into_error);
        let file = written.map_err(|source| scratch::unusable("write", source))?;
        let name = source.clone().unwrap_or_default();
        let place = ManifestFile::open(file, &name, source)?;
        // The registry may have other datasets the next time.
        Ok(Primary::at(Box::new(place), Some(&dataset), now))
    }
}

/// The greatest number of datasets that a message names. A registry can have a million.
const MAX_NAMED: usize = 20;

/// One more shows that there are more.
const LISTED_DATASETS: u32 = MAX_NAMED as u32 + 1;

impl Error {
    /// The primary does not have a dataset. `names` are some that it has.
    pub(super) fn primary_dataset_unknown(name: &DatasetName, names: &[DatasetName]) -> Self {
        let first: Vec<&str> = names.iter().take(MAX_NAMED).map(DatasetName::as_str).collect();
        let listed = match (first.is_empty(), names.len() - first.len()) {
            (true, _) => "none".to_owned(),
            (false, 0) => first.join(", "),
            (false, _) => format!("{}, and more", first.join(", ")),
        };
        let message = format!("the primary has no dataset {name}; it has {listed}");
        Error::new(ErrorKind::PrimaryDatasetUnknown, message)
    }
}
