//! The record of a dataset as keyword arguments.

use std::sync::Arc;

use accession::registry::{Edit, SharedDoi};
use accession::{Dataset, DatasetEdit, DatasetName, Monitor};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Failure;
use crate::opened::Opened;
use crate::time::ChangeTime;

/// Reads the fields that are set, or with None removed.
///
/// # Errors
///
/// A field does not exist, or its value cannot be read.
pub fn of(fields: Option<&Bound<'_, PyDict>>) -> Result<DatasetEdit, Failure> {
    let mut edit = DatasetEdit::default();
    for (name, value) in fields.into_iter().flatten() {
        let name: String = name.extract()?;
        let value = Some(value).filter(|value| !value.is_none());
        let value = value.as_ref();
        match name.as_str() {
            "doi" => edit.doi = parsed(&name, value)?,
            "title" => edit.title = parsed(&name, value)?,
            "description" => edit.description = parsed(&name, value)?,
            "creators" => edit.creators = list(&name, value)?,
            "publisher" => edit.publisher = parsed(&name, value)?,
            "version" => edit.version = parsed(&name, value)?,
            "year" => edit.year = parsed(&name, value)?,
            "url" => edit.url = parsed(&name, value)?,
            "licence" => edit.licence = parsed(&name, value)?,
            "archive" => edit.archive = parsed(&name, value)?,
            "granule_url" => edit.granule_url = parsed(&name, value)?,
            "resolver" => edit.resolver = parsed(&name, value)?,
            "keywords" => edit.keywords = list(&name, value)?,
            "free_access" => edit.free_access = extracted(value)?,
            "temporal" => edit.temporal = parsed(&name, value)?,
            "max_delete" => edit.max_delete = parsed(&name, value)?,
            "max_add" => edit.max_add = parsed(&name, value)?,
            "max_replace" => edit.max_replace = parsed(&name, value)?,
            _ => {
                let message = format!("a record has no field {name:?}");
                return Err(Failure::usage(message, "help(Dataset.edit) lists the fields"));
            }
        }
    }
    Ok(edit)
}

fn parsed<T>(name: &str, value: Option<&Bound<'_, PyAny>>) -> Result<Edit<T>, Failure>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let Some(value) = value else { return Ok(Edit::Clear) };
    let text = value.str()?.to_string();
    text.parse()
        .map(|value| Edit::set(Some(value)))
        .map_err(|cause| Failure::unreadable(name, cause))
}

fn extracted<'py, T: FromPyObjectOwned<'py>>(
    value: Option<&Bound<'py, PyAny>>,
) -> Result<Edit<T>, Failure> {
    let Some(value) = value else { return Ok(Edit::Clear) };
    Ok(Edit::set(Some(value.extract().map_err(Into::into)?)))
}

fn list<T>(name: &str, value: Option<&Bound<'_, PyAny>>) -> Result<Edit<Vec<T>>, Failure>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let Some(value) = value else { return Ok(Edit::Clear) };
    let texts: Vec<String> = value.extract()?;
    let values = texts.iter().map(|text| text.parse()).collect::<Result<_, _>>();
    values.map(|values| Edit::set(Some(values))).map_err(|cause| Failure::unreadable(name, cause))
}

/// Applies the edit. A dataset that does not exist is added, if `create` says so.
///
/// # Errors
///
/// Those of the registry.
pub fn apply(
    opened: &Opened,
    name: &DatasetName,
    edit: DatasetEdit,
    create: bool,
    shared_doi: bool,
    monitor: Arc<dyn Monitor>,
) -> Result<(), Failure> {
    let registry = opened.writer(monitor)?;
    let stamp = opened.stamp(ChangeTime::default());
    let shared_doi = if shared_doi { SharedDoi::Accepted } else { SharedDoi::Refused };
    if create && !registry.snapshot()?.has_dataset(name)? {
        let limits = edit.limits(accession::Limits::default());
        let mut dataset = Dataset::named(name.clone());
        edit.apply_to(&mut dataset);
        registry.add_dataset_with(&dataset, limits, shared_doi, &stamp)?;
        return Ok(());
    }
    registry.edit_dataset_with(name, &edit, shared_doi, &stamp)?;
    Ok(())
}
