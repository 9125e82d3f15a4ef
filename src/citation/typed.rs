//! A set of granules as a person writes it: a dataset, a time, or an identifier in one of the usual
//! notations.

use std::fmt;
use std::str::FromStr;

use super::recognise::{Statement, find};
use crate::error::{Error, ErrorKind, Result, Unknown};
use crate::model::{
    DatasetName, Digest, DigestPrefix, Doi, Identifier, IdentifierPrefix, Moment, Timestamp,
    TimestampError, ValueError,
};
use crate::registry::{EarlierSet, Resolution, Selection, Snapshot};

/// A set as it is typed: `DATASET`, `DATASET@TIME`, an identifier in any spelling or its first digits, a
/// digest or its first digits, or a citation or an address that contains one. A DOI can take the place of a
/// dataset's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedSet(Typed);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Typed {
    Selection(Selection),
    Doi(Doi, Option<Moment>),
    /// What may be the first digits of an identifier. A dataset of that name comes first.
    Short(GivenIdentifier),
}

/// Whether a string may be the first digits of an identifier: `DI:` with letters and digits after it, or at
/// least 8 hexadecimal digits.
fn is_short(text: &str) -> bool {
    let is_alphanumeric = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_marked(text) && is_alphanumeric(text[3..].trim_start())
        || text.parse::<IdentifierPrefix>().is_ok()
}

/// Whether `DI:` precedes the text.
fn is_marked(text: &str) -> bool {
    text.get(..3).is_some_and(|prefix| prefix.eq_ignore_ascii_case("DI:"))
}

impl TypedSet {
    /// The set to which it refers. Without a time, that of a dataset is the one in force now.
    ///
    /// # Errors
    ///
    /// The time is after `now`; a DOI or the first digits of an identifier are those of no dataset or
    /// identifier, or of several.
    pub fn into_selection(self, now: Timestamp, snapshot: &Snapshot) -> Result<Selection> {
        match self.named(snapshot)? {
            Selection::Dataset { name, at } => dataset_at(name, at, now),
            identifier => Ok(identifier),
        }
    }

    /// What leads to it on a published site. `None` means a DOI, by which nothing is found there.
    pub fn on_site(&self) -> Option<SetName> {
        match &self.0 {
            Typed::Selection(Selection::Dataset { name, .. }) => {
                Some(SetName::Dataset(name.clone()))
            }
            Typed::Selection(Selection::Identifier { identifier, .. }) => {
                Some((*identifier).into())
            }
            Typed::Selection(Selection::Digest(prefix)) => Some(SetName::Digest(prefix.clone())),
            Typed::Doi(..) => None,
            Typed::Short(given) => given.digits.clone().ok().map(SetName::Identifier),
        }
    }

    /// The time that was typed, else `given`; a digest has none.
    pub fn at(&self, given: Option<Moment>) -> Option<Moment> {
        match &self.0 {
            Typed::Selection(Selection::Dataset { at, .. }) | Typed::Doi(_, at) => at.or(given),
            Typed::Selection(Selection::Digest(_)) => None,
            Typed::Selection(Selection::Identifier { .. }) | Typed::Short(_) => given,
        }
    }

    /// What it names, with the time that was typed.
    ///
    /// # Errors
    ///
    /// A DOI or the first digits of an identifier are those of no dataset or identifier, or of several.
    pub fn named(self, snapshot: &Snapshot) -> Result<Selection> {
        match self.0 {
            Typed::Selection(selection) => Ok(selection),
            Typed::Doi(doi, at) => {
                Ok(Selection::Dataset { name: snapshot.dataset_with_doi(&doi)?, at })
            }
            Typed::Short(given) => given.selection(snapshot),
        }
    }
}

/// What leads to a set where no registry is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetName {
    /// Its dataset.
    Dataset(DatasetName),
    /// Its identifier, or the first digits of it.
    Identifier(IdentifierPrefix),
    /// Its digest, or the first digits of it.
    Digest(DigestPrefix),
}

impl From<Identifier> for SetName {
    fn from(identifier: Identifier) -> Self {
        SetName::Identifier(identifier.to_string().parse().expect("it has 32 digits"))
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
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let name = text.parse().map(TypedDataset::Name);
        name.or_else(|error| text.parse().map(TypedDataset::Doi).map_err(|_| error))
    }
}

/// Why a string does not name a set.
#[derive(Debug, thiserror::Error)]
pub enum TypedSetError {
    /// It is neither the name of a dataset nor the beginning of a digest, and nothing else.
    #[error(transparent)]
    Name(#[from] ValueError),
    /// What follows the `@` is not a time.
    #[error(transparent)]
    Time(#[from] TimestampError),
    /// It contains several identifiers, or one that cannot be read.
    #[error(transparent)]
    Identifier(#[from] TypedIdentifierError),
}

impl FromStr for TypedSet {
    type Err = TypedSetError;

    fn from_str(text: &str) -> Result<Self, TypedSetError> {
        let of_identifier = |identifier| {
            TypedSet(Typed::Selection(Selection::Identifier {
                identifier,
                dataset: None,
                at: None,
            }))
        };
        let digits = text.parse::<IdentifierPrefix>();
        if let Some(identifier) = digits.ok().and_then(|digits| digits.whole()) {
            return Ok(of_identifier(identifier));
        }
        if DigestPrefix::is_meant(text) {
            return Ok(TypedSet(Typed::Selection(Selection::Digest(text.parse()?))));
        }
        if is_short(text) {
            return Ok(TypedSet(Typed::Short(GivenIdentifier::of(text))));
        }
        let (name, time) = match text.split_once('@') {
            Some((name, time)) => (name, Some(time)),
            None => (text, None),
        };
        // A name never contains an identifier with DI: before it, which a citation does.
        let name = match (name.parse::<DatasetName>(), identifier_in(text)) {
            (_, Ok(identifier)) => return Ok(of_identifier(identifier)),
            (_, Err(error @ TypedIdentifierError::Several(..))) => return Err(error.into()),
            (Err(_), Err(_)) if let Some((doi, at)) = doi_at(text) => {
                return Ok(TypedSet(Typed::Doi(doi, at)));
            }
            (Ok(name), Err(_)) => name,
            (Err(_), Err(error @ TypedIdentifierError::Unreadable(_))) => return Err(error.into()),
            (Err(error), Err(TypedIdentifierError::Nothing)) => return Err(error.into()),
        };
        let at = time.map(str::parse).transpose()?;
        Ok(TypedSet(Typed::Selection(Selection::Dataset { name, at })))
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

/// Why a string does not contain exactly one identifier.
#[derive(Debug, thiserror::Error)]
pub enum TypedIdentifierError {
    /// It contains no identifier.
    #[error(
        "it contains no identifier: 32 hexadecimal characters, with or without \"DI:\" before them"
    )]
    Nothing,
    /// It contains several identifiers.
    #[error("it contains several identifiers: {0} and {1}")]
    Several(Identifier, Identifier),
    /// It contains what cannot be read as an identifier.
    #[error("it contains {0:?}, which cannot be read as an identifier")]
    Unreadable(String),
}

/// The identifier in a string: with or without `DI:`, with or without a space after that, in any case; or in
/// a citation or an address.
fn identifier_in(text: &str) -> Result<Identifier, TypedIdentifierError> {
    if let Ok(identifier) = text.parse() {
        return Ok(identifier);
    }
    let mut found = None;
    for stated in find(text).into_iter().filter_map(|pasted| pasted.identifier) {
        match (stated, found) {
            (Statement::Unreadable(text), _) => return Err(TypedIdentifierError::Unreadable(text)),
            (Statement::Read(other), Some(first)) if other != first => {
                return Err(TypedIdentifierError::Several(first, other));
            }
            (Statement::Read(identifier), _) => found = Some(identifier),
        }
    }
    found.ok_or(TypedIdentifierError::Nothing)
}

/// An identifier of a registry as it is typed, alone or in a citation or an address, or its first digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenIdentifier {
    /// What was typed.
    text: String,
    /// The digits, if an identifier can begin so.
    digits: Result<IdentifierPrefix, ValueError>,
}

impl FromStr for GivenIdentifier {
    type Err = TypedIdentifierError;

    fn from_str(text: &str) -> Result<Self, TypedIdentifierError> {
        // A letter among the digits, or a digit too few or too many, is a slip.
        let is_slip = (31..=33).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_slip || is_short(text) {
            return Ok(GivenIdentifier::of(text));
        }
        identifier_in(text).map(|identifier| GivenIdentifier::of(&identifier.to_string()))
    }
}

impl GivenIdentifier {
    fn of(text: &str) -> Self {
        GivenIdentifier { text: text.to_owned(), digits: text.parse() }
    }

    /// The identifier: of a dataset, or of any.
    ///
    /// # Errors
    ///
    /// The first digits are those of no identifier, or of several.
    pub fn whole(&self, snapshot: &Snapshot, dataset: Option<&DatasetName>) -> Result<Identifier> {
        match &self.digits {
            Ok(digits) => snapshot.identifier_beginning(digits, dataset),
            Err(error) => {
                let unknown = Unknown::Identifier(self.text.clone());
                Err(Error::new(ErrorKind::Usage, error.to_string()).about(unknown))
            }
        }
    }

    /// The set: the one in force in a dataset of this name, or else that of the identifier.
    fn selection(&self, snapshot: &Snapshot) -> Result<Selection> {
        let mut unknown = None;
        if let Ok(name) = self.text.parse() {
            match snapshot.dataset(&name) {
                Ok(_) => return Ok(Selection::Dataset { name, at: None }),
                Err(error) if error.kind() != ErrorKind::DatasetUnknown => return Err(error),
                Err(error) => unknown = Some(error).filter(|_| !is_marked(&self.text)),
            }
        }
        match self.whole(snapshot, None) {
            Err(error) if error.kind() == ErrorKind::IdentifierUnknown => {
                Err(unknown.unwrap_or(error))
            }
            whole => Ok(Selection::Identifier { identifier: whole?, dataset: None, at: None }),
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

    /// What leads to it on a published site. `None` means that no identifier begins so.
    pub fn on_site(&self) -> Option<SetName> {
        match self {
            TypedName::Identifier(given) => given.digits.clone().ok().map(SetName::Identifier),
            TypedName::Digest(prefix) => Some(SetName::Digest(prefix.clone())),
        }
    }

    /// The periods in which a set with this name was in force.
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
                snapshot.resolve(given.whole(snapshot, dataset)?, dataset, at)
            }
            TypedName::Digest(prefix) => snapshot.resolve_digest(prefix, dataset, at),
        }
    }

    /// The set with this name that a dataset held.
    ///
    /// # Errors
    ///
    /// The first digits are those of no identifier, or of several.
    pub fn earlier(&self, snapshot: &Snapshot, dataset: &DatasetName) -> Result<EarlierSet> {
        Ok(match self {
            TypedName::Identifier(given) => {
                EarlierSet::Identifier(given.whole(snapshot, Some(dataset))?)
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
    type Err = TypedSetError;

    fn from_str(text: &str) -> Result<Self, TypedSetError> {
        Ok(match DigestPrefix::is_meant(text) {
            true => TypedName::Digest(text.parse()?),
            false => TypedName::Identifier(text.parse()?),
        })
    }
}

/// Refuses a time after `now`, since the set in force then is not known.
///
/// # Errors
///
/// [`ErrorKind::NotYet`].
pub fn refuse_future(at: Moment, now: Timestamp) -> Result<()> {
    if at.first_instant() > now {
        let message = format!("{at} is in the future: now it is {now}");
        return Err(Error::new(ErrorKind::NotYet, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_an_identifier_a_dataset_or_a_dataset_at_a_time() {
        let name: DatasetName = "US.FOOL2.002".parse().unwrap();
        let identifier = Identifier::EMPTY;
        let of_identifier = Selection::Identifier { identifier, dataset: None, at: None };
        let at = Some("2001-01-02".parse().unwrap());
        let cases = [
            ("DI:d41d8cd98f00b204e9800998ecf8427e", of_identifier.clone()),
            ("DI: D41D8CD98F00B204E9800998ECF8427E", of_identifier.clone()),
            (
                "{ doi:10.9999/US, 5 January 2001, DI:d41d8cd98f00b204e9800998ecf8427e }",
                of_identifier.clone(),
            ),
            ("https://example.org/di/d41d8cd98f00b204e9800998ecf8427e", of_identifier),
            ("US.FOOL2.002", Selection::Dataset { name: name.clone(), at: None }),
            ("US.FOOL2.002@2001-01-02", Selection::Dataset { name, at }),
        ];
        for (text, selection) in cases {
            let typed = TypedSet(Typed::Selection(selection));
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
            assert_eq!(identifier_in(&text).unwrap().to_string(), digits, "{text}");
            let given = text.parse::<GivenIdentifier>().unwrap();
            let whole = given.digits.ok().and_then(|digits| digits.whole());
            assert_eq!(whole, digits.parse().ok(), "{text}");
        }
    }

    #[test]
    fn a_string_with_no_identifier_or_several_is_refused() {
        let digits = "763122197bfb3ffbf0da14adbfb1b13b";
        let other = "d41d8cd98f00b204e9800998ecf8427e";
        for text in ["", "US.FOOL2.002", "DI:763122", &format!("DI:{digits}, DI:{other}")] {
            assert!(identifier_in(text).is_err(), "{text}");
        }
    }
}
