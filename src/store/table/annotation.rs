//! The tables `annotation` and `confirmation`: what was recorded of a dataset after its changes.

use std::collections::BTreeMap;

use crate::model::{Annotation, Confirmation, Timestamp};
use crate::store::Result;
use crate::store::page::ascending;
use crate::store::rows::{DatasetKey, StoredAnnotation};
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{Columns, Insert, Scope, Sql, Value, damaged};

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
        self.count(Scope::Dataset(dataset), &COUNT, &values)
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

impl Snapshot {
    /// The last confirmation of a dataset. `None` means that it was never confirmed.
    pub fn confirmation(&self, dataset: DatasetKey) -> Result<Option<Confirmation>> {
        static OF_DATASET: Sql = Sql::new(
            "SELECT recorded, recorded_by, granules
            FROM {confirmation}
            WHERE dataset_id = ?1",
        );
        self.row(Scope::Dataset(dataset), &OF_DATASET, &[dataset.into()], |row| {
            self.confirmation_of(row)
        })
    }

    /// The last confirmations of some datasets, by their keys. For more than one, asks every machine.
    pub(super) fn confirmations(
        &self,
        datasets: &[DatasetKey],
    ) -> Result<BTreeMap<i64, Confirmation>> {
        static OF_DATASETS: Sql = Sql::by_store(
            "SELECT confirmation.recorded, confirmation.recorded_by, confirmation.granules,
                confirmation.dataset_id
            FROM rarray(?1) AS wanted
            CROSS JOIN confirmation ON confirmation.dataset_id = wanted.value",
            "SELECT recorded, recorded_by, granules, dataset_id
            FROM {confirmation}
            WHERE dataset_id = ANY (?1)",
        );
        // Citus would ask all of them for a single one, too.
        if let [dataset] = datasets {
            let confirmation = self.confirmation(*dataset)?;
            return Ok(confirmation.map(|it| (dataset.0, it)).into_iter().collect());
        }
        let keys: Vec<i64> = datasets.iter().map(|dataset| dataset.0).collect();
        let found = self.rows(Scope::AllDatasets, &OF_DATASETS, &[Value::Ints(&keys)], |row| {
            Ok((row.int(3)?, self.confirmation_of(row)?))
        })?;
        Ok(found.into_iter().collect())
    }

    fn confirmation_of(&self, row: &dyn Columns) -> Result<Confirmation> {
        Ok(Confirmation {
            recorded: row.instant(0)?,
            recorded_by: self.shown(row.string_or_null(1)?),
            granules: row.count(2)?,
        })
    }
}

impl Transaction {
    /// Stores that a dataset was confirmed, in the place of its last confirmation.
    pub fn save_confirmation(
        &self,
        dataset: DatasetKey,
        confirmation: &Confirmation,
    ) -> Result<()> {
        static SAVE: Sql = Sql::new(
            "INSERT INTO {confirmation} (dataset_id, recorded, recorded_by, granules)
            VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (dataset_id) DO UPDATE
            SET recorded = excluded.recorded, recorded_by = excluded.recorded_by,
                granules = excluded.granules",
        );
        let values = [
            dataset.into(),
            confirmation.recorded.into(),
            confirmation.recorded_by.as_deref().into(),
            confirmation.granules.into(),
        ];
        self.run(dataset, &SAVE, &values)
    }
}
