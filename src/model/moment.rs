//! The times that people write, which may be an instant or a day.

use std::fmt;
use std::str::FromStr;

use super::time::{Day, Timestamp, TimestampError};

/// A time as a person writes it: an instant or a day.
///
/// A day has two meanings (docs/reference/commands.md, Times): as the time *of a change* it means its
/// first instant, and as the date *of a citation* it means the whole day. The code that receives a
/// `Moment` chooses one.
///
/// # Examples
///
/// ```
/// use accession::Moment;
///
/// let moment: Moment = "2001-01-02".parse()?;
/// assert_eq!(moment.of_change().to_string(), "2001-01-02T00:00:00Z");
/// assert_eq!(moment.last_instant().to_string(), "2001-01-02T23:59:59.999999Z");
/// # Ok::<(), accession::model::TimestampError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moment {
    /// An instant.
    Instant(Timestamp),
    /// A whole day.
    Day(Day),
}

impl Moment {
    /// Returns the instant of a change made at this time: for a day, its 00:00:00Z.
    pub fn of_change(self) -> Timestamp {
        self.first_instant()
    }

    /// Returns the first instant of this time.
    pub fn first_instant(self) -> Timestamp {
        match self {
            Moment::Instant(timestamp) => timestamp,
            Moment::Day(day) => day.start(),
        }
    }

    /// Returns the last instant of this time: for a day, the one just before the next day.
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
            // The error of an instant also says what is wrong with a day.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_times_say_why() {
        use TimestampError::{LeapSecond, NoOffset, NoSuchTime, NotATime, OutOfRange, TooFine};
        let cases = [
            ("", NotATime),
            ("noon", NotATime),
            ("2001-1-2", NotATime),
            ("+2001-01-02", NotATime),
            (" 2001-01-02", NotATime),
            ("2001-01-02 ", NotATime),
            ("2001-01-02x", NotATime),
            ("2001-01-02T00:00:00Zx", NotATime),
            ("2001-01-02T00:00:00.Z", NotATime),
            ("29-APR-2016 00:00:00", NotATime),
            ("2001-01-02T00:00:00", NoOffset),
            ("2001-01-02 00:00:00.5", NoOffset),
            ("2001-01-02T00:00", NotATime),
            ("2001-01-02T00:00Z", NotATime),
            ("2001-01-02T00:00+01:00", NotATime),
            ("2001-02-30", NoSuchTime),
            ("2001-02-29T00:00:00Z", NoSuchTime),
            ("2001-13-01T00:00:00Z", NoSuchTime),
            ("2001-02-30T00:00", NotATime),
            ("2001-01-02T24:00:00Z", NoSuchTime),
            ("2001-01-02T23:60:00Z", NoSuchTime),
            ("2001-01-02T23:59:61Z", NoSuchTime),
            ("2001-01-02T23:61", NotATime),
            ("2001-01-02T00:00:00+0100", NotATime),
            ("2001-01-02T00:00:00-05", NotATime),
            ("2001-01-02T00:00:00.25+0100", NotATime),
            ("2001-01-02T12:34:60Z", LeapSecond),
            ("2016-12-31T23:59:60Z", LeapSecond),
            ("2001-01-02T12:34:60", NoOffset),
            ("2001-01-02T00:00:00.1234561Z", TooFine),
            ("2001-01-02T00:00:00.123456000000001Z", TooFine),
            ("0000-01-01T00:00:00+01:00", OutOfRange),
            ("9999-12-31T23:59:59-01:00", OutOfRange),
        ];
        for (text, error) in cases {
            assert_eq!(text.parse::<Moment>(), Err(error), "{text}");
        }
    }
}
