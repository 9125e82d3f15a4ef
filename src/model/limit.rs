//! Limits on the number of granules that a change may delete, add or replace when a listing replaces the set of
//! a dataset.
//!
//! A listing can be incomplete, or of another dataset. Most nightly changes are small, so a change that exceeds
//! the limits is rejected until somebody has checked it.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::message::ParseError;

/// A number of granules, or a percentage of the granules held.
///
/// # Examples
///
/// ```
/// use accession::Limit;
///
/// let limit: Limit = "2%".parse()?;
/// assert_eq!(limit.of(935), 18);
/// assert_eq!(limit.to_string(), "2%");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// A number of granules.
    Granules(u64),
    /// A percentage of the granules held, rounded down. Only a limit of additions may exceed 100.
    Percent(u32),
}

impl Limit {
    /// The number of granules for a dataset that holds `held`.
    pub fn of(self, held: u64) -> u64 {
        match self {
            Limit::Granules(most) => most,
            Limit::Percent(percent) => {
                let most = u128::from(held) * u128::from(percent) / 100;
                u64::try_from(most).unwrap_or(u64::MAX)
            }
        }
    }

    /// Parses a limit of deletions or replacements: a number, or a percentage up to 100%. A greater percentage
    /// is a mistake, because it would disable the limit.
    ///
    /// # Errors
    ///
    /// - `"101%"`: more than 100%
    /// - `"few"`, `"2 %"`: neither a number nor a percentage
    pub fn of_held(text: &str) -> Result<Self, ParseError> {
        match text.parse()? {
            Limit::Percent(101..) => Err(ParseError::new("it is more than 100%")),
            limit => Ok(limit),
        }
    }
}

impl FromStr for Limit {
    type Err = ParseError;

    /// Parses a limit of additions, whose percentage may exceed 100. For the other limits, use
    /// [`Limit::of_held`].
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let read = match text.strip_suffix('%') {
            None => text.parse().map(Limit::Granules),
            Some(percent) => percent.parse().map(Limit::Percent),
        };
        let message = "it is neither a number of granules nor a percentage such as 25%";
        read.map_err(|_| ParseError::new(message))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Granules(most) => write!(f, "{most}"),
            Limit::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// The limits of a change that replaces a set. `None` means the default.
///
/// Its fields, in this order, are fields of `dataset` in the command line's JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Limits {
    /// How many granules may be deleted. Default: 10 granules or 2 % of those held, whichever is more, but at
    /// most half of them, and at least one.
    pub max_delete: Option<Limit>,
    /// How many granules may be added. Default: 1,000 granules or the number held, whichever is more.
    pub max_add: Option<Limit>,
    /// How many held granules may get different content. Default: none.
    pub max_replace: Option<Limit>,
}

impl Limits {
    /// No limits.
    pub const NONE: Limits = Limits {
        max_delete: Some(Limit::Granules(u64::MAX)),
        max_add: Some(Limit::Granules(u64::MAX)),
        max_replace: Some(Limit::Granules(u64::MAX)),
    };

    /// Fills the limits that are `None` from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Limits {
            max_delete: self.max_delete.or(other.max_delete),
            max_add: self.max_add.or(other.max_add),
            max_replace: self.max_replace.or(other.max_replace),
        }
    }

    /// The number of granules that may be deleted from a dataset that holds `held`.
    pub fn deletions(self, held: u64) -> u64 {
        let default = || (held / 50).max(10).min(held / 2).max(1);
        self.max_delete.map_or_else(default, |most| most.of(held))
    }

    /// The number of granules that may be added to a dataset that holds `held`. An empty dataset has no limit.
    pub fn additions(self, held: u64) -> u64 {
        match held {
            0 => u64::MAX,
            held => self.max_add.map_or(held.max(1_000), |most| most.of(held)),
        }
    }

    /// The number of granules that may get different content in a dataset that holds `held`.
    pub fn replacements(self, held: u64) -> u64 {
        self.max_replace.map_or(0, |most| most.of(held))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_limit_of_additions_may_exceed_100_percent() {
        assert_eq!(Limit::of_held("100%"), Ok(Limit::Percent(100)));
        assert_eq!(Limit::of_held("500"), Ok(Limit::Granules(500)));
        assert_eq!("500%".parse(), Ok(Limit::Percent(500)));
        for refused in ["101%", "500%", "", "%", "-1", "2 %", "few"] {
            assert!(Limit::of_held(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn two_of_a_hundred_may_be_deleted_but_ten_of_few_and_never_more_than_half() {
        let deletions = Limits::default();
        let cases = [(1, 1), (2, 1), (3, 1), (10, 5), (19, 9), (20, 10), (549, 10), (550, 11)];
        for (held, most) in cases.into_iter().chain([(935, 18), (u64::MAX, u64::MAX / 50)]) {
            assert_eq!(deletions.deletions(held), most, "{held}");
        }
    }

    #[test]
    fn as_many_as_are_held_may_be_added_but_a_thousand_to_few_and_any_number_to_none() {
        for (held, most) in [(0, u64::MAX), (1, 1_000), (1_000, 1_000), (1_001, 1_001)] {
            assert_eq!(Limits::default().additions(held), most, "{held}");
        }
        let few = Limits { max_add: Some(Limit::Granules(3)), ..Limits::default() };
        assert_eq!((few.additions(0), few.additions(9)), (u64::MAX, 3));
    }

    #[test]
    fn it_is_written_as_a_number_or_a_percentage() {
        for text in ["0", "12", "0%", "100%", "250%"] {
            assert_eq!(text.parse::<Limit>().unwrap().to_string(), text);
        }
        for text in ["", "%", "-1", "1.5%", "all", "12 %", "4294967296%"] {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
        assert_eq!(Limit::Percent(25).of(7), 1);
        assert_eq!(Limit::Percent(200).of(u64::MAX), u64::MAX);
    }

    proptest! {
        #[test]
        fn a_limit_of_its_own_is_the_limit(held in 1_u64.., most: u64, percent in 0_u32..=100) {
            let (max_delete, max_add) = (Limit::Granules(most), Limit::Percent(percent));
            let own = Limits {
                max_delete: Some(max_delete),
                max_add: Some(max_add),
                max_replace: Some(max_delete),
            };
            prop_assert_eq!(own.replacements(held), most);
            prop_assert_eq!(own.deletions(held), most);
            prop_assert!(own.additions(held) <= held);
            prop_assert_eq!(own.or(Limits::NONE), own);
            prop_assert_eq!(Limits::default().or(own), own);
        }
    }
}
