//! What a mirror remembers of the primaries that it has read.

use super::view::{Snapshot, dataset_of};
use crate::error::Result;
use crate::model::{DatasetName, FailedAttempt, LastPull, LogChange, Timestamp};
use crate::store::{self, DatasetKey, MirrorState, SourceKey, paged};

/// A primary that was read for a dataset, which mirrors it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorSource {
    /// The dataset.
    pub dataset: DatasetName,
    /// Where it is: a URL or an absolute path.
    pub source: String,
    /// The last change that was read of its log. `None` means that the log had none, or that it is
    /// a registry, which has no log.
    pub last: Option<LogChange>,
    /// When it was last read.
    pub read: Timestamp,
    /// When the dataset was last identical to it. `None` means that it never was.
    pub identical: Option<Timestamp>,
    /// The entity tag of the state that was read. `None` means that it had none.
    pub etag: Option<String>,
    /// When the dataset was last pulled from it, or found to be identical by a pull. `None` means
    /// never.
    pub pulled: Option<LastPull>,
    /// Whether it is the one of the latest pull, from which the dataset is pulled again.
    pub is_default: bool,
    /// The last attempt, if it failed. `None` means that it succeeded.
    pub failed: Option<FailedAttempt>,
}

impl Snapshot {
    /// The primaries that were read for a dataset, by source.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): no dataset has the name.
    pub fn mirror_sources(&self, dataset: &DatasetName) -> Result<Vec<MirrorSource>> {
        self.ask(|read| {
            let (key, present) = dataset_of(read, dataset)?;
            let stored = read.mirror_sources(key)?;
            let pulled = stored.iter().filter(|(_, stored)| stored.pulled.is_some());
            let default = pulled
                .max_by_key(|(_, stored)| stored.pulled.as_ref().map(|pulled| pulled.recorded))
                .map(|(default, _)| *default);
            let sources = stored.into_iter().map(|(source_key, stored)| {
                Ok(MirrorSource {
                    is_default: default == Some(source_key),
                    dataset: present.clone(),
                    last: read.last_change_read(key, source_key)?,
                    source: stored.source,
                    read: stored.read,
                    identical: stored.identical,
                    etag: stored.etag,
                    pulled: stored.pulled,
                    failed: stored.failed,
                })
            });
            sources.collect()
        })
    }

    /// When some datasets were last identical to their primaries, by dataset and source: one query,
    /// whatever their number.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read.
    pub fn mirror_states(&self, datasets: &[&DatasetName]) -> Result<Vec<MirrorState>> {
        self.ask(|read| read.mirror_states(datasets))
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
            let Some((key, source)) = source_of(read, dataset, source)? else { return Ok(()) };
            let page = |after: &u64, limit| read.changes_read_after(key, source, *after, limit);
            for change in paged(after, page, |last| last.number) {
                if !show(change?) {
                    break;
                }
            }
            Ok(())
        })
    }
}

/// The keys of a dataset and of a primary that was read for it. `None`: it never was.
fn source_of(
    read: &store::View,
    dataset: &DatasetName,
    source: &str,
) -> Result<Option<(DatasetKey, SourceKey)>> {
    let Some((key, _)) = read.dataset(dataset)? else { return Ok(None) };
    let mut sources = read.mirror_sources(key)?.into_iter();
    Ok(sources.find(|(_, stored)| stored.source == source).map(|(source, _)| (key, source)))
}
