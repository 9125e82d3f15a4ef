//! The file that a manifest is exported to: it appears when it is complete, and replaces nothing but an
//! earlier manifest of the same dataset.

use std::error::Error as _;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::manifest::{BEGINNING, dataset_of, write, write_until};
use crate::disk::{AtomicFile, reserved};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, Moment, quoted};
use crate::registry::Registry;

/// Writes the manifest of a dataset: of its whole history, or as if that had ended after `until`.
///
/// # Errors
///
/// Those of [`write()`] and [`write_until`].
pub fn write_up_to(
    registry: &Registry,
    dataset: &DatasetName,
    until: Option<Moment>,
    out: &mut impl Write,
) -> Result<()> {
    match until {
        Some(until) => write_until(registry, dataset, until.last_instant(), out),
        None => write(registry, dataset, out),
    }
}

/// Writes the manifest to the file at `path`, which appears when it is complete, or to a pipe.
///
/// # Errors
///
/// Those of [`write_up_to`]; [`ErrorKind::NotReplaced`]: the file is not a manifest of this dataset, or a
/// link to a file that does not exist.
pub fn export(
    registry: &Registry,
    dataset: &DatasetName,
    until: Option<Moment>,
    path: &Path,
) -> Result<()> {
    // A broken pipe is an error here, while a reader of stdout may end when it has read enough.
    let cannot = |source: io::Error| Error::cannot("write", path, source);
    let write_to = |file: &File| -> Result<()> {
        let mut out = BufWriter::new(file);
        match write_up_to(registry, dataset, until, &mut out) {
            Err(error) if error.kind() == ErrorKind::Output => {
                let cause = error.source().map_or_else(String::new, ToString::to_string);
                return Err(cannot(io::Error::other(cause)));
            }
            result => result?,
        }
        out.flush().map_err(cannot)
    };
    match target(path)? {
        Target::Stream(file) => write_to(&file),
        Target::File(path) => {
            refuse_other_manifest(registry, dataset, &path)?;
            let in_writing = |error: Error| {
                let cause = error.with_causes();
                let message = format!("cannot write {}: {cause}", quoted(&path.to_string_lossy()));
                Error::new(error.kind(), message)
            };
            let temporary = AtomicFile::beside(&path).map_err(in_writing)?;
            write_to(temporary.as_file())?;
            temporary.replace().map_err(in_writing)
        }
    }
}

/// Refuses to replace the manifest of another dataset.
fn refuse_other_manifest(registry: &Registry, dataset: &DatasetName, path: &Path) -> Result<()> {
    let Some(other) = dataset_of_manifest(path) else { return Ok(()) };
    let listed = registry.snapshot()?.dataset(dataset)?;
    if other == listed.dataset.name || listed.former_names.contains(&other) {
        return Ok(());
    }
    let shown = quoted(&path.to_string_lossy()).to_string();
    let message = format!("{shown} is the manifest of {other}: it was not overwritten");
    Err(Error::new(ErrorKind::NotReplaced, message))
}

/// The dataset of the manifest in a file. `None` means that the file does not exist, or is not a
/// readable manifest.
fn dataset_of_manifest(path: &Path) -> Option<DatasetName> {
    dataset_of(&mut File::open(path).ok()?).ok()?
}

/// What exists at the path of the output.
enum Target {
    /// Nothing yet, or a manifest that is replaced.
    File(PathBuf),
    /// A pipe or a device.
    Stream(File),
}

/// Decides how the output is written. Only a manifest may be overwritten: a typing error must not
/// destroy the registry, which is often in the same directory.
fn target(path: &Path) -> Result<Target> {
    reserved::check(path)?;
    let name = path.to_string_lossy();
    let shown = quoted(&name);
    let cannot = |source: io::Error| Error::cannot("write", path, source);
    // `metadata` follows links. A pipe is opened by the path as it was given.
    match path.metadata() {
        Ok(kind) if kind.is_file() || kind.is_dir() => {}
        Ok(_) => {
            let file = File::options().write(true).open(path).map_err(cannot)?;
            return Ok(Target::Stream(file));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            let message = format!("{shown} is a link to a file that does not exist");
            return Err(Error::new(ErrorKind::NotReplaced, message));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Target::File(path.into()));
        }
        Err(error) => return Err(cannot(error)),
    }
    let path = &path.canonicalize().map_err(cannot)?;
    let mut beginning = Vec::new();
    let manifest_beginning = BEGINNING.as_bytes();
    let file = File::open(path).map_err(cannot)?;
    let beginning_bytes = manifest_beginning.len() as u64;
    file.take(beginning_bytes).read_to_end(&mut beginning).map_err(cannot)?;
    if !beginning.is_empty() && beginning != manifest_beginning {
        let message = format!("{shown} exists and is not a manifest: it was not overwritten");
        return Err(Error::new(ErrorKind::NotReplaced, message));
    }
    Ok(Target::File(path.clone()))
}
