//! The changes that were read of a log.

use crate::disk::{Spool, scratch};
use crate::error::Result;
use crate::model::{Identifier, LogChange, Timestamp};

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
        self.spool.add(&encode(change))?;
        Ok(())
    }

    /// The number and the time of the first change. `None` means that there is none.
    pub fn first(&self) -> Option<(u64, Timestamp)> {
        self.first
    }

    /// The changes, in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<LogChange>> + '_ {
        self.spool.records().map(|record| {
            let unreadable = || scratch::unusable("read", std::io::ErrorKind::InvalidData.into());
            decode(&record?).ok_or_else(unreadable)
        })
    }
}

/// Six numbers of eight bytes, two identifiers of sixteen, and the note after a byte that says whether
/// there is one.
fn encode(change: &LogChange) -> Vec<u8> {
    let LogChange { number, timestamp, bytes, granules, ingested, deleted, .. } = change;
    let note = change.note.as_deref();
    let mut record = Vec::with_capacity(81 + note.map_or(0, str::len));
    for number in [number, bytes, granules, ingested, deleted] {
        record.extend(number.to_le_bytes());
    }
    record.extend(timestamp.as_micros().to_le_bytes());
    record.extend(change.identifier.as_bytes());
    record.extend(change.check.as_bytes());
    record.push(u8::from(note.is_some()));
    record.extend(note.unwrap_or_default().as_bytes());
    record
}

fn decode(record: &[u8]) -> Option<LogChange> {
    let mut rest = record;
    let mut number = || {
        let (first, others) = rest.split_first_chunk()?;
        rest = others;
        Some(u64::from_le_bytes(*first))
    };
    let (number, bytes, granules, ingested, deleted) =
        (number()?, number()?, number()?, number()?, number()?);
    let (timestamp, rest) = record.get(40..)?.split_first_chunk()?;
    let (identifier, rest) = rest.split_first_chunk()?;
    let (check, rest) = rest.split_first_chunk()?;
    let (has_note, note) = rest.split_first()?;
    Some(LogChange {
        number,
        timestamp: Timestamp::from_micros(i64::from_le_bytes(*timestamp))?,
        identifier: Identifier::from_bytes(*identifier),
        check: Identifier::from_bytes(*check),
        bytes,
        granules,
        ingested,
        deleted,
        note: match has_note {
            0 => None,
            _ => Some(String::from_utf8(note.to_vec()).ok()?),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
