//! Values of rows, checked before they are used.

use super::error::{Error, Result};
use crate::model::{DatasetName, GranuleId};

/// The granule id in a row of a dataset.
///
/// # Errors
///
/// [`Error::Store`] of kind `damaged`: it is not valid.
pub(super) fn granule_id<'row>(bytes: &'row [u8], dataset: &DatasetName) -> Result<&'row str> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| GranuleId::check(text).is_ok());
    text.ok_or_else(|| not_an_id(dataset))
}

/// The error for a row whose granule id is not valid.
pub(super) fn not_an_id(dataset: &DatasetName) -> Error {
    Error::damaged(format!("{dataset} has a row whose granule id is not valid"))
}
