//! The table `checkpoint`: where a rewind can resume.

use rusqlite::{OptionalExtension, Row, named_params};

use super::column::{Digest, Id};
use super::{DatasetKey, Read, Result, Write};
use crate::model::{Checkpoint, GranuleId, Identifier};

impl Read<'_> {
    /// The last checkpoint before an id.
    pub fn checkpoint_before(
        &self,
        dataset: DatasetKey,
        granule_id: &GranuleId,
    ) -> Result<Option<Checkpoint>> {
        const BEFORE: &str = "
            SELECT granule_id, chain
            FROM checkpoint
            WHERE dataset_id = :dataset_id AND granule_id < :granule_id
            ORDER BY granule_id DESC
            LIMIT 1";
        Ok(self
            .transaction
            .prepare_cached(BEFORE)?
            .query_row(
                named_params! { ":dataset_id": dataset.0, ":granule_id": granule_id.as_str() },
                from_row,
            )
            .optional()?)
    }

    /// All checkpoints of a dataset, in canonical order: one granule in 1,024 has one.
    pub fn checkpoints(&self, dataset: DatasetKey) -> Result<Vec<Checkpoint>> {
        const CHECKPOINTS: &str = "
            SELECT granule_id, chain
            FROM checkpoint
            WHERE dataset_id = :dataset_id
            ORDER BY granule_id";
        let mut statement = self.transaction.prepare_cached(CHECKPOINTS)?;
        let rows = statement.query_map(named_params! { ":dataset_id": dataset.0 }, from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

impl Write<'_> {
    /// Drops the checkpoints at and after an id: a change there made them wrong.
    pub fn drop_checkpoints_from(&self, dataset: DatasetKey, granule_id: &GranuleId) -> Result<()> {
        const DROP: &str = "
            DELETE FROM checkpoint
            WHERE dataset_id = :dataset_id AND granule_id >= :granule_id";
        self.transaction.prepare_cached(DROP)?.execute(
            named_params! { ":dataset_id": dataset.0, ":granule_id": granule_id.as_str() },
        )?;
        Ok(())
    }

    /// Leaves a checkpoint after an id.
    pub fn insert_checkpoint(
        &self,
        dataset: DatasetKey,
        granule_id: &str,
        chain: Identifier,
    ) -> Result<()> {
        const INSERT: &str = "
            INSERT INTO checkpoint (dataset_id, granule_id, chain)
            VALUES (:dataset_id, :granule_id, :chain)";
        self.transaction.prepare_cached(INSERT)?.execute(named_params! {
            ":dataset_id": dataset.0, ":granule_id": granule_id, ":chain": Digest(chain),
        })?;
        Ok(())
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Checkpoint> {
    Ok(Checkpoint { granule_id: row.get::<_, Id>(0)?.0, chain: row.get::<_, Digest>(1)?.0 })
}
