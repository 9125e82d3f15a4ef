//! A set of granules as it is typed, and what it means.

use std::str::FromStr;

use accession::{
    DatasetName, DatasetNameError, Identifier, Moment, Selection, Timestamp, TimestampError,
};
use anyhow::Result;

use super::time::refuse_future;

/// A set as it is typed: `DI`, `DATASET` or `DATASET@TIME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedSet(Selection);

impl TypedSet {
    /// The set that is meant.
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
}

impl FromStr for TypedSet {
    type Err = TypedSetError;

    fn from_str(text: &str) -> Result<Self, TypedSetError> {
        if let Ok(identifier) = text.parse::<Identifier>() {
            return Ok(TypedSet(Selection::Identifier { identifier, dataset: None }));
        }
        let (name, at) = match text.split_once('@') {
            Some((name, time)) => (name, Some(time.parse()?)),
            None => (text, None),
        };
        Ok(TypedSet(Selection::Dataset { name: name.parse()?, at }))
    }
}

/// The set that `DATASET [--at T]` means: without a time the one in force now, even if the last change
/// of the dataset is in the future.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_an_identifier_a_dataset_or_a_dataset_at_a_time() {
        let name: DatasetName = "US.FOOL2.002".parse().unwrap();
        let identifier = Identifier::EMPTY;
        let cases = [
            (
                "DI:d41d8cd98f00b204e9800998ecf8427e",
                Selection::Identifier { identifier, dataset: None },
            ),
            ("US.FOOL2.002", Selection::Dataset { name: name.clone(), at: None }),
            (
                "US.FOOL2.002@2001-01-02",
                Selection::Dataset { name, at: Some("2001-01-02".parse().unwrap()) },
            ),
        ];
        for (text, selection) in cases {
            assert_eq!(text.parse::<TypedSet>().unwrap(), TypedSet(selection), "{text}");
        }
        for text in ["", "@2001-01-02", "A@", "A@noon", "A@B@2001-01-02"] {
            assert!(text.parse::<TypedSet>().is_err(), "{text}");
        }
    }
}
