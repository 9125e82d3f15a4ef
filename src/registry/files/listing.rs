//! File records as they were read, in any number.

use std::sync::Arc;

use crate::disk::{Sorter, Spool, scratch};
use crate::error::{Error, Result};
use crate::model::{
    Algorithm, Checksum, Content, FileContent, FilePath, FileRecord, GranuleId, SourceLocation,
};

/// File records that are to be recorded or compared, in any order and of any number.
///
/// More than a few are kept in a temporary file.
#[derive(Debug, Default)]
pub struct FileListing {
    records: Spool,
    /// The names of the files that they were read from.
    sources: Vec<Arc<str>>,
}

/// Encodes that there is no source location.
const NOWHERE: u64 = u64::MAX;

/// Encodes a source location that is an argument of the command line.
const ARGUMENT: u64 = u64::MAX - 1;

impl FileListing {
    /// Creates an empty list.
    pub fn new() -> Self {
        FileListing::default()
    }

    /// Adds a record. `location` is where it was read, for messages.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be written.
    pub fn add(&mut self, record: &FileRecord, location: Option<&SourceLocation>) -> Result<()> {
        let (source, line) = match location {
            None => (NOWHERE, 0),
            Some(SourceLocation::Argument { number }) => (ARGUMENT, *number),
            Some(SourceLocation::Line { source, line }) => (self.number_of(source), *line),
        };
        let mut bytes = [source.to_le_bytes(), line.to_le_bytes()].concat();
        encode(record, &mut bytes);
        self.records.add(&bytes).map(drop)
    }

    /// Adds what is known of the files of a granule: a record for each checksum, or of the size.
    ///
    /// # Errors
    ///
    /// Those of [`FileListing::add`].
    pub fn add_content(
        &mut self,
        granule_id: &GranuleId,
        content: &Content,
        location: Option<&SourceLocation>,
    ) -> Result<()> {
        for file in content.files() {
            let path = FilePath::new(file.path(granule_id)).map_err(Error::damaged)?;
            let checksums = file.checksums().iter().cloned().map(Some);
            let is_sized = file.checksums().is_empty().then_some(None);
            for checksum in checksums.chain(is_sized) {
                let Some(known) = FileContent::new(file.size(), checksum) else { continue };
                self.add(&FileRecord::new(granule_id.clone(), path.clone(), known), location)?;
            }
        }
        Ok(())
    }

    /// The number of records.
    pub fn count(&self) -> u64 {
        self.records.count()
    }

    /// The records, in the order in which they were added.
    pub(in crate::registry) fn records(
        &self,
    ) -> impl Iterator<Item = Result<(FileRecord, Option<SourceLocation>)>> {
        self.records.records().map(|bytes| {
            let bytes = bytes?;
            self.decoded(&bytes).ok_or_else(scratch::unreadable)
        })
    }

    /// The records by granule, then path, then in the order in which they were added. Costs a sort, in a
    /// temporary file where they are many.
    pub(in crate::registry) fn sorted(
        &self,
    ) -> Result<impl Iterator<Item = Result<(FileRecord, Option<SourceLocation>)>>> {
        let mut sorter = Sorter::default();
        for (number, (bytes, listed)) in self.records.records().zip(self.records()).enumerate() {
            let (record, _) = listed?;
            // Neither has a NUL.
            let mut key = [record.granule_id.as_str().as_bytes(), &[0]].concat();
            key.extend(record.path().as_bytes());
            key.push(0);
            key.extend((number as u64).to_be_bytes());
            sorter.add(&key, &bytes?)?;
        }
        Ok(sorter.finish()?.map(|entry| self.decoded(&entry?.1).ok_or_else(scratch::unreadable)))
    }

    fn number_of(&mut self, source: &Arc<str>) -> u64 {
        let known = self.sources.iter().rposition(|known| known == source);
        let number = known.unwrap_or_else(|| {
            self.sources.push(Arc::clone(source));
            self.sources.len() - 1
        });
        number as u64
    }

    /// `None` means that the bytes are not those of a record.
    fn decoded(&self, bytes: &[u8]) -> Option<(FileRecord, Option<SourceLocation>)> {
        let (source, rest) = bytes.split_first_chunk()?;
        let (line, rest) = rest.split_first_chunk()?;
        let (source, line) = (u64::from_le_bytes(*source), u64::from_le_bytes(*line));
        let record = decode(rest)?;
        let location = match source {
            NOWHERE => None,
            ARGUMENT => Some(SourceLocation::Argument { number: line }),
            source => {
                let source = self.sources.get(usize::try_from(source).ok()?)?;
                Some(SourceLocation::Line { source: Arc::clone(source), line })
            }
        };
        Some((record, location))
    }
}

/// Appends a record: the size (2^64 - 1 if it is not known), and the other parts, each after its length.
fn encode(record: &FileRecord, bytes: &mut Vec<u8>) {
    let checksum = record.content.checksum();
    bytes.extend(record.content.size().unwrap_or(u64::MAX).to_le_bytes());
    for part in [
        record.granule_id.as_str().as_bytes(),
        record.path.as_ref().map_or("", FilePath::as_str).as_bytes(),
        checksum.map_or("", |checksum| checksum.algorithm().as_str()).as_bytes(),
        checksum.map_or(&[][..], Checksum::as_bytes),
    ] {
        bytes.extend((part.len() as u64).to_le_bytes());
        bytes.extend(part);
    }
}

/// Reads a record. `None` means that the bytes are not those of a record.
fn decode(bytes: &[u8]) -> Option<FileRecord> {
    let (size, mut rest) = bytes.split_first_chunk()?;
    let size = Some(u64::from_le_bytes(*size)).filter(|size| *size != u64::MAX);
    let mut part = || -> Option<&[u8]> {
        let (length, after) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (part, after) = after.split_at_checked(length)?;
        rest = after;
        Some(part)
    };
    let granule_id = GranuleId::from_bytes(part()?).ok()?;
    let path = std::str::from_utf8(part()?).ok().filter(|path| !path.is_empty());
    let algorithm = std::str::from_utf8(part()?).ok()?;
    let checksum = match algorithm {
        "" => None,
        name => Some(Checksum::from_bytes(name.parse::<Algorithm>().ok()?, part()?).ok()?),
    };
    let content = FileContent::new(size, checksum)?;
    let path = path.map(FilePath::new).transpose().ok()?;
    Some(FileRecord { granule_id, path, content })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_added() {
        let mut listing = FileListing::new();
        let other = Checksum::parse("SM3".parse().unwrap(), "abc").unwrap();
        let crc32 = Checksum::parse(Algorithm::Crc32, "00000001").unwrap();
        let line = |line| SourceLocation::Line { source: "files.txt".into(), line };
        let records = [
            (None, FileContent::Size(0), None),
            (Some("a/b"), FileContent::Checksum { checksum: other, size: None }, Some(line(7))),
            (
                None,
                FileContent::Checksum { checksum: crc32, size: Some(9) },
                Some(SourceLocation::Argument { number: 1 }),
            ),
        ];
        let records = records.map(|(path, content, location)| {
            let path = path.map(|path| FilePath::new(path).unwrap());
            (FileRecord { granule_id: "A".parse().unwrap(), path, content }, location)
        });
        for (record, location) in &records {
            listing.add(record, location.as_ref()).unwrap();
        }
        let read: Vec<_> = listing.records().map(Result::unwrap).collect();
        assert_eq!((read, listing.count()), (records.to_vec(), 3));
    }

    #[test]
    fn a_record_that_is_cut_is_not_read() {
        let granule_id = GranuleId::new("A.nc").unwrap();
        let checksum = Checksum::parse(Algorithm::Crc32, "2a").unwrap();
        let content = FileContent::new(Some(7), Some(checksum)).unwrap();
        let record = FileRecord { granule_id, path: None, content };
        let mut bytes = Vec::new();
        encode(&record, &mut bytes);
        assert_eq!(decode(&bytes), Some(record));
        assert!((0..bytes.len()).all(|end| decode(&bytes[..end]).is_none()));
    }
}
