//! Who made a dataset.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::quoted;

/// Who made a dataset: a person, or an organisation.
///
/// # Syntax
///
/// A person is `Family, Given` (or `Family,` for one with a single name); anything without a comma
/// is an organisation. An organisation with a comma in its name stands in braces, as in BibTeX:
/// `{University of California, Santa Barbara}`. An ORCID follows in parentheses:
/// `Carberry, Josiah (0000-0002-1825-0097)`; it is also read with `https://orcid.org/` before it.
///
/// # Examples
///
/// ```
/// use accession::Creator;
///
/// let creator: Creator = "Carberry, Josiah (https://orcid.org/0000-0002-1825-0097)".parse()?;
/// assert!(matches!(&creator, Creator::Person { family, .. } if family == "Carberry"));
/// assert_eq!(creator.to_string(), "Carberry, Josiah (0000-0002-1825-0097)");
/// # Ok::<(), accession::CreatorError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Creator {
    /// One person; made by [`Creator::person`].
    #[non_exhaustive]
    Person {
        /// The family name, or the only one.
        family: String,
        /// The given names; empty where there are none.
        given: String,
        /// Their ORCID.
        orcid: Option<Orcid>,
    },
    /// A body of persons; made by [`Creator::organisation`].
    #[non_exhaustive]
    Organisation {
        /// Its name.
        name: String,
    },
}

/// Why a text is no creator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CreatorError {
    /// No name.
    #[error("a creator has a name: \"Family, Given\", or that of an organisation")]
    NoName,
    /// An ORCID that cannot be one.
    #[error("{}: {cause}", quoted(creator))]
    Orcid {
        /// The creator as given.
        creator: String,
        /// What is wrong with it.
        cause: OrcidError,
    },
    /// A name that could not be told from another's once it is written.
    #[error(
        "{} would be read as another: a family name has no comma, and begins with no brace",
        quoted(written)
    )]
    Ambiguous {
        /// The creator as it would be written.
        written: String,
    },
    /// An ORCID behind the name of an organisation.
    #[error("an ORCID belongs to a person, \"Family, Given\", and {} is none", quoted(name))]
    OrcidOfOrganisation {
        /// The name.
        name: String,
    },
}

impl FromStr for Creator {
    type Err = CreatorError;

    /// # Errors
    ///
    /// - `""`, `", Given"`, `"{}"`: no name
    /// - `"Carberry, Josiah (0000-0002-1825-0098)"`: an ORCID with a wrong check digit
    /// - `"Brown University (0000-0002-1825-0097)"`: an organisation with an ORCID
    fn from_str(text: &str) -> Result<Self, CreatorError> {
        let (name, orcid) = split_orcid(text.trim())?;
        let braced = name.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
        let creator = match (braced, name.split_once(',')) {
            (None, Some((family, given))) => {
                let [family, given] = [family, given].map(|part| part.trim().to_owned());
                Creator::Person { family, given, orcid }
            }
            (braced, _) => {
                let name = braced.unwrap_or(name).trim().to_owned();
                if orcid.is_some() {
                    return Err(CreatorError::OrcidOfOrganisation { name });
                }
                Creator::Organisation { name }
            }
        };
        if creator.name().is_empty() { Err(CreatorError::NoName) } else { Ok(creator) }
    }
}

/// The name, and the ORCID in parentheses behind it: what looks like one must be one.
fn split_orcid(text: &str) -> Result<(&str, Option<Orcid>), CreatorError> {
    let parts = text.strip_suffix(')').and_then(|text| text.rsplit_once('('));
    let Some((name, inside)) = parts.filter(|(_, inside)| looks_like_orcid(inside)) else {
        return Ok((text, None));
    };
    let wrong = |cause| CreatorError::Orcid { creator: text.to_owned(), cause };
    Ok((name.trim_end(), Some(inside.parse().map_err(wrong)?)))
}

fn looks_like_orcid(text: &str) -> bool {
    let text = without_resolver(text);
    text.len() == 19
        && text.bytes().enumerate().all(|(index, byte)| match index {
            4 | 9 | 14 => byte == b'-',
            _ => byte.is_ascii_alphanumeric(),
        })
}

impl Creator {
    /// A person; `given` is empty where there is one name only.
    ///
    /// # Errors
    ///
    /// [`CreatorError::NoName`]; [`CreatorError::Ambiguous`]: what is written would be read as
    /// somebody else.
    pub fn person(family: &str, given: &str, orcid: Option<Orcid>) -> Result<Self, CreatorError> {
        let [family, given] = [family, given].map(|part| part.trim().to_owned());
        Creator::Person { family, given, orcid }.unambiguous()
    }

    /// An organisation.
    ///
    /// # Errors
    ///
    /// [`CreatorError::NoName`].
    pub fn organisation(name: &str) -> Result<Self, CreatorError> {
        Creator::Organisation { name: name.trim().to_owned() }.unambiguous()
    }

    /// Itself, if it is read again as it is written.
    fn unambiguous(self) -> Result<Self, CreatorError> {
        if self.name().is_empty() {
            return Err(CreatorError::NoName);
        }
        let written = self.to_string();
        match written.parse() {
            Ok(read) if self == read => Ok(self),
            _ => Err(CreatorError::Ambiguous { written }),
        }
    }

    /// The family name of a person, or the name of an organisation.
    pub fn name(&self) -> &str {
        match self {
            Creator::Person { family, .. } => family,
            Creator::Organisation { name } => name,
        }
    }

    /// The whole name as citations write it: `Family, Given, Suffix`, or that of the organisation.
    pub fn full_name(&self) -> String {
        let (given, suffix) = self.given_and_suffix();
        let parts = [self.name(), given, suffix].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(", ")
    }

    /// The given names of a person and what follows the whole name, as `Jr.`: read behind them or,
    /// as in BibTeX, before them. Empty where there is none.
    ///
    /// # Examples
    ///
    /// ```
    /// use accession::Creator;
    ///
    /// for text in ["King, Martin, Jr.", "King, Jr., Martin"] {
    ///     let king: Creator = text.parse()?;
    ///     assert_eq!(king.given_and_suffix(), ("Martin", "Jr."));
    /// }
    /// # Ok::<(), accession::CreatorError>(())
    /// ```
    pub fn given_and_suffix(&self) -> (&str, &str) {
        const SUFFIXES: [&str; 7] = ["Jr", "Jr.", "Sr", "Sr.", "II", "III", "IV"];
        let Creator::Person { given, .. } = self else {
            return ("", "");
        };
        match (given.split_once(", "), given.rsplit_once(", ")) {
            (Some((suffix, given)), _) if SUFFIXES.contains(&suffix) => (given, suffix),
            (_, Some((given, suffix))) => (given, suffix),
            _ => (given, ""),
        }
    }

    /// The ORCID of a person.
    pub fn orcid(&self) -> Option<&Orcid> {
        match self {
            Creator::Person { orcid, .. } => orcid.as_ref(),
            Creator::Organisation { .. } => None,
        }
    }
}

impl fmt::Display for Creator {
    /// Writes what reads as the same creator again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Creator::Person { family, given, orcid } => {
                write!(f, "{family},")?;
                if !given.is_empty() {
                    write!(f, " {given}")?;
                }
                match orcid {
                    Some(orcid) => write!(f, " ({orcid})"),
                    None => Ok(()),
                }
            }
            Creator::Organisation { name } => {
                // Braces also for a name that would otherwise lose its own, or read as an ORCID.
                let is_plain =
                    !name.contains(',') && !name.starts_with('{') && !name.ends_with(')');
                if is_plain { f.write_str(name) } else { write!(f, "{{{name}}}") }
            }
        }
    }
}

impl Serialize for Creator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The identifier of a person at orcid.org.
///
/// # Syntax
///
/// Sixteen digits in groups of four, the last of them a check digit that may be `X` (ISO 7064
/// MOD 11-2). Read with or without `https://orcid.org/` before it, written without.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Orcid(Box<str>);

/// Why a text is no ORCID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrcidError {
    /// Not four groups of four digits.
    #[error("an ORCID looks like 0000-0002-1825-0097, {} does not", quoted(text))]
    Form {
        /// The text as given.
        text: String,
    },
    /// The last digit does not fit the others: it was mistyped.
    #[error("the check digit of {text} is wrong")]
    CheckDigit {
        /// The text as given.
        text: String,
    },
}

impl Orcid {
    /// Its address, `https://orcid.org/…`.
    pub fn address(&self) -> String {
        format!("https://orcid.org/{}", self.0)
    }
}

/// Behind the resolver's address, as people and reference managers write it.
fn without_resolver(text: &str) -> &str {
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
    /// - `"0000-0002-1825-0098"`: the check digit would be 7
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
    fn a_creator_is_written_as_it_is_read() {
        let cases = [
            ("Tilmes, Curt", "Tilmes, Curt"),
            ("  Tilmes ,  Curt ", "Tilmes, Curt"),
            ("Suharto,", "Suharto,"),
            ("US Archive", "US Archive"),
            (
                "{University of California, Santa Barbara}",
                "{University of California, Santa Barbara}",
            ),
            ("{US Archive}", "US Archive"),
            ("値, 太郎", "値, 太郎"),
            (
                "Carberry, Josiah (orcid.org/0000-0002-1825-0097)",
                "Carberry, Josiah (0000-0002-1825-0097)",
            ),
            (
                "Carberry, Josiah (https://www.ORCID.org/0000-0002-1825-0097)",
                "Carberry, Josiah (0000-0002-1825-0097)",
            ),
            ("Hawking, S. (0000-0002-9079-593x)", "Hawking, S. (0000-0002-9079-593X)"),
            ("NSIDC (CIRES)", "{NSIDC (CIRES)}"),
            ("MIT (Department of Phys.)", "{MIT (Department of Phys.)}"),
            ("King, Jr., Martin", "King, Jr., Martin"),
        ];
        for (text, written) in cases {
            let creator: Creator = text.parse().unwrap();
            assert_eq!(creator.to_string(), written);
            assert_eq!(written.parse::<Creator>().unwrap(), creator);
        }
    }

    #[test]
    fn what_follows_a_name_is_told_from_the_given_names() {
        let cases = [
            ("King, Martin, Jr.", ("Martin", "Jr."), "King, Martin, Jr."),
            ("King, Jr., Martin", ("Martin", "Jr."), "King, Martin, Jr."),
            ("King, III, Martin Luther", ("Martin Luther", "III"), "King, Martin Luther, III"),
            ("Foo, A., B., MD", ("A., B.", "MD"), "Foo, A., B., MD"),
            ("Tilmes, Curt", ("Curt", ""), "Tilmes, Curt"),
            ("Suharto,", ("", ""), "Suharto"),
            ("{Sea, Air, and Land}", ("", ""), "Sea, Air, and Land"),
        ];
        for (text, parts, full) in cases {
            let creator: Creator = text.parse().unwrap();
            assert_eq!((creator.given_and_suffix(), creator.full_name().as_str()), (parts, full));
        }
    }

    #[test]
    fn whatever_can_be_made_is_read_as_it_is_written() {
        let parts =
            ["", "A", "{A", "A}", "{A}", "A, B", "A (0000-0002-1825-0097)", "(A)", "}", ",", "é "];
        let mut made = 0;
        for family in parts {
            let organisation = Creator::organisation(family);
            let people = parts.map(|given| Creator::person(family, given, None));
            for creator in people.into_iter().chain([organisation]).flatten() {
                assert_eq!(creator.to_string().parse(), Ok(creator));
                made += 1;
            }
        }
        assert!(made > 40, "{made}");
        let ambiguous = Creator::person("Foo, Inc", "X", None).unwrap_err();
        assert!(matches!(ambiguous, CreatorError::Ambiguous { .. }));
    }

    #[test]
    fn refused_creators_say_why() {
        for text in ["", " ", ",", ", Given", "{}", "{ }"] {
            assert_eq!(text.parse::<Creator>(), Err(CreatorError::NoName), "{text}");
        }
        let error = "Carberry, J. (0000-0002-1825-0098)".parse::<Creator>().unwrap_err();
        assert!(matches!(error, CreatorError::Orcid { cause: OrcidError::CheckDigit { .. }, .. }));
        let error = "Brown University (0000-0002-1825-0097)".parse::<Creator>().unwrap_err();
        assert!(matches!(error, CreatorError::OrcidOfOrganisation { .. }));
    }

    #[test]
    fn every_wrong_check_digit_is_found() {
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
