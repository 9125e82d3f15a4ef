//! What long lists consist of: ids, instances, files, and ids of one side of a comparison.

use std::sync::Arc;

use accession::model::{GranuleId, IdPage, KnownFile};
use accession::{Annotation, Instance, Timestamp};
use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BooleanArray, ListArray, StringArray, StructArray, TimestampMicrosecondArray,
    UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::record::object;
use crate::rows::Page;

impl Page for IdPage {
    fn schema() -> Schema {
        Schema::new(vec![Field::new("granule", DataType::Utf8, false)])
    }

    fn headings() -> &'static [&'static str] {
        &["granule"]
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn row<'py>(&self, py: Python<'py>, index: usize) -> Result<Bound<'py, PyAny>, Failure> {
        Ok(self.get(index).into_pyobject(py).map_err(PyErr::from)?)
    }

    fn cells(&self, index: usize) -> Vec<String> {
        vec![self.get(index).unwrap_or_default().to_owned()]
    }

    fn columns(&self) -> Vec<ArrayRef> {
        let mut ids = StringBuilder::with_capacity(self.len(), self.as_lines().len());
        self.iter().for_each(|id| ids.append_value(id));
        vec![Arc::new(ids.finish())]
    }
}

/// A granule that only one side of a comparison has, and the name of the side.
pub struct OfSide(pub &'static str, pub GranuleId);

impl Page for Vec<OfSide> {
    fn schema() -> Schema {
        Schema::new(vec![
            Field::new("side", DataType::Utf8, false),
            Field::new("granule", DataType::Utf8, false),
        ])
    }

    fn headings() -> &'static [&'static str] {
        &["side", "granule"]
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn row<'py>(&self, py: Python<'py>, index: usize) -> Result<Bound<'py, PyAny>, Failure> {
        let OfSide(side, granule_id) = &self[index];
        Ok((side, granule_id.as_str()).into_pyobject(py)?.into_any())
    }

    fn cells(&self, index: usize) -> Vec<String> {
        let OfSide(side, granule_id) = &self[index];
        vec![(*side).to_owned(), granule_id.as_str().to_owned()]
    }

    fn columns(&self) -> Vec<ArrayRef> {
        let granules = self.iter().map(|OfSide(_, granule_id)| granule_id.as_str());
        vec![
            Arc::new(StringArray::from_iter_values(self.iter().map(|OfSide(side, _)| side))),
            Arc::new(StringArray::from_iter_values(granules)),
        ]
    }
}

/// A file of a granule.
pub struct FileOf {
    pub granule_id: GranuleId,
    pub file: KnownFile,
}

impl Page for Vec<FileOf> {
    fn schema() -> Schema {
        let checksums = checksums_of(&[]).data_type().clone();
        Schema::new(vec![
            Field::new("granule", DataType::Utf8, false),
            Field::new("path", DataType::Utf8, false),
            Field::new("size", DataType::UInt64, true),
            Field::new("checksums", checksums, false),
        ])
    }

    fn headings() -> &'static [&'static str] {
        &["granule", "path", "size", "checksums"]
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn row<'py>(&self, py: Python<'py>, index: usize) -> Result<Bound<'py, PyAny>, Failure> {
        let FileOf { granule_id, file } = &self[index];
        let checksums = file.checksums().iter().map(|checksum| {
            (checksum.algorithm().as_str().to_owned(), checksum.to_string().into())
        });
        let value = serde_json::json!({
            "granule": granule_id,
            "path": file.path(granule_id),
            "size": file.size(),
            "checksums": checksums.collect::<serde_json::Map<String, serde_json::Value>>(),
        });
        object(py, "FileRecord", &value)
    }

    fn cells(&self, index: usize) -> Vec<String> {
        let FileOf { granule_id, file } = &self[index];
        let checksums = file.checksums().iter();
        let checksums = checksums.map(|it| format!("{}:{it}", it.algorithm().as_str()));
        vec![
            granule_id.as_str().to_owned(),
            file.path(granule_id).to_owned(),
            file.size().map_or_else(String::new, |size| size.to_string()),
            checksums.collect::<Vec<_>>().join(" "),
        ]
    }

    fn columns(&self) -> Vec<ArrayRef> {
        let granules = self.iter().map(|row| row.granule_id.as_str());
        let paths = self.iter().map(|row| row.file.path(&row.granule_id));
        vec![
            Arc::new(StringArray::from_iter_values(granules)),
            Arc::new(StringArray::from_iter_values(paths)),
            Arc::new(self.iter().map(|row| row.file.size()).collect::<UInt64Array>()),
            checksums_of(self),
        ]
    }
}

/// The checksums of files, by algorithm.
fn checksums_of(files: &[FileOf]) -> ArrayRef {
    let names = MapFieldNames {
        entry: "entries".to_owned(),
        key: "key".to_owned(),
        value: "value".to_owned(),
    };
    let mut checksums = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for row in files {
        for checksum in row.file.checksums() {
            checksums.keys().append_value(checksum.algorithm().as_str());
            checksums.values().append_value(checksum.to_string());
        }
        // As many keys as values were appended.
        let _ = checksums.append(true);
    }
    Arc::new(checksums.finish())
}

impl Page for Vec<Instance> {
    fn schema() -> Schema {
        let time = || DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let text = || DataType::Utf8;
        Schema::new(vec![
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
        ])
    }

    fn headings() -> &'static [&'static str] {
        &["from", "until", "granules", "identifier", "note"]
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn row<'py>(&self, py: Python<'py>, index: usize) -> Result<Bound<'py, PyAny>, Failure> {
        object(py, "Instance", &self[index])
    }

    fn cells(&self, index: usize) -> Vec<String> {
        let Instance { timestamp, until, granules, identifier, note, annotations, .. } =
            &self[index];
        let notes = note.iter().map(String::as_str).chain(annotations.iter().map(|it| &*it.note));
        vec![
            timestamp.to_string(),
            until.map_or("now".to_owned(), |until| until.to_string()),
            granules.to_string(),
            format!("DI:{identifier}"),
            notes.collect::<Vec<_>>().join("; "),
        ]
    }

    fn columns(&self) -> Vec<ArrayRef> {
        let texts = |text: &dyn Fn(&Instance) -> Option<String>| -> ArrayRef {
            Arc::new(self.iter().map(text).collect::<StringArray>())
        };
        let times = |time: &dyn Fn(&Instance) -> Option<Timestamp>| -> ArrayRef {
            let micros = self.iter().map(|instance| time(instance).map(Timestamp::as_micros));
            Arc::new(micros.collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
        };
        let counts = |count: fn(&Instance) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(self.iter().map(count)))
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
            annotations_of(self),
        ]
    }
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
