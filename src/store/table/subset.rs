//! The tables `saved_selection` and `named_granule`: the subsets of datasets that were cited.

use super::granule::granule;
use crate::model::{
    Criteria, Granule, GranuleId, Identifier, Pattern, Subset, Timestamp, ValueError,
};
use crate::store::Result;
use crate::store::page::{ascending, paged};
use crate::store::rows::{DatasetKey, SubsetKey};
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{Columns, Insert, Scope, Sql, damaged};

/// A query of the columns of a [`Subset`], followed by the given clauses.
macro_rules! select_saved {
    ($rest:literal) => {
        Sql::new(concat!(
            "SELECT saved_selection.id, dataset.name, saved_selection.timestamp,
                saved_selection.patterns, saved_selection.identifier, saved_selection.granules,
                saved_selection.cited
            FROM {saved_selection}
            JOIN {dataset} ON dataset.id = saved_selection.dataset_id
            ",
            $rest
        ))
    };
}

impl Snapshot {
    /// The subset that the same criteria selected from the same dataset. `None` means that it was
    /// not cited.
    pub fn subset(
        &self,
        dataset: DatasetKey,
        identifier: Identifier,
        criteria: &Criteria,
    ) -> Result<Option<(SubsetKey, Subset)>> {
        static SAME: Sql = select_saved!(
            "WHERE saved_selection.dataset_id = ?1 AND saved_selection.identifier = ?2
              AND saved_selection.patterns = ?3"
        );
        let criteria = criteria_text(criteria);
        let values = [dataset.into(), identifier.into(), criteria.as_str().into()];
        self.row(Scope::Dataset(dataset), &SAME, &values, subset)
    }

    /// Every subset with an identifier, by dataset and by the time of its first citation.
    ///
    /// Asks every machine: an identifier does not say which dataset its subset belongs to.
    pub fn subsets_with(&self, identifier: Identifier) -> Result<Vec<(SubsetKey, Subset)>> {
        static WITH_IDENTIFIER: Sql = select_saved!(
            "WHERE saved_selection.identifier = ?1
            ORDER BY dataset.name, saved_selection.id"
        );
        self.rows(Scope::AllDatasets, &WITH_IDENTIFIER, &[identifier.into()], subset)
    }

    /// A number that grows whenever a subset of the dataset is cited, and perhaps when one of another
    /// dataset is. 0 means that none was. Costs one look-up: in a file, one in the dataset would be a
    /// pass over its subsets.
    pub fn last_subset(&self, dataset: DatasetKey) -> Result<u64> {
        static LAST: Sql = Sql::new(
            "SELECT coalesce(max(id), 0)
            FROM {saved_selection}
            [WHERE dataset_id = ?1]",
        );
        self.count(Scope::Dataset(dataset), &LAST, &[dataset.into()])
    }

    /// The subsets of a dataset that were cited last, the last first, at most `limit` of them.
    #[cfg(feature = "serve")]
    pub fn last_subsets_of(&self, dataset: DatasetKey, limit: u32) -> Result<Vec<Subset>> {
        static LAST_CITED: Sql = select_saved!(
            "WHERE saved_selection.dataset_id = ?1
            ORDER BY saved_selection.cited DESC, saved_selection.timestamp DESC,
                saved_selection.granules DESC, saved_selection.id DESC
            LIMIT ?2"
        );
        let values = [dataset.into(), limit.into()];
        let rows = self.rows(Scope::Dataset(dataset), &LAST_CITED, &values, subset)?;
        Ok(rows.into_iter().map(|(_, subset)| subset).collect())
    }

    /// The number of subsets of a dataset.
    #[cfg(feature = "serve")]
    pub fn count_subsets(&self, dataset: DatasetKey) -> Result<u64> {
        static COUNT: Sql = Sql::new(
            "SELECT count(*)
            FROM {saved_selection}
            WHERE dataset_id = ?1",
        );
        self.count(Scope::Dataset(dataset), &COUNT, &[dataset.into()])
    }

    /// Every subset of a dataset, by identifier.
    pub fn subsets_of(&self, dataset: DatasetKey) -> Result<Vec<(SubsetKey, Subset)>> {
        static OF_DATASET: Sql = select_saved!(
            "WHERE saved_selection.dataset_id = ?1
            ORDER BY saved_selection.identifier, saved_selection.patterns"
        );
        self.rows(Scope::Dataset(dataset), &OF_DATASET, &[dataset.into()], subset)
    }

    /// The granules that a subset names, as they were held at an instant, after an id, in canonical
    /// order, at most `limit` of them. The second value is `None` if the granule was not held then.
    pub fn named_after(
        &self,
        dataset: DatasetKey,
        subset: SubsetKey,
        at: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<Vec<(GranuleId, Option<Granule>)>> {
        // `OFFSET 0` keeps the planner from turning a look-up for each id into a join, which it would
        // begin at the table's side while the table has no statistics.
        static PAGE: Sql = Sql::by_store(
            "SELECT granule.granule_id, granule.ingested, granule.deleted, granule.producer_granule,
                named_granule.granule_id
            FROM named_granule
            LEFT JOIN granule
              ON granule.dataset_id = ?1
              AND granule.granule_id = named_granule.granule_id
              AND granule.ingested <= ?3 AND (granule.deleted IS NULL OR granule.deleted > ?3)
            WHERE named_granule.selection_id = ?2 AND named_granule.granule_id > ?4
            ORDER BY named_granule.granule_id
            LIMIT ?5",
            "SELECT held.granule_id, held.ingested, held.deleted, held.producer_granule,
                named_granule.granule_id
            FROM {named_granule}
            LEFT JOIN LATERAL (
                SELECT granule_id, ingested, deleted, producer_granule
                FROM {granule}
                WHERE dataset_id = ?1 AND granule_id = named_granule.granule_id
                  AND ingested <= ?3 AND (deleted IS NULL OR deleted > ?3)
                OFFSET 0) AS held ON true
            WHERE named_granule.dataset_id = ?1 AND named_granule.selection_id = ?2
              AND named_granule.granule_id > ?4
            ORDER BY named_granule.granule_id
            LIMIT ?5",
        );
        let values = [dataset.into(), subset.into(), at.into(), after.into(), limit.into()];
        let named = self.rows(Scope::Dataset(dataset), &PAGE, &values, |row| {
            let is_held = row.text_or_null(0)?.is_some();
            Ok((row.granule_id(4)?, is_held.then(|| granule(row)).transpose()?))
        })?;
        ascending(
            "named_granule",
            named,
            |(first, _)| first.as_str() > after,
            |(one, _), (next, _)| one <= next,
        )
    }

    /// The granules that [`Snapshot::named_after`] returns, all of them.
    pub fn named(
        &self,
        dataset: DatasetKey,
        subset: SubsetKey,
        at: Timestamp,
    ) -> impl Iterator<Item = Result<(GranuleId, Option<Granule>)>> {
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
        static INSERT: Sql = Sql::new(
            "INSERT INTO {saved_selection}
                (dataset_id, id, timestamp, patterns, identifier, granules, cited)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        );
        self.session.lock(dataset)?;
        let id = self.last_subset(dataset)? + 1;
        let criteria = criteria_text(&subset.criteria);
        let values = [
            dataset.into(),
            id.into(),
            subset.timestamp.into(),
            criteria.as_str().into(),
            subset.identifier.into(),
            subset.granules.into(),
            subset.cited.into(),
        ];
        self.run(dataset, &INSERT, &values)?;
        i64::try_from(id).map(SubsetKey).map_err(damaged)
    }

    /// Adds the granules that a new subset names.
    pub fn insert_named(
        &self,
        dataset: DatasetKey,
        subset: SubsetKey,
        granule_ids: &[GranuleId],
    ) -> Result<()> {
        static INSERT: Insert =
            Insert::new("INSERT INTO {named_granule} ([dataset_id,] selection_id, granule_id)", 3);
        self.insert(dataset, &INSERT, granule_ids, |granule_id| {
            [dataset.into(), subset.into(), granule_id.into()]
        })
    }
}

fn subset(row: &dyn Columns) -> Result<(SubsetKey, Subset)> {
    let subset = Subset {
        dataset: row.dataset_name(1)?,
        timestamp: row.instant(2)?,
        criteria: criteria_from(row.text(3)?)?,
        identifier: row.identifier(4)?,
        granules: row.count(5)?,
        cited: row.instant(6)?,
    };
    Ok((SubsetKey(row.int(0)?), subset))
}

/// The criteria of a subset as a JSON array of strings: its patterns, or an empty array if the granules
/// are named one by one.
fn criteria_text(criteria: &Criteria) -> String {
    let patterns = match criteria {
        Criteria::Patterns(patterns) => patterns.as_slice(),
        Criteria::Named => &[],
    };
    patterns.iter().map(Pattern::as_str).collect::<serde_json::Value>().to_string()
}

/// The criteria that a column states.
fn criteria_from(text: &str) -> Result<Criteria> {
    let written: Vec<String> = serde_json::from_str(text).map_err(damaged)?;
    let patterns = written.iter().map(|text| text.parse()).collect::<Result<_, ValueError>>();
    Ok(Criteria::of_patterns(patterns.map_err(damaged)?).unwrap_or(Criteria::Named))
}
