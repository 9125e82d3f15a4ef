//! A set of granules that has an identifier.

use super::dataset_name::DatasetName;
use super::identifier::Identifier;
use super::instance::Instance;
use super::subset::Subset;

/// A set of granules that the registry knows by an identifier.
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

    /// How many granules there are.
    pub fn granules(&self) -> u64 {
        match self {
            Set::Instance(instance) => instance.granules,
            Set::Subset { subset, .. } => subset.granules,
        }
    }

    /// The dataset.
    pub fn dataset(&self) -> &DatasetName {
        &self.instance().dataset
    }

    /// The instance itself, or the one from which the subset was selected.
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
