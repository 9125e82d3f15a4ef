//! Names of datasets.

use accession::{DatasetName, DatasetNameError};
use anyhow::Result;

use crate::cli::usage::UsageError;

/// Parses the name of an existing dataset, which may be one that only older versions permitted.
pub fn stored_name(text: &str) -> Result<DatasetName, DatasetNameError> {
    DatasetName::from_stored(text)
}

/// Refuses to create a dataset whose name only older versions permitted.
///
/// # Errors
///
/// Why the name is refused.
pub fn refuse_older_name(name: &DatasetName) -> Result<()> {
    match name.as_str().parse::<DatasetName>() {
        Ok(_) => Ok(()),
        Err(refused) => Err(UsageError::new(refused.to_string())
            .with_hint("choose another name; an existing dataset is found by it without --create")
            .into()),
    }
}
