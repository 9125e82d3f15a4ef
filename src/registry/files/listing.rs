//! File records as they were read, in any number.

use std::sync::Arc;

use crate::disk::{Spool, scratch};
use crate::error::Result;
use crate::model::{
    Algorithm, Checksum, FileContent, FilePath, FileRecord, GranuleId, SourceLocation,
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
        let checksum = record.content.checksum();
        let mut bytes = Vec::new();
        for number in [source, line, record.content.size().unwrap_or(u64::MAX)] {
            bytes.extend(number.to_le_bytes());
        }
        for part in [
            record.granule_id.as_str().as_bytes(),
            record.path.as_ref().map_or("", FilePath::as_str).as_bytes(),
            checksum.map_or("", |checksum| checksum.algorithm().as_str()).as_bytes(),
            checksum.map_or(&[][..], Checksum::as_bytes),
        ] {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part);
        }
        self.records.add(&bytes).map(drop)
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
            let unreadable = || scratch::unusable("read", std::io::ErrorKind::InvalidData.into());
            self.decoded(&bytes).ok_or_else(unreadable)
        })
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
        let (numbers, mut rest) = bytes.split_at_checked(24)?;
        let (numbers, _) = numbers.as_chunks::<8>();
        let [source, line, size] = [0, 1, 2].map(|n| u64::from_le_bytes(numbers[n]));
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
        let content = FileContent::new(Some(size).filter(|size| *size != u64::MAX), checksum)?;
        let path = path.map(FilePath::new).transpose().ok()?;
        let location = match source {
            NOWHERE => None,
            ARGUMENT => Some(SourceLocation::Argument { number: line }),
            source => {
                let source = self.sources.get(usize::try_from(source).ok()?)?;
                Some(SourceLocation::Line { source: Arc::clone(source), line })
            }
        };
        Some((FileRecord { granule_id, path, content }, location))
    }
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
}
