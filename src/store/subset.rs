//! The tables `saved_selection` and `named_granule`: the parts of datasets that were cited.

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, named_params};

use super::column::{Count, Digest, Id, Micros};
use super::pages::{PAGE_ROWS, Pages};
use super::{DatasetKey, Read, Result, Write, dataset};
use crate::model::{Criteria, GranuleId, Identifier, Pattern, Subset};

/// Which row of `saved_selection`; meaningless outside its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubsetKey(i64);

/// The columns of a [`Subset`], and then the rest of a query.
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

impl Read<'_> {
    /// The selection that the same criteria made of the same set before.
    pub fn subset(
        &self,
        dataset: DatasetKey,
        identifier: Identifier,
        criteria: &Criteria,
    ) -> Result<Option<Subset>> {
        const SAME: &str = select_saved!(
            "
            WHERE saved_selection.dataset_id = :dataset_id
              AND saved_selection.identifier = :identifier
              AND saved_selection.patterns = :patterns"
        );
        let params = named_params! {
            ":dataset_id": dataset.0,
            ":identifier": Digest(identifier),
            ":patterns": written(criteria),
        };
        let found =
            self.transaction.prepare_cached(SAME)?.query_row(params, from_row).optional()?;
        Ok(found.map(|(_, saved)| saved))
    }

    /// Every selection with an identifier, by dataset and by when it was first cited.
    pub fn subsets_with(&self, identifier: Identifier) -> Result<Vec<(SubsetKey, Subset)>> {
        const WITH_IDENTIFIER: &str = select_saved!(
            "
            WHERE saved_selection.identifier = :identifier
            ORDER BY dataset.name, saved_selection.id"
        );
        let mut statement = self.transaction.prepare_cached(WITH_IDENTIFIER)?;
        let rows =
            statement.query_map(named_params! { ":identifier": Digest(identifier) }, from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Every selection of a dataset, by identifier.
    pub fn subsets_of(&self, dataset: DatasetKey) -> Result<Vec<(SubsetKey, Subset)>> {
        const OF_DATASET: &str = select_saved!(
            "
            WHERE saved_selection.dataset_id = :dataset_id
            ORDER BY saved_selection.identifier, saved_selection.patterns"
        );
        let mut statement = self.transaction.prepare_cached(OF_DATASET)?;
        let rows = statement.query_map(named_params! { ":dataset_id": dataset.0 }, from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The granules that a selection names, in canonical order, a page in memory at a time.
    pub fn named_granules(&self, selection: SubsetKey) -> Pages<'_, GranuleId> {
        const PAGE: &str = "
            SELECT granule_id
            FROM named_granule
            WHERE selection_id = :selection_id AND granule_id > :behind
            ORDER BY granule_id
            LIMIT :rows";
        let load = move |behind: &str| {
            let mut statement = self.transaction.prepare_cached(PAGE)?;
            let params = named_params! {
                ":selection_id": selection.0, ":behind": behind, ":rows": PAGE_ROWS,
            };
            let rows = statement.query_map(params, |row| row.get::<_, Id>(0).map(|id| id.0))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        };
        Pages::of(load, |named| named)
    }
}

impl Write<'_> {
    /// Adds a selection that is not there yet.
    pub fn insert_subset(
        &self,
        dataset: DatasetKey,
        saved: &Subset,
        named: &[GranuleId],
    ) -> Result<()> {
        const INSERT: &str = "
            INSERT INTO saved_selection
                (dataset_id, timestamp, patterns, identifier, granules, cited)
            VALUES (:dataset_id, :timestamp, :patterns, :identifier, :granules, :cited)";
        const INSERT_NAMED: &str = "
            INSERT INTO named_granule (selection_id, granule_id) VALUES (?1, ?2)";
        self.transaction.prepare_cached(INSERT)?.execute(named_params! {
            ":dataset_id": dataset.0,
            ":timestamp": Micros(saved.timestamp),
            ":patterns": written(&saved.criteria),
            ":identifier": Digest(saved.identifier),
            ":granules": Count(saved.granules),
            ":cited": Micros(saved.cited),
        })?;
        let selection_id = self.transaction.last_insert_rowid();
        let mut insert = self.transaction.prepare_cached(INSERT_NAMED)?;
        for granule_id in named {
            insert.execute((selection_id, granule_id.as_str()))?;
        }
        Ok(())
    }
}

/// The criteria in their column: a JSON array of patterns, empty where granules are named.
fn written(criteria: &Criteria) -> String {
    let patterns = match criteria {
        Criteria::Patterns(patterns) => patterns.as_slice(),
        Criteria::Named => &[],
    };
    patterns.iter().map(Pattern::as_str).collect::<serde_json::Value>().to_string()
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<(SubsetKey, Subset)> {
    let wrong = |error| rusqlite::Error::FromSqlConversionFailure(3, Type::Text, error);
    let written: Vec<String> =
        serde_json::from_str(row.get_ref(3)?.as_str()?).map_err(|error| wrong(error.into()))?;
    let patterns = written
        .iter()
        .map(|text| text.parse())
        .collect::<std::result::Result<_, crate::model::PatternError>>()
        .map_err(|error| wrong(error.into()))?;
    let saved = Subset {
        dataset: dataset::name_from(row, 1)?,
        timestamp: row.get::<_, Micros>(2)?.0,
        criteria: Criteria::of_patterns(patterns).unwrap_or(Criteria::Named),
        identifier: row.get::<_, Digest>(4)?.0,
        granules: row.get::<_, Count>(5)?.0,
        cited: row.get::<_, Micros>(6)?.0,
    };
    Ok((SubsetKey(row.get(0)?), saved))
}
