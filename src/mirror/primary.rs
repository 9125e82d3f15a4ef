//! The primary of a mirror: the log of a dataset in a file, in a directory or at an address.

use std::io::{self, BufWriter, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::log::manifest;
use super::place::{
    DATASETS, HEAD, MAX_BYTES, MAX_NAMED, ManifestFile, Place, PublishedDirectory, Remote,
    check_age_of_file, named, source_name,
};
use crate::disk::{self, scratch};
use crate::error::{Error, ErrorDetail, ErrorKind, Result};
use crate::model::{DatasetName, PrimaryOptions, Timestamp, quoted};
use crate::registry::{self, Clock, Location, Registry, Withdrawn};

/// An opened primary: the archive that a mirror follows, and its dataset.
pub struct OpenPrimary {
    pub(super) place: Arc<dyn Place>,
    /// The options for reading it. Without a dataset, any dataset is accepted.
    pub(super) options: PrimaryOptions,
    /// The latest time that a change may have.
    pub(super) not_after: Timestamp,
}

crate::model::debug_fields!(OpenPrimary: options, not_after);

impl OpenPrimary {
    /// Opens a manifest, compressed with gzip or not, a published directory, or a registry file. A manifest is
    /// read when it is compared. The dataset of a registry is exported, even while its owner writes.
    ///
    /// The dataset is the one in the options, the one with the name of the mirror, or the only one. Options for
    /// requests are rejected.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io): the file cannot be read; the registry cannot be opened;
    /// [`ErrorKind::PrimaryDatasetUnknown`](crate::ErrorKind::PrimaryDatasetUnknown);
    /// [`ErrorKind::TooManyBytes`]; [`ErrorKind::TooOld`]; [`ErrorKind::Usage`].
    pub fn open(
        path: &Path,
        mirror: &DatasetName,
        options: PrimaryOptions,
        now: Timestamp,
    ) -> Result<Self> {
        refuse_request_options(path, &options)?;
        Location::from(path).file("a primary")?;
        let failed = |source| Error::cannot("read", path, source);
        let name = path.to_string_lossy();
        if path.is_dir() {
            let published = OpenPrimary::of_directory(path, mirror, options, now)?;
            return published.ok_or_else(|| Error::no_published_dataset(path));
        }
        let source = Some(source_name(&name));
        let mut file = disk::open_regular(path).map_err(failed)?;
        let mut beginning = Vec::new();
        let read = (&mut file).take(registry::BEGINNING_BYTES).read_to_end(&mut beginning);
        read.map_err(failed)?;
        if registry::is_registry(&beginning) {
            // Closing any handle on a file drops all locks of this process on it, so this one is closed before
            // the registry is opened.
            drop(file);
            let registry = Registry::open(path, Clock::fixed(now))?;
            return OpenPrimary::of_registry(&registry, source, mirror, (options, now));
        }
        let max_age = options.max_age_seconds.map(Duration::from_secs);
        check_age_of_file(&name, &file, max_age, now)?;
        let max_bytes = options.max_bytes.unwrap_or(MAX_BYTES);
        let place = ManifestFile::open(file, &name, source, max_bytes)?;
        Ok(OpenPrimary::at(Arc::new(place), options, now))
    }

    /// Opens a directory into which one or more datasets are published. `None` means that nothing is published
    /// there.
    ///
    /// # Errors
    ///
    /// Those of [`OpenPrimary::open`].
    pub fn of_directory(
        path: &Path,
        mirror: &DatasetName,
        options: PrimaryOptions,
        now: Timestamp,
    ) -> Result<Option<Self>> {
        let found = PublishedDirectory::find(path, mirror, &options, now)?;
        let Some(place) = found else { return Ok(None) };
        let directory = place.directory().to_owned();
        let mut primary = OpenPrimary::at(Arc::new(place), options, now);
        if directory != path {
            // Other datasets may be published there later.
            let dataset = directory.file_name().and_then(|name| name.to_str()?.parse().ok());
            primary.options.primary_dataset = dataset;
        }
        Ok(Some(primary))
    }

    /// Copies a manifest to a temporary file, and reads it from there. `name` is its name in messages. A
    /// manifest from a stream has no time of publication.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be written; the manifest cannot be read.
    pub(super) fn copied(
        manifest: impl Read,
        name: &str,
        options: PrimaryOptions,
        now: Timestamp,
    ) -> Result<Self> {
        Ok(OpenPrimary::at(OpenPrimary::copy(manifest, name, &options)?, options, now))
    }

    /// Copies a manifest to a temporary file.
    pub(super) fn copy(
        manifest: impl Read,
        name: &str,
        options: &PrimaryOptions,
    ) -> Result<Arc<dyn Place>> {
        refuse_request_options(Path::new(name), options)?;
        if options.max_age_seconds.is_some() {
            return Err(Error::has_no_age(name));
        }
        let max_bytes = options.max_bytes.unwrap_or(MAX_BYTES);
        Ok(Arc::new(ManifestFile::copy(manifest, name, max_bytes)?))
    }

    /// A dataset at an address. Nothing is requested until it is compared.
    pub fn at_address(remote: Remote, options: PrimaryOptions) -> Self {
        let now = remote.now();
        OpenPrimary::at(Arc::new(remote), options, now)
    }

    /// A primary at a location that is already open.
    pub(super) fn at(place: Arc<dyn Place>, options: PrimaryOptions, now: Timestamp) -> Self {
        OpenPrimary { place, options, not_after: now.latest_elsewhere() }
    }

    /// Exports a dataset of a registry to a temporary file, and reads it from there.
    fn of_registry(
        registry: &Registry,
        source: Option<String>,
        mirror: &DatasetName,
        (options, now): (PrimaryOptions, Timestamp),
    ) -> Result<Self> {
        if options.max_age_seconds.is_some() {
            return Err(Error::has_no_age(&source.unwrap_or_default()));
        }
        let named = options.primary_dataset.as_ref();
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
        let max_bytes = options.max_bytes.unwrap_or(MAX_BYTES);
        let place = ManifestFile::open(file, &name, source, max_bytes)?;
        // The registry may have other datasets later.
        let options = PrimaryOptions { primary_dataset: Some(dataset), ..options };
        Ok(OpenPrimary::at(Arc::new(place), options, now))
    }
}

/// Rejects options for requests, because this source needs no requests.
fn refuse_request_options(path: &Path, options: &PrimaryOptions) -> Result<()> {
    let PrimaryOptions { timeout_seconds, ca_file, insecure, .. } = options;
    let name = match (timeout_seconds, ca_file, insecure) {
        (Some(_), _, _) => "timeout",
        (_, Some(_), _) => "CA file",
        (_, _, true) => "permission for http",
        _ => return Ok(()),
    };
    let shown = quoted(&path.to_string_lossy()).to_string();
    let message = format!("{shown} is not an address: a {name} is only for requests");
    Err(Error::new(ErrorKind::Usage, message))
}

/// One more than a message names, to detect that there are more.
const LISTED_DATASETS: u32 = MAX_NAMED as u32 + 1;

impl Error {
    fn no_published_dataset(path: &Path) -> Self {
        let shown = quoted(&path.to_string_lossy()).to_string();
        let what = format!("it has neither {HEAD} nor {DATASETS}/");
        let message = format!("no dataset is published in the directory {shown}: {what}");
        Error::new(ErrorDetail::NoPublishedDataset, message).in_path(path)
    }

    fn has_no_age(name: &str) -> Self {
        let shown = quoted(name).to_string();
        let what = "a manifest on standard input and a registry have no time of publication";
        Error::new(ErrorKind::Usage, format!("the age of {shown} is not known: {what}"))
    }

    /// The error for a log of a primary that has no change.
    pub(super) fn primary_has_no_history(name: &DatasetName) -> Self {
        let message = format!("the primary's {name} has no history yet: nothing was ever ingested");
        Error::new(ErrorKind::NoHistory, message)
            .with_hint("nothing was changed; try again when the primary has recorded a change")
    }

    /// The error for a dataset that the primary does not have. `names` are some that it has.
    pub(super) fn primary_dataset_unknown(name: &DatasetName, names: &[DatasetName]) -> Self {
        let message = format!("the primary has no dataset {name}; it has {}", named(names));
        Error::new(ErrorKind::PrimaryDatasetUnknown, message)
    }
}
