//! A subset of a dataset that was cited, stored so that its identifier always resolves.

use serde::{Serialize, Serializer};

use super::dataset_name::DatasetName;
use super::identifier::Identifier;
use super::pattern::Pattern;
use super::timestamp::Timestamp;

/// A subset of a dataset that was cited. Its identifier is computed from the selected granules by
/// the same rule, and always resolves to them, whatever happens to the dataset.
///
/// The RDA working group on data citation calls this a query in the query store.
///
/// Its JSON has the fields of the command line's `subsets`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subset {
    /// The dataset.
    pub dataset: DatasetName,
    /// When the instance took effect from which it was first cited: the granules are selected from
    /// those held then.
    pub timestamp: Timestamp,
    /// How the granules are selected.
    pub criteria: Criteria,
    /// The identifier of the selected granules.
    pub identifier: Identifier,
    /// How many granules are selected, at least one.
    pub granules: u64,
    /// When it was first cited.
    pub cited: Timestamp,
}

#[derive(Serialize)]
struct Row<'a> {
    identifier: Identifier,
    dataset: &'a DatasetName,
    timestamp: Timestamp,
    /// `None` means that they are named one by one.
    patterns: Option<&'a [Pattern]>,
    granules: u64,
    cited: Timestamp,
}

impl Serialize for Subset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Subset { dataset, timestamp, criteria, identifier, granules, cited } = self;
        let patterns = match criteria {
            Criteria::Patterns(patterns) => Some(patterns.as_slice()),
            Criteria::Named => None,
        };
        let (identifier, timestamp, granules, cited) = (*identifier, *timestamp, *granules, *cited);
        Row { identifier, dataset, timestamp, patterns, granules, cited }.serialize(serializer)
    }
}

/// How the granules of a subset are selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Criteria {
    /// All whose id matches one of these patterns. There is at least one pattern; they are sorted
    /// and distinct.
    Patterns(Vec<Pattern>),
    /// Those in a list of ids, which the registry stores.
    Named,
}

impl Criteria {
    /// The greatest length of the patterns of a subset together, in bytes, each with a separator.
    pub const MAX_BYTES: usize = 64 * 1_024;

    /// The length of patterns together, in bytes, each with a separator.
    pub fn bytes_of<'a>(patterns: impl IntoIterator<Item = &'a Pattern>) -> usize {
        patterns.into_iter().map(|pattern| pattern.as_str().len() + 1).sum()
    }

    /// Sorts the patterns and removes repeated ones. `None` if there are no patterns.
    pub fn of_patterns(mut patterns: Vec<Pattern>) -> Option<Self> {
        patterns.sort();
        patterns.dedup();
        (!patterns.is_empty()).then_some(Criteria::Patterns(patterns))
    }
}
