//! Sets of granules that have an identifier: whole instances, and cited subsets.

use serde::{Deserialize, Serialize};

use super::dataset_name::DatasetName;
use super::history::Instance;
use super::identifier::{Digest, Identifier};
use super::pattern::Pattern;
use super::time::Timestamp;

/// A set of granules with an identifier in the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Set {
    /// All granules that a dataset held from one change to the next.
    Instance(Instance),
    /// The granules that were selected from an instance when they were cited.
    Subset {
        /// The subset.
        subset: Subset,
        /// The instance from which it was first selected.
        instance: Instance,
    },
}

impl Set {
    /// The identifier of the granules.
    pub fn identifier(&self) -> Identifier {
        match self {
            Set::Instance(instance) => instance.identifier,
            Set::Subset { subset, .. } => subset.identifier,
        }
    }

    /// The digest of the granules and of their recorded files.
    pub fn digest(&self) -> Digest {
        match self {
            Set::Instance(instance) => instance.digest,
            Set::Subset { subset, .. } => subset.digest,
        }
    }

    /// The number of granules.
    pub fn granule_count(&self) -> u64 {
        match self {
            Set::Instance(instance) => instance.granules,
            Set::Subset { subset, .. } => subset.granules,
        }
    }

    /// The dataset.
    pub fn dataset(&self) -> &DatasetName {
        &self.instance().dataset
    }

    /// The instance itself, or the instance from which the subset was selected.
    pub fn instance(&self) -> &Instance {
        match self {
            Set::Instance(instance) | Set::Subset { instance, .. } => instance,
        }
    }

    /// The subset. `None` if this is a whole instance.
    pub fn subset(&self) -> Option<&Subset> {
        match self {
            Set::Instance(_) => None,
            Set::Subset { subset, .. } => Some(subset),
        }
    }
}

/// A cited subset of a dataset. Its identifier is computed from the selected granules by the same rule, and
/// always resolves to them, whatever happens to the dataset.
///
/// The RDA working group on data citation calls this a query in the query store.
///
/// Its JSON has the fields of a subset that the command line's `show` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subset {
    /// The identifier of the selected granules.
    pub identifier: Identifier,
    /// Their digest.
    pub digest: Digest,
    /// The dataset.
    pub dataset: DatasetName,
    /// When the instance from which it was first cited took effect. The granules are selected from those held
    /// at that time.
    pub timestamp: Timestamp,
    /// How the granules are selected.
    #[serde(rename = "patterns")]
    pub criteria: SubsetCriteria,
    /// The number of selected granules, at least one.
    pub granules: u64,
    /// When it was first cited.
    pub cited: Timestamp,
}

/// How the granules of a subset are selected.
///
/// In JSON: the patterns, or `null` for a list of ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<Vec<Pattern>>", into = "Option<Vec<Pattern>>")]
pub enum SubsetCriteria {
    /// All granules whose id matches one of these patterns. There is at least one pattern; they are sorted and
    /// distinct.
    Patterns(Vec<Pattern>),
    /// The granules in a list of ids, which the registry stores.
    Named,
}

impl From<Option<Vec<Pattern>>> for SubsetCriteria {
    fn from(patterns: Option<Vec<Pattern>>) -> Self {
        patterns.and_then(SubsetCriteria::of_patterns).unwrap_or(SubsetCriteria::Named)
    }
}

impl From<SubsetCriteria> for Option<Vec<Pattern>> {
    fn from(criteria: SubsetCriteria) -> Self {
        match criteria {
            SubsetCriteria::Patterns(patterns) => Some(patterns),
            SubsetCriteria::Named => None,
        }
    }
}

impl SubsetCriteria {
    /// The greatest number of patterns of a subset: verifying the subset matches each pattern against every
    /// granule.
    pub const MAX_PATTERNS: usize = 20;

    /// Sorts the patterns and removes repeated ones. `None` if there are no patterns.
    pub fn of_patterns(mut patterns: Vec<Pattern>) -> Option<Self> {
        patterns.sort();
        patterns.dedup();
        (!patterns.is_empty()).then_some(SubsetCriteria::Patterns(patterns))
    }

    /// The patterns. Empty if the granules are named.
    pub fn patterns(&self) -> &[Pattern] {
        match self {
            SubsetCriteria::Patterns(patterns) => patterns,
            SubsetCriteria::Named => &[],
        }
    }
}
