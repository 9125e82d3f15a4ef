//! What a dataset is about: its keywords, and the time that it covers.

use std::fmt;
use std::str::FromStr;

use super::message::{ValueError, quoted};
use super::moment::Moment;

/// A keyword of a dataset: one line that is not blank, without white space at its ends.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Keyword(Box<str>);

impl Keyword {
    /// The greatest length of a keyword, in characters.
    pub const MAX_CHARS: usize = 200;

    /// Returns the keyword as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Keyword {
    type Err = ValueError;

    /// Removes white space at the ends.
    ///
    /// # Errors
    ///
    /// - `" "`, or 201 characters: the length
    /// - `"a\nb"`: a control character
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let keyword = text.trim();
        let chars = keyword.chars().count();
        if chars == 0 || chars > Keyword::MAX_CHARS || keyword.contains(char::is_control) {
            let max = Keyword::MAX_CHARS;
            let given = quoted(text);
            let message =
                format!("a keyword has 1 to {max} characters on one line, unlike {given}");
            return Err(ValueError::new(message));
        }
        Ok(Keyword(keyword.into()))
    }
}

/// The time that the data of a dataset are about: an ISO 8601 interval of dates or instants, of which
/// one end may be open.
///
/// # Examples
///
/// ```
/// use accession::model::Temporal;
///
/// let temporal: Temporal = "2001-01-01/..".parse()?;
/// assert_eq!(temporal.to_string(), "2001-01-01/..");
/// assert!("2001-01-02/2001-01-01".parse::<Temporal>().is_err());
/// # Ok::<(), accession::model::ValueError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Temporal {
    /// `None` means that the interval has no known start.
    start: Option<Moment>,
    /// `None` means that the interval has not ended.
    end: Option<Moment>,
}

impl FromStr for Temporal {
    type Err = ValueError;

    /// # Errors
    ///
    /// - `"2001-01-01"`, `"a/b/c"`, `"../.."`: not two ends, one of them known
    /// - `"2001-02-30/.."`: not a time
    /// - `"2001-01-02/2001-01-01"`: reversed
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let form = || {
            let given = quoted(text);
            ValueError::new(format!(
                "a period is START/END: two dates or times, of which one may be .., unlike {given}"
            ))
        };
        let (start, end) = text.split_once('/').ok_or_else(form)?;
        if end.contains('/') {
            return Err(form());
        }
        let moment = |text: &str| match text {
            ".." => Ok(None),
            text => text.parse().map(Some),
        };
        let temporal = Temporal { start: moment(start)?, end: moment(end)? };
        match (temporal.start, temporal.end) {
            (None, None) => Err(form()),
            (Some(start), Some(end)) if end.last_instant() < start.first_instant() => {
                let message = format!("the period {} ends before it starts", quoted(text));
                Err(ValueError::new(message))
            }
            _ => Ok(temporal),
        }
    }
}

impl fmt::Display for Temporal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |f: &mut fmt::Formatter<'_>, moment: Option<Moment>| match moment {
            Some(moment) => moment.fmt(f),
            None => f.write_str(".."),
        };
        end(f, self.start)?;
        f.write_str("/")?;
        end(f, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyword_is_one_line() {
        assert_eq!(" sea ice ".parse::<Keyword>().unwrap().as_str(), "sea ice");
        assert!("é".repeat(200).parse::<Keyword>().is_ok());
        for text in ["", "  ", "a\nb", "a\u{1b}[2J", &"é".repeat(201)] {
            let error = text.parse::<Keyword>().unwrap_err().to_string();
            assert!(error.ends_with(&format!("unlike {}", quoted(text))), "{error}");
        }
    }

    #[test]
    fn an_interval_has_two_ends_in_order() {
        for (text, written) in [
            ("2001-01-01/2001-12-31", "2001-01-01/2001-12-31"),
            ("2001-01-01/2001-01-01", "2001-01-01/2001-01-01"),
            ("2001-01-01T12:00:00Z/2001-01-01", "2001-01-01T12:00:00Z/2001-01-01"),
            ("2001-01-01T01:00:00+01:00/..", "2001-01-01T00:00:00Z/.."),
            ("../2001-01-01", "../2001-01-01"),
        ] {
            assert_eq!(text.parse::<Temporal>().unwrap().to_string(), written);
        }
        let refused = |text: &str| text.parse::<Temporal>().unwrap_err().to_string();
        for text in ["", "2001-01-01", "../..", "2001-01-01/2001-01-02/2001-01-03"] {
            assert!(refused(text).starts_with("a period is START/END"), "{text}");
        }
        for (text, time) in [
            ("/", ""),
            ("2001-02-30/..", "2001-02-30"),
            ("../2001", "2001"),
            ("2001-01-01/", ""),
            ("a/b", "a"),
        ] {
            assert_eq!(refused(text), time.parse::<Moment>().unwrap_err().to_string(), "{text}");
        }
        for text in ["2001-01-02/2001-01-01", "2001-01-02/2001-01-01T23:59:59Z"] {
            assert!(refused(text).ends_with("ends before it starts"), "{text}");
        }
    }
}
