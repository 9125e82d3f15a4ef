//! Files whose checksums another program computed.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::check::RecordedFile;
use super::problem::FileProblem;
use super::unexpected::plain;
use crate::disk::{SortedEntries, Sorter, scratch};
use crate::error::Result;
use crate::model::{Checksum, GranuleId, KnownFile};

/// What another program found, and what is recorded, both by path. They are added in any order, and sorted
/// in a temporary file.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// The values are one content each.
    found: Sorter,
    recorded: Sorter,
}

impl FoundFiles {
    /// Creates empty lists.
    pub fn new() -> Self {
        FoundFiles::default()
    }

    /// Adds what was found of a file of a granule.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be written.
    pub fn add(&mut self, granule_id: &GranuleId, file: &KnownFile) -> Result<()> {
        let value = encoded(&kept(file.size(), file.checksums()));
        self.found.add(&[plain(file.path(granule_id)).as_bytes()], &[&value])
    }

    /// Adds what is recorded of a file.
    ///
    /// # Errors
    ///
    /// Those of [`FoundFiles::add`].
    pub fn expect(&mut self, file: &RecordedFile) -> Result<()> {
        let kept = kept(file.size, &file.checksums);
        let value = encoded(&(file.granule_id.as_str(), &file.path, kept));
        self.recorded.add(&[plain(&file.path).as_bytes()], &[&value])
    }

    /// Compares them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be read.
    pub fn compare(self) -> Result<Compared> {
        let mut compared = Compared {
            recorded: SortedEntries::of(self.recorded)?,
            found: SortedEntries::of(self.found)?,
            next_found: None,
            current: None,
        };
        compared.next_found = compared.found.next().transpose()?;
        Ok(compared)
    }
}

/// A path, and what is known of it.
type Entry = (Box<[u8]>, Box<[u8]>);

/// What is recorded beside what was found, in the order of the paths: each file, and what is wrong with it.
/// A file that was found and is not recorded is left out.
pub struct Compared {
    recorded: SortedEntries,
    found: SortedEntries,
    next_found: Option<Entry>,
    /// What was found at the path of the last file: several granules may have the same one.
    current: Option<(Box<[u8]>, Content)>,
}

/// A size, and at most one checksum of each algorithm.
#[derive(Default)]
struct Content {
    size: Option<u64>,
    checksums: Vec<Checksum>,
}

impl Compared {
    fn compare(&mut self, (path, value): Entry) -> Result<(RecordedFile, Option<FileProblem>)> {
        let (id, file_path, kept): (String, String, SpooledFile<'_>) = decoded(&value)?;
        let Content { size, checksums } = content(kept)?;
        let granule_id = GranuleId::new(id).map_err(|_| unreadable())?;
        let file = RecordedFile { granule_id, path: file_path, size, checksums };
        if self.current.as_ref().is_none_or(|(current, _)| *current != path) {
            self.current = self.content_at(&path)?.map(|content| (path, content));
        }
        let content = self.current.as_ref().map(|(_, content)| content);
        let problem = match content {
            _ if file.size.is_none() && file.checksums.is_empty() => Some(FileProblem::NoRecord),
            Some(content) => problem(&file, content),
            None => Some(FileProblem::Missing),
        };
        Ok((file, problem))
    }

    /// What was found at a path. `None` means that there is no such file.
    fn content_at(&mut self, path: &[u8]) -> Result<Option<Content>> {
        let mut all = None;
        while let Some((found, value)) = self.next_found.take_if(|(found, _)| **found <= *path) {
            if *found == *path {
                let all: &mut Content = all.get_or_insert_default();
                let Content { size, checksums } = content(decoded(&value)?)?;
                all.size = size.or(all.size);
                all.checksums.extend(checksums);
            }
            self.next_found = self.found.next().transpose()?;
        }
        Ok(all)
    }
}

impl Iterator for Compared {
    type Item = Result<(RecordedFile, Option<FileProblem>)>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.recorded.next()?.and_then(|entry| self.compare(entry)))
    }
}

fn problem(file: &RecordedFile, found: &Content) -> Option<FileProblem> {
    if let (Some(expected), Some(found)) = (file.size, found.size)
        && expected != found
    {
        return Some(FileProblem::Size { expected, found });
    }
    let of_found = |algorithm| found.checksums.iter().filter(move |it| it.algorithm() == algorithm);
    let pairs =
        file.checksums.iter().flat_map(|it| of_found(it.algorithm()).map(move |of| (it, of)));
    let compared: Vec<(&Checksum, &Checksum)> = pairs.collect();
    let differing = compared.iter().filter(|(expected, found)| expected != found);
    if let Some((expected, found)) = differing.max_by_key(|(it, _)| it.algorithm().checksum_bytes())
    {
        let (expected, found) = ((*expected).clone(), (*found).clone());
        return Some(FileProblem::Checksum { expected, found });
    }
    match file.checksums.first() {
        Some(expected) if compared.is_empty() => {
            Some(FileProblem::CannotCompute { expected: expected.clone() })
        }
        None if file.size.is_none() || found.size.is_none() => Some(FileProblem::NoRecord),
        _ => None,
    }
}

/// A size, and checksums with their algorithms, as they are kept while they are sorted.
type SpooledFile<'a> = (Option<u64>, Vec<(Cow<'a, str>, String)>);

fn kept<'a>(
    size: Option<u64>,
    checksums: impl IntoIterator<Item = &'a Checksum>,
) -> SpooledFile<'a> {
    let checksums = checksums.into_iter();
    (size, checksums.map(|it| (it.algorithm().as_str().into(), it.to_string())).collect())
}

fn encoded(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("strings and numbers are always JSON")
}

fn decoded<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| scratch::unusable("read", error.into()))
}

fn content((size, checksums): SpooledFile<'_>) -> Result<Content> {
    let parsed = |(algorithm, text): (Cow<'_, str>, String)| {
        Checksum::parse(algorithm.parse().ok()?, &text).ok()
    };
    let checksums: Option<Vec<Checksum>> = checksums.into_iter().map(parsed).collect();
    Ok(Content { size, checksums: checksums.ok_or_else(unreadable)? })
}

fn unreadable() -> crate::Error {
    scratch::unusable("read", std::io::ErrorKind::InvalidData.into())
}
