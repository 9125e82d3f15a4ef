//! The tables `annotation`, `confirmation` and `refusal`: what was recorded of a dataset after its changes.

use std::collections::BTreeMap;

use crate::model::{Annotation, Confirmation, RefusedListing, Timestamp};
use crate::store::Result;
use crate::store::page::check_order;
use crate::store::row::{part, row};
use crate::store::rows::{DatasetKey, StoredAnnotation};
use crate::store::session::{Transaction, View};
use crate::store::statement::{Columns, Sql, Value};

row!(StoredAnnotation in ANNOTATION { timestamp, number, annotation } hides annotation.recorded_by);
part!(Annotation { note, questionable, recorded, recorded_by });
row!(Confirmation in CONFIRMATION { recorded, recorded_by, granules } hides recorded_by);
row!(RefusedListing in REFUSAL { recorded, reason });

impl Transaction {
    /// Forgets that a listing of a dataset was refused.
    pub fn delete_refusal(&self, dataset: DatasetKey) -> Result<()> {
        static DELETE: Sql = Sql::new(
            "DELETE FROM {refusal}
            WHERE dataset_id = ?1",
        );
        self.run(dataset, &DELETE, &[dataset.into()])
    }
}

impl View {
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
            "SELECT {annotation.*}
            FROM {annotation}
            WHERE dataset_id = ?1 AND (timestamp, number) > (?2, ?3) AND timestamp <= ?4
            ORDER BY timestamp, number
            LIMIT ?5",
        );
        let (timestamp, number) =
            after.map_or((i64::MIN, 0), |(timestamp, number)| (timestamp.as_micros(), number));
        let values = [dataset.into(), timestamp.into(), number.into(), up_to.into(), limit.into()];
        let stored: Vec<StoredAnnotation> = self.select(&PAGE, &values)?;
        check_order("annotation", after, stored.iter().map(|it| (it.timestamp, it.number)))?;
        Ok(stored)
    }

    /// The annotations that are shown of some instances of a dataset, by their timestamps.
    pub(super) fn annotations_of(
        &self,
        dataset: DatasetKey,
        timestamps: &[Timestamp],
    ) -> Result<BTreeMap<Timestamp, Vec<Annotation>>> {
        static OF_INSTANCES: Sql = Sql::new(
            "SELECT {annotation.*}
            FROM {annotation}
            WHERE dataset_id = ?1 AND timestamp IN rarray(?2) AND recorded <= ?3
            ORDER BY timestamp, number",
        );
        let timestamps: Vec<i64> = timestamps.iter().map(|it| it.as_micros()).collect();
        let values = [dataset.into(), Value::Ints(&timestamps), self.known().into()];
        let stored = self.select(&OF_INSTANCES, &values)?;
        let mut annotations: BTreeMap<_, Vec<Annotation>> = BTreeMap::new();
        for StoredAnnotation { timestamp, annotation, .. } in stored {
            annotations.entry(timestamp).or_default().push(annotation);
        }
        Ok(annotations)
    }

    /// How many annotations the instances of a dataset have together, at or before `up_to`.
    pub fn count_annotations(&self, dataset: DatasetKey, up_to: Timestamp) -> Result<u64> {
        static COUNT: Sql = Sql::new(
            "SELECT count(*)
            FROM {annotation}
            WHERE dataset_id = ?1 AND timestamp <= ?2",
        );
        let values = [dataset.into(), up_to.into()];
        self.count(&COUNT, &values)
    }

    /// The last listing of a dataset that was refused, if none was accepted since.
    pub fn refusal(&self, dataset: DatasetKey) -> Result<Option<RefusedListing>> {
        static OF_DATASET: Sql = Sql::new(
            "SELECT {refusal.*}
            FROM {refusal}
            WHERE dataset_id = ?1",
        );
        Ok(self.select(&OF_DATASET, &[dataset.into()])?.pop())
    }

    /// The last confirmations of some datasets, by their keys. For more than one, asks every machine.
    pub(super) fn confirmations(
        &self,
        datasets: &[DatasetKey],
    ) -> Result<BTreeMap<i64, Confirmation>> {
        static OF_DATASET: Sql = Sql::new(
            "SELECT {confirmation.*}
            FROM {confirmation}
            WHERE dataset_id = ?1",
        );
        static OF_DATASETS: Sql = Sql::new(
            "SELECT {confirmation.*}
            FROM {confirmation}
            WHERE dataset_id IN rarray(?1)",
        );
        // Citus would ask all of them for a single one, too.
        if let [dataset] = datasets {
            let confirmation = self.select(&OF_DATASET, &[dataset.0.into()])?.pop();
            return Ok(confirmation.map(|it| (dataset.0, it)).into_iter().collect());
        }
        let keys: Vec<i64> = datasets.iter().map(|dataset| dataset.0).collect();
        let of_dataset =
            |confirmation: Confirmation, row: &dyn Columns, _| Ok((row.get(0)?, confirmation));
        let values = [Value::Ints(&keys)];
        let found = self.select_with(&OF_DATASETS, &values, of_dataset)?;
        Ok(found.into_iter().collect())
    }
}
