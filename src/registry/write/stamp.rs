//! What is recorded with a change: the time at which it takes effect, the person who records it, and its
//! note; and what the changes of an import must result in.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::disk::Spool;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Digest, Identifier, Limit, LogChange, SourceLocation, Timestamp, check_characters,
};
use crate::store;

/// When a change takes effect, the present time, and who records the change.
#[derive(Clone)]
pub struct Stamp {
    /// When the change takes effect. `None` means now.
    pub at: Option<Timestamp>,
    /// Returns the present time.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Who records the change. The name is stored in this registry only.
    pub recorded_by: Option<String>,
    /// Whether the clock is right, however long ago the last time was recorded.
    pub is_clock_confirmed: bool,
}

crate::model::debug_fields!(Stamp: at, recorded_by, is_clock_confirmed);

/// A clock that is behind by less than a second causes no warning.
const NOTICEABLE_MICROS: i64 = 1_000_000;

/// A clock may be ahead of every recorded time by two years, one of them a leap year. Since no change
/// can be before an earlier one, a single change in the year 9999 would end a history.
const MAX_AHEAD_MICROS: i64 = (365 + 366) * 86_400 * 1_000_000;

fn is_ahead(now: Timestamp, recorded: Timestamp, most_micros: i64) -> bool {
    now.as_micros() - recorded.as_micros() > most_micros
}

/// Returns the latest time that was recorded in the registry, if `now` is more than `most_micros` after it.
fn newest_if_ahead(
    read: &store::View,
    now: Timestamp,
    most_micros: i64,
) -> Result<Option<Timestamp>> {
    Ok(read.last_recorded()?.filter(|newest| is_ahead(now, *newest, most_micros)))
}

/// The latest time that was recorded in the registry, or stated, if `now` is more than 31 days after it. An
/// archive that signs regularly makes a statement at least every week, so the clock is probably wrong if the
/// latest time is older. A statement cannot be taken back.
pub(in crate::registry) fn noticeably_ahead_of(
    read: &store::View,
    now: Timestamp,
    stated: Option<Timestamp>,
) -> Result<Option<Timestamp>> {
    const NOTICEABLE: i64 = 31 * 86_400 * 1_000_000;
    let newest = newest_if_ahead(read, now, NOTICEABLE)?.map(|newest| stated.max(Some(newest)));
    Ok(newest.flatten().filter(|newest| is_ahead(now, *newest, NOTICEABLE)))
}

impl Stamp {
    /// A change at `at` (`None` means now), recorded at the time that `clock` returns.
    ///
    /// The clock is read while the write lock is held, and again when the change is complete. So a
    /// change never takes effect before one that was committed earlier, and no change is visible
    /// before the time at which it was recorded.
    ///
    /// If nothing was recorded in the last two years, the clock is more likely wrong than right,
    /// and no time of it is stored ([`ErrorKind::ClockAhead`](crate::ErrorKind::ClockAhead)),
    /// unless the change has a time of its own or the clock is confirmed
    /// ([`Stamp::is_clock_confirmed`]).
    pub fn new(
        at: Option<Timestamp>,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Self {
        let (clock, is_clock_confirmed) = (Arc::new(clock), at.is_some());
        Stamp { at, clock, recorded_by: None, is_clock_confirmed }
    }

    /// A change at one time, recorded at another.
    pub fn at(at: Timestamp, now: Timestamp) -> Self {
        Stamp::new(Some(at), move || now)
    }

    /// A change that takes effect now.
    pub fn now(now: Timestamp) -> Self {
        Stamp::new(None, move || now)
    }

    /// The time at which something is recorded, which is not before `earliest`, and by whom. Every
    /// time that is stored is from here. `latest` is when the dataset was last changed, if that is
    /// known: it mostly shows that the clock is plausible.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ClockAhead`](crate::ErrorKind::ClockAhead);
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage): the name of who records it has a control character,
    /// such as NUL, at which SQLite ends a string.
    pub(in crate::registry) fn record(
        &self,
        read: &store::View,
        latest: Option<Timestamp>,
        earliest: Timestamp,
    ) -> Result<(Timestamp, Option<String>)> {
        if let Some(name) = &self.recorded_by {
            check_characters("name of who records a change", name)
                .map_err(|error| Error::new(ErrorKind::Usage, error.to_string()))?;
        }
        let now = self.read_clock();
        if !self.is_clock_confirmed
            && latest.is_none_or(|latest| is_ahead(now, latest, MAX_AHEAD_MICROS))
            && let Some(newest) = newest_if_ahead(read, now, MAX_AHEAD_MICROS)?
        {
            let message = format!(
                "the clock is at {now}, more than two years after the latest time that was recorded in the registry, {newest}"
            );
            return Err(Error::new(ErrorKind::ClockAhead, message));
        }
        Ok((now.max(earliest), self.recorded_by.clone()))
    }

    /// Reads the clock.
    pub(crate) fn read_clock(&self) -> Timestamp {
        (self.clock)()
    }

    /// The instant of a change after `last`, and by how many microseconds the clock is behind, if
    /// that causes a warning.
    ///
    /// A change without a time takes effect now. If the clock is not after the last change, it
    /// takes effect one microsecond after that change, so that history is strictly
    /// increasing.
    pub(super) fn after(&self, last: Option<Timestamp>) -> Result<(Timestamp, Option<i64>)> {
        let now = self.read_clock();
        match (self.at, last) {
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
}

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

/// Refuses a note that is entered here and is empty, or longer than a page of text: everybody who reads
/// the history reads it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_control_character_is_refused_by_every_change() {
        let registry = crate::Registry::in_memory().unwrap();
        let mut change = crate::Change::new();
        change.ingest("A".parse::<crate::GranuleId>().unwrap()).unwrap();
        change.options = change.options.if_missing(crate::IfMissing::Create);
        let dataset = "D".parse().unwrap();
        for name in ["a\0b", "a\nb", "\u{9b}"] {
            let stamp = Stamp { recorded_by: Some(name.to_owned()), ..Stamp::at(at(0), at(1)) };
            let refused = registry.change(&dataset, &change, &stamp).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Usage, "{name:?}");
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000).unwrap()
    }

    #[test]
    fn a_change_is_stamped_now_or_with_its_own_time() {
        assert_eq!(Stamp::now(at(9)).after(None).unwrap(), (at(9), None));
        assert_eq!(Stamp::now(at(9)).after(Some(at(8))).unwrap(), (at(9), None));
        assert_eq!(Stamp::at(at(5), at(9)).after(Some(at(4))).unwrap(), (at(5), None));
        assert_eq!(Stamp::at(at(9), at(9)).after(None).unwrap(), (at(9), None));
    }

    #[test]
    fn a_clock_at_or_behind_the_last_change_gives_the_next_microsecond() {
        let next = at(9).next().unwrap();
        assert_eq!(Stamp::now(at(9)).after(Some(at(9))).unwrap(), (next, None));
        assert_eq!(Stamp::now(at(8)).after(Some(at(9))).unwrap(), (next, None));
        assert_eq!(Stamp::now(at(7)).after(Some(at(9))).unwrap(), (next, Some(2_000_000)));
    }

    #[test]
    fn a_change_at_or_before_the_last_or_in_the_future_is_refused() {
        for second in [3, 4] {
            let refused = Stamp::at(at(second), at(9)).after(Some(at(4))).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::NotAfterLast);
        }
        let refused = Stamp::at(at(10), at(9)).after(None).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Future);
    }
}
