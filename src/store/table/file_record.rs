//! The tables `file_record` and `record_batch`: what is known of the files of granules.
//!
//! A row of `file_record` has a checksum of its own, which is computed here when it is written, and
//! compared whenever it is read.

use crate::model::{Algorithm, Checksum, FileContent, FilePath, FileRecord, GranuleId, Timestamp};
use crate::store::page::{ascending, paged};
use crate::store::row::row;
use crate::store::rows::{DatasetKey, RecordBatch, StoredFileRecord};
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{self, Columns, Existing, Scope, Sql, Value, damaged};
use crate::store::{Error, Result};

row!(RecordBatch in RECORD_BATCH {
    batch, last_number, recorded, recorded_by, note, replaces
} hides recorded_by);

impl Snapshot {
    /// The last batch of file records of a dataset that was entered at or before a time.
    pub fn last_record_batch(
        &self,
        dataset: DatasetKey,
        known_at: Timestamp,
    ) -> Result<Option<RecordBatch>> {
        static LAST: Sql = Sql::new(
            "SELECT {record_batch.*}
            FROM {record_batch}
            WHERE dataset_id = ?1 AND recorded <= ?2
            ORDER BY batch DESC
            LIMIT 1",
        );
        let values = [dataset.into(), known_at.into()];
        Ok(self.select(Scope::Dataset(dataset), &LAST, &values)?.pop())
    }

    /// The number of the last file record of a dataset. 0 if there is none.
    pub fn last_file_record(&self, dataset: DatasetKey) -> Result<u64> {
        let last = self.last_record_batch(dataset, Timestamp::MAX)?;
        Ok(last.map_or(0, |last| last.last_number))
    }

    /// The batches of a dataset after one (0 means from the first), in order, at most `limit` of them.
    pub fn record_batches_after(
        &self,
        dataset: DatasetKey,
        after: u64,
        limit: u32,
    ) -> Result<Vec<RecordBatch>> {
        static PAGE: Sql = Sql::new(
            "SELECT {record_batch.*}
            FROM {record_batch}
            WHERE dataset_id = ?1 AND batch > ?2
            ORDER BY batch
            LIMIT ?3",
        );
        let values = [dataset.into(), after.into(), limit.into()];
        ascending(
            "record_batch",
            self.select::<RecordBatch>(Scope::Dataset(dataset), &PAGE, &values)?,
            |first| first.batch > after,
            |one, next| one.batch < next.batch && one.last_number < next.last_number,
        )
    }

    /// The batches that [`Snapshot::record_batches_after`] returns, all of them.
    pub fn record_batches(
        &self,
        dataset: DatasetKey,
        after: u64,
    ) -> impl Iterator<Item = Result<RecordBatch>> {
        paged(
            after,
            move |after, limit| self.record_batches_after(dataset, *after, limit),
            |last| last.batch,
        )
    }

    /// The file records of a dataset after one (`None` means from the first), by granule, path (first
    /// that which equals the id) and number, at most `limit` of them.
    pub fn file_records_after(
        &self,
        dataset: DatasetKey,
        after: Option<&StoredFileRecord>,
        limit: u32,
    ) -> Result<Vec<StoredFileRecord>> {
        static PAGE: Sql = Sql::new(
            "SELECT granule_id, path, number, algorithm, algorithm_name, checksum, size, row_check
            FROM {file_record}
            WHERE dataset_id = ?1 AND (granule_id, path, number) > (?2, ?3, ?4)
            ORDER BY granule_id, path, number
            LIMIT ?5",
        );
        let (granule_id, path, number) = after.map_or(("", "", 0), position);
        let values = [dataset.into(), granule_id.into(), path.into(), number.into(), limit.into()];
        ascending(
            "file_record",
            self.rows(Scope::Dataset(dataset), &PAGE, &values, |row| stored(dataset, row))?,
            |first| after.is_none_or(|after| position(after) < position(first)),
            |one, next| position(one) < position(next),
        )
    }

    /// The file records that [`Snapshot::file_records_after`] returns, all of them.
    pub fn file_records(
        &self,
        dataset: DatasetKey,
    ) -> impl Iterator<Item = Result<StoredFileRecord>> {
        paged(
            None,
            move |after: &Option<StoredFileRecord>, limit| {
                self.file_records_after(dataset, after.as_ref(), limit)
            },
            |last| Some(last.clone()),
        )
    }

    /// All file records of some granules, by granule, path and number. The ids are in canonical order.
    pub fn file_records_among(
        &self,
        dataset: DatasetKey,
        granule_ids: &[&str],
    ) -> Result<Vec<StoredFileRecord>> {
        static AMONG: Sql = Sql::by_store(
            "SELECT granule_id, path, number, algorithm, algorithm_name, checksum, size, row_check
            FROM rarray(?2) AS wanted
            CROSS JOIN file_record ON file_record.granule_id = wanted.value
            WHERE dataset_id = ?1
            ORDER BY granule_id, path, number",
            r#"SELECT file.granule_id, file.path, file.number, file.algorithm, file.algorithm_name,
                file.checksum, file.size, file.row_check
            FROM unnest(CAST(?2 AS text ARRAY)) AS wanted (granule_id)
            CROSS JOIN LATERAL (
                SELECT granule_id, path, number, algorithm, algorithm_name, checksum, size, row_check
                FROM {file_record}
                WHERE dataset_id = ?1 AND granule_id = wanted.granule_id COLLATE "C"
                OFFSET 0) AS file
            ORDER BY file.granule_id, file.path, file.number"#,
        );
        if granule_ids.is_empty() {
            return Ok(Vec::new());
        }
        let values = [dataset.into(), Value::Texts(granule_ids)];
        self.rows(Scope::Dataset(dataset), &AMONG, &values, |row| stored(dataset, row))
    }
}

impl Transaction {
    /// Adds file records.
    pub fn insert_file_records(
        &self,
        dataset: DatasetKey,
        records: &[StoredFileRecord],
    ) -> Result<()> {
        let rows: Vec<(&StoredFileRecord, [u8; 4])> =
            records.iter().map(|stored| (stored, row_check(dataset, stored))).collect();
        let table = &statement::FILE_RECORD;
        self.add(dataset, table, Existing::Refused, &rows, |(stored, check), values| {
            let StoredFileRecord { number, record } = stored;
            let (algorithm, name, checksum) = coded(&record.content);
            values.extend([
                (&record.granule_id).into(),
                path(record).into(),
                (*number).into(),
                algorithm.into(),
                name.into(),
                checksum.into(),
                record.content.size().into(),
                check.as_slice().into(),
            ]);
        })
    }
}

/// The path as it is stored.
fn path(record: &FileRecord) -> &str {
    record.path.as_ref().map_or("", FilePath::as_str)
}

fn position(stored: &StoredFileRecord) -> (&str, &str, u64) {
    (stored.record.granule_id.as_str(), path(&stored.record), stored.number)
}

/// The algorithm, the name of one that has no number, and the bytes of the checksum.
fn coded(content: &FileContent) -> (i64, Option<&str>, &[u8]) {
    let Some(checksum) = content.checksum() else { return (0, None, &[]) };
    let known = Algorithm::KNOWN.iter().zip(1..).find(|(known, _)| *known == checksum.algorithm());
    match known {
        Some((_, number)) => (number, None, checksum.as_bytes()),
        None => (9, Some(checksum.algorithm().as_str()), checksum.as_bytes()),
    }
}

/// The CRC-32 (IEEE) of a row: each text with its length before it, numbers in 8 bytes, the least
/// significant first; what is NULL has the length or the number 2^64 - 1.
fn row_check(
    dataset: DatasetKey,
    StoredFileRecord { number, record }: &StoredFileRecord,
) -> [u8; 4] {
    let (algorithm, name, checksum) = coded(&record.content);
    let mut hasher = crc32fast::Hasher::new();
    let mut text = |bytes: Option<&[u8]>| {
        hasher.update(&bytes.map_or(u64::MAX, |bytes| bytes.len() as u64).to_le_bytes());
        hasher.update(bytes.unwrap_or_default());
    };
    text(Some(record.granule_id.as_str().as_bytes()));
    text(Some(path(record).as_bytes()));
    text(name.map(str::as_bytes));
    text(Some(checksum));
    let size = record.content.size().unwrap_or(u64::MAX);
    for value in [dataset.0 as u64, *number, algorithm as u64, size] {
        hasher.update(&value.to_le_bytes());
    }
    hasher.finalize().to_be_bytes()
}

fn stored(dataset: DatasetKey, row: &dyn Columns) -> Result<StoredFileRecord> {
    let granule_id: GranuleId = row.granule_id(0)?;
    let algorithm = match (row.count(3)?, row.text_or_null(4)?) {
        (0, None) => None,
        (9, Some(name)) => Some(name.parse().map_err(damaged)?),
        (number, None) => {
            let known = usize::try_from(number - 1).ok().and_then(|it| Algorithm::KNOWN.get(it));
            Some(
                known
                    .cloned()
                    .ok_or_else(|| damaged(format_args!("{number} is not an algorithm")))?,
            )
        }
        (_, Some(_)) => return Err(differs(&granule_id)),
    };
    let bytes = row.bytes(5)?;
    let checksum = algorithm.map(|algorithm| Checksum::from_bytes(algorithm, bytes)).transpose();
    let content = FileContent::new(row.count_or_null(6)?, checksum.map_err(damaged)?);
    let path = Some(row.text(1)?).filter(|path| !path.is_empty());
    let record = FileRecord {
        path: path.map(FilePath::new).transpose().map_err(damaged)?,
        content: content.ok_or_else(|| differs(&granule_id))?,
        granule_id,
    };
    let stored = StoredFileRecord { number: row.count(2)?, record };
    match row.bytes(7)? == row_check(dataset, &stored) {
        true => Ok(stored),
        false => Err(differs(&stored.record.granule_id)),
    }
}

fn differs(granule_id: &GranuleId) -> Error {
    damaged(format_args!("a file record of {granule_id} differs from its checksum"))
}
