//! Keeping a subset that another registry cited.

use super::cite::{Wanted, batches, criteria_of, identify_named};
use crate::model::DatasetName;
use crate::model::{GranuleId, Identifier, SourceLocation, Subset, Timestamp};
use crate::registry::error::Result;
use crate::registry::refusal::ChangeError;
use crate::registry::snapshot::GranulePages;
use crate::store::{DatasetKey, Transaction};

/// A subset that another registry cited, and that is to be kept here too, since its identifier must
/// resolve.
#[derive(Debug)]
pub struct CitedSubset {
    /// Its identifier.
    pub identifier: Identifier,
    /// The time of the change from whose granules it was selected.
    pub timestamp: Timestamp,
    /// How it was selected.
    pub wanted: Wanted,
    /// How many granules it has.
    pub granules: u64,
    /// When it was first cited.
    pub cited: Timestamp,
    /// Where it was read, for messages.
    pub location: SourceLocation,
}

impl CitedSubset {
    /// Keeps the subset, unless it is kept already; returns whether it was new. It is selected again,
    /// and must have the same identifier.
    pub(super) fn keep(
        &self,
        transaction: &Transaction,
        key: DatasetKey,
        dataset: &DatasetName,
    ) -> Result<bool> {
        let refused = |identifier| ChangeError::SubsetNotAsExpected {
            location: self.location.clone(),
            at: self.timestamp,
            expected: self.identifier,
            identifier,
        };
        let Some(criteria) = criteria_of(&self.wanted) else {
            return Err(refused(Identifier::EMPTY).into());
        };
        if transaction.subset(key, self.identifier, &criteria)?.is_some() {
            return Ok(false);
        }
        let in_force = transaction.instance_at(key, self.timestamp)?;
        if in_force.is_none_or(|in_force| in_force.timestamp != self.timestamp) {
            return Err(refused(Identifier::EMPTY).into());
        }
        let (identifier, granules) = match &self.wanted {
            Wanted::Patterns(patterns) => {
                GranulePages::selected(key, self.timestamp, patterns.clone())
                    .identify(transaction)?
            }
            Wanted::Named(named) => {
                identify_named(transaction, key, dataset, self.timestamp, named)?
            }
        };
        if (identifier, granules) != (self.identifier, self.granules) {
            return Err(refused(identifier).into());
        }
        let subset = Subset {
            dataset: dataset.clone(),
            timestamp: self.timestamp,
            criteria,
            identifier,
            granules,
            cited: self.cited,
        };
        let stored = transaction.insert_subset(key, &subset)?;
        if let Wanted::Named(named) = &self.wanted {
            for batch in batches(named)? {
                let ids: Vec<GranuleId> =
                    batch?.into_iter().map(|staged| staged.granule_id).collect();
                transaction.insert_named(key, stored, &ids)?;
            }
        }
        Ok(true)
    }
}
