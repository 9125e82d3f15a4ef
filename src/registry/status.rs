//! The state of datasets: when they were last changed and confirmed, when their files were checked and their
//! primaries read, and what is wrong with them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};

use super::facts::{ChecksumsFact, FilesFact, MirrorFacts, NamesFact};
use super::handle::Registry;
use super::snapshot::{Snapshot, dataset_of};
use crate::error::Result;
use crate::model::{
    Confirmation, DatasetFilter, DatasetName, DatasetRecord, Digest, Identifier, Instance,
    LogChange, PrimaryOptions, RefusedListing, Timestamp, quoted,
};
use crate::store::{
    self, DatasetKey, OpenFinding, RootState, SourceKey, StoredContent, StoredSource, Withdrawn,
    paged,
};

/// The greatest number of findings that are listed of a dataset.
const SHOWN_FINDINGS: u32 = 10;

/// The state of a dataset.
///
/// Its fields, in this order, are those of the rows of `status` in the command line's JSON.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct DatasetStatus {
    /// The dataset.
    pub dataset: DatasetName,
    /// Its last change. `None` means that it has no history.
    #[serde(serialize_with = "times_of")]
    pub changed: Option<Instance>,
    /// When it was last compared with a listing, and was the same.
    pub confirmed: Option<Confirmation>,
    /// The last listing that was refused. `None` means that one was accepted since, or none was refused.
    pub refused: Option<RefusedListing>,
    /// The primaries that it was compared with or pulled from.
    pub mirrors: Vec<Mirrored>,
    /// The results of checks of its files. `None` means that they were never checked.
    pub fixity: Option<FilesChecked>,
    /// When it was last identical to the primary of its last pull.
    pub identical: Option<Timestamp>,
    /// Its problems, in sentences.
    pub problems: Vec<String>,
}

/// Writes when a change took effect, and when it was recorded.
fn times_of<S: Serializer>(changed: &Option<Instance>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Times {
        timestamp: Timestamp,
        recorded: Timestamp,
    }
    let times = |it: &Instance| Times { timestamp: it.timestamp, recorded: it.recorded };
    changed.as_ref().map(times).serialize(serializer)
}

/// The results of checks of the files of a dataset.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct FilesChecked {
    /// The number of files that are not as recorded, each counted in every directory.
    pub open: u64,
    /// The first ten findings, by granule, path and directory.
    pub first: Vec<OpenFinding>,
    /// The directories in which they were checked.
    pub roots: Vec<RootState>,
}

/// The times since which a dataset must have been seen and checked. `None` means at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatusThresholds {
    /// Since when it must have been changed, confirmed, or identical to the primary of its last pull. Enough
    /// witnesses must have seen all statements that are older.
    pub seen: Option<Timestamp>,
    /// Since when all its files must have been checked, in every directory in which they were ever checked.
    pub checked: Option<Timestamp>,
}

/// A primary of a mirror, and whether the mirror follows it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Mirrored {
    /// Its address, or the path of its file.
    pub source: String,
    /// Whether the mirror matches. Names and checksums are as of the last time that the primary was read, and
    /// are not compared if a later attempt failed.
    pub facts: MirrorFacts,
    /// The state of the mirror and this primary, in one word for the JSON. It follows from the other fields.
    verdict: MirrorVerdict,
    /// Whether it is the primary of the latest pull, from which the mirror is pulled again.
    pub default: bool,
    /// The number of changes of its log that were read.
    pub changes: u64,
    /// When the last of them took effect. `None` means that none was read, or that the primary is a registry.
    pub timestamp: Option<Timestamp>,
    /// The identifier after it.
    pub identifier: Option<Identifier>,
    /// When its log was last read and continued what was read before.
    pub read: Timestamp,
    /// When the mirror was last identical to it.
    pub identical: Option<Timestamp>,
    /// When the mirror was last pulled from it.
    pub pulled: Option<Timestamp>,
    /// When an attempt to read or to pull it failed, if no later one succeeded.
    pub failed: Option<Timestamp>,
    /// Why it failed.
    pub failure: Option<String>,
}

/// The state of a mirror and one of its primaries, found without reading the primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum MirrorVerdict {
    /// The last attempt to read or to pull it failed.
    Failed,
    /// It is the primary of the latest pull, and the mirror was identical to it too long ago.
    Old,
    /// When it was last read, the mirror was not identical to it.
    Behind,
    /// The records were identical, but files of the mirror are not as recorded.
    Damaged,
    /// When it was last read, the mirror was identical to it.
    Identical,
}

impl Registry {
    /// The state of some datasets: those with the most problems first, then those that were seen least
    /// recently. Withdrawn datasets are left out. Everything older than `oldest` is a problem.
    pub fn status(
        &self,
        filter: &DatasetFilter,
        oldest: StatusThresholds,
    ) -> Result<Vec<DatasetStatus>> {
        let mut unwitnessed = match oldest.seen {
            Some(_) => self.snapshot()?.unwitnessed()?,
            None => BTreeMap::new(),
        };
        unwitnessed.retain(|_, since| Some(*since) < oldest.seen);
        let mut rows = match filter {
            DatasetFilter::All => {
                let page = |after: &Option<DatasetName>, limit| {
                    let snapshot = self.snapshot()?;
                    let page = snapshot.datasets(after.as_ref(), Withdrawn::LeftOut, limit)?;
                    of_page(&snapshot, page, oldest)
                };
                let rows = paged(None, page, |last| Some(last.dataset.clone()));
                rows.collect::<Result<Vec<_>>>()?
            }
            DatasetFilter::Only(names) => {
                let snapshot = self.snapshot()?;
                let named = names.iter().map(|name| snapshot.dataset(name));
                let mut named = named.collect::<Result<Vec<_>>>()?;
                // A dataset may be named twice, once by a former name.
                let mut names = BTreeSet::new();
                named.retain(|it| it.withdrawn.is_none() && names.insert(it.dataset.name.clone()));
                of_page(&snapshot, named, oldest)?
            }
        };
        for row in &mut rows {
            row.problems.extend(unwitnessed.get(&row.dataset).map(|since| {
                format!("unwitnessed: not enough witnesses have seen what was stated at {since}")
            }));
        }
        rows.sort_by_cached_key(|row| (Reverse(row.problems.len()), row.seen()));
        Ok(rows)
    }
}

/// The states of some datasets.
fn of_page(
    snapshot: &Snapshot,
    datasets: Vec<DatasetRecord>,
    oldest: StatusThresholds,
) -> Result<Vec<DatasetStatus>> {
    let names: Vec<&DatasetName> = datasets.iter().map(|listed| &listed.dataset.name).collect();
    let sources = snapshot.ask(|read| read.mirror_sources_of(&names))?;
    let mirrors: BTreeSet<DatasetName> = sources.into_iter().map(|(name, _)| name).collect();
    let mut rows = Vec::new();
    for mut listed in datasets {
        snapshot.replace_future_instance(&mut listed)?;
        let primaries = if mirrors.contains(&listed.dataset.name) {
            snapshot.mirror_sources(&listed.dataset.name)?
        } else {
            Vec::new()
        };
        let files = snapshot.files_fact(&listed.dataset.name, oldest.checked)?;
        let held = listed.latest.as_ref();
        let facts = primaries.iter().map(|primary| snapshot.mirror_facts(held, primary, files));
        let facts = facts.collect::<Result<Vec<_>>>()?;
        let mirrors = primaries.iter().zip(facts);
        let mirrors =
            mirrors.map(|(primary, facts)| Mirrored::of(primary, facts, oldest.seen)).collect();
        let mut row = DatasetStatus::of(listed, &primaries, mirrors, oldest.seen);
        row.refused = snapshot.refusal(&row.dataset)?;
        if let Some(RefusedListing { recorded, reason }) = &row.refused {
            row.problems.push(format!("listing refused: {reason} (at {recorded})"));
        }
        row.add_checks(snapshot, oldest.checked)?;
        rows.push(row);
    }
    Ok(rows)
}

impl DatasetStatus {
    fn of(
        listed: DatasetRecord,
        primaries: &[KnownPrimary],
        mirrors: Vec<Mirrored>,
        oldest: Option<Timestamp>,
    ) -> Self {
        let DatasetRecord { dataset, latest, confirmed, .. } = listed;
        let mut problems = Vec::new();
        let annotations = latest.iter().flat_map(|latest| &latest.annotations);
        problems.extend(
            annotations
                .filter(|annotation| annotation.questionable)
                .map(|annotation| format!("the set in force is questionable: {}", annotation.note)),
        );
        let default = primaries.iter().find(|primary| primary.is_default);
        // A dataset that was never pulled may be a replica.
        let imported = primaries.iter().filter(|primary| primary.imported.is_some());
        let followed = default.or_else(|| imported.max_by_key(|primary| primary.imported));
        if let Some(state) = followed
            && let (Some(at), Some(failure)) = (state.failed, &state.failure)
        {
            problems.push(format!("{} failed at {at}: {failure}", quoted(&state.source)));
        }
        if let Some(state) = default {
            let source = quoted(&state.source);
            problems.extend(oldest.filter(|oldest| state.identical < Some(*oldest)).map(|_| {
                match state.identical {
                    Some(identical) => format!("not identical to {source} since {identical}"),
                    None => format!("never identical to {source}"),
                }
            }));
        }
        if let Some(copy) = mirrors.iter().find(|it| it.default && it.failed.is_none())
            && !copy.facts.are_names_identical()
        {
            problems.push(format!("not the granules of {}", quoted(&copy.source)));
        }
        // If the dataset was never pulled, a primary that was only compared or imported is shown.
        let shown = default.map(|state| state.identical);
        let identical = primaries.iter().map(|state| state.identical).max();
        let mut row = DatasetStatus {
            identical: shown.or(identical).flatten(),
            dataset: dataset.name,
            changed: latest,
            confirmed,
            refused: None,
            mirrors,
            fixity: None,
            problems,
        };
        let seen = row.seen();
        if oldest.is_some_and(|oldest| seen < Some(oldest)) {
            row.problems.push(match seen {
                Some(seen) => format!("neither changed nor confirmed since {seen}"),
                None => "nothing was ever ingested".to_owned(),
            });
        }
        row
    }

    /// Adds the results of checks of the files.
    fn add_checks(&mut self, snapshot: &Snapshot, oldest: Option<Timestamp>) -> Result<()> {
        let roots = snapshot.checked_roots(&self.dataset)?;
        if roots.is_empty() {
            // The files of a mirror were copied. Copying can fail on the first day, so its files are late at
            // once.
            let is_late = |since, oldest| since < oldest || !self.mirrors.is_empty();
            if let Some(oldest) = oldest
                && snapshot.files_known_since(&self.dataset)?.is_some_and(|it| is_late(it, oldest))
            {
                self.problems.push("files are recorded, and were never checked".to_owned());
            }
            return Ok(());
        }
        let open = snapshot.count_open_findings(&self.dataset)?;
        if open > 0 {
            let identical = |it: &&mut Mirrored| it.verdict == MirrorVerdict::Identical;
            for mirror in self.mirrors.iter_mut().filter(identical) {
                mirror.verdict = MirrorVerdict::Damaged;
            }
        }
        match open {
            0 => {}
            1 => self.problems.push("1 file is not as recorded".to_owned()),
            open => self.problems.push(format!("{open} files are not as recorded")),
        }
        if let Some(oldest) = oldest {
            let old = roots.iter().filter(|root| root.is_older_than(oldest));
            self.problems.extend(old.map(|RootState { root, since, .. }| match since {
                Some(since) => format!("not all files were checked at {root} since {since}"),
                None => format!("not all files were ever checked at {root}"),
            }));
        }
        let first = match open {
            0 => Vec::new(),
            _ => snapshot.open_findings(&self.dataset, SHOWN_FINDINGS)?,
        };
        self.fixity = Some(FilesChecked { open, first, roots });
        Ok(())
    }

    /// When the dataset was last changed, confirmed or found to be identical to a primary. `None` means
    /// never.
    fn seen(&self) -> Option<Timestamp> {
        let changed = self.changed.as_ref().map(|changed| changed.recorded);
        let confirmed = self.confirmed.as_ref().map(|confirmed| confirmed.recorded);
        let identical = self.mirrors.iter().filter_map(|mirror| mirror.identical).max();
        changed.max(confirmed).max(identical)
    }
}

impl Mirrored {
    /// The state of a mirror and a primary. If it is the primary of the latest pull, the mirror must have been
    /// identical to it since `oldest`.
    fn of(primary: &KnownPrimary, facts: MirrorFacts, oldest: Option<Timestamp>) -> Self {
        let oldest = oldest.filter(|_| primary.is_default);
        let verdict = match primary.identical {
            _ if primary.failed.is_some() => MirrorVerdict::Failed,
            identical if oldest.is_some_and(|oldest| identical < Some(oldest)) => {
                MirrorVerdict::Old
            }
            identical if identical < Some(primary.read) => MirrorVerdict::Behind,
            _ => MirrorVerdict::Identical,
        };
        Mirrored {
            source: primary.source.clone(),
            facts,
            verdict,
            default: primary.is_default,
            changes: primary.changes,
            timestamp: primary.timestamp,
            identifier: primary.identifier,
            read: primary.read,
            identical: primary.identical,
            pulled: primary.pulled,
            failed: primary.failed,
            failure: primary.failure.clone(),
        }
    }
}

impl RootState {
    /// Whether the last complete check began before `oldest`. If no check was complete, the one under way
    /// counts. `true` if there is neither.
    pub(crate) fn is_older_than(&self, oldest: Timestamp) -> bool {
        self.since.or(self.started).is_none_or(|since| since < oldest)
    }
}

impl Snapshot {
    /// The facts about a mirror and one of its primaries, found without reading the primary.
    fn mirror_facts(
        &self,
        held: Option<&Instance>,
        primary: &KnownPrimary,
        files: FilesFact,
    ) -> Result<MirrorFacts> {
        let last = primary.last.as_ref();
        let of = held.map_or(0, |held| held.granules);
        let (identifier, digest) =
            held.map_or((Identifier::EMPTY, Digest::EMPTY), |held| (held.identifier, held.digest));
        let names = if primary.failed > Some(primary.read) {
            // The primary may no longer hold what was read before.
            NamesFact::NotCompared
        } else if last.is_some_and(|last| last.identifier == identifier) {
            NamesFact::Identical
        } else {
            NamesFact::Different { missing: None, unexpected: None }
        };
        let is_same = last.is_some_and(|last| last.digest == digest);
        // The mirror may have changed since the primary was read.
        let was_identical = primary.identical >= Some(primary.read)
            && held.is_none_or(|held| Some(held.recorded) <= primary.identical);
        let checksums = if names != NamesFact::Identical {
            ChecksumsFact::NotCompared
        } else if primary.contradicts {
            ChecksumsFact::Different { different: None, compared: None }
        } else if !self.has_checksums(&primary.dataset)? {
            ChecksumsFact::NotRecorded
        } else if is_same || was_identical {
            ChecksumsFact::Identical { compared: None, of }
        } else {
            ChecksumsFact::NotCompared
        };
        Ok(MirrorFacts { names, checksums, files })
    }

    /// Whether the first recorded files of a dataset have a checksum.
    pub(crate) fn has_checksums(&self, dataset: &DatasetName) -> Result<bool> {
        Ok(self.recorded_algorithm(dataset)?.flatten().is_some())
    }

    /// The directories in which files of a dataset were checked, by name.
    pub fn checked_roots(&self, dataset: &DatasetName) -> Result<Vec<RootState>> {
        self.ask_of(dataset, |read, key| read.first(key, u32::MAX))
    }

    /// The first `most` findings about files of a dataset, by granule, path and root.
    pub fn open_findings(&self, dataset: &DatasetName, most: u32) -> Result<Vec<OpenFinding>> {
        self.ask_of(dataset, |read, key| read.first(key, most))
    }

    /// The number of files of a dataset that are not as recorded, each counted at every root.
    pub fn count_open_findings(&self, dataset: &DatasetName) -> Result<u64> {
        self.ask_of(dataset, store::View::count_of::<OpenFinding>)
    }

    /// The datasets whose files were checked, by name.
    pub fn checked_datasets(&self) -> Result<Vec<DatasetName>> {
        self.ask(store::View::checked_datasets)
    }

    /// The start of the first file record in a dataset, by granule. `None` means that it has none.
    pub(in crate::registry) fn files_known_since(
        &self,
        dataset: &DatasetName,
    ) -> Result<Option<Timestamp>> {
        let first: Vec<StoredContent> = self.ask_of(dataset, |read, key| read.first(key, 1))?;
        Ok(first.first().map(|known| known.since))
    }
}

/// A primary that was read for a dataset, which mirrors it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownPrimary {
    /// The dataset.
    pub dataset: DatasetName,
    /// The source: a URL or an absolute path.
    pub source: String,
    /// When its log was last read and continued what was read before.
    pub read: Timestamp,
    /// The number of changes that were read of its log; 0 if it had none.
    pub changes: u64,
    /// When the last of them took effect.
    pub timestamp: Option<Timestamp>,
    /// The identifier of the last of them.
    pub identifier: Option<Identifier>,
    /// When the dataset was last identical to it. `None` means that it never was.
    pub identical: Option<Timestamp>,
    /// When the dataset was last pulled from it, or found to be identical by a pull. `None` means never.
    pub pulled: Option<Timestamp>,
    /// When the last attempt failed. `None` means that it succeeded.
    pub failed: Option<Timestamp>,
    /// Why it failed, in one line.
    pub failure: Option<String>,
    /// Whether the last pull left files whose recorded checksums or sizes contradict this primary.
    pub contradicts: bool,
    /// When its log was last imported: the dataset is a replica of it. `None` means never.
    pub(crate) imported: Option<Timestamp>,
    /// Whether it is the primary of the latest pull, from which the dataset is pulled again.
    pub is_default: bool,
    /// The options of the last pull.
    pub pull_options: Option<PrimaryOptions>,
    /// The last change that was read of its log.
    pub(crate) last: Option<LogChange>,
}

impl KnownPrimary {
    fn of(dataset: DatasetName, stored: StoredSource, last: Option<LogChange>) -> Self {
        let StoredSource { source, read, identical, pulled, failed, contradicts, imported } =
            stored;
        let (pulled, pull_options) = pulled.map(|it| (it.recorded, it.options)).unzip();
        let (failed, failure) = failed.map(|it| (it.recorded, it.message)).unzip();
        KnownPrimary {
            dataset,
            source,
            read,
            changes: last.as_ref().map_or(0, |last| last.number),
            timestamp: last.as_ref().map(|last| last.timestamp),
            identifier: last.as_ref().map(|last| last.identifier),
            identical,
            pulled,
            failed,
            failure,
            contradicts,
            imported,
            is_default: false,
            pull_options,
            last,
        }
    }
}

impl Snapshot {
    /// The primaries that were read for a dataset, by source.
    pub fn mirror_sources(&self, dataset: &DatasetName) -> Result<Vec<KnownPrimary>> {
        self.ask(|read| {
            let (key, present) = dataset_of(read, dataset)?;
            let stored = read.mirror_sources(key)?;
            let pulled = stored.iter().filter(|(_, stored)| stored.pulled.is_some());
            let default = pulled
                .max_by_key(|(_, stored)| stored.pulled.as_ref().map(|pulled| pulled.recorded))
                .map(|(default, _)| *default);
            let sources = stored.into_iter().map(|(source_key, stored)| {
                let last = read.last_change_read(key, source_key)?;
                let is_default = default == Some(source_key);
                Ok(KnownPrimary { is_default, ..KnownPrimary::of(present.clone(), stored, last) })
            });
            sources.collect()
        })
    }

    /// Calls `show` for each change that was read of a log, from the one after number `after` (0 means from the
    /// first), until `show` returns `false`.
    pub(crate) fn each_change_read(
        &self,
        dataset: &DatasetName,
        source: &str,
        after: u64,
        mut show: impl FnMut(LogChange) -> bool,
    ) -> Result<()> {
        self.ask(|read| {
            let Some((key, source)) = source_of(read, dataset, source)? else { return Ok(()) };
            for change in read.changes_read_after(key, source, after) {
                if !show(change?) {
                    break;
                }
            }
            Ok(())
        })
    }
}

/// The keys of a dataset and of a primary that was read for it. `None` means that it was never read.
fn source_of(
    read: &store::View,
    dataset: &DatasetName,
    source: &str,
) -> Result<Option<(DatasetKey, SourceKey)>> {
    let Some((key, _)) = read.key_and_name(dataset)? else { return Ok(None) };
    Ok(read.mirror_source(key, source)?.map(|(source, _)| (key, source)))
}
