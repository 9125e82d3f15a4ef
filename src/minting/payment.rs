//! Payment ids: nine characters of Base36, most significant first, so that the ids of one epoch are sorted by
//! time.
//!
//! # Layouts
//!
//! The first six characters are the seconds since the epoch, in digits `0-9A-Z`: at most 36^6 s, which is 68.98
//! years (the document says 60). The last three are the worker and its counter in that second:
//!
//! - [`Layout::Standard`]: one character for the worker (0–35), two for the counter (0–1,295).
//! - [`Layout::Wide`]: one number, `worker * 1024 + counter`. The document has 64 workers, but 36^3
//!   is 46,656 and not 65,536: only the workers 0–44 have all 1,024 counters.
//!
//! An id does not contain its layout or its epoch, and its meaning depends on both. A registry therefore issues
//! ids of only one layout and one epoch.
//!
//! The default epoch is 2024-01-01. (The document's decision says 2024, its example 2022.)
//!
//! Source: ADR 13, "Time-based alphanumeric id generation". Its errors are listed in
//! docs/about/errata.md, Payment ids.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::error::{Error, ErrorDetail, ErrorKind, Result};
use crate::model::{ParseError, Timestamp, debug, quoted, shown_as_str};

/// The number of seconds that six characters can count: 36^6.
pub const SECONDS: u64 = 36_u64.pow(6);

/// The number of values that three characters can write: 36^3.
const PLACES: u32 = 36_u32.pow(3);

const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// How the worker and the counter share the last three characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Workers 0–35, counters 0–1,295.
    #[default]
    Standard,
    /// Workers 0–44, counters 0–1,023.
    Wide,
}

impl Layout {
    /// Returns the number of workers.
    pub const fn workers(self) -> u32 {
        match self {
            Layout::Standard => 36,
            Layout::Wide => 45,
        }
    }

    /// Returns the number of ids that a worker can issue in a second.
    pub const fn counters(self) -> u32 {
        match self {
            Layout::Standard => 36 * 36,
            Layout::Wide => 1_024,
        }
    }

    /// Returns its name, `standard` or `wide`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Layout::Standard => "standard",
            Layout::Wide => "wide",
        }
    }
}

impl FromStr for Layout {
    type Err = ParseError;

    fn from_str(text: &str) -> std::result::Result<Self, ParseError> {
        [Layout::Standard, Layout::Wide]
            .into_iter()
            .find(|layout| layout.as_str() == text)
            .ok_or_else(|| ParseError::new("a layout is standard or wide"))
    }
}

/// The meaning of ids: their layout, and the instant from which their seconds are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheme {
    /// How the worker and the counter share the last three characters.
    pub layout: Layout,
    /// The instant of second 0.
    pub epoch: Timestamp,
}

impl Default for Scheme {
    fn default() -> Self {
        let epoch = Timestamp::from_micros(1_704_067_200_000_000).expect("2024-01-01T00:00:00Z");
        Scheme { layout: Layout::default(), epoch }
    }
}

impl Scheme {
    /// Returns a worker of this layout.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`]: the layout has fewer workers.
    pub fn worker(self, worker: u32) -> Result<Worker> {
        if worker < self.layout.workers() {
            Ok(Worker(worker))
        } else {
            let layout = self.layout;
            let why = match layout {
                Layout::Standard => "",
                Layout::Wide => ": from 45 on, three characters cannot hold all counters",
            };
            let last = layout.workers() - 1;
            let message =
                format!("the {layout} layout has the workers 0 to {last}, not {worker}{why}");
            Err(Error::new(ErrorKind::Usage, message))
        }
    }

    /// Returns the second of an instant, counted from the epoch.
    ///
    /// # Errors
    ///
    /// [`ErrorDetail::PaymentId`](crate::ErrorDetail::PaymentId).
    pub fn second_at(self, now: Timestamp) -> Result<u64> {
        let micros = now.as_micros() - self.epoch.as_micros();
        let second =
            u64::try_from(micros.div_euclid(1_000_000)).map_err(|_| self.before_epoch(now))?;
        if second < SECONDS { Ok(second) } else { Err(Error::after_last_second(now, self)) }
    }

    fn before_epoch(self, now: Timestamp) -> Error {
        let message =
            format!("it is now {now}, before the epoch {}: no id can be issued", self.epoch);
        Error::new(ErrorDetail::PaymentId, message)
    }

    /// Returns the first instant of a second. `None` means that it is after the year 9999.
    pub fn instant_of(self, second: u64) -> Option<Timestamp> {
        let micros = i64::try_from(second).ok()?.checked_mul(1_000_000)?;
        Timestamp::from_micros(self.epoch.as_micros().checked_add(micros)?)
    }

    /// Returns the id of a counter in a second.
    ///
    /// # Panics
    ///
    /// Never if the second is below [`SECONDS`] and the counter below [`Layout::counters`], like those of
    /// [`Scheme::second_at`].
    pub fn encode(self, second: u64, worker: Worker, counter: u32) -> PaymentId {
        let location = match self.layout {
            Layout::Standard => worker.0 * 36 * 36 + counter,
            Layout::Wide => worker.0 * 1_024 + counter,
        };
        let mut number = second * u64::from(PLACES) + u64::from(location);
        let mut characters = [b'0'; 9];
        for character in characters.iter_mut().rev() {
            *character = DIGITS[(number % 36) as usize];
            number /= 36;
        }
        PaymentId(characters)
    }

    /// Decodes an id of this scheme.
    ///
    /// # Errors
    ///
    /// [`ErrorDetail::PaymentId`](crate::ErrorDetail::PaymentId): its time is in the future, or the layout does
    /// not have the worker.
    pub fn decode(self, id: PaymentId, now: Timestamp) -> Result<Decoded> {
        let number = id.number();
        let (second, location) = (number / u64::from(PLACES), (number % u64::from(PLACES)) as u32);
        let (worker, counter) = match self.layout {
            Layout::Standard => (location / (36 * 36), location % (36 * 36)),
            Layout::Wide => (location / 1_024, location % 1_024),
        };
        if worker >= self.layout.workers() {
            let (layout, last) = (self.layout, self.layout.workers() - 1);
            let message = format!(
                "{id} would be an id of worker {worker}, but the {layout} layout has only the workers 0 to {last}"
            );
            return Err(Error::new(ErrorDetail::PaymentId, message));
        }
        let not_yet = |time: &dyn fmt::Display| {
            let message = format!(
                "{id} would have been issued at {time}, which is in the future: the epoch is {}, and it is now {now}",
                self.epoch
            );
            Error::new(ErrorDetail::PaymentId, message)
        };
        let time = self.instant_of(second).ok_or_else(|| not_yet(&"after the year 9999"))?;
        if time > now {
            return Err(not_yet(&time));
        }
        let Scheme { layout, epoch } = self;
        Ok(Decoded { id, time, worker, counter, layout, epoch })
    }
}

/// A worker of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Worker(u32);

impl Worker {
    /// Returns its number.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// A payment id: nine characters `0-9A-Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaymentId([u8; 9]);

impl PaymentId {
    /// Returns the characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("its characters are ASCII")
    }

    fn number(self) -> u64 {
        self.0.iter().fold(0, |number, &character| {
            let digit =
                if character.is_ascii_digit() { character - b'0' } else { character - b'A' + 10 };
            number * 36 + u64::from(digit)
        })
    }
}

impl FromStr for PaymentId {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `"2KNQ8300"`: eight characters
    /// - `"2knq8300z"`: lower case
    /// - `"2KNQ-300Z"`: another character
    fn from_str(text: &str) -> std::result::Result<Self, ParseError> {
        let refused = |what: &str| Err(ParseError::new(format!("a payment id {what}")));
        let quoted = quoted(text);
        let characters = text.chars().count();
        if characters != 9 {
            return refused(&format!("has nine characters, but {quoted} has {characters}"));
        }
        if let Some(character) = text.chars().find(|character| !character.is_ascii_alphanumeric()) {
            let what = format!("has only 0-9 and A-Z, but {quoted} contains {character:?}");
            return refused(&what);
        }
        if text.bytes().any(|character| character.is_ascii_lowercase()) {
            return refused(&format!(
                "is upper case, but {quoted} has lower case: is it an id of the old scheme?"
            ));
        }
        let bytes = text.as_bytes().try_into().expect("nine ASCII characters are nine bytes");
        Ok(PaymentId(bytes))
    }
}

shown_as_str!(Layout, PaymentId);
debug!(PaymentId: fmt::Display::fmt);

impl Serialize for PaymentId {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A decoded id.
///
/// Its fields, in this order, are those of `ids payment` in the command line's JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Decoded {
    /// The id.
    pub id: PaymentId,
    /// The first instant of its second.
    pub time: Timestamp,
    /// The worker that issued it.
    pub worker: u32,
    /// The zero-based sequence number within the second.
    pub counter: u32,
    /// The layout that was used to decode it.
    pub layout: Layout,
    /// The epoch that was used to decode it.
    pub epoch: Timestamp,
}

impl Error {
    /// The error for a clock after the last second of the epoch.
    pub(crate) fn after_last_second(now: Timestamp, scheme: Scheme) -> Self {
        let message = format!(
            "it is now {now}, after the last second of the epoch {}: six characters cannot count further",
            scheme.epoch
        );
        Error::new(ErrorDetail::PaymentId, message)
    }

    /// The error for a clock that was set back by more than a few seconds.
    pub(crate) fn clock_behind(seconds: u64, worker: Worker) -> Self {
        let message = format!(
            "the clock is {seconds} s behind the last id of worker {}: it was set back, or the clock of another machine is wrong; correct it, or wait until it has caught up",
            worker.number()
        );
        Error::new(ErrorDetail::PaymentId, message)
    }
}

/// The greatest number of seconds that the clock may be behind the last id. Within it, ids continue in the
/// second of the last id, because synchronisation sets a clock back by less. Beyond it, the clock is wrong, and
/// waiting would hide that.
pub(crate) const MAX_BEHIND_SECONDS: u64 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn scheme(layout: Layout, epoch: &str) -> Scheme {
        Scheme { layout, epoch: epoch.parse().unwrap() }
    }

    fn now() -> Timestamp {
        "2030-01-01T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn erratum_the_example_is_a_different_day_with_each_epoch() {
        // The decision says 2024, the example 2022; 2020 would make it a past date.
        for (epoch, day) in [
            ("2024-01-01T00:00:00Z", "2028-12-06"),
            ("2022-01-01T00:00:00Z", "2026-12-07"),
            ("2020-01-01T00:00:00Z", "2024-12-06"),
        ] {
            let scheme = scheme(Layout::Standard, epoch);
            let decoded = scheme.decode("2KNQ8300Z".parse().unwrap(), now()).unwrap();
            assert!(decoded.time.to_string().starts_with(day), "{}", decoded.time);
            let seconds = (decoded.time.as_micros() - scheme.epoch.as_micros()) / 1_000_000;
            assert_eq!(seconds, 155_631_747);
            // Its prose counts the 3 twice: it is the last character of the time.
            assert_eq!((decoded.worker, decoded.counter), (0, 35));
        }
    }

    #[test]
    fn erratum_six_characters_last_68_98_years_and_not_60() {
        let scheme = Scheme::default();
        let last = scheme.instant_of(SECONDS - 1).unwrap();
        assert_eq!(last.to_string(), "2092-12-23T05:45:35Z");
        assert!((SECONDS as f64 / (365.25 * 86_400.0) - 68.98).abs() < 0.01);
        assert_eq!(scheme.second_at(last).unwrap(), SECONDS - 1);
        let after = Timestamp::from_micros(last.as_micros() + 1_000_000).unwrap();
        let refused = scheme.second_at(after).unwrap_err().to_string();
        assert!(refused.contains("after the last second"), "{refused}");
        let before = Timestamp::from_micros(scheme.epoch.as_micros() - 1).unwrap();
        let refused = scheme.second_at(before).unwrap_err().to_string();
        assert!(refused.contains("before the epoch"), "{refused}");
    }

    #[test]
    fn erratum_a_16_bit_integer_does_not_fit_three_characters() {
        const { assert!(PLACES < 1 << 16) };
        assert_eq!(PLACES / 1_024, Layout::Wide.workers());
        let wide = Scheme { layout: Layout::Wide, ..Scheme::default() };
        assert!(wide.worker(44).is_ok());
        for worker in 45..64 {
            let refused = wide.worker(worker).unwrap_err().to_string();
            assert!(refused.contains("three characters cannot hold"), "{refused}");
        }
        // 45 * 1024 = 46,080 is ZK0, a number that belongs to no worker.
        let refused = wide.decode("000000ZK0".parse().unwrap(), now()).unwrap_err();
        assert_eq!(refused.detail(), Some(ErrorDetail::PaymentId));
        assert!(refused.to_string().contains("worker 45,"), "{refused}");
    }

    #[test]
    fn every_id_of_both_layouts_is_decoded_again_and_sorts_by_time() {
        for layout in [Layout::Standard, Layout::Wide] {
            let scheme = Scheme { layout, ..Scheme::default() };
            let mut last = None;
            for second in [0, 1, 35, 36, 155_631_747] {
                for worker in 0..layout.workers() {
                    for counter in 0..layout.counters() {
                        let id = scheme.encode(second, scheme.worker(worker).unwrap(), counter);
                        assert!(last < Some(id), "{last:?} {id}");
                        last = Some(id);
                        if counter % 97 == 0 {
                            let decoded =
                                scheme.decode(id.as_str().parse().unwrap(), now()).unwrap();
                            assert_eq!((decoded.worker, decoded.counter), (worker, counter));
                            assert_eq!(Some(decoded.time), scheme.instant_of(second));
                        }
                    }
                }
            }
        }
        assert_eq!(Scheme::default().encode(SECONDS - 1, Worker(35), 1_295).as_str(), "ZZZZZZZZZ");
    }
}
