//! The files beside a log: the annotations and the cited subsets of a dataset.

use std::borrow::Cow;
use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::line::{LINE_GRANULES, MAX_LINE_BYTES};
use crate::error::{Error, Result};
use crate::model::{
    Annotation, AtMost, DatasetName, Digest, GranuleId, Identifier, Pattern, SubsetCriteria,
    Timestamp, check_characters,
};
use crate::registry::{CitedSubset, ListingBuilder, LoggedAnnotation, Snapshot, SubsetMembers};

/// The announcement, in the head, of the lines of a file beside a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LinesDigest {
    /// The number of subsets or annotations.
    pub count: u64,
    /// The length of the lines, in bytes.
    pub bytes: u64,
    /// Their SHA-256.
    #[serde(with = "hex")]
    pub sha256: [u8; 32],
}

impl LinesDigest {
    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a file has exactly these lines. Their content is not checked.
    pub fn is_of(&self, file: &mut impl Read) -> io::Result<bool> {
        let (mut lines, mut block) = (Lines::default(), vec![0; 64 * 1_024]);
        loop {
            let read = file.read(&mut block)?;
            if read == 0 {
                return Ok(lines.are(self));
            }
            lines.add(&block[..read]);
        }
    }
}

impl Default for LinesDigest {
    /// The announcement of no lines.
    fn default() -> Self {
        Lines::default().digest()
    }
}

/// The lines of a file beside a log that were written or read so far.
#[derive(Default)]
pub(crate) struct Lines {
    hash: Sha256,
    bytes: u64,
    /// The number of subsets or annotations.
    pub count: u64,
}

impl Lines {
    /// Adds a line, or part of one.
    pub fn add(&mut self, line: &[u8]) {
        self.hash.update(line);
        self.bytes += line.len() as u64;
    }

    /// The length of the lines, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes a value as a line, and adds the line.
    fn write(&mut self, line: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.add(&text);
        out.write_all(&text)
    }

    /// The announcement of these lines for the head.
    pub fn digest(&self) -> LinesDigest {
        let sha256 = self.hash.clone().finalize().into();
        LinesDigest { count: self.count, bytes: self.bytes, sha256 }
    }

    /// Whether these lines are the announced ones. Their content is not checked.
    pub fn are(&self, announced: &LinesDigest) -> bool {
        LinesDigest { count: announced.count, ..self.digest() } == *announced
    }
}

/// The line of an annotation. Members that are not named here are ignored.
#[derive(Serialize, Deserialize)]
struct AnnotationLine<'a> {
    annotation: Timestamp,
    note: Cow<'a, str>,
    questionable: bool,
    recorded: Timestamp,
}

/// Writes the lines of the annotations of a dataset. `failed` converts an error of `out`.
pub(crate) fn write_annotations(
    snapshot: &Snapshot,
    dataset: &DatasetName,
    out: &mut impl Write,
    failed: impl Fn(io::Error) -> Error,
) -> Result<LinesDigest> {
    let mut lines = Lines::default();
    snapshot.each_annotation(dataset, |timestamp, annotation| {
        let Annotation { note, questionable, recorded, recorded_by: _ } = annotation;
        let (questionable, recorded) = (*questionable, *recorded);
        let line =
            AnnotationLine { annotation: timestamp, note: note.into(), questionable, recorded };
        lines.count += 1;
        lines.write(&line, out).map_err(&failed)
    })?;
    Ok(lines.digest())
}

/// Reads the line of an annotation, which ends with LF.
///
/// # Errors
///
/// The line is invalid.
pub(crate) fn read_annotation(
    line: &[u8],
    place: (String, u64),
) -> Result<LoggedAnnotation, String> {
    let AnnotationLine { annotation: timestamp, note, questionable, recorded } =
        serde_json::from_slice(line)
            .map_err(|error| format!("this line is not an annotation: {error}"))?;
    if note.trim().is_empty() {
        return Err("its note is empty".to_owned());
    }
    check_characters("note", &note).map_err(|error| error.to_string())?;
    if note.len() > Annotation::MAX_BYTES {
        return Err("its note has more than 64 KiB".to_owned());
    }
    let note = note.into_owned();
    let annotation = Annotation { note, questionable, recorded, recorded_by: None };
    Ok(LoggedAnnotation { timestamp, annotation, place })
}

/// The line of a subset, with all or some of its granules.
#[derive(Clone, Copy, Serialize)]
struct WrittenSubset<'a> {
    subset: Identifier,
    digest: Digest,
    timestamp: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    patterns: Option<&'a [Pattern]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    granules: Option<&'a [GranuleId]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cited: Option<Timestamp>,
}

/// Writes the lines of the cited subsets of a dataset's instances up to a time, in the order in which they
/// were stored, after the lines that `lines` already has. `failed` converts an error of `out`.
pub(crate) fn write_subsets(
    snapshot: &Snapshot,
    dataset: &DatasetName,
    until: Timestamp,
    (mut lines, out): (Lines, &mut impl Write),
    failed: impl Fn(io::Error) -> Error,
) -> Result<LinesDigest> {
    let subsets = snapshot.subsets_from(dataset, lines.count + 1)?;
    for subset in subsets.into_iter().filter(|it| it.timestamp <= until) {
        lines.count += 1;
        let part = WrittenSubset {
            subset: subset.identifier,
            digest: subset.digest,
            timestamp: subset.timestamp,
            patterns: None,
            granules: None,
            count: None,
            cited: None,
        };
        let last =
            WrittenSubset { count: Some(subset.granules), cited: Some(subset.cited), ..part };
        if let SubsetCriteria::Patterns(patterns) = &subset.criteria {
            let line = WrittenSubset { patterns: Some(patterns), ..last };
            lines.write(&line, out).map_err(&failed)?;
            continue;
        }
        let mut granules: Vec<GranuleId> = Vec::new();
        for granule_id in snapshot.granules_of_subset(&subset)? {
            if granules.len() == LINE_GRANULES {
                let line = WrittenSubset { granules: Some(&granules), ..part };
                lines.write(&line, out).map_err(&failed)?;
                granules.clear();
            }
            granules.push(granule_id?);
        }
        let line = WrittenSubset { granules: Some(&granules), ..last };
        lines.write(&line, out).map_err(&failed)?;
    }
    Ok(lines.digest())
}

/// Reads the lines of the cited subsets of a dataset from a file, up to the length that a head announces.
/// `None` means that they are not the announced lines, or that the subsets of the registry do not continue
/// them.
///
/// Only the last announced subset is compared, because rows of subsets are only added: a registry that has it
/// also has the earlier ones. A registry that was restored from a backup has cited a different subset, or the
/// same one at another time.
///
/// # Errors
///
/// The file cannot be read (`failed` converts that error); the registry cannot be read.
pub(crate) fn continued_subsets(
    snapshot: &Snapshot,
    dataset: &DatasetName,
    announced: &LinesDigest,
    file: &mut impl BufRead,
    failed: impl Fn(io::Error) -> Error,
) -> Result<Option<Lines>> {
    let (mut lines, mut line) = (Lines::default(), Vec::new());
    let mut file = file.take(announced.bytes);
    loop {
        let mut next = Vec::new();
        file.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut next).map_err(&failed)?;
        if next.is_empty() {
            break;
        }
        lines.add(&next);
        line = next;
    }
    if !lines.are(announced) {
        return Ok(None);
    }
    lines.count = announced.count;
    let stored = snapshot.subsets_from(dataset, announced.count.max(1))?.into_iter().next();
    let stored = stored.map(|it| (it.identifier, it.digest, it.timestamp, it.cited));
    let last: Option<ReadSubset> = serde_json::from_slice(&line).ok();
    let last = last.and_then(|it| Some((it.subset, it.digest, it.timestamp, it.cited?)));
    let is_continued = announced.is_empty() || (last.is_some() && last == stored);
    Ok(is_continued.then_some(lines))
}

/// A line as it is read.
#[derive(Deserialize)]
struct ReadSubset {
    subset: Identifier,
    digest: Digest,
    timestamp: Timestamp,
    #[serde(default)]
    patterns: Option<AtMost<Pattern, { SubsetCriteria::MAX_PATTERNS }>>,
    #[serde(default)]
    granules: Option<AtMost<GranuleId, LINE_GRANULES>>,
    count: Option<u64>,
    cited: Option<Timestamp>,
}

/// Reads the lines of subsets.
#[derive(Default)]
pub(crate) struct SubsetReader {
    /// A subset that continues in the next line.
    open: Option<Box<OpenSubset>>,
}

/// A subset whose granules continue in the next line.
#[derive(Debug)]
struct OpenSubset {
    set: (Identifier, Digest),
    timestamp: Timestamp,
    named: ListingBuilder,
}

/// The members of a subset that were read so far.
enum ReadMembers {
    Patterns(Vec<Pattern>),
    Named(Box<OpenSubset>),
}

impl SubsetReader {
    /// Reads the next line, which ends with LF. `None` means that the subset continues in the next line.
    ///
    /// # Errors
    ///
    /// The line is invalid.
    pub fn read(
        &mut self,
        line: &[u8],
        place: (String, u64),
    ) -> Result<Option<(CitedSubset, SubsetMembers)>, String> {
        let read: ReadSubset = serde_json::from_slice(line)
            .map_err(|error| format!("this line is not a cited subset: {error}"))?;
        let (set, timestamp) = ((read.subset, read.digest), read.timestamp);
        let members = match (read.patterns, read.granules, self.open.take()) {
            (Some(patterns), None, None) => {
                if patterns.has_more {
                    return Err(format!(
                        "it has more than {} patterns",
                        SubsetCriteria::MAX_PATTERNS
                    ));
                }
                ReadMembers::Patterns(patterns.elements)
            }
            (None, Some(granules), open) => {
                if granules.has_more {
                    return Err("it has more than 1,000 granules".to_owned());
                }
                let new = || Box::new(OpenSubset { set, timestamp, named: ListingBuilder::new() });
                let mut open = open.unwrap_or_else(new);
                if (open.set, open.timestamp) != (set, timestamp) {
                    return Err("the subset before it is cut".to_owned());
                }
                for granule_id in granules.elements {
                    open.named.add(granule_id).map_err(|error| error.to_string())?;
                }
                ReadMembers::Named(open)
            }
            _ => return Err("this line is not a cited subset".to_owned()),
        };
        match (read.count, read.cited, members) {
            (Some(granules), Some(cited), members) => {
                let (identifier, digest) = set;
                let subset = CitedSubset { identifier, digest, timestamp, granules, cited, place };
                let members = match members {
                    ReadMembers::Named(open) => SubsetMembers::Listed(open.named.finish()),
                    ReadMembers::Patterns(patterns) => SubsetMembers::Patterns(patterns),
                };
                Ok(Some((subset, members)))
            }
            (_, _, ReadMembers::Named(open)) => {
                self.open = Some(open);
                Ok(None)
            }
            _ => Err("this line is not a cited subset".to_owned()),
        }
    }

    /// Whether the last line that was read does not end its subset.
    pub fn is_cut(&self) -> bool {
        self.open.is_some()
    }
}
