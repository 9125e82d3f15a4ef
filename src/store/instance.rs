//! The table `instance`: the history of each dataset.

use rusqlite::{OptionalExtension, Params, Row, named_params};

use super::column::{Count, Digest, Micros};
use super::{DatasetKey, Read, Result, Write, dataset};
use crate::model::{Identifier, Instance, Timestamp};

/// The columns of an [`Instance`], and then the rest of a query.
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
                instance.recorded, instance.note
            FROM instance
            JOIN dataset ON dataset.id = instance.dataset_id",
            $rest
        )
    };
}

impl Read<'_> {
    /// The instance now in force.
    pub fn latest_instance(&self, dataset: DatasetKey) -> Result<Option<Instance>> {
        const LATEST: &str = select_instance!(
            "
            WHERE instance.dataset_id = :dataset_id
            ORDER BY instance.timestamp DESC
            LIMIT 1"
        );
        self.instance(LATEST, named_params! { ":dataset_id": dataset.0 })
    }

    /// The first instance of the history.
    pub fn first_instance(&self, dataset: DatasetKey) -> Result<Option<Instance>> {
        const FIRST: &str = select_instance!(
            "
            WHERE instance.dataset_id = :dataset_id
            ORDER BY instance.timestamp
            LIMIT 1"
        );
        self.instance(FIRST, named_params! { ":dataset_id": dataset.0 })
    }

    /// The instance in force at an instant; none before the first change.
    pub fn instance_at(&self, dataset: DatasetKey, at: Timestamp) -> Result<Option<Instance>> {
        const IN_FORCE: &str = select_instance!(
            "
            WHERE instance.dataset_id = :dataset_id AND instance.timestamp <= :at
            ORDER BY instance.timestamp DESC
            LIMIT 1"
        );
        self.instance(IN_FORCE, named_params! { ":dataset_id": dataset.0, ":at": Micros(at) })
    }

    /// The instances that took over after `after` and until `last`, in order of time.
    pub fn instances_between(
        &self,
        dataset: DatasetKey,
        after: Timestamp,
        last: Timestamp,
    ) -> Result<Vec<Instance>> {
        const BETWEEN: &str = select_instance!(
            "
            WHERE instance.dataset_id = :dataset_id
              AND instance.timestamp > :after AND instance.timestamp <= :last
            ORDER BY instance.timestamp"
        );
        let mut instances = Vec::new();
        let params = named_params! {
            ":dataset_id": dataset.0, ":after": Micros(after), ":last": Micros(last),
        };
        self.each_instance(BETWEEN, params, |instance| {
            instances.push(instance);
            Ok::<_, super::Error>(())
        })?;
        Ok(instances)
    }

    /// Shows the history of a dataset, in order of time.
    pub fn each_instance_of<E: From<super::Error>>(
        &self,
        dataset: DatasetKey,
        show: impl FnMut(Instance) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        const HISTORY: &str = select_instance!(
            "
            WHERE instance.dataset_id = :dataset_id
            ORDER BY instance.timestamp"
        );
        self.each_instance(HISTORY, named_params! { ":dataset_id": dataset.0 }, show)
    }

    /// Shows every instance with an identifier, by dataset and time.
    pub fn each_instance_with<E: From<super::Error>>(
        &self,
        identifier: Identifier,
        show: impl FnMut(Instance) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        const WITH_IDENTIFIER: &str = select_instance!(
            "
            WHERE instance.identifier = :identifier
            ORDER BY dataset.name, instance.timestamp"
        );
        self.each_instance(
            WITH_IDENTIFIER,
            named_params! { ":identifier": Digest(identifier) },
            show,
        )
    }

    fn instance(&self, sql: &str, params: impl Params) -> Result<Option<Instance>> {
        Ok(self.transaction.prepare_cached(sql)?.query_row(params, from_row).optional()?)
    }

    fn each_instance<E: From<super::Error>>(
        &self,
        sql: &str,
        params: impl Params,
        mut show: impl FnMut(Instance) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut statement = self.transaction.prepare_cached(sql).map_err(super::Error::from)?;
        let mut rows = statement.query(params).map_err(super::Error::from)?;
        while let Some(row) = rows.next().map_err(super::Error::from)? {
            show(from_row(row).map_err(super::Error::from)?)?;
        }
        Ok(())
    }
}

impl Write<'_> {
    /// Adds a row to the history; `until` is not stored but follows from the next one.
    pub fn insert_instance(&self, dataset: DatasetKey, instance: &Instance) -> Result<()> {
        const INSERT: &str = "
            INSERT INTO instance
                (dataset_id, timestamp, identifier, granules, ingested, deleted, recorded, note)
            VALUES
                (:dataset_id, :timestamp, :identifier, :granules, :ingested, :deleted, :recorded, :note)";
        self.transaction.prepare_cached(INSERT)?.execute(named_params! {
            ":dataset_id": dataset.0,
            ":timestamp": Micros(instance.timestamp),
            ":identifier": Digest(instance.identifier),
            ":granules": Count(instance.granules),
            ":ingested": Count(instance.ingested),
            ":deleted": Count(instance.deleted),
            ":recorded": Micros(instance.recorded),
            ":note": instance.note,
        })?;
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
        note: row.get(8)?,
    })
}
