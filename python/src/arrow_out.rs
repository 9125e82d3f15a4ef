//! Tables for Python, as streams of the Arrow C stream interface, without a copy.

use std::sync::Arc;

use accession::model::IdPage;
use accession::{Annotation, Instance, Monitor, Timestamp};
use arrow_array::builder::StringBuilder;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, ListArray, RecordBatch, RecordBatchIterator, StringArray, StructArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::Failure;
use crate::ids::check;
use crate::process::Owned;

/// Rows that are read while they are consumed, a part at a time.
pub type Parts = Box<dyn Iterator<Item = Result<RecordBatch, Failure>> + Send>;

/// A table: its columns, and its rows.
pub struct Table {
    pub schema: SchemaRef,
    pub parts: Parts,
}

impl Table {
    /// Reads all rows into memory.
    ///
    /// # Errors
    ///
    /// Those of the rows; the monitor stops it.
    pub fn read(self, monitor: &Arc<dyn Monitor>) -> Result<Self, Failure> {
        let mut read = Vec::new();
        for part in self.parts {
            check(monitor)?;
            read.push(part?);
        }
        Ok(Table { schema: self.schema, parts: Box::new(read.into_iter().map(Ok)) })
    }

    /// Hands the table over, as `__arrow_c_stream__` does.
    ///
    /// # Errors
    ///
    /// Python has no memory left.
    pub fn capsule(self, py: Python<'_>) -> Result<Bound<'_, PyCapsule>, Failure> {
        let mut parts = Owned::new(self.parts);
        let parts = std::iter::from_fn(move || match parts.get_mut() {
            Ok(parts) => parts.next().map(|part| part.map_err(external)),
            Err(forked) => Some(Err(external(forked))),
        });
        let reader = RecordBatchIterator::new(parts, self.schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        Ok(PyCapsule::new_with_value(py, stream, c"arrow_array_stream")?)
    }
}

/// The damage of a registry is the last error of a stream: its consumer shows the message.
fn external(failure: Failure) -> ArrowError {
    ArrowError::ExternalError(PyErr::from(failure).to_string().into())
}

/// The `pyarrow.Table` of what has an Arrow stream.
///
/// # Errors
///
/// `pyarrow` is not installed.
pub fn to_pyarrow<'py>(
    py: Python<'py>,
    stream: Bound<'py, PyCapsule>,
) -> Result<Bound<'py, PyAny>, Failure> {
    let reader = py.import("pyarrow")?.getattr("RecordBatchReader")?;
    Ok(reader.call_method1("_import_from_c_capsule", (stream,))?.call_method0("read_all")?)
}

/// The table of ids.
pub fn of_ids(pages: impl Iterator<Item = Result<IdPage, Failure>> + Send + 'static) -> Table {
    let schema = Arc::new(Schema::new(vec![Field::new("granule", DataType::Utf8, false)]));
    let columns = Arc::clone(&schema);
    let parts = pages.map(move |page| {
        let page = page?;
        let mut ids = StringBuilder::with_capacity(page.len(), page.as_lines().len());
        page.iter().for_each(|id| ids.append_value(id));
        batch(&columns, vec![Arc::new(ids.finish())])
    });
    Table { schema, parts: Box::new(parts) }
}

/// The table of a history.
pub fn of_instances(
    instances: impl Iterator<Item = Result<Instance, Failure>> + Send + 'static,
) -> Table {
    let time = || DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let text = || DataType::Utf8;
    let schema = Arc::new(Schema::new(vec![
        Field::new("dataset", text(), false),
        Field::new("timestamp", time(), false),
        Field::new("until", time(), true),
        Field::new("identifier", text(), false),
        Field::new("digest", text(), false),
        Field::new("granules", DataType::UInt64, false),
        Field::new("ingested", DataType::UInt64, false),
        Field::new("deleted", DataType::UInt64, false),
        Field::new("described", DataType::UInt64, false),
        Field::new("replaced", DataType::UInt64, false),
        Field::new("recorded", time(), false),
        Field::new("recorded_by", text(), true),
        Field::new("note", text(), true),
        Field::new_list("annotations", annotation(), false),
    ]));
    let parts = in_parts(&schema, instances, |part| columns_of(&part));
    Table { schema, parts }
}

/// An annotation of an instance.
fn annotation() -> Field {
    Field::new_struct("item", annotation_fields(), false)
}

fn annotation_fields() -> Fields {
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    Fields::from(vec![
        Field::new("note", DataType::Utf8, false),
        Field::new("questionable", DataType::Boolean, false),
        Field::new("recorded", time, false),
        Field::new("recorded_by", DataType::Utf8, true),
    ])
}

/// The rows of a part of a table.
const PART_ROWS: usize = 4_096;

fn columns_of(instances: &[Instance]) -> Vec<ArrayRef> {
    let texts = |text: &dyn Fn(&Instance) -> Option<String>| -> ArrayRef {
        Arc::new(instances.iter().map(text).collect::<StringArray>())
    };
    let times = |time: &dyn Fn(&Instance) -> Option<Timestamp>| -> ArrayRef {
        let micros = instances.iter().map(|instance| time(instance).map(Timestamp::as_micros));
        Arc::new(micros.collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
    };
    let counts = |count: fn(&Instance) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(instances.iter().map(count)))
    };
    vec![
        texts(&|instance| Some(instance.dataset.to_string())),
        times(&|instance| Some(instance.timestamp)),
        times(&|instance| instance.until),
        texts(&|instance| Some(instance.identifier.to_string())),
        texts(&|instance| Some(instance.digest.to_string())),
        counts(|instance| instance.granules),
        counts(|instance| instance.ingested),
        counts(|instance| instance.deleted),
        counts(|instance| instance.described),
        counts(|instance| instance.replaced),
        times(&|instance| Some(instance.recorded)),
        texts(&|instance| instance.recorded_by.clone()),
        texts(&|instance| instance.note.clone()),
        annotations_of(instances),
    ]
}

fn annotations_of(instances: &[Instance]) -> ArrayRef {
    let fields = annotation_fields();
    let all: Vec<&Annotation> = instances.iter().flat_map(|it| &it.annotations).collect();
    let recorded = all.iter().map(|it| Some(it.recorded.as_micros()));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(all.iter().map(|it| &it.note))),
        Arc::new(all.iter().map(|it| Some(it.questionable)).collect::<BooleanArray>()),
        Arc::new(recorded.collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
        Arc::new(all.iter().map(|it| it.recorded_by.as_ref()).collect::<StringArray>()),
    ];
    let offsets = OffsetBuffer::from_lengths(instances.iter().map(|it| it.annotations.len()));
    let structs = Arc::new(StructArray::new(fields, columns, None));
    Arc::new(ListArray::new(Arc::new(annotation()), offsets, structs, None))
}

/// The table of differences: `side` is `left` or `right`.
pub fn of_sides(
    rows: impl Iterator<Item = Result<(&'static str, String), Failure>> + Send + 'static,
) -> Table {
    let schema = Arc::new(Schema::new(vec![
        Field::new("side", DataType::Utf8, false),
        Field::new("granule", DataType::Utf8, false),
    ]));
    let parts = in_parts(&schema, rows, |part| {
        let (sides, ids): (Vec<_>, Vec<_>) = part.into_iter().unzip();
        let sides: ArrayRef = Arc::new(StringArray::from_iter_values(sides));
        vec![sides, Arc::new(StringArray::from_iter_values(ids))]
    });
    Table { schema, parts }
}

/// Rows in parts of a table with these columns.
pub fn in_parts<Row: Send + 'static>(
    schema: &SchemaRef,
    mut rows: impl Iterator<Item = Result<Row, Failure>> + Send + 'static,
    columns: fn(Vec<Row>) -> Vec<ArrayRef>,
) -> Parts {
    let schema = Arc::clone(schema);
    Box::new(std::iter::from_fn(move || {
        match rows.by_ref().take(PART_ROWS).collect::<Result<Vec<Row>, Failure>>() {
            Err(failure) => Some(Err(failure)),
            Ok(part) if part.is_empty() => None,
            Ok(part) => Some(batch(&schema, columns(part))),
        }
    }))
}

fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch, Failure> {
    RecordBatch::try_new(Arc::clone(schema), columns)
        .map_err(|error| Failure::usage(error.to_string(), ""))
}
