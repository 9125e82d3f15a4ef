//! The tables `statement` and `tree_head`: the archive's statements about its sets, and the checkpoints that it
//! signed.

use crate::model::{Subset, Timestamp};
use crate::store::Result;
use crate::store::checked_row::row;
use crate::store::rows::{DatasetKey, StoredDataset, StoredStatement, SubsetKey, TreeHead};
use crate::store::session::View;
use crate::store::statement::{Sql, Value};

row!(StoredStatement in STATEMENT { number, dataset, subset, since, text });
row!(TreeHead in TREE_HEAD { size, note, policy, signed });

impl View {
    /// All statements from a number, in order.
    pub fn statements(&self, first: u64) -> impl Iterator<Item = Result<StoredStatement>> {
        self.all(None, first.checked_sub(1).into_iter().map(Value::from).collect())
    }

    /// The last statement about a whole instance of a dataset.
    pub fn last_statement_of(&self, dataset: DatasetKey) -> Result<Option<StoredStatement>> {
        static LAST: Sql = Sql::new(
            "SELECT {statement.*}
            FROM {statement}
            WHERE dataset = ?1 AND subset IS NULL
            ORDER BY since DESC, number DESC
            LIMIT 1",
        );
        Ok(self.select(&LAST, &[dataset.into()])?.pop())
    }

    /// The subsets of a dataset without a statement, in the order in which they were cited.
    pub fn subsets_not_stated(&self, dataset: DatasetKey) -> Result<Vec<(SubsetKey, Subset)>> {
        static STATED: Sql = Sql::new(
            "SELECT subset
            FROM {statement}
            WHERE dataset = ?1 AND subset > 0
            ORDER BY subset",
        );
        let stated: Vec<SubsetKey> = self.rows(&STATED, &[dataset.into()], |row| row.get(0))?;
        if self.last_subset(dataset)? == stated.len() as u64 {
            return Ok(Vec::new());
        }
        let mut subsets = self.subsets_of(dataset)?;
        subsets.retain(|(key, _)| stated.binary_search(key).is_err());
        subsets.sort_by_key(|(key, _)| *key);
        Ok(subsets)
    }

    /// All datasets, including withdrawn ones, in order of key.
    pub fn every_dataset(&self) -> impl Iterator<Item = Result<StoredDataset>> {
        let keys = self
            .dataset_keys()
            .map_or_else(|error| vec![Err(error)], |keys| keys.into_iter().map(Ok).collect());
        keys.into_iter().filter_map(|key: Result<DatasetKey>| {
            key.and_then(|key| Ok(self.first(key, 1)?.pop())).transpose()
        })
    }

    /// The statements about the instance with a timestamp, in order.
    pub fn statements_since(
        &self,
        dataset: DatasetKey,
        since: Timestamp,
    ) -> Result<Vec<StoredStatement>> {
        static OF_INSTANCE: Sql = Sql::new(
            "SELECT {statement.*}
            FROM {statement}
            WHERE dataset = ?1 AND subset IS NULL AND since = ?2
            ORDER BY number",
        );
        self.select(&OF_INSTANCE, &[dataset.into(), since.into()])
    }

    /// The statement about a subset.
    pub fn statement_of_subset(
        &self,
        dataset: DatasetKey,
        subset: SubsetKey,
    ) -> Result<Vec<StoredStatement>> {
        static OF_SUBSET: Sql = Sql::new(
            "SELECT {statement.*}
            FROM {statement}
            WHERE dataset = ?1 AND subset = ?2",
        );
        self.select(&OF_SUBSET, &[dataset.into(), subset.into()])
    }

    /// All signed checkpoints, in order of size.
    pub fn tree_heads(&self) -> Result<Vec<TreeHead>> {
        self.first(None, u32::MAX)
    }
}
