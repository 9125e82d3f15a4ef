//! The primary of a mirror, as a user names it or as it is remembered from the last pull; comparing a mirror
//! with it, and pulling from it.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::compare::{Comparison, Outcome, compare};
use super::place::{Address, BeforeRetry, HttpOptions, Place, Remote, Retry, source_name};
use super::primary::OpenPrimary;
use super::pull::{PullOptions, PullReport, pull};
use super::{HistoryComparison, MirrorStatus};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetMetadata, DatasetName, PrimaryOptions, Timestamp, Warning, WarningKind};
use crate::registry::{
    ChecksumsFact, Difference, DifferenceCounts, Differences, Import, KnownPrimary, MirrorFacts,
    NamesFact, Registry,
};

/// The archive that a mirror follows, and the options for reading it.
///
/// It is the address of a published dataset, a published directory, a manifest (compressed with gzip or not),
/// or a registry file. Nothing is read until it is compared.
///
/// # Examples
///
/// ```
/// use accession::mirror::Primary;
/// use accession::mirror::PrimaryOptions;
///
/// let options = PrimaryOptions { timeout_seconds: Some(10), ..PrimaryOptions::default() };
/// let primary: Primary = "https://data.example.org/datasets/US/".parse()?;
/// let primary = primary.with_options(options);
/// assert!(primary.is_at_address());
/// assert!(!Primary::from("us.manifest.jsonl").is_at_address());
/// assert!("https://user:password@data.example.org/".parse::<Primary>().is_err());
/// # Ok::<(), accession::Error>(())
/// ```
#[derive(Clone)]
pub struct Primary {
    origin: Origin,
    options: PrimaryOptions,
    before_retry: BeforeRetry,
}

crate::model::debug_fields!(Primary: options);

#[derive(Clone)]
enum Origin {
    /// An address or a path from the user. It may be a pipe or a device.
    Place(PathBuf),
    /// A remembered address or path. A path must still be a regular file or a directory, as it was when the
    /// mirror was pulled from it.
    Remembered(PathBuf),
    /// A copy of a manifest that could be read only once.
    Stream(Arc<dyn Place>),
}

/// A comparison of a mirror with its primary in progress: an iterator over the granules that only one side has,
/// or whose records of files differ. The left side is the mirror's.
pub struct MirrorComparison {
    /// The present name of the mirror.
    dataset: DatasetName,
    comparison: Comparison,
    differences: Differences,
    registry: Registry,
    /// The time since which all files must have been checked. `None` means that no check is required.
    oldest: Option<Timestamp>,
}

crate::model::debug_fields!(MirrorComparison: dataset, comparison);

/// The result of comparing a mirror with its primary.
#[derive(Debug)]
#[non_exhaustive]
pub struct ComparedMirror {
    /// The present name of the mirror.
    pub dataset: DatasetName,
    /// The comparison of the histories, with the status.
    pub status: HistoryComparison,
    /// The numbers of granules that differ. The left side is the mirror's.
    pub counts: DifferenceCounts,
    /// Whether the names, the checksums and the files of the copy match.
    pub facts: MirrorFacts,
    /// Warnings about the comparison.
    pub warnings: Vec<Warning>,
    requires_check: bool,
}

impl ComparedMirror {
    /// Whether the mirror follows the history of its primary, and none of the facts is bad. Unchecked files are
    /// bad only if a check was required.
    pub fn is_identical(&self) -> bool {
        self.status.status == MirrorStatus::Identical && !self.facts.is_bad(self.requires_check)
    }
}

impl MirrorComparison {
    /// The comparison of the histories. [`MirrorComparison::finish`] verifies it.
    pub fn history(&self) -> &HistoryComparison {
        self.comparison.status()
    }

    /// Requires that all files were checked since a time. Default: no check is required.
    #[must_use]
    pub fn checked_since(self, oldest: impl Into<Option<Timestamp>>) -> Self {
        MirrorComparison { oldest: oldest.into(), ..self }
    }

    /// Reads the remaining differences, which verifies both sides, and remembers what was read of the primary.
    /// If the registry cannot be written, a warning is returned instead.
    ///
    /// # Errors
    ///
    /// Those of [`Differences::finish`].
    pub fn finish(self) -> Result<ComparedMirror> {
        let MirrorComparison { dataset, comparison, differences, registry, oldest } = self;
        let (counts, mut warnings) = (differences.finish()?, Vec::new());
        if comparison.has_memory() {
            let remembered = comparison.remember(&registry, &dataset, Outcome::Compared);
            warnings.extend(remembered.err().map(|error| {
                let message =
                    format!("what was read of the primary could not be remembered: {error}");
                Warning::new(WarningKind::MirrorNotRemembered, message)
            }));
        }
        let withdrawn = comparison.primary_withdrawn();
        warnings.extend(withdrawn.map(|found| Warning::of_withdrawn_primary(&dataset, found)));
        let snapshot = registry.snapshot()?;
        let is_known = comparison.status().is_digest_equal() || comparison.knows_the_same();
        let has_checksums = snapshot.has_checksums(&dataset)?;
        let facts = MirrorFacts {
            names: NamesFact::of(&counts),
            checksums: ChecksumsFact::of(&counts, has_checksums, is_known),
            files: snapshot.files_fact(&dataset, oldest)?,
        };
        let (status, requires_check) = (comparison.into_status(), oldest.is_some());
        Ok(ComparedMirror { dataset, status, counts, facts, warnings, requires_check })
    }
}

impl Iterator for MirrorComparison {
    type Item = Result<Difference>;

    fn next(&mut self) -> Option<Result<Difference>> {
        self.differences.next()
    }
}

impl From<PathBuf> for Primary {
    fn from(place: PathBuf) -> Self {
        let (origin, options) = (Origin::Place(place), PrimaryOptions::default());
        Primary { origin, options, before_retry: Arc::new(|retry| retry.delay) }
    }
}

impl From<&str> for Primary {
    fn from(place: &str) -> Self {
        PathBuf::from(place).into()
    }
}

impl FromStr for Primary {
    type Err = Error;

    /// Parses an address or a path.
    ///
    /// # Errors
    ///
    /// It looks like an address, but is not a valid one.
    fn from_str(place: &str) -> Result<Self> {
        if Address::is_meant(place) {
            Address::parse(place, true)?;
        }
        Ok(place.into())
    }
}

impl Primary {
    /// Copies a manifest that can be read only once to a temporary file. `name` is its name in messages.
    ///
    /// # Errors
    ///
    /// The manifest cannot be read, or the temporary file cannot be written; it has more bytes than the options
    /// permit; [`ErrorKind::Usage`]: an option does not apply to such a manifest.
    pub fn from_reader(manifest: impl Read, name: &str, options: PrimaryOptions) -> Result<Self> {
        let origin = Origin::Stream(OpenPrimary::copy(manifest, name, &options)?);
        Ok(Primary { origin, ..Primary::from("").with_options(options) })
    }

    /// A directory into which datasets are published. If there are several, selects the one with this name.
    /// `None` means that nothing is published there.
    ///
    /// # Errors
    ///
    /// The directory cannot be read; none of several datasets has this name.
    pub fn of_directory(
        path: &Path,
        dataset: &DatasetName,
        now: Timestamp,
    ) -> Result<Option<Self>> {
        let found = OpenPrimary::of_directory(path, dataset, PrimaryOptions::default(), now)?;
        Ok(found.map(|OpenPrimary { place, options, .. }| {
            let origin = Origin::Stream(place);
            Primary { origin, ..Primary::from("").with_options(options) }
        }))
    }

    /// Reads all changes, cited subsets and annotations into an import. The import then makes each change only
    /// if it results in the identifier recorded in the log. `read` is called with the number of granules of
    /// each line. Returns the metadata of the dataset, which is the one with this name, or the only one.
    ///
    /// # Errors
    ///
    /// The primary cannot be read; [`ErrorKind::PrimaryInvalid`](crate::ErrorKind::PrimaryInvalid): the log is
    /// invalid; the error has the line.
    pub fn read_into(
        &self,
        dataset: &DatasetName,
        import: &mut Import,
        now: Timestamp,
        read: impl FnMut(u64),
    ) -> Result<DatasetMetadata> {
        self.open(dataset, now)?.read_into(import, read)
    }

    /// The same primary with other options.
    #[must_use]
    pub fn with_options(self, options: PrimaryOptions) -> Self {
        Primary { options, ..self }
    }

    /// The name by which a mirror remembers it: an address without secrets, or an absolute path. `None` means
    /// that it can be read only once.
    pub fn source(&self) -> Option<String> {
        self.place().map(|place| source_name(&place.to_string_lossy()))
    }

    /// Whether it is at an address.
    pub fn is_at_address(&self) -> bool {
        self.place().is_some_and(|place| Address::is_meant(&place.to_string_lossy()))
    }

    /// The primary of the last pull of a mirror. `options` take precedence over the remembered ones. `None`
    /// means that `known` is not the default primary.
    pub fn of_last_pull(known: KnownPrimary, options: PrimaryOptions) -> Option<Self> {
        let earlier = known.pull_options.filter(|_| known.is_default)?;
        let origin = Origin::Remembered(known.source.into());
        Some(Primary { origin, ..Primary::from("").with_options(options.or(&earlier)) })
    }

    /// Sets a function that is called before a request is repeated. It returns the time to wait, usually
    /// [`Retry::delay`].
    #[must_use]
    pub fn before_retry(
        self,
        before_retry: impl Fn(&Retry<'_>) -> Duration + Send + Sync + 'static,
    ) -> Self {
        Primary { before_retry: Arc::new(before_retry), ..self }
    }

    /// The dataset at an address. Nothing is requested yet. `None` means that the primary is not at an address.
    ///
    /// # Errors
    ///
    /// The address cannot be parsed, or is not encrypted; the file of certificates cannot be read.
    pub(super) fn remote(&self, now: Timestamp) -> Result<Option<Remote>> {
        let Some(place) = self.place() else { return Ok(None) };
        let text = place.to_string_lossy();
        if !Address::is_meant(&text) {
            return Ok(None);
        }
        let address = Address::parse(&text, self.options.insecure)?;
        self.remote_at(address, now).map(Some)
    }

    fn remote_at(&self, address: Address, now: Timestamp) -> Result<Remote> {
        let before_retry = Arc::clone(&self.before_retry);
        let options = HttpOptions { before_retry, ..HttpOptions::of(&self.options)? };
        Remote::new(address, options, now)
    }

    fn place(&self) -> Option<&PathBuf> {
        match &self.origin {
            Origin::Place(place) | Origin::Remembered(place) => Some(place),
            Origin::Stream(_) => None,
        }
    }

    /// Opens the primary of a mirror. A pipe or a device from the user is copied to a temporary file. If a
    /// remembered path is now a pipe or a device, it is rejected.
    ///
    /// # Errors
    ///
    /// Those of [`Primary::remote`] and [`OpenPrimary::open`].
    fn open(&self, mirror: &DatasetName, now: Timestamp) -> Result<OpenPrimary> {
        let place = match &self.origin {
            Origin::Place(place) | Origin::Remembered(place) => place,
            Origin::Stream(place) => {
                return Ok(OpenPrimary::at(Arc::clone(place), self.options.clone(), now));
            }
        };
        let is_named = matches!(self.origin, Origin::Place(_));
        let is_stream = |found: Metadata| is_named && !found.is_file() && !found.is_dir();
        Ok(if let Some(remote) = self.remote(now)? {
            let wanted = self.options.primary_dataset.as_ref().unwrap_or(mirror);
            let remote = match remote.dataset_of_site(wanted) {
                Some(address) => self.remote_at(address, now)?,
                None => remote,
            };
            OpenPrimary::at_address(remote, self.options.clone())
        } else if place.metadata().is_ok_and(is_stream) {
            let file = File::open(place).map_err(|source| Error::cannot("read", place, source))?;
            OpenPrimary::copied(file, &place.to_string_lossy(), self.options.clone(), now)?
        } else {
            OpenPrimary::open(place, mirror, self.options.clone(), now)?
        })
    }

    /// Remembers that reading the primary or pulling from it failed. If that cannot be written, the original
    /// error is still reported.
    fn remember_failure(&self, registry: &Registry, mirror: &DatasetName, error: &Error) {
        if let Some(source) = self.source()
            && error.kind() != ErrorKind::Interrupted
        {
            let _ = registry.remember_failed_attempt(mirror, &source, &error.with_causes());
        }
    }
}

impl Registry {
    /// Compares a mirror with its primary. What was read of the primary is remembered when the comparison
    /// finishes. A failure to read it is remembered at once.
    ///
    /// The log is read once, as a stream, and verified line by line; data that must be sorted is stored in
    /// temporary files.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`]: the mirror does not exist; the primary cannot be read;
    /// [`ErrorKind::PrimaryInvalid`](crate::ErrorKind::PrimaryInvalid): a line of its log is invalid.
    pub fn compare_mirror(
        &self,
        mirror: &DatasetName,
        primary: &Primary,
    ) -> Result<MirrorComparison> {
        let compare = || {
            let opened = primary.open(mirror, self.now())?;
            let dataset = self.snapshot()?.dataset(mirror)?.dataset.name;
            let comparison = compare(self, &dataset, &opened)?;
            Ok((dataset, comparison))
        };
        let (dataset, comparison) =
            compare().inspect_err(|error| primary.remember_failure(self, mirror, error))?;
        let differences = comparison.differences()?;
        let registry = self.clone();
        Ok(MirrorComparison { dataset, comparison, differences, registry, oldest: None })
    }

    /// Makes a mirror hold the primary's set, in one change, which is committed only if the resulting
    /// identifier is the primary's. The mirror keeps its own timestamps and its own history. A failure is
    /// remembered, unless the cause may be the time in the options.
    ///
    /// If the options do not allow the mirror to be changed, nothing is changed, which is not an error
    /// ([`PullReport::is_identical`]).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`]: the mirror does not exist, and must not be created; the primary cannot be
    /// read; the change is rejected.
    pub fn pull(
        &self,
        mirror: &DatasetName,
        primary: &Primary,
        options: PullOptions,
    ) -> Result<PullReport> {
        let registry = &self.confirming(options.expect.is_some());
        let opened = primary.open(mirror, registry.now());
        let pulled = opened.and_then(|opened| pull(registry, mirror, &opened, options));
        pulled.inspect_err(|error| {
            let is_of_time = matches!(error.kind(), ErrorKind::NotAfterLast | ErrorKind::Future);
            let is_named = options.at.is_some() && is_of_time;
            if !options.dry_run && !is_named {
                primary.remember_failure(registry, mirror, error);
            }
        })
    }
}
