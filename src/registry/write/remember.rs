//! Remembering what was read of a log.

use super::stamp::Stamp;
use crate::error::Result;
use crate::model::{DatasetName, LogChange, Timestamp};
use crate::registry::handle::{End, Registry};
use crate::registry::log_changes::LogChanges;
use crate::store::{DatasetKey, Transaction};

/// What was read of a log, to be remembered.
#[derive(Debug, Clone)]
pub(crate) struct Remembered<'a> {
    /// Where the log is.
    pub source: &'a str,
    /// The entity tag of its head, if the dataset agrees with that head. `None` means that the next
    /// request for the head has no condition.
    pub etag: Option<&'a str>,
    /// Whether the dataset is identical to it.
    pub is_identical: bool,
    /// The first change that is to be forgotten. `None` keeps all that was read before.
    pub forget_from: Option<u64>,
    /// Changes that were read. Those that are remembered already are skipped; `None` adds none.
    pub changes: Option<&'a LogChanges>,
}

/// The bytes of notes, and the number of changes, that are stored at once.
const BATCH_BYTES: usize = 1_024 * 1_024;
const BATCH_CHANGES: usize = 1_024;

impl Remembered<'_> {
    /// Remembers it within the transaction of what was made of it, so that neither is committed
    /// without the other.
    pub(super) fn save(
        &self,
        transaction: &Transaction,
        dataset: DatasetKey,
        stamp: &Stamp,
    ) -> Result<()> {
        let (read, _) = stamp.record(transaction, None, Timestamp::MIN)?;
        let Remembered { source, etag, is_identical, forget_from, changes } = *self;
        let identical = is_identical.then_some(read);
        let source = transaction.save_mirror_source(dataset, source, read, identical, etag)?;
        if let Some(from) = forget_from {
            transaction.forget_changes_from(dataset, source, from)?;
        }
        let last = transaction.last_change_read(dataset, source)?.map_or(0, |last| last.number);
        let (mut batch, mut bytes): (Vec<LogChange>, usize) = (Vec::new(), 0);
        // Changes are remembered without gaps: those after one are not of a log that has them.
        let mut next = last + 1;
        for change in changes.iter().flat_map(|changes| changes.iter()) {
            let change = change?;
            if change.number < next {
                continue;
            }
            if change.number > next {
                break;
            }
            next += 1;
            bytes += change.note.as_ref().map_or(0, String::len);
            batch.push(change);
            if bytes >= BATCH_BYTES || batch.len() >= BATCH_CHANGES {
                transaction.insert_changes_read(dataset, source, &batch)?;
                batch.clear();
                bytes = 0;
            }
        }
        if !batch.is_empty() {
            transaction.insert_changes_read(dataset, source, &batch)?;
        }
        Ok(())
    }
}

impl Registry {
    /// Remembers what was read of a log for a dataset, in a transaction of its own.
    ///
    /// # Errors
    ///
    /// The error of a registry; [`ErrorKind::ClockAhead`](crate::ErrorKind::ClockAhead).
    pub(crate) fn remember(
        &self,
        dataset: &DatasetName,
        remembered: &Remembered<'_>,
        stamp: &Stamp,
    ) -> Result<()> {
        self.write(|transaction| {
            // A mirror that was not created has nothing to remember.
            let Some((key, _)) = transaction.dataset(dataset)? else {
                return Ok(((), End::RollBack));
            };
            remembered.save(transaction, key, stamp)?;
            Ok(((), End::Commit))
        })
    }
}
