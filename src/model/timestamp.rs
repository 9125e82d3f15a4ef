//! Instants, days, and what a person means by either.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveTime, SecondsFormat};

/// An instant: UTC, to the microsecond, within the years 0000 to 9999.
///
/// # Syntax
///
/// Read: RFC 3339 with an offset or `Z`; what is finer than a microsecond is cut off, and a leap
/// second is the first instant of the next minute. Written: RFC 3339 with `Z`, and a fraction only
/// where there is one, of three or six digits.
///
/// # Examples
///
/// ```
/// use accession::Timestamp;
///
/// let timestamp: Timestamp = "2001-01-02T01:00:00+01:00".parse()?;
/// assert_eq!(timestamp.to_string(), "2001-01-02T00:00:00Z");
/// # Ok::<(), accession::TimestampError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    const FIRST_MICROS: i64 = -62_167_219_200_000_000;
    const LAST_MICROS: i64 = 253_402_300_799_999_999;

    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Timestamp = Timestamp(0);

    /// The last instant that RFC 3339 can write, in the year 9999.
    pub const MAX: Timestamp = Timestamp(Timestamp::LAST_MICROS);

    /// The instant so many microseconds after 1970-01-01T00:00:00Z, if it lies in the years 0000
    /// to 9999, which RFC 3339 can write.
    pub const fn from_micros(micros: i64) -> Option<Self> {
        if micros < Timestamp::FIRST_MICROS || micros > Timestamp::LAST_MICROS {
            return None;
        }
        Some(Timestamp(micros))
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The next instant, a microsecond later; none after the year 9999.
    pub const fn next(self) -> Option<Self> {
        Timestamp::from_micros(self.0 + 1)
    }

    /// The day in UTC that it lies in.
    pub fn day(self) -> Day {
        Day(self.to_date_time().date_naive())
    }

    /// The instant that a text means in a spelling that is not RFC 3339, but has an offset: a space
    /// for the `T`, an offset without its colon or a named `UTC` or `GMT`, no seconds, or RFC 2822.
    ///
    /// For files that other systems wrote; what has no offset could be any time, and is none.
    pub fn from_other_spelling(text: &str) -> Option<Self> {
        let given = text.trim();
        let named = ["UTC", "GMT", "Z", "z"].into_iter().find_map(|zone| given.strip_suffix(zone));
        let text =
            named.map_or_else(|| given.to_owned(), |time| format!("{}+0000", time.trim_end()));
        let spellings = [
            "%Y-%m-%dT%H:%M:%S%.f%#z",
            "%Y-%m-%d %H:%M:%S%.f%#z",
            "%Y-%m-%dT%H:%M%#z",
            "%Y-%m-%d %H:%M%#z",
            "%Y-%m-%d %H:%M:%S%.f %#z",
            "%Y-%m-%d %H:%M %#z",
        ];
        let parsed = spellings
            .into_iter()
            .find_map(|spelling| DateTime::parse_from_str(&text, spelling).ok())
            .or_else(|| DateTime::parse_from_rfc2822(given).ok())?;
        Timestamp::from_micros(parsed.timestamp_micros())
    }

    fn to_date_time(self) -> DateTime<chrono::Utc> {
        DateTime::from_timestamp_micros(self.0).expect("the years 0000 to 9999 are in range")
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    /// # Errors
    ///
    /// - `"2001-01-02T00:00:00"`: without an offset
    /// - `"2001-02-30T00:00:00Z"`, `"noon"`: no RFC 3339
    fn from_str(text: &str) -> Result<Self, TimestampError> {
        match DateTime::parse_from_rfc3339(text) {
            Ok(date_time) => Timestamp::from_micros(date_time.timestamp_micros())
                .ok_or(TimestampError::OutOfRange),
            // The same text is right once an offset is added: then that is what it lacks.
            Err(_) if DateTime::parse_from_rfc3339(&format!("{text}Z")).is_ok() => {
                Err(TimestampError::NoOffset)
            }
            Err(_) => Err(TimestampError::NotATime),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_date_time().to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A day in UTC, within the years 0000 to 9999, written `2001-01-02`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(NaiveDate);

impl Day {
    /// Its year, its month from 1 on, and its day of the month from 1 on.
    pub fn year_month_day(self) -> (u32, u32, u32) {
        (self.0.year().unsigned_abs(), self.0.month(), self.0.day())
    }

    /// Its first instant, 00:00:00Z.
    pub fn start(self) -> Timestamp {
        let micros = self.0.and_time(NaiveTime::MIN).and_utc().timestamp_micros();
        Timestamp::from_micros(micros).expect("a day lies in the years 0000 to 9999")
    }

    /// Its last instant, a microsecond before the next day.
    pub fn end(self) -> Timestamp {
        let next =
            self.0.checked_add_days(Days::new(1)).expect("chrono reaches past the year 9999");
        Timestamp(next.and_time(NaiveTime::MIN).and_utc().timestamp_micros() - 1)
    }
}

impl FromStr for Day {
    type Err = TimestampError;

    /// # Errors
    ///
    /// `"2001-1-2"`, `"2001-02-30"`: no such day, or not written in ten characters.
    fn from_str(text: &str) -> Result<Self, TimestampError> {
        // chrono also reads "2001-1-2", "+2001-01-02" and spaces, which other readers would not.
        let is_written_in_full = text.len() == 10
            && text.bytes().enumerate().all(|(index, byte)| match index {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        if !is_written_in_full {
            return Err(TimestampError::NotATime);
        }
        text.parse().map(Day).map_err(|_| TimestampError::NotATime)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A time as a person writes it: an instant, or a day.
///
/// A day is two things (identifier.md, Time): as the time *of a change* its first instant, as the
/// date *of a citation* the whole of it. So whoever takes a `Moment` says which is meant.
///
/// # Examples
///
/// ```
/// use accession::Moment;
///
/// let moment: Moment = "2001-01-02".parse()?;
/// assert_eq!(moment.of_change().to_string(), "2001-01-02T00:00:00Z");
/// assert_eq!(moment.last_instant().to_string(), "2001-01-02T23:59:59.999999Z");
/// # Ok::<(), accession::TimestampError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// An instant.
    Instant(Timestamp),
    /// A whole day.
    Day(Day),
}

impl Moment {
    /// The instant of a change said to be made then: a day means its 00:00:00Z.
    pub fn of_change(self) -> Timestamp {
        self.first_instant()
    }

    /// The first instant meant.
    pub fn first_instant(self) -> Timestamp {
        match self {
            Moment::Instant(timestamp) => timestamp,
            Moment::Day(day) => day.start(),
        }
    }

    /// The last instant meant: of a day, the one just before the next.
    pub fn last_instant(self) -> Timestamp {
        match self {
            Moment::Instant(timestamp) => timestamp,
            Moment::Day(day) => day.end(),
        }
    }
}

impl FromStr for Moment {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        match text.parse() {
            Ok(day) => Ok(Moment::Day(day)),
            Err(_) => text.parse().map(Moment::Instant),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::Instant(timestamp) => timestamp.fmt(f),
            Moment::Day(day) => day.fmt(f),
        }
    }
}

/// Why a text is no time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimestampError {
    /// A date and a time of day, but where in the world is not said.
    #[error("a time needs an offset, or Z for UTC: 2001-01-02T00:00:00Z")]
    NoOffset,
    /// Nothing that can be read as a time.
    #[error("a time is a date, 2001-01-02, or RFC 3339, 2001-01-02T00:00:00Z")]
    NotATime,
    /// Before the year 0000 or after the year 9999, once it is in UTC.
    #[error("a time lies in the years 0000 to 9999 of UTC")]
    OutOfRange,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_with_an_offset_and_written_in_utc() {
        let cases = [
            ("2001-01-02T00:00:00Z", "2001-01-02T00:00:00Z"),
            ("2001-01-02t00:00:00z", "2001-01-02T00:00:00Z"),
            ("2001-01-02 00:00:00+00:00", "2001-01-02T00:00:00Z"),
            ("2001-01-01T19:00:00-05:00", "2001-01-02T00:00:00Z"),
            ("2019-02-23T18:12:43.204Z", "2019-02-23T18:12:43.204Z"),
            ("2019-02-23T18:12:43.2Z", "2019-02-23T18:12:43.200Z"),
            ("2019-02-23T18:12:43.000Z", "2019-02-23T18:12:43Z"),
            ("2019-02-23T18:12:43.123456789Z", "2019-02-23T18:12:43.123456Z"),
            ("1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.999999Z"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
        ];
        for (text, written) in cases {
            assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), written, "{text}");
        }
    }

    #[test]
    fn other_spellings_need_an_offset_too() {
        let cases = [
            ("2001-01-02 03:04:05 UTC", Some("2001-01-02T03:04:05Z")),
            (" 2001-01-02T03:04+0100 ", Some("2001-01-02T02:04:00Z")),
            ("2001-01-02 03:04:05.25 -0500", Some("2001-01-02T08:04:05.250Z")),
            ("Tue, 02 Jan 2001 03:04:05 GMT", Some("2001-01-02T03:04:05Z")),
            ("2001-01-02 03:04:05", None),
            ("yesterday", None),
        ];
        for (text, written) in cases {
            let read = Timestamp::from_other_spelling(text);
            assert_eq!(read.map(|at| at.to_string()).as_deref(), written, "{text}");
        }
    }

    #[test]
    fn a_day_has_ten_characters() {
        let day: Day = "2001-01-02".parse().unwrap();
        assert_eq!(day.to_string(), "2001-01-02");
        for text in [" 2001-01-2", "2001-1-002", "2001-1-2", "+2001-01-2", "2001/01/02"] {
            assert_eq!(text.parse::<Day>(), Err(TimestampError::NotATime), "{text}");
        }
        let instant: Timestamp = "2001-01-02T00:00:00Z".parse().unwrap();
        assert_eq!(format!("{instant:?}"), "2001-01-02T00:00:00Z");
    }

    #[test]
    fn refused_times_say_why() {
        let cases = [
            ("", TimestampError::NotATime),
            ("noon", TimestampError::NotATime),
            ("2001-01-02T00:00:00", TimestampError::NoOffset),
            ("2001-01-02T00:00", TimestampError::NotATime),
            ("2001-02-30T00:00:00Z", TimestampError::NotATime),
            ("2001-02-30", TimestampError::NotATime),
            ("2001-1-2", TimestampError::NotATime),
            ("+2001-01-02", TimestampError::NotATime),
            (" 2001-01-02", TimestampError::NotATime),
            ("29-APR-2016 00:00:00", TimestampError::NotATime),
            ("0000-01-01T00:00:00+01:00", TimestampError::OutOfRange),
            ("9999-12-31T23:59:59-01:00", TimestampError::OutOfRange),
        ];
        for (text, error) in cases {
            assert_eq!(text.parse::<Moment>(), Err(error), "{text}");
        }
    }

    #[test]
    fn a_day_ends_a_microsecond_before_the_next() {
        let day: Day = "2000-02-28".parse().unwrap();
        assert_eq!(day.end().next().unwrap(), "2000-02-29".parse::<Day>().unwrap().start());
        let last: Day = "9999-12-31".parse().unwrap();
        assert_eq!(last.end().as_micros(), Timestamp::LAST_MICROS);
        assert_eq!(last.end().next(), None);
        let first: Day = "0000-01-01".parse().unwrap();
        assert_eq!(first.start().as_micros(), Timestamp::FIRST_MICROS);
    }

    #[test]
    fn instants_out_of_range_are_not_made() {
        assert_eq!(Timestamp::from_micros(Timestamp::FIRST_MICROS - 1), None);
        assert_eq!(Timestamp::from_micros(i64::MAX), None);
    }
}
