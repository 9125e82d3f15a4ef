//! Reads granules and their files from objects with the Arrow C stream interface: polars, pandas, pyarrow,
//! DuckDB. Writes them as lines of JSON, which a command reads like any listing.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use accession::CancelToken;
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
use serde_json::{Map, Value, json};

use crate::error::Failure;
use crate::work::run;

/// The columns that usually have the ids. The input formats use the same names.
const USUAL: [&str; 7] =
    ["granule", "granule_id", "granuleId", "granule_ur", "granuleUr", "Granule UR", "id"];

/// Columns with checksums. The name of the column is the algorithm.
const ALGORITHMS: [&str; 12] = [
    "md5", "sha1", "sha-1", "sha256", "sha-256", "sha384", "sha-384", "sha512", "sha-512", "crc32",
    "cksum", "adler32",
];

/// Columns with the algorithm of the column `checksum`.
const ALGORITHM: [&str; 4] = ["algorithm", "checksum_algorithm", "checksum_type", "checksumType"];

/// Writes a table of granules as lines of JSON. `column` is the name of the column with the ids.
#[pyfunction]
pub fn write_table(
    table: &Bound<'_, PyAny>,
    path: PathBuf,
    column: Option<&str>,
) -> Result<(), Failure> {
    let reader = ArrayStreamReader::try_new(stream_of(table)?).map_err(refused)?;
    let (index, columns) = match reader.field().data_type() {
        DataType::Struct(columns) => {
            let index = index_of(columns, column)?;
            (Some(index), Columns::of(columns, index)?)
        }
        other => {
            check_strings(reader.field().name(), other)?;
            (None, Columns::default())
        }
    };
    run(table.py(), |token| Rows { reader, index, columns }.write(path, &token))
}

/// The rows of a table, while it is read.
struct Rows {
    reader: ArrayStreamReader,
    /// The index of the column with the ids. `None` means that the stream is a single column and not a table.
    index: Option<usize>,
    columns: Columns,
}

/// The indexes of the columns beside the ids, with the names in `Set.files`. Each row is a file.
#[derive(Default)]
struct Columns {
    /// The path. If there is no such column, the id is the path.
    path: Option<usize>,
    /// The size in bytes.
    size: Option<usize>,
    /// A checksum, with or without its algorithm and a colon before it.
    checksum: Option<usize>,
    /// The algorithm of that checksum.
    algorithm: Option<usize>,
    /// Checksums by their algorithms.
    checksums: Option<usize>,
    /// A column of checksums for each algorithm.
    by_algorithm: Vec<(String, usize)>,
    /// Other columns of strings, by which rows can be selected.
    others: Vec<(String, usize)>,
}

/// Consecutive rows with the same id: the files of one granule.
struct Granule {
    id: String,
    others: Map<String, Value>,
    files: Vec<Value>,
}

impl Rows {
    fn write(self, path: PathBuf, token: &CancelToken) -> Result<(), Failure> {
        let mut file = BufWriter::new(File::create(path)?);
        let (mut number, mut granule) = (0, None::<Granule>);
        for batch in self.reader {
            let batch: ArrayRef = batch.map_err(refused)?;
            let ids = match self.index {
                Some(index) => batch.as_struct().column(index),
                None => &batch,
            };
            for row in 0..ids.len() {
                number += 1;
                if number % 4_096 == 0 && token.is_cancelled() {
                    return Err(Failure::interrupted());
                }
                let Some(id) = text_at(ids, row) else {
                    return Err(Failure::in_row(
                        number,
                        "the id is missing",
                        "leave out rows without an id",
                    ));
                };
                if let Some(before) = granule.take_if(|it| it.id != id || !self.columns.are_any()) {
                    before.write(&mut file)?;
                }
                let granule = granule.get_or_insert_with(|| Granule {
                    id: id.to_owned(),
                    others: Map::new(),
                    files: Vec::new(),
                });
                if self.index.is_some() {
                    self.columns.add(batch.as_struct(), row, number, granule)?;
                }
            }
        }
        if let Some(last) = granule {
            last.write(&mut file)?;
        }
        Ok(file.flush()?)
    }
}

impl Granule {
    fn write(self, file: &mut impl Write) -> Result<(), Failure> {
        let Granule { id, mut others, files } = self;
        others.insert("granule_id".to_owned(), id.into());
        if !files.is_empty() {
            others.insert("files".to_owned(), files.into());
        }
        Ok(writeln!(file, "{}", Value::from(others))?)
    }
}

impl Columns {
    fn of(fields: &Fields, ids: usize) -> Result<Self, Failure> {
        let mut columns = Columns::default();
        for (index, field) in fields.iter().enumerate().filter(|(index, _)| *index != ids) {
            let (name, kind) = (field.name().as_str(), field.data_type());
            let is_empty = *kind == DataType::Null;
            let (place, is_readable) = match name {
                "size" => {
                    let is_size = kind.is_integer() || is_float(kind) || is_text(kind);
                    (&mut columns.size, is_size || is_empty)
                }
                "path" => (&mut columns.path, is_text(kind) || is_empty),
                "checksum" => (&mut columns.checksum, is_text(kind) || is_empty),
                "checksums" => (&mut columns.checksums, is_map(kind) || is_empty),
                name if ALGORITHM.contains(&name) && is_text(kind) => {
                    (&mut columns.algorithm, true)
                }
                name if ALGORITHMS.contains(&name.to_ascii_lowercase().as_str()) => {
                    columns.by_algorithm.push((name.to_owned(), index));
                    (&mut None, is_text(kind) || is_empty)
                }
                name if name.to_ascii_lowercase().contains("checksum") => (&mut None, false),
                name => {
                    if is_text(kind) {
                        columns.others.push((name.to_owned(), index));
                    }
                    continue;
                }
            };
            if !is_readable {
                return Err(not_readable(name, kind));
            }
            *place = Some(index).filter(|_| !is_empty);
        }
        if !columns.are_any() {
            // Without other columns about files, a path does not describe a file.
            columns.others.extend(columns.path.take().map(|index| ("path".to_owned(), index)));
        }
        Ok(columns)
    }

    /// Whether the table has a size or checksums of files.
    fn are_any(&self) -> bool {
        let checksums = self.checksum.is_some() || self.checksums.is_some();
        self.size.is_some() || checksums || !self.by_algorithm.is_empty()
    }

    /// Adds the other columns of a row to the granule with its id.
    fn add(
        &self,
        table: &StructArray,
        row: usize,
        number: u64,
        granule: &mut Granule,
    ) -> Result<(), Failure> {
        let text = |index: Option<usize>| index.and_then(|index| text_at(table.column(index), row));
        for (name, index) in self.others.iter().filter(|(name, _)| name != "files") {
            granule.others.entry(name.as_str()).or_insert_with(|| text(Some(*index)).into());
        }
        if !self.are_any() {
            return Ok(());
        }
        let path = text(self.path).unwrap_or(&granule.id).to_owned();
        let size = match self.size {
            Some(index) => size_at(table.column(index), row, number)?,
            None => Value::Null,
        };
        let files = &mut granule.files;
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
                None => add(text(self.algorithm), Some(checksum)),
            }
        }
        for (algorithm, index) in &self.by_algorithm {
            if let Some(checksum) = text(Some(*index)) {
                add(Some(algorithm), Some(checksum));
            }
        }
        let Some(checksums) = self.checksums.map(|index| table.column(index)) else {
            return Ok(());
        };
        if let DataType::Struct(members) = checksums.data_type() {
            for (member, field) in members.iter().enumerate() {
                let value = text_at(checksums.as_struct().column(member), row);
                if let Some(value) = value.filter(|_| !checksums.is_null(row)) {
                    add(Some(field.name()), Some(value));
                }
            }
        } else if let Some(entries) = entries_at(checksums, row) {
            for entry in 0..entries.len() {
                let pair = pair_at(&entries, entry);
                if let Some(value) = text_at(&pair[1].0, pair[1].1) {
                    add(text_at(&pair[0].0, pair[0].1), Some(value));
                }
            }
        }
        Ok(())
    }
}

/// A string in a column, which may be categorical. `None` means that the value is missing or not a string.
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

/// Converts a float to an integer: libraries convert columns of integers to floats if a value is missing.
fn whole(number: f64) -> Option<i128> {
    // A float is exact for every integer up to 2^53.
    let is_whole = number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0;
    is_whole.then_some(number as i128)
}

/// The size in a row. `Null` means that it is missing.
fn size_at(column: &ArrayRef, row: usize, number: u64) -> Result<Value, Failure> {
    let is_missing = column.is_null(row)
        || matches!(column.data_type(), DataType::Float64)
            && column.as_primitive::<Float64Type>().value(row).is_nan();
    if is_missing {
        return Ok(Value::Null);
    }
    let size = number_at(column, row).and_then(|size| u64::try_from(size).ok());
    size.map(Value::from).ok_or_else(|| {
        let message = "the column \"size\" has no number of bytes";
        Failure::in_row(number, message, "leave out the column, or give it another name")
    })
}

/// The checksums in a row, by algorithm. `None` means that they are missing.
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

/// The algorithm and the checksum of an entry, each as a column and the row in it.
fn pair_at(entries: &ArrayRef, entry: usize) -> [(ArrayRef, usize); 2] {
    match entries.data_type() {
        DataType::List(_) => {
            let pair = entries.as_list::<i32>().value(entry);
            let missing = pair.len() != 2;
            [0, 1].map(|member| match missing {
                true => (arrow_array::new_null_array(&DataType::Utf8, 1), 0),
                false => (Arc::clone(&pair), member),
            })
        }
        _ => [0, 1].map(|member| (Arc::clone(entries.as_struct().column(member)), entry)),
    }
}

/// Whether values are checksums by algorithm: a map, a list of pairs, or a struct with a field for each
/// algorithm.
fn is_map(found: &DataType) -> bool {
    let are_texts = |members: &Fields| members.iter().all(|it| is_text(it.data_type()));
    match found {
        DataType::Struct(members) => are_texts(members),
        DataType::Map(entries, _) | DataType::List(entries) | DataType::LargeList(entries) => {
            match entries.data_type() {
                DataType::Struct(members) => members.len() == 2 && are_texts(members),
                // pandas exports pairs like this.
                DataType::List(texts) => is_text(texts.data_type()),
                _ => false,
            }
        }
        _ => false,
    }
}

fn is_float(found: &DataType) -> bool {
    matches!(found, DataType::Float32 | DataType::Float64)
}

fn not_readable(name: &str, found: &DataType) -> Failure {
    let message = format!("the column {name:?} describes files, but {found} cannot be read");
    Failure::new(
        "input",
        message,
        "give the column the name and the type of one of `Set.files`, or leave it out",
    )
}

/// Takes ownership of the stream that an object exports.
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
        return Err(Failure::new("input", message, "name the column of ids with column=…"));
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
    Failure::new("input", message, "make it one of strings, or name another with column=…")
}

fn refused(error: ArrowError) -> Failure {
    Failure::new("input", format!("the table cannot be read: {error}"), "")
}
