//! An input file, decompressed and without a byte order mark, and its numbered lines.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::checksums;
use super::error::{RationSpent, refuse_foreign};
use super::finding::argument;
use super::format::{InputFormat, ListingOptions};
use super::{MAX_ROW_BYTES, Reader};
use crate::error::{Error, ErrorDetail};
use crate::model::SourceLocation;

/// The number of bytes from which the format is detected, or more if the first line is longer.
const BEGINNING_BYTES: u64 = 64 * 1_024;

/// The greatest number of bytes of a first line that are read to detect the format.
const MAX_FIRST_LINE_BYTES: u64 = 1_024 * 1_024;

const BUFFER_BYTES: usize = 64 * 1_024;

/// A file whose beginning has been read.
pub struct OpenedFile {
    beginning: Vec<u8>,
    rest: Reader,
    is_gzip: bool,
    name: Arc<str>,
}

crate::model::debug_fields!(OpenedFile: name, is_gzip);

impl OpenedFile {
    /// Reads the beginning of a file, which may be compressed with gzip. Messages call it `name`.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is UTF-16, or has a name that ends in `.gz` and is not gzip.
    pub fn open(file: impl Read + Send + 'static, name: &str) -> Result<Self, Error> {
        let name: Arc<str> = name.into();
        let fail = |error: Error| error.at_line(&name, 1);
        let file = OpenedFile::read_beginning(file, name.clone())
            .map_err(|cause| fail(Error::unreadable(&cause)))?;
        if let Some((what, command)) = compression_of(&file.beginning) {
            let file = argument(&name).unwrap_or_else(|| "FILE".to_owned());
            let hint = format!(
                "unpack it: `{command} {file}` prints what the file has, and - in place of a file reads that (inputs.md, Compression)"
            );
            let message = format!("the file is compressed with {what}, and only gzip is read");
            return Err(fail(Error::new(ErrorDetail::NotGzip, message).with_hint(hint)));
        }
        if is_utf16(&file.beginning) {
            return Err(fail(Error::input("the file is UTF-16, not UTF-8")));
        }
        if name.ends_with(".gz") && !file.is_gzip {
            return Err(fail(Error::new(
                ErrorDetail::NotGzip,
                "the name ends in .gz, but the file is not gzip",
            )));
        }
        Ok(file)
    }

    fn read_beginning(file: impl Read + Send + 'static, name: Arc<str>) -> io::Result<Self> {
        let (mut rest, is_gzip) = unzipped(file)?;
        let mut beginning = Vec::new();
        (&mut rest).take(MAX_FIRST_LINE_BYTES).read_until(b'\n', &mut beginning)?;
        let more = BEGINNING_BYTES.saturating_sub(beginning.len() as u64);
        (&mut rest).take(more).read_to_end(&mut beginning)?;
        if beginning.starts_with(b"\xef\xbb\xbf") {
            beginning.drain(..3);
        }
        Ok(OpenedFile { beginning, rest, is_gzip, name })
    }

    /// The name of the file in messages.
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the requested format, or the one detected from the beginning.
    ///
    /// # Errors
    ///
    /// The file does not have any of the formats.
    pub fn format(&self, options: &ListingOptions) -> Result<InputFormat, Error> {
        let named = checksums::of_name(&self.name).and_then(|named| named.algorithm);
        let algorithm = options.algorithm.as_ref().or(named.as_ref());
        match options.format {
            // A list of ids or a table may begin like a document of another format.
            Some(format @ (InputFormat::Lines | InputFormat::Csv)) => Ok(format),
            Some(format) => self.refuse_foreign().map(|()| format),
            // A checksum with few digits is recognised only if its algorithm is named.
            None if algorithm.is_some()
                && options.column.is_none()
                && checksums::has_checksums(&self.beginning, algorithm) =>
            {
                Ok(InputFormat::Checksums)
            }
            None if options.no_header || options.split.is_some() => {
                self.refuse_foreign().map(|()| InputFormat::Csv)
            }
            None => {
                let beginning = self.beginning_without_comments(options);
                let detected = InputFormat::detect(&beginning, options.column.as_deref())
                    .map_err(|error: Error| error.at_line(&self.name, 1))?;
                let is_selected = !options.only.is_empty() && detected == InputFormat::Lines;
                Ok(if is_selected { InputFormat::Csv } else { detected })
            }
        }
    }

    /// The beginning, without the lines that the options skip.
    fn beginning_without_comments(&self, options: &ListingOptions) -> Cow<'_, [u8]> {
        let ListingOptions { comment, skip_lines, .. } = options;
        if comment.is_none() && *skip_lines == 0 {
            return Cow::Borrowed(&self.beginning);
        }
        let skipped = usize::try_from(*skip_lines).unwrap_or(usize::MAX);
        let lines = self.beginning.split_inclusive(|byte| *byte == b'\n').skip(skipped);
        let is_comment = |line: &&[u8]| {
            comment.as_ref().is_some_and(|prefix| line.starts_with(prefix.as_bytes()))
        };
        Cow::Owned(lines.filter(|line| !is_comment(line)).flatten().copied().collect())
    }

    /// The first bytes.
    pub(super) fn beginning(&self) -> &[u8] {
        &self.beginning
    }

    /// Rejects a file of a known other format, such as a page that a server sends instead of the file.
    pub(super) fn refuse_foreign(&self) -> Result<(), Error> {
        refuse_foreign(self.beginning.trim_ascii_start())
            .map_err(|error| error.at_line(&self.name, 1))
    }

    /// Returns the bytes of the file, decompressed and without a byte order mark.
    ///
    /// # Errors
    ///
    /// The file is HTML, XML, Parquet or ORC.
    pub fn unzipped(self) -> Result<Box<dyn BufRead + Send>, Error> {
        self.refuse_foreign().map(|()| self.into_reader())
    }

    /// Returns the whole file, from its beginning.
    pub(super) fn into_reader(self) -> Reader {
        Box::new(Cursor::new(self.beginning).chain(self.rest))
    }
}

/// Decompresses a file if it is gzip. Also returns whether it was.
///
/// # Errors
///
/// The file cannot be read.
pub fn unzipped(file: impl Read + Send + 'static) -> io::Result<(Reader, bool)> {
    let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
    let mut magic = Vec::new();
    (&mut file).take(2).read_to_end(&mut magic)?;
    let is_gzip = magic == [0x1f, 0x8b];
    let whole = Cursor::new(magic).chain(file);
    Ok(match is_gzip {
        // A gzip file may have several members, one after the other (RFC 1952 § 2.2).
        true => {
            let members = MultiGzDecoder::new(whole);
            (Box::new(BufReader::with_capacity(BUFFER_BYTES, members)), true)
        }
        false => (Box::new(whole), false),
    })
}

/// The name of a file's unsupported compression, and the command that unpacks it.
fn compression_of(beginning: &[u8]) -> Option<(&'static str, &'static str)> {
    const KNOWN: [(&[u8], &str, &str); 9] = [
        (b"\xfd7zXZ\0", "xz", "xz -dc"),
        (b"BZh", "bzip2", "bzip2 -dc"),
        (b"\x28\xb5\x2f\xfd", "zstd", "zstd -dc"),
        (b"PK\x03\x04", "zip", "unzip -p"),
        (b"7z\xbc\xaf\x27\x1c", "7z", "7z x -so"),
        (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc"),
        (b"\x1f\x9d", "compress", "zcat"),
        (b"LZIP\x01", "lzip", "lzip -dc"),
        (b"\x5d\0\0\x80\0", "lzma", "xz -dc --format=lzma"),
    ];
    let known = KNOWN.into_iter().find(|(magic, what, _)| {
        // An id can begin with `BZh`, but not with the magic number of the bzip2 block after it.
        let is_block = || beginning.get(4..10) == Some(b"\x31\x41\x59\x26\x53\x59".as_slice());
        beginning.starts_with(magic) && (*what != "bzip2" || is_block())
    });
    let is_tar = beginning.get(257..262) == Some(b"ustar".as_slice());
    let tar = is_tar.then_some(("tar", "tar -xOf"));
    known.map(|(_, what, command)| (what, command)).or(tar)
}

/// Whether a file is UTF-16: it begins with a UTF-16 byte order mark, or with two ASCII characters of two bytes
/// each.
fn is_utf16(beginning: &[u8]) -> bool {
    match beginning {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        [0, first, 0, second, ..] | [first, 0, second, 0, ..] => *first != 0 && *second != 0,
        _ => false,
    }
}

/// The lines of a file, one in memory at a time.
pub(super) struct NumberedLines {
    file: Reader,
    name: Arc<str>,
    number: u64,
    bytes: Vec<u8>,
    max_bytes: u64,
}

impl NumberedLines {
    /// Reads the lines of a file, at most `max_bytes` bytes of each, including the line end.
    pub fn new(file: Reader, name: Arc<str>, max_bytes: u64) -> Self {
        NumberedLines { file, name, number: 0, bytes: Vec::new(), max_bytes }
    }

    /// Reads the next line. Returns `false` at the end of the file.
    pub fn advance(&mut self) -> Result<bool, Error> {
        self.number += 1;
        self.bytes.clear();
        let read = (&mut self.file).take(self.max_bytes).read_until(b'\n', &mut self.bytes);
        match read {
            Ok(bytes) => Ok(bytes > 0),
            Err(cause) => Err(self.fail(Error::unreadable(&cause))),
        }
    }

    /// The name of the file in messages.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The number of the current line, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the line is longer than the part that was read.
    pub fn is_cut(&self) -> bool {
        self.bytes.len() as u64 == self.max_bytes && !self.bytes.ends_with(b"\n")
    }

    /// The error for a line that is too long.
    pub fn too_long(&self) -> Error {
        self.fail(Error::input(format!("the line has more than {} bytes", self.max_bytes)))
    }

    /// The line with its end, up to `max_bytes` bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The line without its LF or CRLF, or a bare CR at the end of the file.
    pub fn text(&self) -> &[u8] {
        let line = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// The location of the line.
    pub fn location(&self) -> SourceLocation {
        SourceLocation::Line { source: self.name.clone(), line: self.number }
    }

    /// Adds the location of the line to an error.
    pub fn fail(&self, error: Error) -> Error {
        error.at_line(&self.name, self.number)
    }
}

/// The number of bytes that may still be read for the current row.
#[derive(Clone)]
pub(super) struct Ration(Arc<AtomicU64>);

impl Ration {
    /// Resets the number for the next row.
    pub fn renew(&self) {
        self.0.store(MAX_ROW_BYTES, Ordering::Relaxed);
    }
}

/// Limits reading to the greatest length of a row, so that an unclosed quote does not fill memory.
pub(super) struct Rationed {
    file: Reader,
    left: Ration,
}

impl Rationed {
    pub fn new(file: Reader) -> (Self, Ration) {
        let left = Ration(Arc::new(AtomicU64::new(MAX_ROW_BYTES)));
        (Rationed { file, left: left.clone() }, left)
    }
}

impl Read for Rationed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Ration(left) = &self.left;
        let bytes_left = left.load(Ordering::Relaxed);
        if bytes_left == 0 {
            return Err(io::Error::other(RationSpent));
        }
        let bytes = self.file.read(buffer)?;
        left.store(bytes_left.saturating_sub(bytes as u64), Ordering::Relaxed);
        Ok(bytes)
    }
}
