//! The choice of datasets for an operation.

use super::dataset_name::DatasetName;

/// The datasets that an operation shows, publishes or verifies.
///
/// A filter without names selects no dataset. If the user named none and means all, a front end must use
/// [`DatasetFilter::All`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatasetFilter {
    /// Every dataset.
    All,
    /// The datasets that have, or had before a rename, one of these names.
    Only(Vec<DatasetName>),
}

impl From<DatasetName> for DatasetFilter {
    fn from(name: DatasetName) -> Self {
        DatasetFilter::Only(vec![name])
    }
}

impl DatasetFilter {
    /// The datasets that both filters select.
    pub(crate) fn both(&self, other: &DatasetFilter) -> DatasetFilter {
        match (self, other) {
            (DatasetFilter::All, filter) | (filter, DatasetFilter::All) => filter.clone(),
            (DatasetFilter::Only(names), DatasetFilter::Only(others)) => {
                let of_both = names.iter().filter(|name| others.contains(name));
                DatasetFilter::Only(of_both.cloned().collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_within_a_filter_selects_no_more() {
        let only = |names: &[&str]| {
            DatasetFilter::Only(names.iter().map(|name| name.parse().unwrap()).collect())
        };
        assert_eq!(only(&["A", "B"]).both(&only(&["B", "C"])), only(&["B"]));
        assert_eq!(only(&["A"]).both(&DatasetFilter::All), only(&["A"]));
        assert_eq!(DatasetFilter::All.both(&only(&["A"])), only(&["A"]));
        assert_eq!(only(&[]).both(&DatasetFilter::All), only(&[]));
    }
}
