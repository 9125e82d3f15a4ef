//! A published directory as the primary of a mirror: its files, one after the other, are a manifest.

use std::fs::File;
use std::io::{Cursor, Read, empty};
use std::path::{Path, PathBuf};

use super::log::{HeadFile, MAX_LINE_BYTES, Segment};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, quoted};

/// What a directory publishes of a dataset.
pub(super) struct Published {
    /// The directory of the dataset, or of the former name by which it was asked for.
    pub directory: PathBuf,
    /// The former name.
    pub former: Option<DatasetName>,
    /// The manifest.
    pub manifest: Box<dyn Read + Send>,
}

const HEAD: &str = "head.json";

impl Published {
    /// Opens the directory of a dataset, or one into which datasets are published: then the dataset is
    /// `named`, or has the name of the mirror, or is the only one.
    ///
    /// # Errors
    ///
    /// A file cannot be read; [`ErrorKind::NotPublished`]: the head;
    /// [`ErrorKind::PrimaryDatasetUnknown`].
    pub fn open(path: &Path, mirror: &DatasetName, named: Option<&DatasetName>) -> Result<Self> {
        let directory = match path.join(HEAD).exists() {
            true => path.to_owned(),
            false => one_of(path, mirror, named)?,
        };
        let (mut present, mut former) = (directory.clone(), None);
        let head = loop {
            let (path, mut line) = (present.join(HEAD), String::new());
            let failed = |source| Error::cannot("read", &path, source);
            let file = File::open(&path).map_err(failed)?;
            file.take(MAX_LINE_BYTES).read_to_string(&mut line).map_err(failed)?;
            match HeadFile::parse(&line) {
                Ok(HeadFile::Head(head)) => break (head, line),
                Ok(HeadFile::MovedTo(name)) if former.is_none() => {
                    let file_name = present.file_name().unwrap_or_default().to_string_lossy();
                    former = file_name.parse().ok();
                    present = directory.join("..").join(name.as_str());
                    // A name that is none is not followed twice.
                    former.get_or_insert(name);
                }
                Ok(HeadFile::MovedTo(name)) => {
                    return Err(not_published(
                        &path,
                        &format!("it leads to {name}, which was renamed"),
                    ));
                }
                Err(what) => return Err(not_published(&path, &what)),
            }
        };
        let (head, line) = head;
        let mut manifest: Box<dyn Read + Send> = Box::new(empty());
        let segments = head.segments.0.iter().enumerate();
        let segments =
            segments.map(|(index, it)| (format!("log/{}", Segment::file_name(index)), it.bytes));
        let beside = [("subsets.jsonl", head.subsets), ("annotations.jsonl", head.annotations)];
        let beside = beside.map(|(name, digest)| (name.to_owned(), digest.bytes));
        let files = head.files.iter().flat_map(|files| files.segments.0.iter().enumerate());
        let files =
            files.map(|(index, it)| (format!("files/{}", Segment::file_name(index)), it.bytes));
        let parts = segments.chain(beside).chain(files);
        for (name, bytes) in parts.filter(|(_, bytes)| *bytes > 0) {
            let path = present.join(name);
            let file = File::open(&path).map_err(|source| Error::cannot("read", &path, source))?;
            manifest = Box::new(manifest.chain(file.take(bytes)));
        }
        let manifest = Box::new(manifest.chain(Cursor::new(line)));
        Ok(Published { directory, former, manifest })
    }
}

/// What a directory publishes of a dataset, as a manifest. `None` means that nothing is published there.
///
/// # Errors
///
/// Those of [`Published::open`].
pub fn read_published(path: &Path, dataset: &DatasetName) -> Result<Option<Box<dyn Read + Send>>> {
    if !path.join(HEAD).exists() && !path.join("datasets").is_dir() {
        return Ok(None);
    }
    Ok(Some(Published::open(path, dataset, None)?.manifest))
}

fn not_published(path: &Path, what: &str) -> Error {
    let message = format!("{}: {what}", quoted(&path.to_string_lossy()));
    Error::new(ErrorKind::NotPublished, message).in_path(path)
}

/// The directory of one of the datasets that are published into another.
fn one_of(path: &Path, mirror: &DatasetName, named: Option<&DatasetName>) -> Result<PathBuf> {
    let datasets = path.join("datasets");
    let mut names: Vec<DatasetName> = match datasets.read_dir() {
        Ok(entries) => {
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
        }
        // It is no such directory.
        Err(source) => return Err(Error::cannot("read", &path.join(HEAD), source)),
    };
    names.sort();
    let wanted = named.unwrap_or(mirror);
    match names.as_slice() {
        names if names.contains(wanted) => Ok(datasets.join(wanted.as_str())),
        [only] if named.is_none() => Ok(datasets.join(only.as_str())),
        _ => Err(Error::primary_dataset_unknown(wanted, &names)),
    }
}
