//! What long lists consist of: ids, instances, files, and ids of one side of a comparison.

use std::collections::BTreeMap;
use std::sync::Arc;

use accession::history::IdPage;
use accession::{FileRecord, GranuleId};
use accession::{Instance, Timestamp};
use arrow_array::builder::StringBuilder;
use arrow_array::{
    ArrayRef, BooleanArray, ListArray, MapArray, StringArray, StructArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::Value;

use crate::error::Failure;
use crate::record::object;
use crate::rows::Page;

impl Page for IdPage {
    fn schema() -> Schema {
        Schema::new(vec![Field::new("granule", DataType::Utf8, false)])
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn row<'py>(&self, py: Python<'py>, index: usize) -> Result<Bound<'py, PyAny>, Failure> {
        Ok(self.get(index).into_pyobject(py).map_err(PyErr::from)?)
    }

    fn columns(&self) -> Vec<ArrayRef> {
        let mut ids = StringBuilder::with_capacity(self.len(), self.as_lines().len());
        self.iter().for_each(|id| ids.append_value(id));
        vec![Arc::new(ids.finish())]
    }
}

/// A row of a long list, whose fields are those of its JSON.
pub trait Row: Serialize + Send + Sync {
    /// The columns of the table, in their order.
    fn fields() -> Vec<Field>;

    /// The row as an object of Python.
    ///
    /// # Errors
    ///
    /// Those of [`object`].
    fn object<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure>;
}

impl<R: Row> Page for Vec<R> {
    fn schema() -> Schema {
        Schema::new(R::fields())
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn row<'py>(&self, py: Python<'py>, index: usize) -> Result<Bound<'py, PyAny>, Failure> {
        self[index].object(py)
    }

    fn columns(&self) -> Vec<ArrayRef> {
        let rows: Vec<Value> =
            self.iter().map(|row| serde_json::to_value(row).unwrap_or_default()).collect();
        columns(&R::fields().into(), &rows.iter().collect::<Vec<_>>())
    }
}

/// A granule that only one side of a comparison has, and the name of the side.
#[derive(Serialize)]
pub struct OfSide {
    pub side: String,
    pub granule: GranuleId,
}

impl Row for OfSide {
    fn fields() -> Vec<Field> {
        ["side", "granule"].map(|name| Field::new(name, DataType::Utf8, false)).to_vec()
    }

    fn object<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        Ok((&self.side, self.granule.as_str()).into_pyobject(py)?.into_any())
    }
}

/// A file of a granule.
#[derive(Serialize)]
pub struct FileOf {
    granule: GranuleId,
    path: String,
    size: Option<u64>,
    checksums: BTreeMap<String, String>,
}

impl FileOf {
    pub fn new(granule_id: &GranuleId, file: &FileRecord) -> Self {
        let checksums = file.checksums().iter();
        FileOf {
            granule: granule_id.clone(),
            path: file.path(granule_id).to_owned(),
            size: file.size(),
            checksums: checksums
                .map(|it| (it.algorithm().as_str().to_owned(), it.to_string()))
                .collect(),
        }
    }
}

impl Row for FileOf {
    fn fields() -> Vec<Field> {
        let [key, value] = [("key", false), ("value", true)]
            .map(|(name, is_nullable)| Field::new(name, DataType::Utf8, is_nullable));
        vec![
            Field::new("granule", DataType::Utf8, false),
            Field::new("path", DataType::Utf8, false),
            Field::new("size", DataType::UInt64, true),
            Field::new_map("checksums", "entries", key, value, false, false),
        ]
    }

    fn object<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        object(py, "FileRecord", self)
    }
}

impl Row for Instance {
    fn fields() -> Vec<Field> {
        let text = |name: &str, is_nullable| Field::new(name, DataType::Utf8, is_nullable);
        let count = |name: &str| Field::new(name, DataType::UInt64, false);
        let time = |name: &str, is_nullable| {
            let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
            Field::new(name, time, is_nullable)
        };
        let annotation = Fields::from(vec![
            text("note", false),
            Field::new("questionable", DataType::Boolean, false),
            time("recorded", false),
            text("recorded_by", true),
        ]);
        vec![
            text("dataset", false),
            time("timestamp", false),
            time("until", true),
            text("identifier", false),
            text("digest", false),
            count("granules"),
            count("ingested"),
            count("deleted"),
            count("described"),
            count("replaced"),
            time("recorded", false),
            text("recorded_by", true),
            text("note", true),
            Field::new_list("annotations", Field::new_struct("item", annotation, false), false),
        ]
    }

    fn object<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        object(py, "Instance", self)
    }
}

/// The members of values, which are objects of JSON, as columns.
fn columns(fields: &Fields, values: &[&Value]) -> Vec<ArrayRef> {
    let members = |field: &str| values.iter().map(|value| &value[field]).collect::<Vec<_>>();
    fields.iter().map(|field| column(field.data_type(), &members(field.name()))).collect()
}

/// Values of JSON as a column of a type that a row has.
fn column(kind: &DataType, values: &[&Value]) -> ArrayRef {
    let texts = || values.iter().map(|value| value.as_str());
    match kind {
        DataType::Boolean => {
            Arc::new(values.iter().map(|value| value.as_bool()).collect::<BooleanArray>())
        }
        DataType::UInt64 => {
            Arc::new(values.iter().map(|value| value.as_u64()).collect::<UInt64Array>())
        }
        DataType::Timestamp(..) => {
            let micros = texts().map(|text| Some(text?.parse::<Timestamp>().ok()?.as_micros()));
            Arc::new(micros.collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
        }
        DataType::Struct(fields) => {
            Arc::new(StructArray::new(fields.clone(), columns(fields, values), None))
        }
        DataType::List(item) => {
            let lists = values.iter().map(|value| value.as_array().map_or(&[][..], Vec::as_slice));
            let offsets = OffsetBuffer::from_lengths(lists.clone().map(<[Value]>::len));
            let items = column(item.data_type(), &lists.flatten().collect::<Vec<_>>());
            Arc::new(ListArray::new(Arc::clone(item), offsets, items, None))
        }
        DataType::Map(entries, _) => {
            let maps = values.iter().filter_map(|value| value.as_object());
            let offsets = OffsetBuffer::from_lengths(maps.clone().map(serde_json::Map::len));
            let (keys, values): (Vec<_>, Vec<_>) = maps.flatten().unzip();
            let keys: ArrayRef = Arc::new(StringArray::from_iter_values(keys));
            let DataType::Struct(fields) = entries.data_type() else { return keys };
            let columns = vec![keys, column(fields[1].data_type(), &values)];
            let structs = StructArray::new(fields.clone(), columns, None);
            Arc::new(MapArray::new(Arc::clone(entries), offsets, structs, None, false))
        }
        _ => Arc::new(texts().collect::<StringArray>()),
    }
}
