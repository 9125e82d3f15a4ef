//! Remembering what was read of a log.

use crate::model::{DatasetName, LogChange, Timestamp};
use crate::registry::error::Result;
use crate::registry::handle::{End, Registry};

/// What was read of a log, to be remembered.
#[derive(Debug, Clone)]
pub(crate) struct Remembered<'a> {
    /// Where the log is.
    pub source: &'a str,
    /// When it was read.
    pub read: Timestamp,
    /// The entity tag of the state that was read. `None` means that it has none.
    pub etag: Option<&'a str>,
    /// Whether the dataset is identical to it.
    pub is_identical: bool,
    /// The first change to be replaced. `None` means that everything that was read before stands.
    pub forget_from: Option<u64>,
    /// Changes that were read, consecutive. Those that are remembered already are skipped.
    pub changes: &'a [LogChange],
}

impl Registry {
    /// Remembers what was read of a log for a dataset, in a transaction of its own.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](crate::Error::Store).
    pub(crate) fn remember(
        &self,
        dataset: &DatasetName,
        remembered: &Remembered<'_>,
    ) -> Result<()> {
        let Remembered { source, read, etag, is_identical, forget_from, changes } = remembered;
        self.write(|transaction| {
            // A mirror that was not created has nothing to remember.
            let Some((key, _)) = transaction.dataset(dataset)? else {
                return Ok(((), End::RollBack));
            };
            let identical = is_identical.then_some(*read);
            let source = transaction.save_mirror_source(key, source, *read, identical, *etag)?;
            if let Some(from) = forget_from {
                transaction.forget_changes_from(key, source, *from)?;
            }
            let last = transaction.last_change_read(key, source)?.map_or(0, |last| last.number);
            let known = changes.iter().take_while(|change| change.number <= last).count();
            // Changes are remembered without gaps: those after one are not of a log that has them.
            let new = &changes[known..];
            if new.first().is_some_and(|first| first.number == last + 1) {
                transaction.insert_changes_read(key, source, new)?;
            }
            Ok(((), End::Commit))
        })
    }
}
