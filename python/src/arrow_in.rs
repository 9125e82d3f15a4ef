//! Granules and their files from objects with the Arrow C stream interface: polars, pandas, pyarrow, DuckDB.

use std::io::{BufWriter, Seek, Write};
use std::sync::Arc;

use accession::CancelToken;
use accession::ListingOptions;
use accession::Warning;
use accession::listing::{self, InputFormat, Records};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayReader, ArrayRef, StructArray};
use arrow_schema::{ArrowError, DataType, Fields};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::{Value, json};

use crate::error::Failure;
use crate::target::{LIST, Target, read_records};
use crate::temporary_file;

/// The columns that usually have the ids, as the input formats know them.
const USUAL: [&str; 7] =
    ["granule", "granule_id", "granuleId", "granule_ur", "granuleUr", "Granule UR", "id"];

/// A table of granules that is being read: a column of ids, and columns about files.
pub struct Column {
    reader: ArrayStreamReader,
    /// Which column of a table. `None` means that the stream is a column, and not a table.
    index: Option<usize>,
    files: FileColumns,
}

/// The columns of a table that describe files, with the names of `Set.files()` and `Listing`. Each file has a
/// row.
#[derive(Default)]
struct FileColumns {
    /// The path. Without one, the id is the path.
    path: Option<usize>,
    /// The size in bytes.
    size: Option<usize>,
    /// A checksum, after its algorithm and a colon, or alone.
    checksum: Option<usize>,
    /// Checksums by their algorithms.
    checksums: Option<usize>,
}

impl Column {
    /// Takes the stream of an object, and finds its column of ids: the named one, its only one, or a
    /// usual one.
    ///
    /// # Errors
    ///
    /// There is no such column, or it does not contain strings; a column about files has a type that cannot
    /// be read.
    pub fn of(given: &Bound<'_, PyAny>, named: Option<&str>) -> Result<Self, Failure> {
        let reader = ArrayStreamReader::try_new(stream_of(given)?).map_err(refused)?;
        let (index, files) = match reader.field().data_type() {
            DataType::Struct(columns) => {
                (Some(index_of(columns, named)?), FileColumns::of(columns)?)
            }
            other => {
                check_strings(reader.field().name(), other)?;
                (None, FileColumns::default())
            }
        };
        Ok(Column { reader, index, files })
    }

    /// Adds every granule that is not deleted, with its files. Returns warnings.
    ///
    /// # Errors
    ///
    /// An id is missing or not valid; a value about a file cannot be read; the producer of the stream fails.
    pub fn read(
        self,
        target: &mut Target<'_>,
        token: &CancelToken,
    ) -> Result<Vec<Warning>, Failure> {
        if self.files.are_any() && target.takes_files() {
            return read_records(self.into_records(token)?, target, token);
        }
        let source: Arc<str> = LIST.into();
        self.each_row(token, |number, _, _, id| target.add_id(id, &source, number))?;
        Ok(Vec::new())
    }

    /// Calls `show` for each row, with its number (from 1), its part of the table, its index in that part,
    /// and its id.
    fn each_row(
        self,
        token: &CancelToken,
        mut show: impl FnMut(u64, &ArrayRef, usize, &str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut number = 0;
        for batch in self.reader {
            let batch: ArrayRef = batch.map_err(refused)?;
            let column = match self.index {
                Some(index) => batch.as_struct().column(index),
                None => &batch,
            };
            for row in 0..column.len() {
                number += 1;
                if number % 4_096 == 0 {
                    token.check()?;
                }
                let Some(id) = text_at(column, row) else {
                    let message = format!("{LIST}:{number}: the id is missing");
                    return Err(Failure::Here("input", message, "leave out rows without an id"));
                };
                show(number, &batch, row, id)?;
            }
        }
        Ok(())
    }

    /// Writes the granules as records of Cumulus into a temporary file, which the library reads. Consecutive
    /// rows with the same id are files of one granule.
    fn into_records(mut self, token: &CancelToken) -> Result<Records, Failure> {
        let columns = std::mem::take(&mut self.files);
        let mut file = BufWriter::new(temporary_file::create()?);
        let (mut granule, mut files): (Option<String>, Vec<Value>) = (None, Vec::new());
        self.each_row(token, |number, batch, row, id| {
            if let Some(before) = granule.take_if(|before| before != id) {
                writeln!(file, "{}", json!({"granule_id": before, "files": files}))?;
                files.clear();
            }
            granule.get_or_insert_with(|| id.to_owned());
            columns.add_files(batch.as_struct(), row, (id, number), &mut files)
        })?;
        if let Some(last) = granule {
            writeln!(file, "{}", json!({"granule_id": last, "files": files}))?;
        }
        let mut file = file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        file.rewind()?;
        let options = ListingOptions::new().format(InputFormat::Ndjson);
        Ok(listing::open(file, LIST, &options)?)
    }
}

impl FileColumns {
    fn of(columns: &Fields) -> Result<Self, Failure> {
        let find = |name: &str, is_readable: fn(&DataType) -> bool| {
            let Some((index, column)) = columns.find(name) else { return Ok(None) };
            match is_readable(column.data_type()) {
                true => Ok(Some(index)),
                false => Err(not_readable(name, column.data_type())),
            }
        };
        let is_size = |found: &DataType| found.is_integer() || is_float(found) || is_text(found);
        let is_map = |found: &DataType| match found {
            DataType::Map(entries, _) | DataType::List(entries) | DataType::LargeList(entries) => {
                match entries.data_type() {
                    DataType::Struct(members) => {
                        members.len() == 2 && members.iter().all(|it| is_text(it.data_type()))
                    }
                    _ => false,
                }
            }
            _ => false,
        };
        let files = FileColumns {
            path: None,
            size: find("size", is_size)?,
            checksum: find("checksum", is_text)?,
            checksums: find("checksums", is_map)?,
        };
        let path = if files.are_any() { find("path", is_text)? } else { None };
        Ok(FileColumns { path, ..files })
    }

    /// Whether the table has columns about files.
    fn are_any(&self) -> bool {
        self.size.is_some() || self.checksum.is_some() || self.checksums.is_some()
    }

    /// Adds the size and the checksums of the file in a row.
    fn add_files(
        &self,
        table: &StructArray,
        row: usize,
        (id, number): (&str, u64),
        files: &mut Vec<Value>,
    ) -> Result<(), Failure> {
        let text = |index: Option<usize>| index.and_then(|index| text_at(table.column(index), row));
        let path = text(self.path).unwrap_or(id);
        let size = match self.size {
            Some(index) => size_at(table.column(index), row, number)?,
            None => Value::Null,
        };
        let mut add = |algorithm: Option<&str>, checksum: Option<&str>| {
            files.push(json!({
                "fileName": path, "size": size, "checksumType": algorithm, "checksum": checksum,
            }));
        };
        if !size.is_null() {
            add(None, None);
        }
        if let Some(checksum) = text(self.checksum) {
            match checksum.split_once(':') {
                Some((algorithm, value)) => add(Some(algorithm), Some(value)),
                None => add(None, Some(checksum)),
            }
        }
        let Some(checksums) = self.checksums.and_then(|index| entries_at(table.column(index), row))
        else {
            return Ok(());
        };
        let [algorithms, values] = [0, 1].map(|member| checksums.as_struct().column(member));
        for entry in 0..values.len() {
            if let Some(value) = text_at(values, entry) {
                add(text_at(algorithms, entry), Some(value));
            }
        }
        Ok(())
    }
}

/// A string in a column, which may be categorical. `None` means that the value is missing.
fn text_at(column: &ArrayRef, row: usize) -> Option<&str> {
    if column.is_null(row) {
        return None;
    }
    match column.data_type() {
        DataType::Utf8 => Some(column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Some(column.as_string::<i64>().value(row)),
        DataType::Utf8View => Some(column.as_string_view().value(row)),
        DataType::Dictionary(..) => {
            let categories = column.as_any_dictionary();
            let key = categories.keys().slice(row, 1);
            text_at(categories.values(), key_of(&key)?)
        }
        _ => None,
    }
}

/// The key in a slice of one key from a categorical column.
fn key_of(key: &ArrayRef) -> Option<usize> {
    number_at(key, 0).and_then(|key| usize::try_from(key).ok())
}

/// An integer in a column. `None` means that the value is missing or not an integer.
fn number_at(column: &ArrayRef, row: usize) -> Option<i128> {
    macro_rules! number {
        ($($of:ident: $type:ty),+) => {
            match column.data_type() {
                $(DataType::$of => Some(i128::from(column.as_primitive::<$type>().value(row))),)+
                DataType::Float32 => whole(column.as_primitive::<Float32Type>().value(row).into()),
                DataType::Float64 => whole(column.as_primitive::<Float64Type>().value(row)),
                _ => text_at(column, row).and_then(|text| text.trim().parse().ok()),
            }
        };
    }
    if column.is_null(row) {
        return None;
    }
    number!(
        Int8: Int8Type, Int16: Int16Type, Int32: Int32Type, Int64: Int64Type,
        UInt8: UInt8Type, UInt16: UInt16Type, UInt32: UInt32Type, UInt64: UInt64Type
    )
}

/// An integer that is stored as a float: libraries convert columns of integers to floats if a value is
/// missing.
fn whole(number: f64) -> Option<i128> {
    // A float is exact for every integer up to 2^53.
    let is_whole = number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0;
    is_whole.then_some(number as i128)
}

/// The size in a row. `Null` means that the row has none.
fn size_at(column: &ArrayRef, row: usize, number: u64) -> Result<Value, Failure> {
    let is_missing = column.is_null(row)
        || matches!(column.data_type(), DataType::Float64)
            && column.as_primitive::<Float64Type>().value(row).is_nan();
    if is_missing {
        return Ok(Value::Null);
    }
    let size = number_at(column, row).and_then(|size| u64::try_from(size).ok());
    size.map(Value::from).ok_or_else(|| {
        let message = format!("{LIST}:{number}: the column \"size\" has no number of bytes");
        Failure::Here("input", message, "leave out the column, or give it another name")
    })
}

/// The checksums in a row, by algorithm. `None` means that the row has none.
fn entries_at(column: &ArrayRef, row: usize) -> Option<ArrayRef> {
    if column.is_null(row) {
        return None;
    }
    match column.data_type() {
        DataType::Map(..) => Some(Arc::new(column.as_map().value(row))),
        DataType::List(_) => Some(column.as_list::<i32>().value(row)),
        DataType::LargeList(_) => Some(column.as_list::<i64>().value(row)),
        _ => None,
    }
}

fn is_text(found: &DataType) -> bool {
    match found {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

fn is_float(found: &DataType) -> bool {
    matches!(found, DataType::Float32 | DataType::Float64)
}

fn not_readable(name: &str, found: &DataType) -> Failure {
    let message = format!("the column {name:?} describes files, but {found} cannot be read");
    Failure::Here("input", message, "leave out the column, or give it another name")
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
    match is_text(found) {
        true => Ok(()),
        false => Err(not_strings(name, found)),
    }
}

fn not_strings(name: &str, found: &DataType) -> Failure {
    let message = format!("the column {name:?} has {found}, and ids are strings");
    Failure::Here("input", message, "make it one of strings, or name another with column=…")
}

fn refused(error: ArrowError) -> Failure {
    Failure::Here("input", format!("the table cannot be read: {error}"), "")
}
