//! The rule `sha256-list`: from the canonical list of a set to its digest.
//!
//! The list has a line for each granule, in canonical order. A line is the id, a field for each file in
//! ascending order of the bytes of the path, and LF. A field is a TAB, `algorithm:value` of the file's
//! strongest checksum or `size:N`, and `:path` if the path is not the id. For a list of names only, anyone can
//! compute the digest with `LC_ALL=C sort -u ids.txt | sha256sum`.
//!
//! The state of a running digest is saved at checkpoints, and must be readable for decades. So its encoding is
//! defined here, and not by a crate.

use std::ops::Range;

use sha2::block_api::compress256;

use crate::model::Digest;

/// The bytes of a block of SHA-256.
const BLOCK_BYTES: usize = 64;

/// The number of bytes that are hashed at once. (One block takes 1.3 times as long; 1,024 bytes are no faster.)
const BUFFER_BYTES: usize = 4 * BLOCK_BYTES;

/// The initial hash value (FIPS 180-4, 5.3.3).
const INITIAL: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// A running digest: the SHA-256 of the lines pushed so far.
///
/// # Examples
///
/// ```
/// use accession::chain::CanonicalList;
///
/// let mut list = CanonicalList::start();
/// list.push(b"A\n");
/// let mut resumed = CanonicalList::resume(&list.save()).expect("it was saved");
/// resumed.push(b"B\n");
/// list.push(b"B\n");
/// assert_eq!(resumed.digest(), list.digest());
/// ```
#[derive(Debug, Clone)]
pub struct CanonicalList {
    words: [u32; 8],
    /// The number of bytes pushed so far.
    length: u64,
    buffer: [u8; BUFFER_BYTES],
    /// The number of bytes in the buffer that are not hashed yet.
    filled: usize,
}

impl CanonicalList {
    /// The list of the empty set.
    pub fn start() -> Self {
        CanonicalList { words: INITIAL, length: 0, buffer: [0; BUFFER_BYTES], filled: 0 }
    }

    /// Adds bytes: a line, or a part of a line.
    pub fn push(&mut self, mut bytes: &[u8]) {
        self.length += bytes.len() as u64;
        while !bytes.is_empty() {
            let room = BUFFER_BYTES - self.filled;
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            self.buffer[self.filled..self.filled + now.len()].copy_from_slice(now);
            self.filled += now.len();
            bytes = rest;
            if self.filled == BUFFER_BYTES {
                self.hash_blocks();
            }
        }
    }

    /// Hashes the complete blocks of the buffer. The rest stays in the buffer.
    fn hash_blocks(&mut self) {
        let (blocks, rest) = self.buffer[..self.filled].as_chunks::<BLOCK_BYTES>();
        compress256(&mut self.words, blocks);
        let (hashed, rest) = (blocks.len() * BLOCK_BYTES, rest.len());
        self.buffer.copy_within(hashed..hashed + rest, 0);
        self.filled = rest;
    }

    /// The digest of the lines pushed so far.
    pub fn digest(&self) -> Digest {
        let mut last = self.clone();
        let bits = self.length * 8;
        // A one bit, zeros up to the last eight bytes of a block, and the length.
        let zeros = (2 * BLOCK_BYTES - 9 - last.filled % BLOCK_BYTES) % BLOCK_BYTES;
        let mut end = [0; BLOCK_BYTES + 9];
        end[0] = 0x80;
        end[1 + zeros..9 + zeros].copy_from_slice(&bits.to_be_bytes());
        last.push(&end[..9 + zeros]);
        last.hash_blocks();
        let mut bytes = [0; 32];
        for (four, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(last.words) {
            *four = word.to_be_bytes();
        }
        Digest::from_bytes(bytes)
    }

    /// The state: the eight words and the number of bytes, most significant byte first, and then the bytes of
    /// the last, incomplete block.
    pub fn save(&self) -> Vec<u8> {
        let mut whole = self.clone();
        whole.hash_blocks();
        let mut saved: Vec<u8> = whole.words.iter().flat_map(|word| word.to_be_bytes()).collect();
        saved.extend(whole.length.to_be_bytes());
        saved.extend(&whole.buffer[..whole.filled]);
        saved
    }

    /// Resumes a list from a saved state. `None` means that the bytes are not a saved state.
    pub fn resume(saved: &[u8]) -> Option<Self> {
        let (words, rest) = saved.split_at_checked(32)?;
        let (length, rest) = rest.split_first_chunk()?;
        let mut list = CanonicalList::start();
        for (word, four) in list.words.iter_mut().zip(words.as_chunks().0) {
            *word = u32::from_be_bytes(*four);
        }
        list.length = u64::from_be_bytes(*length);
        list.filled = rest.len();
        let is_rest = rest.len() as u64 == list.length % BLOCK_BYTES as u64;
        is_rest.then(|| list.buffer[..rest.len()].copy_from_slice(rest))?;
        Some(list)
    }
}

/// The digests of all instances of a history, in one pass over its granules in canonical order.
///
/// As in [`Sweep`](super::Sweep), consecutive instances whose lists are equal so far share one list.
#[derive(Debug, Clone)]
pub struct CanonicalLists {
    instances: usize,
    /// The first instance of each run, ascending, and the list of the run.
    runs: Vec<(usize, CanonicalList)>,
}

impl CanonicalLists {
    /// The lists of a history of this many instances. No instance holds a granule yet.
    pub fn over(instances: usize) -> Self {
        CanonicalLists::resume(instances, CanonicalList::start())
    }

    /// The lists of this many instances, which all have the same lines so far.
    pub fn resume(instances: usize, list: CanonicalList) -> Self {
        CanonicalLists { instances, runs: vec![(0, list)] }
    }

    /// Adds a line, or a part of a line, to the lists of these instances.
    pub fn push(&mut self, bytes: &[u8], instances: Range<usize>) {
        if instances.is_empty() || bytes.is_empty() {
            return;
        }
        let runs = self.split_at(instances.start)..self.split_at(instances.end);
        self.runs[runs].iter_mut().for_each(|(_, list)| list.push(bytes));
    }

    /// The list of the last instance.
    pub fn last(&self) -> &CanonicalList {
        &self.runs[self.runs.len() - 1].1
    }

    /// The digest of each instance, in order.
    pub fn digests(&self) -> impl Iterator<Item = Digest> + '_ {
        let ends = self.runs[1..].iter().map(|(first, _)| *first).chain([self.instances]);
        self.runs
            .iter()
            .zip(ends)
            .flat_map(|((first, list), end)| std::iter::repeat_n(list.digest(), end - first))
    }

    /// Splits the runs so that one begins at `instance`, and returns its index. If `instance` is after the last
    /// instance, returns the number of runs.
    fn split_at(&mut self, instance: usize) -> usize {
        if instance >= self.instances {
            return self.runs.len();
        }
        if self.runs.len() == self.instances {
            return instance;
        }
        match self.runs.binary_search_by_key(&instance, |(first, _)| *first) {
            Ok(run) => run,
            Err(run) => {
                let list = self.runs[run - 1].1.clone();
                self.runs.insert(run, (instance, list));
                run
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::model::{Checksum, Content, FilePath, FileRecord, GranuleId};

    fn sha256(bytes: &[u8]) -> Digest {
        Digest::from_bytes(Sha256::digest(bytes).into())
    }

    #[test]
    fn a_list_of_any_length_has_the_sha_256_of_its_bytes() {
        assert_eq!(CanonicalList::start().digest(), Digest::EMPTY);
        let bytes: Vec<u8> = (0..3 * BUFFER_BYTES).map(|n| (n % 251) as u8).collect();
        for end in 0..bytes.len() {
            let mut list = CanonicalList::start();
            list.push(&bytes[..end]);
            assert_eq!(list.digest(), sha256(&bytes[..end]), "{end} bytes");
        }
    }

    /// The examples of docs/reference/identifier.md.
    #[test]
    fn the_canonical_list_of_a_set_has_the_digest_that_is_published() {
        let sha1 = ("sha1", "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        let md5 = ("MD5", "D41D8CD98F00B204E9800998ECF8427E");
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        for (files, others, digest) in [
            (
                vec![("a/meta.xml", Some(12), None), ("a/data.nc", Some(3), Some(md5))],
                "",
                "66c60b579956e0ffaccaf4aec9bcd84cb30bf9b9cc627b4568cda167f319d49f",
            ),
            (
                vec![("A", None, Some(md5)), ("A", Some(7), Some(sha1))],
                "B\tsize:7\n",
                "b6b8990f08f681c106e142c56b36004d29c80c128fd1d4f595d4461cac48fa1f",
            ),
            (
                vec![("B", None, Some(("SHA256", empty)))],
                "B\n",
                "c28bd19fb9fcb8cfac7118f0e707bbb1418ba5766285255310a5c6c7db5e6b8b",
            ),
        ] {
            let granule_id = GranuleId::new("A").unwrap();
            let known = files.into_iter().map(|(path, size, checksum)| {
                let path = Some(FilePath::new(path).unwrap());
                let checksum = checksum.map(|(algorithm, value)| {
                    Checksum::parse(algorithm.parse().unwrap(), value).unwrap()
                });
                FileRecord::new(&granule_id, path, size, checksum).unwrap()
            });
            let content = Content::of(&granule_id, known.collect()).unwrap();
            let mut line = Vec::new();
            content.write_line("A", &mut line);
            let mut list = CanonicalList::start();
            list.push(&line);
            list.push(others.as_bytes());
            assert_eq!(list.digest().to_string(), format!("sha256:{digest}"));
        }
    }

    #[test]
    fn what_was_not_saved_is_not_resumed() {
        let mut list = CanonicalList::start();
        list.push(&[b'a'; 100]);
        let saved = list.save();
        assert_eq!(saved.len(), 32 + 8 + 36);
        assert!((0..saved.len()).all(|end| CanonicalList::resume(&saved[..end]).is_none()));
        assert!(CanonicalList::resume(&[saved, vec![0]].concat()).is_none());
    }

    proptest! {
        #[test]
        fn a_list_continues_wherever_it_was_saved(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..12),
        ) {
            let mut list = CanonicalList::start();
            for part in &parts {
                list.push(part);
                list = CanonicalList::resume(&list.save()).unwrap();
            }
            prop_assert_eq!(list.digest(), sha256(&parts.concat()));
        }

        #[test]
        fn lists_are_those_of_each_instance_on_its_own(
            instances in 1_usize..8,
            lines in prop::collection::vec((0_usize..8, 0_usize..9, "[a-z]{1,90}"), 0..40),
        ) {
            let mut lists = CanonicalLists::over(instances);
            let mut texts = vec![String::new(); instances];
            for (start, end, line) in lines {
                let held = start.min(instances)..end.min(instances);
                for text in texts.get_mut(held.clone()).into_iter().flatten() {
                    text.push_str(&line);
                }
                lists.push(line.as_bytes(), held);
            }
            let expected: Vec<Digest> = texts.iter().map(|text| sha256(text.as_bytes())).collect();
            prop_assert_eq!(lists.last().digest(), *expected.last().unwrap());
            prop_assert_eq!(lists.digests().collect::<Vec<_>>(), expected);
        }
    }
}
