//! The table `checkpoint`: where a rewind can resume.

use crate::model::Checkpoint;
use crate::store::Result;
use crate::store::page::ascending;
use crate::store::rows::DatasetKey;
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{Columns, Insert, Scope, Sql};

impl Snapshot {
    /// The last checkpoint before an id. `None` means that there is no checkpoint before it.
    pub fn checkpoint_before(
        &self,
        dataset: DatasetKey,
        granule_id: &str,
    ) -> Result<Option<Checkpoint>> {
        static BEFORE: Sql = Sql::new(
            "SELECT granule_id, chain, granules
            FROM {checkpoint}
            WHERE dataset_id = ?1 AND granule_id < ?2
            ORDER BY granule_id DESC
            LIMIT 1",
        );
        let values = [dataset.into(), granule_id.into()];
        self.row(Scope::Dataset(dataset), &BEFORE, &values, checkpoint)
    }

    /// The checkpoints of a dataset after an id (`""` means from the first), in canonical order, at
    /// most `limit` of them. One granule in 1,024 has one.
    pub fn checkpoints_after(
        &self,
        dataset: DatasetKey,
        after: &str,
        limit: u32,
    ) -> Result<Vec<Checkpoint>> {
        static PAGE: Sql = Sql::new(
            "SELECT granule_id, chain, granules
            FROM {checkpoint}
            WHERE dataset_id = ?1 AND granule_id > ?2
            ORDER BY granule_id
            LIMIT ?3",
        );
        let values = [dataset.into(), after.into(), limit.into()];
        ascending(
            "checkpoint",
            self.rows(Scope::Dataset(dataset), &PAGE, &values, checkpoint)?,
            |first| first.granule_id.as_str() > after,
            |one, next| one.granule_id < next.granule_id,
        )
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

    /// Adds checkpoints after ids that have none.
    pub fn insert_checkpoints(
        &self,
        dataset: DatasetKey,
        checkpoints: &[Checkpoint],
    ) -> Result<()> {
        static INSERT: Insert =
            Insert::new("INSERT INTO {checkpoint} (dataset_id, granule_id, chain, granules)", 4);
        self.insert(dataset, &INSERT, checkpoints, |checkpoint| {
            [
                dataset.into(),
                (&checkpoint.granule_id).into(),
                checkpoint.chain.into(),
                checkpoint.granules.into(),
            ]
        })
    }
}

fn checkpoint(row: &dyn Columns) -> Result<Checkpoint> {
    Ok(Checkpoint {
        granule_id: row.granule_id(0)?,
        chain: row.identifier(1)?,
        granules: row.count_or_null(2)?,
    })
}
