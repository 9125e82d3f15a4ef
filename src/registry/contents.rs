//! The file records of granules, read beside their holding periods, and their lines in canonical lists.

use std::ops::Range;

use crate::chain::{Hashing, Reached};
use crate::error::Result;
use crate::model::{EncodedFiles, Timestamp};
use crate::store::{ContentRows, DatasetKey, Period, View};

/// The file records of one granule, each with its start time. It is refilled for each granule.
#[derive(Debug, Default)]
pub(super) struct FilesOverTime {
    encoded: Vec<u8>,
    /// The start of each record in microseconds, and the range of its encoding in `encoded`.
    rows: Vec<(i64, Range<usize>)>,
}

/// The file records of a granule that start within a range of time, in order.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilesDuring<'a> {
    encoded: &'a [u8],
    rows: &'a [(i64, Range<usize>)],
}

impl FilesOverTime {
    pub fn push(&mut self, since: i64, files: EncodedFiles<'_>) {
        let start = self.encoded.len();
        self.encoded.extend_from_slice(files.as_bytes());
        self.rows.push((since, start..self.encoded.len()));
    }

    /// Adds the records of another source.
    pub fn extend(&mut self, files: FilesDuring<'_>) {
        files.iter().for_each(|(since, files)| self.push(since, files));
    }

    /// Sorts the records by time. If several have the same time, the first that was added is used.
    pub fn sort(&mut self) {
        self.rows.sort_by_key(|(since, _)| *since);
        self.rows.dedup_by_key(|(since, _)| *since);
    }

    pub fn clear(&mut self) {
        self.encoded.clear();
        self.rows.clear();
    }

    /// The records that start at `from` or later, and before `until`. `None` means no end.
    pub fn during(&self, from: i64, until: Option<i64>) -> FilesDuring<'_> {
        let start = self.rows.partition_point(|(since, _)| *since < from);
        let rows = &self.rows[start..];
        let is_within = |(since, _): &(i64, _)| until.is_none_or(|until| *since < until);
        let end = rows.partition_point(is_within);
        FilesDuring { encoded: &self.encoded, rows: &rows[..end] }
    }
}

impl<'a> FilesDuring<'a> {
    pub fn is_empty(self) -> bool {
        self.rows.is_empty()
    }

    /// The records, each with its start in microseconds.
    pub fn iter(self) -> impl Iterator<Item = (i64, EncodedFiles<'a>)> {
        let files = |range: &Range<usize>| EncodedFiles::of_checked(&self.encoded[range.clone()]);
        self.rows.iter().map(move |(since, range)| (*since, files(range)))
    }

    /// Adds the lines of the granule to the lists of the instances that hold it. It must be the granule that
    /// was added last. `number` returns the number of the first instance at or after a time. Adds nothing if
    /// there are no records.
    pub fn add_lines(
        self,
        hashing: &mut Hashing,
        granule_id: &str,
        held: &Range<usize>,
        mut number: impl FnMut(i64) -> usize,
    ) {
        if self.is_empty() || held.is_empty() {
            return;
        }
        let mut line = |files: EncodedFiles<'_>, instances: Range<usize>| {
            if !instances.is_empty() {
                hashing.add_line(instances, |text| files.write_line(granule_id, text));
            }
        };
        let (mut start, mut files) = (held.start, EncodedFiles::default());
        for (since, next) in self.iter() {
            let since = number(since).clamp(start, held.end);
            line(files, start..since);
            (start, files) = (since, next);
        }
        line(files, start..held.end);
    }

    /// Hashes a granule that the instances `held` hold, with its lines.
    pub fn hold(
        self,
        hashing: &mut Hashing,
        granule_id: &str,
        held: Range<usize>,
        number: impl FnMut(i64) -> usize,
    ) -> Vec<Reached> {
        let reached = hashing.hold(granule_id, held.clone());
        self.add_lines(hashing, granule_id, &held, number);
        reached
    }
}

/// The file records of a dataset, in the order of its granules.
pub(super) struct Contents<'read> {
    rows: ContentRows<'read>,
    /// The granule of the last period. `of_granule` has all its records.
    granule_id: Vec<u8>,
    of_granule: FilesOverTime,
    /// The number of these records that were within one of its periods.
    used: usize,
    /// The first granule with a record outside all of its holding periods.
    stray: Option<String>,
}

impl<'read> Contents<'read> {
    /// The records of the granules after an id (`""` means from the first).
    pub fn of(read: &'read View, dataset: DatasetKey, after: &str) -> Self {
        Contents {
            rows: read.content_after(dataset, after),
            granule_id: Vec::new(),
            of_granule: FilesOverTime::default(),
            used: 0,
            stray: None,
        }
    }

    /// The records of a granule that start during a holding period. Must be called for each period, in order of
    /// granule and time.
    pub fn during(&mut self, period: &Period<'_>) -> Result<FilesDuring<'_>> {
        if self.granule_id != period.granule_id {
            self.advance_to(period.granule_id)?;
        }
        let during = self.of_granule.during(period.ingested, period.deleted);
        self.used += during.rows.len();
        Ok(during)
    }

    fn advance_to(&mut self, granule_id: &[u8]) -> Result<()> {
        self.leave();
        self.granule_id.clear();
        self.granule_id.extend_from_slice(granule_id);
        while let Some(row) =
            self.rows.peek()?.filter(|row| row.granule_id.as_bytes() <= granule_id)
        {
            if row.granule_id.as_bytes() == granule_id {
                self.of_granule.push(row.since, row.files);
            } else {
                self.stray.get_or_insert_with(|| row.granule_id.to_owned());
            }
            self.rows.advance();
        }
        Ok(())
    }

    /// Finishes the current granule. It is stray if not all of its records were used.
    fn leave(&mut self) {
        if self.used < self.of_granule.rows.len() && self.stray.is_none() {
            self.stray = Some(String::from_utf8_lossy(&self.granule_id).into_owned());
        }
        self.used = 0;
        self.of_granule.clear();
    }

    /// The first granule with a record at a time when it was not held. Called after the last period.
    pub fn stray(mut self) -> Result<Option<String>> {
        self.leave();
        match self.rows.peek()? {
            Some(row) if self.stray.is_none() => Ok(Some(row.granule_id.to_owned())),
            _ => Ok(self.stray),
        }
    }
}

/// The file records in force at an instant, of the granules of a dataset held then, in canonical order.
pub(super) struct ContentsAt<'read> {
    rows: ContentRows<'read>,
    /// The encoded records of the last granule.
    encoded: Vec<u8>,
}

impl<'read> ContentsAt<'read> {
    /// Starts to read the records in force at an instant.
    pub fn new(read: &'read View, dataset: DatasetKey, at: Timestamp) -> Result<Self> {
        Ok(ContentsAt { rows: read.content_until(dataset, at)?, encoded: Vec::new() })
    }

    /// The records of a granule. Must be called in canonical order.
    pub fn of(&mut self, granule_id: &str) -> Result<EncodedFiles<'_>> {
        self.encoded.clear();
        while let Some(row) = self.rows.peek()?.filter(|row| row.granule_id <= granule_id) {
            if row.granule_id == granule_id {
                self.encoded.clear();
                self.encoded.extend_from_slice(row.files.as_bytes());
            }
            self.rows.advance();
        }
        Ok(EncodedFiles::of_checked(&self.encoded))
    }
}
