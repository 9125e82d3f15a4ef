//! The recorded size and checksums of a file, and the encoding of the records of all files of a granule.
//!
//! For each file, the encoding has a number, which contains the count of checksums and two flags for a path and
//! a size. The path, the size and the checksums follow. A checksum is the number of its algorithm (or 0 and the
//! name), and its bytes. Lengths and sizes have seven bits in a byte, the least significant first. Output that
//! is often made from a registry, such as the line of a granule in a list, is written from the encoding
//! directly.

use std::fmt;

use super::checksum::{Algorithm, Checksum, FilePath};
use super::granule_id::GranuleId;
use super::message::plural;

/// The recorded size of a file, its recorded checksums, or both.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileRecord {
    /// `None` means that the path equals the id of the granule.
    path: Option<FilePath>,
    /// In bytes. `None` means that no size is recorded.
    size: Option<u64>,
    /// At most one for each algorithm, the strongest first.
    checksums: Vec<Checksum>,
}

impl FileRecord {
    /// The greatest number of checksums of a file, each with a different algorithm.
    pub const MAX_CHECKSUMS: usize = 64;

    /// Makes the record of a file. `None` means that there is neither a size nor a checksum.
    pub fn new(
        granule_id: &GranuleId,
        path: Option<FilePath>,
        size: Option<u64>,
        checksum: Option<Checksum>,
    ) -> Option<Self> {
        let path = path.filter(|path| path.as_str() != granule_id.as_str());
        let checksums: Vec<Checksum> = checksum.into_iter().collect();
        let is_known = size.is_some() || !checksums.is_empty();
        is_known.then_some(FileRecord { path, size, checksums })
    }

    /// Returns the path. If none is recorded, it is the granule id.
    pub fn path<'a>(&'a self, granule_id: &'a GranuleId) -> &'a str {
        self.path.as_ref().map_or(granule_id.as_str(), FilePath::as_str)
    }

    /// Returns the recorded path. `None` means that the path equals the id.
    pub(crate) fn own_path(&self) -> Option<&FilePath> {
        self.path.as_ref()
    }

    /// Returns the size in bytes. `None` means that no size is recorded.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Returns the checksums, at most one for each algorithm. The strongest is first: `sha-512`, `sha-384`,
    /// `sha-256`, then others.
    pub fn checksums(&self) -> &[Checksum] {
        &self.checksums
    }

    pub(super) fn checksum_of(&self, algorithm: &Algorithm) -> Option<&Checksum> {
        self.checksums.iter().find(|checksum| checksum.algorithm() == algorithm)
    }

    /// The first difference between two records, as text: the value of this record, then that of `other`.
    pub(super) fn differing(&self, other: &FileRecord) -> Option<(String, String)> {
        let of_both = self
            .checksums
            .iter()
            .filter_map(|checksum| Some((checksum, other.checksum_of(checksum.algorithm())?)));
        let mut differing = of_both.filter(|(one, other)| one != other);
        let shown = |checksum: &Checksum| format!("{} {checksum}", checksum.algorithm());
        if let Some((one, other)) = differing.next() {
            return Some((shown(one), shown(other)));
        }
        let (one, other) = self.size.zip(other.size).filter(|(one, other)| one != other)?;
        Some((plural(one, "byte"), plural(other, "byte")))
    }

    /// Adds the size and checksums from another record of the same content. Returns whether it added something.
    pub(super) fn merge(&mut self, other: &FileRecord) -> bool {
        let mut is_more = self.size.is_none() && other.size.is_some();
        self.size = self.size.or(other.size);
        for checksum in &other.checksums {
            if self.checksum_of(checksum.algorithm()).is_none() {
                self.checksums.push(checksum.clone());
                is_more = true;
            }
        }
        if is_more {
            self.checksums.sort_by(|one, other| one.strength().cmp(&other.strength()));
        }
        is_more
    }

    /// Whether the number of checksums exceeds [`FileRecord::MAX_CHECKSUMS`].
    pub(super) fn has_too_many_checksums(&self) -> bool {
        self.checksums.len() > FileRecord::MAX_CHECKSUMS
    }
}

impl fmt::Display for FileRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.checksums.first(), self.size) {
            (Some(checksum), _) => write!(f, "{checksum:?}"),
            (None, size) => write!(f, "size:{}", size.unwrap_or_default()),
        }
    }
}

/// Encodes the records of files, in this order.
pub(super) fn encode(files: &[FileRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for FileRecord { path, size, checksums } in files {
        let flags = u64::from(path.is_some()) | u64::from(size.is_some()) << 1;
        write_number(flags | (checksums.len() as u64) << 2, &mut bytes);
        if let Some(path) = path {
            write_part(path.as_str().as_bytes(), &mut bytes);
        }
        if let Some(size) = size {
            write_number(*size, &mut bytes);
        }
        for checksum in checksums {
            let mut known = KNOWN.iter().zip(1_u8..);
            match known.find(|(known, _)| *known == checksum.algorithm()) {
                Some((_, number)) => {
                    bytes.push(number);
                    bytes.extend(checksum.as_bytes());
                }
                None => {
                    bytes.push(0);
                    write_part(checksum.algorithm().as_str().as_bytes(), &mut bytes);
                    write_part(checksum.as_bytes(), &mut bytes);
                }
            }
        }
    }
    bytes
}

static KNOWN: [Algorithm; 8] = Algorithm::KNOWN;

/// The encoded records of the files of a granule, after they were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct EncodedFiles<'a>(&'a [u8]);

impl<'a> EncodedFiles<'a> {
    /// Checks an encoding of the files of a granule. `None` means that the bytes are invalid. Paths and
    /// algorithms must be strictly ascending, because the digest covers the first checksum of each file.
    pub fn check(granule_id: &str, bytes: &'a [u8]) -> Option<Self> {
        let (mut rest, mut last) = (bytes, None);
        while !rest.is_empty() {
            let file = EncodedFile::read(&mut rest)?;
            if file.checksums.count > FileRecord::MAX_CHECKSUMS as u64 {
                return None;
            }
            // A path that equals the id is omitted.
            let is_own = file.path.is_none_or(|path| path != granule_id);
            let path = file.path.unwrap_or(granule_id);
            let is_known = file.size.is_some() || file.checksums.count > 0;
            let is_next = last.is_none_or(|last| last < path);
            if !(is_own && is_known && is_next && file.checksums.are_in_order()?) {
                return None;
            }
            last = Some(path);
        }
        Some(EncodedFiles(bytes))
    }

    /// Wraps an encoding that was already checked.
    pub fn of_checked(bytes: &'a [u8]) -> Self {
        EncodedFiles(bytes)
    }

    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Whether there are no records.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The greatest number of checksums of any file.
    pub fn most_checksums(self) -> u64 {
        self.each().map(|file| file.checksums.count).max().unwrap_or(0)
    }

    fn each(self) -> impl Iterator<Item = EncodedFile<'a>> {
        let mut rest = self.0;
        std::iter::from_fn(move || EncodedFile::read(&mut rest))
    }

    pub(super) fn decode(self) -> Vec<FileRecord> {
        self.each().filter_map(EncodedFile::decode).collect()
    }

    /// Whether `other` has every recorded file, size and checksum of this one.
    pub fn is_within(self, other: EncodedFiles<'_>) -> bool {
        let mut others = other.each();
        // Both are sorted by path.
        self.each().all(|mut file| {
            others.by_ref().find(|other| other.path == file.path).is_some_and(|other| {
                (file.size.is_none() || file.size == other.size)
                    && file.checksums.all(|one| other.checksums.clone().any(|it| it == one))
            })
        })
    }

    /// Whether `other` lacks a file, or has a different size or a different checksum of the same algorithm for
    /// one. `false` if `other` has no recorded files.
    pub fn is_replaced_by(self, other: EncodedFiles<'_>) -> bool {
        if self == other || other.is_empty() {
            return false;
        }
        let mut others = other.each();
        // Both are sorted by path.
        self.each().any(|file| {
            others.by_ref().find(|other| other.path == file.path).is_none_or(|other| {
                let sizes = file.size.zip(other.size);
                sizes.is_some_and(|(one, other)| one != other)
                    || file.checksums.into_iter().any(|one| {
                        let mut of_both = other.checksums.clone();
                        of_both.any(|it| it.algorithm == one.algorithm && it.value != one.value)
                    })
            })
        })
    }

    /// The number of recorded files, sizes and checksums.
    pub fn facts(self) -> u64 {
        self.each().map(|it| 1 + u64::from(it.size.is_some()) + it.checksums.count).sum()
    }

    /// Appends the line of a granule in the canonical list of its set.
    pub fn write_line(self, granule_id: &str, line: &mut Vec<u8>) {
        line.extend_from_slice(granule_id.as_bytes());
        for EncodedFile { path, size, mut checksums } in self.each() {
            line.push(b'\t');
            match (checksums.next(), size) {
                (Some(checksum), _) => checksum.write(line),
                (None, size) => {
                    line.extend_from_slice(b"size:");
                    line.extend_from_slice(size.unwrap_or_default().to_string().as_bytes());
                }
            }
            if let Some(path) = path {
                line.push(b':');
                line.extend_from_slice(path.as_bytes());
            }
        }
        line.push(b'\n');
    }
}

struct EncodedFile<'a> {
    path: Option<&'a str>,
    size: Option<u64>,
    checksums: EncodedChecksums<'a>,
}

impl<'a> EncodedFile<'a> {
    /// Reads the next file. `None` means that no file follows, or that the bytes are invalid.
    fn read(bytes: &mut &'a [u8]) -> Option<Self> {
        let flags = read_number(bytes)?;
        let path = match flags & 1 {
            0 => None,
            _ => Some(read_text(bytes).filter(|path| FilePath::check(path).is_ok())?),
        };
        let size = match flags & 2 {
            0 => None,
            _ => Some(read_number(bytes)?),
        };
        let checksums = EncodedChecksums { bytes, count: flags >> 2 };
        for _ in 0..checksums.count {
            EncodedChecksum::read(bytes)?;
        }
        Some(EncodedFile { path, size, checksums })
    }

    fn decode(self) -> Option<FileRecord> {
        let path = self.path.map(FilePath::new).transpose().ok()?;
        let checksums = self.checksums.map(EncodedChecksum::decode).collect::<Option<_>>()?;
        Some(FileRecord { path, size: self.size, checksums })
    }
}

#[derive(Clone)]
struct EncodedChecksums<'a> {
    bytes: &'a [u8],
    count: u64,
}

impl EncodedChecksums<'_> {
    /// Whether the checksums are sorted by descending strength. `None` means that a checksum is invalid.
    fn are_in_order(&self) -> Option<bool> {
        // Most files have only one.
        if self.count < 2 {
            return Some(true);
        }
        let checksums: Vec<Checksum> =
            self.clone().map(EncodedChecksum::decode).collect::<Option<_>>()?;
        Some(checksums.is_sorted_by(|one, next| one.strength() < next.strength()))
    }
}

impl<'a> Iterator for EncodedChecksums<'a> {
    type Item = EncodedChecksum<'a>;

    fn next(&mut self) -> Option<EncodedChecksum<'a>> {
        self.count = self.count.checked_sub(1)?;
        EncodedChecksum::read(&mut self.bytes)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct EncodedChecksum<'a> {
    /// `None` means that this program cannot compute the algorithm.
    known: Option<&'static Algorithm>,
    algorithm: &'a str,
    value: &'a [u8],
}

impl<'a> EncodedChecksum<'a> {
    fn read(bytes: &mut &'a [u8]) -> Option<Self> {
        let (number, rest) = bytes.split_first()?;
        *bytes = rest;
        let Some(number) = usize::from(*number).checked_sub(1) else {
            let (algorithm, value) = (read_text(bytes)?, read_part(bytes)?);
            let other = algorithm.parse::<Algorithm>().ok()?;
            let is_other = matches!(other, Algorithm::Other(_)) && other.as_str() == algorithm;
            let is_valid = is_other && Checksum::is_valid(&other, value);
            return is_valid.then_some(EncodedChecksum { known: None, algorithm, value });
        };
        let known = KNOWN.get(number)?;
        let (value, rest) = bytes.split_at_checked(known.checksum_bytes()?)?;
        *bytes = rest;
        Some(EncodedChecksum { known: Some(known), algorithm: known.as_str(), value })
    }

    fn decode(self) -> Option<Checksum> {
        let algorithm = match self.known {
            Some(known) => known.clone(),
            None => self.algorithm.parse().ok()?,
        };
        Checksum::from_bytes(algorithm, self.value).ok()
    }

    /// Appends the algorithm, a colon and the value.
    fn write(self, line: &mut Vec<u8>) {
        line.extend_from_slice(self.algorithm.as_bytes());
        line.push(b':');
        match (self.known, self.value) {
            (None, value) => line.extend_from_slice(value),
            (Some(Algorithm::Cksum), &[a, b, c, d]) => {
                let number = u32::from_be_bytes([a, b, c, d]);
                line.extend_from_slice(number.to_string().as_bytes());
            }
            (Some(_), value) => {
                let digits = line.len();
                line.resize(digits + 2 * value.len(), 0);
                let digit = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'a' - 10 };
                let pairs = line[digits..].as_chunks_mut::<2>().0;
                for (pair, byte) in pairs.iter_mut().zip(value) {
                    *pair = [digit(byte >> 4), digit(byte & 15)];
                }
            }
        }
    }
}

fn write_part(part: &[u8], bytes: &mut Vec<u8>) {
    write_number(part.len() as u64, bytes);
    bytes.extend(part);
}

fn write_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    std::str::from_utf8(read_part(bytes)?).ok()
}

fn read_part<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(read_number(bytes)?).ok()?;
    let (part, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(part)
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let end = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)?;
    let (number, rest) = bytes.split_at(end + 1);
    *bytes = rest;
    // Only the shortest form is valid.
    if number.len() > 1 && number.last() == Some(&0) {
        return None;
    }
    let add = |number: u64, byte: &u8| Some(number.checked_mul(0x80)? | u64::from(byte & 0x7f));
    number.iter().rev().try_fold(0, add)
}
