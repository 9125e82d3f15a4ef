//! The metadata of a dataset: its fields, versions and corrections.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::{self, Deserializer, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::creator::Creator;
use super::dataset_name::DatasetName;
use super::history::{Confirmation, Instance, Withdrawal};
use super::licence::Licence;
use super::limit::Limits;
use super::message::{ParseError, quoted, strip_prefix_of_any_case};
use super::time::Moment;
use super::time::Timestamp;
use super::web_address::GranuleUrl;
use super::web_address::WebAddress;

/// The metadata of a dataset, from which citations are written: everything that a registry stores about it
/// besides its granules.
///
/// Its fields, in this order, are fields of `dataset` in the command line's JSON. `None` means that the field
/// is not set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetMetadata {
    /// The name in this registry.
    pub name: DatasetName,
    /// The DOI.
    pub doi: Option<Doi>,
    /// The title.
    pub title: Option<String>,
    /// A description of its content, for readers and search engines, usually 50 to 5,000 characters long.
    pub description: Option<String>,
    /// The creators, in the order of the citation.
    #[serde(default, deserialize_with = "creators")]
    pub creators: Vec<Creator>,
    /// The publisher.
    pub publisher: Option<String>,
    /// The version as the producer writes it: "001" is not "1".
    pub version: Option<String>,
    /// The year of publication.
    pub year: Option<Year>,
    /// The address of a page about the dataset.
    pub url: Option<WebAddress>,
    /// The licence under which the dataset may be used: an SPDX identifier or an address.
    pub licence: Option<Licence>,
    /// The archive whose holdings this registry records.
    pub archive: Option<String>,
    /// The template of the addresses of its granules.
    pub granule_url: Option<GranuleUrl>,
    /// The address of the site that citations name, which resolves `/DI:…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolver: Option<WebAddress>,
    /// Its keywords, for search engines.
    #[serde(default, deserialize_with = "keywords")]
    pub keywords: Vec<Keyword>,
    /// Whether everybody can read the data without paying. `None` means that this is not known.
    pub free_access: Option<bool>,
    /// The period that the data cover.
    pub temporal: Option<Temporal>,
}

/// Deserializes at most [`DatasetMetadata::MAX_NAMES`] creators.
fn creators<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Creator>, D::Error> {
    limited(deserializer, "creators")
}

/// Deserializes at most [`DatasetMetadata::MAX_NAMES`] keywords.
fn keywords<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Keyword>, D::Error> {
    limited(deserializer, "keywords")
}

/// Deserializes an array of at most [`DatasetMetadata::MAX_NAMES`] elements.
pub(crate) fn limited<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
    what: &str,
) -> Result<Vec<T>, D::Error> {
    let read = AtMost::<T, { DatasetMetadata::MAX_NAMES }>::deserialize(deserializer)?;
    match read.has_more {
        true => Err(D::Error::custom(format_args!(
            "the metadata has more than {} {what}",
            DatasetMetadata::MAX_NAMES
        ))),
        false => Ok(read.elements),
    }
}

impl DatasetMetadata {
    /// The greatest number of creators, keywords or former names that is read from JSON.
    pub const MAX_NAMES: usize = 10_000;

    /// Whether both have the same DOI in the same case. `==` ignores the case of a DOI.
    pub(crate) fn spells_doi_as(&self, other: &DatasetMetadata) -> bool {
        self.doi.as_ref().map(Doi::as_str) == other.doi.as_ref().map(Doi::as_str)
    }

    /// Returns metadata with a name only.
    pub fn named(name: DatasetName) -> Self {
        DatasetMetadata {
            name,
            doi: None,
            title: None,
            description: None,
            creators: Vec::new(),
            publisher: None,
            version: None,
            year: None,
            url: None,
            licence: None,
            archive: None,
            granule_url: None,
            resolver: None,
            keywords: Vec::new(),
            free_access: None,
            temporal: None,
        }
    }
}

/// The characters that must be encoded in the path of a URI (RFC 3986, 3.3), and the comma, which would end an
/// address in a sentence.
const NOT_IN_A_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@')
    .remove(b'/');

/// A digital object identifier without a prefix: `10.9999/US/FOOL2.v2`.
///
/// # Syntax
///
/// `10.`, digits that may contain further dots, `/`, and a suffix without white space or control characters
/// (ISO 26324; the DOI Handbook, 2.2). When read, it may have `doi:` or the address of a resolver before it, in
/// any case. It is written without them.
///
/// DOIs that differ only in the case of ASCII letters are equal (ISO 26324). Each is shown as it was written.
///
/// ```
/// use accession::Doi;
///
/// let doi: Doi = "https://doi.org/10.5067/ABC".parse()?;
/// assert_eq!(doi, "10.5067/abc".parse()?);
/// assert_eq!(doi.to_string(), "10.5067/ABC");
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Doi(Box<str>);

impl PartialEq for Doi {
    fn eq(&self, other: &Doi) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Doi {}

impl Ord for Doi {
    fn cmp(&self, other: &Doi) -> Ordering {
        self.in_lower_case().cmp(other.in_lower_case())
    }
}

impl PartialOrd for Doi {
    fn partial_cmp(&self, other: &Doi) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Doi {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.in_lower_case().for_each(|byte| state.write_u8(byte));
        // As in the hash of a string: no value is the prefix of another.
        state.write_u8(0xff);
    }
}

impl Doi {
    /// Returns the DOI without a prefix.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns its address at the resolver, `https://doi.org/…`. Characters that a URI cannot contain are
    /// encoded (DOI Handbook, 3.7; RFC 3986). Punctuation at the end is encoded, too, because in a sentence it
    /// would look like the sentence's own.
    pub fn address(&self) -> String {
        let end = self.0.trim_end_matches(|last: char| last.is_ascii_punctuation()).len();
        let (whole, marks) = self.0.split_at(end);
        let whole = utf8_percent_encode(whole, NOT_IN_A_PATH);
        let marks = utf8_percent_encode(marks, NON_ALPHANUMERIC);
        format!("https://doi.org/{whole}{marks}")
    }

    /// Returns the bytes, with ASCII letters in lower case.
    fn in_lower_case(&self) -> impl Iterator<Item = u8> {
        self.0.bytes().map(|byte| byte.to_ascii_lowercase())
    }
}

impl FromStr for Doi {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `"US/FOOL2"`: does not begin with `10.` and digits
    /// - `"10.9999"`: no suffix
    /// - `"10.9999/a b"`: a space
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const BEFORE: [&str; 5] = [
            "https://doi.org/",
            "http://doi.org/",
            "https://dx.doi.org/",
            "http://dx.doi.org/",
            "doi:",
        ];
        let mut without = BEFORE.iter().filter_map(|prefix| strip_prefix_of_any_case(text, prefix));
        let bare = without.next().map_or(text, str::trim_start);
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let is_doi = bare.strip_prefix("10.").and_then(|rest| rest.split_once('/')).is_some_and(
            |(registrant, suffix)| {
                registrant.split('.').all(is_number)
                    && !suffix.is_empty()
                    && !suffix.chars().any(|c| c.is_whitespace() || c.is_control())
            },
        );
        match is_doi {
            true => Ok(Doi(bare.into())),
            false => {
                let message = "a DOI looks like 10.5067/ABC/123, but";
                Err(ParseError::new(format!("{message} {} does not", quoted(text))))
            }
        }
    }
}

/// A year of publication, from 1000 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16")]
pub struct Year(u16);

impl Year {
    /// Returns the year as a number.
    pub(crate) const fn as_number(self) -> u16 {
        self.0
    }
}

fn not_a_year() -> ParseError {
    ParseError::new("a year has four digits, 1000 to 9999")
}

impl TryFrom<u16> for Year {
    type Error = ParseError;

    fn try_from(number: u16) -> Result<Self, ParseError> {
        if (1_000..=9_999).contains(&number) { Ok(Year(number)) } else { Err(not_a_year()) }
    }
}

impl FromStr for Year {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `"99"`, `"20010"`, `"02001"`: not four digits
    /// - `"+2001"`, `"MMI"`: characters that are not digits
    fn from_str(text: &str) -> Result<Self, ParseError> {
        // `u16` would also read a sign and leading zeros.
        if text.len() != 4 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(not_a_year());
        }
        text.parse::<u16>().map_err(|_| not_a_year())?.try_into()
    }
}

impl fmt::Display for Year {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A dataset with its latest instance.
///
/// Its fields are those of `dataset` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DatasetRecord {
    /// The metadata of the dataset.
    #[serde(flatten)]
    pub dataset: DatasetMetadata,
    /// When and why it was withdrawn. `None` means that it is not withdrawn.
    pub withdrawn: Option<Withdrawal>,
    /// Its former names, latest first. The dataset is still found by them.
    pub former_names: Vec<DatasetName>,
    /// The corrections of its history, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<Correction>,
    /// The limits on what a `sync` may delete, add and replace. `None` means that this is a public view: only
    /// the archive sees the limits.
    #[serde(flatten)]
    pub limits: Option<Limits>,
    /// The latest instance. `None` means that the dataset has no changes.
    pub latest: Option<Instance>,
    /// The latest `sync` that found the dataset equal to its listing. `None` means that no `sync` did.
    pub confirmed: Option<Confirmation>,
}

impl DatasetRecord {
    /// The latest `sync` that found the set in force equal to its listing. `None` means that no `sync` did
    /// since the latest change.
    pub fn confirmation_of_latest(&self) -> Option<&Confirmation> {
        let latest = self.latest.as_ref()?;
        self.confirmed.as_ref().filter(|confirmed| confirmed.recorded >= latest.recorded)
    }

    /// Whether it was found by a former name that another dataset may use, because this dataset is withdrawn.
    pub(crate) fn gives_up(&self, name: &DatasetName) -> bool {
        self.dataset.name != *name && self.withdrawn.is_some()
    }
}

/// A correction of the history of a dataset: the changes after a time were removed, and another dataset keeps
/// the uncorrected history.
///
/// Its fields, in this order, are those of `corrections` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Correction {
    /// When the history was corrected.
    pub recorded: Timestamp,
    /// The changes up to this time were kept. `None` means that no change was.
    pub after: Option<Timestamp>,
    /// The dataset that has the history from before the correction.
    pub kept_as: DatasetName,
}

/// The sentence about a correction, with its day, for notes, pages and messages.
impl fmt::Display for Correction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Correction { recorded, kept_as, .. } = self;
        write!(f, "the history was corrected on {}: {kept_as} has the earlier one", recorded.day())
    }
}

impl Correction {
    /// A correction.
    pub(crate) fn new(recorded: Timestamp, after: Option<Timestamp>, kept_as: DatasetName) -> Self {
        Correction { recorded, after, kept_as }
    }

    /// Whether the correction was made at or after the beginning of `at`.
    pub(crate) fn is_after(&self, at: Moment) -> bool {
        at.first_instant() <= self.recorded
    }
}

/// A version of a dataset's metadata.
///
/// Its fields are those of `show --versions` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MetadataVersion {
    /// The number of the version within the dataset, from 1.
    #[serde(skip)]
    pub version: u64,
    /// When it was recorded.
    pub recorded: Timestamp,
    /// Who recorded it. `None` means that this is not known.
    pub recorded_by: Option<String>,
    /// The action: `added`, `edited`, `renamed`, `withdrawn`, `reinstated` or `corrected`.
    pub action: String,
    /// The complete metadata after the action: the fields of `dataset` that are metadata, and `withdrawn`.
    pub dataset: serde_json::Value,
}

/// The elements of an array, counted while they are parsed. If the array has more than `MOST`, only the first
/// `MOST` are kept.
pub(crate) struct AtMost<T, const MOST: usize> {
    pub elements: Vec<T>,
    pub has_more: bool,
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for AtMost<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(AtMostVisitor(PhantomData))
    }
}

struct AtMostVisitor<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for AtMostVisitor<T, MOST> {
    type Value = AtMost<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let (mut elements, mut has_more) = (Vec::new(), false);
        while elements.len() < MOST {
            match array.next_element()? {
                Some(element) => elements.push(element),
                None => return Ok(AtMost { elements, has_more }),
            }
        }
        while array.next_element::<de::IgnoredAny>()?.is_some() {
            has_more = true;
        }
        Ok(AtMost { elements, has_more })
    }
}

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
    type Err = ParseError;

    /// Removes white space at the ends.
    ///
    /// # Errors
    ///
    /// - `" "`, or 201 characters: the length
    /// - `"a\nb"`: a control character
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let keyword = text.trim();
        let chars = keyword.chars().count();
        if chars == 0 || chars > Keyword::MAX_CHARS || keyword.contains(char::is_control) {
            let max = Keyword::MAX_CHARS;
            let given = quoted(text);
            let message =
                format!("a keyword has 1 to {max} characters on one line, unlike {given}");
            return Err(ParseError::new(message));
        }
        Ok(Keyword(keyword.into()))
    }
}

/// The period that the data of a dataset cover: an ISO 8601 interval of dates or instants. One end may be open.
///
/// # Examples
///
/// ```
/// use accession::dataset::Temporal;
///
/// let temporal: Temporal = "2001-01-01/..".parse()?;
/// assert_eq!(temporal.to_string(), "2001-01-01/..");
/// assert!("2001-01-02/2001-01-01".parse::<Temporal>().is_err());
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Temporal {
    /// `None` means that the interval has no known start.
    start: Option<Moment>,
    /// `None` means that the interval has not ended.
    end: Option<Moment>,
}

impl FromStr for Temporal {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `"2001-01-01"`, `"a/b/c"`, `"../.."`: not two ends, one of them known
    /// - `"2001-02-30/.."`: not a time
    /// - `"2001-01-02/2001-01-01"`: reversed
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let form = || {
            let given = quoted(text);
            ParseError::new(format!(
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
                Err(ParseError::new(message))
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
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_doi_is_kept_without_its_prefix() {
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
    fn an_address_has_only_characters_that_a_uri_can_hold() {
        let doi: Doi = "10.1002/(SICI)1096<1::A%ID>3.0#é".parse().unwrap();
        assert_eq!(doi.address(), "https://doi.org/10.1002/(SICI)1096%3C1::A%25ID%3E3.0%23%C3%A9");
        let doi: Doi = "10.1002/a,b.c(d).".parse().unwrap();
        assert_eq!(doi.address(), "https://doi.org/10.1002/a%2Cb.c(d%29%2E");
    }

    #[test]
    fn a_doi_is_case_insensitive() {
        let (lower, upper): (Doi, Doi) =
            ("10.5067/abc".parse().unwrap(), "10.5067/ABC".parse().unwrap());
        let longer: Doi = "10.5067/ABCD".parse().unwrap();
        assert_eq!((lower.as_str(), upper.as_str()), ("10.5067/abc", "10.5067/ABC"));
        assert_eq!((lower == upper, lower.cmp(&upper)), (true, Ordering::Equal));
        assert!(lower < longer && longer < "10.5067/abd".parse().unwrap());
        let dois: HashSet<Doi> = [lower, upper, longer].into();
        assert_eq!(dois.len(), 2);
    }

    #[test]
    fn a_year_has_exactly_four_digits() {
        assert_eq!("2001".parse::<Year>().unwrap().as_number(), 2001);
        assert_eq!("1000".parse::<Year>().unwrap().to_string(), "1000");
        let refused = [
            "", "99", "999", "0999", "10000", "-2001", "+2001", "+999", "02001", " 2001", "MMI",
            "２",
        ];
        for text in refused {
            assert_eq!(text.parse::<Year>(), Err(not_a_year()), "{text}");
        }
        assert_eq!(not_a_year().to_string(), "a year has four digits, 1000 to 9999");
    }

    #[test]
    fn a_licence_of_a_log_is_one_that_the_command_line_accepts() {
        let read = |licence: &str| {
            let text = format!(r#"{{"name":"US","licence":{licence}}}"#);
            serde_json::from_str::<DatasetMetadata>(&text).map(|dataset| dataset.licence)
        };
        assert_eq!(read("\"cc-by-4.0\"").unwrap().unwrap().as_str(), "CC-BY-4.0");
        assert_eq!(read("null").unwrap(), None);
        let error = read("\"javascript:alert(1)\"").unwrap_err().to_string();
        assert!(error.contains("is not an SPDX licence identifier"), "{error}");
    }

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
