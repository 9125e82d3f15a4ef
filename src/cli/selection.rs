//! What was typed, turned into what is meant.

use std::str::FromStr;

use accession::{
    DatasetName, DatasetNameError, Identifier, Moment, Selection, Timestamp, TimestampError,
};
use anyhow::Result;

use super::report::Usage;

/// A side of a comparison as it is typed: `DI`, `DATASET` or `DATASET@TIME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side(Selection);

impl Side {
    /// What is meant.
    ///
    /// # Errors
    ///
    /// A time in the future, seen from `now`.
    pub fn into_selection(self, now: Timestamp) -> Result<Selection> {
        if let Selection::Dataset { at: Some(at), .. } = &self.0 {
            refuse_future(*at, now)?;
        }
        Ok(self.0)
    }
}

/// Why a text is no side of a comparison.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    #[error(transparent)]
    Name(#[from] DatasetNameError),
    #[error(transparent)]
    Time(#[from] TimestampError),
}

impl FromStr for Side {
    type Err = SideError;

    fn from_str(text: &str) -> Result<Self, SideError> {
        if let Ok(identifier) = text.parse::<Identifier>() {
            return Ok(Side(Selection::Identifier { identifier, dataset: None }));
        }
        let (name, at) = match text.split_once('@') {
            Some((name, time)) => (name, Some(time.parse()?)),
            None => (text, None),
        };
        Ok(Side(Selection::Dataset { name: name.parse()?, at }))
    }
}

/// What `DATASET [--at T]` means.
///
/// # Errors
///
/// A time in the future, seen from `now`.
pub fn dataset_at(name: DatasetName, at: Option<Moment>, now: Timestamp) -> Result<Selection> {
    if let Some(at) = at {
        refuse_future(at, now)?;
    }
    Ok(Selection::Dataset { name, at })
}

/// Refuses a time that has not come: nobody knows what will be in force then.
pub fn refuse_future(at: Moment, now: Timestamp) -> Result<()> {
    if at.first_instant() > now {
        let what = format!("{at} is in the future: now it is {now}");
        return Err(Usage::new(what)
            .with_hint("name a time that has come, or none for now")
            .into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_an_identifier_a_dataset_or_a_dataset_at_a_time() {
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
            assert_eq!(text.parse::<Side>().unwrap(), Side(selection), "{text}");
        }
        for text in ["", "@2001-01-02", "A@", "A@noon", "A@B@2001-01-02"] {
            assert!(text.parse::<Side>().is_err(), "{text}");
        }
    }
}
