//! Comparing a mirror with its primary.

use super::content::{Content, Files, Records};
use super::differences::{Claimed, MirrorDifferences, read_ahead};
use super::history::HistoryRead;
#[cfg(feature = "http")]
use super::http::{Follow, Followed};
#[cfg(feature = "http")]
use super::log::FilesHead;
use super::log::FilesPosition;
use super::plan::{Asking, Reading, known};
use super::primary::{Kind, Primary};
use super::{FirstDifference, MirrorStatus, Standing, Status};
use crate::disk::Spool;
use crate::error::Result;
use crate::model::{
    Dataset, DatasetName, Identifier, Instance, Moment, Set, SourceOptions, Withdrawal,
};
use crate::registry::{
    Claim, FileCounts, FilesRead, LogChanges, LoggedRecords, Registry, Remembered, Selection,
    Snapshot, Stamp,
};

/// A mirror and its primary, compared: what is to be compared is decided, and the primary's log is
/// read.
pub struct Comparison {
    status: MirrorStatus,
    mirror: Registry,
    there: There,
    /// Where the primary is. `None` means that nothing is remembered of it.
    source: Option<String>,
    /// The options that are remembered with a pull.
    options: SourceOptions,
    /// The entity tag of the state of the log.
    etag: Option<String>,
    /// The name that the primary's dataset has now, if it was asked for by a former one.
    renamed: Option<DatasetName>,
    content: Content,
    /// Whether it is compared as of its latest change.
    is_of_latest: bool,
}

/// What followed a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing.
    Compared,
    /// The mirror was brought to the primary's set.
    Pulled,
}

/// The primary's side.
enum There {
    Registry {
        registry: Registry,
        set: Box<Set>,
        record: Box<Dataset>,
        withdrawn: Option<Withdrawal>,
        read: HistoryRead,
    },
    Log(Box<Reading>),
}

impl There {
    /// The changes that were read, and the numbers of the first that was, or would be, and of the last.
    fn read(&self) -> (&LogChanges, u64, u64) {
        match self {
            There::Registry { read, .. } => (&read.changes, read.first, read.last),
            There::Log(reading) => (&reading.changes, reading.first_read(), reading.last_read()),
        }
    }
}

/// Compares what a mirror holds with its primary as of a time (`None`: its latest change). A dataset
/// that is not here, or has no history, holds nothing.
///
/// A log is read once, in a stream, and verified line by line; what must be sorted is kept in
/// temporary files. What is reported of it is recomputed when the [differences](Comparison::differences)
/// are read. The head at an address is requested without a condition.
///
/// # Errors
///
/// As [`Snapshot::select`] on the primary; [`ErrorKind::NotPublished`](crate::ErrorKind::NotPublished): a line of the log.
pub fn compare(
    mirror: &Registry,
    dataset: &DatasetName,
    primary: &Primary,
    at: Option<Moment>,
) -> Result<Comparison> {
    compare_with(mirror, dataset, primary, at, Asking::Always, Files::Compared)
}

/// Compares. The head at an address is requested as `asking` says.
#[cfg_attr(not(feature = "http"), expect(unused_variables, reason = "there are no addresses"))]
pub(super) fn compare_with(
    mirror: &Registry,
    dataset: &DatasetName,
    primary: &Primary,
    at: Option<Moment>,
    asking: Asking,
    files: Files,
) -> Result<Comparison> {
    let files = if primary.options.no_files { Files::Ignored } else { files };
    let wants_files = files != Files::Ignored;
    let here = mirror.snapshot()?;
    let latest = match here.has_dataset(dataset)? {
        true => {
            let listed = here.dataset(dataset)?;
            let is_free = listed.gives_up(dataset);
            listed.latest.filter(|_| !is_free)
        }
        false => None,
    };
    drop(here);
    let held = latest.as_ref().map_or(Identifier::EMPTY, |latest| latest.identifier);
    let mut options = primary.options.clone();
    let (status, there, source, etag, renamed, content) = match &primary.kind {
        Kind::Registry(registry, name) => {
            let there = registry.snapshot()?;
            let selection = Selection::Dataset { name: name.clone(), at };
            let set = Box::new(there.select(&selection)?.set);
            let standing = last_in_force(&there, held, set.instance())?;
            let status = status(mirror, latest, set.instance().clone(), standing)?;
            let listed = there.dataset(name)?;
            let last = there.last_files(name)?;
            // What was entered last, and when, stands for the check of a log.
            let end = last.map_or_else(FilesPosition::default, |(count, recorded)| {
                let mut check = [0; 16];
                check[..8].copy_from_slice(&recorded.as_micros().to_be_bytes());
                check[8..].copy_from_slice(&count.to_be_bytes());
                FilesPosition { count, bytes: 0, check: Some(Identifier::from_bytes(check)) }
            });
            let source = registry.path().map(Registry::full_name);
            let source = source.map(|path| path.to_string_lossy().into_owned());
            let before =
                source.as_ref().map(|source| known(mirror, dataset, source)).transpose()?;
            let last = before.flatten().and_then(|known| known.last);
            let (record, withdrawn) = (Box::new(listed.dataset), listed.withdrawn);
            let renamed = Some(record.name.clone()).filter(|present| present != name);
            let mut read_files = |_, _| {
                let mut log = LoggedRecords::default();
                for record in there.logged_records(name, 0)? {
                    log.add(&record?)?;
                }
                Ok((log, None))
            };
            let records = Records {
                end: Some(end),
                have_places: false,
                are_chained: false,
                read: &mut read_files,
            };
            let known_files = known_files(mirror, dataset, source.as_deref())?;
            let content = Content::compare(mirror, dataset, known_files, files, records)?;
            drop(there);
            let read = HistoryRead::after(last.as_ref(), registry, name)?;
            // The registry may have other datasets the next time.
            options.primary_dataset.get_or_insert_with(|| name.clone());
            let registry = registry.clone();
            let there = There::Registry { registry, set, record, withdrawn, read };
            (status, there, source, None, renamed, content)
        }
        Kind::Manifest(manifest) => {
            let known = known_files(mirror, dataset, manifest.source.as_deref())?;
            let files_read = wants_files.then(|| known.as_ref().map_or(0, |known| known.count));
            let mut work = mirror.begin("reading", "granules", None);
            let read = |granules| work.advance_by(granules);
            let mut reading = Reading::of_manifest(manifest, held, at, files_read, read)?;
            drop(work);
            let log = std::mem::take(&mut reading.files);
            let (mut log, check) = (Some(log), reading.files_check);
            let mut read = |_, _| Ok((log.take().unwrap_or_default(), check));
            let records = Records {
                end: Some(reading.files_end),
                have_places: false,
                are_chained: true,
                read: &mut read,
            };
            let content = Content::compare(mirror, dataset, known, files, records)?;
            let status = of_log(mirror, latest, &reading)?;
            let present = reading.record.name.clone();
            let renamed =
                manifest.named.as_ref().and_then(|it| (*it != present).then_some(present));
            let source = manifest.source.clone();
            (status, There::Log(Box::new(reading)), source, None, renamed, content)
        }
        #[cfg(feature = "http")]
        Kind::Remote(remote, named) => {
            let follow = Follow {
                remote,
                mirror,
                dataset,
                latest: latest.as_ref(),
                at,
                named: named.as_ref(),
                wants_files,
            };
            let Followed { reading, of, etag, renamed } = follow.read(asking)?;
            let announced = of.as_ref().map(|of| of.head.files.as_ref());
            let end =
                announced.map(|head| head.map_or_else(FilesPosition::default, FilesHead::end));
            let mut read = |from, at| match &of {
                Some(of) => remote.files(of, from, at, mirror),
                None => Ok((LoggedRecords::default(), None)),
            };
            let records = Records { end, have_places: true, are_chained: true, read: &mut read };
            let known = known_files(mirror, dataset, Some(&remote.address().to_string()))?;
            let content = Content::compare(mirror, dataset, known, files, records)?;
            let status = of_log(mirror, latest, &reading)?;
            let source = Some(remote.address().to_string());
            // The tag is that of the whole log. That it was withdrawn is reported each time.
            let etag = etag.filter(|_| at.is_none() && reading.withdrawn.is_none());
            (status, There::Log(Box::new(reading)), source, etag, renamed, content)
        }
    };
    let (mirror, is_of_latest) = (mirror.clone(), at.is_none());
    let mut compared =
        Comparison { status, mirror, there, source, options, etag, renamed, is_of_latest, content };
    compared.recall(dataset)?;
    if let (Some(status), None) = (compared.content.status, compared.status.status.refusal()) {
        compared.status.status = status;
    }
    Ok(compared)
}

/// What was read before of the file records of a primary. `None` means nothing.
fn known_files(
    mirror: &Registry,
    dataset: &DatasetName,
    source: Option<&str>,
) -> Result<Option<FilesRead>> {
    let snapshot = mirror.snapshot()?;
    let Some(source) = source.filter(|_| snapshot.has_dataset(dataset).unwrap_or(false)) else {
        return Ok(None);
    };
    let sources = snapshot.mirror_sources(dataset)?;
    Ok(sources.into_iter().find(|known| known.source == source).and_then(|known| known.files))
}

/// The status of a mirror whose primary's log was read.
fn of_log(mirror: &Registry, latest: Option<Instance>, reading: &Reading) -> Result<MirrorStatus> {
    let instance = reading.primary().expect("a log without a change then is refused");
    status(mirror, latest, instance, reading.standing())
}

/// Behind takes precedence over ahead: if each once held the other's set, the history of the
/// primary decides.
fn status(
    mirror: &Registry,
    latest: Option<Instance>,
    primary: Instance,
    behind: Option<Standing>,
) -> Result<MirrorStatus> {
    let held = latest.as_ref().map_or(Identifier::EMPTY, |latest| latest.identifier);
    let (status, standing) = if held == primary.identifier {
        (Status::Identical, None)
    } else if behind.is_some() || latest.is_none() {
        (Status::Behind, behind)
    } else {
        let here = mirror.snapshot()?;
        let ahead = latest.as_ref().map(|it| last_in_force(&here, primary.identifier, it));
        match ahead.transpose()?.flatten() {
            Some(standing) => (Status::Ahead, Some(standing)),
            None => (Status::Diverged, None),
        }
    };
    Ok(MirrorStatus { status, mirror: latest, primary, standing, first_difference: None })
}

/// The last interval, up to an instance, in which an identifier was in force in its dataset.
fn last_in_force(
    snapshot: &Snapshot,
    identifier: Identifier,
    up_to: &Instance,
) -> Result<Option<Standing>> {
    let found = snapshot.history_with(&up_to.dataset, identifier)?;
    let Some(last) = found.into_iter().rfind(|it| it.timestamp <= up_to.timestamp) else {
        return Ok(None);
    };
    let changes = |up_to| snapshot.count_history(&last.dataset, Some(up_to));
    let changes_ago = changes(up_to.timestamp)? - changes(last.timestamp)?;
    Ok(Some(Standing { since: last.timestamp, until: last.until, changes_ago }))
}

/// The granules of a set, which are proved by the comparison.
fn claimed(registry: &Registry, set: &Set) -> Result<Claimed> {
    let granules = registry.snapshot()?.granules(set)?.unproved();
    Ok((read_ahead(granules), Some(Claim::of(registry, set))))
}

impl Comparison {
    /// Compares a history with what was read of it before: it can be an older state, or another history.
    fn recall(&mut self, dataset: &DatasetName) -> Result<()> {
        let Some(source) = &self.source else { return Ok(()) };
        let (changes, first, _) = self.there.read();
        let (mut is_stale, mut first_difference) = (false, None);
        // The changes before those that were read are the ones that are remembered.
        let (mut found, mut unreadable) = (changes.iter(), None);
        self.mirror.snapshot()?.each_change_read(dataset, source, first - 1, |known| {
            match found.next() {
                None => is_stale = true,
                Some(Err(error)) => unreadable = Some(error),
                Some(Ok(found)) if found.check == known.check => return true,
                Some(Ok(_)) => {
                    let (change, timestamp) = (known.number, known.timestamp);
                    first_difference = Some(FirstDifference { change, timestamp });
                }
            }
            false
        })?;
        if let Some(error) = unreadable {
            return Err(error);
        }
        if first_difference.is_some() {
            self.status.status = Status::Rewritten;
            self.status.first_difference = first_difference;
        } else if is_stale {
            self.status.status = Status::Stale;
        }
        Ok(())
    }

    /// How they compare, as far as their histories say.
    pub fn status(&self) -> &MirrorStatus {
        &self.status
    }

    /// The name that the primary's dataset has now, if it was asked for by a former one.
    pub fn primary_renamed(&self) -> Option<&DatasetName> {
        self.renamed.as_ref()
    }

    /// The record of the primary's dataset.
    pub fn record(&self) -> &Dataset {
        match &self.there {
            There::Registry { record, .. } => record,
            There::Log(reading) => &reading.record,
        }
    }

    /// When and why the primary withdrew its dataset. `None`: it did not, or the mirror agreed with its
    /// head, which was not sent again.
    pub fn primary_withdrawn(&self) -> Option<&Withdrawal> {
        match &self.there {
            There::Registry { withdrawn, .. } => withdrawn.as_ref(),
            There::Log(reading) => reading.withdrawn.as_ref(),
        }
    }

    /// Whether a comparison is remembered: the primary can be read again, and was compared as of its
    /// latest change.
    pub fn has_memory(&self) -> bool {
        self.source.is_some() && self.is_of_latest
    }

    /// Remembers what was read of the primary, so that the next comparison notices an older state of
    /// its log, or another history. A log that contradicts what was read before replaces it only if
    /// `outcome` is [`Outcome::Pulled`].
    ///
    /// # Errors
    ///
    /// the registry cannot be written.
    pub fn remember(
        &self,
        registry: &Registry,
        dataset: &DatasetName,
        stamp: &Stamp,
        outcome: Outcome,
    ) -> Result<FileCounts> {
        match self.remembered(outcome) {
            Some(remembered) => registry.remember(dataset, &remembered, stamp),
            None => Ok(FileCounts::default()),
        }
    }

    /// What the primary says of files that adds to what is known here, and would be taken.
    pub(super) fn new_files(&self) -> FileCounts {
        self.content.counts()
    }

    /// The granules that the mirror holds, and of whose files the primary says another size or
    /// checksum, in canonical order.
    ///
    /// # Errors
    ///
    /// a registry or a temporary file cannot be read.
    pub fn content_differs(&self, dataset: &DatasetName) -> Result<Spool> {
        self.content.granules(&self.mirror, dataset)
    }

    /// What is to be remembered. `None`: nothing is remembered of the primary.
    pub(super) fn remembered(&self, outcome: Outcome) -> Option<Remembered<'_>> {
        let source = self.source.as_deref()?;
        let is_pulled = outcome == Outcome::Pulled;
        // What a mirror is to an earlier state says nothing about whether it follows its primary.
        if !is_pulled && !self.is_of_latest {
            return None;
        }
        let is_identical = is_pulled || self.status.status == Status::Identical;
        let (changes, _, last_read) = self.there.read();
        let first_difference = self.status.first_difference.map(|difference| difference.change);
        // What the mirror follows from now on is the log that was pulled, also if it is an older state.
        let forget_from = match self.status.status {
            Status::Stale => Some(last_read + 1),
            _ => first_difference,
        };
        Some(Remembered {
            source,
            // A refusal is not forgotten: only a head that was agreed with may be called unchanged.
            etag: self.etag.as_deref().filter(|_| is_identical && self.content.agrees()),
            is_identical: is_identical && self.is_of_latest,
            pulled_with: is_pulled.then_some(&self.options),
            refusal: match self.content.agrees() {
                true => self.status.status.refusal().filter(|_| !is_pulled),
                false => Some("the primary says otherwise of the bytes of files"),
            },
            forget_from: forget_from.filter(|_| is_pulled),
            changes: (first_difference.is_none() || is_pulled).then_some(changes),
            files: self.content.remembered(is_pulled),
        })
    }

    /// The granules that only one of them has. The status is proved when all of them were read.
    ///
    /// # Errors
    ///
    /// a registry or a temporary file cannot be read.
    pub fn differences(&self) -> Result<MirrorDifferences<'_>> {
        let here = match &self.status.mirror {
            Some(latest) => claimed(&self.mirror, &Set::Instance(latest.clone()))?,
            None => (read_ahead(std::iter::empty()), None),
        };
        match &self.there {
            There::Registry { registry, set, .. } => {
                Ok(MirrorDifferences::of_rows(&self.mirror, here, claimed(registry, set)?))
            }
            There::Log(reading) => MirrorDifferences::of_log(&self.status, here, reading),
        }
    }
}
