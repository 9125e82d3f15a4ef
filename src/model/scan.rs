//! The period of a scan of files.

use std::fmt;
use std::str::FromStr;

use super::message::{ParseError, quoted};
use super::time::{Moment, Timestamp};

/// The period of a scan of files: `2024-03-05T01:00/2024-03-05T07:30`. Files can appear and disappear during
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanPeriod {
    start: Timestamp,
    end: Timestamp,
}

impl ScanPeriod {
    /// A scan from `start` to `end`.
    ///
    /// # Errors
    ///
    /// It ends before it begins.
    pub fn new(start: Timestamp, end: Timestamp) -> Result<Self, ParseError> {
        match start <= end {
            true => Ok(ScanPeriod { start, end }),
            false => Err(ParseError::new(format!("a scan that began at {start} ended at {end}"))),
        }
    }

    /// When it began.
    pub fn start(self) -> Timestamp {
        self.start
    }

    /// When it ended.
    pub fn end(self) -> Timestamp {
        self.end
    }
}

impl FromStr for ScanPeriod {
    type Err = ParseError;

    /// Parses two times with a slash between them. A date means a whole day.
    ///
    /// # Errors
    ///
    /// - `"2024-03-05"`: no slash
    /// - `"2024-03-05/noon"`: not a time
    /// - `"2024-03-06/2024-03-05"`: it ends before it begins
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (start, end) = text.split_once('/').ok_or_else(|| {
            let example = "2024-03-05T01:00/2024-03-05T07:30";
            ParseError::new(format!("{} is not START/END, such as {example}", quoted(text)))
        })?;
        let (start, end): (Moment, Moment) = (start.parse()?, end.parse()?);
        ScanPeriod::new(start.first_instant(), end.last_instant())
    }
}

impl fmt::Display for ScanPeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_takes_from_one_time_to_another() {
        let shown = |text: &str| text.parse::<ScanPeriod>().map(|it| it.to_string());
        assert_eq!(
            shown("2024-03-05T01:00/2024-03-05T07:30").unwrap(),
            "2024-03-05T01:00:00Z/2024-03-05T07:30:00Z"
        );
        assert_eq!(
            shown("2024-03-05/2024-03-05").unwrap(),
            "2024-03-05T00:00:00Z/2024-03-05T23:59:59.999999Z"
        );
        for wrong in ["2024-03-05", "2024-03-05/noon", "/", "2024-03-06/2024-03-05"] {
            assert!(shown(wrong).is_err(), "{wrong}");
        }
    }
}
