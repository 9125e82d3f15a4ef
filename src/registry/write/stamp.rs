//! The data recorded with a change: the time at which it takes effect, its author, and its note. Also the
//! expected results of the changes of an import.

use std::collections::BTreeMap;

use crate::disk::Spool;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Digest, Identifier, LogChange, SourceLocation, Timestamp, check_characters};
use crate::registry::author::Author;
use crate::registry::handle::Registry;
use crate::store;

/// A clock that is behind by less than a second causes no warning.
const NOTICEABLE_MICROS: i64 = 1_000_000;

/// The greatest time by which a clock may be ahead of every recorded time: two years, one of them a leap year.
/// Since no change can be before an earlier one, a single change in the year 9999 would end a history.
const MAX_AHEAD_MICROS: i64 = (365 + 366) * 86_400 * 1_000_000;

fn is_ahead(now: Timestamp, recorded: Timestamp, most_micros: i64) -> bool {
    now.as_micros() - recorded.as_micros() > most_micros
}

/// The latest time that was recorded in the registry, if `now` is more than `most_micros` after it.
fn newest_if_ahead(
    read: &store::View,
    now: Timestamp,
    most_micros: i64,
) -> Result<Option<Timestamp>> {
    Ok(read.last_recorded()?.filter(|newest| is_ahead(now, *newest, most_micros)))
}

/// The latest time that was recorded or stated, if `now` is more than 31 days after it. An archive that signs
/// regularly makes a statement at least every week. So if the latest time is older, the clock is probably
/// wrong, and a statement cannot be taken back.
pub(in crate::registry) fn noticeably_ahead_of(
    read: &store::View,
    now: Timestamp,
    stated: Option<Timestamp>,
) -> Result<Option<Timestamp>> {
    const NOTICEABLE: i64 = 31 * 86_400 * 1_000_000;
    let newest = newest_if_ahead(read, now, NOTICEABLE)?.map(|newest| stated.max(Some(newest)));
    Ok(newest.flatten().filter(|newest| is_ahead(now, *newest, NOTICEABLE)))
}

impl Registry {
    /// The time at which something is recorded, not before `earliest`, and its author. Every stored time is
    /// from here. `latest` is when the dataset was last changed, if that is known: it mostly shows that the
    /// clock is plausible.
    ///
    /// The clock is read while the write lock is held, and again when the change is complete. So a
    /// change never takes effect before one that was committed earlier, and no change is visible
    /// before the time at which it was recorded.
    ///
    /// If nothing was recorded in the last two years, the clock is probably wrong. Then its time is not stored,
    /// unless the clock is confirmed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ClockAhead`](crate::ErrorKind::ClockAhead).
    pub(in crate::registry) fn record(
        &self,
        read: &store::View,
        latest: Option<Timestamp>,
        earliest: Timestamp,
    ) -> Result<(Timestamp, Option<String>)> {
        if !self.clock().is_checked_by_guard()
            && let Some(refusal) = self.clock_refusal(read, latest)?
        {
            return Err(refusal);
        }
        Ok((self.now().max(earliest), self.author().map(Author::to_string)))
    }

    /// The error if nothing can be recorded by the clock of the registry. `None` if it is plausible or
    /// confirmed.
    pub(super) fn clock_refusal(
        &self,
        read: &store::View,
        latest: Option<Timestamp>,
    ) -> Result<Option<Error>> {
        let now = self.now();
        if self.clock().is_confirmed()
            || latest.is_some_and(|latest| !is_ahead(now, latest, MAX_AHEAD_MICROS))
        {
            return Ok(None);
        }
        let newest = newest_if_ahead(read, now, MAX_AHEAD_MICROS)?;
        Ok(newest.map(|newest| {
            let message = format!(
                "the clock is at {now}, more than two years after the latest time that was recorded in the registry, {newest}"
            );
            Error::new(ErrorKind::ClockAhead, message)
        }))
    }

    /// The same registry for a change whose guard checks the clock ([`Target::lock`]).
    ///
    /// [`Target::lock`]: super::target::Target::lock
    pub(super) fn with_guarded_clock(&self) -> Self {
        self.with_clock(self.clock().clone().checked_by_guard())
    }
}

/// The instant of a change that is to take effect at `at` (`None` means now) and after `last`. Also the number
/// of microseconds by which the clock is behind, if that causes a warning.
///
/// A change without a time takes effect now. If the clock is not after the last change, it
/// takes effect one microsecond after that change, so that history is strictly
/// increasing.
pub(super) fn time_after(
    last: Option<Timestamp>,
    at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(Timestamp, Option<i64>)> {
    match (at, last) {
        (Some(at), _) if at > now => Err(Error::future(at, now)),
        (Some(at), Some(last)) if at <= last => Err(Error::not_after_last(at, last)),
        (Some(at), _) => Ok((at, None)),
        (None, Some(last)) if now <= last => {
            let at = last.next().ok_or_else(|| Error::not_after_last(now, last))?;
            let behind_micros = last.as_micros() - now.as_micros();
            Ok((at, (behind_micros > NOTICEABLE_MICROS).then_some(behind_micros)))
        }
        (None, _) => Ok((now, None)),
    }
}

/// The expected identifier and digest of a set, as far as they are known.
pub(super) type Expected = (Option<Identifier>, Option<Digest>);

/// Expected identifiers and digests, and notes, by the time of their change. The notes are in a temporary file:
/// a log can have any number of notes, each as long as a page.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// Each with its source location, for messages.
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

    /// Rejects an identifier or a digest if another one is expected at a time.
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

/// The greatest length of a note that is entered here, in characters. Notes in a log from elsewhere can be
/// longer.
const MAX_ENTERED_CHARACTERS: usize = 4_096;

/// Rejects an entered note that is empty, or longer than a page of text: everybody who reads the history reads
/// it.
pub(super) fn check_entered_note(note: Option<&str>) -> Result<()> {
    check_note(note)?;
    if note.is_some_and(|note| note.trim().is_empty()) {
        return Err(Error::new(ErrorKind::Input, "the note is empty"));
    }
    let characters = note.map_or(0, |note| note.chars().count());
    match characters > MAX_ENTERED_CHARACTERS {
        true => Err(Error::too_long("the note", "characters", characters, MAX_ENTERED_CHARACTERS)),
        false => Ok(()),
    }
}

/// Rejects a note that a log may not have, since mirrors could not read the log.
fn check_note(note: Option<&str>) -> Result<()> {
    let checked = note.map_or(Ok(()), |note| check_characters("note", note));
    checked.map_err(|error| Error::new(ErrorKind::Input, error.to_string()))?;
    let (bytes, most) = (note.map_or(0, str::len), LogChange::MAX_NOTE_BYTES);
    match bytes > most {
        true => Err(Error::too_long("the note", "bytes", bytes, most)),
        false => Ok(()),
    }
}

/// Rejects an identifier or a digest that is not the expected one.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000).unwrap()
    }

    #[test]
    fn a_change_is_stamped_now_or_with_its_own_time() {
        assert_eq!(time_after(None, None, at(9)).unwrap(), (at(9), None));
        assert_eq!(time_after(Some(at(8)), None, at(9)).unwrap(), (at(9), None));
        assert_eq!(time_after(Some(at(4)), Some(at(5)), at(9)).unwrap(), (at(5), None));
        assert_eq!(time_after(None, Some(at(9)), at(9)).unwrap(), (at(9), None));
    }

    #[test]
    fn a_clock_at_or_behind_the_last_change_gives_the_next_microsecond() {
        let next = at(9).next().unwrap();
        assert_eq!(time_after(Some(at(9)), None, at(9)).unwrap(), (next, None));
        assert_eq!(time_after(Some(at(9)), None, at(8)).unwrap(), (next, None));
        assert_eq!(time_after(Some(at(9)), None, at(7)).unwrap(), (next, Some(2_000_000)));
    }

    #[test]
    fn a_change_at_or_before_the_last_or_in_the_future_is_refused() {
        for second in [3, 4] {
            let refused = time_after(Some(at(4)), Some(at(second)), at(9)).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::NotAfterLast);
        }
        let refused = time_after(None, Some(at(10)), at(9)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Future);
    }
}
