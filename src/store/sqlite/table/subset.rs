//! The tables `saved_selection` and `named_granule`: the subsets of datasets that were cited.

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, named_params};

use super::column::{Count, Digest, Micros};
use super::dataset;
use crate::model::{Criteria, GranuleId, Identifier, Subset};
use crate::store::Result;
use crate::store::json_column::{criteria_from, criteria_text};
use crate::store::rows::{DatasetKey, SubsetKey};
use crate::store::sqlite::session::{Snapshot, Transaction};

/// A query of the columns of a [`Subset`], followed by the given clauses.
macro_rules! select_saved {
    ($rest:literal) => {
        concat!(
            "
            SELECT saved_selection.id, dataset.name, saved_selection.timestamp,
                saved_selection.patterns, saved_selection.identifier, saved_selection.granules,
                saved_selection.cited
            FROM saved_selection
            JOIN dataset ON dataset.id = saved_selection.dataset_id",
            $rest
        )
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
        const SAME: &str = select_saved!(
            "
            WHERE saved_selection.dataset_id = :dataset_id
              AND saved_selection.identifier = :identifier
              AND saved_selection.patterns = :patterns"
        );
        let params = named_params! {
            ":dataset_id": dataset.0,
            ":identifier": Digest(identifier),
            ":patterns": criteria_text(criteria),
        };
        Ok(self.connection().prepare_cached(SAME)?.query_row(params, from_row).optional()?)
    }

    /// Every subset with an identifier, by dataset and by the time of its first citation.
    pub fn subsets_with(&self, identifier: Identifier) -> Result<Vec<(SubsetKey, Subset)>> {
        const WITH_IDENTIFIER: &str = select_saved!(
            "
            WHERE saved_selection.identifier = :identifier
            ORDER BY dataset.name, saved_selection.id"
        );
        let mut statement = self.connection().prepare_cached(WITH_IDENTIFIER)?;
        let rows =
            statement.query_map(named_params! { ":identifier": Digest(identifier) }, from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The number of the subset that was cited last, in any dataset: a look-up, where one in the
    /// dataset would be a pass over its subsets. 0 means that none was.
    pub fn last_subset(&self, _dataset: DatasetKey) -> Result<u64> {
        const LAST: &str = "SELECT coalesce(max(id), 0) FROM saved_selection";
        Ok(self.connection().prepare_cached(LAST)?.query_row([], |row| row.get::<_, Count>(0))?.0)
    }

    /// Every subset of a dataset, by identifier.
    pub fn subsets_of(&self, dataset: DatasetKey) -> Result<Vec<(SubsetKey, Subset)>> {
        const OF_DATASET: &str = select_saved!(
            "
            WHERE saved_selection.dataset_id = :dataset_id
            ORDER BY saved_selection.identifier, saved_selection.patterns"
        );
        let mut statement = self.connection().prepare_cached(OF_DATASET)?;
        let rows = statement.query_map(named_params! { ":dataset_id": dataset.0 }, from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

impl Transaction<'_> {
    /// Adds a subset that is not stored yet.
    pub fn insert_subset(&self, dataset: DatasetKey, subset: &Subset) -> Result<SubsetKey> {
        const INSERT: &str = "
            INSERT INTO saved_selection
                (dataset_id, timestamp, patterns, identifier, granules, cited)
            VALUES (:dataset_id, :timestamp, :patterns, :identifier, :granules, :cited)";
        self.connection().prepare_cached(INSERT)?.execute(named_params! {
            ":dataset_id": dataset.0,
            ":timestamp": Micros(subset.timestamp),
            ":patterns": criteria_text(&subset.criteria),
            ":identifier": Digest(subset.identifier),
            ":granules": Count(subset.granules),
            ":cited": Micros(subset.cited),
        })?;
        Ok(SubsetKey(self.connection().last_insert_rowid()))
    }

    /// Adds the granules that a new subset names.
    pub fn insert_named(
        &self,
        _dataset: DatasetKey,
        subset: SubsetKey,
        granule_ids: &[GranuleId],
    ) -> Result<()> {
        const INSERT: &str = "
            INSERT INTO named_granule (selection_id, granule_id)
            VALUES (?1, ?2)";
        let mut insert = self.connection().prepare_cached(INSERT)?;
        for granule_id in granule_ids {
            insert.execute((subset.0, granule_id.as_str()))?;
        }
        Ok(())
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<(SubsetKey, Subset)> {
    let criteria = criteria_from(row.get_ref(3)?.as_str()?)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(3, Type::Text, error))?;
    let saved = Subset {
        dataset: dataset::name_from(row, 1)?,
        timestamp: row.get::<_, Micros>(2)?.0,
        criteria,
        identifier: row.get::<_, Digest>(4)?.0,
        granules: row.get::<_, Count>(5)?.0,
        cited: row.get::<_, Micros>(6)?.0,
    };
    Ok((SubsetKey(row.get(0)?), saved))
}
