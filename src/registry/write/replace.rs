//! Derives the events of a change from the set that a dataset holds and the set that it should
//! hold.

use std::num::ParseIntError;
use std::str::FromStr;

use super::single::Target;
use crate::model::{DatasetName, Event, EventKind, Granule, Set, Timestamp};
use crate::registry::error::Result;
use crate::registry::proof::Claim;
use crate::registry::refusal::ChangeError;
use crate::registry::snapshot::{GranulePages, GranulesWithin, HasGranuleId, Only, Walk};
use crate::registry::staging::Staging;

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

    /// Refuses a change that deletes more granules than the limit.
    pub(super) fn check(self, target: &Target<'_>, deleted: u64) -> Result<()> {
        let held = target.latest.as_ref().map_or(0, |latest| latest.granules);
        self.check_count(&target.name, deleted, held)
    }

    /// Refuses to delete this number of the granules that a dataset holds, if it exceeds the limit.
    pub(crate) fn check_count(self, dataset: &DatasetName, deleted: u64, held: u64) -> Result<()> {
        let most = self.of(held);
        if deleted <= most {
            return Ok(());
        }
        let dataset = dataset.clone();
        Err(ChangeError::TooManyDeletions { dataset, deleted, held, most }.into())
    }
}

/// The events that make a dataset hold the wanted set, and the number of deletions among them.
/// `claim` is what the wanted granules are said to be; `None` means that it is not known.
///
/// Costs one pass over both sets, which are hashed on the way.
///
/// # Errors
///
/// [`Error::Store`](crate::Error::Store) of kind `damaged`: the granules that were read are not those
/// that the dataset holds, or not those that are claimed.
pub(super) fn difference(
    target: &Target<'_>,
    wanted: impl Iterator<Item = Result<Event>>,
    claim: Option<Claim>,
) -> Result<(Staging, u64)> {
    type Held<'a> = Box<dyn Iterator<Item = Result<Granule>> + 'a>;
    let held: (Held<'_>, _) = match &target.latest {
        None => (Box::new(std::iter::empty()), None),
        Some(latest) => {
            let set = Set::Instance(latest.clone());
            let pages = GranulePages::of(target.transaction, &set)?;
            let held = GranulesWithin::of(target.transaction, pages);
            (Box::new(held), Some(Claim::of(target.registry, &set)))
        }
    };
    let mut events = Staging::default();
    let mut walk = Walk::of(target.registry, held, (wanted, claim));
    for only in walk.by_ref() {
        match only? {
            Only::Left(granule) => {
                events.add(&Event { kind: EventKind::Deleted, ..ingest(granule) })?;
            }
            Only::Right(event) => events.add(&event)?,
        }
    }
    Ok((events, walk.counts().only_left))
}

/// The ingest of a granule, at a time that is set later.
pub(super) fn ingest(granule: Granule) -> Event {
    let Granule { granule_id, producer_granule, .. } = granule;
    let (at, kind) = (Timestamp::EPOCH, EventKind::Ingested);
    Event { at, kind, granule_id, producer_granule, location: None }
}

impl HasGranuleId for Event {
    fn granule_id(&self) -> &str {
        self.granule_id.as_str()
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
