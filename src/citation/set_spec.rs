//! A set of granules as a person writes it: a dataset, an identifier, a digest, a citation, or a listing.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::context::CitedContext;
use super::recognise::{FoundCitation, ParsedField};
use crate::model::{
    DatasetName, Digest, DigestPrefix, Doi, Identifier, IdentifierPrefix, Moment, ParseError,
    quoted, strip_prefix_of_any_case,
};

/// A set of granules as a person writes it.
///
/// This is syntax only: [`SetSpec::source`] finds the set. The command line, Python and the web server use the
/// same grammar.
///
/// | Written | Means |
/// |---|---|
/// | `FOO` | what the dataset holds now |
/// | `FOO@2024-03-05` | what it held at that time; a date means the end of the day |
/// | `FOO~1` | the set before its last change |
/// | `10.5555/x`, `doi:10.5555/x`, `https://doi.org/10.5555/x` | the dataset with this DOI; each also with `@TIME` |
/// | `DI:7fb1e8ba` | the set with this identifier; 8 digits or more, and 32 digits also without `DI:` |
/// | `DI:7fb1e8ba@2024-03-05` | the same, with the files it had at that time |
/// | `sha256:0123456789ab` | the set with this digest; 12 digits or more |
/// | a citation | its DOI, date, identifier and digest |
/// | `list.txt`, `./files/`, `-` | a listing, a directory, standard input |
///
/// Text that looks like an identifier, a digest, a DOI or a citation is read as one. Otherwise it is the name
/// of a dataset, else of a file or a directory. If both exist, the text is ambiguous, and `./FOO` means the
/// file.
///
/// # Examples
///
/// ```
/// use accession::SetSpec;
///
/// let spec: SetSpec = "FOO@2024-03-05".parse()?;
/// assert_eq!(spec.to_string(), "FOO@2024-03-05");
/// assert!("DI:7fb1".parse::<SetSpec>().is_err()); // fewer than 8 digits
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetSpec {
    text: Box<str>,
    pub(crate) meaning: Meaning,
}

/// The meaning of a [`SetSpec`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The set of a dataset.
    Dataset(NamedDataset, When),
    /// The set of an identifier.
    Identifier(CitedIdentifier),
    /// The set of a digest.
    Digest(DigestPrefix),
    /// Standard input.
    StandardInput,
    /// A file or a directory.
    Path {
        /// The path.
        path: PathBuf,
        /// Why the text is nothing else. `None` means that it can only be a path.
        refusal: Option<ParseError>,
    },
}

/// A dataset, by its name or its DOI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NamedDataset {
    Name(DatasetName),
    Doi(Doi),
}

/// Selects a set of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// The set in force now.
    Now,
    /// The set in force at a time.
    At(Moment),
    /// The set before this number of the latest changes.
    Before(u32),
}

/// An identifier, or its first digits, and the context in its citation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CitedIdentifier {
    pub digits: IdentifierPrefix,
    /// The time after the `@`.
    pub at: Option<Moment>,
    pub cited: CitedContext,
}

impl SetSpec {
    /// The text as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether this is standard input.
    pub fn is_standard_input(&self) -> bool {
        self.meaning == Meaning::StandardInput
    }

    /// Whether this is a dataset without a time or a number of changes.
    pub fn is_dataset(&self) -> bool {
        matches!(self.meaning, Meaning::Dataset(_, When::Now))
    }

    /// Whether this is an identifier or a digest, alone or in a citation. Any archive may hold such a set.
    pub fn is_identified(&self) -> bool {
        matches!(self.meaning, Meaning::Identifier(_) | Meaning::Digest(_))
    }

    /// Whether `identifier` begins with the digits in the text. `None` means that the text has no identifier.
    pub fn has_identifier(&self, identifier: Identifier) -> Option<bool> {
        match &self.meaning {
            Meaning::Identifier(cited) => Some(cited.digits.begins(identifier)),
            _ => None,
        }
    }

    /// Whether `digest` begins with the digits in the text, alone or in a citation. `None` means that the text
    /// has no digest.
    pub fn has_digest(&self, digest: Digest) -> Option<bool> {
        match &self.meaning {
            Meaning::Identifier(cited) => cited.cited.digest.as_ref().map(|it| it.begins(digest)),
            Meaning::Digest(prefix) => Some(prefix.begins(digest)),
            _ => None,
        }
    }

    /// The time after the `@`.
    pub fn time(&self) -> Option<Moment> {
        match &self.meaning {
            Meaning::Dataset(_, When::At(at)) => Some(*at),
            Meaning::Identifier(CitedIdentifier { at, .. }) => *at,
            _ => None,
        }
    }

    /// The same set at a time. `None` means that the text already has a time, or cannot have one.
    #[must_use]
    pub fn at(self, at: Moment) -> Option<Self> {
        let meaning = match self.meaning {
            Meaning::Dataset(dataset, When::Now) => Meaning::Dataset(dataset, When::At(at)),
            Meaning::Identifier(cited) if cited.at.is_none() => {
                Meaning::Identifier(CitedIdentifier { at: Some(at), ..cited })
            }
            _ => return None,
        };
        Some(SetSpec { text: format!("{}@{at}", self.text).into(), meaning })
    }

    /// The file or directory with this name, if it exists. For uses without a registry.
    pub fn path(&self) -> Option<&Path> {
        match &self.meaning {
            Meaning::Path { path, .. } => Some(path),
            Meaning::Dataset(NamedDataset::Name(_), _) => {
                Some(Path::new(&*self.text)).filter(|path| path.exists())
            }
            _ => None,
        }
    }
}

impl From<DatasetName> for SetSpec {
    fn from(name: DatasetName) -> Self {
        let text = name.as_str().into();
        SetSpec { text, meaning: Meaning::Dataset(NamedDataset::Name(name), When::Now) }
    }
}

impl From<Identifier> for SetSpec {
    fn from(identifier: Identifier) -> Self {
        let (digits, at, cited) = (identifier.into(), None, CitedContext::default());
        let meaning = Meaning::Identifier(CitedIdentifier { digits, at, cited });
        SetSpec { text: format!("DI:{identifier}").into(), meaning }
    }
}

impl From<DigestPrefix> for SetSpec {
    fn from(prefix: DigestPrefix) -> Self {
        SetSpec { text: prefix.to_string().into(), meaning: Meaning::Digest(prefix) }
    }
}

impl fmt::Display for SetSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl Serialize for SetSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl FromStr for SetSpec {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `""`
    /// - `"DI:123"`, `"DI:76312O19"`: not the digits of an identifier
    /// - `"sha256:12"`: not the digits of a digest
    /// - `"DI:… and DI:…"`: several identifiers, or one that cannot be read
    /// - `"DI:…@noon"`: not a time after the `@`
    fn from_str(text: &str) -> Result<Self, ParseError> {
        Ok(SetSpec { text: text.into(), meaning: Meaning::of(text)? })
    }
}

impl Meaning {
    fn of(text: &str) -> Result<Self, ParseError> {
        if text.is_empty() {
            return Err(ParseError::new("a set has a name, but this is empty"));
        }
        if text == "-" {
            return Ok(Meaning::StandardInput);
        }
        let path = |refusal| Meaning::Path { path: text.into(), refusal };
        if is_path(text) {
            return Ok(path(None));
        }
        let is_word = !text.contains(char::is_whitespace);
        if DigestPrefix::is_meant(text) {
            return text.parse().map(Meaning::Digest).or_else(|refused: ParseError| {
                if text.contains('@') && is_word {
                    let message =
                        "a digest covers the files of a set, so it has no time after an @";
                    return Err(ParseError::new(message));
                }
                digest_in(text).filter(|_| !is_word).ok_or(refused)
            });
        }
        if let Some(identifier) = identifier_at(text) {
            return identifier.map(Meaning::Identifier);
        }
        // An identifier with `DI:` inside other text can only be in a citation, not in a name or a path.
        if let Some(identifier) = identifier_in(text)? {
            let (digits, at) = (identifier.into(), None);
            let cited = CitedContext::of(identifier, text);
            return Ok(Meaning::Identifier(CitedIdentifier { digits, at, cited }));
        }
        if let Some(digest) = digest_in(text) {
            return Ok(digest);
        }
        if let Some((doi, when)) = doi_at(text) {
            return Ok(Meaning::Dataset(NamedDataset::Doi(doi), when));
        }
        if is_word && strip_prefix_of_any_case(text, "doi:").is_some() {
            return Err(text.parse::<Doi>().err().unwrap_or_else(|| ParseError::new("not a DOI")));
        }
        if text.contains("://") {
            return Err(ParseError::new(format!(
                "the address {} contains no identifier, such as https://data.example.org/DI:7fb1e8ba…",
                quoted(text)
            )));
        }
        match dataset(text) {
            Ok((name, when)) => Ok(Meaning::Dataset(NamedDataset::Name(name), when)),
            // A name has no slash, so this is a path.
            Err(_) if text.contains('/') => Ok(path(None)),
            Err(refusal) => Ok(path(Some(refusal))),
        }
    }
}

/// Whether a text is written like a path in a shell.
fn is_path(text: &str) -> bool {
    matches!(text, "." | "..") || ["/", "./", "../"].iter().any(|start| text.starts_with(start))
}

/// A dataset by its name: `FOO`, `FOO@TIME` or `FOO~1`.
fn dataset(text: &str) -> Result<(DatasetName, When), ParseError> {
    if let Some((name, time)) = text.split_once('@') {
        return Ok((name.parse()?, when(time)?));
    }
    let Some((name, changes)) = text.split_once('~') else {
        return Ok((text.parse()?, When::Now));
    };
    let name = name.parse()?;
    let is_number = !changes.is_empty() && changes.bytes().all(|byte| byte.is_ascii_digit());
    match changes.parse() {
        Ok(changes) if is_number => Ok((name, When::Before(changes))),
        _ => Err(ParseError::new(format!(
            "{} has no number of changes after the ~, as in {name}~1",
            quoted(text)
        ))),
    }
}

fn when(time: &str) -> Result<When, ParseError> {
    if time == "now" { Ok(When::Now) } else { time.parse().map(When::At) }
}

/// A DOI, with an optional time after the last `@`. If the text after the `@` is not a time, it belongs to the
/// DOI.
fn doi_at(text: &str) -> Option<(Doi, When)> {
    if let Some((doi, time)) = text.rsplit_once('@')
        && let (Ok(doi), Ok(when)) = (doi.parse(), when(time))
    {
        return Some((doi, when));
    }
    text.parse().ok().map(|doi| (doi, When::Now))
}

/// A single identifier, with an optional time: all 32 digits, or `DI:` and at least 8 digits. `None` means that
/// the text is something else.
fn identifier_at(text: &str) -> Option<Result<CitedIdentifier, ParseError>> {
    let (digits, time) = match text.split_once('@') {
        Some((digits, time)) => (digits, Some(time)),
        None => (text, None),
    };
    let is_name = |digits: &str| strip_prefix_of_any_case(digits, "DI:").is_none();
    if let Some((digits, _)) = digits.split_once('~')
        && digits.parse::<IdentifierPrefix>().is_ok()
        && (!is_name(digits) || digits.parse::<Identifier>().is_ok())
    {
        let message =
            "the number after a ~ counts the changes of a dataset, and this is an identifier";
        return Some(Err(ParseError::new(message)));
    }
    let is_marked = strip_prefix_of_any_case(digits, "DI:")
        .is_some_and(|digits| digits.trim_start().bytes().all(|byte| byte.is_ascii_alphanumeric()));
    if !is_marked && digits.parse::<Identifier>().is_err() {
        return None;
    }
    let of = |(digits, at)| CitedIdentifier { digits, at, cited: CitedContext::default() };
    let at = match time {
        None | Some("now") => Ok(None),
        Some(time) => time.parse().map(Some),
    };
    Some(digits.parse().and_then(|digits| Ok(of((digits, at?)))))
}

/// The digest that names the set in a citation or an address without an identifier. It may be broken over
/// lines.
fn digest_in(text: &str) -> Option<Meaning> {
    match FoundCitation::find_all(text).as_slice() {
        [FoundCitation { identifier: None, digest: Some(ParsedField::Read(digest)), .. }] => {
            Some(Meaning::Digest(digest.clone()))
        }
        _ => None,
    }
}

/// The identifier in a citation or an address. `None` means that it has none.
fn identifier_in(text: &str) -> Result<Option<Identifier>, ParseError> {
    let mut found = None;
    for FoundCitation { identifier, part, .. } in FoundCitation::find_all(text) {
        let Some(stated) = identifier else { continue };
        if let (ParsedField::Read(whole), Some(part)) = (&stated, part) {
            let patterns = part.patterns.join(" ");
            let message = format!(
                "it names a part of a set: name the whole, DI:{whole}, and select with {patterns:?}"
            );
            return Err(ParseError::new(message));
        }
        match (stated, found) {
            (ParsedField::Unreadable(text), _) => {
                let message =
                    format!("it contains {text:?}, which cannot be read as an identifier");
                return Err(ParseError::new(message));
            }
            (ParsedField::Read(other), Some(first)) if other != first => {
                let message = format!("it contains several identifiers: {first} and {other}");
                return Err(ParseError::new(message));
            }
            (ParsedField::Read(identifier), _) => found = Some(identifier),
        }
    }
    Ok(found)
}
