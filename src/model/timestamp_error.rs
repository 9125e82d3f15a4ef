//! Why a string is not a time.

use chrono::NaiveDate;

/// Why a string is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimestampError {
    /// A date and a time of day without an offset from UTC.
    #[error("a time needs an offset, or Z for UTC: 2001-01-02T00:00:00Z")]
    NoOffset,
    /// A time of day without its seconds.
    #[error("the seconds are missing: a time is written 2001-01-02T00:00:00Z")]
    NoSeconds,
    /// An offset that is not written as RFC 3339 requires, such as `+0100`.
    #[error("an offset has hours, a colon and minutes, as in +01:00")]
    OffsetSpelling,
    /// A day that is not in the calendar.
    #[error("the day does not exist")]
    NoSuchDay,
    /// An hour after 23, or a minute or second after 59.
    #[error("the time of day does not exist: it is between 00:00:00 and 23:59:59")]
    NoSuchTimeOfDay,
    /// Second 60 of a minute.
    #[error("a leap second, :60, cannot be recorded: use the second before or after it")]
    LeapSecond,
    /// More than six decimals, not all zeros after the sixth.
    #[error("a time has at most six decimals: finer ones would be lost")]
    TooFine,
    /// Not a time in any spelling.
    #[error("a time is a date, 2001-01-02, or RFC 3339, 2001-01-02T00:00:00Z")]
    NotATime,
    /// Before the year 0000 or after the year 9999 in UTC.
    #[error("a time is within the years 0000 to 9999 of UTC")]
    OutOfRange,
}

impl TimestampError {
    /// Returns why `text` is not RFC 3339.
    pub(super) fn of(text: &str) -> Self {
        TimestampError::within(text).unwrap_or(TimestampError::NotATime)
    }

    /// What is wrong with a date and, after it, a time of day. `None` if `text` has another form.
    fn within(text: &str) -> Option<Self> {
        let (date, rest) = text.split_at_checked(10)?;
        let (year, rest_of_date) = number(date, 4)?;
        let (month, rest_of_date) = number(rest_of_date.strip_prefix('-')?, 2)?;
        let (day, _) = number(rest_of_date.strip_prefix('-')?, 2)?;
        let exists = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day).is_some();
        if rest.is_empty() && !exists {
            return Some(TimestampError::NoSuchDay);
        }
        let (hour, rest) = number(rest.strip_prefix(['T', 't', ' '])?, 2)?;
        let (minute, rest) = number(rest.strip_prefix(':')?, 2)?;
        let (second, rest) = match rest.strip_prefix(':') {
            Some(rest) => number(rest, 2).map(|(second, rest)| (Some(second), rest))?,
            None => (None, rest),
        };
        let offset = without_fraction(rest)?;
        if !is_offset(offset) && !is_short_offset(offset) {
            return None;
        }
        Some(match second {
            _ if !exists => TimestampError::NoSuchDay,
            _ if hour > 23 || minute > 59 => TimestampError::NoSuchTimeOfDay,
            None => TimestampError::NoSeconds,
            Some(60) => TimestampError::LeapSecond,
            Some(61..) => TimestampError::NoSuchTimeOfDay,
            _ if offset.is_empty() => TimestampError::NoOffset,
            _ if is_short_offset(offset) => TimestampError::OffsetSpelling,
            _ => return None,
        })
    }
}

/// The number in the first `digits` characters, and the rest.
fn number(text: &str, digits: usize) -> Option<(u32, &str)> {
    let (number, rest) = text.split_at_checked(digits)?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| number.parse().ok())?.map(|number| (number, rest))
}

/// What follows the fraction of a second, if there is one. `None` for a dot without digits.
fn without_fraction(text: &str) -> Option<&str> {
    let Some(fraction) = text.strip_prefix('.') else { return Some(text) };
    let rest = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
    (rest.len() < fraction.len()).then_some(rest)
}

/// Whether `text` is an offset as RFC 3339 writes it, a named one, or empty.
fn is_offset(text: &str) -> bool {
    let signed = |text: &str| {
        let (_, rest) = number(text.strip_prefix(['+', '-'])?, 2)?;
        let (_, rest) = number(rest.strip_prefix(':')?, 2)?;
        Some(rest.is_empty())
    };
    matches!(text.trim_start(), "" | "Z" | "z" | "UTC" | "GMT") || signed(text) == Some(true)
}

/// Whether `text` is an offset without its colon, or without its minutes.
fn is_short_offset(text: &str) -> bool {
    text.strip_prefix(['+', '-']).is_some_and(|digits| {
        matches!(digits.len(), 2 | 4) && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_worded_for_the_person_who_wrote_the_time() {
        let cases = [
            ("2001-01-02T00:00:00", "a time needs an offset, or Z for UTC: 2001-01-02T00:00:00Z"),
            (
                "2001-01-02T00:00Z",
                "the seconds are missing: a time is written 2001-01-02T00:00:00Z",
            ),
            ("2001-01-02T00:00:00+0100", "an offset has hours, a colon and minutes, as in +01:00"),
            ("2001-02-30", "the day does not exist"),
            (
                "2001-01-02T24:00:00Z",
                "the time of day does not exist: it is between 00:00:00 and 23:59:59",
            ),
            (
                "2001-01-02T12:34:60Z",
                "a leap second, :60, cannot be recorded: use the second before or after it",
            ),
            ("noon", "a time is a date, 2001-01-02, or RFC 3339, 2001-01-02T00:00:00Z"),
        ];
        for (text, message) in cases {
            assert_eq!(TimestampError::of(text).to_string(), message, "{text}");
        }
        assert_eq!(
            TimestampError::TooFine.to_string(),
            "a time has at most six decimals: finer ones would be lost"
        );
    }
}
