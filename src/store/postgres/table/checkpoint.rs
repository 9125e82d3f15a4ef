//! The table `checkpoint`: where a rewind can resume.

use tokio_postgres::Row;

use super::column::{granule_id, identifier, stored, value};
use crate::model::Checkpoint;
use crate::store::order::ascending;
use crate::store::postgres::parameter::{bigint, bigint_or_null, bytes, text};
use crate::store::postgres::session::{Snapshot, Transaction};
use crate::store::rows::DatasetKey;
use crate::store::{Error, Result};

impl Snapshot {
    pub fn checkpoint_before(
        &self,
        dataset: DatasetKey,
        granule_id: &str,
    ) -> Result<Option<Checkpoint>> {
        const BEFORE: &str = "
            SELECT granule_id, chain, granules
            FROM accession.checkpoint
            WHERE dataset_id = $1 AND granule_id < $2
            ORDER BY granule_id DESC
            LIMIT 1";
        let row = self
            .reading_at(Some(dataset))?
            .query_opt(BEFORE, &[bigint(dataset.0), text(granule_id)])?;
        row.as_ref().map(from_row).transpose()
    }

    pub fn checkpoints_after(
        &self,
        dataset: DatasetKey,
        after: &str,
        limit: u32,
    ) -> Result<Vec<Checkpoint>> {
        const PAGE: &str = "
            SELECT granule_id, chain, granules
            FROM accession.checkpoint
            WHERE dataset_id = $1 AND granule_id > $2
            ORDER BY granule_id
            LIMIT $3";
        let limit = i64::from(limit);
        let parameters = [bigint(dataset.0), text(after), bigint(limit)];
        let rows = self.reading_at(Some(dataset))?.query(PAGE, &parameters)?;
        ascending(
            "checkpoint",
            rows.iter().map(from_row).collect::<Result<_>>()?,
            |first: &Checkpoint| first.granule_id.as_str() > after,
            |one, next| one.granule_id < next.granule_id,
        )
    }
}

impl Transaction<'_> {
    pub fn drop_checkpoints_from(&self, dataset: DatasetKey, granule_id: &str) -> Result<()> {
        const DROP: &str = "
            DELETE FROM accession.checkpoint
            WHERE dataset_id = $1 AND granule_id >= $2";
        self.lock(dataset.0)?;
        self.connection().defer(DROP, &[bigint(dataset.0), text(granule_id)])?;
        Ok(())
    }

    pub fn insert_checkpoints(
        &self,
        dataset: DatasetKey,
        checkpoints: &[Checkpoint],
    ) -> Result<()> {
        const INTO: &str = "
            INSERT INTO accession.checkpoint (dataset_id, granule_id, chain, granules)";
        if checkpoints.is_empty() {
            return Ok(());
        }
        self.lock(dataset.0)?;
        let rows = checkpoints.iter().map(|checkpoint| {
            Ok(vec![
                bigint(dataset.0),
                text(checkpoint.granule_id.as_str()),
                bytes(checkpoint.chain.as_bytes()),
                bigint_or_null(checkpoint.granules.map(stored).transpose()?),
            ])
        });
        self.connection().insert(INTO, &rows.collect::<Result<Vec<_>>>()?)
    }
}

fn from_row(row: &Row) -> Result<Checkpoint> {
    let granules: Option<i64> = value(row, 2)?;
    let wrong = |_| Error::damaged("a checkpoint has a negative count");
    Ok(Checkpoint {
        granule_id: granule_id(row, 0)?,
        chain: identifier(row, 1)?,
        granules: granules.map(u64::try_from).transpose().map_err(wrong)?,
    })
}
