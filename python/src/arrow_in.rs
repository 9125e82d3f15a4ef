//! A column of ids from whatever has the Arrow C stream interface: polars, pandas, pyarrow, DuckDB.

use std::sync::Arc;

use accession::Monitor;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayReader, ArrayRef};
use arrow_schema::{ArrowError, DataType, Fields};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::Failure;
use crate::target::{LIST, Target};

/// The columns that usually have the ids, as the input formats know them.
const USUAL: [&str; 7] =
    ["granule", "granule_id", "granuleId", "granule_ur", "granuleUr", "Granule UR", "id"];

/// A column of ids that is being read.
pub struct Column {
    reader: ArrayStreamReader,
    /// Which column of a table. `None` means that the stream is a column, and not a table.
    index: Option<usize>,
}

impl Column {
    /// Takes the stream of an object, and finds its column of ids: the named one, its only one, or a
    /// usual one.
    ///
    /// # Errors
    ///
    /// There is no such column, or it does not have strings.
    pub fn of(given: &Bound<'_, PyAny>, named: Option<&str>) -> Result<Self, Failure> {
        let reader = ArrayStreamReader::try_new(stream_of(given)?).map_err(refused)?;
        let index = match reader.field().data_type() {
            DataType::Struct(columns) => Some(index_of(columns, named)?),
            other => check_strings(reader.field().name(), other).map(|()| None)?,
        };
        Ok(Column { reader, index })
    }

    /// Adds every id.
    ///
    /// # Errors
    ///
    /// A value is missing, or not an id; the producer of the stream fails.
    pub fn read(self, target: &mut Target<'_>, monitor: &Arc<dyn Monitor>) -> Result<(), Failure> {
        let (source, mut number): (Arc<str>, u64) = (LIST.into(), 0);
        for batch in self.reader {
            let batch: ArrayRef = batch.map_err(refused)?;
            let column = match self.index {
                Some(index) => batch.as_struct().column(index),
                None => &batch,
            };
            let mut add = |id: Option<&str>| {
                number += 1;
                if number % 4_096 == 0 {
                    monitor.go_on()?;
                }
                match id {
                    Some(id) => target.add_id(id, &source, number),
                    None => {
                        let message = format!("{source}:{number}: the id is missing");
                        Err(Failure::Here("input", message, "leave out rows without an id"))
                    }
                }
            };
            match column.data_type() {
                DataType::Utf8 => column.as_string::<i32>().iter().try_for_each(&mut add)?,
                DataType::LargeUtf8 => column.as_string::<i64>().iter().try_for_each(&mut add)?,
                DataType::Utf8View => column.as_string_view().iter().try_for_each(&mut add)?,
                other => return Err(not_strings("", other)),
            }
        }
        Ok(())
    }
}

/// The stream that an object exports, which belongs to this function's caller from now on.
#[expect(
    unsafe_code,
    reason = "a capsule has a pointer, which the Arrow PyCapsule interface defines"
)]
fn stream_of(given: &Bound<'_, PyAny>) -> Result<FFI_ArrowArrayStream, Failure> {
    let capsule = given.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>().map_err(PyErr::from)?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: a capsule of this name has a valid `ArrowArrayStream` (the Arrow PyCapsule interface).
    // `from_raw` moves it out and leaves a released one, so the capsule's destructor does nothing.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr().cast()) })
}

fn index_of(columns: &Fields, named: Option<&str>) -> Result<usize, Failure> {
    let names: Vec<&str> = columns.iter().map(|field| field.name().as_str()).collect();
    let position = |name: &str| names.iter().position(|known| *known == name);
    let index = match (named, names.as_slice()) {
        (Some(named), _) => position(named),
        (None, [_]) => Some(0),
        (None, _) => USUAL.iter().find_map(|name| position(name)),
    };
    let Some(index) = index else {
        let what = named.map_or("no column that usually has ids".to_owned(), |named| {
            format!("no column {named:?}")
        });
        let message = format!("the table has {what}; its columns: {}", names.join(", "));
        return Err(Failure::Here("input", message, "name the column of ids with column=…"));
    };
    check_strings(names[index], columns[index].data_type()).map(|()| index)
}

fn check_strings(name: &str, found: &DataType) -> Result<(), Failure> {
    match found {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(()),
        other => Err(not_strings(name, other)),
    }
}

fn not_strings(name: &str, found: &DataType) -> Failure {
    let message = format!("the column {name:?} has {found}, and ids are strings");
    Failure::Here("input", message, "make it one of strings, or name another with column=…")
}

fn refused(error: ArrowError) -> Failure {
    Failure::Here("input", format!("the table cannot be read: {error}"), "")
}
