//! The tables `record_version` and `dataset_name`, and the withdrawal of a dataset.

use super::column::{count, damaged, dataset_name, instant, instant_or_null, stored, value};
use crate::model::{DatasetName, Timestamp, Withdrawal};
use crate::store::order::ascending;
use crate::store::postgres::parameter::{bigint, bigint_or_null, text, text_or_null};
use crate::store::postgres::session::{Snapshot, Transaction};
use crate::store::rows::{DatasetKey, StoredVersion};
use crate::store::{Error, Result};

impl Snapshot {
    pub fn former_names(&self, dataset: DatasetKey) -> Result<Vec<DatasetName>> {
        const FORMER: &str = "
            SELECT dataset_name.name
            FROM accession.dataset_name
            JOIN accession.dataset ON dataset.id = dataset_name.dataset_id
            WHERE dataset_name.dataset_id = $1 AND dataset_name.name <> dataset.name
            ORDER BY dataset_name.renamed DESC, dataset_name.name";
        let rows = self.reading()?.query(FORMER, &[bigint(dataset.0)])?;
        rows.iter().map(|row| dataset_name(row, 0)).collect()
    }

    pub fn names_given_up(&self, dataset: DatasetKey) -> Result<Vec<(DatasetName, Timestamp)>> {
        const GIVEN_UP: &str = "
            SELECT name, renamed
            FROM accession.dataset_name
            WHERE dataset_id = $1
            ORDER BY renamed, name";
        let rows = self.reading()?.query(GIVEN_UP, &[bigint(dataset.0)])?;
        rows.iter().map(|row| Ok((dataset_name(row, 0)?, instant(row, 1)?))).collect()
    }

    pub fn withdrawal(&self, dataset: DatasetKey) -> Result<Option<Withdrawal>> {
        const WITHDRAWN: &str = "
            SELECT withdrawn, withdrawn_note
            FROM accession.dataset
            WHERE id = $1";
        let row = self.reading()?.query_opt(WITHDRAWN, &[bigint(dataset.0)])?;
        let row = row.ok_or_else(|| Error::damaged("a dataset has no row"))?;
        let note: Option<String> = value(&row, 1)?;
        Ok(instant_or_null(&row, 0)?.map(|timestamp| Withdrawal { timestamp, note }))
    }

    pub fn record_versions(
        &self,
        dataset: DatasetKey,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredVersion>> {
        const PAGE: &str = "
            SELECT version, recorded, recorded_by, action, record
            FROM accession.record_version
            WHERE dataset_id = $1 AND version > $2
            ORDER BY version
            LIMIT $3";
        let (start, limit) = (stored(after)?, i64::from(limit));
        let parameters = [bigint(dataset.0), bigint(start), bigint(limit)];
        let rows = self.reading_at(Some(dataset))?.query(PAGE, &parameters)?;
        let versions = rows.iter().map(|row| {
            Ok(StoredVersion {
                version: count(row, 0)?,
                recorded: instant(row, 1)?,
                recorded_by: value(row, 2)?,
                action: value(row, 3)?,
                record: serde_json::from_str(value(row, 4)?).map_err(damaged)?,
            })
        });
        ascending(
            "record_version",
            versions.collect::<Result<_>>()?,
            |first: &StoredVersion| first.version > after,
            |one, next| one.version < next.version,
        )
    }

    /// Costs a pass over the changes and the versions of the records, on every machine. It is not called
    /// where the last change of the dataset shows that the clock is plausible.
    pub fn last_recorded(&self, _enough: Timestamp) -> Result<Option<Timestamp>> {
        const LAST: &str = "
            SELECT max(newest)
            FROM (
                SELECT max(recorded) AS newest FROM accession.instance
                UNION ALL
                SELECT max(recorded) FROM accession.record_version
                UNION ALL
                SELECT max(cited) FROM accession.saved_selection
                UNION ALL
                SELECT max(read) FROM accession.mirror_source
            ) AS times";
        let row = self.reading()?.query_opt(LAST, &[])?;
        row.map_or(Ok(None), |row| instant_or_null(&row, 0))
    }

    pub fn last_record_version(&self, dataset: DatasetKey) -> Result<u64> {
        const LAST: &str = "
            SELECT coalesce(max(version), 0)
            FROM accession.record_version
            WHERE dataset_id = $1";
        let row = self.reading_at(Some(dataset))?.query_opt(LAST, &[bigint(dataset.0)])?;
        row.map_or(Ok(0), |row| count(&row, 0))
    }
}

impl Transaction<'_> {
    pub fn insert_record_version(
        &self,
        dataset: DatasetKey,
        version: &StoredVersion,
    ) -> Result<()> {
        const INSERT: &str = "
            INSERT INTO accession.record_version
                (dataset_id, version, recorded, recorded_by, action, record)
            VALUES ($1, $2, $3, $4, $5, $6)";
        self.lock(dataset.0)?;
        let (number, record) = (stored(version.version)?, version.record.to_string());
        self.connection().defer(
            INSERT,
            &[
                bigint(dataset.0),
                bigint(number),
                bigint(version.recorded.as_micros()),
                text_or_null(version.recorded_by.as_deref()),
                text(version.action.as_str()),
                text(record.as_str()),
            ],
        )?;
        Ok(())
    }

    pub fn rename_dataset(
        &self,
        dataset: DatasetKey,
        former: &DatasetName,
        name: &DatasetName,
        renamed: Timestamp,
    ) -> Result<()> {
        const RENAME: &str = "
            UPDATE accession.dataset
            SET name = $2
            WHERE id = $1";
        self.lock(dataset.0)?;
        self.keep_name(dataset, former, renamed)?;
        self.connection().defer(RENAME, &[bigint(dataset.0), text(name.as_str())])?;
        Ok(())
    }

    /// Keeps a name that a dataset gave up.
    pub fn keep_name(
        &self,
        dataset: DatasetKey,
        former: &DatasetName,
        renamed: Timestamp,
    ) -> Result<()> {
        const KEEP: &str = "
            INSERT INTO accession.dataset_name (name, dataset_id, renamed)
            VALUES ($1, $2, $3)
            ON CONFLICT (name) DO UPDATE
            SET renamed = excluded.renamed";
        let parameters = [text(former.as_str()), bigint(dataset.0), bigint(renamed.as_micros())];
        self.connection().defer(KEEP, &parameters)?;
        Ok(())
    }

    pub fn set_withdrawal(
        &self,
        dataset: DatasetKey,
        withdrawal: Option<&Withdrawal>,
    ) -> Result<()> {
        const SET: &str = "
            UPDATE accession.dataset
            SET withdrawn = $2, withdrawn_note = $3
            WHERE id = $1";
        self.lock(dataset.0)?;
        let withdrawn = withdrawal.map(|withdrawal| withdrawal.timestamp.as_micros());
        let note = withdrawal.and_then(|withdrawal| withdrawal.note.as_deref());
        let parameters = [bigint(dataset.0), bigint_or_null(withdrawn), text_or_null(note)];
        self.connection().defer(SET, &parameters)?;
        Ok(())
    }
}
