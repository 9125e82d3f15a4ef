//! Lists of granules as Python has them: strings, columns of Arrow, and what clients of catalogues
//! return.

use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use accession::ListingOptions;
use accession::Warning;
use accession::listing::{self, InputFormat};
use accession::{CancelToken, Listing, ListingBuilder};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::arrow_in::Column;
use crate::error::Failure;
use crate::keywords::parsed;
use crate::record::warn_all;
use crate::target::{LIST, Target, read_records};
use crate::temporary_file;
use crate::work::run;

/// The ids that are read while Python's lock is held, before signals are asked for.
const BATCH_IDS: u64 = 16_384;

/// A list that was taken from Python, and can be read without its lock.
pub enum Taken {
    /// It was read already.
    Done,
    /// A column of Arrow.
    Column(Column),
    /// A file with records of granules, its name, and how it is read.
    Records(File, String, Box<ListingOptions>),
}

/// Takes a list of granules: an iterable of strings; anything with `__arrow_c_stream__`, with its
/// only column, the named one, or the usual ones, and the columns `path`, `size`, `checksum` and
/// `checksums` of its files; what a source lists; the response of a catalogue; or an
/// iterable of its records: `dict`s with UMM-G (earthaccess, python-cmr), STAC items (`pystac`), or with a
/// usual name of an id.
///
/// # Errors
///
/// It is a string, which is one id and not a list; it is a mapping that is not a response, or a listing
/// that is incomplete; an item is not an id.
pub fn take(
    given: &Bound<'_, PyAny>,
    column: Option<&str>,
    target: &mut Target<'_>,
) -> Result<Taken, Failure> {
    if let Some(whole) = whole(given)? {
        return Ok(whole);
    }
    if given.hasattr("__arrow_c_stream__")? {
        return Ok(Taken::Column(Column::of(given, column)?));
    }
    items(given, target)
}

/// Reads a list of granules, with warnings of what is odd in it.
///
/// # Errors
///
/// Those of [`take`] and of [`Taken::read`].
pub fn listing(given: &Bound<'_, PyAny>, column: Option<&str>) -> Result<Listing, Failure> {
    let mut builder = ListingBuilder::new();
    let taken = take(given, column, &mut Target::Listing(&mut builder, None))?;
    let (listing, warnings) = run(given.py(), move |token| {
        let warnings = taken.read(&mut Target::Listing(&mut builder, None), &token)?;
        Ok((builder.finish(), warnings))
    })?;
    warn_all(given.py(), &warnings)?;
    Ok(listing)
}

/// Takes what is known of files: a file in a format of the command line, `FileRecord`s, or what a catalogue
/// returned.
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
        let (name, directory) = (path.to_string_lossy(), path.parent().map(Path::to_owned));
        let options =
            ListingOptions::new().format(format).skip_odd_files(true).directory(directory);
        return Ok(Taken::Records(File::open(&path)?, name.into_owned(), Box::new(options)));
    }
    match whole(given)? {
        Some(whole) => Ok(whole),
        None if given.hasattr("__arrow_c_stream__")? => Ok(Taken::Column(Column::of(given, None)?)),
        None => items(given, target),
    }
}

/// Takes a response of a catalogue, or what a source lists. `None` if it is something else.
fn whole(given: &Bound<'_, PyAny>) -> Result<Option<Taken>, Failure> {
    let lists = given.py().import("accession_registry._lists")?;
    let whole = lists.call_method1("whole", (given,))?;
    (!whole.is_none()).then(|| written(&whole)).transpose()
}

/// Takes strings, or records of a catalogue.
fn items(given: &Bound<'_, PyAny>, target: &mut Target<'_>) -> Result<Taken, Failure> {
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
            Ok(id) if target.is_of_ids() => target.add_id(id.to_str()?, &source, number)?,
            _ => {
                let lists = given.py().import("accession_registry._lists")?;
                return written(&lists.call_method1("records", (number, item, items))?);
            }
        }
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
    named.map(|name| parsed("format", name)).transpose()
}

/// Writes a list that `_lists` made a text of into a temporary file: the name of its format, parts of the
/// text, and whether what cannot be read of files is skipped.
fn written(listed: &Bound<'_, PyAny>) -> Result<Taken, Failure> {
    let (format, texts, skips_odd_files): (String, Bound<'_, PyAny>, bool) = listed.extract()?;
    let mut file = BufWriter::new(temporary_file::create()?);
    for text in texts.try_iter()? {
        file.write_all(text?.extract::<String>()?.as_bytes())?;
    }
    let mut file = file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.rewind()?;
    let format = format_named(Some(&format))?;
    let options = ListingOptions::new().format(format).skip_odd_files(skips_odd_files);
    Ok(Taken::Records(file, LIST.to_owned(), Box::new(options)))
}

impl Taken {
    /// Reads what was not read yet, without Python's lock. Returns what is odd in it.
    ///
    /// # Errors
    ///
    /// A value is not an id; a listing lacks pages; it is cancelled.
    pub fn read(
        self,
        target: &mut Target<'_>,
        token: &CancelToken,
    ) -> Result<Vec<Warning>, Failure> {
        match self {
            Taken::Done => Ok(Vec::new()),
            Taken::Column(column) => column.read(target, token),
            Taken::Records(file, name, options) => {
                read_records(listing::open(file, &name, &options)?, target, token)
            }
        }
    }
}
