//! A part of a dataset that somebody cited, kept so that its identifier always resolves.

use serde::Serialize;

use super::{DatasetName, Identifier, Pattern, Timestamp};

/// A part of a dataset that was cited: its identifier is that of the selected granules, by the same
/// rule, and resolves to them for ever, whatever the dataset becomes.
///
/// What the RDA working group on data citation calls a query in the query store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Subset {
    /// The dataset.
    pub dataset: DatasetName,
    /// When the instance that it was first cited of took effect: the granules are selected from
    /// those held then.
    pub timestamp: Timestamp,
    /// What selects them.
    pub criteria: Criteria,
    /// The identifier of the selected granules.
    pub identifier: Identifier,
    /// How many there are; never none.
    pub granules: u64,
    /// When it was first cited.
    pub cited: Timestamp,
}

/// What selects the granules of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criteria {
    /// Those whose id one of these patterns matches: in their order, each once, one at least.
    Patterns(Vec<Pattern>),
    /// Those that were named one by one; the registry keeps the list.
    Named,
}

impl Criteria {
    /// The normal form of some patterns; none if there are none.
    pub fn of_patterns(mut patterns: Vec<Pattern>) -> Option<Self> {
        patterns.sort();
        patterns.dedup();
        (!patterns.is_empty()).then_some(Criteria::Patterns(patterns))
    }
}
