//! The identifiers of people at orcid.org.

use std::fmt;
use std::str::FromStr;

use super::quoted::quoted;

/// The identifier of a person, issued by orcid.org.
///
/// # Syntax
///
/// Sixteen digits in groups of four, the last of which is a check digit that can be `X` (ISO 7064
/// MOD 11-2). It is read with or without `https://orcid.org/` before it, and written without.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Orcid(Box<str>);

/// Why a string is not an ORCID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrcidError {
    /// Not four groups of four digits.
    #[error("an ORCID looks like 0000-0002-1825-0097, but {} does not", quoted(text))]
    Form {
        /// The string as it was given.
        text: String,
    },
    /// A check digit that does not match the other digits.
    #[error("the check digit of {text} is wrong")]
    CheckDigit {
        /// The string as it was given.
        text: String,
    },
}

impl Orcid {
    /// Returns its address, `https://orcid.org/…`.
    pub fn address(&self) -> String {
        format!("https://orcid.org/{}", self.0)
    }
}

/// Removes the resolver's address, as people and reference managers write it.
pub(super) fn without_resolver(text: &str) -> &str {
    let without = |text, prefix: &str| strip_prefix_of_any_case(text, prefix).unwrap_or(text);
    let host = ["https://", "http://", "www."].into_iter().fold(text, without);
    strip_prefix_of_any_case(host, "orcid.org/").unwrap_or(text)
}

fn strip_prefix_of_any_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

impl FromStr for Orcid {
    type Err = OrcidError;

    /// # Errors
    ///
    /// - `"0000-0002-1825"`: not sixteen digits
    /// - `"0000-0002-1825-0098"`: the check digit should be 7
    fn from_str(text: &str) -> Result<Self, OrcidError> {
        let bare = without_resolver(text.trim()).to_ascii_uppercase();
        let form = || OrcidError::Form { text: text.to_owned() };
        let groups: Vec<&str> = bare.split('-').collect();
        if !bare.is_ascii() || groups.len() != 4 || groups.iter().any(|group| group.len() != 4) {
            return Err(form());
        }
        let (digits, check) = bare.split_at(18);
        let mut total = 0;
        for digit in digits.chars().filter(|character| *character != '-') {
            total = (total + digit.to_digit(10).ok_or_else(form)?) * 2 % 11;
        }
        let expected = match (12 - total) % 11 {
            10 => "X".to_owned(),
            digit => digit.to_string(),
        };
        if !check.bytes().all(|byte| byte.is_ascii_digit() || byte == b'X') {
            return Err(form());
        }
        if check == expected {
            Ok(Orcid(bare.into()))
        } else {
            Err(OrcidError::CheckDigit { text: bare })
        }
    }
}

impl fmt::Display for Orcid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_check_digit_is_refused() {
        for digit in "0123456789X".chars() {
            let text = format!("0000-0002-1825-009{digit}");
            assert_eq!(text.parse::<Orcid>().is_ok(), digit == '7', "{text}");
        }
        for text in
            ["", "0000-0002-1825", "0000000218250097", "0000-0002-1825-00é", "000a-0002-1825-0097"]
        {
            assert!(matches!(text.parse::<Orcid>(), Err(OrcidError::Form { .. })), "{text}");
        }
    }
}
