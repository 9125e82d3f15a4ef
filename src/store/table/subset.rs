//! The tables `subset` and `named_granule`: the cited subsets of datasets. Also the look-up of identifiers and
//! digests, of subsets and of instances.

use super::granule::granule;
use crate::model::{
    Digest, GranuleId, Holding, Identifier, IdentifierPrefix, Subset, SubsetCriteria, Timestamp,
};
use crate::store::Result;
use crate::store::checked_row::{Row, part};
use crate::store::page::{check_order, paged};
use crate::store::rows::{DatasetKey, SubsetKey};
use crate::store::session::{Transaction, View};
use crate::store::statement::{self, Columns, Existing, Field, Sql, StoredTable, Value};

impl Row for (SubsetKey, Subset) {
    fn table() -> &'static StoredTable {
        &statement::SUBSET
    }
}

part!(Subset {
    timestamp, criteria, identifier, digest, granules, cited
} beside { dataset } empty {});

/// A granule id as a row of the table `named_granule`.
impl Row for GranuleId {
    fn table() -> &'static StoredTable {
        &statement::NAMED_GRANULE
    }
}

/// A query of the columns of a [`Subset`], followed by the given clauses.
macro_rules! select_saved {
    ($rest:literal) => {
        Sql::new(concat!(
            "SELECT {subset.*}, dataset.name
            FROM {subset}
            JOIN {dataset} ON dataset.id = subset.dataset_id
            ",
            $rest
        ))
    };
}

impl View {
    /// The subset with this identifier, digest and criteria in a dataset. `None` means that it was not cited.
    pub fn subset(
        &self,
        dataset: DatasetKey,
        (identifier, digest): (Identifier, Digest),
        criteria: &SubsetCriteria,
    ) -> Result<Option<(SubsetKey, Subset)>> {
        static SAME: Sql = select_saved!(
            "WHERE subset.dataset_id = ?1 AND subset.identifier = ?2
              AND subset.digest = ?3 AND subset.patterns = ?4"
        );
        let values = [dataset.into(), identifier.into(), (&digest).into(), criteria.value()];
        Ok(self.select(&SAME, &values)?.pop())
    }

    /// Every subset with an identifier, in order of dataset and first citation.
    ///
    /// Asks every machine: an identifier does not say which dataset its subset belongs to.
    pub fn subsets_with(&self, identifier: Identifier) -> Result<Vec<(SubsetKey, Subset)>> {
        static WITH_IDENTIFIER: Sql = select_saved!(
            "WHERE subset.identifier = ?1 AND (?3 = 1 OR dataset.id IN rarray(?2))
            ORDER BY dataset.name, subset.id"
        );
        self.select(&WITH_IDENTIFIER, &self.with_shown([identifier.into()]))
    }

    /// Every subset with a digest, in order of dataset and first citation. Asks every machine.
    pub fn subsets_with_digest(&self, digest: Digest) -> Result<Vec<(SubsetKey, Subset)>> {
        static WITH_DIGEST: Sql = select_saved!(
            "WHERE subset.digest = ?1 AND (?3 = 1 OR dataset.id IN rarray(?2))
            ORDER BY dataset.name, subset.id"
        );
        self.select(&WITH_DIGEST, &self.with_shown([(&digest).into()]))
    }

    /// A number that grows whenever a subset of the dataset is cited. 0 means that no subset was cited.
    pub fn last_subset(&self, dataset: DatasetKey) -> Result<u64> {
        self.last_number::<(SubsetKey, Subset)>(dataset)
    }

    /// The last `limit` subsets of a dataset that were cited, latest first.
    pub fn last_subsets_of(&self, dataset: DatasetKey, limit: u32) -> Result<Vec<Subset>> {
        static LAST_CITED: Sql = select_saved!(
            "WHERE subset.dataset_id = ?1
            ORDER BY subset.cited DESC, subset.timestamp DESC,
                subset.granules DESC, subset.id DESC
            LIMIT ?2"
        );
        let values = [dataset.into(), limit.into()];
        let rows: Vec<(SubsetKey, Subset)> = self.select(&LAST_CITED, &values)?;
        Ok(rows.into_iter().map(|(_, subset)| subset).collect())
    }

    /// Every subset of a dataset, in order of identifier.
    pub fn subsets_of(&self, dataset: DatasetKey) -> Result<Vec<(SubsetKey, Subset)>> {
        static OF_DATASET: Sql = select_saved!(
            "WHERE subset.dataset_id = ?1
            ORDER BY subset.identifier, subset.digest,
                subset.patterns"
        );
        self.select(&OF_DATASET, &[dataset.into()])
    }

    /// The subsets of a dataset from a number, in the order in which they were stored.
    pub fn subsets_from(
        &self,
        dataset: DatasetKey,
        first: u64,
    ) -> Result<Vec<(SubsetKey, Subset)>> {
        static FROM: Sql = select_saved!(
            "WHERE subset.dataset_id = ?1 AND subset.id >= ?2
            ORDER BY subset.id"
        );
        self.select(&FROM, &[dataset.into(), first.into()])
    }

    /// The first `limit` granules of a subset of named granules, after an id, in canonical order, as they were
    /// held at an instant. The second value is `None` if the granule was not held then.
    pub fn named_after(
        &self,
        dataset: DatasetKey,
        subset: SubsetKey,
        at: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<Vec<(GranuleId, Option<Holding>)>> {
        // `OFFSET 0` keeps the planner from turning a look-up for each id into a join. Without statistics, it
        // would begin that join with the whole table.
        static PAGE: Sql = Sql::by_store(
            "SELECT {named_granule.*}, granule.granule_id, granule.ingested, granule.deleted,
                granule.producer_granule
            FROM named_granule
            LEFT JOIN granule
              ON granule.dataset_id = ?1
              AND granule.granule_id = named_granule.granule_id
              AND granule.ingested <= ?3 AND (granule.deleted IS NULL OR granule.deleted > ?3)
            WHERE named_granule.dataset_id = ?1 AND named_granule.subset_id = ?2
              AND named_granule.granule_id > ?4
            ORDER BY named_granule.granule_id
            LIMIT ?5",
            "SELECT {named_granule.*}, held.granule_id, held.ingested, held.deleted,
                held.producer_granule
            FROM {named_granule}
            LEFT JOIN LATERAL (
                SELECT granule_id, ingested, deleted, producer_granule
                FROM {granule}
                WHERE dataset_id = ?1 AND granule_id = named_granule.granule_id
                  AND ingested <= ?3 AND (deleted IS NULL OR deleted > ?3)
                OFFSET 0) AS held ON true
            WHERE named_granule.dataset_id = ?1 AND named_granule.subset_id = ?2
              AND named_granule.granule_id > ?4
            ORDER BY named_granule.granule_id
            LIMIT ?5",
        );
        let values = [dataset.into(), subset.into(), at.into(), after.into(), limit.into()];
        let named = |granule_id: GranuleId, row: &dyn Columns, rest| {
            let is_held = row.get::<Option<String>>(rest)?.is_some();
            Ok((granule_id, is_held.then(|| granule(row, rest)).transpose()?))
        };
        let named = self.select_with(&PAGE, &values, named)?;
        // A granule with overlapping periods is read more than once.
        let positions =
            named.iter().zip(0..).map(|((granule_id, _), row)| (granule_id.as_str(), row));
        check_order("named_granule", Some((after, u64::MAX)), positions)?;
        Ok(named)
    }

    /// Like [`View::named_after`], but all granules.
    pub fn named(
        &self,
        dataset: DatasetKey,
        subset: SubsetKey,
        at: Timestamp,
    ) -> impl Iterator<Item = Result<(GranuleId, Option<Holding>)>> {
        paged(
            String::new(),
            move |after, limit| self.named_after(dataset, subset, at, after, limit),
            |(last, _)| last.to_string(),
        )
    }
}

impl Transaction {
    /// Adds a subset that is not stored yet.
    pub fn insert_subset(&self, dataset: DatasetKey, subset: &Subset) -> Result<SubsetKey> {
        self.session()?.lock(dataset)?;
        let key = SubsetKey(self.last_subset(dataset)? + 1);
        self.insert(dataset, &[(key, subset.clone())])?;
        Ok(key)
    }

    /// Adds the granules of a new subset of named granules.
    pub fn insert_named(
        &self,
        dataset: DatasetKey,
        subset: SubsetKey,
        granule_ids: &[GranuleId],
    ) -> Result<()> {
        let table = &statement::NAMED_GRANULE;
        self.add(dataset, table, Existing::Refused, granule_ids, |granule_id, values| {
            values.extend([subset.into(), granule_id.into()]);
        })
    }
}

impl View {
    /// The first `limit` identifiers of instances and subsets that begin with some digits, in order. Asks every
    /// machine: an identifier does not say which dataset it belongs to.
    pub fn identifiers_beginning(
        &self,
        prefix: &IdentifierPrefix,
        limit: u32,
    ) -> Result<Vec<Identifier>> {
        static BETWEEN: Sql = Sql::new(
            "SELECT identifier
            FROM {instance}
            WHERE identifier >= ?1 AND identifier <= ?2 AND (?5 = 1 OR dataset_id IN rarray(?4))
            UNION
            SELECT identifier
            FROM {subset}
            WHERE identifier >= ?1 AND identifier <= ?2 AND (?5 = 1 OR dataset_id IN rarray(?4))
            ORDER BY identifier
            LIMIT ?3",
        );
        let (first, last) = prefix.range();
        let values = self.with_shown([first.into(), last.into(), limit.into()]);
        self.rows(&BETWEEN, &values, |row| row.get(0))
    }

    /// The first `limit` digests of instances and subsets from one digest to another, in order. Asks every
    /// machine.
    pub fn digests_between(
        &self,
        (first, last): (Digest, Digest),
        limit: u32,
    ) -> Result<Vec<Digest>> {
        static BETWEEN: Sql = Sql::new(
            "SELECT digest
            FROM {instance}
            WHERE digest >= ?1 AND digest <= ?2 AND (?5 = 1 OR dataset_id IN rarray(?4))
            UNION
            SELECT digest
            FROM {subset}
            WHERE digest >= ?1 AND digest <= ?2 AND (?5 = 1 OR dataset_id IN rarray(?4))
            ORDER BY digest
            LIMIT ?3",
        );
        let values = self.with_shown([(&first).into(), (&last).into(), limit.into()]);
        self.rows(&BETWEEN, &values, |row| row.get(0))
    }

    /// The identifiers among these that an instance or a subset has, in order. Asks every machine.
    pub fn identifiers_among(&self, identifiers: &[Identifier]) -> Result<Vec<Identifier>> {
        static AMONG: Sql = Sql::new(
            "SELECT identifier
            FROM {instance}
            WHERE identifier IN rarray(?1) AND (?3 = 1 OR dataset_id IN rarray(?2))
            UNION
            SELECT identifier
            FROM {subset}
            WHERE identifier IN rarray(?1) AND (?3 = 1 OR dataset_id IN rarray(?2))
            ORDER BY identifier",
        );
        let values = self.with_shown([Value::Identifiers(identifiers)]);
        self.rows(&AMONG, &values, |row| row.get(0))
    }
}
