//! Notes about existing instances, which do not change the history: those written here, and those of another
//! registry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::stamp::check_entered_note;
use crate::disk::Spool;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Annotation, DatasetName, Digest, Identifier, Instance, LogChange, Moment, Set, SourceLocation,
    Timestamp,
};
use crate::registry::handle::{End, Registry};
use crate::registry::snapshot::{Selection, dataset_of, instances, select};
use crate::store::{DatasetKey, StoredAnnotation, Transaction};

/// A note that is to be added to an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAnnotation {
    note: String,
    /// Whether the set should not be relied on.
    pub questionable: bool,
    /// Whether to check everything and store nothing.
    pub dry_run: bool,
    /// Annotates also the sets of the dataset that came into force later, up to this time. A day means its last
    /// instant. `None` means only the selected set.
    pub until: Option<Moment>,
}

impl NewAnnotation {
    /// A note about a set that can be relied on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input): the note is empty, or has a control character
    /// other than LF and TAB; [`ErrorKind::TooLong`](crate::ErrorKind::TooLong): it has more than
    /// 4,096 characters.
    pub fn new(note: impl Into<String>) -> Result<Self> {
        let note = note.into();
        check_entered_note(Some(&note))?;
        Ok(NewAnnotation { note, questionable: false, dry_run: false, until: None })
    }
}

/// An instance that was annotated, and its annotation.
///
/// Its fields, in this order, are those of the rows of `annotate` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Annotated {
    /// The dataset.
    pub dataset: DatasetName,
    /// When the instance took effect.
    pub timestamp: Timestamp,
    /// Its identifier.
    pub identifier: Identifier,
    /// The annotation.
    #[serde(flatten)]
    pub annotation: Annotation,
    /// Whether the annotation was added now.
    #[serde(skip)]
    pub is_new: bool,
}

impl Registry {
    /// Adds a note to the instance of a selection. For an identifier or a digest, adds it to each instance that
    /// has it, by dataset and time. The history does not change, and a withdrawn dataset can be annotated. If
    /// an instance already has the same note, that note is returned, and no other is added.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`](crate::Snapshot::select);
    /// [`ErrorKind::IdentifierUnknown`](crate::ErrorKind::IdentifierUnknown): the identifier is that of a
    /// subset; [`ErrorKind::TooLong`](crate::ErrorKind::TooLong): the notes of an instance would exceed
    /// [`Annotation::MAX_BYTES`]; [`ErrorKind::ClockAhead`](crate::ErrorKind::ClockAhead).
    pub fn annotate(
        &self,
        selection: &Selection,
        annotation: &NewAnnotation,
    ) -> Result<Vec<Annotated>> {
        self.write(|transaction| {
            let instances = selected(transaction, selection, annotation.until)?.into_iter();
            let annotated =
                instances.map(|instance| annotate(self, transaction, &instance, annotation));
            let annotated = annotated.collect::<Result<Vec<Annotated>>>()?;
            let is_new = annotated.iter().any(|annotated| annotated.is_new);
            Ok((annotated, End::commit_if(is_new && !annotation.dry_run)))
        })
    }
}

/// The instances to which a selection refers.
fn selected(
    transaction: &Transaction,
    selection: &Selection,
    until: Option<Moment>,
) -> Result<Vec<Instance>> {
    let selected = select(transaction, selection)?;
    if let Set::Subset { subset, .. } = &selected.set {
        let message = format!(
            "{} is the identifier of a subset of {}, which cannot be annotated",
            subset.identifier, subset.dataset
        );
        return Err(Error::new(ErrorKind::IdentifierUnknown, message));
    }
    if let Some(until) = until {
        let (Selection::Dataset { .. }, first) = (selection, selected.instance()) else {
            return Err(Error::new(ErrorKind::Usage, "a period begins with a dataset at a time"));
        };
        let (key, _) = dataset_of(transaction, &first.dataset)?;
        if until.last_instant() < first.timestamp {
            let message =
                format!("{until} is before {}, with which the period begins", first.timestamp);
            return Err(Error::new(ErrorKind::Usage, message));
        }
        let later = transaction.history(key, Some(first.timestamp), until.last_instant());
        return std::iter::once(Ok(first.clone())).chain(later).collect();
    }
    match selection {
        Selection::Identifier { identifier, dataset, at: None } => {
            let key = dataset.as_ref().map(|name| dataset_of(transaction, name)).transpose()?;
            instances(transaction, *identifier, key.map(|(key, _)| key)).collect()
        }
        Selection::Digest(_) => transaction.instances_with_digest(selected.set.digest()),
        _ => Ok(vec![selected.instance().clone()]),
    }
}

/// Annotates an instance, unless it has the same note already.
fn annotate(
    registry: &Registry,
    transaction: &Transaction,
    instance: &Instance,
    new: &NewAnnotation,
) -> Result<Annotated> {
    // On a server, this locks the dataset. The instance that was read before may be outdated.
    let (key, _) = dataset_of(transaction, &instance.dataset)?;
    let timestamp = instance.timestamp;
    let locked = transaction.instance_at(key, timestamp)?;
    let known = locked.map(|locked| locked.annotations).unwrap_or_default();
    let NewAnnotation { note, questionable, .. } = new;
    let same = known.iter().find(|it| it.note == *note && it.questionable == *questionable);
    let (annotation, is_new) = match same {
        Some(same) => (same.clone(), false),
        None => {
            let (recorded, recorded_by) =
                registry.record(transaction, Some(instance.recorded), instance.recorded)?;
            let (note, questionable) = (note.clone(), *questionable);
            let annotation = Annotation { note, questionable, recorded, recorded_by };
            let (bytes, most) =
                (Annotation::bytes_of(known.iter().chain([&annotation])), Annotation::MAX_BYTES);
            if bytes > most {
                let what = format!("what is noted about {} at {timestamp}", instance.dataset);
                return Err(Error::too_long(&what, "bytes", bytes, most));
            }
            let number = known.len() as u64 + 1;
            let stored = StoredAnnotation { timestamp, number, annotation: annotation.clone() };
            transaction.insert(key, &[stored])?;
            (annotation, true)
        }
    };
    let (dataset, identifier) = (instance.dataset.clone(), instance.identifier);
    Ok(Annotated { dataset, timestamp, identifier, annotation, is_new })
}

/// An annotation that another registry published beside a log.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LoggedAnnotation {
    /// The time of the change whose instance is annotated.
    pub timestamp: Timestamp,
    /// The annotation, which has a note. Its author is unknown.
    pub annotation: Annotation,
    /// The name of the file and the line, for messages.
    pub place: (String, u64),
}

/// The greatest time by which the clock of another registry may be ahead.
const MAX_AHEAD_MICROS: i64 = 5 * 60 * 1_000_000;

/// The result of storing the annotations of another registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct KeptAnnotations {
    /// The number of annotations that were added.
    pub added: u64,
    /// The number of annotations that were left out: with them, the notes of their instances would exceed
    /// [`Annotation::MAX_BYTES`].
    pub left_out: u64,
}

/// Stores an annotation of an instance, unless it is stored already or the instance has no room for it.
fn keep(
    transaction: &Transaction,
    key: DatasetKey,
    instance: &mut Instance,
    annotation: &Annotation,
    kept: &mut KeptAnnotations,
) -> Result<()> {
    let known = &mut instance.annotations;
    let is_same = |it: &Annotation| Annotation { recorded_by: None, ..it.clone() } == *annotation;
    if known.iter().any(is_same) {
        return Ok(());
    }
    // Notes that were added here count, too. A replica continues without this one.
    if Annotation::bytes_of(known.iter().chain([annotation])) > Annotation::MAX_BYTES {
        kept.left_out += 1;
        return Ok(());
    }
    kept.added += 1;
    let (timestamp, number) = (instance.timestamp, known.len() as u64 + 1);
    known.push(annotation.clone());
    transaction
        .insert(key, &[StoredAnnotation { timestamp, number, annotation: annotation.clone() }])
}

/// Any number of annotations, which are kept in a temporary file.
#[derive(Debug, Default)]
pub(crate) struct LoggedAnnotations {
    spool: Spool,
    /// The size of the annotations of each instance, in bytes.
    bytes: BTreeMap<Timestamp, usize>,
    /// The number of annotations that were left out, since an instance may not have more.
    pub left_out: u64,
}

impl LoggedAnnotations {
    /// Adds an annotation. It is left out and counted if it exceeds the limit of an instance in any case.
    pub fn add(&mut self, logged: &LoggedAnnotation) -> Result<()> {
        let bytes = self.bytes.entry(logged.timestamp).or_default();
        let with_this_one = *bytes + Annotation::bytes_of([&logged.annotation]);
        if with_this_one > Annotation::MAX_BYTES {
            self.left_out += 1;
            return Ok(());
        }
        *bytes = with_this_one;
        self.spool.add_value(logged).map(drop)
    }

    /// Stores the annotations. `annotated` returns the instances that belong to the change at a time. `None`
    /// means that no change has that time, and rejects the annotation.
    pub(super) fn keep(
        &self,
        transaction: &Transaction,
        (key, dataset): (DatasetKey, &DatasetName),
        now: Timestamp,
        annotated: impl Fn(Timestamp) -> Result<Option<Vec<Instance>>>,
    ) -> Result<KeptAnnotations> {
        let mut kept = KeptAnnotations { added: 0, left_out: self.left_out };
        // The notes of an instance are read once, however many annotations it has.
        let mut before: Option<(Timestamp, Vec<Instance>)> = None;
        for annotation in self.spool.values() {
            let LoggedAnnotation { timestamp, annotation, place: (source, line) } = annotation?;
            let location = SourceLocation::Line { source: source.into(), line };
            let refused =
                |kind, message: String| Err(Error::new(kind, message).at(location.clone()));
            let recorded = annotation.recorded;
            if recorded.as_micros().saturating_sub(now.as_micros()) > MAX_AHEAD_MICROS {
                let message = format!("an annotation was recorded at {recorded}: now it is {now}");
                return refused(ErrorKind::Future, message);
            }
            if before.as_ref().is_none_or(|(of, _)| *of != timestamp) {
                before = annotated(timestamp)?.map(|instances| (timestamp, instances));
            }
            let Some((_, instances)) = &mut before else {
                let what =
                    format!("{dataset} has no change at {timestamp} that could be annotated");
                return refused(ErrorKind::NotAsExpected, what);
            };
            for instance in instances {
                keep(transaction, key, instance, &annotation, &mut kept)?;
            }
        }
        Ok(kept)
    }
}

/// The annotations of a primary, for a mirror. Since the instances of a mirror have other times, an annotation
/// applies to each instance of the mirror that has the set of the annotated change.
#[derive(Debug, Default)]
pub(crate) struct PrimaryAnnotations {
    annotations: LoggedAnnotations,
    /// The sets in which the annotated changes of the log resulted.
    sets: BTreeMap<Timestamp, (Identifier, Digest)>,
    /// For each of these identifiers, the last change that resulted in it.
    last: BTreeMap<Identifier, Timestamp>,
}

impl PrimaryAnnotations {
    /// Annotations that were read beside a log, whose changes are [added](Self::add_change) in order.
    pub fn of(annotations: LoggedAnnotations) -> Self {
        PrimaryAnnotations { annotations, ..PrimaryAnnotations::default() }
    }

    /// Adds the next change of the log.
    pub fn add_change(&mut self, change: &LogChange) {
        let LogChange { timestamp, identifier, digest, .. } = *change;
        if self.annotations.bytes.contains_key(&timestamp) {
            self.sets.insert(timestamp, (identifier, digest));
            self.last.insert(identifier, timestamp);
        } else if let Some(last) = self.last.get_mut(&identifier) {
            *last = timestamp;
        }
    }

    /// Stores the annotations, within the transaction of a pull. `primary` is the primary's name for the
    /// dataset.
    pub(super) fn keep(
        &self,
        transaction: &Transaction,
        key: DatasetKey,
        primary: &DatasetName,
        now: Timestamp,
    ) -> Result<KeptAnnotations> {
        self.annotations.keep(transaction, (key, primary), now, |timestamp| {
            let Some(&(identifier, digest)) = self.sets.get(&timestamp) else { return Ok(None) };
            let named =
                instances(transaction, identifier, Some(key)).collect::<Result<Vec<_>>>()?;
            let is_last = self.last.get(&identifier) == Some(&timestamp);
            let has_same = named.iter().any(|instance| instance.digest == digest);
            // A mirror with file records of its own never has the digest of the primary. Then the identifier
            // means its latest instance.
            let is_meant = |it: &Instance| it.digest == digest || is_last && !has_same;
            Ok(Some(named.into_iter().filter(is_meant).collect()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formerly, each of them was evaluated while the writer's lock was held.
    #[test]
    fn annotations_past_what_an_instance_may_have_are_counted_and_not_kept() {
        let mut annotations = LoggedAnnotations::default();
        let most = Annotation::MAX_BYTES as u64 / 65;
        for number in 0..3 * most {
            let annotation = Annotation {
                note: "n".to_owned(),
                questionable: false,
                recorded: Timestamp::EPOCH,
                recorded_by: None,
            };
            let (timestamp, place) = (Timestamp::EPOCH, ("us.jsonl".to_owned(), number));
            annotations.add(&LoggedAnnotation { timestamp, annotation, place }).unwrap();
        }
        let kept = annotations.spool.values::<LoggedAnnotation>().count() as u64;
        assert_eq!((kept, annotations.left_out), (most, 2 * most));
    }
}
