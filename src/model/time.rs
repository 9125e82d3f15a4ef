//! Instants, days, and times that people type, which may be either.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use chrono::format::ParseErrorKind;
use chrono::{DateTime, Datelike, Days, FixedOffset, NaiveDate, NaiveTime, SecondsFormat};

use super::message::ParseError;

/// An instant in UTC, to the microsecond, within the years 0000 to 9999.
///
/// # Syntax
///
/// Read: RFC 3339 with an offset or `Z`, as programs write it. A time that a person types is a [`Moment`]. Two
/// different times never become the same instant: more than six decimals are rejected unless the rest are
/// zeros. A leap second (`23:59:60`) is rejected, too, because this count of microseconds has none. Written:
/// RFC 3339 with `Z`; the fraction has six digits, or is omitted if it is zero.
///
/// # Examples
///
/// ```
/// use accession::Timestamp;
///
/// let timestamp: Timestamp = "2001-01-02T01:00:00+01:00".parse()?;
/// assert_eq!(timestamp.to_string(), "2001-01-02T00:00:00Z");
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    const FIRST_MICROS: i64 = -62_167_219_200_000_000;
    const LAST_MICROS: i64 = 253_402_300_799_999_999;

    /// Parses an HTTP date (RFC 9110, section 5.6.7), such as `Sun, 06 Nov 1994 08:49:37 GMT`. `None` means
    /// that the text is not one.
    pub(crate) fn from_http_date(text: &str) -> Option<Self> {
        let date = DateTime::parse_from_rfc2822(text).ok()?;
        Timestamp::from_micros(date.timestamp_micros())
    }

    /// Formats the instant as an HTTP date, without the fraction of the second.
    pub fn to_http_date(self) -> String {
        self.to_date_time().format("%a, %d %b %Y %H:%M:%S GMT").to_string()
    }

    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Timestamp = Timestamp(0);

    /// The first instant that RFC 3339 can write, in the year 0.
    pub const MIN: Timestamp = Timestamp(Timestamp::FIRST_MICROS);

    /// The last instant that RFC 3339 can write, in the year 9999.
    pub const MAX: Timestamp = Timestamp(Timestamp::LAST_MICROS);

    /// Returns the instant this many microseconds after 1970-01-01T00:00:00Z. `None` means that it is outside
    /// the years 0000 to 9999, the range of RFC 3339.
    pub const fn from_micros(micros: i64) -> Option<Self> {
        if micros < Timestamp::FIRST_MICROS || micros > Timestamp::LAST_MICROS {
            return None;
        }
        Some(Timestamp(micros))
    }

    /// Returns the microseconds since 1970-01-01T00:00:00Z.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns the next instant, one microsecond later. `None` means that this is the end of the year 9999.
    pub const fn next(self) -> Option<Self> {
        Timestamp::from_micros(self.0 + 1)
    }

    /// Returns the instant earlier by `age`, but not before [`Timestamp::MIN`].
    pub fn before(self, age: Duration) -> Self {
        let micros = self.0.saturating_sub(i64::try_from(age.as_micros()).unwrap_or(i64::MAX));
        Timestamp::from_micros(micros).unwrap_or(Timestamp::MIN)
    }

    /// Returns the latest time that another clock can show at this instant. Clocks may differ by up to five
    /// minutes.
    pub(crate) fn latest_elsewhere(self) -> Self {
        const CLOCK_SKEW_MICROS: i64 = 5 * 60 * 1_000_000;
        Timestamp::from_micros(self.0 + CLOCK_SKEW_MICROS).unwrap_or(Timestamp::MAX)
    }

    /// Returns the day in UTC that contains the instant.
    pub fn day(self) -> Day {
        Day(self.to_date_time().date_naive())
    }

    /// The instant of `date_time`, which was parsed from `text`, if it represents `text` without loss.
    fn from_date_time(date_time: DateTime<FixedOffset>, text: &str) -> Result<Self, ParseError> {
        // chrono represents a leap second as 10^9 or more nanoseconds in the second before it.
        if date_time.timestamp_subsec_nanos() >= 1_000_000_000 {
            return Err(LEAP_SECOND);
        }
        if has_finer_fraction(text) {
            return Err(TOO_FINE);
        }
        Timestamp::from_micros(date_time.timestamp_micros()).ok_or(OUT_OF_RANGE)
    }

    fn to_date_time(self) -> DateTime<chrono::Utc> {
        DateTime::from_timestamp_micros(self.0).expect("the years 0000 to 9999 are in range")
    }
}

/// Whether a time has more than six decimals, not all zeros after the sixth.
fn has_finer_fraction(text: &str) -> bool {
    let Some((_, fraction)) = text.split_once('.') else { return false };
    let digits = fraction.bytes().take_while(u8::is_ascii_digit);
    digits.skip(6).any(|digit| digit != b'0')
}

impl FromStr for Timestamp {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `"2001-01-02T00:00:00"`: no offset
    /// - `"2001-01-02T00:00Z"`: no seconds
    /// - `"2001-01-02T00:00:00+0100"`: an offset without its colon
    /// - `"2001-02-30T00:00:00Z"`: a day that does not exist
    /// - `"2001-01-02T25:00:00Z"`: a time of day that does not exist
    /// - `"2001-01-02T12:34:60Z"`: a leap second
    /// - `"2001-01-02T00:00:00.1234567Z"`: more than six decimals
    /// - `"noon"`: not a time
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let date_time = DateTime::parse_from_rfc3339(text).map_err(|error| {
            let has_no_offset = || DateTime::parse_from_rfc3339(&format!("{text}Z")).is_ok();
            match error.kind() {
                ParseErrorKind::OutOfRange => NO_SUCH_TIME,
                _ if text.parse::<Day>() == Err(NO_SUCH_TIME) => NO_SUCH_TIME,
                _ if has_no_offset() => NO_OFFSET,
                _ => NOT_A_TIME,
            }
        })?;
        Timestamp::from_date_time(date_time, text)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The length does not depend on the millisecond. Python and the views of the schema write the same.
        let is_whole = self.0.rem_euclid(1_000_000) == 0;
        let format = if is_whole { SecondsFormat::Secs } else { SecondsFormat::Micros };
        f.pad(&self.to_date_time().to_rfc3339_opts(format, true))
    }
}

impl TryFrom<SystemTime> for Timestamp {
    type Error = ParseError;

    /// The microsecond that contains the time.
    ///
    /// # Errors
    ///
    /// Outside the years 0000 to 9999.
    fn try_from(time: SystemTime) -> Result<Self, ParseError> {
        let micros = match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()),
            Err(before) => {
                i64::try_from(before.duration().as_nanos().div_ceil(1_000)).map(|micros| -micros)
            }
        };
        micros.ok().and_then(Timestamp::from_micros).ok_or(OUT_OF_RANGE)
    }
}

/// A day in UTC, within the years 0000 to 9999, written `2001-01-02`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(NaiveDate);

impl Day {
    /// Returns the year.
    pub fn year(self) -> u32 {
        self.0.year().unsigned_abs()
    }

    /// Returns the month, counted from 1.
    pub fn month(self) -> u32 {
        self.0.month()
    }

    /// Returns the day of the month, counted from 1.
    pub fn day_of_month(self) -> u32 {
        self.0.day()
    }

    /// Returns its first instant, 00:00:00Z.
    pub fn start(self) -> Timestamp {
        let micros = self.0.and_time(NaiveTime::MIN).and_utc().timestamp_micros();
        Timestamp::from_micros(micros).expect("a day is within the years 0000 to 9999")
    }

    /// Returns its last instant, one microsecond before the next day.
    pub fn end(self) -> Timestamp {
        let next =
            self.0.checked_add_days(Days::new(1)).expect("chrono reaches past the year 9999");
        Timestamp(next.and_time(NaiveTime::MIN).and_utc().timestamp_micros() - 1)
    }
}

impl FromStr for Day {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `"2001-1-2"`: not written in ten characters
    /// - `"2001-02-30"`: a day that does not exist
    fn from_str(text: &str) -> Result<Self, ParseError> {
        // chrono also reads "2001-1-2", "+2001-01-02" and spaces, which other readers reject.
        let is_written_in_full = text.len() == 10
            && text.bytes().enumerate().all(|(index, byte)| match index {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        if !is_written_in_full {
            return Err(NOT_A_TIME);
        }
        text.parse().map(Day).map_err(|_| NO_SUCH_TIME)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A date and a time of day without an offset from UTC, in a format that requires one.
const NO_OFFSET: ParseError =
    ParseError::fixed("a time needs an offset, or Z for UTC: 2001-01-02T00:00:00Z");

/// A day that is not in the calendar, an hour after 23, or a minute or second after 59.
const NO_SUCH_TIME: ParseError = ParseError::fixed("this day or this time of day does not exist");

/// Second 60 of a minute.
const LEAP_SECOND: ParseError =
    ParseError::fixed("a leap second, :60, cannot be recorded: use the second before or after it");

/// More than six decimals, not all zeros after the sixth.
const TOO_FINE: ParseError =
    ParseError::fixed("a time has at most six decimals: finer ones would be lost");

/// Not a time in any spelling.
const NOT_A_TIME: ParseError = ParseError::fixed(
    "a time is a date, 2001-01-02, or a date and a time of day, 2001-01-02T03:04Z",
);

/// Before the year 0000 or after the year 9999 in UTC.
const OUT_OF_RANGE: ParseError =
    ParseError::fixed("a time is within the years 0000 to 9999 of UTC");

/// A time as a person writes it: an instant or a day.
///
/// A day is a whole day (docs/reference/commands.md, Times): a change on a day takes effect at its beginning,
/// and a look-up uses its end. The code that receives a `Moment` chooses one.
///
/// # Syntax
///
/// Read: a date; or a date, `T` or a space, and a time of day to the minute, the second or the microsecond,
/// with `Z`, an offset, or neither, which means UTC. Written: as a [`Timestamp`], with `Z`.
///
/// # Examples
///
/// ```
/// use accession::Moment;
///
/// let moment: Moment = "2001-01-02".parse()?;
/// assert_eq!(moment.of_change().to_string(), "2001-01-02T00:00:00Z");
/// assert_eq!(moment.last_instant().to_string(), "2001-01-02T23:59:59.999999Z");
/// let moment: Moment = "2001-01-02 01:00".parse()?;
/// assert_eq!(moment.to_string(), "2001-01-02T01:00:00Z");
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moment {
    /// An instant.
    Instant(Timestamp),
    /// A whole day.
    Day(Day),
}

impl Moment {
    /// Parses a time that a person types: `now`, or a text that [`str::parse`] accepts.
    ///
    /// # Errors
    ///
    /// The text is neither.
    pub fn typed(text: &str, now: Timestamp) -> Result<Self, ParseError> {
        match text {
            "now" => Ok(Moment::Instant(now)),
            text => text.parse(),
        }
    }

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
    type Err = ParseError;

    /// # Errors
    ///
    /// - `"2001-01-02T00"`, `"2001-1-2"`, `"noon"`: not a time
    /// - `"2001-02-30"`, `"2001-01-02T25:00"`: a day or a time of day that does not exist
    /// - `"2001-01-02T12:34:60Z"`: a leap second
    /// - `"2001-01-02T00:00:00.1234567"`: more than six decimals
    fn from_str(text: &str) -> Result<Self, ParseError> {
        WrittenTime::from_str(text).map(|written| written.moment)
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

/// A time as it is written in a file or typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WrittenTime {
    /// The time.
    pub moment: Moment,
    /// Whether it is a time of day without an offset, which was read as UTC.
    pub is_taken_as_utc: bool,
}

impl WrittenTime {
    /// Parses a time in a file that another system wrote. White space around it, `UTC` or `GMT` as the offset,
    /// and the format of RFC 2822 are also accepted.
    ///
    /// # Errors
    ///
    /// - `"yesterday"`: not a time
    /// - `"2001-01-02 12:34:60 UTC"`: a leap second
    pub fn in_file(text: &str) -> Result<Self, ParseError> {
        let given = text.trim();
        let named = ["UTC", "GMT"].into_iter().find_map(|zone| given.strip_suffix(zone));
        let read = match named {
            Some(time) => format!("{}Z", time.trim_end()).parse(),
            None => given.parse(),
        };
        read.or_else(|error| {
            let date_time = DateTime::parse_from_rfc2822(given).map_err(|_| error)?;
            let moment = Moment::Instant(Timestamp::from_date_time(date_time, given)?);
            Ok(WrittenTime { moment, is_taken_as_utc: false })
        })
    }
}

impl FromStr for WrittenTime {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        const DATE_BYTES: usize = 10;
        let (date, rest) = text.split_at_checked(DATE_BYTES).ok_or(NOT_A_TIME)?;
        let day: Day = date.parse()?;
        if rest.is_empty() {
            return Ok(WrittenTime { moment: Moment::Day(day), is_taken_as_utc: false });
        }
        let time = rest.strip_prefix(['T', 't', ' ']).ok_or(NOT_A_TIME)?;
        // RFC 3339 allows the hyphen; chrono also reads the minus sign.
        let end = time.find(['Z', 'z', '+', '-', '\u{2212}']).unwrap_or(time.len());
        let (clock, offset) = time.split_at(end);
        let rfc3339 = format!("{date}T{}{}", with_seconds(clock), with_colon(offset));
        let date_time = DateTime::parse_from_rfc3339(&rfc3339).map_err(|error| {
            if error.kind() == ParseErrorKind::OutOfRange { NO_SUCH_TIME } else { NOT_A_TIME }
        })?;
        let moment = Moment::Instant(Timestamp::from_date_time(date_time, clock)?);
        Ok(WrittenTime { moment, is_taken_as_utc: offset.is_empty() })
    }
}

/// Adds seconds to a time of day without them, because RFC 3339 requires them. A space may follow the time.
fn with_seconds(clock: &str) -> String {
    const WITHOUT_SECONDS: usize = "03:04".len();
    let clock = clock.strip_suffix(' ').unwrap_or(clock);
    if clock.len() == WITHOUT_SECONDS { format!("{clock}:00") } else { clock.to_owned() }
}

/// Converts an offset to RFC 3339: `+0100` and `+01` get a colon, and an empty offset means UTC.
fn with_colon(offset: &str) -> String {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match offset.split_at_checked(3) {
        None if offset.is_empty() => "Z".to_owned(),
        Some((hours, minutes)) if is_digits(minutes) => {
            format!("{hours}:{}", if minutes.is_empty() { "00" } else { minutes })
        }
        _ => offset.to_owned(),
    }
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
            ("2019-02-23T18:12:43.204Z", "2019-02-23T18:12:43.204000Z"),
            ("2019-02-23T18:12:43.2Z", "2019-02-23T18:12:43.200000Z"),
            ("2019-02-23T18:12:43.000Z", "2019-02-23T18:12:43Z"),
            ("2019-02-23T18:12:43.123456000Z", "2019-02-23T18:12:43.123456Z"),
            ("2019-02-23T18:12:43.1000000000000Z", "2019-02-23T18:12:43.100000Z"),
            ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
        ];
        for (text, written) in cases {
            assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), written, "{text}");
        }
    }

    #[test]
    fn a_typed_time_may_lack_its_seconds_and_its_offset() {
        let cases = [
            ("2024-01-08", "2024-01-08"),
            ("2024-01-08T01:00", "2024-01-08T01:00:00Z"),
            ("2024-01-08 01:00", "2024-01-08T01:00:00Z"),
            ("2024-01-08 01:00:00.5", "2024-01-08T01:00:00.500000Z"),
            ("2024-01-08T01:00Z", "2024-01-08T01:00:00Z"),
            ("2024-01-08t01:00:30z", "2024-01-08T01:00:30Z"),
            ("2024-01-08T01:00+02:00", "2024-01-07T23:00:00Z"),
            ("2024-01-08 01:00 -0530", "2024-01-08T06:30:00Z"),
            ("2024-01-08T01:00:00.25+01", "2024-01-08T00:00:00.250000Z"),
        ];
        for (text, written) in cases {
            assert_eq!(text.parse::<Moment>().unwrap().to_string(), written, "{text}");
        }
        let now: Timestamp = "2024-01-08T01:00:00Z".parse().unwrap();
        assert_eq!(Moment::typed("now", now), Ok(Moment::Instant(now)));
        assert_eq!(Moment::typed("2024-01-08", now), Ok(Moment::Day(now.day())));
        assert_eq!("now".parse::<Moment>(), Err(NOT_A_TIME));
    }

    #[test]
    fn programs_write_times_with_an_offset() {
        for text in ["2001-01-02T00:00:00", "2001-01-02 00:00:00.5", "2001-01-02T12:34:60"] {
            assert_eq!(text.parse::<Timestamp>(), Err(NO_OFFSET), "{text}");
        }
        for text in ["2001-01-02", "2001-01-02T00:00Z", "2001-01-02T00:00:00+0100", "now"] {
            assert_eq!(text.parse::<Timestamp>(), Err(NOT_A_TIME), "{text}");
        }
        assert_eq!("2001-02-30".parse::<Timestamp>(), Err(NO_SUCH_TIME));
    }

    #[test]
    fn a_file_may_have_times_in_other_spellings() {
        let cases = [
            ("2001-01-02 03:04:05 UTC", Ok("2001-01-02T03:04:05Z")),
            (" 2001-01-02T03:04+0100 ", Ok("2001-01-02T02:04:00Z")),
            ("2001-01-02 03:04:05.25 -0500", Ok("2001-01-02T08:04:05.250000Z")),
            ("2001-01-02 03:04:05.2500000 -0500", Ok("2001-01-02T08:04:05.250000Z")),
            ("Tue, 02 Jan 2001 03:04:05 GMT", Ok("2001-01-02T03:04:05Z")),
            ("2001-01-02 03:04:05", Ok("2001-01-02T03:04:05Z")),
            ("2001-02-30 03:04:05 UTC", Err(NO_SUCH_TIME)),
            ("2001-01-02 03:04:60 UTC", Err(LEAP_SECOND)),
            ("2001-01-02 03:04:05.1234567 UTC", Err(TOO_FINE)),
            ("9999-12-31 23:59:59 -0100", Err(OUT_OF_RANGE)),
            ("yesterday", Err(NOT_A_TIME)),
            ("now", Err(NOT_A_TIME)),
        ];
        for (text, expected) in cases {
            let read = WrittenTime::in_file(text);
            let has_no_offset = read.as_ref().is_ok_and(|read| read.is_taken_as_utc);
            assert_eq!(has_no_offset, text == "2001-01-02 03:04:05", "{text}");
            let moment = read.map(|read| read.moment.to_string());
            assert_eq!(moment, expected.map(str::to_owned), "{text}");
        }
        assert!(!WrittenTime::in_file("2001-01-02").unwrap().is_taken_as_utc);
    }

    #[test]
    fn times_are_written_as_http_writes_them() {
        for (at, text) in [
            ("1970-01-01T00:00:00Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
            ("1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("2001-03-03T09:41:07.204518Z", "Sat, 03 Mar 2001 09:41:07 GMT"),
            ("1969-12-31T23:59:59.5Z", "Wed, 31 Dec 1969 23:59:59 GMT"),
        ] {
            let at: Timestamp = at.parse().unwrap();
            assert_eq!(at.to_http_date(), text);
            let second = at.as_micros().div_euclid(1_000_000) * 1_000_000;
            assert_eq!(Timestamp::from_http_date(text), Timestamp::from_micros(second));
        }
    }

    #[test]
    fn a_day_has_ten_characters() {
        let day: Day = "2001-01-02".parse().unwrap();
        assert_eq!(day.to_string(), "2001-01-02");
        for text in [" 2001-01-2", "2001-1-002", "2001-1-2", "+2001-01-2", "2001/01/02"] {
            assert_eq!(text.parse::<Day>(), Err(NOT_A_TIME), "{text}");
        }
        assert_eq!("2001-02-30".parse::<Day>(), Err(NO_SUCH_TIME));
        let instant: Timestamp = "2001-01-02T00:00:00Z".parse().unwrap();
        assert_eq!(format!("{instant:?}"), "2001-01-02T00:00:00Z");
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
    fn a_time_of_the_system_becomes_the_microsecond_that_contains_it() {
        let epoch = SystemTime::UNIX_EPOCH;
        let (day, nanos) = (Duration::from_secs(86_400), Duration::from_nanos);
        for (time, written) in [
            (epoch, "1970-01-01T00:00:00Z"),
            (epoch + day + nanos(1_999), "1970-01-02T00:00:00.000001Z"),
            (epoch - nanos(1), "1969-12-31T23:59:59.999999Z"),
            (epoch - day, "1969-12-31T00:00:00Z"),
        ] {
            let timestamp = Timestamp::try_from(time).unwrap();
            assert_eq!(timestamp.to_string(), written);
        }
        let far = epoch + Duration::from_secs(1 << 40);
        assert_eq!(Timestamp::try_from(far), Err(OUT_OF_RANGE));
    }

    #[test]
    fn instants_out_of_range_are_not_made() {
        assert_eq!(Timestamp::from_micros(Timestamp::FIRST_MICROS - 1), None);
        assert_eq!(Timestamp::from_micros(i64::MAX), None);
    }

    #[test]
    fn refused_times_say_why() {
        let cases = [
            ("", NOT_A_TIME),
            ("noon", NOT_A_TIME),
            ("2001-1-2", NOT_A_TIME),
            ("+2001-01-02", NOT_A_TIME),
            (" 2001-01-02", NOT_A_TIME),
            ("2001-01-02 ", NOT_A_TIME),
            ("2001-01-02x", NOT_A_TIME),
            ("2001-01-02T00:00:00Zx", NOT_A_TIME),
            ("2001-01-02T00:00:00.Z", NOT_A_TIME),
            ("29-APR-2016 00:00:00", NOT_A_TIME),
            ("2001-01-02T00", NOT_A_TIME),
            ("2001-01-02T0:00", NOT_A_TIME),
            ("2001-01-02  00:00", NOT_A_TIME),
            ("2001-01-02Z", NOT_A_TIME),
            ("2001-01-02é00:00", NOT_A_TIME),
            ("2001-01-02T00:00+é", NOT_A_TIME),
            ("2001-01-02T00:00:00 UTC", NOT_A_TIME),
            ("2001-02-30", NO_SUCH_TIME),
            ("2001-02-29T00:00:00Z", NO_SUCH_TIME),
            ("2001-13-01T00:00:00Z", NO_SUCH_TIME),
            ("2001-02-30T00:00", NO_SUCH_TIME),
            ("2001-01-02T24:00:00Z", NO_SUCH_TIME),
            ("2001-01-02T23:60:00Z", NO_SUCH_TIME),
            ("2001-01-02T23:59:61Z", NO_SUCH_TIME),
            ("2001-01-02T23:61", NO_SUCH_TIME),
            ("2001-01-02T00:00:00+0100:", NOT_A_TIME),
            ("2001-01-02T00:00:00-5", NOT_A_TIME),
            ("2001-01-02T12:34:60Z", LEAP_SECOND),
            ("2016-12-31T23:59:60Z", LEAP_SECOND),
            ("2001-01-02T12:34:60", LEAP_SECOND),
            ("2001-01-02T00:00:00.1234561Z", TOO_FINE),
            ("2001-01-02T00:00:00.123456000000001Z", TOO_FINE),
            ("0000-01-01T00:00:00+01:00", OUT_OF_RANGE),
            ("9999-12-31T23:59:59-01:00", OUT_OF_RANGE),
        ];
        for (text, error) in cases {
            assert_eq!(text.parse::<Moment>(), Err(error), "{text}");
        }
    }
}
