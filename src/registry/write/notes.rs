//! The notes of the changes that an import makes.

use std::collections::BTreeMap;

use crate::disk::{Spool, scratch};
use crate::model::Timestamp;
use crate::registry::error::Result;

/// Notes by the time of their change. They are kept in a temporary file: a log can have any number of
/// notes, each as long as a page.
#[derive(Debug, Default)]
pub(super) struct Notes {
    spool: Spool,
    places: BTreeMap<Timestamp, u64>,
}

impl Notes {
    /// Sets the note of the change at a time.
    pub fn set(&mut self, at: Timestamp, note: Option<&str>) -> Result<()> {
        match note {
            Some(note) => drop(self.places.insert(at, self.spool.add(note.as_bytes())?)),
            None => drop(self.places.remove(&at)),
        }
        Ok(())
    }

    /// The note of the change at a time. `None` means that it has none.
    pub fn at(&self, at: Timestamp) -> Result<Option<String>> {
        let Some(place) = self.places.get(&at) else { return Ok(None) };
        let unreadable = |_| scratch::unusable("read", std::io::ErrorKind::InvalidData.into());
        Ok(Some(String::from_utf8(self.spool.record_at(*place)?).map_err(unreadable)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_that_which_was_set_last() {
        let at = |micros| Timestamp::from_micros(micros).unwrap();
        let long = "ä".repeat(30_000);
        let mut notes = Notes::default();
        for n in (0..50).rev() {
            notes.set(at(n), Some(if n % 2 == 0 { &long } else { "" })).unwrap();
        }
        notes.set(at(3), Some("other")).unwrap();
        notes.set(at(4), None).unwrap();
        assert_eq!(notes.at(at(2)).unwrap().as_deref(), Some(&*long));
        assert_eq!(notes.at(at(1)).unwrap().as_deref(), Some(""));
        assert_eq!(notes.at(at(3)).unwrap().as_deref(), Some("other"));
        assert_eq!((notes.at(at(4)).unwrap(), notes.at(at(99)).unwrap()), (None, None));
    }
}
