//! The history of a primary that is a registry, read as a log is: what follows the last change that was
//! read before. So it is noticed, as of a log, that it is older than before, or was rewritten.

use crate::error::Result;
use crate::model::{DatasetName, Instance, LogChange};
use crate::registry::{LogChanges, Registry};

/// What was read of a history.
pub(super) struct HistoryRead {
    /// The changes. The check of each is its identifier, and where the log ends after it is its number.
    pub changes: LogChanges,
    /// The number of the first change that was read, or would be.
    pub first: u64,
    /// The number of the last change of the history.
    pub last: u64,
}

impl HistoryRead {
    /// Reads what follows a change; everything, if the history does not have that change.
    ///
    /// An identifier depends on all granules held, so a history that has the same identifier at the same
    /// time, after as many changes, is assumed to be the same until then.
    pub fn after(
        last: Option<&LogChange>,
        registry: &Registry,
        dataset: &DatasetName,
    ) -> Result<Self> {
        let (mut changes, mut number) = (LogChanges::default(), 0);
        let snapshot = registry.snapshot()?;
        let mut history = snapshot.history(dataset)?;
        if let Some(last) = last {
            let found = snapshot.history_with(dataset, last.identifier)?;
            if found.iter().any(|found| found.timestamp == last.timestamp)
                && snapshot.count_history(dataset, Some(last.timestamp))? == last.number
                && let Some(next) = last.timestamp.next()
            {
                (history, number) = (history.since(next), last.number);
            }
        }
        // The instances are read without it: a registry in memory has one connection.
        drop(snapshot);
        let first = number + 1;
        for instance in history {
            let Instance { timestamp, identifier, granules, ingested, deleted, .. } = instance?;
            number += 1;
            changes.add(&LogChange {
                number,
                timestamp,
                identifier,
                check: identifier,
                bytes: number,
                granules,
                ingested,
                deleted,
                note: None,
            })?;
        }
        Ok(HistoryRead { changes, first, last: number })
    }
}
