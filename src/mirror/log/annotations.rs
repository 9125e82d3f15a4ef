//! The annotations of a dataset, beside its log.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::LinesDigest;
use crate::model::{Annotation, SourceLocation, Timestamp};
use crate::registry::LoggedAnnotation;

/// How every line begins.
pub(crate) const BEGINNING: &str = "{\"annotation\":";

/// A line. Members that are not named here are ignored.
#[derive(Serialize, Deserialize)]
struct Line<'a> {
    annotation: Timestamp,
    note: Cow<'a, str>,
    questionable: bool,
    recorded: Timestamp,
}

/// Writes the lines of annotations.
#[derive(Default)]
pub(crate) struct AnnotationWriter {
    hash: Sha256,
    count: u64,
    bytes: u64,
}

impl AnnotationWriter {
    /// The line of an annotation of the instance at a time, with its line end.
    pub fn line(&mut self, timestamp: Timestamp, annotation: &Annotation) -> String {
        let Annotation { note, questionable, recorded, recorded_by: _ } = annotation;
        let (questionable, recorded) = (*questionable, *recorded);
        let line = Line { annotation: timestamp, note: note.into(), questionable, recorded };
        let mut text = serde_json::to_string(&line).expect("strings and numbers are always JSON");
        text.push('\n');
        self.count += 1;
        self.add(text.as_bytes());
        text
    }

    fn add(&mut self, line: &[u8]) {
        self.hash.update(line);
        self.bytes += line.len() as u64;
    }

    /// What the head announces of the annotations.
    pub fn finish(self) -> LinesDigest {
        LinesDigest { count: self.count, bytes: self.bytes, sha256: self.hash.finalize().into() }
    }
}

/// Reads the lines of annotations.
#[derive(Default)]
pub(crate) struct AnnotationReader(AnnotationWriter);

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
        if note.trim().is_empty() || note.contains('\0') {
            return Err("its note is empty, or has a NUL character".to_owned());
        }
        if note.len() > Annotation::MAX_BYTES {
            return Err("its note has more than 64 KiB".to_owned());
        }
        self.0.count += 1;
        let location = SourceLocation::Line { source: Arc::clone(location.0), line: location.1 };
        let note = note.into_owned();
        Ok(LoggedAnnotation { timestamp, note, questionable, recorded, location })
    }

    /// Whether the lines that were read are those that the head announces, whatever they contain.
    #[cfg(feature = "http")]
    pub fn has_read(&self, announced: LinesDigest) -> bool {
        self.0.bytes == announced.bytes
            && self.0.hash.clone().finalize().as_slice() == announced.sha256
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
