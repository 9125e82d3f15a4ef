//! Storing file records that were read of the log of another registry.

use super::stamp::Stamp;
use super::target::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Timestamp, quoted};
use crate::registry::files::{
    FileCounts, FileState, LoggedRecord, LoggedRecords, RecordMerge, Says, Taken, known_files,
    logged_records,
};
use crate::store::{DatasetKey, RecordBatch, StoredFileRecord, Transaction};

/// How many records are stored at once, and the bytes of their notes.
const PAGE_RECORDS: usize = 16_384;

/// The greatest number of files that an error names.
const MAX_NAMED: usize = 20;

/// Stores the file records of a log that is imported.
///
/// Where the dataset has the first of them, and no others, it gets the rest as they are, with their
/// numbers, times and notes: so records that a registry has lost come back from its published log.
/// Otherwise it takes those that say more than what is known, as a mirror does.
///
/// # Errors
///
/// [`ErrorKind::ContentContradicts`](crate::ErrorKind::ContentContradicts).
pub(super) fn import(target: &Target<'_>, log: &LoggedRecords) -> Result<FileCounts> {
    let Target { transaction, dataset, options, stamp, .. } = *target;
    if log.count() == 0 {
        return Ok(FileCounts::default());
    }
    let last = transaction.last_record_batch(dataset, Timestamp::MAX)?;
    let stored = last.map_or(0, |last| last.last_number);
    if log.after > 0 && log.after != stored {
        let message = "file records were entered meanwhile";
        return Err(Error::new(ErrorKind::Busy, message));
    }
    let mut known = logged_records(transaction, dataset, log.after)?;
    let mut read = log.iter();
    let is_continued = loop {
        match (known.next().transpose()?, read.next().transpose()?) {
            (None, _) => break true,
            (Some(known), Some(read)) if known == read => {}
            (Some(_), None) => {
                return Ok(FileCounts { equal: log.count(), ..FileCounts::default() });
            }
            (Some(_), Some(_)) => break false,
        }
    };
    if !is_continued {
        let accept = options.accept_content;
        let merge = RecordMerge::of(transaction, dataset, log, std::iter::empty(), accept)?;
        refuse(&merge)?;
        return take(transaction, dataset, merge, options.note.as_deref(), stamp);
    }
    let mut counts = FileCounts { equal: stored - log.after, ..FileCounts::default() };
    let mut batches = Batches::begin(transaction, dataset)?;
    let mut page = Vec::new();
    for record in log.iter() {
        let record = record?;
        if record.number <= stored {
            continue;
        }
        page.push(record);
        if page.len() == PAGE_RECORDS {
            append(&mut batches, std::mem::take(&mut page), &mut counts)?;
        }
    }
    append(&mut batches, page, &mut counts)?;
    batches.finish()?;
    Ok(counts)
}

/// Stores records as they are.
fn append(
    batches: &mut Batches<'_>,
    page: Vec<LoggedRecord>,
    counts: &mut FileCounts,
) -> Result<()> {
    batches.flush()?;
    let mut ids: Vec<&str> = page.iter().map(|it| it.record.granule_id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let Batches { transaction, dataset, .. } = *batches;
    let mut known = known_files(transaction.file_records_among(dataset, &ids)?);
    // Files of which nothing is known yet are found by the order of those that are.
    let mut new: std::collections::BTreeMap<(String, String), FileState> = known
        .drain(..)
        .map(|file| ((file.granule_id.to_string(), file.path), file.state))
        .collect();
    for record in page {
        let file = (record.record.granule_id.to_string(), record.record.path().to_owned());
        let says = new.entry(file).or_default().take(record.number, &record.record.content);
        match says {
            Says::Otherwise => counts.replaced += 1,
            Says::More | Says::Equal => counts.added += 1,
        }
        let LoggedRecord { recorded, note, .. } = &record;
        let as_recorded = (*recorded, None, note.clone());
        batches.add(&record, as_recorded, says == Says::Otherwise)?;
    }
    Ok(())
}

/// Stores what was decided to be taken, with the notes of the primary; what is accepted although it
/// contradicts, with this note.
pub(super) fn take(
    transaction: &Transaction,
    dataset: DatasetKey,
    merge: RecordMerge,
    note: Option<&str>,
    stamp: &Stamp,
) -> Result<FileCounts> {
    let counts = merge.counts;
    if !counts.has_any() {
        return Ok(counts);
    }
    let mut batches = Batches::begin(transaction, dataset)?;
    let latest = batches.last.as_ref().map(|last| last.recorded);
    let earliest = latest.unwrap_or(Timestamp::MIN);
    let (recorded, recorded_by) = stamp.record(transaction, latest, earliest)?;
    for entry in merge.into_taken()? {
        let (why, record) = entry?;
        let note = match why {
            Taken::Accepted => note.map(str::to_owned),
            Taken::Added | Taken::Replacing => record.note.clone(),
        };
        let entered = (recorded, recorded_by.clone(), note);
        batches.add(&record, entered, why != Taken::Added)?;
    }
    batches.finish()?;
    Ok(counts)
}

/// When records were entered, by whom, and the note.
type Entered = (Timestamp, Option<String>, Option<String>);

/// Records that are stored in batches: one for each run of records that were entered together.
struct Batches<'a> {
    transaction: &'a Transaction,
    dataset: DatasetKey,
    last: Option<RecordBatch>,
    next: u64,
    page: Vec<StoredFileRecord>,
    open: Option<(Entered, bool)>,
}

impl<'a> Batches<'a> {
    /// Continues after the last batch.
    fn begin(transaction: &'a Transaction, dataset: DatasetKey) -> Result<Self> {
        let last = transaction.last_record_batch(dataset, Timestamp::MAX)?;
        let next = last.as_ref().map_or(0, |last| last.last_number) + 1;
        Ok(Batches { transaction, dataset, last, next, page: Vec::new(), open: None })
    }

    fn add(&mut self, record: &LoggedRecord, entered: Entered, replaces: bool) -> Result<()> {
        match &mut self.open {
            Some((known, may)) if *known == entered => *may |= replaces,
            _ => {
                self.close()?;
                self.open = Some((entered, replaces));
            }
        }
        self.page.push(StoredFileRecord { number: self.next, record: record.record.clone() });
        self.next += 1;
        match self.page.len() < PAGE_RECORDS {
            true => Ok(()),
            false => self.flush(),
        }
    }

    fn flush(&mut self) -> Result<()> {
        let mut page = std::mem::take(&mut self.page);
        // Rows are stored faster in the order of their keys.
        page.sort_by(|a, b| {
            (&a.record.granule_id, a.number).cmp(&(&b.record.granule_id, b.number))
        });
        self.transaction.insert_file_records(self.dataset, &page)
    }

    fn close(&mut self) -> Result<()> {
        let Some(((recorded, recorded_by, note), replaces)) = self.open.take() else {
            return Ok(());
        };
        let batch = RecordBatch {
            batch: self.last.as_ref().map_or(0, |last| last.batch) + 1,
            last_number: self.next - 1,
            recorded,
            recorded_by,
            note,
            replaces,
        };
        self.transaction.insert_record_batch(self.dataset, &batch)?;
        self.last = Some(batch);
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.close()
    }
}

/// Refuses records that contradict what is known.
fn refuse(merge: &RecordMerge) -> Result<()> {
    if !merge.has_contradictions() {
        return Ok(());
    }
    let (mut named, mut first): (Vec<String>, Option<LoggedRecord>) = (Vec::new(), None);
    let mut files = 0_u64;
    let mut last: Option<LoggedRecord> = None;
    for record in merge.contradicting() {
        let record = record?;
        let is_same = |it: &LoggedRecord| {
            (&it.record.granule_id, it.record.path())
                == (&record.record.granule_id, record.record.path())
        };
        if !last.as_ref().is_some_and(is_same) {
            files += 1;
            if named.len() < MAX_NAMED {
                named.push(quoted(record.record.path()).to_string());
            }
        }
        first.get_or_insert_with(|| record.clone());
        last = Some(record);
    }
    let Some(first) = first else { return Ok(()) };
    let more = match files - named.len() as u64 {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let message = format!(
        "the log says of {files} files otherwise than what is recorded of them: {}{more}",
        named.join(", ")
    );
    Err(Error::new(ErrorKind::ContentContradicts, message).of(first.record.granule_id))
}
