//! The content of a granule: what is known of the bytes of its files.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use super::checksum::{Algorithm, Checksum, FilePath};
use super::granule_id::GranuleId;
use super::message::quoted;

/// What is known of the bytes of a file: its size, its checksums, or both.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KnownFile {
    /// `None` means that it equals the id of the granule.
    path: Option<FilePath>,
    /// In bytes. `None` means that it is not known.
    size: Option<u64>,
    /// At most one of each algorithm, the strongest first.
    checksums: Vec<Checksum>,
}

/// What is known of the files of a granule, in ascending order of the bytes of their paths. Empty means
/// that nothing is known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Content {
    files: Vec<KnownFile>,
}

/// How much of a granule a statement is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extent {
    #[default]
    /// All files of the granule: those that are not stated are no longer among them.
    Whole,
    /// Only the files that are stated.
    Named,
    /// All that is known from then on: what is not stated of a file is no longer known.
    All,
}

/// What a statement does to what is known of a granule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It states what is known.
    Nothing,
    /// It adds a file, a size or an algorithm.
    Describes,
    /// A file has other bytes, or is no longer among those of the granule.
    Replaces,
}

/// The first difference between what is stated of a granule and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// The path of the file. `None` means that it equals the id.
    pub(super) path: Option<FilePath>,
    pub(super) known: String,
    /// `None` means that the file is not stated.
    pub(super) stated: Option<String>,
}

impl KnownFile {
    /// A file of a granule. `None` means that nothing is known of it.
    pub fn new(
        granule_id: &GranuleId,
        path: Option<FilePath>,
        size: Option<u64>,
        checksum: Option<Checksum>,
    ) -> Option<Self> {
        let path = path.filter(|path| path.as_str() != granule_id.as_str());
        let checksums: Vec<Checksum> = checksum.into_iter().collect();
        let is_known = size.is_some() || !checksums.is_empty();
        is_known.then_some(KnownFile { path, size, checksums })
    }

    /// Returns the path, also where it equals the id.
    pub fn path<'a>(&'a self, granule_id: &'a GranuleId) -> &'a str {
        self.path.as_ref().map_or(granule_id.as_str(), FilePath::as_str)
    }

    /// Returns the path. `None` means that it equals the id.
    pub fn own_path(&self) -> Option<&FilePath> {
        self.path.as_ref()
    }

    /// Returns the size in bytes. `None` means that it is not known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Returns the checksums, at most one of each algorithm, the strongest first.
    pub fn checksums(&self) -> &[Checksum] {
        &self.checksums
    }

    pub(super) fn checksum_of(&self, algorithm: &Algorithm) -> Option<&Checksum> {
        self.checksums.iter().find(|checksum| checksum.algorithm() == algorithm)
    }

    /// What both state differently: what this file has, and what the other one has.
    pub(super) fn differing(&self, other: &KnownFile) -> Option<(String, String)> {
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
        Some((format!("{one} bytes"), format!("{other} bytes")))
    }

    /// Adds another statement about the file.
    fn join(&mut self, other: KnownFile) -> Result<(), Contradiction> {
        match self.differing(&other) {
            None => {
                self.merge(&other);
                Ok(())
            }
            Some((known, stated)) => {
                Err(Contradiction { path: other.path, known, stated: Some(stated) })
            }
        }
    }

    /// Adds what another statement of the same bytes has. Returns whether that is more.
    fn merge(&mut self, other: &KnownFile) -> bool {
        let mut is_more = self.size.is_none() && other.size.is_some();
        self.size = self.size.or(other.size);
        for checksum in &other.checksums {
            if self.checksum_of(checksum.algorithm()).is_none() {
                self.checksums.push(checksum.clone());
                is_more = true;
            }
        }
        self.checksums.sort_by(|one, other| by_strength(one.algorithm(), other.algorithm()));
        is_more
    }
}

/// The order of the digest: the strongest first, and those that are not known to be strong by their names.
fn by_strength(one: &Algorithm, other: &Algorithm) -> Ordering {
    let rank = |algorithm: &Algorithm| match algorithm {
        Algorithm::Sha512 => 0,
        Algorithm::Sha384 => 1,
        Algorithm::Sha256 => 2,
        Algorithm::Sha1 => 3,
        Algorithm::Md5 => 4,
        _ => 5,
    };
    rank(one).cmp(&rank(other)).then_with(|| one.as_str().cmp(other.as_str()))
}

impl Content {
    /// The greatest length of what is known of the files of a granule, in bytes of its encoding.
    pub const MAX_BYTES: usize = 2 * 1_024 * 1_024;

    /// How many statements about the files of a granule may be listed one by one: a file takes at least
    /// four bytes.
    pub const MAX_STATED: usize = Content::MAX_BYTES / 4;

    /// What some statements say together, in any order.
    ///
    /// # Errors
    ///
    /// Two of them contradict each other.
    pub fn of(granule_id: &GranuleId, mut stated: Vec<KnownFile>) -> Result<Self, Contradiction> {
        stated.sort_by(|one, other| one.path(granule_id).cmp(other.path(granule_id)));
        let mut files: Vec<KnownFile> = Vec::new();
        for file in stated {
            match files.last_mut().filter(|last| last.path == file.path) {
                None => files.push(file),
                Some(known) => known.join(file)?,
            }
        }
        Ok(Content { files })
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the files, in ascending order of the bytes of their paths.
    pub fn files(&self) -> &[KnownFile] {
        &self.files
    }

    /// Returns the files, to be stated together with others.
    pub fn into_files(self) -> Vec<KnownFile> {
        self.files
    }

    pub(super) fn place(&self, granule_id: &GranuleId, path: &str) -> Result<usize, usize> {
        self.files.binary_search_by(|file| file.path(granule_id).cmp(path))
    }

    /// The content after a statement, what that does, and the first contradiction if it replaces
    /// something. Where a file is contradicted, what was known of it goes, and what is stated stays.
    pub fn after(
        &self,
        granule_id: &GranuleId,
        stated: &Content,
        extent: Extent,
    ) -> (Content, Effect, Option<Contradiction>) {
        if extent == Extent::All {
            let (after, effect, contradiction) = self.after(granule_id, stated, Extent::Whole);
            let is_less = after != *stated;
            return (
                stated.clone(),
                if is_less { Effect::Replaces } else { effect },
                contradiction,
            );
        }
        let (mut after, mut effect, mut contradiction) = (stated.clone(), Effect::Nothing, None);
        for file in &mut after.files {
            let known = self.place(granule_id, file.path(granule_id)).map(|at| &self.files[at]);
            let Ok(known) = known else {
                effect = effect.max(Effect::Describes);
                continue;
            };
            if let Some((known, stated)) = known.differing(file) {
                effect = Effect::Replaces;
                let path = file.path.clone();
                contradiction.get_or_insert(Contradiction { path, known, stated: Some(stated) });
                continue;
            }
            let mut both = known.clone();
            if both.merge(file) {
                effect = effect.max(Effect::Describes);
            }
            *file = both;
        }
        for known in &self.files {
            let Err(place) = after.place(granule_id, known.path(granule_id)) else { continue };
            match extent {
                Extent::Named => after.files.insert(place, known.clone()),
                Extent::Whole | Extent::All => {
                    effect = Effect::Replaces;
                    let path = known.path.clone();
                    contradiction.get_or_insert(Contradiction {
                        path,
                        known: String::new(),
                        stated: None,
                    });
                }
            }
        }
        (after, effect, contradiction)
    }

    /// Appends the line of a granule in the canonical list of its set.
    pub fn write_line(&self, granule_id: &str, line: &mut Vec<u8>) {
        line.extend(granule_id.as_bytes());
        for KnownFile { path, size, checksums } in &self.files {
            line.push(b'\t');
            match (checksums.first(), size) {
                (Some(checksum), _) => {
                    line.extend(format!("{}:{checksum}", checksum.algorithm()).as_bytes());
                }
                (None, size) => {
                    line.extend(format!("size:{}", size.unwrap_or_default()).as_bytes());
                }
            }
            if let Some(path) = path {
                line.push(b':');
                line.extend(path.as_str().as_bytes());
            }
        }
        line.push(b'\n');
    }

    /// Appends an encoding, which [`Content::decode`] reads: for each file a byte with the number of its
    /// checksums and whether it has a path and a size, and those; for each checksum the number of its
    /// algorithm (or the name), and its bytes. Lengths and sizes have seven bits in a byte, the least
    /// significant first.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        for KnownFile { path, size, checksums } in &self.files {
            let flags = u64::from(path.is_some()) | u64::from(size.is_some()) << 1;
            write_number(flags | (checksums.len() as u64) << 2, bytes);
            if let Some(path) = path {
                write_part(path.as_str().as_bytes(), bytes);
            }
            if let Some(size) = size {
                write_number(*size, bytes);
            }
            for checksum in checksums {
                let mut known = Algorithm::KNOWN.iter().zip(1_u8..);
                match known.find(|(known, _)| *known == checksum.algorithm()) {
                    Some((_, number)) => {
                        bytes.push(number);
                        bytes.extend(checksum.as_bytes());
                    }
                    None => {
                        bytes.push(0);
                        write_part(checksum.algorithm().as_str().as_bytes(), bytes);
                        write_part(checksum.as_bytes(), bytes);
                    }
                }
            }
        }
    }

    /// The content with this encoding. `None` means that the bytes are not one.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut files = Vec::new();
        while !bytes.is_empty() {
            let flags = read_number(&mut bytes)?;
            let text =
                |bytes: &mut &[u8]| Some(std::str::from_utf8(read_part(bytes)?).ok()?.to_owned());
            let path = match flags & 1 {
                0 => None,
                _ => Some(FilePath::new(text(&mut bytes)?).ok()?),
            };
            let size = match flags & 2 {
                0 => None,
                _ => Some(read_number(&mut bytes)?),
            };
            let mut checksums = Vec::new();
            for _ in 0..flags >> 2 {
                let (number, rest) = bytes.split_first()?;
                bytes = rest;
                let algorithm: Algorithm = match usize::from(*number).checked_sub(1) {
                    None => text(&mut bytes)?.parse().ok()?,
                    Some(known) => Algorithm::KNOWN.get(known)?.clone(),
                };
                let value = match algorithm.checksum_bytes() {
                    None => read_part(&mut bytes)?,
                    Some(length) => {
                        let (value, rest) = bytes.split_at_checked(length)?;
                        bytes = rest;
                        value
                    }
                };
                checksums.push(Checksum::from_bytes(algorithm, value).ok()?);
            }
            files.push(KnownFile { path, size, checksums });
        }
        Some(Content { files })
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
    let add = |number: u64, byte: &u8| Some(number.checked_mul(0x80)? | u64::from(byte & 0x7f));
    number.iter().rev().try_fold(0, add)
}

impl Contradiction {
    /// The contradiction in words, for a granule.
    pub fn of(&self, granule_id: &GranuleId) -> String {
        let (file, known) = (self.file(granule_id), &self.known);
        match &self.stated {
            Some(stated) => format!("{file} has {stated}, but {known} is known"),
            None => format!("{file} is no longer listed"),
        }
    }

    /// The same where both were stated at once.
    pub fn at_once(&self, granule_id: &GranuleId) -> String {
        let (file, known) = (self.file(granule_id), &self.known);
        let stated = self.stated.as_deref().unwrap_or("nothing");
        format!("{file} is listed twice, with {known} and with {stated}")
    }

    fn file(&self, granule_id: &GranuleId) -> String {
        match &self.path {
            None => quoted(granule_id.as_str()).to_string(),
            Some(path) => {
                format!("{} of {}", quoted(path.as_str()), quoted(granule_id.as_str()))
            }
        }
    }
}

impl fmt::Display for KnownFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.checksums.first(), self.size) {
            (Some(checksum), _) => write!(f, "{checksum:?}"),
            (None, size) => write!(f, "size:{}", size.unwrap_or_default()),
        }
    }
}

/// What is known of a file, as it is written in JSON: its path unless that is the id of the granule, and what is
/// known.
#[derive(Serialize, Deserialize)]
pub(crate) struct WrittenFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    checksums: Vec<String>,
}

impl Serialize for Content {
    /// The files, as they are written in a log and in the command line's JSON.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.files.iter().map(|file| WrittenFile {
            path: file.path.as_ref().map(|path| path.as_str().to_owned()),
            size: file.size,
            checksums: file.checksums.iter().map(|checksum| format!("{checksum:?}")).collect(),
        }))
    }
}

impl Content {
    /// What is written of the files of a granule.
    ///
    /// # Errors
    ///
    /// What is wrong: a path, a checksum, or files that contradict each other.
    pub(crate) fn from_written(
        granule_id: &GranuleId,
        written: Vec<WrittenFile>,
    ) -> Result<Self, String> {
        let mut files = Vec::new();
        for WrittenFile { path, size, checksums } in written {
            let path = path.map(FilePath::new).transpose().map_err(|error| error.to_string())?;
            let mut known = size.map(|_| None).into_iter().collect::<Vec<Option<Checksum>>>();
            for text in &checksums {
                let parts = text.split_once(':').ok_or("a checksum has no algorithm")?;
                let algorithm = parts.0.parse().map_err(|error| format!("{error}"))?;
                let checksum = Checksum::parse(algorithm, parts.1);
                known.push(Some(checksum.map_err(|error| error.to_string())?));
            }
            let file = |checksum| KnownFile::new(granule_id, path.clone(), size, checksum);
            files.extend(known.into_iter().filter_map(file));
        }
        Content::of(granule_id, files).map_err(|cause| cause.at_once(granule_id))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id() -> GranuleId {
        GranuleId::new("A.nc").unwrap()
    }

    fn file(path: &str, size: Option<u64>, checksum: Option<(&str, &str)>) -> KnownFile {
        let checksum =
            checksum.map(|(name, value)| Checksum::parse(name.parse().unwrap(), value).unwrap());
        KnownFile::new(&id(), Some(FilePath::new(path).unwrap()), size, checksum).unwrap()
    }

    fn content(files: &[KnownFile]) -> Content {
        Content::of(&id(), files.to_vec()).unwrap()
    }

    const MD5: &str = "d41d8cd98f00b204e9800998ecf8427e";
    const OTHER_MD5: &str = "e41d8cd98f00b204e9800998ecf8427e";
    const SHA1: &str = "da39a3ee5e6b4b0d3255bfef95601890afd80709";

    #[test]
    fn a_line_has_the_strongest_checksum_of_each_file_in_order_of_the_paths() {
        let content = content(&[
            file("b/meta.xml", Some(12), None),
            file("A.nc", Some(7), Some(("md5", MD5))),
            file("A.nc", None, Some(("sha1", SHA1))),
            file("A.nc", None, Some(("crc32", "1"))),
            file("A", None, Some(("blake3", "x1"))),
        ]);
        let mut line = Vec::new();
        content.write_line("A.nc", &mut line);
        let expected = format!("A.nc\tblake3:x1:A\tsha-1:{SHA1}\tsize:12:b/meta.xml\n");
        assert_eq!(String::from_utf8(line).unwrap(), expected);
        let mut line = Vec::new();
        Content::default().write_line("A.nc", &mut line);
        assert_eq!(line, b"A.nc\n");
    }

    #[test]
    fn a_statement_says_nothing_new_or_describes_or_replaces() {
        use {Effect::*, Extent::*};
        let known = content(&[file("A.nc", Some(7), Some(("md5", MD5))), file("b", Some(1), None)]);
        let nc = |size, md5: Option<&'static str>| file("A.nc", size, md5.map(|it| ("md5", it)));
        for (stated, extent, effect, text) in [
            (vec![nc(Some(7), Some(MD5)), file("b", Some(1), None)], Whole, Nothing, None),
            (vec![nc(None, Some(MD5))], Named, Nothing, None),
            (
                vec![nc(Some(7), None)],
                Whole,
                Replaces,
                Some("\"b\" of \"A.nc\" is no longer listed"),
            ),
            (vec![file("c", Some(1), None)], Named, Describes, None),
            (vec![file("A.nc", None, Some(("sha1", SHA1)))], Named, Describes, None),
            (
                vec![nc(Some(8), None)],
                Named,
                Replaces,
                Some("\"A.nc\" has 8 bytes, but 7 bytes is known"),
            ),
            (
                vec![nc(None, Some(OTHER_MD5)), file("c", Some(1), None)],
                Named,
                Replaces,
                Some(
                    "\"A.nc\" has md5 e41d8cd98f00b204e9800998ecf8427e, but \
                     md5 d41d8cd98f00b204e9800998ecf8427e is known",
                ),
            ),
        ] {
            let (_, found, contradiction) = known.after(&id(), &content(&stated), extent);
            assert_eq!(found, effect, "{stated:?}");
            let found = contradiction.map(|contradiction| contradiction.of(&id()));
            assert_eq!(found.as_deref(), text);
        }
    }

    #[test]
    fn what_was_known_of_a_contradicted_file_goes_and_what_is_stated_stays() {
        let known = content(&[
            file("A.nc", Some(7), Some(("md5", MD5))),
            file("A.nc", None, Some(("sha1", SHA1))),
            file("b", Some(1), None),
        ]);
        let stated = content(&[file("A.nc", None, Some(("md5", OTHER_MD5)))]);
        let (after, ..) = known.after(&id(), &stated, Extent::Named);
        assert_eq!(after, content(&[stated.files[0].clone(), file("b", Some(1), None)]));
        assert_eq!(known.after(&id(), &stated, Extent::Whole).0, stated);
    }

    #[test]
    fn one_sha_256_of_a_file_that_is_named_as_its_granule_takes_34_bytes() {
        let mut bytes = Vec::new();
        content(&[file("A.nc", None, Some(("sha256", &"ab".repeat(32))))]).encode(&mut bytes);
        assert_eq!(bytes.len(), 34);
    }

    fn any_file() -> impl Strategy<Value = KnownFile> {
        let checksum = prop_oneof![
            Just(None),
            "[01]{32}".prop_map(|it| Some(("md5", it))),
            "[01]{8}".prop_map(|it| Some(("crc32", it))),
            "[a-z]{1,200}".prop_map(|it| Some(("blake3", it))),
        ];
        ("A[.]nc|[ab]{1,2}", any::<u64>(), any::<bool>(), checksum).prop_map(
            |(path, size, is_sized, checksum)| {
                let checksum = checksum.as_ref().map(|(name, value)| (*name, value.as_str()));
                let is_sized = is_sized || checksum.is_none();
                file(&path, is_sized.then_some(size), checksum)
            },
        )
    }

    proptest! {
        #[test]
        fn a_content_is_read_as_it_was_written(files in prop::collection::vec(any_file(), 0..6)) {
            let stated = Content::of(&id(), files.clone());
            let paths: Vec<&str> = files.iter().map(|file| file.path.as_ref().map_or("A.nc", FilePath::as_str)).collect();
            let is_repeated = (1..paths.len()).any(|at| paths[..at].contains(&paths[at]));
            prop_assert!(stated.is_ok() || is_repeated);
            let content = stated.unwrap_or_default();
            prop_assert!(content.files.is_sorted_by(|a, b| a.path(&id()) < b.path(&id())));
            let mut bytes = Vec::new();
            content.encode(&mut bytes);
            prop_assert_eq!(Content::decode(&bytes), Some(content.clone()));
            prop_assert_eq!(content.after(&id(), &content, Extent::Whole).1, Effect::Nothing);
            for end in 0..bytes.len() {
                prop_assert_ne!(Content::decode(&bytes[..end]), Some(content.clone()));
            }
        }

        #[test]
        fn bytes_of_any_kind_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
            Content::decode(&bytes);
        }
    }
}
