//! The changes that were read of a log.

use crate::disk::Spool;
use crate::error::Result;
use crate::model::{LogChange, Timestamp};

/// The changes that were read of a log, consecutive. The memory does not depend on their number, nor
/// on their notes: more than a few are kept in a temporary file.
#[derive(Debug, Default)]
pub(crate) struct LogChanges {
    spool: Spool,
    first: Option<(u64, Timestamp)>,
}

impl LogChanges {
    /// Adds the next change.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary).
    pub fn add(&mut self, change: &LogChange) -> Result<()> {
        self.first.get_or_insert((change.number, change.timestamp));
        self.spool.add_value(change)
    }

    /// The number and the time of the first change. `None` means that there is none.
    pub fn first(&self) -> Option<(u64, Timestamp)> {
        self.first
    }

    /// The changes, in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<LogChange>> + '_ {
        self.spool.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Identifier;

    #[test]
    fn changes_are_read_as_they_were_added() {
        let notes = [None, Some(String::new()), Some("ä".repeat(30_000))];
        let changes = |from: u64| {
            (from..from + 50).map(|number| LogChange {
                number,
                timestamp: Timestamp::from_micros(number as i64 - 20).unwrap(),
                identifier: Identifier::from_bytes([number as u8; 16]),
                check: Identifier::from_bytes([!(number as u8); 16]),
                bytes: u64::MAX - number,
                granules: number,
                ingested: number + 1,
                deleted: number + 2,
                note: notes[number as usize % 3].clone(),
            })
        };
        let mut kept = LogChanges::default();
        assert_eq!(kept.first(), None);
        changes(7).for_each(|change| kept.add(&change).unwrap());
        assert_eq!(kept.first(), Some((7, Timestamp::from_micros(-13).unwrap())));
        assert!(kept.iter().map(Result::unwrap).eq(changes(7)));
    }
}
