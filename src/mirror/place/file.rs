//! A manifest: a log, the lines beside it, and its head, in one file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use super::byte_limit::ByteLimit;
use super::{Failure, FoundHead, Part, Place};
use crate::disk::scratch;
use crate::error::{Error, Result};
use crate::input::OpenedFile;
use crate::mirror::log::{
    BEGINNING, HEAD_BEGINNING, Head, HeadFile, LogReader, MAX_HEAD_BYTES, MAX_LINE_BYTES, Position,
};
use crate::model::{SourceLocation, Timestamp};

/// A manifest that can be read repeatedly.
pub(in crate::mirror) struct ManifestFile {
    file: File,
    /// The name in messages.
    name: String,
    /// Its absolute path. `None` means that it was read from a stream.
    source: Option<String>,
}

impl ManifestFile {
    /// Opens a manifest. If it is compressed, it is copied to a temporary file. It has at most `max_bytes`
    /// bytes after decompression.
    ///
    /// # Errors
    ///
    /// The file cannot be read; [`ErrorKind::TooManyBytes`](crate::ErrorKind::TooManyBytes);
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary).
    pub fn open(file: File, name: &str, source: Option<String>, max_bytes: u64) -> Result<Self> {
        let failed = |source| Error::cannot("read", Path::new(name), source);
        let limit = ByteLimit::of(max_bytes);
        let mut plain = &file;
        plain.rewind().map_err(failed)?;
        let mut beginning = Vec::new();
        plain.take(3).read_to_end(&mut beginning).map_err(failed)?;
        plain.rewind().map_err(failed)?;
        // A copy of a stream may already have been decompressed.
        let shown = if source.is_none() { name.trim_end_matches(".gz") } else { name };
        let unzipped = OpenedFile::open(file.try_clone().map_err(failed)?, shown)?.unzipped()?;
        let is_plain =
            !beginning.starts_with(b"\x1f\x8b") && !beginning.starts_with(b"\xef\xbb\xbf");
        let name = name.to_owned();
        if is_plain {
            if file.metadata().map_err(failed)?.len() > max_bytes {
                return Err(Error::too_many_bytes(&name, max_bytes));
            }
            return Ok(ManifestFile { file, name, source });
        }
        let mut lines = 1;
        let mut unzipped = BufReader::with_capacity(BUFFER_BYTES, limit.limit(unzipped));
        let file = copied(&mut unzipped, |read| {
            let read = read.map_err(|cause| {
                let refused = Error::of_byte_limit(&name, &cause);
                refused
                    .unwrap_or_else(|| Error::unreadable(&cause).at_line(&Arc::from(&*name), lines))
            })?;
            lines += line_ends(read);
            Ok(read)
        })?;
        Ok(ManifestFile { file, name, source })
    }

    /// Copies a manifest to a temporary file, and reads it from there.
    ///
    /// # Errors
    ///
    /// Those of [`ManifestFile::open`].
    pub fn copy(manifest: impl Read, name: &str, max_bytes: u64) -> Result<Self> {
        // One byte more detects a manifest that is too long.
        let manifest = manifest.take(max_bytes.saturating_add(1));
        let mut manifest = BufReader::with_capacity(BUFFER_BYTES, manifest);
        let file = copied(&mut manifest, |read| {
            read.map_err(|source| Error::cannot("read", Path::new(name), source))
        })?;
        ManifestFile::open(file, name, None, max_bytes)
    }

    fn cannot(&self, source: io::Error) -> Error {
        Error::cannot("read", Path::new(&self.name), source)
    }

    fn fail(&self, line: u64, what: &str) -> Error {
        Error::not_a_manifest(what).at_line(&Arc::from(self.name.as_str()), line)
    }

    /// The offset of the last line, and the line itself, of which at most the maximal length of a head is read.
    fn last_line(&self) -> Result<(u64, Vec<u8>)> {
        let cannot = |source| self.cannot(source);
        let mut file = &self.file;
        let length = file.seek(SeekFrom::End(0)).map_err(cannot)?;
        let from = length.saturating_sub(MAX_HEAD_BYTES + 1);
        file.seek(SeekFrom::Start(from)).map_err(cannot)?;
        let mut end = Vec::new();
        file.take(MAX_HEAD_BYTES + 1).read_to_end(&mut end).map_err(cannot)?;
        let body = end.strip_suffix(b"\n").unwrap_or(&end);
        let begin = body.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        Ok((from + begin as u64, end.split_off(begin)))
    }

    /// The number of lines that begin before an offset in the file.
    fn lines_up_to(&self, bytes: u64) -> Result<u64> {
        let mut file = &self.file;
        file.rewind().map_err(|source| self.cannot(source))?;
        let (mut file, mut lines) = (BufReader::with_capacity(BUFFER_BYTES, file.take(bytes)), 0);
        loop {
            let read = file.fill_buf().map_err(|source| self.cannot(source))?;
            if read.is_empty() {
                return Ok(lines);
            }
            lines += line_ends(read);
            let bytes = read.len();
            file.consume(bytes);
        }
    }

    /// Checks that the file begins like a log, whatever its last line is.
    fn check_first_line(&self) -> Result<()> {
        let mut file = &self.file;
        file.rewind().map_err(|source| self.cannot(source))?;
        let mut line = Vec::new();
        let read = BufReader::new(file.take(MAX_LINE_BYTES)).read_until(b'\n', &mut line);
        if read.map_err(|source| self.cannot(source))? == 0 {
            return Err(self.fail(1, "it is empty"));
        }
        let source = self.name.as_str().into();
        LogReader::at(Position::default(), source, 0, Timestamp::MAX).read(&line).map(drop)
    }
}

/// The beginnings of the lines before the head.
const OTHERS: [&str; 4] = [BEGINNING, "{\"timestamp\":", "{\"subset\":", "{\"annotation\":"];

const BUFFER_BYTES: usize = 64 * 1_024;

/// Copies a file to a temporary one. `check` is called with each piece that is read.
fn copied(
    from: &mut impl BufRead,
    mut check: impl FnMut(io::Result<&[u8]>) -> Result<&[u8]>,
) -> Result<File> {
    let mut file = scratch::file()?;
    loop {
        let read = match from.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => check(read)?,
        };
        if read.is_empty() {
            return Ok(file);
        }
        file.write_all(read).map_err(|source| scratch::unusable("write", source))?;
        let bytes = read.len();
        from.consume(bytes);
    }
}

fn line_ends(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// The offset of a part.
fn begin(head: &Head, part: Part) -> u64 {
    match part {
        Part::Segment(index) => {
            head.segments.0.iter().take(index).map(|segment| segment.bytes).sum()
        }
        Part::Subsets => head.segments.bytes(),
        Part::Annotations => head.segments.bytes().saturating_add(head.subsets.bytes),
    }
}

impl Place for ManifestFile {
    fn source(&self) -> Option<String> {
        self.source.clone()
    }

    fn head(&self) -> Result<Box<FoundHead>, Failure> {
        self.check_first_line()?;
        let (begin, line) = self.last_line()?;
        let refused = |what: &str| match self.lines_up_to(begin) {
            Ok(lines) => Failure::Lasting(self.fail(lines + 1, what)),
            Err(error) => Failure::Lasting(error),
        };
        let text = std::str::from_utf8(&line).unwrap_or_default();
        if !text.starts_with(HEAD_BEGINNING) {
            // If the last line belongs to the log or to the files beside it, the head is missing after it. Any
            // other line is a damaged head.
            let is_missing = OTHERS.iter().any(|other| text.starts_with(other));
            let lines = self.lines_up_to(if is_missing { u64::MAX } else { begin })?;
            let what = "it is cut short: its head, the last line, is missing";
            return Err(Failure::Lasting(self.fail(lines + 1, what)));
        }
        match HeadFile::parse(text) {
            Ok(HeadFile::Head(head)) => Ok(FoundHead::of(head, None)),
            Ok(HeadFile::MovedTo(_)) => Err(refused("it has the head of another dataset")),
            Err(what) => Err(refused(&what)),
        }
    }

    fn open(
        &self,
        of: &FoundHead,
        part: Part,
        from: u64,
        _attempt: u32,
    ) -> Result<Box<dyn Read + '_>, Failure> {
        let bytes = match part {
            Part::Segment(index) => of.head.segments.0[index].bytes,
            Part::Subsets | Part::Annotations => part.announced(&of.head).bytes,
        };
        let mut file = &self.file;
        let begin = begin(&of.head, part).saturating_add(from);
        file.seek(SeekFrom::Start(begin)).map_err(|source| self.cannot(source))?;
        Ok(Box::new(file.take(bytes.saturating_sub(from))))
    }

    fn name(&self, _of: &FoundHead, _part: Part) -> String {
        self.name.clone()
    }

    fn location_of_head(&self, _of: &FoundHead) -> Result<SourceLocation> {
        let line = self.lines_up_to(self.last_line()?.0)? + 1;
        Ok(SourceLocation::Line { source: self.name.as_str().into(), line })
    }

    fn is_one_file(&self) -> bool {
        true
    }

    fn lines_before(&self, of: &FoundHead, part: Part) -> Result<u64> {
        self.lines_up_to(begin(&of.head, part))
    }

    fn prove(&self, of: &FoundHead) -> Result<()> {
        let (begins, _) = self.last_line()?;
        let refused = |part: Part| {
            let what = "these lines are not those that the head announces";
            Err(self.fail(self.lines_before(of, part)? + 1, what))
        };
        for part in [Part::Subsets, Part::Annotations] {
            let announced = part.announced(&of.head);
            if begin(&of.head, part).saturating_add(announced.bytes) > begins {
                return refused(part);
            }
            let mut lines = self.open(of, part, 0, 1).map_err(|failure| match failure {
                Failure::Passing(error, _) | Failure::Lasting(error) => error,
            })?;
            if !announced.is_of(&mut lines).map_err(|source| self.cannot(source))? {
                return refused(part);
            }
        }
        match begin(&of.head, Part::Annotations).saturating_add(of.head.annotations.bytes) == begins
        {
            true => Ok(()),
            false => refused(Part::Annotations),
        }
    }
}
