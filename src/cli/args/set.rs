//! A set of granules as it is typed: a dataset, a time, or an identifier in one of the usual
//! notations.

use std::str::FromStr;

use accession::citation::recognise::{Stated, find};
use accession::model::{DatasetNameError, TimestampError};
use accession::{DatasetName, Identifier, Moment, Selection, Snapshot, Timestamp};

use crate::cli::error::{Error, Result};
use crate::cli::session::Session;

/// A set as it is typed: `DATASET`, `DATASET@TIME`, an identifier in any spelling, or a citation or
/// an address that contains one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedSet(Selection);

impl TypedSet {
    /// The set to which it refers.
    ///
    /// # Errors
    ///
    /// The time is after `now`.
    pub fn into_selection(self, now: Timestamp) -> Result<Selection> {
        match self.0 {
            Selection::Dataset { name, at } => dataset_at(name, at, now),
            identifier => Ok(identifier),
        }
    }
}

/// Why a string does not name a set.
#[derive(Debug, thiserror::Error)]
pub enum TypedSetError {
    #[error(transparent)]
    Name(#[from] DatasetNameError),
    #[error(transparent)]
    Time(#[from] TimestampError),
    #[error(transparent)]
    Identifier(#[from] TypedIdentifierError),
}

impl FromStr for TypedSet {
    type Err = TypedSetError;

    fn from_str(text: &str) -> Result<Self, TypedSetError> {
        let of_identifier = |TypedIdentifier(identifier)| {
            TypedSet(Selection::Identifier { identifier, dataset: None })
        };
        if let Ok(identifier) = text.parse::<Identifier>() {
            return Ok(of_identifier(TypedIdentifier(identifier)));
        }
        let (name, time) = match text.split_once('@') {
            Some((name, time)) => (name, Some(time)),
            None => (text, None),
        };
        // A name never contains an identifier with DI: before it, which a citation does.
        let name = match (name.parse::<DatasetName>(), text.parse::<TypedIdentifier>()) {
            (_, Ok(identifier)) => return Ok(of_identifier(identifier)),
            (_, Err(error @ TypedIdentifierError::Several(..))) => return Err(error.into()),
            (Ok(name), Err(_)) => name,
            (Err(_), Err(error @ TypedIdentifierError::Unreadable(_))) => return Err(error.into()),
            (Err(error), Err(TypedIdentifierError::Nothing)) => return Err(error.into()),
        };
        let at = time.map(str::parse).transpose()?;
        Ok(TypedSet(Selection::Dataset { name, at }))
    }
}

/// A set whose time or identifier can be given by an option.
#[derive(clap::Args)]
pub struct SetArgs {
    /// The set: DATASET, DATASET@TIME, or an identifier, alone or in a citation or an address
    set: TypedSet,

    /// The time: RFC 3339, or a date, which means the end of that day [default: now]
    #[arg(long, value_name = "T", conflicts_with = "identifier")]
    pub at: Option<Moment>,

    /// An identifier that was in force in the dataset
    #[arg(long, value_name = "DI")]
    identifier: Option<TypedIdentifier>,
}

impl SetArgs {
    /// The dataset, if only a dataset was named.
    pub fn dataset_only(&self) -> Option<&DatasetName> {
        match (&self.set.0, self.at, &self.identifier) {
            (Selection::Dataset { name, at: None }, None, None) => Some(name),
            _ => None,
        }
    }

    /// The time that was typed. `None` means that none was, or that the set is an identifier.
    pub fn typed_at(&self) -> Option<Moment> {
        match &self.set.0 {
            Selection::Dataset { at, .. } => at.or(self.at),
            Selection::Identifier { .. } => None,
        }
    }

    /// The set to which it refers.
    ///
    /// # Errors
    ///
    /// The time is after `now`, or an option repeats a part of the set.
    pub fn into_selection(self, now: Timestamp) -> Result<Selection> {
        let SetArgs { set, at, identifier } = self;
        match (set.0, at, identifier) {
            (selection, None, None) => TypedSet(selection).into_selection(now),
            (Selection::Dataset { name, at: None }, at, None) => dataset_at(name, at, now),
            (Selection::Dataset { name, at: None }, None, Some(TypedIdentifier(identifier))) => {
                Ok(Selection::Identifier { identifier, dataset: Some(name) })
            }
            _ => Err(Error::usage(
                "the set already has a time or an identifier: --at and --identifier need a dataset",
            )),
        }
    }
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

/// An identifier as it is typed: with or without `DI:`, with or without a space after that, in any
/// case; or a citation or an address that contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedIdentifier(pub Identifier);

/// Why a string does not contain exactly one identifier.
#[derive(Debug, thiserror::Error)]
pub enum TypedIdentifierError {
    #[error(
        "it contains no identifier: 32 hexadecimal characters, with or without \"DI:\" before them"
    )]
    Nothing,
    #[error("it contains several identifiers: {0} and {1}")]
    Several(Identifier, Identifier),
    #[error("it contains {0:?}, which cannot be read as an identifier")]
    Unreadable(String),
}

impl FromStr for TypedIdentifier {
    type Err = TypedIdentifierError;

    fn from_str(text: &str) -> Result<Self, TypedIdentifierError> {
        if let Ok(identifier) = text.parse() {
            return Ok(TypedIdentifier(identifier));
        }
        let mut found = None;
        for pasted in find(text) {
            match (pasted.identifier, found) {
                (Stated::Unreadable(text), _) => {
                    return Err(TypedIdentifierError::Unreadable(text));
                }
                (Stated::Read(other), Some(first)) if other != first => {
                    return Err(TypedIdentifierError::Several(first, other));
                }
                (Stated::Read(identifier), _) => found = Some(identifier),
            }
        }
        found.map(TypedIdentifier).ok_or(TypedIdentifierError::Nothing)
    }
}

/// The time as of which the registry is read.
#[derive(Default, clap::Args)]
pub struct KnownAtArgs {
    /// Use only the changes that were recorded by this time: RFC 3339, or a date, which means the
    /// end of that day
    #[arg(long, value_name = "T")]
    known_at: Option<Moment>,
}

impl KnownAtArgs {
    /// Refuses the option for a set that does not depend on the state of the registry.
    ///
    /// # Errors
    ///
    /// The set is named by an identifier.
    pub fn refuse_for_identifier(&self, selection: &Selection) -> Result<()> {
        match (self.known_at, selection) {
            (Some(_), Selection::Identifier { .. }) => Err(Error::usage(
                "--known-at needs a dataset: the set of an identifier never changes",
            )),
            _ => Ok(()),
        }
    }

    /// Restricts the snapshot to the state of the registry at that time.
    ///
    /// # Errors
    ///
    /// The time is in the future.
    pub fn apply(&self, snapshot: Snapshot, session: &Session) -> Result<Snapshot> {
        let Some(at) = self.known_at else { return Ok(snapshot) };
        refuse_future(at, session.now()?)?;
        Ok(snapshot.known_at(at.last_instant()))
    }
}

/// Refuses a time after `now`, since the set in force then is not known.
pub fn refuse_future(at: Moment, now: Timestamp) -> Result<()> {
    if at.first_instant() > now {
        let message = format!("{at} is in the future: now it is {now}");
        return Err(Error::usage(message).with_hint("name an earlier time, or omit it for now"));
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
        let of_identifier = Selection::Identifier { identifier, dataset: None };
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
            assert_eq!(text.parse::<TypedSet>().unwrap(), TypedSet(selection), "{text}");
        }
        for text in ["", "@2001-01-02", "A@", "A@noon", "A@B@2001-01-02", "10.5067/ABC"] {
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
            let typed = text.parse::<TypedIdentifier>().unwrap();
            assert_eq!(typed.0.to_string(), digits, "{text}");
        }
    }

    #[test]
    fn a_string_with_no_identifier_or_several_is_refused() {
        let digits = "763122197bfb3ffbf0da14adbfb1b13b";
        let other = "d41d8cd98f00b204e9800998ecf8427e";
        for text in ["", "US.FOOL2.002", "DI:763122", &format!("DI:{digits}, DI:{other}")] {
            assert!(text.parse::<TypedIdentifier>().is_err(), "{text}");
        }
    }
}
