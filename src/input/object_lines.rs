//! Lines of JSON: each is an object with the id of a granule in one of its fields.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use super::Row;
use super::content;
use super::error::granule_id;
use super::format::{
    DELETED_COLUMN, INGESTED_COLUMNS, ListingOptions, RowFilter, USUAL_COLUMNS, parse_time, selects,
};
use super::json::parse_strictly;
use super::watched::{Place, Watched};
use crate::error::Error;
use crate::model::{SourceLocation, WrittenTime};

/// Reads the objects of a file. A field is named directly, or by a JSON pointer (RFC 6901), which begins with
/// `/`.
pub(super) struct ObjectLines {
    options: ListingOptions,
    /// For each row filter, whether an object with its field was read.
    has_filtered: Vec<bool>,
    /// The number of objects that were read, and the number that the filters select.
    objects: u64,
    selected: u64,
    /// The fields seen so far, each with its index in `watched`, if it is watched.
    fields: HashMap<String, Option<usize>>,
    watched: Vec<WatchedField>,
}

/// An unread field whose name is like that of a status or a collection.
struct WatchedField {
    field: Watched,
    /// The number of selected objects that have it.
    objects: u64,
}

/// The greatest number of fields to remember, so that objects that each have different fields do not fill
/// memory.
const MAX_FIELDS: usize = 1_000;

impl ObjectLines {
    pub(super) fn new(options: &ListingOptions) -> Self {
        let (fields, watched) = (HashMap::new(), Vec::new());
        let has_filtered = vec![false; options.only.len()];
        ObjectLines {
            options: options.clone(),
            has_filtered,
            objects: 0,
            selected: 0,
            fields,
            watched,
        }
    }

    /// Reads the granule of a line. `None` means that `--only` does not select it.
    pub(super) fn row(
        &mut self,
        line: &[u8],
        location: SourceLocation,
    ) -> Result<Option<Row>, Error> {
        let object = parse_strictly(line)?;
        if !self.selects(&object) {
            return Ok(None);
        }
        self.watch(&object, &location);
        let ListingOptions { column, ingested_column, deleted_column, .. } = &self.options;
        let text = value_at(&object, column.as_deref(), &USUAL_COLUMNS);
        let field = || column.clone().unwrap_or_else(|| USUAL_COLUMNS.join(", "));
        let text = text.and_then(Value::as_str).ok_or_else(|| Error::no_field(&field()))?;
        let mut row = Row::new(granule_id(text.as_bytes())?, location);
        row.files = content::of_cumulus(&object);
        if self.options.with_dates {
            let ingested = value_at(&object, ingested_column.as_deref(), &INGESTED_COLUMNS);
            row.ingested(date(ingested)?.ok_or_else(Error::no_ingest_date)?);
            let deleted = value_at(&object, deleted_column.as_deref(), &[DELETED_COLUMN]);
            if let Some(at) = date(deleted)? {
                row.deleted(at);
            }
        }
        Ok(Some(row))
    }

    /// Whether the row filters select an object. They compare strings, or numbers as they are written. Null and
    /// a missing field count as an empty string.
    fn selects(&mut self, object: &Value) -> bool {
        self.objects += 1;
        let only = &self.options.only;
        let mut is_selected = true;
        for (RowFilter { column, .. }, has_filtered) in only.iter().zip(&mut self.has_filtered) {
            let value = value_at(object, Some(column), &[]);
            *has_filtered |= value.is_some();
            let text = match value {
                Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
                None | Some(Value::Null) => Cow::Borrowed(""),
                Some(other) => Cow::Owned(other.to_string()),
            };
            is_selected &= selects(only, column, &text) != Some(false);
        }
        is_selected
    }

    /// Rejects a row filter for a field that no object has, because it may be mistyped. Call it at the end of
    /// the file.
    pub(super) fn check_filters(&self) -> Result<(), Error> {
        let mut filters = self.options.only.iter().zip(&self.has_filtered);
        match filters.find(|(_, has_filtered)| !**has_filtered) {
            Some((RowFilter { column, .. }, _)) if self.objects > 0 => Err(Error::no_field(column)),
            _ => Ok(()),
        }
    }

    /// Counts the values of the watched fields of an object.
    fn watch(&mut self, object: &Value, location: &SourceLocation) {
        self.selected += 1;
        for (name, value) in object.as_object().into_iter().flatten() {
            let index = match self.fields.get(name) {
                Some(index) => *index,
                None if self.fields.len() == MAX_FIELDS => None,
                None => {
                    let index = self.begin(name, location);
                    self.fields.insert(name.clone(), index);
                    index
                }
            };
            let Some(watched) = index.and_then(|index| self.watched.get_mut(index)) else {
                continue;
            };
            match value {
                Value::String(text) => watched.field.add(text.as_bytes()),
                Value::Null => watched.field.add(b""),
                Value::Bool(_) | Value::Number(_) => {
                    watched.field.add(value.to_string().as_bytes());
                }
                Value::Array(_) | Value::Object(_) => continue,
            }
            watched.objects += 1;
        }
    }

    /// Begins to watch a field, unless it is read, or its name does not concern which granules should be read.
    fn begin(&mut self, name: &str, location: &SourceLocation) -> Option<usize> {
        let ListingOptions { column, ingested_column, deleted_column, only, with_dates, .. } =
            &self.options;
        let is_field =
            |field: &str| field == name || field.strip_prefix('/').is_some_and(|it| it == name);
        let deleted = deleted_column.as_deref().unwrap_or(DELETED_COLUMN);
        let dates = [ingested_column.as_deref(), Some(deleted)].into_iter().flatten();
        let is_read = column.as_deref().is_some_and(is_field)
            || only.iter().any(|filter| is_field(&filter.column))
            || *with_dates && dates.into_iter().any(is_field);
        if is_read {
            return None;
        }
        let field = Watched::of_name(name, Place::Field, *with_dates, location)?;
        self.watched.push(WatchedField { field, objects: 0 });
        Some(self.watched.len() - 1)
    }

    /// The watched fields. Call it at the end of the file.
    pub(super) fn watched(&self) -> Vec<Watched> {
        let whole = |WatchedField { field, objects }: &WatchedField| {
            let mut field = field.clone();
            // For a field with only objects and arrays, nothing is counted.
            field.add_missing(if *objects > 0 { self.selected - objects } else { 0 });
            field
        };
        self.watched.iter().map(whole).collect()
    }
}

/// The value of the requested field or, if none is requested, of the first usual one that exists.
fn value_at<'object>(
    object: &'object Value,
    field: Option<&str>,
    usual: &[&str],
) -> Option<&'object Value> {
    match field {
        Some(pointer) if pointer.starts_with('/') => object.pointer(pointer),
        Some(field) => object.get(field),
        None => usual.iter().find_map(|field| object.get(field)),
    }
}

/// The time in a field. `None` if the field is missing, null or empty.
fn date(value: Option<&Value>) -> Result<Option<WrittenTime>, Error> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => parse_time(text).map(Some),
        Some(other) => parse_time(&other.to_string()).map(Some),
    }
}
