//! Keeping annotations that another registry wrote.

use std::sync::Arc;

use crate::disk::{Spool, scratch};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Annotation, DatasetName, SourceLocation, Timestamp};
use crate::store::{DatasetKey, StoredAnnotation, Transaction};

/// An annotation that another registry published beside a log. Who wrote it is not known.
#[derive(Debug)]
pub(crate) struct LoggedAnnotation {
    /// The time of the change whose instance is annotated.
    pub timestamp: Timestamp,
    /// The note, which is not empty.
    pub note: String,
    /// Whether the set should not be relied on.
    pub questionable: bool,
    /// When it was recorded there.
    pub recorded: Timestamp,
    /// Where it was read, for messages.
    pub location: SourceLocation,
}

/// How far the clock of another registry may be ahead.
const MAX_AHEAD_MICROS: i64 = 5 * 60 * 1_000_000;

/// What became of an annotation that another registry wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// It is kept from now on.
    New,
    /// It was kept already.
    Before,
    /// It is not kept: with it, the notes of the instance would exceed [`Annotation::MAX_BYTES`].
    LeftOut,
}

impl From<LoggedAnnotation> for Annotation {
    fn from(logged: LoggedAnnotation) -> Self {
        let LoggedAnnotation { note, questionable, recorded, .. } = logged;
        Annotation { note, questionable, recorded, recorded_by: None }
    }
}

impl LoggedAnnotation {
    /// Keeps the annotation, unless it is kept already or there is no room for it.
    pub(super) fn keep(
        &self,
        transaction: &Transaction,
        key: DatasetKey,
        dataset: &DatasetName,
        now: Timestamp,
    ) -> Result<Kept> {
        let LoggedAnnotation { timestamp, note, questionable, recorded, location } = self;
        let refused = |kind, message: String| Err(Error::new(kind, message).at(location.clone()));
        if recorded.as_micros().saturating_sub(now.as_micros()) > MAX_AHEAD_MICROS {
            let message = format!("an annotation was recorded at {recorded}: now it is {now}");
            return refused(ErrorKind::Future, message);
        }
        let in_force = transaction.instance_at(key, *timestamp)?;
        let Some(instance) = in_force.filter(|instance| instance.timestamp == *timestamp) else {
            let message = format!("{dataset} has no change at {timestamp} that could be annotated");
            return refused(ErrorKind::NotAsExpected, message);
        };
        let known = instance.annotations;
        let is_same = |it: &Annotation| {
            (&it.note, it.questionable, it.recorded) == (note, *questionable, *recorded)
        };
        if known.iter().any(is_same) {
            return Ok(Kept::Before);
        }
        let annotation = Annotation {
            note: note.clone(),
            questionable: *questionable,
            recorded: *recorded,
            recorded_by: None,
        };
        // The notes that were added here count, too: a replica goes on without this one.
        if Annotation::bytes_of(known.iter().chain([&annotation])) > Annotation::MAX_BYTES {
            return Ok(Kept::LeftOut);
        }
        let number = known.len() as u64 + 1;
        let stored = StoredAnnotation { timestamp: *timestamp, number, annotation };
        transaction.insert_annotations(key, &[stored])?;
        Ok(Kept::New)
    }
}

/// Any number of annotations, which are kept in a temporary file.
#[derive(Debug, Default)]
pub(crate) struct LoggedAnnotations(Spool);

/// An annotation, as it is kept: the times in microseconds, and the name and the line of the file.
type Spooled = (i64, String, bool, i64, String, u64);

impl LoggedAnnotations {
    /// Adds an annotation.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary).
    pub fn add(&mut self, annotation: LoggedAnnotation) -> Result<()> {
        let LoggedAnnotation { timestamp, note, questionable, recorded, location } = annotation;
        let (source, line) = match location {
            SourceLocation::Line { source, line } => (source.to_string(), line),
            SourceLocation::Argument { number } => (String::new(), number),
        };
        let kept: Spooled =
            (timestamp.as_micros(), note, questionable, recorded.as_micros(), source, line);
        let record = serde_json::to_vec(&kept).map_err(|error| unusable(error.into()))?;
        self.0.add(&record).map(drop)
    }

    /// The annotations, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Result<LoggedAnnotation>> + '_ {
        self.0.records().map(|record| {
            let kept: Spooled =
                serde_json::from_slice(&record?).map_err(|error| unusable(error.into()))?;
            let (timestamp, note, questionable, recorded, source, line) = kept;
            let instant = |micros| {
                Timestamp::from_micros(micros)
                    .ok_or_else(|| unusable(std::io::ErrorKind::InvalidData.into()))
            };
            let source: Arc<str> = source.into();
            Ok(LoggedAnnotation {
                timestamp: instant(timestamp)?,
                note,
                questionable,
                recorded: instant(recorded)?,
                location: SourceLocation::Line { source, line },
            })
        })
    }
}

fn unusable(source: std::io::Error) -> Error {
    scratch::unusable("read", source)
}
