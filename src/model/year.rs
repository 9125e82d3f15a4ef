//! The year in which a dataset was published.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// A year of publication, from 1000 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Year(u16);

impl Year {
    /// Returns the year as a number.
    pub const fn as_number(self) -> u16 {
        self.0
    }
}

/// Why a string or a number is not a year of publication.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a year has four digits, 1000 to 9999")]
pub struct YearError;

impl TryFrom<u16> for Year {
    type Error = YearError;

    fn try_from(number: u16) -> Result<Self, YearError> {
        if (1_000..=9_999).contains(&number) { Ok(Year(number)) } else { Err(YearError) }
    }
}

impl FromStr for Year {
    type Err = YearError;

    /// # Errors
    ///
    /// - `"99"`, `"20010"`, `"02001"`: not four digits
    /// - `"+2001"`, `"MMI"`: characters that are not digits
    fn from_str(text: &str) -> Result<Self, YearError> {
        // `u16` would also read a sign and leading zeros.
        if text.len() != 4 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(YearError);
        }
        text.parse::<u16>().map_err(|_| YearError)?.try_into()
    }
}

impl fmt::Display for Year {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_has_exactly_four_digits() {
        assert_eq!("2001".parse::<Year>().unwrap().as_number(), 2001);
        assert_eq!("1000".parse::<Year>().unwrap().to_string(), "1000");
        let refused = [
            "", "99", "999", "0999", "10000", "-2001", "+2001", "+999", "02001", " 2001", "MMI",
            "２",
        ];
        for text in refused {
            assert_eq!(text.parse::<Year>(), Err(YearError), "{text}");
        }
        assert_eq!(YearError.to_string(), "a year has four digits, 1000 to 9999");
    }
}
