//! Verifying the file records of a dataset.

use super::finding::{Code, Findings, readable};
use crate::error::Result;
use crate::model::{GranuleId, quoted};
use crate::registry::files::{FileState, Says};
use crate::store::{self, DatasetKey, RecordBatch, StoredFileRecord};

/// The number of rows that are read at once.
const PAGE_ROWS: u32 = 4_096;

/// Reads every file record of a dataset, which compares each with its checksum, and checks that they are
/// numbered without gaps, and that none contradicts an earlier one unless its batch may.
///
/// Costs one pass over the records.
///
/// # Errors
///
/// Errors that do not concern the content.
pub(super) fn verify(read: &store::Snapshot, dataset: DatasetKey) -> Result<Findings> {
    let mut findings = Findings::default();
    let batches = match readable(batches(read, dataset))? {
        Ok(batches) => batches,
        Err(error) => {
            findings.add_unreadable("the batches of file records cannot be read", &error);
            return Ok(findings);
        }
    };
    let last = batches.last().map_or(0, |(last_number, _)| *last_number);
    let (mut count, mut sum) = (0_u64, 0_u128);
    let mut file: Option<(GranuleId, String, FileState)> = None;
    let mut after: Option<StoredFileRecord> = None;
    loop {
        let page = match readable(read.file_records_after(dataset, after.as_ref(), PAGE_ROWS))? {
            Ok(page) => page,
            Err(error) => {
                findings.add_unreadable("the file records cannot be read", &error);
                return Ok(findings);
            }
        };
        for StoredFileRecord { number, record } in &page {
            (count, sum) = (count + 1, sum + u128::from(*number));
            let is_same = file.as_ref().is_some_and(|(granule_id, path, _)| {
                *granule_id == record.granule_id && path == record.path()
            });
            if !is_same {
                let path = record.path().to_owned();
                file = Some((record.granule_id.clone(), path, FileState::default()));
            }
            let Some((_, path, state)) = &mut file else { continue };
            if state.take(*number, &record.content) == Says::Otherwise && !may(&batches, *number) {
                let path = quoted(path);
                let text = format!("the file record {number} of {path} contradicts an earlier one");
                findings.add(Code::Files, None, Some(record.granule_id.as_str()), text);
            }
        }
        match page.into_iter().next_back() {
            Some(last) => after = Some(last),
            None => break,
        }
    }
    if count != last || sum != u128::from(last) * (u128::from(last) + 1) / 2 {
        let text = format!("there are {count} file records, not those from 1 to {last}");
        findings.add(Code::Files, None, None, text);
    }
    Ok(findings)
}

/// The last number of each batch, and whether its records may contradict earlier ones.
fn batches(read: &store::Snapshot, dataset: DatasetKey) -> Result<Vec<(u64, bool)>> {
    let (mut batches, mut after) = (Vec::new(), 0);
    loop {
        let page = read.record_batches_after(dataset, after, PAGE_ROWS)?;
        match page.last() {
            Some(last) => after = last.batch,
            None => return Ok(batches),
        }
        let entry =
            |RecordBatch { last_number, replaces, .. }: RecordBatch| (last_number, replaces);
        batches.extend(page.into_iter().map(entry));
    }
}

fn may(batches: &[(u64, bool)], number: u64) -> bool {
    let place = batches.partition_point(|(last_number, _)| *last_number < number);
    batches.get(place).is_some_and(|(_, replaces)| *replaces)
}
