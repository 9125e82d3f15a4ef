//! The table `annotation`: notes about instances, added later.

use crate::model::{Annotation, Timestamp};
use crate::store::Result;
use crate::store::page::ascending;
use crate::store::rows::{DatasetKey, StoredAnnotation};
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{Columns, Insert, Scope, Sql, damaged};

/// The column with the annotations of an instance, given what is its dataset and its timestamp: of
/// each, in order, what `annotations_in` takes apart. The two stores have no JSON function
/// in common.
macro_rules! annotations {
    ($dataset:literal, $timestamp:literal) => {
        concat!(
            "(SELECT string_agg(
                    annotation.questionable || ' ' || annotation.recorded || ' '
                    || length(annotation.note) || ' '
                    || coalesce(length(annotation.recorded_by), -1) || ' '
                    || annotation.note || coalesce(annotation.recorded_by, ''),
                    '' ORDER BY annotation.number)
                FROM {annotation}
                WHERE annotation.dataset_id = ",
            $dataset,
            " AND annotation.timestamp = ",
            $timestamp,
            ")"
        )
    };
}

pub(super) use annotations;

impl Snapshot {
    /// The annotations of the instances of a dataset at or before `up_to`, after one (`None` means from
    /// the first), by timestamp and number, at most `limit` of them.
    pub fn annotations_after(
        &self,
        dataset: DatasetKey,
        after: Option<(Timestamp, u64)>,
        up_to: Timestamp,
        limit: u32,
    ) -> Result<Vec<StoredAnnotation>> {
        static PAGE: Sql = Sql::new(
            "SELECT timestamp, number, note, questionable, recorded, recorded_by
            FROM {annotation}
            WHERE dataset_id = ?1 AND (timestamp, number) > (?2, ?3) AND timestamp <= ?4
            ORDER BY timestamp, number
            LIMIT ?5",
        );
        let (timestamp, number) =
            after.map_or((i64::MIN, 0), |(timestamp, number)| (timestamp.as_micros(), number));
        let values = [dataset.into(), timestamp.into(), number.into(), up_to.into(), limit.into()];
        let position = |stored: &StoredAnnotation| (stored.timestamp, stored.number);
        ascending(
            "annotation",
            self.rows(Scope::Dataset(dataset), &PAGE, &values, |row| self.stored(row))?,
            |first| after.is_none_or(|after| after < position(first)),
            |one, next| position(one) < position(next),
        )
    }

    fn stored(&self, row: &dyn Columns) -> Result<StoredAnnotation> {
        Ok(StoredAnnotation {
            timestamp: row.instant(0)?,
            number: row.count(1)?,
            annotation: Annotation {
                note: row.string(2)?,
                questionable: flag(row.int(3)?)?,
                recorded: row.instant(4)?,
                recorded_by: self.shown(row.string_or_null(5)?),
            },
        })
    }

    /// How many annotations the instances of a dataset have together, at or before `up_to`.
    pub fn count_annotations(&self, dataset: DatasetKey, up_to: Timestamp) -> Result<u64> {
        static COUNT: Sql = Sql::new(
            "SELECT count(*)
            FROM {annotation}
            WHERE dataset_id = ?1 AND timestamp <= ?2",
        );
        let values = [dataset.into(), up_to.into()];
        Ok(self.row(Scope::Dataset(dataset), &COUNT, &values, |row| row.count(0))?.unwrap_or(0))
    }

    /// The annotations in a column of the macro `annotations`.
    pub(super) fn annotations_in(
        &self,
        row: &dyn Columns,
        column: usize,
    ) -> Result<Vec<Annotation>> {
        let mut rest = row.text_or_null(column)?.unwrap_or_default();
        let mut annotations = Vec::new();
        while !rest.is_empty() {
            let [questionable, recorded, note, recorded_by] = [(); 4].map(|()| number(&mut rest));
            let note = characters(&mut rest, note?)?;
            let recorded_by = match recorded_by? {
                -1 => None,
                length => Some(characters(&mut rest, length)?),
            };
            let recorded = recorded?;
            annotations.push(Annotation {
                note,
                questionable: flag(questionable?)?,
                recorded: Timestamp::from_micros(recorded)
                    .ok_or_else(|| damaged(format_args!("{recorded} is not an instant")))?,
                recorded_by: self.shown(recorded_by),
            });
        }
        annotations.retain(|annotation| self.shows_annotation_of(annotation.recorded));
        Ok(annotations)
    }
}

impl Transaction {
    /// Adds annotations of instances that exist.
    pub fn insert_annotations(
        &self,
        dataset: DatasetKey,
        annotations: &[StoredAnnotation],
    ) -> Result<()> {
        static INSERT: Insert = Insert::new(
            "INSERT INTO {annotation}
                (dataset_id, timestamp, number, note, questionable, recorded, recorded_by)",
            7,
        );
        self.insert(dataset, &INSERT, annotations, |stored| {
            let Annotation { note, questionable, recorded, recorded_by } = &stored.annotation;
            [
                dataset.into(),
                stored.timestamp.into(),
                stored.number.into(),
                note.as_str().into(),
                i64::from(*questionable).into(),
                (*recorded).into(),
                recorded_by.as_deref().into(),
            ]
        })
    }
}

fn flag(number: i64) -> Result<bool> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(damaged(format_args!("{number} does not say whether a set is questionable"))),
    }
}

/// Takes a number, and the space after it, from the front of a text.
fn number(text: &mut &str) -> Result<i64> {
    let (number, rest) = text.split_once(' ').ok_or_else(cut_off)?;
    *text = rest;
    number.parse().map_err(damaged)
}

/// Takes so many characters from the front of a text.
fn characters(text: &mut &str, length: i64) -> Result<String> {
    let mut left = text.chars();
    for _ in 0..length {
        left.next().ok_or_else(cut_off)?;
    }
    let taken = &text[..text.len() - left.as_str().len()];
    *text = left.as_str();
    Ok(taken.to_owned())
}

fn cut_off() -> crate::store::Error {
    damaged("an annotation has another length than it states")
}
