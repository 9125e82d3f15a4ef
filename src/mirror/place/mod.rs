//! The locations of the log of a dataset: an address, a published directory, or a manifest.
//!
//! The address and the directory of a dataset have `head.json`, `subsets.jsonl`, `log/000000.jsonl` and so on,
//! as [`crate::publish`] writes them. Any web server can deliver them. Ranges and compressed segments are used
//! if the server has them, but are not needed. A manifest has the same content in one file.
//!
//! # What is refused
//!
//! A primary may be broken or hostile. Nothing is read beyond the lengths that the head announces, and the head
//! itself is limited. The caller's limit covers everything together, counted after decompression.
//!
//! At an address, only `https` is used, except to this machine or if the caller permits `http`. Redirects stay
//! within the origin. A request fails if the server sends nothing for a time, or less than 10 kB a second on
//! average; the rate also covers reconnections. Lines are verified one by one, from any location.
//!
//! # Resumption
//!
//! If a connection breaks, the lines that were verified are kept, and the next request begins after them.

mod address;
mod byte_limit;
mod client;
mod directory;
mod file;
mod remote;
mod statements;
mod witness;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

pub use address::{Address, source_name};
pub(super) use client::MAX_BYTES;
pub use client::{BeforeRetry, HttpOptions, Retry};
pub(crate) use directory::PublishedDirectory;
pub(super) use file::ManifestFile;
pub use remote::Remote;
pub(crate) use statements::StatementPlace;

use super::log::{Head, HeadFile, LinesDigest, Segment};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, SourceLocation, Timestamp};

/// The directory of the datasets of a site.
pub(super) const DATASETS: &str = "datasets";

/// The head of a log.
pub(crate) const HEAD: &str = "head.json";

/// The directory of the segments of a log.
pub(crate) const LOG: &str = "log";

/// A part of a published log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The segment with this zero-based number.
    Segment(usize),
    Subsets,
    Annotations,
}

impl Part {
    /// The path of the part's file, relative to the directory or the address of the dataset.
    pub fn file(self) -> String {
        match self {
            Part::Segment(index) => format!("{LOG}/{}", Segment::file_name(index)),
            Part::Subsets => "subsets.jsonl".to_owned(),
            Part::Annotations => "annotations.jsonl".to_owned(),
        }
    }

    /// The announcement of the part in a head, if the part is beside the log.
    pub fn announced(self, head: &Head) -> LinesDigest {
        match self {
            Part::Segment(_) => LinesDigest::default(),
            Part::Subsets => head.subsets,
            Part::Annotations => head.annotations,
        }
    }
}

/// Why reading failed.
pub(crate) enum Failure {
    /// It may succeed if it is repeated, after this time if the server requests a delay.
    Passing(Error, Option<Duration>),
    /// It will fail again.
    Lasting(Error),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Passing(error, _) | Failure::Lasting(error) => error,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Lasting(error)
    }
}

/// A head that was read.
#[derive(Clone)]
pub(crate) struct FoundHead {
    pub head: Head,
    /// The present name of the dataset, if it was found by a former one. `None` means that it was found by its
    /// present name.
    pub moved_to: Option<DatasetName>,
}

impl FoundHead {
    /// A head, with the present name of the dataset if it was found by a former one.
    fn of(head: Box<Head>, moved_to: Option<DatasetName>) -> Box<Self> {
        Box::new(FoundHead { head: *head, moved_to })
    }
}

/// A location of the log of a dataset.
pub(crate) trait Place: Send + Sync {
    /// The name by which a mirror remembers the location. `None` means that it can be read only once.
    fn source(&self) -> Option<String>;

    /// Reads the head.
    fn head(&self) -> Result<Box<FoundHead>, Failure>;

    /// Opens an announced part at an offset. `attempt` is the number of attempts without progress so far,
    /// including this one. The reader may return more bytes than are announced.
    fn open(
        &self,
        of: &FoundHead,
        part: Part,
        from: u64,
        attempt: u32,
    ) -> Result<Box<dyn Read + '_>, Failure>;

    /// The name of a part in messages.
    fn name(&self, of: &FoundHead, part: Part) -> String;

    /// The failure for a part that could not be read to its end.
    fn broken(&self, of: &FoundHead, part: Part, error: io::Error) -> Failure {
        let name = self.name(of, part);
        let refused = Error::of_byte_limit(&name, &error);
        Failure::Lasting(refused.unwrap_or_else(|| Error::cannot("read", Path::new(&name), error)))
    }

    /// Waits before reading is repeated. `attempt` is the number of attempts without progress so far, including
    /// the last one. Returns the number of the next attempt.
    ///
    /// # Errors
    ///
    /// The failure, if it will not be repeated.
    fn retry(&self, failure: Failure, _attempt: u32, _has_progressed: bool) -> Result<u32> {
        Err(failure.into())
    }

    /// The location of the head.
    ///
    /// # Errors
    ///
    /// The head cannot be read again.
    fn location_of_head(&self, of: &FoundHead) -> Result<SourceLocation>;

    /// Whether all parts and the head are in one file, which never changes.
    fn is_one_file(&self) -> bool {
        false
    }

    /// The number of lines before a part in its file.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    fn lines_before(&self, _of: &FoundHead, _part: Part) -> Result<u64> {
        Ok(0)
    }

    /// Verifies the content that is read neither with the log nor with the parts beside it.
    ///
    /// # Errors
    ///
    /// It differs from what the head announces.
    fn prove(&self, _of: &FoundHead) -> Result<()> {
        Ok(())
    }
}

/// The greatest number of datasets that a message names. A registry can have a million.
pub(super) const MAX_NAMED: usize = 20;

/// The first names of a list of datasets, for a message.
pub(super) fn named(names: &[DatasetName]) -> String {
    let first: Vec<&str> = names.iter().take(MAX_NAMED).map(DatasetName::as_str).collect();
    match (first.is_empty(), names.len() - first.len()) {
        (true, _) => "none".to_owned(),
        (false, 0) => first.join(", "),
        (false, _) => format!("{}, and more", first.join(", ")),
    }
}

/// Rejects a source that was last published too long ago.
///
/// # Errors
///
/// [`ErrorKind::TooOld`].
pub(super) fn check_age(
    source: impl fmt::Display,
    published: Timestamp,
    max_age: Duration,
    now: Timestamp,
) -> Result<()> {
    let age_seconds = (now.as_micros() - published.as_micros()) / 1_000_000;
    if age_seconds > i64::try_from(max_age.as_secs()).unwrap_or(i64::MAX) {
        let why = "the primary may no longer publish";
        let message = format!("{source} was last written at {published}: {why}");
        return Err(Error::new(ErrorKind::TooOld, message));
    }
    Ok(())
}

/// Like [`check_age`], for a file. Its time of publication is its time of modification.
pub(super) fn check_age_of_file(
    name: &str,
    file: &File,
    max_age: Option<Duration>,
    now: Timestamp,
) -> Result<()> {
    let Some(max_age) = max_age else { return Ok(()) };
    let failed = |source| Error::cannot("read", Path::new(name), source);
    let modified = file.metadata().and_then(|found| found.modified()).map_err(failed)?;
    let modified = Timestamp::try_from(modified);
    let modified = modified.map_err(|error| failed(io::Error::other(error)))?;
    check_age(name, modified, max_age, now)
}

/// Parses a head from the whole content of a file.
fn parse_head(name: &str, line: &[u8]) -> Result<HeadFile> {
    let parsed = HeadFile::parse(std::str::from_utf8(line).unwrap_or_default());
    parsed.map_err(|what| Error::not_a_manifest(&what).at(only_line(name)))
}

/// The location of the only line of a file.
fn only_line(name: &str) -> SourceLocation {
    SourceLocation::Line { source: name.into(), line: 1 }
}
