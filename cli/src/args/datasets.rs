//! The datasets that the arguments of a command name.

use accession::{DatasetFilter, DatasetName};

/// The named datasets, or all datasets if none is named.
pub fn named_or_all(names: &[DatasetName]) -> DatasetFilter {
    match names {
        [] => DatasetFilter::All,
        names => DatasetFilter::Only(names.to_vec()),
    }
}
