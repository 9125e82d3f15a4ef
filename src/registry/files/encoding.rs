//! The bytes of a file record in a temporary file.

use crate::model::{Algorithm, Checksum, FileContent, FilePath, FileRecord, GranuleId};

/// Appends a record: the size (2^64 - 1 if it is not known), and the other parts, each after its length.
pub(super) fn encode(record: &FileRecord, bytes: &mut Vec<u8>) {
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
pub(super) fn decode(bytes: &[u8]) -> Option<FileRecord> {
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
