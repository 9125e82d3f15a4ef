//! File records in the order of their numbers, as the log of a dataset's file records has them.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::disk::{Sorted, Sorter, Spool, scratch};
use crate::error::{Error, Result};
use crate::model::{Algorithm, Checksum, FileContent, FilePath, FileRecord, GranuleId, Timestamp};
use crate::store::{self, DatasetKey, RecordBatch, StoredFileRecord};

/// A file record, with what is known of its batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoggedRecord {
    /// 1, 2, … within the dataset.
    pub number: u64,
    /// What it says.
    pub record: FileRecord,
    /// When it was entered.
    pub recorded: Timestamp,
    /// The note that it was entered with.
    pub note: Option<String>,
}

impl LoggedRecord {
    /// The bytes of the record in a temporary file: its number and time, the note (after a byte that
    /// says whether there is one, and its length), and what it says.
    pub(super) fn encoded(&self) -> Vec<u8> {
        let LoggedRecord { number, record, recorded, note } = self;
        let mut bytes = [number.to_le_bytes(), recorded.as_micros().to_le_bytes()].concat();
        bytes.push(u8::from(note.is_some()));
        let note = note.as_deref().unwrap_or_default();
        bytes.extend((note.len() as u64).to_le_bytes());
        bytes.extend(note.as_bytes());
        encode(record, &mut bytes);
        bytes
    }

    pub(super) fn decoded(bytes: &[u8]) -> Result<Self> {
        LoggedRecord::of_bytes(bytes).ok_or_else(scratch::unreadable)
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (number, rest) = bytes.split_first_chunk()?;
        let (recorded, rest) = rest.split_first_chunk()?;
        let (has_note, rest) = rest.split_first()?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (note, record) = rest.split_at_checked(length)?;
        let note = std::str::from_utf8(note).ok()?;
        Some(LoggedRecord {
            number: u64::from_le_bytes(*number),
            record: decode(record)?,
            recorded: Timestamp::from_micros(i64::from_le_bytes(*recorded))?,
            note: (*has_note == 1).then(|| note.to_owned()),
        })
    }
}

/// A record as text: a line of the log without its check, or what is remembered of one. The order of the
/// members is part of the format of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StatedRecord {
    pub number: u64,
    pub granule: String,
    path: String,
    algorithm: Option<String>,
    size: Option<u64>,
    checksum: Option<String>,
    recorded: Timestamp,
    note: Option<String>,
}

impl From<&LoggedRecord> for StatedRecord {
    fn from(LoggedRecord { number, record, recorded, note }: &LoggedRecord) -> Self {
        let checksum = record.content.checksum();
        StatedRecord {
            number: *number,
            granule: record.granule_id.to_string(),
            path: record.path().to_owned(),
            algorithm: checksum.map(|checksum| checksum.algorithm().to_string()),
            size: record.content.size(),
            checksum: checksum.map(ToString::to_string),
            recorded: *recorded,
            note: note.clone(),
        }
    }
}

impl TryFrom<StatedRecord> for LoggedRecord {
    /// What is wrong.
    type Error = String;

    fn try_from(stated: StatedRecord) -> Result<Self, String> {
        let StatedRecord { number, granule, path, algorithm, size, checksum, recorded, note } =
            stated;
        let granule_id = GranuleId::new(granule).map_err(|error| error.to_string())?;
        let path = FilePath::new(path).map_err(|error| error.to_string())?;
        let algorithm = algorithm.map(|name| name.parse::<Algorithm>()).transpose();
        let checksum = match (algorithm.map_err(|error| error.to_string())?, checksum) {
            (None, None) => None,
            (Some(algorithm), Some(checksum)) => {
                Some(Checksum::parse(algorithm, &checksum).map_err(|error| error.to_string())?)
            }
            _ => return Err("an algorithm and a checksum belong together".to_owned()),
        };
        if size.is_some_and(|size| i64::try_from(size).is_err()) {
            return Err("its size is greater than that of any file".to_owned());
        }
        let content =
            FileContent::new(size, checksum).ok_or("it has neither a size nor a checksum")?;
        let record = FileRecord::new(granule_id, path, content);
        Ok(LoggedRecord { number, record, recorded, note })
    }
}

/// The records that were read of a log, consecutive. More than a few are kept in a temporary file.
#[derive(Debug, Default)]
pub(crate) struct LoggedRecords {
    spool: Spool,
    /// How many records of the log are before them.
    pub after: u64,
}

impl LoggedRecords {
    /// Begins after so many records of the log.
    pub fn after(after: u64) -> Self {
        LoggedRecords { spool: Spool::default(), after }
    }

    /// Adds the next record.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary).
    pub fn add(&mut self, record: &LoggedRecord) -> Result<()> {
        self.spool.add(&record.encoded()).map(drop)
    }

    /// How many records there are, without those before.
    pub fn count(&self) -> u64 {
        self.spool.count()
    }

    /// The records, in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<LoggedRecord>> + '_ {
        self.spool.records().map(|bytes| LoggedRecord::decoded(&bytes?))
    }
}

/// The number of rows that are read at once.
const PAGE_ROWS: u32 = 4_096;

/// The stored records of a dataset after one (0 means from the first), in the order of their numbers.
///
/// They are stored by granule, so this costs a pass over all of them, unless there is none after it;
/// those after it are sorted in a temporary file. Each is compared with its checksum.
pub(crate) fn logged_records(
    read: &store::Snapshot,
    dataset: DatasetKey,
    after: u64,
) -> Result<LoggedInOrder<'_>> {
    let last = read.last_file_record(dataset)?;
    let mut sorter = Sorter::default();
    let stored = (last > after).then(|| read.file_records(dataset));
    for stored in stored.into_iter().flatten() {
        let StoredFileRecord { number, record } = stored?;
        if number > after {
            let mut bytes = Vec::new();
            encode(&record, &mut bytes);
            sorter.add(&number.to_be_bytes(), &bytes)?;
        }
    }
    let (records, batches) = (sorter.finish()?, VecDeque::new());
    Ok(LoggedInOrder { read, dataset, records, batches, batch: 0, next: after + 1, last })
}

/// The records of [`logged_records`].
pub(crate) struct LoggedInOrder<'read> {
    read: &'read store::Snapshot,
    dataset: DatasetKey,
    records: Sorted,
    /// The batches of the records that follow, and the number of the last one that was read.
    batches: VecDeque<RecordBatch>,
    batch: u64,
    next: u64,
    last: u64,
}

impl LoggedInOrder<'_> {
    fn read(&mut self) -> Result<Option<LoggedRecord>> {
        let damaged = || Error::damaged("the file records are not numbered without gaps");
        if self.next > self.last {
            return Ok(None);
        }
        let (key, bytes) = self.records.next().transpose()?.ok_or_else(damaged)?;
        if *key != self.next.to_be_bytes() {
            return Err(damaged());
        }
        while self.batches.front().is_none_or(|batch| batch.last_number < self.next) {
            if self.batches.pop_front().is_none() {
                self.batches =
                    self.read.record_batches_after(self.dataset, self.batch, PAGE_ROWS)?.into();
                self.batch = self.batches.back().ok_or_else(damaged)?.batch;
            }
        }
        let batch = self.batches.front().ok_or_else(damaged)?;
        let record = LoggedRecord {
            number: self.next,
            record: decode(&bytes).ok_or_else(scratch::unreadable)?,
            recorded: batch.recorded,
            note: batch.note.clone(),
        };
        self.next += 1;
        Ok(Some(record))
    }
}

impl Iterator for LoggedInOrder<'_> {
    type Item = Result<LoggedRecord>;

    fn next(&mut self) -> Option<Result<LoggedRecord>> {
        let read = self.read().transpose();
        if !matches!(read, Some(Ok(_))) {
            self.last = 0;
        }
        read
    }
}

/// Appends a record: the size (2^64 - 1 if it is not known), and the other parts, each after its length.
pub(super) fn encode(record: &FileRecord, bytes: &mut Vec<u8>) {
    let checksum = record.content.checksum();
    bytes.extend(record.content.size().unwrap_or(u64::MAX).to_le_bytes());
    for part in [
        record.granule_id.as_str().as_bytes(),
        record.path.as_ref().map_or("", FilePath::as_str).as_bytes(),
        checksum.map_or("", |checksum| checksum.algorithm().as_str()).as_bytes(),
        checksum.map_or(&[][..], Checksum::as_bytes),
    ] {
        bytes.extend((part.len() as u64).to_le_bytes());
        bytes.extend(part);
    }
}

/// Reads a record. `None` means that the bytes are not those of a record.
pub(super) fn decode(bytes: &[u8]) -> Option<FileRecord> {
    let (size, mut rest) = bytes.split_first_chunk()?;
    let size = Some(u64::from_le_bytes(*size)).filter(|size| *size != u64::MAX);
    let mut part = || -> Option<&[u8]> {
        let (length, after) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (part, after) = after.split_at_checked(length)?;
        rest = after;
        Some(part)
    };
    let granule_id = GranuleId::from_bytes(part()?).ok()?;
    let path = std::str::from_utf8(part()?).ok().filter(|path| !path.is_empty());
    let algorithm = std::str::from_utf8(part()?).ok()?;
    let checksum = match algorithm {
        "" => None,
        name => Some(Checksum::from_bytes(name.parse::<Algorithm>().ok()?, part()?).ok()?),
    };
    let content = FileContent::new(size, checksum)?;
    let path = path.map(FilePath::new).transpose().ok()?;
    Some(FileRecord { granule_id, path, content })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_cut_is_not_read() {
        let granule_id = GranuleId::new("A.nc").unwrap();
        let checksum = Checksum::parse(Algorithm::Crc32, "2a").unwrap();
        let content = FileContent::new(Some(7), Some(checksum)).unwrap();
        let record = FileRecord { granule_id, path: None, content };
        let mut bytes = Vec::new();
        encode(&record, &mut bytes);
        assert_eq!(decode(&bytes), Some(record));
        assert!((0..bytes.len()).all(|end| decode(&bytes[..end]).is_none()));
    }
}
