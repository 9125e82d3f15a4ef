//! Where a primary is, and how it is read: as it is named, or as it is remembered of the last pull.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use super::compare::{Outcome, compare};
use super::place::{Address, HttpOptions, Remote, Retry, source_name};
use super::primary::Primary;
use super::pull::{PullOptions, PullReport, pull};
use super::{HistoryComparison, MirrorStatus};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, SourceOptions, Timestamp, Warning, WarningKind};
use crate::registry::{KnownPrimary, Registry, Stamp, TwoSides};

/// Where a primary is, and how it is read.
#[derive(Clone)]
pub struct PrimarySource {
    origin: Origin,
    options: SourceOptions,
    retrying: Arc<dyn Fn(&Retry<'_>) + Send + Sync>,
}

crate::model::debug_fields!(PrimarySource: options);

#[derive(Clone)]
enum Origin {
    /// An address or a path that a user names. It may be a pipe or a device.
    Place(PathBuf),
    /// An address or a path that is remembered. A path is a regular file or a directory, as it was when the
    /// mirror was pulled from it.
    Remembered(PathBuf),
    /// A manifest that can be read once, which was copied.
    Stream(Arc<Primary>),
}

/// A mirror that was compared with its primary.
#[derive(Debug)]
#[non_exhaustive]
pub struct ComparedMirror {
    /// The present name of the mirror.
    pub dataset: DatasetName,
    /// How they compare, in one word.
    pub status: HistoryComparison,
    /// How their granules differ: the left side is the mirror's.
    pub sides: TwoSides,
    /// The number of the mirror's files that are not as recorded, according to their last checks.
    pub open_findings: u64,
    /// What who compares them should know.
    pub warnings: Vec<Warning>,
}

impl ComparedMirror {
    /// Whether the mirror is identical to its primary, and no check found a file that is not as recorded.
    pub fn is_identical(&self) -> bool {
        self.status.status == MirrorStatus::Identical && self.open_findings == 0
    }
}

impl PrimarySource {
    /// A primary that is named: the address of a published dataset, a published directory, a manifest,
    /// compressed with gzip or not, or a registry file.
    pub fn named(place: impl Into<PathBuf>, options: SourceOptions) -> Self {
        PrimarySource { origin: Origin::Place(place.into()), options, retrying: Arc::new(|_| {}) }
    }

    /// A manifest that can be read once, which is copied to a temporary file. `name` is what messages call
    /// it.
    ///
    /// # Errors
    ///
    /// Those of [`Primary::from_manifest`]; it has more bytes than the options permit.
    pub fn read(
        manifest: impl Read,
        name: &str,
        options: SourceOptions,
        now: Timestamp,
    ) -> Result<Self> {
        let primary = Primary::copied(manifest, name, options.clone(), now)?;
        let origin = Origin::Stream(Arc::new(primary));
        Ok(PrimarySource { origin, ..PrimarySource::named("", options) })
    }

    /// The primary from which a mirror was last pulled, with options that take precedence over those of then.
    /// `None` means that `known` is another one.
    pub fn of_last_pull(known: KnownPrimary, options: SourceOptions) -> Option<Self> {
        let pulled = known.stored.pulled.filter(|_| known.is_default)?;
        let origin = Origin::Remembered(known.stored.source.into());
        Some(PrimarySource { origin, ..PrimarySource::named("", options.or(&pulled.options)) })
    }

    /// The same source, which calls this before a request is repeated.
    #[must_use]
    pub fn reporting(self, retrying: impl Fn(&Retry<'_>) + Send + Sync + 'static) -> Self {
        PrimarySource { retrying: Arc::new(retrying), ..self }
    }

    /// The dataset at an address. Nothing is requested yet. `None` means that the place is not an address.
    ///
    /// # Errors
    ///
    /// The address cannot be read, or is not encrypted; the file of certificates cannot be read.
    pub fn remote(&self, now: Timestamp) -> Result<Option<Remote>> {
        let Some(place) = self.place() else { return Ok(None) };
        let text = place.to_string_lossy();
        if !Address::is_meant(&text) {
            return Ok(None);
        }
        let address = Address::parse(&text, self.options.insecure)?;
        let retrying = Arc::clone(&self.retrying);
        let options = HttpOptions { retrying, ..HttpOptions::of(&self.options)? };
        Remote::new(address, options, now).map(Some)
    }

    fn place(&self) -> Option<&PathBuf> {
        match &self.origin {
            Origin::Place(place) | Origin::Remembered(place) => Some(place),
            Origin::Stream(_) => None,
        }
    }

    /// Opens the primary of a mirror. A pipe or a device that a user names is copied to a temporary file; one
    /// that is remembered as a file is refused.
    ///
    /// # Errors
    ///
    /// Those of [`PrimarySource::remote`] and [`Primary::open`].
    pub fn open(&self, mirror: &DatasetName, now: Timestamp) -> Result<Arc<Primary>> {
        let place = match &self.origin {
            Origin::Place(place) | Origin::Remembered(place) => place,
            Origin::Stream(primary) => return Ok(Arc::clone(primary)),
        };
        let is_named = matches!(self.origin, Origin::Place(_));
        let is_stream = |found: Metadata| is_named && !found.is_file() && !found.is_dir();
        let primary = if let Some(remote) = self.remote(now)? {
            let named = self.options.primary_dataset.as_ref();
            Primary::at_address(remote, named).with_options(self.options.clone())
        } else if place.metadata().is_ok_and(is_stream) {
            let file = File::open(place).map_err(|source| Error::cannot("read", place, source))?;
            Primary::copied(file, &place.to_string_lossy(), self.options.clone(), now)?
        } else {
            Primary::open_with(place, mirror, self.options.clone(), now)?
        };
        Ok(Arc::new(primary))
    }

    /// Compares a mirror with the primary ([`compare()`]), keeping at most so many granules of each list, and
    /// remembers what was read of it, by what `writable` opens. That it cannot be read is remembered, too.
    ///
    /// # Errors
    ///
    /// Those of [`PrimarySource::open`], [`compare()`] and [`Differences`](crate::Differences).
    pub fn compare(
        &self,
        registry: &Registry,
        writable: impl Fn() -> Result<Registry>,
        mirror: &DatasetName,
        most: u64,
        stamp: &Stamp,
    ) -> Result<ComparedMirror> {
        let compared = self.open(mirror, (stamp.clock)()).and_then(|primary| {
            let dataset = registry.snapshot()?.dataset(mirror)?.dataset.name;
            let comparison = compare(registry, &dataset, &primary)?;
            Ok((dataset, comparison))
        });
        let (dataset, comparison) = compared
            .inspect_err(|error| self.remember_failure(writable(), mirror, error, stamp))?;
        let sides = comparison.sides(most)?;
        let mut warnings = Vec::new();
        if comparison.has_memory() {
            let remembered = writable().and_then(|registry| {
                comparison.remember(&registry, &dataset, stamp, Outcome::Compared)
            });
            // A registry that cannot be written can be compared all the same.
            warnings.extend(remembered.err().map(|error| {
                let message =
                    format!("what was read of the primary could not be remembered: {error}");
                Warning::new(WarningKind::MirrorNotRemembered, message)
            }));
        }
        let withdrawn = comparison.primary_withdrawn();
        warnings.extend(withdrawn.map(|found| Warning::of_withdrawn_primary(&dataset, found)));
        let open_findings = registry.snapshot()?.count_open_findings(&dataset)?;
        let status = comparison.into_status();
        Ok(ComparedMirror { dataset, status, sides, open_findings, warnings })
    }

    /// Pulls a mirror ([`pull()`]). That it failed is remembered, unless a time that was named may be why.
    ///
    /// # Errors
    ///
    /// Those of [`PrimarySource::open`] and [`pull()`].
    pub fn pull(
        &self,
        registry: &Registry,
        mirror: &DatasetName,
        options: PullOptions,
        stamp: &Stamp,
    ) -> Result<PullReport> {
        let primary = self.open(mirror, (stamp.clock)());
        let pulled = primary.and_then(|primary| pull(registry, mirror, &primary, options, stamp));
        pulled.inspect_err(|error| {
            let is_of_time = matches!(error.kind(), ErrorKind::NotAfterLast | ErrorKind::Future);
            let is_named = stamp.is_clock_confirmed && is_of_time;
            if !options.dry_run && !is_named {
                self.remember_failure(Ok(registry.clone()), mirror, error, stamp);
            }
        })
    }

    /// Remembers that the primary could not be read, or that the mirror could not be pulled from it. Where
    /// that cannot be remembered, the error is still reported.
    fn remember_failure(
        &self,
        writable: Result<Registry>,
        mirror: &DatasetName,
        error: &Error,
        stamp: &Stamp,
    ) {
        if let (Some(place), Ok(registry)) = (self.place(), writable)
            && error.kind() != ErrorKind::Interrupted
        {
            let source = source_name(&place.to_string_lossy());
            let _ = registry.remember_failed_attempt(mirror, &source, &error.with_causes(), stamp);
        }
    }
}
