//! The record of a dataset as keyword arguments.

use accession::dataset::DatasetMetadata;
use accession::dataset::SharedDoi;
use accession::{CancelToken, DatasetName, Limit, Limits};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Failure;
use crate::keywords::{self, all_parsed};
use crate::opened::Opened;
use crate::time::ChangeTime;

/// Sets a field of a record or a limit, or removes it.
type FieldEdit = Box<dyn Fn(&mut DatasetMetadata, &mut Limits) + Send + Sync>;

/// Reads the fields that are set, or with None removed.
///
/// # Errors
///
/// A field does not exist, or its value cannot be read.
pub fn of(fields: Option<&Bound<'_, PyDict>>) -> Result<Vec<FieldEdit>, Failure> {
    let edit = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract()?;
        let value = Some(value).filter(|value| !value.is_none());
        let (name, value) = (name.as_str(), value.as_ref());
        match name {
            "doi" => parsed(name, value, |dataset, _, doi| dataset.doi = doi),
            "title" => parsed(name, value, |dataset, _, title| dataset.title = title),
            "description" => parsed(name, value, |dataset, _, text| dataset.description = text),
            "creators" => list(name, value, |dataset, creators| dataset.creators = creators),
            "publisher" => parsed(name, value, |dataset, _, name| dataset.publisher = name),
            "version" => parsed(name, value, |dataset, _, version| dataset.version = version),
            "year" => parsed(name, value, |dataset, _, year| dataset.year = year),
            "url" => parsed(name, value, |dataset, _, url| dataset.url = url),
            "licence" => parsed(name, value, |dataset, _, licence| dataset.licence = licence),
            "archive" => parsed(name, value, |dataset, _, archive| dataset.archive = archive),
            "granule_url" => parsed(name, value, |dataset, _, url| dataset.granule_url = url),
            "resolver" => parsed(name, value, |dataset, _, url| dataset.resolver = url),
            "keywords" => list(name, value, |dataset, keywords| dataset.keywords = keywords),
            "free_access" => {
                let is_free = value.map(|value| value.extract()).transpose()?;
                Ok(edit_of(move |dataset, _| dataset.free_access = is_free))
            }
            "temporal" => parsed(name, value, |dataset, _, temporal| dataset.temporal = temporal),
            "max_delete" => limit(name, value, |limits, limit| limits.max_delete = limit),
            "max_add" => limit(name, value, |limits, limit| limits.max_add = limit),
            "max_replace" => limit(name, value, |limits, limit| limits.max_replace = limit),
            _ => {
                let message = format!("a record has no field {name:?}");
                Err(Failure::usage(message, "help(Dataset.edit) lists the fields"))
            }
        }
    };
    fields.into_iter().flatten().map(edit).collect()
}

fn edit_of(edit: impl Fn(&mut DatasetMetadata, &mut Limits) + Send + Sync + 'static) -> FieldEdit {
    Box::new(edit)
}

fn parsed<T>(
    name: &str,
    value: Option<&Bound<'_, PyAny>>,
    set: fn(&mut DatasetMetadata, &mut Limits, Option<T>),
) -> Result<FieldEdit, Failure>
where
    T: std::str::FromStr<Err: std::fmt::Display> + Clone + Send + Sync + 'static,
{
    let text = value.map(|value| value.str()).transpose()?;
    let value: Option<T> = text.map(|text| keywords::parsed(name, text.to_str()?)).transpose()?;
    Ok(edit_of(move |dataset, limits| set(dataset, limits, value.clone())))
}

fn limit(
    name: &str,
    value: Option<&Bound<'_, PyAny>>,
    set: fn(&mut Limits, Option<Limit>),
) -> Result<FieldEdit, Failure> {
    let text = value.map(|value| value.str()).transpose()?;
    let limit = text.map(|text| keywords::limit(name, text.to_str()?)).transpose()?;
    Ok(edit_of(move |_, limits| set(limits, limit)))
}

fn list<T>(
    name: &str,
    value: Option<&Bound<'_, PyAny>>,
    set: fn(&mut DatasetMetadata, Vec<T>),
) -> Result<FieldEdit, Failure>
where
    T: std::str::FromStr<Err: std::fmt::Display> + Clone + Send + Sync + 'static,
{
    let texts: Vec<String> = value.map_or_else(|| Ok(Vec::new()), |value| value.extract())?;
    let values: Vec<T> = all_parsed(name, &texts)?;
    Ok(edit_of(move |dataset, _| set(dataset, values.clone())))
}

/// Applies the edits. A dataset that does not exist is added, if `create` says so.
///
/// # Errors
///
/// Those of the registry.
pub fn apply(
    opened: &Opened,
    name: &DatasetName,
    edits: &[FieldEdit],
    create: bool,
    shared_doi: bool,
    token: CancelToken,
) -> Result<(), Failure> {
    let registry = opened.writer(ChangeTime::default(), token)?;
    let shared_doi = if shared_doi { SharedDoi::Accepted } else { SharedDoi::Refused };
    let edit = |dataset: &mut DatasetMetadata, limits: &mut Limits| {
        edits.iter().for_each(|edit| edit(dataset, limits));
    };
    if create && !registry.snapshot()?.has_dataset(name)? {
        let (mut dataset, mut limits) = (DatasetMetadata::named(name.clone()), Limits::default());
        edit(&mut dataset, &mut limits);
        registry.add_dataset_with(&dataset, limits, shared_doi)?;
        return Ok(());
    }
    registry.edit_dataset_with(name, shared_doi, edit)?;
    Ok(())
}
