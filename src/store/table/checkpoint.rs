//! The table `checkpoint`: the running identifier and list of a dataset after some of its granules.

use crate::model::Checkpoint;
use crate::store::Result;
use crate::store::row::row;
use crate::store::rows::DatasetKey;
use crate::store::session::{Transaction, View};
use crate::store::statement::Sql;

row!(Checkpoint in CHECKPOINT { granule_id, chain, list, granules });

impl View {
    /// The last checkpoint before an id. `None` means that there is no checkpoint before it.
    pub fn checkpoint_before(
        &self,
        dataset: DatasetKey,
        granule_id: &str,
    ) -> Result<Option<Checkpoint>> {
        static BEFORE: Sql = Sql::new(
            "SELECT {checkpoint.*}
            FROM {checkpoint}
            WHERE dataset_id = ?1 AND granule_id < ?2
            ORDER BY granule_id DESC
            LIMIT 1",
        );
        Ok(self.select(&BEFORE, &[dataset.into(), granule_id.into()])?.pop())
    }

    /// The checkpoints of a dataset after an id (`""` means from the first), in canonical order, at
    /// most `limit` of them. One granule in 1,024 has one.
    pub fn checkpoints_after(
        &self,
        dataset: DatasetKey,
        after: &str,
        limit: u32,
    ) -> Result<Vec<Checkpoint>> {
        self.after(dataset, &[after.into()], limit)
    }
}

impl Transaction {
    /// Deletes the checkpoints at and after an id, which a change there has invalidated.
    pub fn drop_checkpoints_from(&self, dataset: DatasetKey, granule_id: &str) -> Result<()> {
        static DROP: Sql = Sql::new(
            "DELETE FROM {checkpoint}
            WHERE dataset_id = ?1 AND granule_id >= ?2",
        );
        self.run(dataset, &DROP, &[dataset.into(), granule_id.into()])
    }
}
