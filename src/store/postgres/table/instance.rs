//! The table `instance`: the history of each dataset.

use std::collections::BTreeMap;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::column::{count, dataset_name, identifier, instant, instant_or_null, stored, value};
use crate::model::{DatasetName, Identifier, Instance, Timestamp};
use crate::store::Result;
use crate::store::order::ascending;
use crate::store::postgres::parameter::{Parameter, array, bigint, bytes, text, text_or_null};
use crate::store::postgres::session::{Snapshot, Transaction};
use crate::store::rows::DatasetKey;

/// A query of the columns of an [`Instance`], followed by the given clauses. What is the dataset is
/// `$1`, or the second argument: a parameter, unless every machine is asked, because the machine of
/// the inner query cannot be derived from the outer one.
macro_rules! select_instance {
    ($rest:literal) => {
        select_instance!($rest, "$1")
    };
    ($rest:literal, $dataset:literal) => {
        concat!(
            "
            SELECT dataset.name, instance.timestamp,
                (SELECT min(later.timestamp)
                 FROM accession.instance AS later
                 WHERE later.timestamp > instance.timestamp AND later.dataset_id = ",
            $dataset,
            "),
                instance.identifier, instance.granules, instance.ingested, instance.deleted,
                instance.recorded, instance.recorded_by, instance.note
            FROM accession.instance
            JOIN accession.dataset ON dataset.id = instance.dataset_id",
            $rest
        )
    };
}

impl Snapshot {
    pub fn latest_instance(&self, dataset: DatasetKey) -> Result<Option<Instance>> {
        const LATEST: &str = select_instance!(
            "
            WHERE instance.dataset_id = $1
            ORDER BY instance.timestamp DESC
            LIMIT 1"
        );
        self.instance(Some(dataset), LATEST, &[bigint(dataset.0)])
    }

    /// The latest instances of some datasets, by their keys. For more than one, asks every machine.
    pub(super) fn latest_instances(&self, datasets: &[i64]) -> Result<BTreeMap<i64, Instance>> {
        const LATEST: &str = "
            SELECT dataset.name, instance.timestamp, NULL::bigint, instance.identifier,
                instance.granules, instance.ingested, instance.deleted, instance.recorded,
                instance.recorded_by, instance.note, instance.dataset_id
            FROM accession.writer
            JOIN accession.instance ON instance.dataset_id = writer.dataset_id
            JOIN accession.dataset ON dataset.id = instance.dataset_id
            WHERE writer.dataset_id = ANY ($1)
              AND instance.timestamp = (
                SELECT max(other.timestamp)
                FROM accession.instance AS other
                WHERE other.dataset_id = writer.dataset_id)";
        // Citus would ask all of them for a single one, too.
        if let [dataset] = datasets {
            let latest = self.latest_instance(DatasetKey(*dataset))?;
            return Ok(latest.map(|latest| (*dataset, latest)).into_iter().collect());
        }
        let rows = self.reading_at(None)?.query(LATEST, &[array(&datasets, Type::INT8_ARRAY)])?;
        rows.iter().map(|row| Ok((value(row, 10)?, instance_of(row)?))).collect()
    }

    pub fn latest_recorded_by(
        &self,
        dataset: DatasetKey,
        recorded: Timestamp,
    ) -> Result<Option<Instance>> {
        const LATEST: &str = select_instance!(
            "
            WHERE instance.dataset_id = $1 AND instance.recorded <= $2
            ORDER BY instance.timestamp DESC
            LIMIT 1"
        );
        self.instance(Some(dataset), LATEST, &[bigint(dataset.0), bigint(recorded.as_micros())])
    }

    pub fn instances_known_between(
        &self,
        dataset: DatasetKey,
        first: Timestamp,
        last: Timestamp,
    ) -> Result<Vec<Instance>> {
        const BETWEEN: &str = select_instance!(
            "
            WHERE instance.dataset_id = $1
              AND greatest(instance.timestamp, instance.recorded) BETWEEN $2 AND $3
            ORDER BY instance.timestamp"
        );
        let (first, last) = (first.as_micros(), last.as_micros());
        self.instances(Some(dataset), BETWEEN, &[bigint(dataset.0), bigint(first), bigint(last)])
    }

    pub fn instance_known_at(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
    ) -> Result<Option<Instance>> {
        const KNOWN: &str = select_instance!(
            "
            WHERE instance.dataset_id = $1 AND instance.timestamp <= $2 AND instance.recorded <= $2
            ORDER BY instance.timestamp DESC
            LIMIT 1"
        );
        self.instance(Some(dataset), KNOWN, &[bigint(dataset.0), bigint(at.as_micros())])
    }

    pub fn first_instance(&self, dataset: DatasetKey) -> Result<Option<Instance>> {
        const FIRST: &str = select_instance!(
            "
            WHERE instance.dataset_id = $1
            ORDER BY instance.timestamp
            LIMIT 1"
        );
        self.instance(Some(dataset), FIRST, &[bigint(dataset.0)])
    }

    pub fn instance_at(&self, dataset: DatasetKey, at: Timestamp) -> Result<Option<Instance>> {
        const IN_FORCE: &str = select_instance!(
            "
            WHERE instance.dataset_id = $1 AND instance.timestamp <= $2
            ORDER BY instance.timestamp DESC
            LIMIT 1"
        );
        self.instance(Some(dataset), IN_FORCE, &[bigint(dataset.0), bigint(at.as_micros())])
    }

    pub fn instances_after(
        &self,
        dataset: DatasetKey,
        after: Option<Timestamp>,
        up_to: Timestamp,
        limit: u32,
    ) -> Result<Vec<Instance>> {
        const PAGE: &str = select_instance!(
            "
            WHERE instance.dataset_id = $1 AND instance.timestamp > $2 AND instance.timestamp <= $3
            ORDER BY instance.timestamp
            LIMIT $4"
        );
        let start = after.map_or(i64::MIN, Timestamp::as_micros);
        let (end, limit) = (up_to.as_micros(), i64::from(limit));
        let parameters = [bigint(dataset.0), bigint(start), bigint(end), bigint(limit)];
        ascending(
            "instance",
            self.instances(Some(dataset), PAGE, &parameters)?,
            |first| after.is_none_or(|after| first.timestamp > after),
            |one, next| one.timestamp < next.timestamp,
        )
    }

    pub fn instances_before(
        &self,
        dataset: DatasetKey,
        before: Timestamp,
        since: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<Instance>> {
        const PAGE: &str = select_instance!(
            "
            WHERE instance.dataset_id = $1 AND instance.timestamp < $2 AND instance.timestamp >= $3
            ORDER BY instance.timestamp DESC
            LIMIT $4"
        );
        let start = since.map_or(i64::MIN, Timestamp::as_micros);
        let (end, limit) = (before.as_micros(), i64::from(limit));
        let parameters = [bigint(dataset.0), bigint(end), bigint(start), bigint(limit)];
        ascending(
            "instance",
            self.instances(Some(dataset), PAGE, &parameters)?,
            |first| first.timestamp < before,
            |one, next| one.timestamp > next.timestamp,
        )
    }

    /// Asks every machine: an identifier does not say in which dataset it was in force.
    pub fn instances_with(
        &self,
        with: Identifier,
        after: Option<(&DatasetName, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<Instance>> {
        const PAGE: &str = select_instance!(
            "
            WHERE instance.identifier = $1 AND (dataset.name, instance.timestamp) > ($2, $3)
            ORDER BY dataset.name, instance.timestamp
            LIMIT $4",
            "instance.dataset_id"
        );
        let name = after.map_or("", |(name, _)| name.as_str());
        let start = after.map_or(i64::MIN, |(_, timestamp)| timestamp.as_micros());
        let limit = i64::from(limit);
        let digest = with.as_bytes().as_slice();
        let parameters = [bytes(digest), text(name), bigint(start), bigint(limit)];
        ascending(
            "instance",
            self.instances(None, PAGE, &parameters)?,
            |first| after.is_none_or(|(name, at)| (name, at) < (&first.dataset, first.timestamp)),
            |one, next| (&one.dataset, one.timestamp) < (&next.dataset, next.timestamp),
        )
    }

    pub fn instances_of_with(
        &self,
        dataset: DatasetKey,
        with: Identifier,
    ) -> Result<Vec<Instance>> {
        const WITH: &str = select_instance!(
            "
            WHERE instance.identifier = $1 AND instance.dataset_id = $2
            ORDER BY instance.timestamp",
            "$2"
        );
        self.instances(Some(dataset), WITH, &[bytes(with.as_bytes()), bigint(dataset.0)])
    }

    /// Asks every machine: an identifier does not say in which dataset it was in force.
    pub fn latest_with(&self, with: Identifier) -> Result<Option<Instance>> {
        const LATEST: &str = select_instance!(
            "
            WHERE instance.identifier = $1
            ORDER BY instance.timestamp DESC, dataset.name DESC
            LIMIT 1",
            "instance.dataset_id"
        );
        self.instance(None, LATEST, &[bytes(with.as_bytes())])
    }

    /// Asks every machine: an identifier does not say in which dataset it was in force.
    pub fn count_instances_with(&self, with: Identifier) -> Result<u64> {
        const COUNT: &str = "
            SELECT count(*)
            FROM accession.instance
            WHERE identifier = $1";
        let row = self.reading_at(None)?.query_opt(COUNT, &[bytes(with.as_bytes())])?;
        row.map_or(Ok(0), |row| count(&row, 0))
    }

    pub fn count_instances(&self, dataset: DatasetKey, up_to: Timestamp) -> Result<u64> {
        const COUNT: &str = "
            SELECT count(*)
            FROM accession.instance
            WHERE dataset_id = $1 AND timestamp <= $2";
        let parameters = (dataset.0, up_to.as_micros());
        let parameters = [bigint(parameters.0), bigint(parameters.1)];
        let row = self.reading_at(Some(dataset))?.query_opt(COUNT, &parameters)?;
        row.map_or(Ok(0), |row| count(&row, 0))
    }

    fn instance(
        &self,
        dataset: Option<DatasetKey>,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Instance>> {
        self.reading_at(dataset)?.query_opt(sql, parameters)?.as_ref().map(instance_of).transpose()
    }

    fn instances(
        &self,
        dataset: Option<DatasetKey>,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Instance>> {
        self.reading_at(dataset)?.query(sql, parameters)?.iter().map(instance_of).collect()
    }
}

impl Transaction<'_> {
    pub fn insert_instances(&self, dataset: DatasetKey, instances: &[Instance]) -> Result<()> {
        const INTO: &str = "
            INSERT INTO accession.instance
                (dataset_id, timestamp, identifier, granules, ingested, deleted, recorded,
                 recorded_by, note)";
        self.lock(dataset.0)?;
        let rows = instances.iter().map(|row| {
            Ok(vec![
                bigint(dataset.0),
                bigint(row.timestamp.as_micros()),
                bytes(row.identifier.as_bytes()),
                bigint(stored(row.granules)?),
                bigint(stored(row.ingested)?),
                bigint(stored(row.deleted)?),
                bigint(row.recorded.as_micros()),
                text_or_null(row.recorded_by.as_deref()),
                text_or_null(row.note.as_deref()),
            ])
        });
        self.connection().insert(INTO, &rows.collect::<Result<Vec<_>>>()?)
    }
}

/// The instance in the first ten columns of a row.
pub(super) fn instance_of(row: &Row) -> Result<Instance> {
    Ok(Instance {
        dataset: dataset_name(row, 0)?,
        timestamp: instant(row, 1)?,
        until: instant_or_null(row, 2)?,
        identifier: identifier(row, 3)?,
        granules: count(row, 4)?,
        ingested: count(row, 5)?,
        deleted: count(row, 6)?,
        recorded: instant(row, 7)?,
        recorded_by: value(row, 8)?,
        note: value(row, 9)?,
    })
}
