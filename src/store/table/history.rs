//! The table `instance`: the history of each dataset.

use std::collections::BTreeMap;
use std::iter;

use super::annotation::annotations;
use crate::model::{DatasetName, Identifier, IdentifierPrefix, Instance, Timestamp};
use crate::store::Result;
use crate::store::page::{ascending, paged};
use crate::store::rows::{DatasetKey, StoredInstance};
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{Columns, Insert, Scope, Sql, Value, damaged};

/// A query of the columns of an [`Instance`], followed by the given clauses. What is the dataset is
/// `?1`, or the second argument: a parameter, unless every machine of a cluster is asked, because the
/// machine of the inner query cannot be derived from the outer one.
macro_rules! select_instance {
    ($rest:literal) => {
        select_instance!($rest, "?1")
    };
    ($rest:literal, $dataset:literal) => {
        Sql::new(concat!(
            "SELECT dataset.name, instance.timestamp,
                (SELECT min(later.timestamp)
                 FROM {instance} AS later
                 WHERE later.timestamp > instance.timestamp AND later.dataset_id = ",
            $dataset,
            "),
                instance.identifier, instance.granules, instance.ingested, instance.deleted,
                instance.recorded, instance.recorded_by, instance.note,
                ",
            annotations!($dataset, "instance.timestamp"),
            ", instance.dataset_id, instance.row_check
            FROM {instance}
            JOIN {dataset} ON dataset.id = instance.dataset_id
            ",
            $rest
        ))
    };
}

impl Snapshot {
    /// The last instance of the history. `None` means that there was no change yet.
    pub fn latest_instance(&self, dataset: DatasetKey) -> Result<Option<Instance>> {
        self.instance_at(dataset, Timestamp::MAX)
    }

    /// The latest instances of some datasets, by their keys. For more than one, asks every machine:
    /// the row by which a dataset is locked is beside its history.
    pub(super) fn latest_instances(
        &self,
        datasets: &[DatasetKey],
    ) -> Result<BTreeMap<i64, Instance>> {
        static LATEST: Sql = Sql::by_store(
            concat!(
                "SELECT dataset.name, instance.timestamp, NULL, instance.identifier,
                instance.granules, instance.ingested, instance.deleted, instance.recorded,
                instance.recorded_by, instance.note,
                ",
                annotations!("instance.dataset_id", "instance.timestamp"),
                ", instance.dataset_id, instance.row_check
            FROM rarray(?1) AS wanted
            CROSS JOIN instance
              ON instance.dataset_id = wanted.value
              AND instance.timestamp = (
                SELECT max(other.timestamp)
                FROM instance AS other
                WHERE other.dataset_id = wanted.value)
            JOIN dataset ON dataset.id = instance.dataset_id"
            ),
            concat!(
                "SELECT dataset.name, instance.timestamp, NULL::bigint, instance.identifier,
                instance.granules, instance.ingested, instance.deleted, instance.recorded,
                instance.recorded_by, instance.note,
                ",
                annotations!("instance.dataset_id", "instance.timestamp"),
                ", instance.dataset_id, instance.row_check
            FROM {writer}
            JOIN {instance} ON instance.dataset_id = writer.dataset_id
            JOIN {dataset} ON dataset.id = instance.dataset_id
            WHERE writer.dataset_id = ANY (?1)
              AND instance.timestamp = (
                SELECT max(other.timestamp)
                FROM {instance} AS other
                WHERE other.dataset_id = writer.dataset_id)"
            ),
        );
        // Citus would ask all of them for a single one, too.
        if let [dataset] = datasets {
            let latest = self.latest_instance(*dataset)?;
            return Ok(latest.map(|latest| (dataset.0, latest)).into_iter().collect());
        }
        let keys: Vec<i64> = datasets.iter().map(|dataset| dataset.0).collect();
        let latest = self.rows(Scope::AllDatasets, &LATEST, &[Value::Ints(&keys)], |row| {
            Ok((row.int(11)?, self.instance_of(row)?))
        })?;
        let in_force = latest
            .into_iter()
            .map(|(key, latest)| Ok((key, self.not_from_the_future(DatasetKey(key), latest)?)));
        in_force.collect()
    }

    /// The instance in force at an instant according to the registry at a time. `None` means that none
    /// was known. Reads one row for each change that was recorded later.
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
        let known =
            self.row(Scope::Dataset(dataset), &KNOWN, &values, |row| self.instance_of(row))?;
        known.map(|known| self.not_from_the_future(dataset, known)).transpose()
    }

    /// An instance in force, unless its change takes effect so long after it was recorded that only
    /// damage explains it. A change that is stamped by a clock that is behind takes effect one
    /// microsecond after the change before it, which may have been recorded by a clock that was ahead.
    pub(super) fn not_from_the_future(
        &self,
        dataset: DatasetKey,
        instance: Instance,
    ) -> Result<Instance> {
        static IS_NEXT: Sql = Sql::new(
            "SELECT EXISTS (
                SELECT 1
                FROM {instance}
                WHERE dataset_id = ?1 AND timestamp = ?2)",
        );
        let (takes_effect, recorded) =
            (instance.timestamp.as_micros(), instance.recorded.as_micros());
        let is_sound = takes_effect - recorded <= Instance::TIMELY_MICROS
            || self.exists(dataset, &IS_NEXT, &[dataset.into(), (takes_effect - 1).into()])?;
        match is_sound {
            true => Ok(instance),
            false => Err(damaged(format_args!(
                "the change of {} that takes effect {} was recorded {}, long before it",
                instance.dataset, instance.timestamp, instance.recorded
            ))),
        }
    }

    /// The first instance of the history. `None` means that there was no change yet.
    pub fn first_instance(&self, dataset: DatasetKey) -> Result<Option<Instance>> {
        Ok(self.instances_after(dataset, None, Timestamp::MAX, 1)?.pop())
    }

    /// Whether a change after an instant and before another one deleted granules.
    pub fn has_deletions(
        &self,
        dataset: DatasetKey,
        after: Timestamp,
        before: Timestamp,
    ) -> Result<bool> {
        static DELETIONS: Sql = Sql::new(
            "SELECT EXISTS (
                SELECT 1
                FROM {instance}
                WHERE dataset_id = ?1 AND timestamp > ?2 AND timestamp < ?3 AND deleted > 0)",
        );
        let values = [dataset.into(), after.into(), before.into()];
        self.exists(dataset, &DELETIONS, &values)
    }

    /// The instance in force at an instant. `None` means that it is before the first change.
    pub fn instance_at(&self, dataset: DatasetKey, at: Timestamp) -> Result<Option<Instance>> {
        self.instance_known(dataset, at, Timestamp::MAX)
    }

    /// How many granules were held at some times, without those before the first change.
    pub fn held_at(
        &self,
        dataset: DatasetKey,
        times: &[Timestamp],
    ) -> Result<BTreeMap<Timestamp, u64>> {
        static HELD: Sql = Sql::by_store(
            "SELECT wanted.value, (
                SELECT granules
                FROM instance
                WHERE dataset_id = ?1 AND timestamp <= wanted.value
                ORDER BY timestamp DESC
                LIMIT 1)
            FROM rarray(?2) AS wanted",
            "SELECT wanted.at, (
                SELECT instance.granules
                FROM {instance}
                WHERE instance.dataset_id = ?1 AND instance.timestamp <= wanted.at
                ORDER BY instance.timestamp DESC
                LIMIT 1)
            FROM unnest(CAST(?2 AS bigint ARRAY)) AS wanted (at)",
        );
        let times: Vec<i64> = times.iter().map(|at| at.as_micros()).collect();
        let values = [dataset.into(), Value::Ints(&times)];
        let held = self.rows(Scope::Dataset(dataset), &HELD, &values, |row| {
            Ok((row.instant(0)?, row.count_or_null(1)?))
        })?;
        Ok(held.into_iter().filter_map(|(at, held)| Some((at, held?))).collect())
    }

    /// The instances whose change took effect after `after` (`None` means from the first) and at or
    /// before `up_to`, in order of time, at most `limit` of them.
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
        ascending(
            "instance",
            self.rows(Scope::Dataset(dataset), &PAGE, &values, |row| self.stored_instance(row))?,
            |first| after.is_none_or(|after| first.instance.timestamp > after),
            |one, next| one.instance.timestamp < next.instance.timestamp,
        )
    }

    /// The whole history as it is stored, rows that differ from their checksums included.
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

    /// The instances that [`Snapshot::instances_after`] returns, all of them.
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

    /// The instances whose change took effect before `before` and at or after `since` (`None` means
    /// from the first), latest first, at most `limit` of them.
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
        ascending(
            "instance",
            self.instances(Scope::Dataset(dataset), &PAGE, &values)?,
            |first| first.timestamp < before,
            |one, next| one.timestamp > next.timestamp,
        )
    }

    /// The instances with an identifier after a dataset and a time, by dataset and time, at most
    /// `limit` of them.
    ///
    /// Asks every machine: an identifier does not say in which dataset it was in force.
    pub fn instances_with(
        &self,
        identifier: Identifier,
        after: Option<(&DatasetName, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<Instance>> {
        static PAGE: Sql = select_instance!(
            "WHERE instance.identifier = ?1 AND (dataset.name, instance.timestamp) > (?2, ?3)
            ORDER BY dataset.name, instance.timestamp
            LIMIT ?4",
            "instance.dataset_id"
        );
        let name = after.map_or("", |(name, _)| name.as_str());
        let start = after.map_or(i64::MIN, |(_, timestamp)| timestamp.as_micros());
        let values = [identifier.into(), name.into(), start.into(), limit.into()];
        ascending(
            "instance",
            self.instances(Scope::AllDatasets, &PAGE, &values)?,
            |first| after.is_none_or(|(name, at)| (name, at) < (&first.dataset, first.timestamp)),
            |one, next| (&one.dataset, one.timestamp) < (&next.dataset, next.timestamp),
        )
    }

    /// The instances that [`Snapshot::instances_with`] returns, all of them.
    pub fn all_with(&self, identifier: Identifier) -> impl Iterator<Item = Result<Instance>> {
        paged(
            None,
            move |after: &Option<(DatasetName, Timestamp)>, limit| {
                let after = after.as_ref().map(|(name, timestamp)| (name, *timestamp));
                self.instances_with(identifier, after, limit)
            },
            |last| Some((last.dataset.clone(), last.timestamp)),
        )
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
        self.instances(Scope::Dataset(dataset), &WITH, &[dataset.into(), identifier.into()])
    }

    /// The latest instance with an identifier in any dataset. `None` means that no instance ever
    /// had it.
    ///
    /// Asks every machine: an identifier does not say in which dataset it was in force.
    pub fn latest_with(&self, identifier: Identifier) -> Result<Option<Instance>> {
        static LATEST: Sql = select_instance!(
            "WHERE instance.identifier = ?1
            ORDER BY instance.timestamp DESC, dataset.name DESC
            LIMIT 1",
            "instance.dataset_id"
        );
        Ok(self.instances(Scope::AllDatasets, &LATEST, &[identifier.into()])?.pop())
    }

    /// Whether one of the first or the last thousand changes of a dataset took effect at most
    /// [`Instance::TIMELY_MICROS`] before it was recorded. Costs at most as many rows, whatever the
    /// length of the history, and one where the last change did.
    pub fn has_timely_change(&self, dataset: DatasetKey) -> Result<bool> {
        static LAST: Sql = Sql::new(
            "SELECT timestamp
            FROM (
                SELECT timestamp, recorded
                FROM {instance}
                WHERE dataset_id = ?1
                ORDER BY timestamp DESC
                LIMIT 1000) AS last
            WHERE recorded - timestamp <= ?2
            LIMIT 1",
        );
        static FIRST: Sql = Sql::new(
            "SELECT timestamp
            FROM (
                SELECT timestamp, recorded
                FROM {instance}
                WHERE dataset_id = ?1
                ORDER BY timestamp
                LIMIT 1000) AS first
            WHERE recorded - timestamp <= ?2
            LIMIT 1",
        );
        let has = |sql| -> Result<bool> {
            let values = [dataset.into(), Instance::TIMELY_MICROS.into()];
            Ok(self.row(Scope::Dataset(dataset), sql, &values, |row| row.int(0))?.is_some())
        };
        Ok(has(&LAST)? || has(&FIRST)?)
    }

    /// The number of instances of a dataset with a timestamp at or before `up_to`.
    pub fn count_instances(&self, dataset: DatasetKey, up_to: Timestamp) -> Result<u64> {
        static COUNT: Sql = Sql::new(
            "SELECT count(*)
            FROM {instance}
            WHERE dataset_id = ?1 AND timestamp <= ?2",
        );
        let values = [dataset.into(), up_to.into()];
        self.count(Scope::Dataset(dataset), &COUNT, &values)
    }

    fn instances(
        &self,
        scope: Scope,
        sql: &'static Sql,
        values: &[Value<'_>],
    ) -> Result<Vec<Instance>> {
        self.rows(scope, sql, values, |row| self.instance_of(row))
    }

    /// The instance in the first thirteen columns of a row, the last two of which are the dataset and
    /// the checksum of the stored row.
    pub(super) fn instance_of(&self, row: &dyn Columns) -> Result<Instance> {
        sound(self.stored_instance(row)?)
    }

    fn stored_instance(&self, row: &dyn Columns) -> Result<StoredInstance> {
        let mut instance = Instance {
            dataset: row.dataset_name(0)?,
            timestamp: row.instant(1)?,
            until: row.instant_or_null(2)?,
            identifier: row.identifier(3)?,
            granules: row.count(4)?,
            ingested: row.count(5)?,
            deleted: row.count(6)?,
            recorded: row.instant(7)?,
            recorded_by: row.string_or_null(8)?,
            note: row.string_or_null(9)?,
            annotations: self.annotations_in(row, 10)?,
        };
        let is_sound = row.bytes(12)? == row_check(DatasetKey(row.int(11)?), &instance);
        instance.recorded_by = self.shown(instance.recorded_by);
        Ok(StoredInstance { instance, is_sound })
    }
}

fn sound(StoredInstance { instance, is_sound }: StoredInstance) -> Result<Instance> {
    match is_sound {
        true => Ok(instance),
        false => Err(damaged(format_args!(
            "the row of {} at {} differs from its checksum",
            instance.dataset, instance.timestamp
        ))),
    }
}

/// The CRC-32 (IEEE) of a row, in the order of its columns: numbers in 8 bytes, the least significant
/// first; the identifier; each text with its length before it. What is NULL has the length 2^64 - 1.
fn row_check(dataset: DatasetKey, instance: &Instance) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&dataset.0.to_le_bytes());
    hasher.update(&instance.timestamp.as_micros().to_le_bytes());
    hasher.update(instance.identifier.as_bytes());
    for count in [instance.granules, instance.ingested, instance.deleted] {
        hasher.update(&count.to_le_bytes());
    }
    hasher.update(&instance.recorded.as_micros().to_le_bytes());
    for text in [&instance.recorded_by, &instance.note] {
        let text = text.as_deref();
        hasher.update(&text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
        hasher.update(text.unwrap_or_default().as_bytes());
    }
    hasher.finalize().to_be_bytes()
}

impl Transaction {
    /// Adds rows to a history. `until` is not stored, since it is the timestamp of the next row.
    pub fn insert_instances(&self, dataset: DatasetKey, instances: &[Instance]) -> Result<()> {
        static INSERT: Insert = Insert::new(
            "INSERT INTO {instance}
                (dataset_id, timestamp, identifier, granules, ingested, deleted, recorded,
                 recorded_by, note, row_check)",
            10,
        );
        let checks: Vec<_> =
            instances.iter().map(|instance| row_check(dataset, instance)).collect();
        let rows: Vec<_> = iter::zip(instances, &checks).collect();
        self.insert(dataset, &INSERT, &rows, |(instance, check)| {
            [
                dataset.into(),
                instance.timestamp.into(),
                instance.identifier.into(),
                instance.granules.into(),
                instance.ingested.into(),
                instance.deleted.into(),
                instance.recorded.into(),
                instance.recorded_by.as_deref().into(),
                instance.note.as_deref().into(),
                check.as_slice().into(),
            ]
        })
    }
}

impl Snapshot {
    /// The identifiers of instances and of subsets that begin with some digits, in order, at most
    /// `limit` of them. Asks every machine: an identifier does not say to which dataset it belongs.
    pub fn identifiers_beginning(
        &self,
        prefix: &IdentifierPrefix,
        limit: u32,
    ) -> Result<Vec<Identifier>> {
        static BETWEEN: Sql = Sql::new(
            "SELECT identifier
            FROM {instance}
            WHERE identifier >= ?1 AND identifier <= ?2
            UNION
            SELECT identifier
            FROM {saved_selection}
            WHERE identifier >= ?1 AND identifier <= ?2
            ORDER BY identifier
            LIMIT ?3",
        );
        let (first, last) = prefix.range();
        let values = [first.into(), last.into(), limit.into()];
        self.rows(Scope::AllDatasets, &BETWEEN, &values, |row| row.identifier(0))
    }

    /// Those of some identifiers that an instance or a subset has, in order. Asks every machine.
    pub fn identifiers_among(&self, identifiers: &[Identifier]) -> Result<Vec<Identifier>> {
        static AMONG: Sql = Sql::by_store(
            "SELECT instance.identifier
            FROM rarray(?1) AS wanted
            CROSS JOIN instance ON instance.identifier = wanted.value
            UNION
            SELECT saved_selection.identifier
            FROM rarray(?1) AS wanted
            CROSS JOIN saved_selection ON saved_selection.identifier = wanted.value
            ORDER BY 1",
            "SELECT identifier
            FROM {instance}
            WHERE identifier = ANY (?1)
            UNION
            SELECT identifier
            FROM {saved_selection}
            WHERE identifier = ANY (?1)
            ORDER BY identifier",
        );
        let values = [Value::Identifiers(identifiers)];
        self.rows(Scope::AllDatasets, &AMONG, &values, |row| row.identifier(0))
    }
}
