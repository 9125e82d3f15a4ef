//! Reads a list that is compared with a statement.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use crate::chain::{CanonicalList, Chain};
use crate::model::{Checksum, Content, Digest, GranuleId, Identifier};

/// The longest line of a canonical list: an id and the longest record of its files, as text.
const MAX_LINE_BYTES: u64 = 4 * Content::MAX_BYTES as u64;

/// The greatest number of algorithms in a list.
const MAX_ALGORITHMS: usize = 64;

/// A list that was read: a canonical list, or only ids in canonical order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedSet {
    /// The digest of the list, if it is a canonical list.
    pub digest: Digest,
    /// The identifier. `None` means that the list contains more than ids, or is not in canonical order.
    pub identifier: Option<Identifier>,
    /// The number of lines.
    pub granules: u64,
    /// The number of granules whose listed files all have a checksum at least as strong as `md5`.
    pub with_checksums: u64,
    /// The algorithms of these checksums, the strongest first.
    pub algorithms: Vec<String>,
}

impl ListedSet {
    /// Reads a whole list. Only one line at a time is in memory.
    ///
    /// # Errors
    ///
    /// The list cannot be read; a line is longer than a line of a canonical list can be; the list has more
    /// than 64 algorithms.
    pub fn read(mut reader: impl BufRead) -> io::Result<Self> {
        let (mut list, mut chain) = (CanonicalList::start(), Some(Chain::start()));
        let (mut granules, mut with_checksums) = (0, 0);
        // One checksum of each algorithm.
        let mut algorithms = BTreeMap::<String, Checksum>::new();
        let (mut line, mut before) = (Vec::new(), Vec::new());
        loop {
            std::mem::swap(&mut line, &mut before);
            line.clear();
            reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
            if line.is_empty() {
                let identifier = chain.map(|chain| chain.identifier());
                let mut strongest_first: Vec<&Checksum> = algorithms.values().collect();
                strongest_first.sort_by_key(|checksum| checksum.strength());
                let name = |checksum: &&Checksum| checksum.algorithm().to_string();
                return Ok(ListedSet {
                    digest: list.digest(),
                    identifier,
                    granules,
                    with_checksums,
                    algorithms: strongest_first.iter().map(name).collect(),
                });
            }
            if line.len() as u64 == MAX_LINE_BYTES {
                let what = "a line of the list is longer than any of a canonical list";
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            list.push(&line);
            granules += 1;
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            let fields = text.split(|byte| *byte == b'\t').skip(1);
            let hashes: Vec<Option<Checksum>> = fields.map(hash_of).collect();
            let has_hashes = !hashes.is_empty() && hashes.iter().all(Option::is_some);
            with_checksums += u64::from(has_hashes);
            for hash in hashes.into_iter().flatten() {
                if !algorithms.contains_key(hash.algorithm().as_str()) {
                    algorithms.insert(hash.algorithm().to_string(), hash);
                }
            }
            if algorithms.len() > MAX_ALGORITHMS {
                let what = format!("the list has more than {MAX_ALGORITHMS} algorithms");
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            // Compared as ids are: without LF, which would sort before a TAB.
            let last = before.strip_suffix(b"\n").unwrap_or(&before);
            let granule_id = GranuleId::from_bytes(text).ok();
            match granule_id.filter(|_| granules == 1 || last < text) {
                Some(granule_id) => {
                    chain.iter_mut().for_each(|chain| chain.push(granule_id.as_str()));
                }
                None => chain = None,
            }
        }
    }
}

/// The checksum in a field of a canonical list, if it is at least as strong as `md5`.
fn hash_of(field: &[u8]) -> Option<Checksum> {
    let mut parts = std::str::from_utf8(field).ok()?.splitn(3, ':');
    let (algorithm, value) = (parts.next()?, parts.next()?);
    let checksum = Checksum::parse(algorithm.parse().ok()?, value).ok()?;
    let is_as_written = checksum.algorithm().as_str() == algorithm;
    (is_as_written && checksum.strength().is_of_a_hash()).then_some(checksum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_checksums_as_strong_as_md5_count_and_their_algorithms_are_named() {
        let (md5, blake3) = ("md5:d41d8cd98f00b204e9800998ecf8427e", "b3".repeat(32));
        for (lines, with_checksums, algorithms) in [
            ("A\ta:x\n".to_owned(), 0, &[][..]),
            (
                "A\tadler32:00620062\nB\ts3-etag:d41d8cd98f00b204e9800998ecf8427e-2\n".to_owned(),
                0,
                &[],
            ),
            ("A\tmd5:x\nB\tMD5:d41d8cd98f00b204e9800998ecf8427e\n".to_owned(), 0, &[]),
            (format!("A\t{md5}\tcrc32:00000001:b\n"), 0, &["md5"]),
            (format!("A\t{md5}\nB\tblake3:{blake3}:b\nC\t{md5}\n"), 3, &["blake3", "md5"]),
        ] {
            let listed = ListedSet::read(lines.as_bytes()).unwrap();
            assert_eq!(listed.with_checksums, with_checksums, "{lines}");
            assert_eq!(listed.algorithms, algorithms, "{lines}");
        }
    }

    #[test]
    fn ids_have_an_identifier_and_a_canonical_list_has_a_digest() {
        let (md5, size) = ("md5:d41d8cd98f00b204e9800998ecf8427e", "size:12");
        for (text, counts, has_identifier) in [
            (String::new(), (0, 0), true),
            ("A\nB\n".to_owned(), (2, 0), true),
            ("A\nB".to_owned(), (2, 0), true),
            ("A\nA b\n".to_owned(), (2, 0), true),
            ("B\nA\n".to_owned(), (2, 0), false),
            ("A\nA\n".to_owned(), (2, 0), false),
            ("A\n\n".to_owned(), (2, 0), false),
            (format!("A\t{md5}\nB\t{md5}:b\t{size}:c\nC\t{size}\nD\n"), (4, 1), false),
        ] {
            let listed = ListedSet::read(text.as_bytes()).unwrap();
            assert_eq!((listed.granules, listed.with_checksums), counts, "{text}");
            assert_eq!(listed.identifier.is_some(), has_identifier, "{text}");
        }
        let both = ListedSet::read(&b"A\nB\n"[..]).unwrap();
        let identifier = "8f714d3efb0e51ed23fb7eeecca3009b".parse().unwrap();
        assert_eq!(both.identifier, Some(identifier));
        let digest = "sha256:daee1cd25194ae952d046ad9b9c81d3c07dc5332440b58d6d7461b248be56712";
        assert_eq!(both.digest.to_string(), digest);
        let many: String =
            (0..=MAX_ALGORITHMS).map(|n| format!("A{n:02}\ta{n}:{}\n", "0".repeat(56))).collect();
        assert!(ListedSet::read(many.as_bytes()).is_err());
        let endless = io::repeat(b'a');
        assert!(ListedSet::read(io::BufReader::new(endless)).is_err());
    }
}
