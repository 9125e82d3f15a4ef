//! Files whose checksums another program computed.

use super::problem::Problem;
use super::recorded::RecordedFile;
use super::unexpected::plain;
use crate::disk::{Entry, Sorted, Sorter, scratch};
use crate::error::Result;
use crate::model::{Algorithm, Checksum, FileContent, GranuleId};

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

    /// Adds what was found of a file. Each of its checksums is added by itself.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be written.
    pub fn add(&mut self, path: &str, content: &FileContent) -> Result<()> {
        let mut value = Vec::new();
        encode_content(&mut value, content.size(), content.checksum());
        self.found.add(plain(path).as_bytes(), &value)
    }

    /// Adds what is recorded of a file.
    ///
    /// # Errors
    ///
    /// Those of [`FoundFiles::add`].
    pub fn expect(&mut self, file: &RecordedFile) -> Result<()> {
        let mut value = Vec::new();
        put(&mut value, file.granule_id.as_str().as_bytes());
        put(&mut value, file.path.as_bytes());
        encode_content(&mut value, file.size, &file.checksums);
        self.recorded.add(plain(&file.path).as_bytes(), &value)
    }

    /// Compares them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be read.
    pub fn compare(self) -> Result<Compared> {
        let mut compared = Compared {
            recorded: self.recorded.finish()?,
            found: self.found.finish()?,
            next_found: None,
            current: None,
        };
        compared.next_found = compared.found.next().transpose()?;
        Ok(compared)
    }
}

/// What is recorded beside what was found, in the order of the paths: each file, and what is wrong with it.
/// A file that was found and is not recorded is left out.
pub struct Compared {
    recorded: Sorted,
    found: Sorted,
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
    fn compare(&mut self, (path, value): Entry) -> Result<(RecordedFile, Option<Problem>)> {
        let file = decode_file(&value).ok_or_else(unreadable)?;
        if self.current.as_ref().is_none_or(|(current, _)| *current != path) {
            self.current = self.content_at(&path)?.map(|content| (path, content));
        }
        let content = self.current.as_ref().map(|(_, content)| content);
        let problem = match content {
            _ if file.size.is_none() && file.checksums.is_empty() => Some(Problem::NoRecord),
            Some(content) => problem(&file, content),
            None => Some(Problem::Missing),
        };
        Ok((file, problem))
    }

    /// What was found at a path. `None` means that there is no such file.
    fn content_at(&mut self, path: &[u8]) -> Result<Option<Content>> {
        let mut content = None;
        while let Some((found, value)) = self.next_found.take_if(|(found, _)| **found <= *path) {
            if *found == *path {
                let content: &mut Content = content.get_or_insert_default();
                let (size, checksums) = decode_content(&mut &*value).ok_or_else(unreadable)?;
                content.size = size.or(content.size);
                content.checksums.extend(checksums);
            }
            self.next_found = self.found.next().transpose()?;
        }
        Ok(content)
    }
}

impl Iterator for Compared {
    type Item = Result<(RecordedFile, Option<Problem>)>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.recorded.next()?.and_then(|entry| self.compare(entry)))
    }
}

fn problem(file: &RecordedFile, found: &Content) -> Option<Problem> {
    if let (Some(expected), Some(found)) = (file.size, found.size)
        && expected != found
    {
        return Some(Problem::Size { expected, found });
    }
    let of_found = |algorithm| found.checksums.iter().filter(move |it| it.algorithm() == algorithm);
    let pairs =
        file.checksums.iter().flat_map(|it| of_found(it.algorithm()).map(move |of| (it, of)));
    let compared: Vec<(&Checksum, &Checksum)> = pairs.collect();
    let differing = compared.iter().filter(|(expected, found)| expected != found);
    if let Some((expected, found)) = differing.max_by_key(|(it, _)| it.algorithm().checksum_bytes())
    {
        let (expected, found) = ((*expected).clone(), (*found).clone());
        return Some(Problem::Checksum { expected, found });
    }
    match file.checksums.first() {
        Some(expected) if compared.is_empty() => {
            Some(Problem::CannotCompute { expected: expected.clone() })
        }
        None if file.size.is_none() || found.size.is_none() => Some(Problem::NoRecord),
        _ => None,
    }
}

fn put(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend((part.len() as u64).to_le_bytes());
    bytes.extend(part);
}

fn encode_content<'a>(
    bytes: &mut Vec<u8>,
    size: Option<u64>,
    checksums: impl IntoIterator<Item = &'a Checksum>,
) {
    bytes.extend(size.unwrap_or(u64::MAX).to_le_bytes());
    for checksum in checksums {
        put(bytes, checksum.algorithm().as_str().as_bytes());
        put(bytes, checksum.as_bytes());
    }
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*number))
}

fn part<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(number(bytes)?).ok()?;
    let (part, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(part)
}

fn text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    std::str::from_utf8(part(bytes)?).ok()
}

fn decode_content(bytes: &mut &[u8]) -> Option<(Option<u64>, Vec<Checksum>)> {
    let size = Some(number(bytes)?).filter(|size| *size != u64::MAX);
    let mut checksums = Vec::new();
    while !bytes.is_empty() {
        let algorithm: Algorithm = text(bytes)?.parse().ok()?;
        checksums.push(Checksum::from_bytes(algorithm, part(bytes)?).ok()?);
    }
    Some((size, checksums))
}

fn decode_file(mut bytes: &[u8]) -> Option<RecordedFile> {
    let granule_id = GranuleId::new(text(&mut bytes)?).ok()?;
    let path = text(&mut bytes)?.to_owned();
    let (size, checksums) = decode_content(&mut bytes)?;
    Some(RecordedFile { granule_id, path, size, checksums })
}

fn unreadable() -> crate::Error {
    scratch::unusable("read", std::io::ErrorKind::InvalidData.into())
}
