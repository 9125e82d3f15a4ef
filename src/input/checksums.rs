//! Lists of checksums: the output of `sha256sum`, `md5sum`, `rclone hashsum` and `hashdeep`, and BagIt
//! manifests.
//!
//! A line has one of two styles:
//!
//! - GNU: a checksum in hexadecimal digits, one or more blanks or TABs, an optional `*`, and the path
//! - BSD: the algorithm, the path in parentheses, `=` and the checksum
//!
//! If a line begins with `\`, its path contains the escapes `\\`, `\n` and `\r`, as GNU coreutils write them.
//! The output of `cksum` has a size between checksum and path; it is read if that algorithm is requested.
//! `rclone` prints blanks if it has no checksum. `hashdeep` names its columns in a line that begins with
//! `%%%%`. Lines that begin with `#`, `;` or `%` are comments.
//!
//! If the first line has exactly two characters between checksum and path, as GNU coreutils write them, a third
//! blank belongs to the path. Otherwise blanks before a path do not belong to it.
//!
//! The name of a bag's manifest states the algorithm: `manifest-ALGORITHM.txt` or `tagmanifest-ALGORITHM.txt`.
//! In it, `%0A`, `%0D` and `%25` stand for LF, CR and `%` (RFC 8493 § 2.1.3).

use std::path::Path;

use super::Row;
use super::checksum_paths::PathShapes;
use super::content::{self, WrittenFile};
use super::error::granule_id;
use super::finding::{Finding, FindingKind};
use super::format::ListingOptions;
use crate::error::{Error, ErrorKind};
use crate::model::{Algorithm, SourceLocation, quoted};

/// The greatest length of a line in bytes.
pub(super) const MAX_LINE_BYTES: u64 = 8 * 1_024;

/// Reads the lines of a list, and stores what it has learned about the list so far.
#[derive(Default)]
pub(super) struct Checksums {
    /// Whether each line also has a size, as `cksum` prints it.
    is_cksum: bool,
    is_of_bag: bool,
    /// The algorithm in the name of the file.
    algorithm: Option<Algorithm>,
    /// The columns of `hashdeep`, after the line that names them.
    columns: Option<Vec<String>>,
    /// The number of characters between checksum and path in the first line.
    separator: Option<usize>,
    /// The first line with two characters between checksum and path, if the first line of the list has more. It
    /// is unknown then which blanks are padding.
    mixed: Option<(SourceLocation, String)>,
    paths: PathShapes,
}

/// Names of algorithms and of programs, without `sum` or `sums`, and the algorithm of each.
const NAMES: [(&str, &str); 24] = [
    ("adler32", "adler32"),
    ("crc32", "crc32"),
    ("md5", "md5"),
    ("sha1", "sha-1"),
    ("sha224", "sha224"),
    ("sha256", "sha-256"),
    ("sha384", "sha-384"),
    ("sha512", "sha-512"),
    ("sha3224", "sha3-224"),
    ("sha3256", "sha3-256"),
    ("sha3384", "sha3-384"),
    ("sha3512", "sha3-512"),
    ("b2", "blake2b-512"),
    ("blake2b", "blake2b-512"),
    ("blake2b512", "blake2b-512"),
    ("blake2b256", "blake2b-256"),
    ("blake2s", "blake2s-256"),
    ("b3", "blake3"),
    ("blake3", "blake3"),
    ("xxh64", "xxh64"),
    ("xxh128", "xxh128"),
    ("xxh3", "xxh3"),
    ("tiger", "tiger"),
    ("whirlpool", "whirlpool"),
];

/// The meaning of a file name of a list of checksums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedChecksums {
    /// `None` means that the name contains no algorithm.
    pub algorithm: Option<Algorithm>,
    /// Whether it is a manifest of a bag.
    pub is_of_bag: bool,
}

/// Returns the meaning of a file name, if it is that of a list of checksums: `manifest-sha256.txt`,
/// `SHA256SUMS`, `delivery.md5`.
pub(super) fn of_name(path: &str) -> Option<NamedChecksums> {
    let name = Path::new(path).file_name()?.to_str()?.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let text = name.strip_suffix(".txt").or_else(|| name.strip_suffix(".asc")).unwrap_or(name);
    let manifest = text.strip_prefix("tagmanifest-").or_else(|| text.strip_prefix("manifest-"));
    if let Some(algorithm) = manifest.and_then(algorithm_of) {
        let is_of_bag = name.ends_with(".txt");
        return Some(NamedChecksums { algorithm: Some(algorithm), is_of_bag });
    }
    let named = |algorithm| Some(NamedChecksums { algorithm, is_of_bag: false });
    // `sha256_checksums.txt`, `checksums-md5.txt`.
    let mut words = text.split(['.', '_', '-', ' ']);
    if words.clone().any(|word| matches!(word, "checksum" | "checksums" | "hashes" | "hash"))
        && let Some(algorithm) = words.find_map(algorithm_of)
    {
        return named(Some(algorithm));
    }
    // `SHA256SUMS`, `md5sum.txt`, `release.SHA256SUMS`, `md5checksums.txt`.
    let last = text.rsplit(['.', '_', '-', ' ']).next().unwrap_or_default();
    if let Some(stem) = last.strip_suffix("sums").or_else(|| last.strip_suffix("sum")) {
        let is_whole = last == text || last.ends_with("sums") || name == text;
        let algorithm = algorithm_of(stem.strip_suffix("check").unwrap_or(stem));
        if is_whole && (algorithm.is_some() || matches!(stem, "check" | "hash")) {
            return named(algorithm);
        }
    }
    let (_, extension) = name.rsplit_once('.')?;
    algorithm_of(extension)
        .map(|algorithm| NamedChecksums { algorithm: Some(algorithm), is_of_bag: false })
}

/// The algorithm in the name of a column, such as `fastq_md5` or `SHA-256 checksum`.
pub(super) fn of_column(name: &str) -> Option<Algorithm> {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name.split(|it: char| !it.is_ascii_alphanumeric()).collect();
    let mut pairs = words.windows(2).map(|pair| pair.concat());
    pairs
        .find_map(|pair| algorithm_of(&pair))
        .or_else(|| words.iter().find_map(|word| algorithm_of(word)))
}

/// The algorithm in a word of a name.
fn algorithm_of(name: &str) -> Option<Algorithm> {
    let bare: String = name.chars().filter(|it| !matches!(it, '-' | '_')).collect();
    let known = NAMES.into_iter().find(|(known, _)| *known == bare);
    known.and_then(|(_, name)| name.parse().ok())
}

/// The first line has more than two characters between checksum and path, and another line has two. It is
/// unknown whether blanks before a path belong to it.
static MIXED_SEPARATORS: FindingKind = FindingKind {
    name: "mixed-separators",
    refused_as: ErrorKind::NotAList,
    heading: "Checksum lists",
    what: "has two characters between checksum and path, and the first line of the list has more",
    hint: "write two characters between checksum and path in each line, as `sha256sum` does",
};

impl Checksums {
    /// Creates a reader for the file with this name. A requested algorithm overrides the one in the name.
    pub(super) fn of_file(name: &str, options: &ListingOptions) -> Self {
        let named = of_name(name);
        Checksums {
            is_cksum: options.algorithm == Some(Algorithm::Cksum),
            is_of_bag: named.as_ref().is_some_and(|named| named.is_of_bag),
            algorithm: named
                .and_then(|named| named.algorithm)
                .filter(|_| options.algorithm.is_none()),
            ..Checksums::default()
        }
    }

    /// Whether a line is skipped: it is a comment, or names the columns of `hashdeep`, which are stored.
    pub(super) fn is_comment(&mut self, line: &[u8]) -> bool {
        if let Some(columns) = line.strip_prefix(b"%%%% ") {
            if let Some(columns) = hashdeep_columns(columns) {
                self.columns = Some(columns);
            }
            return true;
        }
        is_comment(line)
    }

    /// The suspicious properties of the list.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mixed = self.mixed.clone().map(|(location, line)| {
            let sentence = format!("{} {}", quoted(&line), MIXED_SEPARATORS.what);
            Finding::new(&MIXED_SEPARATORS, location, sentence)
        });
        self.paths.finding().into_iter().chain(mixed).collect()
    }

    /// Reads a line.
    pub(super) fn row(&mut self, line: &[u8], location: SourceLocation) -> Result<Row, Error> {
        if let Some(columns) = &self.columns {
            return hashdeep_row(columns, line, location);
        }
        let (is_escaped, text) = match line.strip_prefix(b"\\") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let split = match (of_rclone(text), bsd(text)) {
            (Some((_, true)), _) => return Err(failed(text)),
            (Some((path, false)), _) => {
                Some(ChecksumLine { algorithm: None, checksum: "", size: None, path })
            }
            (None, Some(bsd)) => Some(bsd),
            (None, None) => self.gnu(text, &location),
        };
        let ChecksumLine { algorithm, checksum, size, path } = split.ok_or_else(|| {
            Error::input("a line of a list of checksums is a checksum, two blanks, and a path")
        })?;
        let path = match (is_escaped, self.is_of_bag) {
            (true, _) => unescaped(path),
            (false, true) => percent_decoded(path),
            (false, false) => path.to_vec(),
        };
        if let Some(named) = self.algorithm.as_ref().filter(|_| algorithm.is_none())
            && let Some(bytes) = named.checksum_bytes()
            && !checksum.is_empty()
            && checksum.len() != bytes * 2
        {
            let message = format!(
                "the name of the file says {named}, and {} is no checksum of it",
                quoted(checksum)
            );
            let hint = "--algorithm NAME says what the checksums are, or rename the file (inputs.md, Algorithms)";
            return Err(Error::new(ErrorKind::NotAList, message).with_hint(hint));
        }
        // OpenSSL writes no blank before the parenthesis.
        if path == b"-" || text.windows(9).any(|cut| cut == b"(stdin)= ".as_slice()) {
            let message = "- is what was read from standard input, and not a file: name the files";
            return Err(Error::input(message));
        }
        let stated = self.algorithm.as_ref().map(ToString::to_string);
        self.paths.observe(&path, text, &location);
        let mut row = row_of(&path, location)?;
        row.files.push(WrittenFile {
            path: Some(row.record.granule_id.to_string()),
            size: size.map(str::to_owned),
            algorithm: algorithm.map(str::to_owned).or(stated),
            checksum: Some(checksum.to_owned()),
            ..WrittenFile::default()
        });
        Ok(row)
    }

    fn gnu<'line>(
        &mut self,
        line: &'line [u8],
        location: &SourceLocation,
    ) -> Option<ChecksumLine<'line>> {
        if self.is_cksum {
            let mut parts = line.splitn(3, |byte| *byte == b' ');
            let checksum = std::str::from_utf8(parts.next()?).ok()?;
            let size = Some(std::str::from_utf8(parts.next()?).ok()?);
            return Some(ChecksumLine { algorithm: None, checksum, size, path: parts.next()? });
        }
        let GnuLine { checksum, separator, rest } = gnu(line)?;
        let checksum = std::str::from_utf8(checksum).ok()?;
        if checksum.is_empty() {
            return Some(ChecksumLine { algorithm: None, checksum, size: None, path: rest });
        }
        let first = *self.separator.get_or_insert(separator);
        if first > 2 && separator == 2 && self.mixed.is_none() {
            self.mixed = Some((location.clone(), String::from_utf8_lossy(line).into_owned()));
        }
        // GNU coreutils write two characters, and everything after them is the path.
        let padded = &line[checksum.len()..];
        let path = match padded {
            [b' ', b' ' | b'*', path @ ..] if first == 2 => path,
            _ => rest,
        };
        (!path.is_empty()).then_some(ChecksumLine { algorithm: None, checksum, size: None, path })
    }
}

/// Whether a whole line is a line of a checksum list. Eight or sixteen digits are a checksum only if an
/// algorithm is requested.
pub(super) fn is_checksum(line: &[u8], algorithm: Option<&Algorithm>) -> bool {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\\").unwrap_or(line);
    let is_bsd = bsd(line).is_some_and(|line| {
        line.algorithm.is_some_and(|name| {
            let is_plausible = |algorithm: &Algorithm| {
                // For an algorithm that is not computed here, any word would be a checksum.
                algorithm.checksum_bytes().is_some()
                    || line.checksum.len() >= 8
                        && line.checksum.bytes().all(|it| it.is_ascii_hexdigit())
            };
            // A keyed checksum does not depend on the file alone.
            let is_keyed = name.to_ascii_lowercase().starts_with("hmac");
            !is_keyed
                && content::algorithm(name).is_ok_and(|it| {
                    is_plausible(&it) && content::checksum(Some(&it), line.checksum).is_ok()
                })
        })
    });
    is_bsd
        || gnu(line).is_some_and(|line| {
            let is_short = matches!(line.checksum.len(), 8 | 16) && algorithm.is_some();
            let is_path = !line.rest.contains(&b'\t');
            is_path && (is_short || DIGITS.contains(&line.checksum.len()))
        })
}

/// Whether the first line that is neither empty nor a comment has a checksum and a path.
pub(super) fn has_checksums(beginning: &[u8], algorithm: Option<&Algorithm>) -> bool {
    let lines = beginning.split(|&byte| byte == b'\n');
    let mut filled = lines.filter(|line| !line.trim_ascii().is_empty());
    let first = filled.clone().next().unwrap_or_default();
    is_hashdeep(first)
        || filled
            .find(|line| !is_comment(line) && of_rclone(line).is_none())
            .is_some_and(|line| is_checksum(line, algorithm))
}

/// Splits a line of `rclone hashsum` without a checksum: `UNSUPPORTED` or `ERROR`, padded to the length of a
/// checksum, two blanks, and the path. Returns the path, and whether it is `ERROR`.
fn of_rclone(line: &[u8]) -> Option<(&[u8], bool)> {
    let text = line.trim_ascii_start();
    let unsupported = text.strip_prefix(b"UNSUPPORTED  ").map(|path| (path, false));
    unsupported.or_else(|| text.strip_prefix(b"ERROR  ").map(|path| (path, true)))
}

/// The error for a line with an error message instead of a checksum.
fn failed(line: &[u8]) -> Error {
    let line = String::from_utf8_lossy(line);
    let message = format!("{} has an error in place of a checksum", quoted(line.trim()));
    let hint = "correct the cause, and list again (inputs.md, Checksum lists)";
    Error::new(ErrorKind::NotAList, message).with_hint(hint)
}

/// Whether a line is a comment of a list of checksums.
fn is_comment(line: &[u8]) -> bool {
    matches!(line.first(), Some(b'#' | b';' | b'%'))
}

/// Whether a line is the first of a file of `hashdeep`.
fn is_hashdeep(line: &[u8]) -> bool {
    line.starts_with(b"%%%% HASHDEEP") || line.starts_with(b"%%%% size,")
}

/// The lengths of checksums in hexadecimal digits.
const DIGITS: [usize; 7] = [32, 40, 48, 56, 64, 96, 128];

/// The parts of a line in the style of GNU coreutils.
struct GnuLine<'line> {
    /// Empty if the line has no checksum.
    checksum: &'line [u8],
    /// The number of characters between checksum and path.
    separator: usize,
    /// The path, without blanks before it.
    rest: &'line [u8],
}

fn gnu(line: &[u8]) -> Option<GnuLine<'_>> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let end = line.iter().position(is_blank)?;
    let (checksum, rest) = line.split_at(end);
    if checksum.is_empty() {
        let path = line.trim_ascii_start();
        let is_padded = line.len() - path.len() >= 10 && !path.is_empty();
        return is_padded.then_some(GnuLine { checksum, separator: 0, rest: path });
    }
    if !checksum.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let blanks = rest.iter().take_while(|byte| is_blank(byte)).count();
    let path = &rest[blanks..];
    // After one blank, `*` means that the file was read as binary. After two, it belongs to the path.
    let (path, separator) = match path {
        [b'*', path @ ..] if rest[..blanks] != *b"  " => (path, blanks + 1),
        path => (path, blanks),
    };
    (!path.is_empty()).then_some(GnuLine { checksum, separator, rest: path })
}

/// The granule of a path, without leading `./`.
fn row_of(path: &[u8], location: SourceLocation) -> Result<Row, Error> {
    let mut text = path;
    while let Some(rest) = text.strip_prefix(b"./") {
        text = rest;
    }
    Ok(Row::new(granule_id(text)?, location))
}

/// The columns that a line of `hashdeep` names. `None` means that it names none.
fn hashdeep_columns(line: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(line).ok()?;
    let columns: Vec<String> = text.trim().split(',').map(str::to_owned).collect();
    columns.last().is_some_and(|last| last == "filename").then_some(columns)
}

/// Reads a line of `hashdeep`. The path is last, and may contain commas.
fn hashdeep_row(columns: &[String], line: &[u8], location: SourceLocation) -> Result<Row, Error> {
    let cells: Vec<&[u8]> = line.splitn(columns.len(), |byte| *byte == b',').collect();
    let Some((path, values)) = cells.split_last().filter(|_| cells.len() == columns.len()) else {
        let message = format!("a line of this list is {}", columns.join(","));
        return Err(Error::input(message));
    };
    let mut row = row_of(path, location)?;
    let path = row.record.granule_id.to_string();
    let size = columns.iter().position(|name| name == "size");
    let size = size.and_then(|index| values.get(index));
    row.files.push(WrittenFile {
        path: Some(path.clone()),
        size: size.map(|size| String::from_utf8_lossy(size).into_owned()),
        ..WrittenFile::default()
    });
    for (name, value) in columns.iter().zip(values).filter(|(name, _)| *name != "size") {
        row.files.push(WrittenFile {
            path: Some(path.clone()),
            algorithm: Some(name.clone()),
            checksum: Some(String::from_utf8_lossy(value).into_owned()),
            ..WrittenFile::default()
        });
    }
    Ok(row)
}

/// The parts of a line.
struct ChecksumLine<'line> {
    /// `None` means that the line does not name it.
    algorithm: Option<&'line str>,
    /// Empty if the line has no checksum.
    checksum: &'line str,
    size: Option<&'line str>,
    path: &'line [u8],
}

/// Splits a line in the style of BSD, or of OpenSSL, which writes no blanks before `(` and `=`. The path may
/// contain `)`.
fn bsd(line: &[u8]) -> Option<ChecksumLine<'_>> {
    // Most lines are in the other style, and have no parenthesis.
    let begin = line.iter().take(MAX_NAME_BYTES).position(|byte| *byte == b'(')?;
    let end = line.windows(2).rposition(|two| two == b")=" || two == b") ")?;
    let equals = line[end + 1..].iter().position(|byte| *byte != b' ')? + end + 1;
    let checksum = line.get(equals..)?.strip_prefix(b"=")?;
    let algorithm = std::str::from_utf8(&line[..begin]).ok()?.trim_end_matches(' ');
    let checksum = std::str::from_utf8(checksum).ok()?.trim_start_matches(' ');
    let path = line.get(begin + 1..end).filter(|path| !path.is_empty())?;
    let is_name = !algorithm.is_empty() && !algorithm.contains(' ') && !checksum.contains(' ');
    is_name.then_some(ChecksumLine { algorithm: Some(algorithm), checksum, size: None, path })
}

/// The greatest length of the name of an algorithm before a path in parentheses.
const MAX_NAME_BYTES: usize = 32;

fn unescaped(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    let mut bytes = path.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => match bytes.next() {
                Some(b'n') => plain.push(b'\n'),
                Some(b'r') => plain.push(b'\r'),
                Some(b'\\') | None => plain.push(b'\\'),
                Some(other) => plain.extend([b'\\', other]),
            },
            byte => plain.push(byte),
        }
    }
    plain
}

fn percent_decoded(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, after)) = rest.split_first() {
        let encoded = rest.get(..3).map(<[u8]>::to_ascii_uppercase);
        let decoded = match encoded.as_deref() {
            Some(b"%0A") => Some(b'\n'),
            Some(b"%0D") => Some(b'\r'),
            Some(b"%25") => Some(b'%'),
            _ => None,
        };
        plain.push(decoded.unwrap_or(byte));
        rest = if decoded.is_some() { &rest[3..] } else { after };
    }
    plain
}
