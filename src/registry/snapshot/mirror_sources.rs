//! What a mirror remembers of the logs that it has read.

use super::view::{Snapshot, dataset_of};
use crate::error::Result;
use crate::model::{DatasetName, LogChange, Timestamp};
use crate::store::{self, DatasetKey, StoredSource};

/// A log that was read for a dataset, which mirrors it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorSource {
    /// The dataset.
    pub dataset: DatasetName,
    /// Where the log is: a URL or an absolute path.
    pub source: String,
    /// The last change that was read. `None` means that the log had none.
    pub last: Option<LogChange>,
    /// When it was last read.
    pub read: Timestamp,
    /// When the dataset was last identical to it. `None` means that it never was.
    pub identical: Option<Timestamp>,
    /// The entity tag of the state that was read. `None` means that it had none.
    pub etag: Option<String>,
}

/// The number of changes in a page, each with a note of at most 64 KiB.
const PAGE_ROWS: u32 = 128;

impl Snapshot {
    /// The logs that were read for a dataset, by source.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): no dataset has the name.
    pub fn mirror_sources(&self, dataset: &DatasetName) -> Result<Vec<MirrorSource>> {
        self.ask(|read| {
            let (key, record) = dataset_of(read, dataset)?;
            let sources = read.mirror_sources(key)?.into_iter().map(|stored| {
                Ok(MirrorSource {
                    dataset: record.name.clone(),
                    last: read.last_change_read(key, stored.key)?,
                    source: stored.source,
                    read: stored.read,
                    identical: stored.identical,
                    etag: stored.etag,
                })
            });
            sources.collect()
        })
    }

    /// Calls `show` for each change that was read of a log after one (0 means from the first), until
    /// it returns `false`.
    pub(crate) fn each_change_read(
        &self,
        dataset: &DatasetName,
        source: &str,
        after: u64,
        mut show: impl FnMut(LogChange) -> bool,
    ) -> Result<()> {
        self.ask(|read| {
            let Some((key, stored)) = source_of(read, dataset, source)? else { return Ok(()) };
            let mut after = after;
            loop {
                let page = read.changes_read_after(key, stored.key, after, PAGE_ROWS)?;
                let is_last = page.len() < PAGE_ROWS as usize;
                for change in page {
                    after = change.number;
                    if !show(change) {
                        return Ok(());
                    }
                }
                if is_last {
                    return Ok(());
                }
            }
        })
    }
}

fn source_of(
    read: &store::Snapshot,
    dataset: &DatasetName,
    source: &str,
) -> Result<Option<(DatasetKey, StoredSource)>> {
    let Some((key, _)) = read.dataset(dataset)? else { return Ok(None) };
    let found = read.mirror_sources(key)?.into_iter().find(|stored| stored.source == source);
    Ok(found.map(|stored| (key, stored)))
}
