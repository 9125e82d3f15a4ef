//! What a dataset takes of the file records of another registry.
//!
//! The log of a primary says for each file what it recorded, and by what it replaced that. A record that
//! adds to what is known here is taken. Where what is known here is contradicted, but is what the
//! primary itself replaced, its successor is taken. Everything else that contradicts is reported, and
//! taken only where that is accepted.

use super::logged::{LoggedRecord, LoggedRecords};
use super::state::{FileCounts, FileState, KnownFile, Says, known_files};
use crate::disk::{Sorter, Spool};
use crate::error::{Error, ErrorKind, Result};
use crate::model::FileRecord;
use crate::store::{self, DatasetKey};

/// How many files are compared with what is known at once, and the bytes of the notes of their records.
const PAGE_FILES: usize = 4_096;
const PAGE_BYTES: usize = 8 * 1_024 * 1_024;

/// The greatest number of records of one file that a log may have, and of those that are in force.
const MAX_RECORDS: usize = 10_000;
const MAX_IN_FORCE: usize = 100;

/// The records of a log, compared with those of a dataset.
#[derive(Debug, Default)]
pub(crate) struct RecordMerge {
    /// The dataset, and its last record that was compared.
    of: Option<(DatasetKey, u64)>,
    /// The records to take, in the order in which they are numbered here: encoded, after a byte that says
    /// which they are.
    taken: Spool,
    pub counts: FileCounts,
    /// The records in force at the primary of files that are known otherwise here, by file.
    contradicting: Spool,
    /// Whether the log contradicts what is known here, and what was read of it does not show whether
    /// the primary replaced just that: it is to be read from its start.
    pub needs_whole: bool,
}

/// Why a record is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It says more.
    Added,
    /// It, or one before it, replaces what was known.
    Replacing,
    /// The same, since content that contradicts is accepted.
    Accepted,
}

const TAKEN: [Taken; 3] = [Taken::Added, Taken::Replacing, Taken::Accepted];

/// What a log says of one file.
#[derive(Default)]
struct Claimed {
    /// `None` before the first record.
    file: Option<FileRecord>,
    /// Whether all records of the file were read, or none that follows those that were kept.
    is_whole: bool,
    records: usize,
    /// What the primary replaced.
    earlier: Vec<FileState>,
    state: FileState,
    in_force: Vec<LoggedRecord>,
}

impl Claimed {
    fn add(&mut self, record: LoggedRecord) -> Result<()> {
        self.records += 1;
        if self.state.since() > 0 && self.state.compare(&record.record.content) == Says::Otherwise {
            self.earlier.push(self.state.clone());
            self.in_force.clear();
        }
        if self.state.take(record.number, &record.record.content) == Says::Equal {
            return Ok(());
        }
        self.file.get_or_insert_with(|| record.record.clone());
        if self.records > MAX_RECORDS || self.in_force.len() == MAX_IN_FORCE {
            let path = crate::model::quoted(record.record.path()).to_string();
            let message = format!("the log has more records of {path} than a registry keeps");
            return Err(
                Error::new(ErrorKind::NotPublished, message).of(record.record.granule_id.clone())
            );
        }
        self.in_force.push(record);
        Ok(())
    }
}

impl RecordMerge {
    /// Compares the records of a log with those of a dataset. `kept` are the records in force, before
    /// those that were read, of files that the log is known to contradict. `accept` says whether all
    /// that contradicts is taken.
    ///
    /// Costs a sort of the records, and a look-up of each file. The memory does not depend on their
    /// number.
    pub fn of(
        read: &store::Snapshot,
        dataset: DatasetKey,
        log: &LoggedRecords,
        kept: impl Iterator<Item = Result<LoggedRecord>>,
        accept: bool,
    ) -> Result<RecordMerge> {
        let mut sorter = Sorter::default();
        let is_whole = log.after == 0;
        for (record, is_whole) in kept
            .filter(|_| !is_whole)
            .map(|it| (it, true))
            .chain(log.iter().map(|it| (it, is_whole)))
        {
            let record = record?;
            let (granule, path) = (record.record.granule_id.as_str(), record.record.path());
            // Neither has a NUL.
            let mut key = [granule.as_bytes(), &[0], path.as_bytes(), &[0]].concat();
            key.extend(record.number.to_be_bytes());
            let mut value = vec![u8::from(is_whole)];
            value.extend(record.encoded());
            sorter.add(&key, &value)?;
        }
        let of = Some((dataset, read.last_file_record(dataset)?));
        let mut merge = RecordMerge { of, ..RecordMerge::default() };
        let (mut taken, mut page, mut bytes) = (Sorter::default(), Vec::<Claimed>::new(), 0);
        for entry in sorter.finish()? {
            let (_, value) = entry?;
            let Some((is_whole, encoded)) = value.split_first() else { continue };
            let record = LoggedRecord::decoded(encoded)?;
            let is_next = |claimed: &Claimed| {
                claimed.file.as_ref().is_none_or(|file| {
                    (&file.granule_id, file.path())
                        != (&record.record.granule_id, record.record.path())
                })
            };
            if page.last().is_none_or(is_next) {
                if page.len() >= PAGE_FILES || bytes >= PAGE_BYTES {
                    merge.decide(read, dataset, std::mem::take(&mut page), accept, &mut taken)?;
                    bytes = 0;
                }
                page.push(Claimed { is_whole: *is_whole == 1, ..Claimed::default() });
            }
            bytes += value.len();
            if let Some(claimed) = page.last_mut() {
                claimed.is_whole &= *is_whole == 1;
                claimed.add(record)?;
            }
        }
        merge.decide(read, dataset, page, accept, &mut taken)?;
        for entry in taken.finish()? {
            merge.taken.add(&entry?.1)?;
        }
        Ok(merge)
    }

    /// Whether nothing was recorded for the dataset since.
    pub fn is_current(&self, read: &store::Snapshot, dataset: DatasetKey) -> Result<bool> {
        Ok(self.of == Some((dataset, read.last_file_record(dataset)?)))
    }

    fn decide(
        &mut self,
        read: &store::Snapshot,
        dataset: DatasetKey,
        page: Vec<Claimed>,
        accept: bool,
        taken: &mut Sorter,
    ) -> Result<()> {
        let files = || page.iter().filter_map(|claimed| claimed.file.as_ref());
        let mut ids: Vec<&str> = files().map(|file| file.granule_id.as_str()).collect();
        ids.dedup();
        let known = known_files(read.file_records_among(dataset, &ids)?);
        for claimed in &page {
            let Some(file) = &claimed.file else { continue };
            let place = known.binary_search_by(|known: &KnownFile| {
                (&known.granule_id, known.path.as_str()).cmp(&(&file.granule_id, file.path()))
            });
            let here = place.ok().and_then(|place| known.get(place));
            let here = here.map_or_else(FileState::default, |known| known.state.clone());
            let is_succeeded =
                || claimed.earlier.iter().any(|it| here.is_succeeded(it, &claimed.state));
            if !here.contradicts(&claimed.state) {
                self.take(claimed, here, Taken::Added, taken)?;
            } else if is_succeeded() {
                self.take(claimed, here, Taken::Replacing, taken)?;
            } else if !claimed.is_whole {
                self.needs_whole = true;
            } else if accept {
                self.take(claimed, here, Taken::Accepted, taken)?;
            } else {
                for record in &claimed.in_force {
                    self.contradicting.add(&record.encoded())?;
                }
            }
        }
        Ok(())
    }

    /// Takes what is in force at the primary. What contradicts what is known comes first: the others
    /// then add to it.
    fn take(
        &mut self,
        claimed: &Claimed,
        mut here: FileState,
        why: Taken,
        taken: &mut Sorter,
    ) -> Result<()> {
        let says = |record: &&LoggedRecord| here.compare(&record.record.content) == Says::Otherwise;
        let (otherwise, others): (Vec<_>, Vec<_>) = claimed.in_force.iter().partition(says);
        let anchor = |record: &LoggedRecord| match why {
            Taken::Added => record.number,
            _ => claimed.in_force.first().map_or(record.number, |first| first.number),
        };
        for (place, record) in otherwise.into_iter().chain(others).enumerate() {
            match here.take(record.number, &record.record.content) {
                // Most of a log is known: that is not worth a word.
                Says::Equal => continue,
                Says::More => self.counts.added += 1,
                Says::Otherwise => self.counts.replaced += 1,
            }
            let key = [anchor(record).to_be_bytes(), (place as u64).to_be_bytes()].concat();
            let mut value = vec![why as u8];
            value.extend(record.encoded());
            taken.add(&key, &value)?;
        }
        Ok(())
    }

    /// Whether the log contradicts what is known of a file, of a granule that is held or not.
    pub fn has_contradictions(&self) -> bool {
        self.contradicting.count() > 0
    }

    /// The records of the primary that contradict what is known, and those in force with them.
    pub fn contradicting(&self) -> impl Iterator<Item = Result<LoggedRecord>> + '_ {
        self.contradicting.records().map(|bytes| LoggedRecord::decoded(&bytes?))
    }

    /// The records to take, in the order in which they are to be stored.
    pub fn taken(&self) -> impl Iterator<Item = Result<(Taken, LoggedRecord)>> + '_ {
        self.taken.records().map(|value| {
            let value = value?;
            let (why, encoded) = value.split_first().unwrap_or((&0, &[]));
            let why = TAKEN.get(usize::from(*why)).copied().unwrap_or(Taken::Added);
            Ok((why, LoggedRecord::decoded(encoded)?))
        })
    }
}
