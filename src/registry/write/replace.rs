//! Makes a dataset hold exactly another set: that of a full listing, or an earlier one of its own.

use std::num::ParseIntError;
use std::str::FromStr;

use super::applied::Applied;
use super::stamp::Stamp;
use super::target::{ChangeOptions, Conduct, Target, ingest};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, Identifier, Moment};
use crate::registry::handle::Registry;
use crate::registry::listing::Listing;
use crate::registry::proof::Claim;
use crate::registry::snapshot::{GranulePages, GranulesWithin, Selection, select};

/// The greatest number of granules that a change may delete if it replaces a dataset's set by a
/// listing, since an incomplete listing would delete every granule that it lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MaxDelete {
    /// The larger of 10 granules and 10 % of those held, but never more than half.
    #[default]
    Default,
    /// A number of granules.
    Granules(u64),
    /// A percentage of the granules held, rounded down.
    Percent(u8),
}

/// Why a string is not a limit of deletions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MaxDeleteError {
    /// It is neither a number nor a percentage.
    #[error("it is neither a number of granules nor a percentage such as 25%")]
    Number(#[from] ParseIntError),
    /// The percentage is greater than 100.
    #[error("it is more than 100%")]
    Percent,
}

impl FromStr for MaxDelete {
    type Err = MaxDeleteError;

    fn from_str(text: &str) -> Result<Self, MaxDeleteError> {
        match text.strip_suffix('%') {
            None => Ok(MaxDelete::Granules(text.parse()?)),
            Some(percent) => match percent.parse()? {
                percent @ 0..=100 => Ok(MaxDelete::Percent(percent)),
                _ => Err(MaxDeleteError::Percent),
            },
        }
    }
}

impl MaxDelete {
    /// The limit for a dataset that holds this number of granules.
    pub fn of(self, held: u64) -> u64 {
        match self {
            MaxDelete::Default => (held / 10).max(10).min(held / 2),
            MaxDelete::Granules(most) => most,
            MaxDelete::Percent(percent) => {
                let most = u128::from(held) * u128::from(percent) / 100;
                u64::try_from(most).unwrap_or(held)
            }
        }
    }

    /// Refuses to delete this number of the granules that a dataset holds, if it exceeds the limit.
    pub(crate) fn check(self, dataset: &DatasetName, deleted: u64, held: u64) -> Result<()> {
        let most = self.of(held);
        if deleted <= most {
            return Ok(());
        }
        let message = format!(
            "{deleted} of the {held} granules of {dataset} would be deleted, more than the {most} that are allowed"
        );
        Err(Error::new(ErrorKind::TooManyDeletions, message))
    }
}

/// An earlier set of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlierSet {
    /// The set that it held at a time. A day means its last instant.
    At(Moment),
    /// The set that it held when this identifier was in force.
    Identifier(Identifier),
}

impl Registry {
    /// Makes a dataset hold exactly the listed set, in one change.
    ///
    /// Costs one pass over the listing and the dataset in parallel, and the cost of
    /// [`Registry::change`] for the difference. The memory depends on neither. `skipped.repeated`
    /// counts repeated ids of the listing. If the dataset already holds the set, nothing changes,
    /// which is not an error.
    ///
    /// # Errors
    ///
    /// The error of a refused change: the listing is empty (`empty-listing`), or more would be
    /// deleted than is allowed (`too-many-deletions`);
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the granules held are not those of the
    /// identifier in force.
    pub fn sync(
        &self,
        dataset: &DatasetName,
        listing: &Listing,
        max_delete: MaxDelete,
        options: &ChangeOptions,
        stamp: &Stamp,
    ) -> Result<Applied> {
        self.write(|transaction| {
            let target = Target::lock(self, transaction, dataset, options, stamp)?;
            if listing.is_empty() {
                let message = format!(
                    "the listing is empty: {dataset} would lose all of its {} granules",
                    target.held()
                );
                return Err(Error::new(ErrorKind::EmptyListing, message));
            }
            let mut distinct = 0;
            let listed = listing.distinct()?.inspect(|_| distinct += 1);
            let (events, deleted) = target.difference(listed, None)?;
            max_delete.check(&target.name, deleted, target.held())?;
            let mut applied = target.apply(&events, Conduct::Change, Some(&listing.files))?;
            applied.skipped.repeated = listing.count() - distinct;
            Ok(applied.ended(options))
        })
    }

    /// Makes a dataset hold an earlier set again, in one new change, so the history contains both.
    /// The identifier is that of the earlier set. If the dataset already holds the set, nothing
    /// changes, which is not an error.
    ///
    /// Costs one pass over both sets, and the cost of [`Registry::change`] for the difference.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`](crate::Snapshot::select) in this dataset;
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the granules of either set are not those
    /// of its identifier.
    pub fn revert(
        &self,
        dataset: &DatasetName,
        to: EarlierSet,
        options: &ChangeOptions,
        stamp: &Stamp,
    ) -> Result<Applied> {
        self.write(|transaction| {
            let target = Target::lock(self, transaction, dataset, options, stamp)?;
            let name = dataset.clone();
            let selection = match to {
                EarlierSet::At(at) => Selection::Dataset { name, at: Some(at) },
                EarlierSet::Identifier(identifier) => {
                    Selection::Identifier { identifier, dataset: Some(name) }
                }
            };
            let set = select(transaction, &selection)?.set;
            let wanted = GranulesWithin::of(transaction, GranulePages::of(transaction, &set)?);
            let wanted = wanted.map(|granule| granule.map(ingest));
            let (events, _) = target.difference(wanted, Some(Claim::of(self, &set)))?;
            let expected = options.expected.or(Some(set.identifier()));
            let options = &ChangeOptions { expected, ..options.clone() };
            let applied = Target { options, ..target }.apply(&events, Conduct::Revert, None)?;
            Ok(applied.ended(options))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_may_be_deleted_but_ten_of_few_and_never_more_than_half() {
        let cases = [(0, 0), (1, 0), (2, 1), (10, 5), (19, 9), (20, 10), (99, 10), (935, 93)];
        for (held, most) in cases {
            assert_eq!(MaxDelete::Default.of(held), most, "{held}");
        }
        assert_eq!(MaxDelete::Granules(7).of(3), 7);
        assert_eq!(MaxDelete::Percent(25).of(7), 1);
        assert_eq!(MaxDelete::Percent(100).of(u64::MAX), u64::MAX);
    }

    #[test]
    fn it_is_written_as_a_number_or_a_percentage() {
        assert_eq!("12".parse(), Ok(MaxDelete::Granules(12)));
        assert_eq!("100%".parse(), Ok(MaxDelete::Percent(100)));
        assert_eq!("101%".parse::<MaxDelete>(), Err(MaxDeleteError::Percent));
        for text in ["", "%", "-1", "1.5%", "all", "300%"] {
            assert!(text.parse::<MaxDelete>().is_err(), "{text}");
        }
    }
}
