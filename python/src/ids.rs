//! Lists of granules as Python has them: strings, columns of Arrow, and what clients of catalogues
//! return.

use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::sync::Arc;

use accession::disk::scratch;
use accession::input::{self, InputFormat, Options};
use accession::model::FileRecord;
use accession::registry::FileListing;
use accession::{Change, Entry, EventKind, GranuleId, Listing, Monitor, SourceLocation};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};

use crate::arrow_in::Column;
use crate::error::Failure;

/// The ids that are read while Python's lock is held, before signals are asked for.
const BATCH_IDS: u64 = 16_384;

/// What messages call a list.
const LIST: &str = "item";

/// Where a list of granules goes.
pub enum Target<'a> {
    Listing(&'a mut Listing),
    Change(&'a mut Change, EventKind),
}

impl Target<'_> {
    pub fn add(&mut self, entry: Entry) -> Result<(), accession::Error> {
        match self {
            Target::Listing(listing) => listing.add(entry),
            Target::Change(change, EventKind::Ingested) => change.ingest(entry),
            Target::Change(change, EventKind::Deleted) => change.delete(entry),
        }
    }

    /// Adds an id, which is the one with this number, from 1.
    pub fn add_id(&mut self, id: &str, source: &Arc<str>, number: u64) -> Result<(), Failure> {
        let location = SourceLocation::Line { source: Arc::clone(source), line: number };
        let granule_id = GranuleId::new(id).map_err(|cause| {
            let message = format!("{location}: the id is refused: {cause}");
            let hint = "nothing was changed; correct the list and try again";
            Failure::Here("input", message, hint)
        })?;
        let location = Some(location);
        Ok(self.add(Entry { granule_id, producer_granule: None, location })?)
    }

    /// Where sizes and checksums of files go. `None` means that they are not recorded.
    fn files(&mut self) -> Option<&mut FileListing> {
        match self {
            Target::Listing(listing) => Some(&mut listing.files),
            Target::Change(change, EventKind::Ingested) => Some(&mut change.files),
            Target::Change(_, EventKind::Deleted) => None,
        }
    }
}

/// The name of a list in messages.
pub fn source() -> Arc<str> {
    LIST.into()
}

/// A list that was taken from Python, and can be read without its lock.
pub enum Taken {
    /// It was read already.
    Done,
    /// A column of Arrow.
    Column(Column),
    /// Records of a catalogue.
    Records(File, InputFormat),
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
    let source = source();
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
    Ok(Taken::Records(file, format))
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
            Taken::Records(file, format) => read_records(file, format, target, monitor),
        }
    }
}

fn read_records(
    file: File,
    format: InputFormat,
    target: &mut Target<'_>,
    monitor: &Arc<dyn Monitor>,
) -> Result<(), Failure> {
    let format = Some(format);
    let options = Options { format, skips_odd_files: true, ..Options::default() };
    for (number, record) in input::open(file, LIST, &options)?.enumerate() {
        let record = record?;
        if number % 4_096 == 0 {
            check(monitor)?;
        }
        if record.is_deleted {
            continue;
        }
        let location = Some(record.location);
        if let Some(files) = target.files() {
            for stated in record.files {
                let file = FileRecord::new(record.granule_id.clone(), stated.path, stated.content);
                files.add(&file, location.as_ref())?;
            }
        }
        target.add(Entry { granule_id: record.granule_id, producer_granule: None, location })?;
    }
    Ok(())
}

/// Stops reading when the monitor says so.
///
/// # Errors
///
/// Of kind `interrupted`.
pub fn check(monitor: &Arc<dyn Monitor>) -> Result<(), Failure> {
    match monitor.advance(0).is_break() {
        true => Err(Failure::Here("interrupted", "the call was stopped".to_owned(), "")),
        false => Ok(()),
    }
}
