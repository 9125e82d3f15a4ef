//! A set of granules as a person writes it: a dataset, a time, or an identifier in one of the usual
//! notations.

use std::fmt;
use std::str::FromStr;

use super::context::CitedContext;
use super::recognise::{FoundCitation, ParsedField, find};
use crate::error::{Error, ErrorDetail, ErrorKind, Result};
use crate::model::{
    DatasetName, Digest, DigestPrefix, Doi, Identifier, IdentifierPrefix, Moment, ParseError,
    Timestamp, Warning, WarningKind, strip_prefix_of_any_case,
};
use crate::registry::{EarlierSet, Resolution, Selection, Snapshot};

/// A set as it is typed: `DATASET`, `DATASET@TIME`, an identifier in any spelling or its first digits, a
/// digest or its first digits, or a citation or an address that contains one. A DOI can take the place of a
/// dataset's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedSet {
    /// A dataset, with the time that was typed.
    Dataset(TypedDataset, Option<Moment>),
    /// What names the set in any dataset. A dataset that is called as the first digits of an identifier comes
    /// first.
    Name(TypedName),
}

/// Whether a string may be the first digits of an identifier: `DI:` with letters and digits after it, or at
/// least 8 hexadecimal digits.
fn is_short(text: &str) -> bool {
    let after_mark = strip_prefix_of_any_case(text, "DI:");
    after_mark.is_some_and(|text| is_alphanumeric(text.trim_start()))
        || text.parse::<IdentifierPrefix>().is_ok()
}

fn is_alphanumeric(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

impl TypedSet {
    /// The set to which it refers. Without a time, that of a dataset is the one in force now.
    ///
    /// # Errors
    ///
    /// The time is in the future; those of [`TypedSet::named`].
    pub fn into_selection(self, snapshot: &Snapshot) -> Result<Selection> {
        match self.named(snapshot)? {
            Selection::Dataset { name, at } => dataset_at(name, at, snapshot.now()),
            identifier => Ok(identifier),
        }
    }

    /// Warnings about parts of a citation that cannot be checked in this registry: the date, if no dataset
    /// has the DOI, and a digest that no set has.
    ///
    /// # Errors
    ///
    /// The registry cannot be read.
    pub fn unchecked(&self, snapshot: &Snapshot) -> Result<Vec<Warning>> {
        match self {
            TypedSet::Name(name) => name.unchecked(snapshot),
            TypedSet::Dataset(..) => Ok(Vec::new()),
        }
    }

    /// The time that was typed, else `given`; a digest has none.
    pub fn at(&self, given: Option<Moment>) -> Option<Moment> {
        match self {
            TypedSet::Dataset(_, at) => at.or(given),
            TypedSet::Name(TypedName::Identifier(_)) => given,
            TypedSet::Name(TypedName::Digest(_)) => None,
        }
    }

    /// What it names, with the time that was typed.
    ///
    /// # Errors
    ///
    /// A DOI or the first digits of an identifier match nothing, or several datasets or identifiers; the date
    /// or the digest of a citation contradicts its identifier.
    pub fn named(self, snapshot: &Snapshot) -> Result<Selection> {
        match self {
            TypedSet::Dataset(dataset, at) => {
                Ok(Selection::Dataset { name: dataset.name(snapshot)?, at })
            }
            TypedSet::Name(TypedName::Identifier(given)) => given.selection(snapshot),
            TypedSet::Name(TypedName::Digest(prefix)) => Ok(Selection::Digest(prefix)),
        }
    }
}

impl From<Identifier> for TypedSet {
    fn from(identifier: Identifier) -> Self {
        TypedSet::Name(TypedName::Identifier(GivenIdentifier::of(&identifier.to_string())))
    }
}

/// A dataset as it is typed: its name, or its DOI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedDataset {
    /// Its name.
    Name(DatasetName),
    /// Its DOI.
    Doi(Doi),
}

impl TypedDataset {
    /// The name of the dataset.
    ///
    /// # Errors
    ///
    /// The DOI is that of no dataset, or of several.
    pub fn name(&self, snapshot: &Snapshot) -> Result<DatasetName> {
        match self {
            TypedDataset::Name(name) => Ok(name.clone()),
            TypedDataset::Doi(doi) => snapshot.dataset_with_doi(doi),
        }
    }
}

impl FromStr for TypedDataset {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let name = text.parse().map(TypedDataset::Name);
        name.or_else(|error| text.parse().map(TypedDataset::Doi).map_err(|_| error))
    }
}

impl FromStr for TypedSet {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `""`, `"a/b"`: neither the name of a dataset nor anything else
    /// - `"A@noon"`: not a time after the `@`
    /// - `"DI:… and DI:…"`: several identifiers, or one that cannot be read
    fn from_str(text: &str) -> Result<Self, ParseError> {
        if DigestPrefix::is_meant(text) || is_short(text) {
            return text.parse().map(TypedSet::Name);
        }
        // A name never contains an identifier with DI: before it, which a citation does.
        let found = identifier_in(text);
        if let Ok(Some(identifier)) = found {
            let given = GivenIdentifier::cited(identifier, text);
            return Ok(TypedSet::Name(TypedName::Identifier(given)));
        }
        if let (Ok(None), Some(digest)) = (&found, digest_in(text)) {
            return Ok(TypedSet::Name(digest));
        }
        let (name, time) = match text.split_once('@') {
            Some((name, time)) => (name, Some(time)),
            None => (text, None),
        };
        match name.parse() {
            Ok(name) => {
                let at = time.map(str::parse).transpose()?;
                Ok(TypedSet::Dataset(TypedDataset::Name(name), at))
            }
            Err(refused) => match doi_at(text) {
                Some((doi, at)) => Ok(TypedSet::Dataset(TypedDataset::Doi(doi), at)),
                None => Err(found.err().unwrap_or(refused)),
            },
        }
    }
}

/// A DOI, with a time after the last `@`. What is no time belongs to the DOI.
fn doi_at(text: &str) -> Option<(Doi, Option<Moment>)> {
    if let Some((doi, time)) = text.rsplit_once('@')
        && let (Ok(doi), Ok(at)) = (doi.parse(), time.parse())
    {
        return Some((doi, Some(at)));
    }
    text.parse().ok().map(|doi| (doi, None))
}

/// The set of `DATASET [--at T]`. Without a time, it is the one in force now, even if the last
/// change of the dataset is in the future.
///
/// # Errors
///
/// The time is after `now`.
pub fn dataset_at(name: DatasetName, at: Option<Moment>, now: Timestamp) -> Result<Selection> {
    if let Some(at) = at {
        refuse_future(at, now)?;
    }
    Ok(Selection::Dataset { name, at: Some(at.unwrap_or(Moment::Instant(now))) })
}

/// The digest that names the set of a citation or an address without an identifier, or is broken over lines.
fn digest_in(text: &str) -> Option<TypedName> {
    match find(text).as_slice() {
        [FoundCitation { identifier: None, digest: Some(ParsedField::Read(digest)), .. }] => {
            Some(TypedName::Digest(digest.clone()))
        }
        _ => None,
    }
}

/// The identifier in a string: with or without `DI:`, with or without a space after that, in any case; or in
/// a citation or an address. `None` means that there is none.
fn identifier_in(text: &str) -> Result<Option<Identifier>, ParseError> {
    if let Ok(identifier) = text.parse() {
        return Ok(Some(identifier));
    }
    let mut found = None;
    for FoundCitation { identifier, part, .. } in find(text) {
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

/// An identifier of a registry as it is typed, alone or in a citation or an address, or its first digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenIdentifier {
    /// What was typed.
    text: String,
    /// The digits, if an identifier can begin so.
    digits: Result<IdentifierPrefix, ParseError>,
    /// The other parts of the citation that contains the identifier.
    stated: CitedContext,
}

impl FromStr for GivenIdentifier {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        // A letter among the digits, or a digit too few or too many, is a slip.
        let is_slip = (31..=33).contains(&text.len()) && is_alphanumeric(text);
        if is_slip || is_short(text) {
            return Ok(GivenIdentifier::of(text));
        }
        let message = "it contains no identifier: 32 hexadecimal characters, with or without \"DI:\" before them";
        let identifier = identifier_in(text)?.ok_or_else(|| ParseError::new(message))?;
        Ok(GivenIdentifier::cited(identifier, text))
    }
}

impl GivenIdentifier {
    fn of(text: &str) -> Self {
        GivenIdentifier {
            text: text.to_owned(),
            digits: text.parse(),
            stated: CitedContext::default(),
        }
    }

    /// An identifier in a citation or an address.
    fn cited(identifier: Identifier, text: &str) -> Self {
        let stated = CitedContext::of(identifier, text);
        GivenIdentifier { stated, ..GivenIdentifier::of(&identifier.to_string()) }
    }

    /// The digits that were typed.
    ///
    /// # Errors
    ///
    /// No identifier begins so.
    pub fn digits(&self) -> Result<&IdentifierPrefix> {
        let refused =
            |error: &ParseError| Error::new(ErrorKind::Usage, error.to_string()).about(&self.text);
        self.digits.as_ref().map_err(refused)
    }

    /// The identifier: of a dataset, or of any.
    ///
    /// # Errors
    ///
    /// The first digits are those of no identifier, or of several.
    pub fn whole(&self, snapshot: &Snapshot, dataset: Option<&DatasetName>) -> Result<Identifier> {
        snapshot.identifier_beginning(self.digits()?, dataset)
    }

    /// The set: the one in force in a dataset of this name, or else that of the identifier.
    fn selection(&self, snapshot: &Snapshot) -> Result<Selection> {
        let mut unknown = None;
        if let Ok(name) = self.text.parse() {
            match snapshot.dataset(&name) {
                Ok(_) => return Ok(Selection::Dataset { name, at: None }),
                Err(error) if error.kind() != ErrorKind::DatasetUnknown => return Err(error),
                Err(error) => {
                    let is_marked = strip_prefix_of_any_case(&self.text, "DI:").is_some();
                    unknown = Some(error).filter(|_| !is_marked);
                }
            }
        }
        match self.whole(snapshot, None) {
            Err(error) if error.kind() == ErrorKind::IdentifierUnknown => {
                Err(unknown.unwrap_or(error))
            }
            whole => self.stated.selection(whole?, snapshot),
        }
    }
}

/// What names a set in any dataset, as it is typed: an identifier or a digest, or the first digits of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedName {
    /// An identifier.
    Identifier(GivenIdentifier),
    /// A digest.
    Digest(DigestPrefix),
}

impl TypedName {
    /// Whether it is the name of a set with this identifier and this digest.
    pub fn is_of(&self, identifier: Identifier, digest: Digest) -> bool {
        match self {
            TypedName::Identifier(given) => {
                given.digits.as_ref().is_ok_and(|digits| digits.begins(identifier))
            }
            TypedName::Digest(prefix) => prefix.begins(digest),
        }
    }

    /// The date of the citation that contains the name, if it can be checked in this registry.
    ///
    /// # Errors
    ///
    /// The registry cannot be read.
    pub fn date(&self, snapshot: &Snapshot) -> Result<Option<Moment>> {
        match self {
            TypedName::Identifier(given) => given.stated.date(snapshot),
            TypedName::Digest(_) => Ok(None),
        }
    }

    /// As [`TypedSet::unchecked`].
    ///
    /// # Errors
    ///
    /// The registry cannot be read.
    pub fn unchecked(&self, snapshot: &Snapshot) -> Result<Vec<Warning>> {
        let mut unchecked = Vec::new();
        let TypedName::Identifier(GivenIdentifier { stated, digits, .. }) = self else {
            return Ok(unchecked);
        };
        if let (Some(_), None, Some(doi)) = (stated.date, stated.date(snapshot)?, &stated.doi) {
            let what =
                format!("the date was not checked: no dataset here has doi:{}", doi.as_str());
            unchecked.push(Warning::new(WarningKind::CitationNotChecked, what));
        }
        let identifier = digits.as_ref().ok().and_then(IdentifierPrefix::whole);
        if let (Some(digest), Some(identifier)) = (&stated.digest, identifier)
            && stated.digest(identifier, snapshot)?.is_none()
        {
            let what = format!("the digest was not checked: no set here has {digest}");
            unchecked.push(Warning::new(WarningKind::CitationNotChecked, what));
        }
        Ok(unchecked)
    }

    /// The periods in which a set with this name was in force. For a citation with a digest, only those with
    /// this digest.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::resolve`] and [`Snapshot::resolve_digest`]; the first digits are those of no
    /// identifier, or of several.
    pub fn resolve(
        &self,
        snapshot: &Snapshot,
        dataset: Option<&DatasetName>,
        at: Option<Moment>,
    ) -> Result<Resolution> {
        match self {
            TypedName::Identifier(given) => {
                let identifier = given.whole(snapshot, dataset)?;
                let digest = given.stated.digest(identifier, snapshot)?;
                let mut resolution = snapshot.resolve_with(identifier, digest, dataset, at)?;
                // A DOI and a date are relative to one archive.
                if at.is_some()
                    && at == given.stated.date
                    && let Some(names) = given.stated.datasets(snapshot)?
                {
                    for row in &mut resolution.rows {
                        row.agreement = row.agreement.filter(|_| names.contains(row.set.dataset()));
                    }
                }
                Ok(resolution)
            }
            TypedName::Digest(prefix) => snapshot.resolve_digest(prefix, dataset, at),
        }
    }

    /// The set with this name that a dataset held. The date and the digest of a citation select its contents.
    ///
    /// # Errors
    ///
    /// The first digits are those of no identifier, or of several; the identifier was not in force at the date,
    /// or was with different contents.
    pub fn earlier(&self, snapshot: &Snapshot, dataset: &DatasetName) -> Result<EarlierSet> {
        Ok(match self {
            TypedName::Identifier(given) => {
                let identifier = given.whole(snapshot, Some(dataset))?;
                match given.stated.selection(identifier, snapshot)? {
                    Selection::Digest(digest) => EarlierSet::Digest(digest),
                    Selection::Identifier { at: Some(at), .. } => {
                        let (dataset, at) = (Some(dataset.clone()), Some(at));
                        let then = Selection::Identifier { identifier, dataset, at };
                        EarlierSet::Digest(snapshot.select_contents(&then)?.digest().into())
                    }
                    _ => EarlierSet::Identifier(identifier),
                }
            }
            TypedName::Digest(prefix) => EarlierSet::Digest(prefix.clone()),
        })
    }
}

impl fmt::Display for TypedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypedName::Identifier(given) => match &given.digits {
                Ok(digits) if digits.whole().is_some() => digits.fmt(f),
                _ => f.pad(&given.text),
            },
            TypedName::Digest(prefix) => prefix.fmt(f),
        }
    }
}

impl FromStr for TypedName {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let named = match DigestPrefix::is_meant(text) {
            true => text.parse().map(TypedName::Digest),
            false => text.parse().map(TypedName::Identifier),
        };
        named.or_else(|refused: ParseError| digest_in(text).ok_or(refused))
    }
}

/// Refuses a time after `now`, since the set in force then is not known.
///
/// # Errors
///
/// [`ErrorKind::Future`].
pub fn refuse_future(at: Moment, now: Timestamp) -> Result<()> {
    if at.first_instant() > now {
        let message = format!("{at} is in the future: now it is {now}");
        return Err(Error::new(ErrorDetail::SetInFuture, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_an_identifier_a_dataset_or_a_dataset_at_a_time() {
        let identifier = TypedName::Identifier(GivenIdentifier::of(&Identifier::EMPTY.to_string()));
        let of_identifier = TypedSet::Name(identifier);
        let stated = CitedContext {
            doi: Some("10.9999/US".parse().unwrap()),
            date: Some("2001-01-05".parse().unwrap()),
            digest: None,
        };
        let of_digits = GivenIdentifier::of(&Identifier::EMPTY.to_string());
        let cited = GivenIdentifier { stated, ..of_digits };
        let dataset = TypedDataset::Name("US.FOOL2.002".parse().unwrap());
        let at = Some("2001-01-02".parse().unwrap());
        let cases = [
            (
                "{ doi:10.9999/US, 2001-01-05, DI:d41d8cd98f00b204e9800998ecf8427e }",
                TypedSet::Name(TypedName::Identifier(cited)),
            ),
            ("https://example.org/di/d41d8cd98f00b204e9800998ecf8427e", of_identifier),
            ("US.FOOL2.002", TypedSet::Dataset(dataset.clone(), None)),
            ("US.FOOL2.002@2001-01-02", TypedSet::Dataset(dataset, at)),
        ];
        for (text, typed) in cases {
            assert_eq!(text.parse::<TypedSet>().unwrap(), typed, "{text}");
        }
        for text in ["", "@2001-01-02", "A@", "A@noon", "A@B@2001-01-02", "a/b"] {
            assert!(text.parse::<TypedSet>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_identifier_is_read_in_every_spelling() {
        let digits = "763122197bfb3ffbf0da14adbfb1b13b";
        for text in [
            digits.to_owned(),
            format!("DI:{digits}"),
            format!("DI: {digits}"),
            format!("di:{}", digits.to_uppercase()),
            format!("{{ doi:10.9999/US/FOOL2, 5 January 2001, DI:{digits} }}"),
            format!("https://example.org/di/{digits}"),
            format!("https://doi.org/10.9999/US/FOOL2?DI:{digits}"),
        ] {
            assert_eq!(identifier_in(&text).unwrap(), digits.parse().ok(), "{text}");
            let given = text.parse::<GivenIdentifier>().unwrap();
            let whole = given.digits.ok().and_then(|digits| digits.whole());
            assert_eq!(whole, digits.parse().ok(), "{text}");
        }
    }

    #[test]
    fn a_string_with_no_identifier_or_several_is_refused() {
        let digits = "763122197bfb3ffbf0da14adbfb1b13b";
        let other = "d41d8cd98f00b204e9800998ecf8427e";
        for text in ["", "US.FOOL2.002", "a DI:763122", &format!("DI:{digits}, DI:{other}")] {
            assert!(text.parse::<GivenIdentifier>().is_err(), "{text}");
        }
    }
}
