//! The table `instance`, which is the history of each dataset, and the tables of later records about it:
//! `annotation`, `confirmation` and `refusal`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::model::{
    Annotation, Confirmation, DatasetName, Digest, Identifier, Instance, RefusedListing, Timestamp,
};
use crate::store::Result;
use crate::store::checked_row::{differing, part, row};
use crate::store::page::{check_order, paged};
use crate::store::rows::{DatasetKey, StoredAnnotation, StoredInstance};
use crate::store::session::{Transaction, View};
use crate::store::statement::{self, Columns, Sql, Value};

/// A query of the columns of an [`Instance`], followed by the given clauses. The columns are its row, the name
/// of its dataset, the time of the next change, and whether it has annotations. The inner queries use `?1` as
/// the key of the dataset, or the second argument. A query of one dataset must use a parameter, because Citus
/// cannot derive the machine of the inner query from the outer one.
macro_rules! select_instance {
    ($rest:literal) => {
        select_instance!($rest, "?1")
    };
    ($rest:literal, $dataset:literal) => {
        Sql::new(concat!(
            "SELECT {instance.*}, dataset.name,
                (SELECT min(later.timestamp)
                 FROM {instance} AS later
                 WHERE later.timestamp > instance.timestamp AND later.dataset_id = ",
            $dataset,
            "),
                EXISTS (
                    SELECT 1
                    FROM {annotation}
                    WHERE annotation.timestamp = instance.timestamp AND annotation.dataset_id = ",
            $dataset,
            ")
            FROM {instance}
            JOIN {dataset} ON dataset.id = instance.dataset_id
            ",
            $rest
        ))
    };
}

row!(Instance in INSTANCE {
    timestamp, identifier, digest, granules, ingested, deleted, described, replaced, recorded,
    recorded_by, note
} hides recorded_by, beside { dataset, until } empty { annotations });

/// An instance whose annotations, if it has any, are not read yet.
pub(super) struct ReadInstance {
    dataset: DatasetKey,
    stored: StoredInstance,
    has_annotations: bool,
}

impl View {
    /// The last instance of the history. `None` means that there is no change yet.
    pub fn latest_instance(&self, dataset: DatasetKey) -> Result<Option<Instance>> {
        self.instance_at(dataset, Timestamp::MAX)
    }

    /// The latest instances of some datasets, by key. For more than one, asks every machine: the row that locks
    /// a dataset is on the machine of its history.
    pub(super) fn latest_instances(
        &self,
        datasets: &[DatasetKey],
    ) -> Result<BTreeMap<i64, Instance>> {
        static LATEST: Sql = Sql::by_store(
            "SELECT {instance.*}, dataset.name, NULL,
                EXISTS (
                    SELECT 1
                    FROM annotation
                    WHERE annotation.dataset_id = instance.dataset_id
                      AND annotation.timestamp = instance.timestamp)
            FROM rarray(?1) AS wanted
            CROSS JOIN instance
              ON instance.dataset_id = wanted.value
              AND instance.timestamp = (
                SELECT max(other.timestamp)
                FROM instance AS other
                WHERE other.dataset_id = wanted.value)
            JOIN dataset ON dataset.id = instance.dataset_id",
            "SELECT {instance.*}, dataset.name, NULL::bigint,
                EXISTS (
                    SELECT 1
                    FROM {annotation}
                    WHERE annotation.dataset_id = instance.dataset_id
                      AND annotation.timestamp = instance.timestamp)
            FROM {writer}
            JOIN {instance} ON instance.dataset_id = writer.dataset_id
            JOIN {dataset} ON dataset.id = instance.dataset_id
            WHERE writer.dataset_id = ANY (?1)
              AND instance.timestamp = (
                SELECT max(other.timestamp)
                FROM {instance} AS other
                WHERE other.dataset_id = writer.dataset_id)",
        );
        // Citus would ask all machines even for a single dataset.
        if let [dataset] = datasets {
            let latest = self.latest_instance(*dataset)?;
            return Ok(latest.map(|latest| (dataset.0, latest)).into_iter().collect());
        }
        let keys: Vec<i64> = datasets.iter().map(|dataset| dataset.0).collect();
        let latest = self.read_instances(&LATEST, &[Value::Ints(&keys)])?;
        let keys: Vec<_> = latest.iter().map(|latest| latest.dataset).collect();
        let latest = keys.into_iter().zip(self.annotated(latest)?);
        latest.map(|(key, latest)| Ok((key.0, sound(latest)?))).collect()
    }

    /// The instance in force at an instant, as the registry knew it at the time `recorded`. `None` means that
    /// it knew none. Reads one row for each change that was recorded later.
    pub fn instance_known(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        recorded: Timestamp,
    ) -> Result<Option<Instance>> {
        static KNOWN: Sql = select_instance!(
            "WHERE instance.dataset_id = ?1 AND instance.timestamp <= ?2 AND instance.recorded <= ?3
            ORDER BY instance.timestamp DESC
            LIMIT 1"
        );
        let values = [dataset.into(), at.into(), recorded.into()];
        Ok(self.instances(&KNOWN, &values)?.pop())
    }

    /// The first instance of the history. `None` means that there is no change yet.
    pub fn first_instance(&self, dataset: DatasetKey) -> Result<Option<Instance>> {
        Ok(self.instances_after(dataset, None, Timestamp::MAX, 1)?.pop())
    }

    /// Whether a change between two instants deleted granules.
    pub fn has_deletions(
        &self,
        dataset: DatasetKey,
        after: Timestamp,
        before: Timestamp,
    ) -> Result<bool> {
        static DELETION: Sql = Sql::new(
            "SELECT {instance.*}
            FROM {instance}
            WHERE dataset_id = ?1 AND timestamp > ?2 AND timestamp < ?3 AND deleted > 0
            LIMIT 1",
        );
        let values = [dataset.into(), after.into(), before.into()];
        self.has_sound(&DELETION, &values)
    }

    /// The instance in force at an instant. `None` means that the instant is before the first change.
    pub fn instance_at(&self, dataset: DatasetKey, at: Timestamp) -> Result<Option<Instance>> {
        self.instance_known(dataset, at, Timestamp::MAX)
    }

    /// The first `limit` instances with a timestamp after `after` (`None` means from the first) and not after
    /// `up_to`, in order of time.
    pub fn instances_after(
        &self,
        dataset: DatasetKey,
        after: Option<Timestamp>,
        up_to: Timestamp,
        limit: u32,
    ) -> Result<Vec<Instance>> {
        let stored = self.stored_after(dataset, after, up_to, limit)?;
        stored.into_iter().map(sound).collect()
    }

    fn stored_after(
        &self,
        dataset: DatasetKey,
        after: Option<Timestamp>,
        up_to: Timestamp,
        limit: u32,
    ) -> Result<Vec<StoredInstance>> {
        static PAGE: Sql = select_instance!(
            "WHERE instance.dataset_id = ?1 AND instance.timestamp > ?2 AND instance.timestamp <= ?3
            ORDER BY instance.timestamp
            LIMIT ?4"
        );
        let start = after.map_or(i64::MIN, Timestamp::as_micros);
        let values = [dataset.into(), start.into(), up_to.into(), limit.into()];
        let stored = self.stored_instances(&PAGE, &values)?;
        check_order("instance", after, stored.iter().map(|stored| stored.instance.timestamp))?;
        Ok(stored)
    }

    /// The whole history as it is stored, including rows that differ from their checksums.
    pub fn stored_history(
        &self,
        dataset: DatasetKey,
    ) -> impl Iterator<Item = Result<StoredInstance>> {
        paged(
            None,
            move |after, limit| self.stored_after(dataset, *after, Timestamp::MAX, limit),
            |last| Some(last.instance.timestamp),
        )
    }

    /// Like [`View::instances_after`], but all instances.
    pub fn history(
        &self,
        dataset: DatasetKey,
        after: Option<Timestamp>,
        up_to: Timestamp,
    ) -> impl Iterator<Item = Result<Instance>> {
        paged(
            after,
            move |after, limit| self.instances_after(dataset, *after, up_to, limit),
            |last| Some(last.timestamp),
        )
    }

    /// The last `limit` instances with a timestamp before `before` and not before `since` (`None` means from
    /// the first), latest first.
    pub fn instances_before(
        &self,
        dataset: DatasetKey,
        before: Timestamp,
        since: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<Instance>> {
        static PAGE: Sql = select_instance!(
            "WHERE instance.dataset_id = ?1 AND instance.timestamp < ?2 AND instance.timestamp >= ?3
            ORDER BY instance.timestamp DESC
            LIMIT ?4"
        );
        let start = since.map_or(i64::MIN, Timestamp::as_micros);
        let values = [dataset.into(), before.into(), start.into(), limit.into()];
        let instances = self.instances(&PAGE, &values)?;
        let positions = instances.iter().map(|instance| Reverse(instance.timestamp));
        check_order("instance", Some(Reverse(before)), positions)?;
        Ok(instances)
    }

    /// The instances with an identifier, after a dataset and a time (`None` means from the first), by dataset
    /// and time.
    ///
    /// Asks every machine: an identifier does not say in which dataset it was in force.
    pub fn all_with(
        &self,
        identifier: Identifier,
        after: Option<(&DatasetName, Timestamp)>,
    ) -> impl Iterator<Item = Result<Instance>> {
        static ANY: Sql = select_instance!(
            "WHERE instance.identifier = ?1 AND (?4 = 1 OR instance.dataset_id IN rarray(?3))
            LIMIT ?2",
            "instance.dataset_id"
        );
        static PAGE: Sql = select_instance!(
            "WHERE instance.identifier = ?1 AND (dataset.name, instance.timestamp) > (?2, ?3)
              AND (?6 = 1 OR instance.dataset_id IN rarray(?5))
            ORDER BY dataset.name, instance.timestamp
            LIMIT ?4",
            "instance.dataset_id"
        );
        let page = move |after: &Option<(DatasetName, Timestamp)>, limit: u32| {
            let after = after.as_ref().map(|(name, timestamp)| (name, *timestamp));
            // Most identifiers have one or two instances. To sort them, SQLite would create a temporary table.
            let values = self.with_shown([identifier.into(), limit.into()]);
            let mut instances = self.instances(&ANY, &values)?;
            if instances.len() < limit as usize {
                instances
                    .retain(|it| after.is_none_or(|after| (&it.dataset, it.timestamp) > after));
                instances.sort_by_key(|it| (it.dataset.clone(), it.timestamp));
            } else {
                let name = after.map_or("", |(name, _)| name.as_str());
                let start = after.map_or(i64::MIN, |(_, timestamp)| timestamp.as_micros());
                let values = [identifier.into(), name.into(), start.into(), limit.into()];
                instances = self.instances(&PAGE, &self.with_shown(values))?;
            }
            check_order("instance", after, instances.iter().map(|it| (&it.dataset, it.timestamp)))?;
            Ok(instances)
        };
        let after = after.map(|(name, timestamp)| (name.clone(), timestamp));
        paged(after, page, |last| Some((last.dataset.clone(), last.timestamp)))
    }

    /// The instances of one dataset with an identifier, in order of time.
    pub fn instances_of_with(
        &self,
        dataset: DatasetKey,
        identifier: Identifier,
    ) -> Result<Vec<Instance>> {
        static WITH: Sql = select_instance!(
            "WHERE instance.identifier = ?2 AND instance.dataset_id = ?1
            ORDER BY instance.timestamp"
        );
        self.instances(&WITH, &[dataset.into(), identifier.into()])
    }

    /// The latest instance with an identifier in any dataset. Datasets that are not withdrawn come first, since
    /// a corrected dataset's earlier history is withdrawn. `None` means that no instance ever had it.
    ///
    /// Asks every machine: an identifier does not say in which dataset it was in force.
    pub fn latest_with(&self, identifier: Identifier) -> Result<Option<Instance>> {
        static LATEST: Sql = select_instance!(
            "WHERE instance.identifier = ?1
              AND (?3 = 1 OR instance.dataset_id IN rarray(?2))
            ORDER BY dataset.withdrawn IS NOT NULL, instance.timestamp DESC, dataset.name DESC
            LIMIT 1",
            "instance.dataset_id"
        );
        Ok(self.instances(&LATEST, &self.with_shown([identifier.into()]))?.pop())
    }

    /// The first instance with an identifier in any dataset. `None` means that no instance ever had it.
    ///
    /// Asks every machine: an identifier does not say in which dataset it was in force.
    pub fn first_with(&self, identifier: Identifier) -> Result<Option<Instance>> {
        static FIRST: Sql = select_instance!(
            "WHERE instance.identifier = ?1
              AND (?3 = 1 OR instance.dataset_id IN rarray(?2))
            ORDER BY instance.timestamp, dataset.name
            LIMIT 1",
            "instance.dataset_id"
        );
        Ok(self.instances(&FIRST, &self.with_shown([identifier.into()]))?.pop())
    }

    /// The last `limit` instances of all datasets that were recorded at or after a time, latest first. Costs a
    /// row for each.
    ///
    /// Asks every machine.
    pub fn recorded_last(&self, since: Timestamp, limit: u32) -> Result<Vec<Instance>> {
        static LAST: Sql = select_instance!(
            "WHERE instance.recorded >= ?1 AND (?4 = 1 OR instance.dataset_id IN rarray(?3))
            ORDER BY instance.recorded DESC, dataset.name DESC, instance.timestamp DESC
            LIMIT ?2",
            "instance.dataset_id"
        );
        self.instances(&LAST, &self.with_shown([since.into(), limit.into()]))
    }

    /// The instances with a digest, in order of dataset and time.
    ///
    /// Asks every machine: a digest does not say in which dataset it was in force.
    pub fn instances_with_digest(&self, digest: Digest) -> Result<Vec<Instance>> {
        static WITH: Sql = select_instance!(
            "WHERE instance.digest = ?1 AND (?3 = 1 OR instance.dataset_id IN rarray(?2))
            ORDER BY dataset.name, instance.timestamp",
            "instance.dataset_id"
        );
        self.instances(&WITH, &self.with_shown([(&digest).into()]))
    }

    /// Whether a change of a dataset took effect at most [`Instance::PROMPT_MICROS`] before it was recorded.
    /// Looks at the first and the last hundred changes. Costs at most these 200 rows, and one row if the last
    /// change did.
    pub fn has_prompt_change(&self, dataset: DatasetKey) -> Result<bool> {
        static PROMPT: Sql = Sql::new(
            "SELECT {instance.*}
            FROM (
                SELECT {instance.*}
                FROM (
                    SELECT {instance.*}
                    FROM {instance}
                    WHERE dataset_id = ?1
                    ORDER BY timestamp DESC
                    LIMIT 100) AS instance
                UNION ALL
                SELECT {instance.*}
                FROM (
                    SELECT {instance.*}
                    FROM {instance}
                    WHERE dataset_id = ?1
                    ORDER BY timestamp
                    LIMIT 100) AS instance) AS instance
            WHERE recorded - timestamp <= ?2
            LIMIT 1",
        );
        self.has_sound(&PROMPT, &[dataset.into(), Instance::PROMPT_MICROS.into()])
    }

    /// The number of instances of a dataset with a timestamp at or before `up_to`.
    pub fn count_instances(&self, dataset: DatasetKey, up_to: Timestamp) -> Result<u64> {
        static COUNT: Sql = Sql::new(
            "SELECT count(*)
            FROM {instance}
            WHERE dataset_id = ?1 AND timestamp <= ?2",
        );
        let values = [dataset.into(), up_to.into()];
        self.count(&COUNT, &values)
    }

    /// Whether a query returns a row. The row must agree with its checksum.
    fn has_sound(&self, sql: &'static Sql, values: &[Value<'_>]) -> Result<bool> {
        let mut has_one = false;
        self.each_sound(sql, values, &statement::INSTANCE, &mut |_| {
            has_one = true;
            Ok(())
        })?;
        Ok(has_one)
    }

    fn instances(&self, sql: &'static Sql, values: &[Value<'_>]) -> Result<Vec<Instance>> {
        self.stored_instances(sql, values)?.into_iter().map(sound).collect()
    }

    fn stored_instances(
        &self,
        sql: &'static Sql,
        values: &[Value<'_>],
    ) -> Result<Vec<StoredInstance>> {
        self.annotated(self.read_instances(sql, values)?)
    }

    fn read_instances(&self, sql: &'static Sql, values: &[Value<'_>]) -> Result<Vec<ReadInstance>> {
        let mut checked = Vec::new();
        let mut instances = Vec::new();
        self.session()?.rows(sql, values, &mut |row| {
            instances.push(self.instance_from(row, 0, &mut checked)?);
            Ok(())
        })?;
        Ok(instances)
    }

    /// Reads an instance whose row begins at column `first`. The columns after the row are the name of its
    /// dataset, the time of the next change, and whether it has annotations. `checked` is a buffer.
    pub(super) fn instance_from(
        &self,
        row: &dyn Columns,
        first: usize,
        checked: &mut Vec<u8>,
    ) -> Result<ReadInstance> {
        let (instance, is_sound) = self.read(row, first, checked)?;
        let stored = StoredInstance { instance, is_sound };
        let has_annotations = row.get(first + statement::INSTANCE.columns.len() + 3)?;
        Ok(ReadInstance { dataset: row.get(first)?, stored, has_annotations })
    }

    /// Adds the annotations to instances. Reads them with one statement for each dataset.
    pub(super) fn annotated(&self, read: Vec<ReadInstance>) -> Result<Vec<StoredInstance>> {
        let mut wanted: BTreeMap<i64, Vec<Timestamp>> = BTreeMap::new();
        for ReadInstance { dataset, stored, .. } in read.iter().filter(|it| it.has_annotations) {
            wanted.entry(dataset.0).or_default().push(stored.instance.timestamp);
        }
        let mut annotations = BTreeMap::new();
        for (dataset, timestamps) in wanted {
            annotations.insert(dataset, self.annotations_of(DatasetKey(dataset), &timestamps)?);
        }
        let annotated = read.into_iter().map(|ReadInstance { dataset, mut stored, .. }| {
            let of_dataset = annotations.get_mut(&dataset.0);
            let found = of_dataset.and_then(|found| found.remove(&stored.instance.timestamp));
            stored.instance.annotations = found.unwrap_or_default();
            stored
        });
        Ok(annotated.collect())
    }
}

pub(super) fn sound(StoredInstance { instance, is_sound }: StoredInstance) -> Result<Instance> {
    match is_sound {
        true => Ok(instance),
        false => {
            let position = format!("timestamp {}", instance.timestamp);
            Err(differing(&statement::INSTANCE, Some(instance.dataset.as_str()), position))
        }
    }
}

row!(StoredAnnotation in ANNOTATION { timestamp, number, annotation } hides annotation.recorded_by);
part!(Annotation { note, questionable, recorded, recorded_by });
row!(Confirmation in CONFIRMATION { recorded, recorded_by, granules } hides recorded_by);
row!(RefusedListing in REFUSAL { recorded, reason });

impl Transaction {
    /// Deletes the record that a listing of a dataset was rejected.
    pub fn delete_refusal(&self, dataset: DatasetKey) -> Result<()> {
        static DELETE: Sql = Sql::new(
            "DELETE FROM {refusal}
            WHERE dataset_id = ?1",
        );
        self.run(dataset, &DELETE, &[dataset.into()])
    }
}

impl View {
    /// The visible annotations of some instances of a dataset, by timestamp.
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

    /// The last listing of a dataset that was rejected, if none was accepted since.
    pub fn refusal(&self, dataset: DatasetKey) -> Result<Option<RefusedListing>> {
        Ok(self.first(dataset, 1)?.pop())
    }

    /// The last confirmations of some datasets, by key. For more than one, asks every machine.
    pub(super) fn confirmations(
        &self,
        datasets: &[DatasetKey],
    ) -> Result<BTreeMap<i64, Confirmation>> {
        static OF_DATASETS: Sql = Sql::new(
            "SELECT {confirmation.*}
            FROM {confirmation}
            WHERE dataset_id IN rarray(?1)",
        );
        // Citus would ask all machines even for a single dataset.
        if let [dataset] = datasets {
            let confirmation = self.first(*dataset, 1)?.pop();
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
