//! The tables `saved_selection` and `named_granule`: the subsets of datasets that were cited.

use tokio_postgres::Row;

use super::column::{count, damaged, dataset_name, identifier, instant, stored, value};
use crate::model::{Criteria, GranuleId, Identifier, Subset};
use crate::store::Result;
use crate::store::json_column::{criteria_from, criteria_text};
use crate::store::postgres::parameter::{Parameter, bigint, bytes, text};
use crate::store::postgres::session::{Snapshot, Transaction};
use crate::store::rows::{DatasetKey, SubsetKey};

/// A query of the columns of a [`Subset`], followed by the given clauses.
macro_rules! select_saved {
    ($rest:literal) => {
        concat!(
            "
            SELECT saved_selection.id, dataset.name, saved_selection.timestamp,
                saved_selection.patterns, saved_selection.identifier, saved_selection.granules,
                saved_selection.cited
            FROM accession.saved_selection
            JOIN accession.dataset ON dataset.id = saved_selection.dataset_id",
            $rest
        )
    };
}

impl Snapshot {
    pub fn subset(
        &self,
        dataset: DatasetKey,
        with: Identifier,
        criteria: &Criteria,
    ) -> Result<Option<(SubsetKey, Subset)>> {
        const SAME: &str = select_saved!(
            "
            WHERE saved_selection.dataset_id = $1 AND saved_selection.identifier = $2
              AND saved_selection.patterns = $3"
        );
        let criteria = criteria_text(criteria);
        let parameters = [bigint(dataset.0), bytes(with.as_bytes()), text(criteria.as_str())];
        Ok(self.subsets(Some(dataset), SAME, &parameters)?.into_iter().next())
    }

    /// Asks every machine: an identifier does not say which dataset its subset belongs to.
    pub fn subsets_with(&self, with: Identifier) -> Result<Vec<(SubsetKey, Subset)>> {
        const WITH_IDENTIFIER: &str = select_saved!(
            "
            WHERE saved_selection.identifier = $1
            ORDER BY dataset.name, saved_selection.id"
        );
        self.subsets(None, WITH_IDENTIFIER, &[bytes(with.as_bytes())])
    }

    pub fn last_subset(&self, dataset: DatasetKey) -> Result<u64> {
        const LAST: &str = "
            SELECT coalesce(max(id), 0)
            FROM accession.saved_selection
            WHERE dataset_id = $1";
        let row = self.reading_at(Some(dataset))?.query_opt(LAST, &[bigint(dataset.0)])?;
        row.map_or(Ok(0), |row| count(&row, 0))
    }

    pub fn subsets_of(&self, dataset: DatasetKey) -> Result<Vec<(SubsetKey, Subset)>> {
        const OF_DATASET: &str = select_saved!(
            "
            WHERE saved_selection.dataset_id = $1
            ORDER BY saved_selection.identifier, saved_selection.patterns"
        );
        self.subsets(Some(dataset), OF_DATASET, &[bigint(dataset.0)])
    }

    fn subsets(
        &self,
        dataset: Option<DatasetKey>,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<(SubsetKey, Subset)>> {
        self.reading_at(dataset)?.query(sql, parameters)?.iter().map(from_row).collect()
    }
}

impl Transaction<'_> {
    pub fn insert_subset(&self, dataset: DatasetKey, subset: &Subset) -> Result<SubsetKey> {
        const NEXT: &str = "
            SELECT coalesce(max(id), 0) + 1
            FROM accession.saved_selection
            WHERE dataset_id = $1";
        const INSERT: &str = "
            INSERT INTO accession.saved_selection
                (dataset_id, id, timestamp, patterns, identifier, granules, cited)
            VALUES ($1, $2, $3, $4, $5, $6, $7)";
        self.lock(dataset.0)?;
        let row = self.connection().query_opt(NEXT, &[bigint(dataset.0)])?;
        let id: i64 = row.map_or(Ok(1), |row| value(&row, 0))?;
        self.connection().defer(
            INSERT,
            &[
                bigint(dataset.0),
                bigint(id),
                bigint(subset.timestamp.as_micros()),
                text(criteria_text(&subset.criteria).as_str()),
                bytes(subset.identifier.as_bytes()),
                bigint(stored(subset.granules)?),
                bigint(subset.cited.as_micros()),
            ],
        )?;
        Ok(SubsetKey(id))
    }

    pub fn insert_named(
        &self,
        dataset: DatasetKey,
        subset: SubsetKey,
        granule_ids: &[GranuleId],
    ) -> Result<()> {
        const INTO: &str = "
            INSERT INTO accession.named_granule (dataset_id, selection_id, granule_id)";
        let rows = granule_ids
            .iter()
            .map(|named| vec![bigint(dataset.0), bigint(subset.0), text(named.as_str())]);
        self.connection().insert(INTO, &rows.collect::<Vec<_>>())
    }
}

fn from_row(row: &Row) -> Result<(SubsetKey, Subset)> {
    let subset = Subset {
        dataset: dataset_name(row, 1)?,
        timestamp: instant(row, 2)?,
        criteria: criteria_from(value(row, 3)?).map_err(damaged)?,
        identifier: identifier(row, 4)?,
        granules: count(row, 5)?,
        cited: instant(row, 6)?,
    };
    Ok((SubsetKey(value(row, 0)?), subset))
}
