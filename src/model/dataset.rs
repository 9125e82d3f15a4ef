//! A dataset: its name, and the record that citations draw on.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::{Creator, Doi, Identifier, quoted};

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

impl Serialize for DatasetName {
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
    pub creators: Vec<Creator>,
    /// Who publishes it.
    pub publisher: Option<String>,
    /// Its version, as the producer names it: "001" is not "1".
    pub version: Option<String>,
    /// The year it was published.
    pub year: Option<Year>,
    /// Where it is to be found. Older registries have any text here: a citation carries it if it is
    /// a [`WebAddress`](super::WebAddress).
    pub url: Option<String>,
    /// The archive whose holdings this register records.
    pub archive: Option<String>,
    /// Under which licence it may be used: an SPDX identifier or an address. Not written where
    /// there is none: it came later than the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
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
            licence: None,
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
        assert_eq!(format!("{:?}", "A.1".parse::<DatasetName>().unwrap()), "\"A.1\"");
        assert!("10.5067/ABC:1_2-3".parse::<DatasetName>().is_ok());
    }

    #[test]
    fn a_year_has_four_digits() {
        assert_eq!("2001".parse::<Year>().unwrap().as_number(), 2001);
        for text in ["", "99", "999", "10000", "-2001", "MMI"] {
            assert_eq!(text.parse::<Year>(), Err(YearError), "{text}");
        }
    }
}
