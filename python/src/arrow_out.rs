//! Converts lines of JSON to batches of a table.

use std::sync::Arc;

use accession::Timestamp;
use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, ListArray, MapArray, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use serde_json::{Map, Value, json};

use crate::error::Failure;

/// The columns of a table, and how lines are converted to rows.
pub struct Columns {
    fields: Fields,
    rows: Rows,
}

/// The content of the lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// Ids.
    Ids,
    /// Objects. Each is a row.
    Objects,
    /// Granules. Each of their files is a row.
    Files,
}

/// Whole lines.
pub struct Lines<'a>(&'a [u8]);

impl<'a> Lines<'a> {
    pub fn of(text: &'a [u8]) -> Self {
        Lines(text)
    }

    fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.0.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
    }
}

impl Columns {
    /// Parses a description, in JSON: `{"rows": "objects", "columns": [["dataset", "text"], …]}`. A type is
    /// `text`, `bool`, `int`, `time`, `json` (any value as JSON), `map` of strings, `["list", TYPE]` or
    /// `["struct", COLUMNS]`.
    ///
    /// # Errors
    ///
    /// The description is invalid.
    pub fn read(description: &str) -> Result<Self, Failure> {
        let wrong = || Failure::new("usage", format!("not columns: {description}"), "");
        let description: Value = serde_json::from_str(description).map_err(|_| wrong())?;
        let rows = match description["rows"].as_str() {
            Some("ids") => Rows::Ids,
            Some("files") => Rows::Files,
            _ => Rows::Objects,
        };
        let fields = fields(&description["columns"]).ok_or_else(wrong)?;
        Ok(Columns { fields, rows })
    }

    /// The schema of the table.
    pub fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.fields.clone()))
    }

    /// Converts lines to a batch of the table.
    ///
    /// # Errors
    ///
    /// A line is not UTF-8, is not JSON, or does not fit the table.
    pub fn batch(&self, lines: &Lines<'_>) -> Result<RecordBatch, ArrowError> {
        let strange = |error: &dyn std::fmt::Display| ArrowError::ParseError(error.to_string());
        if self.rows == Rows::Ids {
            let ids: Result<Vec<&str>, _> = lines.iter().map(std::str::from_utf8).collect();
            let ids = StringArray::from(ids.map_err(|error| strange(&error))?);
            return RecordBatch::try_new(self.schema(), vec![Arc::new(ids)]);
        }
        let mut rows = Vec::new();
        for line in lines.iter() {
            let row: Value = serde_json::from_slice(line).map_err(|error| strange(&error))?;
            match self.rows {
                Rows::Files => rows.extend(files_of(row)),
                _ => rows.push(row),
            }
        }
        let columns = columns(&self.fields, &rows.iter().collect::<Vec<_>>());
        RecordBatch::try_new(self.schema(), columns)
    }
}

/// The files of a granule, as rows.
fn files_of(mut granule: Value) -> Vec<Value> {
    let Value::Array(files) = granule["files"].take() else { return Vec::new() };
    let id = granule["granule"].take();
    let row = |mut file: Value| {
        let path = file["path"].take();
        let path = if path.is_null() { id.clone() } else { path };
        let mut checksums = Map::new();
        for checksum in file["checksums"].as_array().into_iter().flatten() {
            if let Some((algorithm, value)) = checksum.as_str().and_then(|it| it.split_once(':')) {
                checksums.insert(algorithm.to_owned(), value.into());
            }
        }
        json!({ "granule": id, "path": path, "size": file["size"], "checksums": checksums })
    };
    files.into_iter().map(row).collect()
}

fn fields(columns: &Value) -> Option<Fields> {
    let field = |column: &Value| {
        let [name, kind] = column.as_array()?.as_slice() else { return None };
        Some(Field::new(name.as_str()?, data_type(kind)?, true))
    };
    columns.as_array()?.iter().map(field).collect()
}

fn data_type(kind: &Value) -> Option<DataType> {
    if let Some([name, inner]) = kind.as_array().map(Vec::as_slice) {
        return match name.as_str()? {
            "list" => Some(DataType::new_list(data_type(inner)?, true)),
            _ => Some(DataType::Struct(fields(inner)?)),
        };
    }
    match kind.as_str()? {
        "bool" => Some(DataType::Boolean),
        "int" => Some(DataType::Int64),
        "time" => Some(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        "map" => {
            let [key, value] = [("key", false), ("value", true)]
                .map(|(name, is_nullable)| Field::new(name, DataType::Utf8, is_nullable));
            let map = Field::new_map("checksums", "entries", key, value, false, true);
            Some(map.data_type().clone())
        }
        // `text` and `json`.
        _ => Some(DataType::Utf8),
    }
}

/// The columns of `values`, which are objects of JSON.
fn columns(fields: &Fields, values: &[&Value]) -> Vec<ArrayRef> {
    let members = |field: &str| values.iter().map(|value| &value[field]).collect::<Vec<_>>();
    fields.iter().map(|field| column(field.data_type(), &members(field.name()))).collect()
}

fn nulls(values: &[&Value]) -> Option<NullBuffer> {
    Some(values.iter().map(|value| !value.is_null()).collect())
}

/// A column of JSON values.
fn column(kind: &DataType, values: &[&Value]) -> ArrayRef {
    match kind {
        DataType::Boolean => {
            Arc::new(values.iter().map(|value| value.as_bool()).collect::<BooleanArray>())
        }
        DataType::Int64 => {
            Arc::new(values.iter().map(|value| value.as_i64()).collect::<Int64Array>())
        }
        DataType::Timestamp(..) => {
            let micros = values
                .iter()
                .map(|value| Some(value.as_str()?.parse::<Timestamp>().ok()?.as_micros()));
            Arc::new(micros.collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
        }
        DataType::Struct(fields) => {
            Arc::new(StructArray::new(fields.clone(), columns(fields, values), nulls(values)))
        }
        DataType::List(item) => {
            let lists = values.iter().map(|value| value.as_array().map_or(&[][..], Vec::as_slice));
            let offsets = OffsetBuffer::from_lengths(lists.clone().map(<[Value]>::len));
            let items = column(item.data_type(), &lists.flatten().collect::<Vec<_>>());
            Arc::new(ListArray::new(Arc::clone(item), offsets, items, nulls(values)))
        }
        DataType::Map(entries, _) => {
            let (nothing, nulls) = (Map::new(), nulls(values));
            let maps = values.iter().map(|value| value.as_object().unwrap_or(&nothing));
            let offsets = OffsetBuffer::from_lengths(maps.clone().map(Map::len));
            let (keys, values): (Vec<_>, Vec<_>) = maps.flatten().unzip();
            let keys: ArrayRef = Arc::new(StringArray::from_iter_values(keys));
            let DataType::Struct(fields) = entries.data_type() else { return keys };
            let columns = vec![keys, column(fields[1].data_type(), &values)];
            let structs = StructArray::new(fields.clone(), columns, None);
            Arc::new(MapArray::new(Arc::clone(entries), offsets, structs, nulls, false))
        }
        // Strings. Any other value becomes its JSON.
        _ => {
            let texts = values.iter().map(|value| match value {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            });
            Arc::new(texts.collect::<StringArray>())
        }
    }
}
