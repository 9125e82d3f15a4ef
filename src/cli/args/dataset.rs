//! Names of datasets.

use accession::{DatasetName, DatasetNameError};
use anyhow::Result;

use crate::cli::usage::UsageError;

/// Takes the name of a dataset that exists: one that an older version permitted, too.
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
            .with_hint("name a new dataset otherwise; without --create, older names are found")
            .into()),
    }
}
