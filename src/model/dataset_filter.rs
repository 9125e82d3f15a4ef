//! Which datasets an operation is about.

use super::dataset_name::DatasetName;

/// The datasets that an operation shows, publishes or verifies.
///
/// A filter that names no dataset selects none: a front end says [`DatasetFilter::All`] if its user named
/// none and means all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatasetFilter {
    /// Every dataset.
    All,
    /// The datasets that have one of these names, or had it before they were renamed.
    Only(Vec<DatasetName>),
}

impl From<DatasetName> for DatasetFilter {
    fn from(name: DatasetName) -> Self {
        DatasetFilter::Only(vec![name])
    }
}
