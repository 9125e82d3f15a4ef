//! A directory into which a dataset is published.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::address::source_name;
use super::byte_limit::ByteLimit;
use super::client::MAX_BYTES;
use super::{
    DATASETS, Failure, FoundHead, HEAD, LOG, Part, Place, check_age_of_file, only_line, parse_head,
};
use crate::disk::Directory;
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::log::{HeadFile, MAX_HEAD_BYTES, Segment};
use crate::model::{DatasetName, PrimaryOptions, SourceLocation, Timestamp, quoted};

/// The directory of a dataset. No symbolic link in it is followed.
pub(crate) struct PublishedDirectory {
    directory: Directory,
    source: Option<String>,
    read: ByteLimit,
}

impl PublishedDirectory {
    /// The directory of a dataset, without a source to remember.
    pub fn of(directory: Directory) -> Self {
        PublishedDirectory { directory, source: None, read: ByteLimit::of(u64::MAX) }
    }

    /// Finds the directory of a dataset: `path` itself, or that of a dataset published into it. This is the
    /// dataset in the options, the one with the name of the mirror, or the only one. `None` means that nothing
    /// is published there.
    ///
    /// # Errors
    ///
    /// The directory cannot be read; [`ErrorKind::PrimaryDatasetUnknown`]; [`ErrorKind::TooOld`].
    pub fn find(
        path: &Path,
        mirror: &DatasetName,
        options: &PrimaryOptions,
        now: Timestamp,
    ) -> Result<Option<Self>> {
        if !path.join(HEAD).exists() && !path.join(DATASETS).is_dir() {
            return Ok(None);
        }
        let named = options.primary_dataset.as_ref();
        let directory = Directory::open(&directory_of(path, mirror, named)?)?;
        if let Some(head) = directory.read(HEAD)? {
            let name = directory.path_of(HEAD);
            let max_age = options.max_age_seconds.map(Duration::from_secs);
            check_age_of_file(&name.to_string_lossy(), &head, max_age, now)?;
        }
        let source = source_name(&path.to_string_lossy());
        let read = ByteLimit::of(options.max_bytes.unwrap_or(MAX_BYTES));
        Ok(Some(PublishedDirectory { directory, source: Some(source), read }))
    }

    /// The directory under the name by which it was found.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The directory of the dataset under its present name.
    fn path(&self, of: &FoundHead) -> PathBuf {
        match &of.moved_to {
            None => self.directory.path().to_owned(),
            Some(name) => self.directory.path().join("..").join(name.as_str()),
        }
    }

    /// The file of a part. `None` means that it does not exist.
    fn file(&self, of: &FoundHead, part: Part) -> Result<Option<File>> {
        let directory = Directory::open(&self.path(of))?;
        match part {
            Part::Segment(index) => match directory.enter(LOG)? {
                Some(log) => log.read(&Segment::file_name(index)),
                None => Ok(None),
            },
            Part::Subsets | Part::Annotations => directory.read(&part.file()),
        }
    }
}

fn head_in(directory: &Directory) -> Result<HeadFile> {
    let path = directory.path_of(HEAD);
    let cannot = |source| Error::cannot("read", &path, source);
    let file = directory.read(HEAD)?.ok_or_else(|| cannot(io::ErrorKind::NotFound.into()))?;
    let mut line = Vec::new();
    // One byte more detects a head that is too long.
    file.take(MAX_HEAD_BYTES + 1).read_to_end(&mut line).map_err(cannot)?;
    parse_head(&path.to_string_lossy(), &line)
}

impl Place for PublishedDirectory {
    fn source(&self) -> Option<String> {
        self.source.clone()
    }

    fn head(&self) -> Result<Box<FoundHead>, Failure> {
        let name = match head_in(&self.directory)? {
            HeadFile::Head(head) => return Ok(FoundHead::of(head, None)),
            HeadFile::MovedTo(name) => name,
        };
        let present = self.directory.path().join("..").join(name.as_str());
        match head_in(&Directory::open(&present)?)? {
            HeadFile::Head(head) => Ok(FoundHead::of(head, Some(name))),
            HeadFile::MovedTo(_) => {
                let path = self.directory.path_of(HEAD);
                let shown = quoted(&path.to_string_lossy()).to_string();
                let what = format!("{shown}: it leads to {name}, which was renamed");
                Err(Error::new(ErrorKind::PrimaryInvalid, what).in_path(path).into())
            }
        }
    }

    fn open(
        &self,
        of: &FoundHead,
        part: Part,
        from: u64,
        _attempt: u32,
    ) -> Result<Box<dyn Read + '_>, Failure> {
        let missing = || self.broken(of, part, io::ErrorKind::NotFound.into());
        let mut file = self.file(of, part)?.ok_or_else(missing)?;
        file.seek(SeekFrom::Start(from)).map_err(|error| self.broken(of, part, error))?;
        Ok(Box::new(self.read.limit(file)))
    }

    fn name(&self, of: &FoundHead, part: Part) -> String {
        self.path(of).join(part.file()).to_string_lossy().into_owned()
    }

    fn location_of_head(&self, of: &FoundHead) -> Result<SourceLocation> {
        Ok(only_line(&self.path(of).join(HEAD).to_string_lossy()))
    }
}

/// The directory of a dataset: `path` itself, or that of a dataset published into it.
fn directory_of(path: &Path, mirror: &DatasetName, named: Option<&DatasetName>) -> Result<PathBuf> {
    let datasets = path.join(DATASETS);
    if path.join(HEAD).exists() {
        return Ok(path.to_owned());
    }
    let entries = datasets.read_dir().map_err(|source| Error::cannot("read", &datasets, source))?;
    let mut names: Vec<DatasetName> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    names.sort();
    let wanted = named.unwrap_or(mirror);
    match names.as_slice() {
        names if names.contains(wanted) => Ok(datasets.join(wanted.as_str())),
        [only] if named.is_none() => Ok(datasets.join(only.as_str())),
        _ => Err(Error::primary_dataset_unknown(wanted, &names)),
    }
}
