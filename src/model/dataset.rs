//! A dataset: its name, and the record that citations draw on.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::{Identifier, quoted};

/// The name of a dataset in a register.
///
/// # Syntax
///
/// 1 to 200 ASCII letters, digits and `. _ - : /`. No `@`, which parts name and time in
/// `NAME@TIME`; and nothing that reads as an [`Identifier`], with or without `DI:`, since commands
/// take either in one place.
///
/// # Examples
///
/// ```
/// use accession::DatasetName;
///
/// assert!("US.FOOL2.002".parse::<DatasetName>().is_ok());
/// assert!("FOOL2@2001-01-02".parse::<DatasetName>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatasetName(Box<str>);

impl DatasetName {
    /// The longest name there may be, in characters.
    pub const MAX_CHARS: usize = 200;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text is no dataset name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetNameError {
    /// No characters, or more than [`DatasetName::MAX_CHARS`].
    #[error("a dataset name has 1 to 200 characters, this one has {chars}")]
    Length {
        /// How many it has.
        chars: usize,
    },
    /// A character that names do not have.
    #[error(
        "a dataset name has letters, digits and . _ - : / only, {} holds {}",
        quoted(name),
        quoted(character)
    )]
    Character {
        /// The name as given.
        name: String,
        /// The first such character.
        character: String,
    },
    /// A name that would be read as an identifier.
    #[error("{} would be read as an identifier, not as a dataset name", quoted(name))]
    ReadsAsIdentifier {
        /// The name as given.
        name: String,
    },
}

impl FromStr for DatasetName {
    type Err = DatasetNameError;

    /// # Errors
    ///
    /// - `""`, or 201 characters: the length
    /// - `"FOOL2@2001-01-02"`, `"my data"`, `"größe"`: a character that names do not have
    /// - `"763122197bfb3ffbf0da14adbfb1b13b"`: would be read as an identifier
    fn from_str(text: &str) -> Result<Self, DatasetNameError> {
        let chars = text.chars().count();
        if chars == 0 || chars > DatasetName::MAX_CHARS {
            return Err(DatasetNameError::Length { chars });
        }
        let is_allowed = |character: &char| {
            character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-' | ':' | '/')
        };
        if let Some(character) = text.chars().find(|character| !is_allowed(character)) {
            let character = character.to_string();
            return Err(DatasetNameError::Character { name: text.to_owned(), character });
        }
        if text.parse::<Identifier>().is_ok() {
            return Err(DatasetNameError::ReadsAsIdentifier { name: text.to_owned() });
        }
        Ok(DatasetName(text.into()))
    }
}

impl fmt::Display for DatasetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for DatasetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Borrow<str> for DatasetName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Serialize for DatasetName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A digital object identifier, bare: `10.9999/US/FOOL2.v2`.
///
/// # Syntax
///
/// Read with or without `doi:` or the address of a resolver before it, any case. Kept and written
/// without: `10.`, digits with further dots, `/`, and a suffix without spaces or control
/// characters (ISO 26324; the DOI Handbook, 2.2).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Doi(Box<str>);

impl Doi {
    /// The bare DOI.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text is no DOI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a DOI looks like 10.5067/ABC/123, {} does not", quoted(text))]
pub struct DoiError {
    text: String,
}

impl FromStr for Doi {
    type Err = DoiError;

    /// # Errors
    ///
    /// - `"US/FOOL2"`: does not begin with `10.` and digits
    /// - `"10.9999"`: no suffix
    /// - `"10.9999/a b"`: a space
    fn from_str(text: &str) -> Result<Self, DoiError> {
        const BEFORE: [&str; 5] = [
            "https://doi.org/",
            "http://doi.org/",
            "https://dx.doi.org/",
            "http://dx.doi.org/",
            "doi:",
        ];
        let starts_with = |prefix: &&str| {
            text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        };
        let bare = match BEFORE.iter().find(|prefix| starts_with(prefix)) {
            Some(prefix) => text[prefix.len()..].trim_start(),
            None => text,
        };
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let is_doi = bare.strip_prefix("10.").and_then(|rest| rest.split_once('/')).is_some_and(
            |(registrant, suffix)| {
                registrant.split('.').all(is_number)
                    && !suffix.is_empty()
                    && !suffix.chars().any(|c| c.is_whitespace() || c.is_control())
            },
        );
        if is_doi { Ok(Doi(bare.into())) } else { Err(DoiError { text: text.to_owned() }) }
    }
}

impl fmt::Display for Doi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Serialize for Doi {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A year of publication, 1000 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Year(u16);

impl Year {
    /// The year as a number.
    pub const fn as_number(self) -> u16 {
        self.0
    }
}

/// Why a text or number is no year of publication.
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
    /// `"99"`, `"20010"`, `"MMI"`: not four digits.
    fn from_str(text: &str) -> Result<Self, YearError> {
        text.parse::<u16>().map_err(|_| YearError)?.try_into()
    }
}

impl fmt::Display for Year {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a register knows of a dataset besides its granules: the record that citations draw on.
///
/// Its fields, in this order, are those of `dataset` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dataset {
    /// Its name in this register.
    pub name: DatasetName,
    /// Its DOI.
    pub doi: Option<Doi>,
    /// Its title.
    pub title: Option<String>,
    /// Who made it, in the order of the citation.
    pub creators: Vec<String>,
    /// Who publishes it.
    pub publisher: Option<String>,
    /// Its version, as the producer names it: "001" is not "1".
    pub version: Option<String>,
    /// The year it was published.
    pub year: Option<Year>,
    /// Where it is to be found.
    pub url: Option<String>,
    /// The archive whose holdings this register records.
    pub archive: Option<String>,
}

impl Dataset {
    /// A record that has nothing but a name.
    pub fn named(name: DatasetName) -> Self {
        Dataset {
            name,
            doi: None,
            title: None,
            creators: Vec::new(),
            publisher: None,
            version: None,
            year: None,
            url: None,
            archive: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_names_say_why() {
        let cases = [
            ("", "a dataset name has 1 to 200 characters, this one has 0"),
            (&"a".repeat(201), "a dataset name has 1 to 200 characters, this one has 201"),
            ("A@B", "a dataset name has letters, digits and . _ - : / only, \"A@B\" holds \"@\""),
            (
                "A\u{1b}",
                "a dataset name has letters, digits and . _ - : / only, \"A\\u{1b}\" holds \"\\u{1b}\"",
            ),
            (
                "DI:763122197bfb3ffbf0da14adbfb1b13b",
                "\"DI:763122197bfb3ffbf0da14adbfb1b13b\" would be read as an identifier, not as a dataset name",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(text.parse::<DatasetName>().unwrap_err().to_string(), message);
        }
        assert!("a".repeat(200).parse::<DatasetName>().is_ok());
        assert!("10.5067/ABC:1_2-3".parse::<DatasetName>().is_ok());
    }

    #[test]
    fn a_doi_is_kept_bare() {
        for text in [
            "10.9999/US/FOOL2.v2",
            "doi:10.9999/US/FOOL2.v2",
            "DOI: 10.9999/US/FOOL2.v2",
            "https://doi.org/10.9999/US/FOOL2.v2",
            "http://dx.doi.org/10.9999/US/FOOL2.v2",
        ] {
            assert_eq!(text.parse::<Doi>().unwrap().as_str(), "10.9999/US/FOOL2.v2");
        }
        for text in
            ["", "10.9999", "10./a", "10.99a/b", "11.9999/a", "10.9999/", "10.9999/a b", "US/FOOL2"]
        {
            assert!(text.parse::<Doi>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_year_has_four_digits() {
        assert_eq!("2001".parse::<Year>().unwrap().as_number(), 2001);
        for text in ["", "99", "999", "10000", "-2001", "MMI"] {
            assert_eq!(text.parse::<Year>(), Err(YearError), "{text}");
        }
    }
}
