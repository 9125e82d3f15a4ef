//! The table `instance`: the history of each dataset.

use rusqlite::{OptionalExtension, Params, Row, named_params};

use super::column::{Count, Digest, Micros};
use super::dataset;
use crate::model::{DatasetName, Identifier, Instance, Timestamp};
use crate::store::Result;
use crate::store::order::ascending;
use crate::store::rows::DatasetKey;
use crate::store::sqlite::session::{Snapshot, Transaction};

/// A query of the columns of an [`Instance`], followed by the given clauses.
macro_rules! select_instance {
    ($rest:literal) => {
        concat!(
            "
            SELECT dataset.name, instance.timestamp,
                (SELECT min(later.timestamp)
                 FROM instance AS later
                 WHERE later.dataset_id = instance.dataset_id
                   AND later.timestamp > instance.timestamp),
                instance.identifier, instance.granules, instance.ingested, instance.deleted,
                instance.recorded, instance.recorded_by, instance.note
            FROM instance
            JOIN dataset ON dataset.id = instance.dataset_id",
            $rest
        )
    };
}

impl Snapshot {
    /// The last instance of the history. `None` means that there was no change yet.
    pub fn latest_instance(&self, dataset: DatasetKey) -> Result<Option<Instance>> {
        const LATEST: &str = select_instance!(
            "
            WHERE instance.dataset_id = :dataset_id
            ORDER BY instance.timestamp DESC
            LIMIT 1"
        );
        self.instance(LATEST, named_params! { ":dataset_id": dataset.0 })
    }

    /// The latest instance that was recorded at or before a time. `None` means that none was. Reads
    /// one row for each change that was recorded later.
    pub fn latest_recorded_by(
        &self,
        dataset: DatasetKey,
        recorded: Timestamp,
    ) -> Result<Option<Instance>> {
        const LATEST: &str = select_instance!(
            "
            WHERE instance.dataset_id = :dataset_id AND instance.recorded <= :recorded
            ORDER BY instance.timestamp DESC
            LIMIT 1"
        );
        let params = named_params! { ":dataset_id": dataset.0, ":recorded": Micros(recorded) };
        self.instance(LATEST, params)
    }

    /// The instances that came into force between two instants (inclusive) according to the
    /// registry at the time: once the change had taken effect and was recorded. In order of time.
    /// Costs a pass over the history.
    pub fn instances_known_between(
        &self,
        dataset: DatasetKey,
        first: Timestamp,
        last: Timestamp,
    ) -> Result<Vec<Instance>> {
        const BETWEEN: &str = select_instance!(
            "
            WHERE instance.dataset_id = :dataset_id
              AND max(instance.timestamp, instance.recorded) BETWEEN :first AND :last
            ORDER BY instance.timestamp"
        );
        let params = named_params! {
            ":dataset_id": dataset.0, ":first": Micros(first), ":last": Micros(last),
        };
        self.instances(BETWEEN, params)
    }

    /// The instance in force at an instant according to the registry at that time. `None` means
    /// that none was known.
    pub fn instance_known_at(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
    ) -> Result<Option<Instance>> {
        const KNOWN: &str = select_instance!(
            "
            WHERE instance.dataset_id = :dataset_id
              AND instance.timestamp <= :at AND instance.recorded <= :at
            ORDER BY instance.timestamp DESC
            LIMIT 1"
        );
        self.instance(KNOWN, named_params! { ":dataset_id": dataset.0, ":at": Micros(at) })
    }

    /// The first instance of the history. `None` means that there was no change yet.
    pub fn first_instance(&self, dataset: DatasetKey) -> Result<Option<Instance>> {
        const FIRST: &str = select_instance!(
            "
            WHERE instance.dataset_id = :dataset_id
            ORDER BY instance.timestamp
            LIMIT 1"
        );
        self.instance(FIRST, named_params! { ":dataset_id": dataset.0 })
    }

    /// The instance in force at an instant. `None` means that it is before the first change.
    pub fn instance_at(&self, dataset: DatasetKey, at: Timestamp) -> Result<Option<Instance>> {
        const IN_FORCE: &str = select_instance!(
            "
            WHERE instance.dataset_id = :dataset_id AND instance.timestamp <= :at
            ORDER BY instance.timestamp DESC
            LIMIT 1"
        );
        self.instance(IN_FORCE, named_params! { ":dataset_id": dataset.0, ":at": Micros(at) })
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
        const PAGE: &str = select_instance!(
            "
            WHERE instance.dataset_id = :dataset_id
              AND instance.timestamp > :after AND instance.timestamp <= :up_to
            ORDER BY instance.timestamp
            LIMIT :limit"
        );
        let params = named_params! {
            ":dataset_id": dataset.0,
            ":after": after.map_or(i64::MIN, Timestamp::as_micros),
            ":up_to": Micros(up_to),
            ":limit": limit,
        };
        ascending(
            "instance",
            self.instances(PAGE, params)?,
            |first| after.is_none_or(|after| first.timestamp > after),
            |one, next| one.timestamp < next.timestamp,
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
        const PAGE: &str = select_instance!(
            "
            WHERE instance.dataset_id = :dataset_id
              AND instance.timestamp < :before AND instance.timestamp >= :since
            ORDER BY instance.timestamp DESC
            LIMIT :limit"
        );
        let params = named_params! {
            ":dataset_id": dataset.0,
            ":before": Micros(before),
            ":since": since.map_or(i64::MIN, Timestamp::as_micros),
            ":limit": limit,
        };
        ascending(
            "instance",
            self.instances(PAGE, params)?,
            |first| first.timestamp < before,
            |one, next| one.timestamp > next.timestamp,
        )
    }

    /// The instances with an identifier after a dataset and a time, by dataset and time, at most
    /// `limit` of them.
    pub fn instances_with(
        &self,
        identifier: Identifier,
        after: Option<(&DatasetName, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<Instance>> {
        const PAGE: &str = select_instance!(
            "
            WHERE instance.identifier = :identifier
              AND (dataset.name, instance.timestamp) > (:after, :timestamp)
            ORDER BY dataset.name, instance.timestamp
            LIMIT :limit"
        );
        let params = named_params! {
            ":identifier": Digest(identifier),
            ":after": after.map_or("", |(name, _)| name.as_str()),
            ":timestamp": after.map_or(i64::MIN, |(_, timestamp)| timestamp.as_micros()),
            ":limit": limit,
        };
        ascending(
            "instance",
            self.instances(PAGE, params)?,
            |first| after.is_none_or(|(name, at)| (name, at) < (&first.dataset, first.timestamp)),
            |one, next| (&one.dataset, one.timestamp) < (&next.dataset, next.timestamp),
        )
    }

    /// The instances of one dataset with an identifier, in order of time.
    pub fn instances_of_with(
        &self,
        dataset: DatasetKey,
        identifier: Identifier,
    ) -> Result<Vec<Instance>> {
        const WITH: &str = select_instance!(
            "
            WHERE instance.identifier = :identifier AND instance.dataset_id = :dataset_id
            ORDER BY instance.timestamp"
        );
        let params = named_params! { ":identifier": Digest(identifier), ":dataset_id": dataset.0 };
        self.instances(WITH, params)
    }

    /// The latest instance with an identifier in any dataset. `None` means that no instance ever
    /// had it.
    pub fn latest_with(&self, identifier: Identifier) -> Result<Option<Instance>> {
        const LATEST: &str = select_instance!(
            "
            WHERE instance.identifier = :identifier
            ORDER BY instance.timestamp DESC, dataset.name DESC
            LIMIT 1"
        );
        self.instance(LATEST, named_params! { ":identifier": Digest(identifier) })
    }

    /// The number of instances in the registry with an identifier.
    pub fn count_instances_with(&self, identifier: Identifier) -> Result<u64> {
        const COUNT: &str = "
            SELECT count(*)
            FROM instance
            WHERE identifier = :identifier";
        let params = named_params! { ":identifier": Digest(identifier) };
        let mut statement = self.connection().prepare_cached(COUNT)?;
        Ok(statement.query_row(params, |row| row.get::<_, Count>(0))?.0)
    }

    /// The number of instances of a dataset with a timestamp at or before `up_to`.
    pub fn count_instances(&self, dataset: DatasetKey, up_to: Timestamp) -> Result<u64> {
        const COUNT: &str = "
            SELECT count(*)
            FROM instance
            WHERE dataset_id = :dataset_id AND timestamp <= :up_to";
        let params = named_params! { ":dataset_id": dataset.0, ":up_to": Micros(up_to) };
        let mut statement = self.connection().prepare_cached(COUNT)?;
        Ok(statement.query_row(params, |row| row.get::<_, Count>(0))?.0)
    }

    fn instance(&self, sql: &str, params: impl Params) -> Result<Option<Instance>> {
        Ok(self.connection().prepare_cached(sql)?.query_row(params, from_row).optional()?)
    }

    fn instances(&self, sql: &str, params: impl Params) -> Result<Vec<Instance>> {
        let mut statement = self.connection().prepare_cached(sql)?;
        Ok(statement.query_map(params, from_row)?.collect::<rusqlite::Result<_>>()?)
    }
}

impl Transaction<'_> {
    /// Adds rows to a history. `until` is not stored, since it is the timestamp of the next row.
    pub fn insert_instances(&self, dataset: DatasetKey, instances: &[Instance]) -> Result<()> {
        const INSERT: &str = "
            INSERT INTO instance
                (dataset_id, timestamp, identifier, granules, ingested, deleted, recorded,
                 recorded_by, note)
            VALUES
                (:dataset_id, :timestamp, :identifier, :granules, :ingested, :deleted, :recorded,
                 :recorded_by, :note)";
        let mut insert = self.connection().prepare_cached(INSERT)?;
        for instance in instances {
            insert.execute(named_params! {
                ":dataset_id": dataset.0,
                ":timestamp": Micros(instance.timestamp),
                ":identifier": Digest(instance.identifier),
                ":granules": Count(instance.granules),
                ":ingested": Count(instance.ingested),
                ":deleted": Count(instance.deleted),
                ":recorded": Micros(instance.recorded),
                ":recorded_by": instance.recorded_by,
                ":note": instance.note,
            })?;
        }
        Ok(())
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Instance> {
    Ok(Instance {
        dataset: dataset::name_from(row, 0)?,
        timestamp: row.get::<_, Micros>(1)?.0,
        until: row.get::<_, Option<Micros>>(2)?.map(|until| until.0),
        identifier: row.get::<_, Digest>(3)?.0,
        granules: row.get::<_, Count>(4)?.0,
        ingested: row.get::<_, Count>(5)?.0,
        deleted: row.get::<_, Count>(6)?.0,
        recorded: row.get::<_, Micros>(7)?.0,
        recorded_by: row.get(8)?,
        note: row.get(9)?,
    })
}
