//! Lists of granules as Python has them: strings, columns of Arrow, and what clients of catalogues
//! return.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;

use accession::disk::scratch;
use accession::input::{self, InputFormat, Options, Record, StatedFile};
use accession::model::{Checksum, Content, FilePath, KnownFile};
use accession::{Entry, GranuleId, Monitor, SourceLocation};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};

use crate::arrow_in::Column;
use crate::error::Failure;
use crate::target::{LIST, Target};

/// The ids that are read while Python's lock is held, before signals are asked for.
const BATCH_IDS: u64 = 16_384;

/// A list that was taken from Python, and can be read without its lock.
pub enum Taken {
    /// It was read already.
    Done,
    /// A column of Arrow.
    Column(Column),
    /// A file with records of granules, its name, and its format if that is known.
    Records(File, String, Option<InputFormat>),
}

/// Takes a list of granules: an iterable of strings; anything with `__arrow_c_stream__`, with its
/// only column, the named one, or the usual ones; or an iterable of records of a catalogue: `dict`s
/// with UMM-G (earthaccess, python-cmr), STAC items (`pystac`), or with a usual name of an id.
///
/// # Errors
///
/// It is a string, which is one id and not a list; an item is not an id.
pub fn take(
    given: &Bound<'_, PyAny>,
    column: Option<&str>,
    target: &mut Target<'_>,
) -> Result<Taken, Failure> {
    if given.cast::<PyString>().is_ok() {
        let message = "a string is one id, and not a list of ids";
        return Err(Failure::usage(message, "put it into a list: [\"…\"]"));
    }
    if given.hasattr("__arrow_c_stream__")? {
        return Ok(Taken::Column(Column::of(given, column)?));
    }
    let source: Arc<str> = LIST.into();
    // A `pyarrow.Array` is iterated over as values of its own.
    let mut items = match given.getattr_opt("to_pylist")? {
        Some(to_list) => to_list.call0()?.try_iter()?,
        None => given.try_iter()?,
    };
    let mut number = 0;
    while let Some(item) = items.next().transpose()? {
        number += 1;
        match item.cast::<PyString>() {
            Ok(id) => target.add_id(id.to_str()?, &source, number)?,
            Err(_) if number == 1 => return records(item, items),
            Err(_) => return Err(not_an_id(number, &item)),
        }
        if number % BATCH_IDS == 0 {
            given.py().check_signals()?;
        }
    }
    Ok(Taken::Done)
}

/// Takes what is known of files: a file in a format of the command line, an iterable of `FileRecord`s, or
/// records of a catalogue.
///
/// # Errors
///
/// The file cannot be opened; a record cannot be read.
pub fn take_files(
    given: &Bound<'_, PyAny>,
    format: Option<&str>,
    target: &mut Target<'_>,
) -> Result<Taken, Failure> {
    let format = format_named(format)?;
    if given.cast::<PyString>().is_ok() || given.hasattr("__fspath__")? {
        let path: PathBuf = given.extract()?;
        let name = path.to_string_lossy().into_owned();
        return Ok(Taken::Records(File::open(&path)?, name, format));
    }
    let source: Arc<str> = LIST.into();
    let record = given.py().import("accession_registry._records")?.getattr("FileRecord")?;
    let mut items = given.try_iter()?;
    let mut number = 0;
    while let Some(item) = items.next().transpose()? {
        number += 1;
        if number == 1 && !item.is_instance(&record)? {
            return records(item, items);
        }
        add_record(
            &item,
            target,
            &SourceLocation::Line { source: Arc::clone(&source), line: number },
        )?;
        if number % BATCH_IDS == 0 {
            given.py().check_signals()?;
        }
    }
    Ok(Taken::Done)
}

/// The format of a file. `None` means that it is detected.
///
/// # Errors
///
/// There is no such format.
pub fn format_named(name: Option<&str>) -> Result<Option<InputFormat>, Failure> {
    let named = name.filter(|name| *name != "auto");
    let format = named.map(|name| name.parse::<InputFormat>()).transpose();
    format.map_err(|cause| Failure::unreadable("format", cause))
}

/// Adds a `FileRecord`.
fn add_record(
    item: &Bound<'_, PyAny>,
    target: &mut Target<'_>,
    location: &SourceLocation,
) -> Result<(), Failure> {
    let refused = |cause: &dyn std::fmt::Display| {
        Failure::Here("input", format!("{location}: {cause}"), "give FileRecord objects")
    };
    let granule: String = item.getattr("granule")?.extract()?;
    let path: String = item.getattr("path")?.extract()?;
    let size: Option<u64> = item.getattr("size")?.extract()?;
    let checksums: BTreeMap<String, String> = item.getattr("checksums")?.extract()?;
    let granule_id = GranuleId::new(granule).map_err(|cause| refused(&cause))?;
    let path = FilePath::new(path).map_err(|cause| refused(&cause))?;
    let known = |checksum| KnownFile::new(&granule_id, Some(path.clone()), size, checksum);
    let mut files: Vec<KnownFile> = known(None).into_iter().collect();
    for (algorithm, value) in checksums {
        let algorithm = algorithm.parse().map_err(|cause| refused(&cause))?;
        let checksum = Checksum::parse(algorithm, &value).map_err(|cause| refused(&cause))?;
        files.extend(known(Some(checksum)));
    }
    let stated = Content::of(&granule_id, files)
        .map_err(|contradiction| refused(&contradiction.at_once(&granule_id)))?;
    let (content, location) = (Some(stated), Some(location.clone()));
    Ok(target.add(Entry { granule_id, producer_granule: None, content, location })?)
}

fn not_an_id(number: u64, item: &Bound<'_, PyAny>) -> Failure {
    let class = item.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
    let message = format!("{LIST}:{number}: {class} is not an id");
    let hint = "a list has strings, or records of a catalogue (UMM-G, STAC), not both";
    Failure::Here("input", message, hint)
}

/// Writes the records of a catalogue into a temporary file, as a response of that catalogue with one
/// record a line.
fn records<'py>(
    first: Bound<'py, PyAny>,
    rest: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> Result<Taken, Failure> {
    let py = first.py();
    let first = as_dict(1, first)?;
    let is_feature = first.get_item("type").is_ok_and(|kind| kind.eq("Feature").unwrap_or(false));
    let (format, beginning, end) = match (first.contains("umm")?, is_feature) {
        (true, _) => (InputFormat::UmmJson, "{\"items\":[", "]}"),
        (_, true) => (InputFormat::Stac, "{\"features\":[", "]}"),
        _ => (InputFormat::Ndjson, "", ""),
    };
    let separator = if format == InputFormat::Ndjson { "\n" } else { ",\n" };
    let dumps = py.import("json")?.getattr("dumps")?;
    let keywords = PyDict::new(py);
    keywords.set_item("allow_nan", false)?;
    let mut file = BufWriter::new(scratch::file()?);
    file.write_all(beginning.as_bytes())?;
    let write = |file: &mut BufWriter<File>, record: &Bound<'py, PyAny>| -> Result<(), Failure> {
        let text: String = dumps.call((record,), Some(&keywords))?.extract()?;
        Ok(file.write_all(text.as_bytes())?)
    };
    write(&mut file, &first)?;
    for (number, item) in (2..).zip(rest) {
        file.write_all(separator.as_bytes())?;
        write(&mut file, &as_dict(number, item?)?)?;
        if number % BATCH_IDS == 0 {
            py.check_signals()?;
        }
    }
    file.write_all(end.as_bytes())?;
    let mut file = file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(Taken::Records(file, LIST.to_owned(), Some(format)))
}

/// A record of a catalogue, as a `dict`: one already, or an object that has `to_dict`.
fn as_dict(number: u64, item: Bound<'_, PyAny>) -> Result<Bound<'_, PyAny>, Failure> {
    // A client may have derived its class from `dict`.
    if item.is_instance_of::<PyDict>() {
        return Ok(item);
    }
    if item.hasattr("to_dict")? {
        return Ok(item.call_method0("to_dict")?);
    }
    match item.cast::<PyMapping>() {
        Ok(mapping) => Ok(item.py().get_type::<PyDict>().call1((mapping,))?),
        Err(_) => Err(not_an_id(number, &item)),
    }
}

impl Taken {
    /// Reads what was not read yet, without Python's lock.
    ///
    /// # Errors
    ///
    /// A value is not an id; the monitor stops it.
    pub fn read(self, target: &mut Target<'_>, monitor: &Arc<dyn Monitor>) -> Result<(), Failure> {
        match self {
            Taken::Done => Ok(()),
            Taken::Column(column) => column.read(target, monitor),
            Taken::Records(file, name, format) => {
                read_records(file, &name, format, target, monitor)
            }
        }
    }
}

fn read_records(
    file: File,
    name: &str,
    format: Option<InputFormat>,
    target: &mut Target<'_>,
    monitor: &Arc<dyn Monitor>,
) -> Result<(), Failure> {
    let options = Options { format, skips_odd_files: true, ..Options::default() };
    for (number, record) in input::open(file, name, &options)?.enumerate() {
        let record = record?;
        if number % 4_096 == 0 {
            monitor.go_on()?;
        }
        if record.is_deleted {
            continue;
        }
        let Record { granule_id, location, files, .. } = record;
        let content = StatedFile::content(files, &granule_id, &location)?;
        let location = Some(location);
        target.add(Entry { granule_id, producer_granule: None, content, location })?;
    }
    Ok(())
}
