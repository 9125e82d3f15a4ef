//! The creators of a dataset, and the identifiers of people at orcid.org.

use std::fmt;
use std::str::FromStr;

use super::message::{ParseError, quoted, strip_prefix_of_any_case};

/// A creator of a dataset: a person or an organisation.
///
/// # Syntax
///
/// A person is written `Family, Given`, or `Family,` if there is only one name. Anything without a
/// comma is an organisation. An organisation with a comma in its name is written in braces, as in
/// BibTeX: `{University of California, Santa Barbara}`. A person's ORCID follows in parentheses:
/// `Carberry, Josiah (0000-0002-1825-0097)`; it may have `https://orcid.org/` before it.
///
/// # Examples
///
/// ```
/// use accession::dataset::Creator;
///
/// let creator: Creator = "Carberry, Josiah (https://orcid.org/0000-0002-1825-0097)".parse()?;
/// assert!(matches!(&creator, Creator::Person { family, .. } if family == "Carberry"));
/// assert_eq!(creator.to_string(), "Carberry, Josiah (0000-0002-1825-0097)");
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Creator {
    /// A person, made by [`Creator::person`].
    #[non_exhaustive]
    Person {
        /// The family name, or the only name.
        family: String,
        /// The given names. Empty if there are none.
        given: String,
        /// The ORCID. `None` if it is not known.
        orcid: Option<Orcid>,
    },
    /// An organisation, made by [`Creator::organisation`].
    #[non_exhaustive]
    Organisation {
        /// The name.
        name: String,
    },
}

impl FromStr for Creator {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `""`, `", Given"`, `"{}"`: no name
    /// - `"Carberry, Josiah (0000-0002-1825-0098)"`: an ORCID with a wrong check digit
    /// - `"Brown University (0000-0002-1825-0097)"`: an organisation with an ORCID
    fn from_str(text: &str) -> Result<Self, ParseError> {
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
                    return Err(ParseError::new(format!(
                        "an ORCID belongs to a person, \"Family, Given\", and {} is an organisation",
                        quoted(&name)
                    )));
                }
                Creator::Organisation { name }
            }
        };
        if creator.name().is_empty() { Err(no_name()) } else { Ok(creator) }
    }
}

fn no_name() -> ParseError {
    ParseError::new("a creator has a name: \"Family, Given\", or the name of an organisation")
}

/// Splits a name from the ORCID in parentheses after it. Text that looks like an ORCID must be valid.
fn split_orcid(text: &str) -> Result<(&str, Option<Orcid>), ParseError> {
    let parts = text.strip_suffix(')').and_then(|text| text.rsplit_once('('));
    let Some((name, inside)) = parts.filter(|(_, inside)| looks_like_orcid(inside)) else {
        return Ok((text, None));
    };
    let wrong = |cause| ParseError::new(format!("{}: {cause}", quoted(text)));
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
    /// Makes a person. `given` is empty if there is only one name.
    ///
    /// # Errors
    ///
    /// - `("", "Curt")`: it has no name
    /// - `("Foo, Inc", "X")`: it would be parsed as a different creator
    pub fn person(family: &str, given: &str, orcid: Option<Orcid>) -> Result<Self, ParseError> {
        let [family, given] = [family, given].map(|part| part.trim().to_owned());
        Creator::Person { family, given, orcid }.unambiguous()
    }

    /// Makes an organisation.
    ///
    /// # Errors
    ///
    /// - `""`: it has no name
    pub fn organisation(name: &str) -> Result<Self, ParseError> {
        Creator::Organisation { name: name.trim().to_owned() }.unambiguous()
    }

    /// Returns the creator if its written form is parsed as the same creator.
    fn unambiguous(self) -> Result<Self, ParseError> {
        if self.name().is_empty() {
            return Err(no_name());
        }
        let written = self.to_string();
        match written.parse() {
            Ok(read) if self == read => Ok(self),
            _ => Err(ParseError::new(format!(
                "{} would be read as another creator: a family name has no comma and does not begin with a brace",
                quoted(&written)
            ))),
        }
    }

    /// Returns the family name of a person, or the name of an organisation.
    pub fn name(&self) -> &str {
        match self {
            Creator::Person { family, .. } => family,
            Creator::Organisation { name } => name,
        }
    }

    /// Returns the whole name as citations write it: `Family, Given, Suffix`, or the name of the
    /// organisation.
    pub fn full_name(&self) -> String {
        let (given, suffix) = self.given_and_suffix();
        let parts = [self.name(), given, suffix].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(", ")
    }

    /// Returns the given names of a person and the suffix of the whole name, such as `Jr.`. The suffix may be
    /// written after the given names or, as in BibTeX, before them. A missing part is empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use accession::dataset::Creator;
    ///
    /// for text in ["King, Martin, Jr.", "King, Jr., Martin"] {
    ///     let king: Creator = text.parse()?;
    ///     assert_eq!(king.given_and_suffix(), ("Martin", "Jr."));
    /// }
    /// # Ok::<(), accession::ParseError>(())
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

    /// Returns the ORCID of a person. `None` means that it is not known, or that the creator is an
    /// organisation.
    pub fn orcid(&self) -> Option<&Orcid> {
        match self {
            Creator::Person { orcid, .. } => orcid.as_ref(),
            Creator::Organisation { .. } => None,
        }
    }
}

impl fmt::Display for Creator {
    /// Writes the creator so that it is parsed as the same creator.
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
                // Braces are also needed if the name would otherwise lose its own, or its end would be parsed
                // as an ORCID.
                let is_plain =
                    !name.contains(',') && !name.starts_with('{') && !name.ends_with(')');
                if is_plain { f.write_str(name) } else { write!(f, "{{{name}}}") }
            }
        }
    }
}

/// The identifier of a person, issued by orcid.org.
///
/// # Syntax
///
/// Sixteen digits in groups of four, the last of which is a check digit that can be `X` (ISO 7064
/// MOD 11-2). It is read with or without `https://orcid.org/` before it, and written without.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Orcid(Box<str>);

impl Orcid {
    /// Returns its sixteen digits, in groups of four.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns its address, `https://orcid.org/…`.
    pub fn address(&self) -> String {
        format!("https://orcid.org/{}", self.0)
    }
}

/// Removes the resolver's address, as people and reference managers write it.
fn without_resolver(text: &str) -> &str {
    let without = |text, prefix: &str| strip_prefix_of_any_case(text, prefix).unwrap_or(text);
    let host = ["https://", "http://", "www."].into_iter().fold(text, without);
    strip_prefix_of_any_case(host, "orcid.org/").unwrap_or(text)
}

impl FromStr for Orcid {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `"0000-0002-1825"`: not sixteen digits
    /// - `"0000-0002-1825-0098"`: the check digit should be 7
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bare = without_resolver(text.trim()).to_ascii_uppercase();
        let form = || {
            let given = quoted(text);
            ParseError::new(format!(
                "an ORCID looks like 0000-0002-1825-0097, but {given} does not"
            ))
        };
        if !looks_like_orcid(&bare) {
            return Err(form());
        }
        let (digits, check) = bare.split_at(18);
        let mut total = 0;
        for digit in digits.chars().filter(|character| *character != '-') {
            total = (total + digit.to_digit(10).ok_or_else(form)?) * 2 % 11;
        }
        let expected = char::from_digit((12 - total) % 11, 10).unwrap_or('X');
        if check.starts_with(expected) {
            Ok(Orcid(bare.into()))
        } else if check.starts_with(|digit: char| digit.is_ascii_digit() || digit == 'X') {
            Err(ParseError::new(format!("the check digit of {bare} is wrong")))
        } else {
            Err(form())
        }
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
    fn a_suffix_is_separated_from_the_given_names() {
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
    fn every_creator_is_read_as_it_is_written() {
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
        assert!(ambiguous.to_string().contains("would be read as another creator"), "{ambiguous}");
    }

    #[test]
    fn refused_creators_have_a_reason() {
        for text in ["", " ", ",", ", Given", "{}", "{ }"] {
            assert_eq!(text.parse::<Creator>(), Err(no_name()), "{text}");
        }
        let error = "Carberry, J. (0000-0002-1825-0098)".parse::<Creator>().unwrap_err();
        assert!(error.to_string().ends_with("the check digit of 0000-0002-1825-0098 is wrong"));
        let error = "Brown University (0000-0002-1825-0097)".parse::<Creator>().unwrap_err();
        assert!(error.to_string().starts_with("an ORCID belongs to a person"), "{error}");
    }

    #[test]
    fn every_wrong_check_digit_is_refused() {
        for digit in "0123456789X".chars() {
            let text = format!("0000-0002-1825-009{digit}");
            assert_eq!(text.parse::<Orcid>().is_ok(), digit == '7', "{text}");
        }
        for text in
            ["", "0000-0002-1825", "0000000218250097", "0000-0002-1825-00é", "000a-0002-1825-0097"]
        {
            let error = text.parse::<Orcid>().unwrap_err().to_string();
            assert!(error.starts_with("an ORCID looks like"), "{error}");
        }
    }
}
