//! What a mirror remembers of the file records of a primary.

use serde::{Deserialize, Serialize};

use super::logged::{LoggedRecord, StatedRecord};
use super::merge::RecordMerge;
use crate::error::{Error, Result};
use crate::model::Identifier;
use crate::store::{self, DatasetKey};

/// The greatest number of records that are kept, and the bytes of their notes.
const MAX_KEPT: usize = 10_000;
const MAX_BYTES: usize = 1_024 * 1_024;

/// What was read of the file records of a primary, as it is stored with the source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FilesRead {
    /// How many records were read, how many bytes of the log they have, and the check of the last one.
    pub count: u64,
    pub bytes: u64,
    pub check: Option<Identifier>,
    /// The last record here that they were compared with.
    pub own: u64,
    /// Whether what they say more was taken, and not only compared.
    pub taken: bool,
    /// Whether the entity tag is that of a head whose file records were agreed with, too.
    pub agreed: bool,
    /// The records in force at the primary of files that are known otherwise here. `None` means that
    /// they are too many to be kept.
    pub contradicting: Option<Vec<StatedRecord>>,
}

impl FilesRead {
    /// Replaces the contradictions by those that were found.
    pub fn keep(&mut self, merge: &RecordMerge) -> Result<()> {
        let (mut kept, mut bytes) = (Vec::new(), 0);
        self.contradicting = None;
        for record in merge.contradicting() {
            let record = record?;
            bytes += record.note.as_ref().map_or(0, String::len);
            if kept.len() == MAX_KEPT || bytes > MAX_BYTES {
                return Ok(());
            }
            kept.push(StatedRecord::from(&record));
        }
        self.contradicting = Some(kept);
        Ok(())
    }

    /// Whether a file is known otherwise here.
    pub fn has_contradictions(&self) -> bool {
        self.contradicting.as_ref().is_none_or(|kept| !kept.is_empty())
    }

    /// The granules of these files, in canonical order.
    pub fn granules(&self) -> impl Iterator<Item = &str> {
        self.contradicting.iter().flatten().map(|kept| kept.granule.as_str())
    }

    /// The records of the primary that are known otherwise here, and those in force with them.
    pub fn contradicting(&self) -> impl Iterator<Item = Result<LoggedRecord>> + '_ {
        let damaged = |_| Error::damaged("what is remembered of a primary cannot be read");
        let kept = self.contradicting.iter().flatten().cloned();
        kept.map(move |kept| LoggedRecord::try_from(kept).map_err(damaged))
    }

    /// Whether nothing was recorded here since that could contradict what was read: then only what
    /// follows it is to be compared.
    pub fn is_settled(&self, read: &store::Snapshot, dataset: DatasetKey) -> Result<bool> {
        let last = read.last_file_record(dataset)?;
        if self.contradicting.is_none() || last < self.own {
            return Ok(false);
        }
        if last == self.own {
            return Ok(true);
        }
        // What was taken is known here, so only a record that replaces can contradict it.
        if !self.taken {
            return Ok(false);
        }
        let compared = match self.own {
            0 => None,
            own => read.record_batch_of(dataset, own)?,
        };
        for batch in read.record_batches(dataset, compared.map_or(0, |batch| batch.batch)) {
            if batch?.replaces {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
