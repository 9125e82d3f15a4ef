//! The content of a granule: the records of its files, and how they compare with records elsewhere.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use super::checksum::{Checksum, FilePath};
use super::granule_id::GranuleId;
use super::known_file::{EncodedFiles, FileRecord, encode};
use super::message::{ParseError, quoted};

/// The records of the files of a granule, in ascending order of the bytes of their paths. Empty means that
/// nothing is recorded.
///
/// It contains the encoding that is stored, so that reading many granules needs no decoding and encoding.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Content {
    encoded: Box<[u8]>,
}

/// Which files of a granule new records cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Coverage {
    #[default]
    /// All files of the granule. Files without a new record are removed.
    Whole,
    /// Only the files with a new record. Others stay.
    Named,
    /// All files and all their metadata. Earlier sizes and checksums that are not repeated are dropped.
    All,
}

/// The content of a granule after it is updated with new records.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct ContentUpdate {
    /// The content after the update.
    pub content: Content,
    /// The kind of the update.
    pub change: ContentChange,
    /// The first conflict, if the update replaces something.
    pub conflict: Option<ContentConflict>,
}

/// The effect of new records on the recorded content of a granule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ContentChange {
    /// They add nothing.
    Nothing,
    /// They add a file, a size, or a checksum of another algorithm.
    Describes,
    /// A file has different content, or is no longer a file of the granule.
    Replaces,
}

/// The first conflict in a granule: a file whose new size or checksum differs from the recorded one, or which
/// is listed twice with different ones. It converts into an [`Error`](crate::Error).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContentConflict {
    granule_id: GranuleId,
    /// The path of the file. `None` means that it equals the id.
    path: Option<FilePath>,
    difference: Difference,
}

/// Why two records of a file conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Difference {
    /// They have different sizes, or different checksums of one algorithm.
    Other { known: String, stated: String },
    /// As above, but both records are in one list.
    ListedTwice { first: String, second: String },
    /// The file is not listed.
    NotListed,
    /// Together, the records have more checksums than a file may have.
    TooManyChecksums,
}

impl ContentChange {
    /// The effect of replacing the recorded content `before` by `after`.
    pub(crate) fn of(before: EncodedFiles<'_>, after: EncodedFiles<'_>) -> Self {
        if before == after {
            return ContentChange::Nothing;
        }
        if before.is_within(after) { ContentChange::Describes } else { ContentChange::Replaces }
    }
}

impl Content {
    /// The greatest length of the content of a granule, in bytes of its encoding.
    pub const MAX_BYTES: usize = 2 * 1_024 * 1_024;

    /// Merges records in any order.
    ///
    /// # Errors
    ///
    /// Two records conflict, or a file has more than [`FileRecord::MAX_CHECKSUMS`] checksums.
    pub fn of(granule_id: &GranuleId, stated: Vec<FileRecord>) -> Result<Self, ParseError> {
        let merged = Content::merged(granule_id, stated);
        merged.map_err(|conflict| ParseError::new(conflict.to_string()))
    }

    /// Like [`Content::of`], but the error names the file.
    pub(crate) fn merged(
        granule_id: &GranuleId,
        mut stated: Vec<FileRecord>,
    ) -> Result<Self, ContentConflict> {
        stated.sort_by(|one, other| one.path(granule_id).cmp(other.path(granule_id)));
        let mut files: Vec<FileRecord> = Vec::new();
        for file in stated {
            let Some(known) = files.last_mut().filter(|it| it.own_path() == file.own_path()) else {
                files.push(file);
                continue;
            };
            if let Some((first, second)) = known.differing(&file) {
                let difference = Difference::ListedTwice { first, second };
                return Err(ContentConflict::of(granule_id, file.own_path(), difference));
            }
            known.merge(&file);
            // This is checked after each file, so a merge never handles many checksums.
            if known.has_too_many_checksums() {
                let difference = Difference::TooManyChecksums;
                return Err(ContentConflict::of(granule_id, file.own_path(), difference));
            }
        }
        Ok(Content::of_files(&files))
    }

    fn of_files(files: &[FileRecord]) -> Self {
        Content { encoded: encode(files).into() }
    }

    /// Whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        self.encoded.is_empty()
    }

    /// Returns the files, in ascending order of the bytes of their paths.
    pub fn files(&self) -> Vec<FileRecord> {
        self.encoded().decode()
    }

    /// Returns the content after an update with new records. If a file's new record conflicts with its earlier
    /// one, the earlier one is dropped. A file of the result can have more checksums than a registry stores.
    pub(crate) fn after(
        &self,
        granule_id: &GranuleId,
        stated: &Content,
        extent: Coverage,
    ) -> ContentUpdate {
        let content = || stated.clone();
        if self == stated {
            return ContentUpdate {
                content: content(),
                change: ContentChange::Nothing,
                conflict: None,
            };
        }
        if extent == Coverage::All {
            let conflict = self.after(granule_id, stated, Coverage::Whole).conflict;
            let change = ContentChange::of(self.encoded(), stated.encoded());
            return ContentUpdate { content: content(), change, conflict };
        }
        let known = self.files();
        let (mut after, mut effect, mut contradiction) =
            (stated.files(), ContentChange::Nothing, None);
        for file in &mut after {
            let Ok(place) = place(&known, granule_id, file.path(granule_id)) else {
                effect = effect.max(ContentChange::Describes);
                continue;
            };
            if let Some(difference) = Difference::between(&known[place], file) {
                effect = ContentChange::Replaces;
                let conflict = ContentConflict::of(granule_id, file.own_path(), difference);
                contradiction.get_or_insert(conflict);
                continue;
            }
            let mut both = known[place].clone();
            if both.merge(file) {
                effect = effect.max(ContentChange::Describes);
            }
            *file = both;
        }
        for known in known {
            let path = known.path(granule_id);
            let Err(place) = place(&after, granule_id, path) else { continue };
            match extent {
                Coverage::Named => after.insert(place, known),
                Coverage::Whole | Coverage::All => {
                    effect = ContentChange::Replaces;
                    let (path, difference) = (known.own_path(), Difference::NotListed);
                    contradiction.get_or_insert(ContentConflict::of(granule_id, path, difference));
                }
            }
        }
        let content = Content::of_files(&after);
        ContentUpdate { content, change: effect, conflict: contradiction }
    }

    /// Appends the line of a granule in the canonical list of its set.
    pub fn write_line(&self, granule_id: &str, line: &mut Vec<u8>) {
        self.encoded().write_line(granule_id, line);
    }

    /// The encoding.
    pub(crate) fn encoded(&self) -> EncodedFiles<'_> {
        EncodedFiles::of_checked(&self.encoded)
    }

    /// Decodes the content of a granule. `None` means that the bytes are not a valid encoding.
    pub(crate) fn decode(granule_id: &str, bytes: &[u8]) -> Option<Self> {
        EncodedFiles::check(granule_id, bytes).map(Content::from)
    }
}

impl From<EncodedFiles<'_>> for Content {
    fn from(files: EncodedFiles<'_>) -> Self {
        Content { encoded: files.as_bytes().into() }
    }
}

/// The index of the file with a path (`Ok`), or where it would be inserted (`Err`), as in a binary search.
fn place(files: &[FileRecord], granule_id: &GranuleId, path: &str) -> Result<usize, usize> {
    files.binary_search_by(|file| file.path(granule_id).cmp(path))
}

impl Difference {
    /// The difference between two records of a file. `None` means that they do not conflict.
    fn between(known: &FileRecord, stated: &FileRecord) -> Option<Self> {
        let (known, stated) = known.differing(stated)?;
        Some(Difference::Other { known, stated })
    }
}

impl ContentConflict {
    fn of(granule_id: &GranuleId, path: Option<&FilePath>, difference: Difference) -> Self {
        ContentConflict { granule_id: granule_id.clone(), path: path.cloned(), difference }
    }

    /// The granule.
    pub fn granule_id(&self) -> &GranuleId {
        &self.granule_id
    }

    /// The path of the file.
    pub fn path(&self) -> &str {
        self.path.as_ref().map_or(self.granule_id.as_str(), FilePath::as_str)
    }

    /// Whether both records are in one list, which is wrong whatever the registry has recorded.
    pub(crate) fn is_within_list(&self) -> bool {
        matches!(self.difference, Difference::ListedTwice { .. } | Difference::TooManyChecksums)
    }

    /// The conflict as text. `left` and `right` are phrases for the two sides, such as "here" and "there".
    pub(crate) fn between(&self, [left, right]: [&str; 2]) -> String {
        let file = self.file();
        match &self.difference {
            Difference::Other { known, stated } => {
                format!("{file} has {known} {left}, but {stated} {right}")
            }
            Difference::NotListed => format!("{file} is not listed {right}"),
            Difference::ListedTwice { .. } | Difference::TooManyChecksums => self.to_string(),
        }
    }

    fn file(&self) -> String {
        let granule = quoted(self.granule_id.as_str());
        match &self.path {
            None => granule.to_string(),
            Some(path) => format!("{} of {granule}", quoted(path.as_str())),
        }
    }
}

impl fmt::Display for ContentConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file();
        match &self.difference {
            Difference::Other { known, stated } => {
                write!(f, "{file} has {stated}, but {known} is known")
            }
            Difference::ListedTwice { first, second } => {
                write!(f, "{file} is listed twice, with {first} and with {second}")
            }
            Difference::NotListed => write!(f, "{file} is no longer listed"),
            Difference::TooManyChecksums => {
                write!(f, "{file} has more than {} checksums", FileRecord::MAX_CHECKSUMS)
            }
        }
    }
}

impl std::error::Error for ContentConflict {}

/// The record of a file in JSON. The path is omitted if it equals the id of the granule.
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
    /// Serializes the files as in a log and in the command line's JSON.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.files().iter().map(|file| WrittenFile {
            path: file.own_path().map(|path| path.as_str().to_owned()),
            size: file.size(),
            checksums: file.checksums().iter().map(|checksum| format!("{checksum:?}")).collect(),
        }))
    }
}

impl Content {
    /// Makes content from deserialized records of files.
    ///
    /// # Errors
    ///
    /// A path or a checksum is invalid, or files conflict.
    pub(crate) fn from_written(
        granule_id: &GranuleId,
        written: Vec<WrittenFile>,
    ) -> Result<Self, String> {
        let mut files = Vec::new();
        for WrittenFile { path, size, checksums } in written {
            let path = path.map(FilePath::new).transpose().map_err(|error| error.to_string())?;
            if checksums.len() > FileRecord::MAX_CHECKSUMS {
                let difference = Difference::TooManyChecksums;
                let conflict = ContentConflict::of(granule_id, path.as_ref(), difference);
                return Err(conflict.to_string());
            }
            let mut known = size.map(|_| None).into_iter().collect::<Vec<Option<Checksum>>>();
            for text in &checksums {
                let checksum = text.parse().map_err(|error: ParseError| error.to_string())?;
                known.push(Some(checksum));
            }
            let file = |checksum| FileRecord::new(granule_id, path.clone(), size, checksum);
            files.extend(known.into_iter().filter_map(file));
        }
        Content::of(granule_id, files).map_err(|cause| cause.to_string())
    }
}

/// The result of comparing the content of a granule with its content elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContentMatch {
    /// One side has no records.
    Unknown,
    /// Each file also exists on the other side, with equal content. The other side may have more files.
    Equal,
    /// A file's two records have no checksum algorithm in common.
    NotComparable,
    /// A file has different content, or does not exist on the other side.
    Other(ContentConflict),
}

impl Content {
    /// Compares this content with content elsewhere, as if the latter were an update of this one. A file that
    /// is missing elsewhere is a conflict, and an additional file is not. Paths may differ, because archives
    /// store files in different directories: see [`counterparts`].
    pub(crate) fn compare(&self, granule_id: &GranuleId, other: &Content) -> ContentMatch {
        if self.is_empty() || other.is_empty() {
            return ContentMatch::Unknown;
        }
        if self == other {
            return ContentMatch::Equal;
        }
        let (files, others) = (self.files(), other.files());
        let conflict = |file: &FileRecord, difference| {
            ContentMatch::Other(ContentConflict::of(granule_id, file.own_path(), difference))
        };
        let (mut are_comparable, mut gone) = (true, None);
        for (file, same) in files.iter().zip(counterparts(granule_id, &files, &others)) {
            let Some(same) = same else {
                gone = gone.or(Some(file));
                continue;
            };
            if let Some(difference) = Difference::between(file, same) {
                return conflict(file, difference);
            }
            let is_sized = file.size().is_some() && same.size().is_some();
            let has_none = file.checksums().is_empty() || same.checksums().is_empty();
            are_comparable &= have_common_algorithm(file, same) || is_sized && has_none;
        }
        match gone {
            Some(gone) => conflict(gone, Difference::NotListed),
            None if are_comparable => ContentMatch::Equal,
            None => ContentMatch::NotComparable,
        }
    }
}

/// The counterpart of each file in `others`. `None` means that it has none.
///
/// Files are matched by path, then by the last segment of the path if it is unique. If each side has one file,
/// these two match if one has no own path, or if both have a checksum of the same algorithm. Costs one look-up
/// for each file.
fn counterparts<'a>(
    granule_id: &GranuleId,
    files: &[FileRecord],
    others: &'a [FileRecord],
) -> Vec<Option<&'a FileRecord>> {
    let by_path = |file: &FileRecord| place(others, granule_id, file.path(granule_id)).ok();
    let mut places: Vec<Option<usize>> = files.iter().map(by_path).collect();
    let mut are_taken = vec![false; others.len()];
    for place in places.iter().flatten() {
        are_taken[*place] = true;
    }
    if places.contains(&None) {
        let are_matched: Vec<bool> = places.iter().map(Option::is_some).collect();
        let elsewhere = by_last_segment(granule_id, others, &are_taken);
        for (segment, place) in by_last_segment(granule_id, files, &are_matched) {
            if let (Some(place), Some(Some(other))) = (place, elsewhere.get(segment)) {
                places[place] = Some(*other);
            }
        }
    }
    if let ([file], [other], [place @ None]) = (files, others, &mut places[..])
        && (file.own_path().is_none()
            || other.own_path().is_none()
            || have_common_algorithm(file, other))
    {
        *place = Some(0);
    }
    places.into_iter().map(|place| others.get(place?)).collect()
}

/// The indices of the unmatched files by the last segments of their paths. `None` means that several files have
/// this segment.
fn by_last_segment<'a>(
    granule_id: &'a GranuleId,
    files: &'a [FileRecord],
    are_matched: &[bool],
) -> HashMap<&'a str, Option<usize>> {
    let mut places = HashMap::new();
    for (place, (file, is_matched)) in files.iter().zip(are_matched).enumerate() {
        if !is_matched {
            let path = file.path(granule_id);
            let segment = path.rsplit('/').next().unwrap_or(path);
            places.entry(segment).and_modify(|place| *place = None).or_insert(Some(place));
        }
    }
    places
}

/// Whether two files have a checksum of the same algorithm.
fn have_common_algorithm(one: &FileRecord, other: &FileRecord) -> bool {
    one.checksums().iter().any(|checksum| other.checksum_of(checksum.algorithm()).is_some())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id() -> GranuleId {
        GranuleId::new("A.nc").unwrap()
    }

    fn file(path: &str, size: Option<u64>, checksum: Option<(&str, &str)>) -> FileRecord {
        let checksum =
            checksum.map(|(name, value)| Checksum::parse(name.parse().unwrap(), value).unwrap());
        FileRecord::new(&id(), Some(FilePath::new(path).unwrap()), size, checksum).unwrap()
    }

    fn content(files: &[FileRecord]) -> Content {
        Content::of(&id(), files.to_vec()).unwrap()
    }

    const MD5: &str = "d41d8cd98f00b204e9800998ecf8427e";
    const OTHER_MD5: &str = "e41d8cd98f00b204e9800998ecf8427e";
    const SHA1: &str = "da39a3ee5e6b4b0d3255bfef95601890afd80709";

    #[test]
    fn a_file_of_another_size_is_replaced_and_one_with_more_checksums_is_described() {
        let before = content(&[file("A.nc", Some(7), None)]);
        let change =
            |after: FileRecord| ContentChange::of(before.encoded(), content(&[after]).encoded());
        assert_eq!(change(file("A.nc", Some(7), None)), ContentChange::Nothing);
        let md5 = Some(("md5", MD5));
        assert_eq!(change(file("A.nc", Some(7), md5)), ContentChange::Describes);
        assert_eq!(change(file("A.nc", Some(8), md5)), ContentChange::Replaces);
        assert_eq!(change(file("A.nc", Some(8), None)), ContentChange::Replaces);
    }

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
        use {ContentChange::*, Coverage::*};
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
            let ContentUpdate { change: found, conflict: contradiction, .. } =
                known.after(&id(), &content(&stated), extent);
            assert_eq!(found, effect, "{stated:?}");
            let found = contradiction.map(|contradiction| contradiction.to_string());
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
        let after = known.after(&id(), &stated, Coverage::Named).content;
        assert_eq!(after, content(&[stated.files()[0].clone(), file("b", Some(1), None)]));
        assert_eq!(known.after(&id(), &stated, Coverage::Whole).content, stated);
    }

    #[test]
    fn a_file_has_at_most_64_checksums_wherever_they_come_from() {
        let of = |numbers: std::ops::Range<usize>| {
            let one = |n| file("A.nc", None, Some((format!("x{n}").as_str(), "1")));
            numbers.map(one).collect::<Vec<_>>()
        };
        let most = content(&of(0..64));
        assert_eq!(Content::decode(id().as_str(), most.encoded().as_bytes()), Some(most.clone()));
        let refused = Content::of(&id(), of(0..65)).unwrap_err();
        assert_eq!(refused.to_string(), "\"A.nc\" has more than 64 checksums");
        let ContentUpdate { content: more, change: effect, conflict: contradiction } =
            most.after(&id(), &content(&of(64..65)), Coverage::Named);
        assert_eq!((effect, contradiction), (ContentChange::Describes, None));
        assert_eq!(more.encoded().most_checksums(), 65);
        assert_eq!(Content::decode(id().as_str(), more.encoded().as_bytes()), None);
        // The limit is for each file, not for all files of a granule.
        let many = (0..100).map(|n| file(&format!("{n:03}"), None, Some(("md5", MD5)))).collect();
        assert_eq!(Content::of(&id(), many).unwrap().encoded().most_checksums(), 1);
    }

    #[test]
    fn one_sha_256_of_a_file_that_is_named_as_its_granule_takes_34_bytes() {
        let content = content(&[file("A.nc", None, Some(("sha256", &"ab".repeat(32))))]);
        assert_eq!(content.encoded().as_bytes().len(), 34);
    }

    #[test]
    fn an_encoding_that_is_out_of_order_is_not_valid() {
        let decoded = |bytes: &[u8]| Content::decode(id().as_str(), bytes).is_some();
        let sized = |path: &str| {
            let mut bytes = vec![3, path.len() as u8];
            bytes.extend(path.as_bytes());
            [bytes, vec![1]].concat()
        };
        let (a, b) = (sized("a"), sized("b"));
        assert!(decoded(&a) && decoded(&[a.clone(), b.clone()].concat()));
        assert!(!decoded(&[b, a.clone()].concat()), "paths");
        assert!(!decoded(&[a.clone(), a].concat()), "one path twice");
        // The path of a file is omitted if it equals the id.
        assert!(decoded(&[2, 1]) && !decoded(&sized(id().as_str())));
        assert!(!decoded(&[2, 1, 2, 1]), "two files without a path");
        let zebra = sized("z");
        assert!(decoded(&[vec![2, 1], zebra.clone()].concat()));
        assert!(!decoded(&[zebra, vec![2, 1]].concat()), "the id is before z");
        let (sha_256, crc32) = ([[3; 1].as_slice(), &[7; 32]].concat(), [6, 1, 2, 3, 4].to_vec());
        let both = [&[2 << 2][..], &sha_256, &crc32].concat();
        assert!(decoded(&both));
        assert!(!decoded(&[&[2 << 2][..], &crc32, &sha_256].concat()), "algorithms");
        assert!(!decoded(&[&[2 << 2][..], &crc32, &crc32].concat()), "one algorithm twice");
        assert!(!decoded(&[0]), "nothing is known of the file");
        assert!(!decoded(&[0x82, 0, 1]), "a number of two bytes that one byte can hold");
    }

    #[test]
    fn a_comparison_agrees_with_a_statement_of_the_other_side() {
        let (nc, xml) = (file("a.nc", Some(1), None), file("a.xml", Some(2), None));
        let swapped = file("b.xml", Some(2), None);
        let compare = |one: &[FileRecord], other: &[FileRecord]| {
            let (one, other) = (content(one), content(other));
            let found = one.compare(&id(), &other);
            let stated = one.after(&id(), &other, Coverage::Whole).change;
            let is_other = matches!(found, ContentMatch::Other(_));
            assert_eq!(is_other, stated == ContentChange::Replaces, "{one:?} {other:?}");
            match found {
                ContentMatch::Other(conflict) => conflict.between(["here", "there"]),
                found => format!("{found:?}"),
            }
        };
        let both = [nc.clone(), xml.clone()];
        let lost = "\"a.xml\" of \"A.nc\" is not listed there";
        assert_eq!(compare(&both, &[nc.clone(), swapped.clone()]), lost);
        assert_eq!(compare(&both, std::slice::from_ref(&nc)), lost);
        assert_eq!(compare(std::slice::from_ref(&xml), std::slice::from_ref(&swapped)), lost);
        // As in an update, an additional file is not a conflict.
        assert_eq!(compare(std::slice::from_ref(&nc), &both), "Equal");
        assert_eq!(
            compare(&[nc.clone(), swapped], &[nc.clone(), xml, file("b.xml", Some(2), None)]),
            "Equal"
        );
        // A difference in content is reported before a missing file.
        let other = [file("a.xml", Some(3), None)];
        assert_eq!(
            compare(&both, &other),
            "\"a.xml\" of \"A.nc\" has 2 bytes here, but 3 bytes there"
        );
        // The file that is named as the granule is one of its files.
        let own = [file("A.nc", Some(1), None), file("A.nc.met", Some(2), None)];
        assert_eq!(compare(&own, &own[..1]), "\"A.nc.met\" of \"A.nc\" is not listed there");
    }

    #[test]
    fn a_comparison_finds_a_file_at_another_path() {
        let md5 = Some(("md5", MD5));
        let compare = |one: &[FileRecord], other: &[FileRecord]| {
            let (one, other) = (content(one), content(other));
            let found = one.compare(&id(), &other);
            if !matches!(found, ContentMatch::Other(_)) {
                assert_eq!(found, other.compare(&id(), &one), "{one:?} {other:?}");
            }
            found
        };
        let is_other = |found| matches!(found, ContentMatch::Other(_));
        let (a, b) = (file("x/a.nc", Some(1), None), file("x/a.xml", Some(2), None));
        let moved = [file("y/a.nc", Some(1), None), file("z/a.xml", Some(2), None)];
        assert_eq!(compare(&[a.clone(), b.clone()], &moved), ContentMatch::Equal);
        assert!(is_other(compare(&[a.clone(), b.clone()], &moved[..1])));
        // A lone file, with the id instead of a path on one side.
        let lone = file("A.nc", Some(1), None);
        assert_eq!(compare(std::slice::from_ref(&a), &[lone]), ContentMatch::Equal);
        let named = file("A.nc", None, md5);
        assert_eq!(compare(std::slice::from_ref(&a), &[named]), ContentMatch::NotComparable);
        // A lone file with another name, if a checksum shows that it is the same.
        let renamed = file("x/c.nc", Some(1), md5);
        assert!(is_other(compare(std::slice::from_ref(&a), std::slice::from_ref(&renamed))));
        assert_eq!(compare(&[file("x/a.nc", None, md5)], &[renamed]), ContentMatch::Equal);
        // A last segment that several files have does not match, unless the other files are matched by path.
        let two = [file("x/a", Some(1), None), file("y/a", Some(1), None)];
        let others = [file("v/a", Some(1), None), file("w/a", Some(1), None)];
        assert!(is_other(compare(&two, &others)));
        assert_eq!(compare(&two, &[two[0].clone(), others[1].clone()]), ContentMatch::Equal);
        // If one side has no records, nothing is compared.
        assert_eq!(content(&two).compare(&id(), &Content::default()), ContentMatch::Unknown);
    }

    #[test]
    fn a_comparison_of_many_files_costs_a_look_up_a_file() {
        let files = |directory: &str| {
            let one = |n| file(&format!("{directory}/{n}"), Some(n), None);
            content(&(0..20_000).map(one).collect::<Vec<_>>())
        };
        let (one, other) = (files("x"), files("y"));
        // Comparing each file with each other file would take minutes.
        assert_eq!(one.compare(&id(), &other), ContentMatch::Equal);
    }

    fn any_file() -> impl Strategy<Value = FileRecord> {
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
            let paths: Vec<&str> = files.iter().map(|file| file.own_path().map_or("A.nc", FilePath::as_str)).collect();
            let is_repeated = (1..paths.len()).any(|at| paths[..at].contains(&paths[at]));
            prop_assert!(stated.is_ok() || is_repeated);
            let content = stated.unwrap_or_default();
            let read = content.files();
            prop_assert!(read.is_sorted_by(|a, b| a.path(&id()) < b.path(&id())));
            prop_assert_eq!(Content::of(&id(), read), Ok(content.clone()));
            let bytes = content.encoded().as_bytes();
            prop_assert_eq!(Content::decode(id().as_str(), bytes), Some(content.clone()));
            prop_assert_eq!(content.after(&id(), &content, Coverage::Whole).change, ContentChange::Nothing);
            for end in 0..bytes.len() {
                prop_assert_ne!(Content::decode(id().as_str(), &bytes[..end]), Some(content.clone()));
            }
        }

        #[test]
        fn bytes_of_any_kind_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
            Content::decode(id().as_str(), &bytes);
        }
    }
}
