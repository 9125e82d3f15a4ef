//! What is beside a log: the annotations and the cited subsets of a dataset.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::LinesDigest;
use super::line::LINE_GRANULES;
use crate::model::{
    Annotation, AtMost, Criteria, Digest, GranuleId, Identifier, Pattern, SourceLocation, Subset,
    Timestamp, check_characters,
};
use crate::registry::{CitedSubset, Listing, LoggedAnnotation, Members};

/// A line. Members that are not named here are ignored.
#[derive(Serialize, Deserialize)]
struct Line<'a> {
    annotation: Timestamp,
    note: Cow<'a, str>,
    questionable: bool,
    recorded: Timestamp,
}

/// The lines of a file beside a log, as far as they were written or read.
#[derive(Default)]
struct Lines {
    hash: Sha256,
    /// How many subsets or annotations they have.
    count: u64,
    bytes: u64,
}

impl Lines {
    fn add(&mut self, line: &[u8]) {
        self.hash.update(line);
        self.bytes += line.len() as u64;
    }

    /// Adds the line of a value, and returns it, with its line end.
    fn write(&mut self, line: &impl Serialize) -> String {
        let mut text = serde_json::to_string(line).expect("strings and numbers are always JSON");
        text.push('\n');
        self.add(text.as_bytes());
        text
    }

    /// What the head announces of them.
    fn finish(self) -> LinesDigest {
        LinesDigest { count: self.count, bytes: self.bytes, sha256: self.hash.finalize().into() }
    }

    /// Whether they are those that the head announces, whatever they contain.
    fn are(&self, announced: LinesDigest) -> bool {
        self.bytes == announced.bytes && self.hash.clone().finalize().as_slice() == announced.sha256
    }
}

/// Writes the lines of annotations.
#[derive(Default)]
pub(crate) struct AnnotationWriter(Lines);

impl AnnotationWriter {
    /// The line of an annotation of the instance at a time, with its line end.
    pub fn line(&mut self, timestamp: Timestamp, annotation: &Annotation) -> String {
        let Annotation { note, questionable, recorded, recorded_by: _ } = annotation;
        let (questionable, recorded) = (*questionable, *recorded);
        let line = Line { annotation: timestamp, note: note.into(), questionable, recorded };
        self.0.count += 1;
        self.0.write(&line)
    }

    /// What the head announces of the annotations.
    pub fn finish(self) -> LinesDigest {
        self.0.finish()
    }
}

/// Reads the lines of annotations.
#[derive(Default)]
pub(crate) struct AnnotationReader(Lines);

impl AnnotationReader {
    /// Reads the next line, which ends with LF.
    ///
    /// # Errors
    ///
    /// What is wrong with the line.
    pub fn read(
        &mut self,
        line: &[u8],
        location: (&Arc<str>, u64),
    ) -> Result<LoggedAnnotation, String> {
        self.0.add(line);
        let Line { annotation: timestamp, note, questionable, recorded } =
            serde_json::from_slice(line)
                .map_err(|error| format!("this line is not an annotation: {error}"))?;
        if note.trim().is_empty() {
            return Err("its note is empty".to_owned());
        }
        check_characters("note", &note).map_err(|error| error.to_string())?;
        if note.len() > Annotation::MAX_BYTES {
            return Err("its note has more than 64 KiB".to_owned());
        }
        self.0.count += 1;
        let location = SourceLocation::Line { source: Arc::clone(location.0), line: location.1 };
        let note = note.into_owned();
        let annotation = Annotation { note, questionable, recorded, recorded_by: None };
        Ok(LoggedAnnotation { timestamp, annotation, location })
    }

    /// Whether the lines that were read are those that the head announces, whatever they contain.
    pub fn has_read(&self, announced: LinesDigest) -> bool {
        self.0.are(announced)
    }

    /// Compares what was read with what the head announces.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub fn check(self, announced: LinesDigest) -> Result<(), String> {
        match self.0.finish() == announced {
            true => Ok(()),
            false => Err("the annotations are not those that the head announces".to_owned()),
        }
    }
}

/// Writes the lines of subsets.
#[derive(Default)]
pub(crate) struct SubsetWriter(Lines);

#[derive(Serialize)]
struct Written<'a> {
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

impl SubsetWriter {
    /// Makes the lines of a subset, and passes each to `out`, with its line end. `named` are the
    /// granules of a subset that was made by naming them.
    ///
    /// # Errors
    ///
    /// Those of `named` and of `out`.
    pub fn add<E: From<crate::error::Error>>(
        &mut self,
        subset: &Subset,
        named: impl Iterator<Item = crate::error::Result<GranuleId>>,
        mut out: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.0.count += 1;
        let (count, cited) = (Some(subset.granules), Some(subset.cited));
        let line = Written {
            subset: subset.identifier,
            digest: subset.digest,
            timestamp: subset.timestamp,
            patterns: None,
            granules: None,
            count: None,
            cited: None,
        };
        if let Criteria::Patterns(patterns) = &subset.criteria {
            return out(&self.0.write(&Written { patterns: Some(patterns), count, cited, ..line }));
        }
        let mut granules: Vec<GranuleId> = Vec::new();
        for granule_id in named {
            if granules.len() == LINE_GRANULES {
                out(&self.0.write(&Written { granules: Some(&granules), ..line }))?;
                granules.clear();
            }
            granules.push(granule_id?);
        }
        out(&self.0.write(&Written { granules: Some(&granules), count, cited, ..line }))
    }

    /// What the head announces of the subsets.
    pub fn finish(self) -> LinesDigest {
        self.0.finish()
    }
}

/// The greatest number of patterns that have the greatest length together.
const MAX_PATTERNS: usize = Criteria::MAX_BYTES / 2;

/// A line, as it is read.
#[derive(Deserialize)]
struct Read {
    subset: Identifier,
    digest: Digest,
    timestamp: Timestamp,
    #[serde(default)]
    patterns: Option<AtMost<Pattern, MAX_PATTERNS>>,
    #[serde(default)]
    granules: Option<AtMost<GranuleId, LINE_GRANULES>>,
    count: Option<u64>,
    cited: Option<Timestamp>,
}

/// Reads the lines of subsets.
#[derive(Default)]
pub(crate) struct SubsetReader {
    lines: Lines,
    /// A subset that goes on in the next line: its identifier and digest, its time and its granules so far.
    open: Option<((Identifier, Digest), Timestamp, Listing)>,
}

impl SubsetReader {
    /// Reads the next line, which ends with LF. `None` means that the subset continues in the next line.
    ///
    /// # Errors
    ///
    /// What is wrong with the line.
    pub fn read(
        &mut self,
        line: &[u8],
        location: (&Arc<str>, u64),
    ) -> Result<Option<CitedSubset>, String> {
        self.lines.add(line);
        let read: Read = serde_json::from_slice(line)
            .map_err(|error| format!("this line is not a cited subset: {error}"))?;
        let (set, timestamp) = ((read.subset, read.digest), read.timestamp);
        let location = SourceLocation::Line { source: Arc::clone(location.0), line: location.1 };
        let members = match (read.patterns, read.granules, self.open.take()) {
            (Some(patterns), None, None) => {
                if patterns.has_more || Criteria::bytes_of(&patterns.elements) > Criteria::MAX_BYTES
                {
                    return Err("its patterns have more than 64 KiB".to_owned());
                }
                Members::Patterns(patterns.elements)
            }
            (None, Some(granules), open) => {
                if granules.has_more {
                    return Err("it has more than 1,000 granules".to_owned());
                }
                let (first, at, mut named) =
                    open.unwrap_or_else(|| (set, timestamp, Listing::new()));
                if (first, at) != (set, timestamp) {
                    return Err("the subset before it is cut".to_owned());
                }
                for granule_id in granules.elements {
                    named.add(granule_id).map_err(|error| error.to_string())?;
                }
                Members::Listed(named)
            }
            _ => return Err("this line is not a cited subset".to_owned()),
        };
        let (Some(granules), Some(cited)) = (read.count, read.cited) else {
            let Members::Listed(named) = members else {
                return Err("this line is not a cited subset".to_owned());
            };
            self.open = Some((set, timestamp, named));
            return Ok(None);
        };
        self.lines.count += 1;
        let (identifier, digest) = set;
        Ok(Some(CitedSubset { identifier, digest, timestamp, members, granules, cited, location }))
    }

    /// Whether the lines that were read are those that the head announces, whatever they contain.
    pub fn has_read(&self, announced: LinesDigest) -> bool {
        self.lines.are(announced)
    }

    /// Compares what was read with what the head announces.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub fn check(self, announced: LinesDigest) -> Result<(), String> {
        if self.open.is_some() || self.lines.finish() != announced {
            return Err("the cited subsets are not those that the head announces".to_owned());
        }
        Ok(())
    }
}
