//! What is known of the files of a set: their sizes and checksums.

use std::sync::{Arc, Mutex};

use accession::Monitor;
use accession::model::{GranuleId, KnownFile};
use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{ArrayRef, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow_out::{Table, in_parts, to_pyarrow};
use crate::error::Failure;
use crate::lists::{Begin, Items, Paged};
use crate::process::Owned;
use crate::record::object;
use crate::registry::Opened;
use crate::work::run;

/// A file of a granule.
struct Row {
    granule_id: GranuleId,
    file: KnownFile,
}

type Rows = Items<Row>;

/// The files that are known of a set, by granule and path: an iterator, and a table, which has all of
/// them, however far they were iterated over.
#[pyclass(frozen, module = "accession_registry")]
pub struct Files {
    begin: Begin<Rows>,
    list: Owned<Mutex<Paged<Row>>>,
}

impl Files {
    /// Those of a set. Nothing is read yet.
    pub fn of(opened: &Arc<Opened>, set: &accession::Set) -> Self {
        let (opened, set) = (Arc::clone(opened), set.clone());
        let begin: Begin<Rows> = Box::new(move |monitor| {
            let listed = opened.reader(monitor)?.snapshot()?.files(&set)?;
            let rows = listed.flat_map(|granule| match granule {
                Err(error) => vec![Err(error.into())],
                Ok(granule) => {
                    let row = |file: &KnownFile| {
                        Ok(Row { granule_id: granule.granule_id.clone(), file: file.clone() })
                    };
                    granule.content.files().iter().map(row).collect::<Vec<_>>()
                }
            });
            Ok(Box::new(rows))
        });
        Files { begin, list: Paged::of(None) }
    }

    fn table(&self, monitor: &Arc<dyn Monitor>) -> Result<Table, Failure> {
        let rows = (self.begin)(Arc::clone(monitor))?;
        let checksums = columns_of(Vec::new())[3].data_type().clone();
        let schema = Arc::new(Schema::new(vec![
            Field::new("granule", DataType::Utf8, false),
            Field::new("path", DataType::Utf8, false),
            Field::new("size", DataType::UInt64, true),
            Field::new("checksums", checksums, false),
        ]));
        let parts = in_parts(&schema, rows, columns_of);
        Ok(Table { schema, parts })
    }
}

fn columns_of(rows: Vec<Row>) -> Vec<ArrayRef> {
    let names = MapFieldNames {
        entry: "entries".to_owned(),
        key: "key".to_owned(),
        value: "value".to_owned(),
    };
    let mut checksums = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for row in &rows {
        for checksum in row.file.checksums() {
            checksums.keys().append_value(checksum.algorithm().as_str());
            checksums.values().append_value(checksum.to_string());
        }
        // As many keys as values were appended.
        let _ = checksums.append(true);
    }
    let granules = rows.iter().map(|row| row.granule_id.as_str());
    let paths = rows.iter().map(|row| row.file.path(&row.granule_id));
    vec![
        Arc::new(StringArray::from_iter_values(granules)),
        Arc::new(StringArray::from_iter_values(paths)),
        Arc::new(rows.iter().map(|row| row.file.size()).collect::<UInt64Array>()),
        Arc::new(checksums.finish()),
    ]
}

#[pymethods]
impl Files {
    /// The files as a `pyarrow.Table`.
    fn to_arrow<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        let table = run(py, |monitor| self.table(&monitor)?.read(&monitor))?;
        to_pyarrow(py, table.capsule(py)?)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        #[expect(unused_variables, reason = "a consumer converts what it wants otherwise")]
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyCapsule>, Failure> {
        run(py, |monitor| self.table(&monitor))?.capsule(py)
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>, Failure> {
        let next = Paged::next(&self.list, py, &self.begin)?;
        let Some(Row { granule_id, file }) = next else { return Ok(None) };
        let checksums = file.checksums().iter().map(|checksum| {
            (checksum.algorithm().as_str().to_owned(), checksum.to_string().into())
        });
        let value = serde_json::json!({
            "granule": granule_id,
            "path": file.path(&granule_id),
            "size": file.size(),
            "checksums": checksums.collect::<serde_json::Map<String, serde_json::Value>>(),
        });
        Ok(Some(object(py, "FileRecord", &value)?))
    }

    fn __repr__(&self) -> &'static str {
        "<Files>"
    }
}
