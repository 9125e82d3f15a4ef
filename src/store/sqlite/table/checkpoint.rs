//! The table `checkpoint`: where a rewind can resume.

use rusqlite::{OptionalExtension, Row, named_params};

use super::column::{Count, Digest, Id};
use crate::model::Checkpoint;
use crate::store::Result;
use crate::store::order::ascending;
use crate::store::rows::DatasetKey;
use crate::store::sqlite::session::{Snapshot, Transaction};

impl Snapshot {
    /// The last checkpoint before an id. `None` means that there is no checkpoint before it.
    pub fn checkpoint_before(
        &self,
        dataset: DatasetKey,
        granule_id: &str,
    ) -> Result<Option<Checkpoint>> {
        const BEFORE: &str = "
            SELECT granule_id, chain, granules
            FROM checkpoint
            WHERE dataset_id = :dataset_id AND granule_id < :granule_id
            ORDER BY granule_id DESC
            LIMIT 1";
        let params = named_params! { ":dataset_id": dataset.0, ":granule_id": granule_id };
        let mut statement = self.connection().prepare_cached(BEFORE)?;
        Ok(statement.query_row(params, from_row).optional()?)
    }

    /// The checkpoints of a dataset after an id (`""` means from the first), in canonical order, at
    /// most `limit` of them. One granule in 1,024 has one.
    pub fn checkpoints_after(
        &self,
        dataset: DatasetKey,
        after: &str,
        limit: u32,
    ) -> Result<Vec<Checkpoint>> {
        const PAGE: &str = "
            SELECT granule_id, chain, granules
            FROM checkpoint
            WHERE dataset_id = :dataset_id AND granule_id > :after
            ORDER BY granule_id
            LIMIT :limit";
        let params = named_params! { ":dataset_id": dataset.0, ":after": after, ":limit": limit };
        let mut statement = self.connection().prepare_cached(PAGE)?;
        let rows = statement.query_map(params, from_row)?.collect::<rusqlite::Result<_>>()?;
        ascending(
            "checkpoint",
            rows,
            |first: &Checkpoint| first.granule_id.as_str() > after,
            |one, next| one.granule_id < next.granule_id,
        )
    }
}

impl Transaction<'_> {
    /// Deletes the checkpoints at and after an id, which a change there has invalidated.
    pub fn drop_checkpoints_from(&self, dataset: DatasetKey, granule_id: &str) -> Result<()> {
        const DROP: &str = "
            DELETE FROM checkpoint
            WHERE dataset_id = :dataset_id AND granule_id >= :granule_id";
        let params = named_params! { ":dataset_id": dataset.0, ":granule_id": granule_id };
        self.connection().prepare_cached(DROP)?.execute(params)?;
        Ok(())
    }

    /// Adds checkpoints after ids that have none.
    pub fn insert_checkpoints(
        &self,
        dataset: DatasetKey,
        checkpoints: &[Checkpoint],
    ) -> Result<()> {
        const INSERT: &str = "
            INSERT INTO checkpoint (dataset_id, granule_id, chain, granules)
            VALUES (?1, ?2, ?3, ?4)";
        let mut insert = self.connection().prepare_cached(INSERT)?;
        for checkpoint in checkpoints {
            insert.execute((
                dataset.0,
                checkpoint.granule_id.as_str(),
                Digest(checkpoint.chain),
                checkpoint.granules.map(Count),
            ))?;
        }
        Ok(())
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Checkpoint> {
    Ok(Checkpoint {
        granule_id: row.get::<_, Id>(0)?.0,
        chain: row.get::<_, Digest>(1)?.0,
        granules: row.get::<_, Option<Count>>(2)?.map(|count| count.0),
    })
}
