//! Records what is known of files.

use super::record::refuse_withdrawn;
use super::results::{check_accepted, check_entered_note};
use super::stamp::Stamp;
use super::target::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Checksum, DatasetName, FileContent, FileRecord, GranuleId, SourceLocation, Timestamp, quoted,
};
use crate::registry::files::{
    FileCounts, FileListing, FileState, Listed, Says, Stated, known_files,
};
use crate::registry::handle::{End, Registry};
use crate::registry::staging::Staging;
use crate::store::{DatasetKey, RecordBatch, StoredDataset, StoredFileRecord, Transaction};

/// How many records are compared with the stored ones at once.
const BATCH_RECORDS: usize = 16_384;

/// The greatest number of contradictions, or of files, that an error names.
const MAX_NAMED: usize = 20;

/// The options of recording what is known of files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// Whether records that contradict what is known replace it, instead of being refused.
    pub accept_content: bool,
    /// The note that is stored with the records.
    pub note: Option<String>,
    /// Whether records of granules that are not held are skipped and counted.
    pub skip_missing: bool,
    /// Whether everything is rolled back after it was checked.
    pub dry_run: bool,
}

impl Registry {
    /// Records what is known of the files of granules that a dataset holds. Returns what was recorded,
    /// and how many records were skipped, since their granules are not held.
    ///
    /// Costs a look-up for each record. The memory does not depend on their number.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorKind::NotHeld`](crate::ErrorKind::NotHeld): a granule is not held;
    /// [`ErrorKind::ContentContradicts`](crate::ErrorKind::ContentContradicts): a record contradicts
    /// what is known of its file.
    pub fn add_files(
        &self,
        dataset: &DatasetName,
        files: &FileListing,
        options: &FileOptions,
        stamp: &Stamp,
    ) -> Result<(FileCounts, u64)> {
        check_entered_note(options.note.as_deref())?;
        check_accepted(options.accept_content, options.note.as_deref())?;
        self.write(|transaction| {
            let stored = transaction.stored_dataset(dataset)?;
            let Some(StoredDataset { key, dataset, withdrawn, .. }) = stored else {
                return Err(Error::dataset_unknown(dataset));
            };
            refuse_withdrawn(withdrawn.as_ref(), &dataset.name)?;
            let held = match options.skip_missing {
                true => Held::Skipped,
                false => Held::Required,
            };
            let (counts, skipped) = Recording::new(self, transaction, key, options).record(
                &files.staging,
                held,
                stamp,
            )?;
            let is_kept = counts.has_any() && !options.dry_run;
            Ok(((counts, skipped), End::commit_if(is_kept)))
        })
    }
}

/// Records what is known of files, within the transaction of a change of their granules. `recorded` is when the
/// dataset was last changed, if it has a history.
///
/// # Errors
///
/// Those of [`Registry::add_files`].
pub(super) fn record(
    target: &Target<'_>,
    files: &Staging,
    held: Held,
    recorded: Option<Timestamp>,
) -> Result<FileCounts> {
    let Target { registry, transaction, dataset, options, stamp, .. } = *target;
    let options = FileOptions {
        accept_content: options.accept_content,
        note: options.note.clone(),
        ..FileOptions::default()
    };
    let recording = Recording::new(registry, transaction, dataset, &options);
    Ok(Recording { recorded, ..recording }.record(files, held, stamp)?.0)
}

/// What to do with the records of granules that are not held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// They are refused.
    Required,
    /// They are skipped.
    Skipped,
    /// They come with the granules, so it need not be looked up.
    AreListed,
    /// They are skipped, unless the granules were held once.
    Once,
}

struct Recording<'a> {
    registry: &'a Registry,
    transaction: &'a Transaction,
    dataset: DatasetKey,
    options: &'a FileOptions,
    /// When the dataset was last changed, if that is known.
    recorded: Option<Timestamp>,
    counts: FileCounts,
    skipped: u64,
    contradictions: Contradictions,
    /// The granules of which nothing was known, or something else of a file: what checks have found there does
    /// not hold any more.
    outdated: Vec<GranuleId>,
    /// The number of the first new record, and of the next one.
    first: u64,
    next: u64,
}

impl<'a> Recording<'a> {
    fn new(
        registry: &'a Registry,
        transaction: &'a Transaction,
        dataset: DatasetKey,
        options: &'a FileOptions,
    ) -> Self {
        Recording {
            registry,
            transaction,
            dataset,
            options,
            recorded: None,
            counts: FileCounts::default(),
            skipped: 0,
            contradictions: Contradictions::default(),
            outdated: Vec::new(),
            first: 0,
            next: 0,
        }
    }

    fn record(mut self, files: &Staging, held: Held, stamp: &Stamp) -> Result<(FileCounts, u64)> {
        if files.contents() == 0 {
            return Ok((self.counts, 0));
        }
        let last = self.transaction.last_record_batch(self.dataset, Timestamp::MAX)?;
        self.first = last.as_ref().map_or(0, |last| last.last_number) + 1;
        self.next = self.first;
        let mut progress = self.registry.begin("recording", "files", None);
        let mut batch: Vec<Listed> = Vec::new();
        // All records of a file are entered at once, wherever they were listed: they are compared with
        // one another, too.
        let mut stated = Stated::of(files)?;
        while let Some(mut of_granule) = stated.next()? {
            batch.append(&mut of_granule);
            if batch.len() >= BATCH_RECORDS {
                progress.advance_by(batch.len() as u64)?;
                self.enter(std::mem::take(&mut batch), held)?;
            }
        }
        self.enter(batch, held)?;
        self.counts.equal += stated.repeated;
        drop(progress);
        self.contradictions.refuse()?;
        if self.counts.has_any() {
            let earliest = last.as_ref().map_or(Timestamp::MIN, |last| last.recorded);
            let latest = last.as_ref().map(|last| last.recorded).max(self.recorded);
            let (recorded, recorded_by) = stamp.record(self.transaction, latest, earliest)?;
            self.transaction.insert(
                self.dataset,
                &[RecordBatch {
                    batch: last.map_or(0, |last| last.batch) + 1,
                    last_number: self.next - 1,
                    recorded,
                    recorded_by,
                    note: self.options.note.clone(),
                    replaces: self.options.accept_content,
                }],
            )?;
        }
        Ok((self.counts, self.skipped))
    }

    /// Compares records with what is known, and stores those that say more.
    fn enter(&mut self, mut batch: Vec<Listed>, held: Held) -> Result<()> {
        let mut ids: Vec<String> =
            batch.iter().map(|(record, _)| record.granule_id.to_string()).collect();
        ids.dedup();
        let mut ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        if held != Held::AreListed {
            let periods = self.transaction.periods_among(self.dataset, &ids)?;
            let held_ids: Vec<&str> = periods
                .iter()
                .filter(|period| held == Held::Once || period.deleted.is_none())
                .map(|period| period.granule_id.as_str())
                .collect();
            let is_held = |id: &str| held_ids.binary_search(&id).is_ok();
            let missing = batch.iter().filter(|(it, _)| !is_held(it.granule_id.as_str()));
            if held == Held::Required
                && let Some((record, location)) = missing.clone().next()
            {
                return Err(not_held(record, location.as_ref()));
            }
            self.skipped += missing.count() as u64;
            batch.retain(|(record, _)| is_held(record.granule_id.as_str()));
            ids.retain(|id| is_held(id));
        }
        let known = known_files(self.transaction.file_records_among(self.dataset, &ids)?);
        let mut new = Vec::new();
        for records in batch.chunk_by(|(a, _), (b, _)| file_of(a) == file_of(b)) {
            let Some((first, _)) = records.first() else { continue };
            let place = known.binary_search_by(|file| {
                (&file.granule_id, file.path.as_str()).cmp(&(&first.granule_id, first.path()))
            });
            let state = place.ok().and_then(|place| known.get(place));
            let state = state.map_or_else(FileState::default, |file| file.state.clone());
            if known.binary_search_by(|file| file.granule_id.cmp(&first.granule_id)).is_err() {
                self.outdated.push(first.granule_id.clone());
            }
            self.enter_file(records, state, &mut new)?;
        }
        self.transaction.insert_file_records(self.dataset, &new)?;
        let mut outdated = std::mem::take(&mut self.outdated);
        outdated.dedup();
        if outdated.is_empty() || !self.transaction.has_fixity_findings(self.dataset)? {
            return Ok(());
        }
        let outdated: Vec<&str> = outdated.iter().map(GranuleId::as_str).collect();
        self.transaction.delete_fixity_findings_of(self.dataset, &outdated)
    }

    /// Takes the records of one file. What contradicts what is known comes first: the others then add to
    /// it.
    fn enter_file(
        &mut self,
        records: &[Listed],
        mut state: FileState,
        new: &mut Vec<StoredFileRecord>,
    ) -> Result<()> {
        let (otherwise, others): (Vec<&Listed>, Vec<&Listed>) = records
            .iter()
            .partition(|(record, _)| state.compare(&record.content) == Says::Otherwise);
        for (record, location) in otherwise.into_iter().chain(others) {
            match state.compare(&record.content) {
                Says::Equal => {
                    self.counts.equal += 1;
                    continue;
                }
                Says::More => self.counts.added += 1,
                // What one listing says twice is not accepted in either way.
                Says::Otherwise
                    if self.options.accept_content
                        && state.contradicted_by(&record.content) < Some(self.first) =>
                {
                    self.counts.replaced += 1;
                }
                Says::Otherwise => {
                    self.contradictions.add(record, location.as_ref(), &state, self.first);
                    continue;
                }
            }
            if state.take(self.next, &record.content) == Says::Otherwise {
                self.outdated.push(record.granule_id.clone());
            }
            new.push(StoredFileRecord { number: self.next, record: record.clone() });
            self.next += 1;
        }
        Ok(())
    }
}

fn file_of(record: &FileRecord) -> (&GranuleId, &str) {
    (&record.granule_id, record.path())
}

fn not_held(record: &FileRecord, location: Option<&SourceLocation>) -> Error {
    let granule_id: &GranuleId = &record.granule_id;
    let message = format!("{} is not held", quoted(granule_id.as_str()));
    Error::new(ErrorKind::NotHeld, message).at(location.cloned()).of(granule_id.clone())
}

/// The first contradictions, and how many there are.
#[derive(Default)]
struct Contradictions {
    first: Option<(GranuleId, Option<SourceLocation>)>,
    named: Vec<String>,
    count: u64,
}

impl Contradictions {
    fn add(
        &mut self,
        record: &FileRecord,
        location: Option<&SourceLocation>,
        state: &FileState,
        first_new: u64,
    ) {
        self.count += 1;
        if self.named.len() == MAX_NAMED {
            return;
        }
        let place = location.map_or(String::new(), |location| format!("{location}: "));
        let granule = match &record.path {
            None => String::new(),
            Some(_) => format!(" of {}", quoted(record.granule_id.as_str())),
        };
        let is_recorded = state.contradicted_by(&record.content) < Some(first_new);
        let known = if is_recorded { "is recorded" } else { "is also listed" };
        let path = quoted(record.path());
        let (listed, recorded) = differing(&record.content, state);
        self.named.push(format!("{place}{path}{granule} has {listed}, but {recorded} {known}"));
        self.first.get_or_insert((record.granule_id.clone(), location.cloned()));
    }

    /// Refuses them, if there are any.
    fn refuse(&self) -> Result<()> {
        let Some((granule_id, _)) = &self.first else { return Ok(()) };
        let named = self.named.join("; ");
        let message = match (self.count, self.count - self.named.len() as u64) {
            (1, _) => format!("1 file contradicts what is recorded of it: {named}"),
            (count, 0) => format!("{count} files contradict what is recorded of them: {named}"),
            (count, more) => format!(
                "{count} files contradict what is recorded of them: {named}; and {more} more"
            ),
        };
        Err(Error::new(ErrorKind::ContentContradicts, message).of(granule_id.clone()))
    }
}

/// What a record says and what is known, where both differ.
fn differing(content: &FileContent, state: &FileState) -> (String, String) {
    if let Some(checksum) = content.checksum() {
        let same = |known: &&Checksum| known.algorithm() == checksum.algorithm();
        if let Some(known) = state.checksums().iter().find(same).filter(|known| *known != checksum)
        {
            return (format!("{} {checksum}", checksum.algorithm()), known.to_string());
        }
    }
    let bytes =
        |size: Option<u64>| size.map_or("an unknown size".to_owned(), |it| format!("{it} bytes"));
    (bytes(content.size()), bytes(state.size()))
}
