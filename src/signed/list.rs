//! A list that is held against a statement.

use std::io::{self, BufRead, Read};

use crate::chain::{CanonicalList, Chain};
use crate::model::{Content, Digest, GranuleId, Identifier};

/// The longest line of a canonical list: an id and all that can be known of its files, as text.
const MAX_LINE_BYTES: u64 = 4 * Content::MAX_BYTES as u64;

/// What a list is: a canonical list, or the ids alone in canonical order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSet {
    /// The digest, if it is a canonical list.
    pub digest: Digest,
    /// The identifier. `None` if the list has more than ids, or is not in canonical order.
    pub identifier: Option<Identifier>,
    /// How many lines it has.
    pub granules: u64,
    /// How many of its granules have checksums of all their files.
    pub with_checksums: u64,
}

impl ListedSet {
    /// Reads a list to its end, in memory for a line.
    ///
    /// # Errors
    ///
    /// It cannot be read; a line is longer than any of a canonical list.
    pub fn read(mut reader: impl BufRead) -> io::Result<Self> {
        let (mut list, mut chain) = (CanonicalList::start(), Some(Chain::start()));
        let (mut granules, mut with_checksums) = (0, 0);
        let (mut line, mut before) = (Vec::new(), Vec::new());
        loop {
            std::mem::swap(&mut line, &mut before);
            line.clear();
            reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
            if line.is_empty() {
                let identifier = chain.map(|chain| chain.identifier());
                return Ok(ListedSet {
                    digest: list.digest(),
                    identifier,
                    granules,
                    with_checksums,
                });
            }
            if line.len() as u64 == MAX_LINE_BYTES {
                let what = "a line of the list is longer than any of a canonical list";
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            list.push(&line);
            granules += 1;
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            let mut fields = text.split(|byte| *byte == b'\t').skip(1).peekable();
            let is_known = fields.peek().is_some();
            with_checksums +=
                u64::from(is_known && fields.all(|field| !field.starts_with(b"size:")));
            // Compared without LF, which is less than a TAB, as ids are.
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let endless = io::repeat(b'a');
        assert!(ListedSet::read(io::BufReader::new(endless)).is_err());
    }
}
