//! Lists of checksums: what `sha256sum`, `md5sum` and `rclone hashsum` print, and manifests of BagIt.
//!
//! A line is a checksum, a blank, a blank or `*`, and the path; or, in the style of BSD, the algorithm, a
//! blank, the path in parentheses, ` = ` and the checksum. A line that begins with `\` has `\\`, `\n` and
//! `\r` in its path, as GNU coreutils write them. What `cksum` prints, with a size between checksum and
//! path, is read if that algorithm is asked for. Where `rclone` has no checksum it prints blanks.
//!
//! In a manifest of a bag (a file whose name begins with `manifest-`), `%0A`, `%0D` and `%25` stand for
//! LF, CR and `%` (RFC 8493 § 2.1.3), and the name of the file has the algorithm.

use std::path::Path;

use super::Row;
use super::content::{self, WrittenFile};
use super::error::granule_id;
use super::format::ListingOptions;
use crate::error::Error;
use crate::model::{Algorithm, SourceLocation};

/// The greatest length of a line in bytes.
pub(super) const MAX_LINE_BYTES: u64 = 8 * 1_024;

/// How the lines of a list are read.
#[derive(Debug, Clone, Default)]
pub(super) struct Checksums {
    /// Whether each line has a size, too.
    is_cksum: bool,
    is_of_bag: bool,
    /// The algorithm that the name of a bag's manifest has.
    algorithm: Option<String>,
}

impl Checksums {
    /// For the file with this name. An algorithm that was asked for comes before that of a bag.
    pub(super) fn of_file(name: &str, options: &ListingOptions) -> Self {
        let stem = Path::new(name).file_name().and_then(|name| name.to_str());
        let stem = stem.and_then(|name| name.strip_prefix("manifest-")?.strip_suffix(".txt"));
        Checksums {
            is_cksum: options.algorithm == Some(Algorithm::Cksum),
            is_of_bag: stem.is_some(),
            algorithm: stem.filter(|_| options.algorithm.is_none()).map(str::to_owned),
        }
    }

    /// Reads a line.
    pub(super) fn row(&self, line: &[u8], location: SourceLocation) -> Result<Row, Error> {
        let (is_escaped, line) = match line.strip_prefix(b"\\") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let bsd = bsd(line);
        let split = bsd.or_else(|| self.gnu(line));
        let ChecksumLine { algorithm, checksum, size, path } = split.ok_or_else(|| {
            Error::input("a line of a list of checksums is a checksum, two blanks, and a path")
        })?;
        let path = match (is_escaped, self.is_of_bag) {
            (true, _) => unescaped(path),
            (false, true) => percent_decoded(path),
            (false, false) => path.to_vec(),
        };
        if path == b"-" {
            let message = "- is what was read from standard input, and not a file: name the files";
            return Err(Error::input(message));
        }
        let mut text = path.as_slice();
        while let Some(rest) = text.strip_prefix(b"./") {
            text = rest;
        }
        let mut row = Row::new(granule_id(text)?, location);
        row.files.push(WrittenFile {
            path: Some(row.record.granule_id.to_string()),
            size: size.map(str::to_owned),
            algorithm: algorithm.map(str::to_owned).or_else(|| self.algorithm.clone()),
            checksum: Some(checksum.to_owned()),
            location: None,
        });
        Ok(row)
    }

    fn gnu<'line>(&self, line: &'line [u8]) -> Option<ChecksumLine<'line>> {
        if self.is_cksum {
            let mut parts = line.splitn(3, |byte| *byte == b' ');
            let checksum = std::str::from_utf8(parts.next()?).ok()?;
            let size = Some(std::str::from_utf8(parts.next()?).ok()?);
            return Some(ChecksumLine { algorithm: None, checksum, size, path: parts.next()? });
        }
        let end = line.iter().position(|byte| *byte == b' ')?;
        let (checksum, rest) = line.split_at(end);
        if checksum.is_empty() {
            let path = line.trim_ascii_start();
            let is_padded = line.len() - path.len() >= 10 && !path.is_empty();
            return is_padded.then_some(ChecksumLine {
                algorithm: None,
                checksum: "",
                size: None,
                path,
            });
        }
        let path = rest.strip_prefix(b"  ").or_else(|| rest.strip_prefix(b" *"))?;
        let checksum = std::str::from_utf8(checksum).ok()?;
        (!path.is_empty()).then_some(ChecksumLine { algorithm: None, checksum, size: None, path })
    }
}

/// Whether a line is one of a list of checksums, and nothing else.
pub(super) fn is_checksum(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\\").unwrap_or(line);
    let is_known = |checksum: &str| content::checksum(None, checksum).is_ok();
    let is_bsd = bsd(line).is_some_and(|line| {
        line.algorithm.is_some_and(|name| {
            content::algorithm(name)
                .is_ok_and(|it| content::checksum(Some(&it), line.checksum).is_ok())
        })
    });
    is_bsd || Checksums::default().gnu(line).is_some_and(|line| is_known(line.checksum))
}

/// The parts of a line.
struct ChecksumLine<'line> {
    /// `None` means that the line does not name it.
    algorithm: Option<&'line str>,
    /// Empty means that there is none.
    checksum: &'line str,
    size: Option<&'line str>,
    path: &'line [u8],
}

/// The parts of a line in the style of BSD. The path may contain what ends it.
fn bsd(line: &[u8]) -> Option<ChecksumLine<'_>> {
    // Most lines are in the other style, and have none.
    let begin = line.contains(&b'(').then(|| line.windows(2).position(|two| two == b" ("))??;
    let end = line.windows(4).rposition(|four| four == b") = ")?;
    let algorithm = std::str::from_utf8(&line[..begin]).ok()?;
    let checksum = std::str::from_utf8(&line[end + 4..]).ok()?;
    let path = line.get(begin + 2..end).filter(|path| !path.is_empty())?;
    let is_name = !algorithm.is_empty() && !algorithm.contains(' ') && !checksum.contains(' ');
    is_name.then_some(ChecksumLine { algorithm: Some(algorithm), checksum, size: None, path })
}

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
