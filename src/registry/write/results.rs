//! What the changes of an import must result in, and their notes.

use std::collections::BTreeMap;

use crate::disk::Spool;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Digest, Identifier, Limit, LogChange, SourceLocation, Timestamp, check_characters,
};

/// What is expected of a set: its identifier and, if that is known, its digest.
pub(super) type Expected = (Option<Identifier>, Option<Digest>);

/// Expected identifiers and digests, and notes, by the time of their change. The notes are kept in a
/// temporary file: a log can have any number of notes, each as long as a page.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// With where each was read, for messages.
    expected: BTreeMap<Timestamp, (Expected, Option<SourceLocation>)>,
    spool: Spool,
    places: BTreeMap<Timestamp, u64>,
}

impl Results {
    /// Sets the identifier, and the digest, that must be in force at a time.
    pub fn expect(&mut self, at: Timestamp, set: Expected, location: Option<SourceLocation>) {
        self.expected.insert(at, (set, location));
    }

    /// The times at which an identifier is expected, ascending.
    pub fn expected(&self) -> impl Iterator<Item = Timestamp> {
        self.expected.keys().copied()
    }

    /// Refuses an identifier or a digest that is not the one expected at a time.
    pub fn check(&self, at: Timestamp, set: (Identifier, Digest)) -> Result<()> {
        match self.expected.get(&at) {
            Some((expected, location)) => check_expected(*expected, location.as_ref(), at, set),
            None => Ok(()),
        }
    }

    /// Sets the note of the change at a time.
    pub fn note(&mut self, at: Timestamp, note: Option<&str>) -> Result<()> {
        check_note(note)?;
        match note {
            Some(note) => drop(self.places.insert(at, self.spool.add_value(&note)?)),
            None => drop(self.places.remove(&at)),
        }
        Ok(())
    }

    /// The note of the change at a time. `None` means that it has none.
    pub fn note_at(&self, at: Timestamp) -> Result<Option<String>> {
        self.places.get(&at).map(|place| self.spool.value_at(*place)).transpose()
    }
}

/// The greatest length of a note that is entered here, in characters. A log from elsewhere can have
/// longer ones.
const MAX_ENTERED_CHARACTERS: usize = 4_096;

/// Refuses a note that is entered here and is longer than a page of text: everybody who reads the
/// history reads it.
pub(super) fn check_entered_note(note: Option<&str>) -> Result<()> {
    check_note(note)?;
    let characters = note.map_or(0, |note| note.chars().count());
    match characters > MAX_ENTERED_CHARACTERS {
        true => Err(Error::too_long("the note", "characters", characters, MAX_ENTERED_CHARACTERS)),
        false => Ok(()),
    }
}

/// Refuses to accept other content without a note that says why.
pub(super) fn check_accepted(max_replace: Option<Limit>, note: Option<&str>) -> Result<()> {
    match max_replace.is_some() && note.is_none_or(|note| note.trim().is_empty()) {
        true => {
            let message = "the note is empty: it says why other content is accepted";
            Err(Error::new(ErrorKind::Input, message))
        }
        false => Ok(()),
    }
}

/// Refuses a note that a log may not have, since mirrors could not read the log.
fn check_note(note: Option<&str>) -> Result<()> {
    let checked = note.map_or(Ok(()), |note| check_characters("note", note));
    checked.map_err(|error| Error::new(ErrorKind::Input, error.to_string()))?;
    let (bytes, most) = (note.map_or(0, str::len), LogChange::MAX_NOTE_BYTES);
    match bytes > most {
        true => Err(Error::too_long("the note", "bytes", bytes, most)),
        false => Ok(()),
    }
}

/// Refuses an identifier or a digest that is not the expected one.
pub(super) fn check_expected(
    (expected, expected_digest): Expected,
    location: Option<&SourceLocation>,
    at: Timestamp,
    (identifier, digest): (Identifier, Digest),
) -> Result<()> {
    if let Some(expected) = expected.filter(|expected| *expected != identifier) {
        return Err(Error::not_as_expected(at, identifier, expected).at(location.cloned()));
    }
    match expected_digest.filter(|expected| *expected != digest) {
        None => Ok(()),
        Some(expected) => Err(Error::not_as_expected(at, digest, expected).at(location.cloned())),
    }
}
