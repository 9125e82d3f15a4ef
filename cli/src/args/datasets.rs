//! The datasets that the arguments of a command name.

use accession::{DatasetFilter, DatasetName};

/// The datasets that were named, or all if none was.
pub fn named_or_all(names: &[DatasetName]) -> DatasetFilter {
    match names {
        [] => DatasetFilter::All,
        names => DatasetFilter::Only(names.to_vec()),
    }
}
