//! The table `dataset`.

use tokio_postgres::Row;

use super::column::{count, damaged, dataset_name, instant_or_null, value};
use super::instance::instance_of;
use crate::model::{Dataset, DatasetName, Doi, DoiError, WebAddress, Withdrawal, YearError};
use crate::store::Result;
use crate::store::json_column::{creators_from, creators_text};
use crate::store::order::ascending;
use crate::store::postgres::parameter::{Parameter, bigint, boolean, integer, text, text_or_null};
use crate::store::postgres::session::{Snapshot, Transaction};
use crate::store::rows::{DatasetKey, ListedRow, ToChange, Withdrawn};

/// The query for the key of a dataset by its name, or one that it had before it was renamed.
macro_rules! key_of_name {
    () => {
        "SELECT id
        FROM accession.dataset
        WHERE name = $1
        UNION ALL
        SELECT dataset_id
        FROM accession.dataset_name
        WHERE name = $1
          AND NOT EXISTS (SELECT 1 FROM accession.dataset WHERE name = $1)"
    };
}

/// The query for what a list shows of datasets, up to its conditions.
macro_rules! select_listed {
    () => {
        "SELECT id, name, doi, title, description, creators, publisher, version, year, url,
            licence, archive, withdrawn, withdrawn_note, ARRAY(
                SELECT former.name
                FROM accession.dataset_name AS former
                WHERE former.dataset_id = dataset.id AND former.name <> dataset.name
                ORDER BY former.renamed DESC, former.name)
        FROM accession.dataset"
    };
}

impl Snapshot {
    /// The same as in the SQLite store; in a transaction, the dataset is locked until its end, and the record is
    /// the one under the lock.
    pub fn dataset(&self, name: &DatasetName) -> Result<Option<(DatasetKey, Dataset)>> {
        const NAMED: &str = concat!(
            "SELECT id, name, doi, title, description, creators, publisher, version, year, url,
                licence, archive
            FROM accession.dataset
            WHERE id = (",
            key_of_name!(),
            ")"
        );
        const DATASET: &str = "
            SELECT id, name, doi, title, description, creators, publisher, version, year, url,
                licence, archive
            FROM accession.dataset
            WHERE id = $1";
        let row = if self.is_writing() {
            let Some(DatasetKey(id)) = self.key_of(name)? else { return Ok(None) };
            self.query_locked(id, DATASET, &[bigint(id)])?.into_iter().next()
        } else {
            self.reading()?.query_opt(NAMED, &[text(name.as_str())])?
        };
        row.as_ref().map(from_row).transpose()
    }

    /// The same as in the SQLite store; the dataset is locked until the end of the transaction.
    pub fn dataset_to_change(&self, name: &DatasetName) -> Result<Option<ToChange>> {
        const DATASET: &str = "
            SELECT dataset.name, latest.timestamp, NULL::bigint, latest.identifier, latest.granules,
                latest.ingested, latest.deleted, latest.recorded, latest.recorded_by, latest.note,
                dataset.withdrawn, dataset.withdrawn_note
            FROM accession.dataset
            LEFT JOIN (
                SELECT *
                FROM accession.instance
                WHERE dataset_id = $1
                ORDER BY timestamp DESC
                LIMIT 1) AS latest ON true
            WHERE dataset.id = $1";
        let Some(key) = self.key_of(name)? else { return Ok(None) };
        let rows = self.query_locked(key.0, DATASET, &[bigint(key.0)])?;
        let Some(row) = rows.first() else { return Ok(None) };
        let note: Option<String> = value(row, 11)?;
        let withdrawn = instant_or_null(row, 10)?;
        let has_history = value::<Option<i64>>(row, 1)?.is_some();
        Ok(Some(ToChange {
            key,
            name: dataset_name(row, 0)?,
            withdrawal: withdrawn.map(|timestamp| Withdrawal { timestamp, note }),
            latest: has_history.then(|| instance_of(row)).transpose()?,
        }))
    }

    fn key_of(&self, name: &DatasetName) -> Result<Option<DatasetKey>> {
        let row = self.reading()?.query_opt(key_of_name!(), &[text(name.as_str())])?;
        row.map(|row| value(&row, 0).map(DatasetKey)).transpose()
    }

    pub fn names_from(&self, first: u64, limit: u32) -> Result<Vec<DatasetName>> {
        const NAMES: &str = "
            SELECT name
            FROM accession.dataset
            WHERE withdrawn IS NULL
            ORDER BY name
            LIMIT $1 OFFSET $2";
        let first = i64::try_from(first).unwrap_or(i64::MAX);
        let rows = self.reading()?.query(NAMES, &[bigint(i64::from(limit)), bigint(first)])?;
        rows.iter().map(|row| dataset_name(row, 0)).collect()
    }

    pub fn datasets_after(
        &self,
        after: Option<&DatasetName>,
        withdrawn: Withdrawn,
        limit: u32,
    ) -> Result<Vec<(DatasetKey, Dataset)>> {
        const PAGE: &str = "
            SELECT id, name, doi, title, description, creators, publisher, version, year, url,
                licence, archive
            FROM accession.dataset
            WHERE name > $1 AND (withdrawn IS NULL OR $2)
            ORDER BY name
            LIMIT $3";
        let start = after.map_or("", DatasetName::as_str);
        let is_listed = withdrawn == Withdrawn::Listed;
        let limit = i64::from(limit);
        let rows =
            self.reading()?.query(PAGE, &[text(start), boolean(is_listed), bigint(limit)])?;
        ascending(
            "dataset",
            rows.iter().map(from_row).collect::<Result<_>>()?,
            |(_, first): &(DatasetKey, Dataset)| after.is_none_or(|after| *after < first.name),
            |(_, one), (_, next)| one.name < next.name,
        )
    }

    /// The names are those of the dataset; the instances are on the machines of their datasets, each of
    /// which is asked once: the row by which a dataset is locked is beside them.
    pub fn listed_after(
        &self,
        after: Option<&DatasetName>,
        withdrawn: Withdrawn,
        limit: u32,
    ) -> Result<Vec<ListedRow>> {
        const PAGE: &str = concat!(
            select_listed!(),
            "
            WHERE name > $1 AND (withdrawn IS NULL OR $2)
            ORDER BY name
            LIMIT $3"
        );
        let start = after.map_or("", DatasetName::as_str);
        let is_listed = withdrawn == Withdrawn::Listed;
        let parameters = [text(start), boolean(is_listed), bigint(i64::from(limit))];
        ascending(
            "dataset",
            self.listed_rows(PAGE, &parameters)?,
            |first: &ListedRow| after.is_none_or(|after| *after < first.dataset.name),
            |one, next| one.dataset.name < next.dataset.name,
        )
    }

    pub fn listed(&self, name: &DatasetName) -> Result<Option<ListedRow>> {
        const NAMED: &str = concat!(select_listed!(), " WHERE dataset.id = (", key_of_name!(), ")");
        Ok(self.listed_rows(NAMED, &[text(name.as_str())])?.pop())
    }

    fn listed_rows(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<Vec<ListedRow>> {
        let rows = self.reading()?.query(sql, parameters)?;
        let keys = rows.iter().map(|row| value(row, 0)).collect::<Result<Vec<i64>>>()?;
        let mut latest = self.latest_instances(&keys)?;
        let listed = rows.iter().map(|row| {
            let (key, dataset) = from_row(row)?;
            let note: Option<String> = value(row, 13)?;
            let former: Vec<&str> = value(row, 14)?;
            let former = former.into_iter().map(str::parse);
            Ok(ListedRow {
                key,
                dataset,
                withdrawal: instant_or_null(row, 12)?
                    .map(|timestamp| Withdrawal { timestamp, note }),
                former_names: former.collect::<std::result::Result<_, _>>().map_err(damaged)?,
                latest: latest.remove(&key.0),
            })
        });
        listed.collect()
    }

    pub fn datasets_with_doi(&self, doi: &Doi) -> Result<Vec<DatasetName>> {
        const WITH_DOI: &str = r#"
            SELECT name
            FROM accession.dataset
            WHERE doi IS NOT NULL AND lower(doi) = lower($1 COLLATE "C")
            ORDER BY name"#;
        let rows = self.reading()?.query(WITH_DOI, &[text(doi.as_str())])?;
        rows.iter().map(|row| dataset_name(row, 0)).collect()
    }

    pub fn count_datasets(&self) -> Result<u64> {
        const COUNT: &str = "
            SELECT count(*)
            FROM accession.dataset";
        self.reading()?.query_opt(COUNT, &[])?.map_or(Ok(0), |row| count(&row, 0))
    }
}

impl Transaction<'_> {
    pub fn insert_dataset(&self, dataset: &Dataset) -> Result<DatasetKey> {
        const NEXT: &str = "
            SELECT coalesce(max(id), 0) + 1
            FROM accession.dataset";
        const INSERT: &str = "
            INSERT INTO accession.dataset
                (id, name, doi, title, description, creators, publisher, version, year, url,
                 licence, archive)
            VALUES ($12, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
        // Datasets are added one after the other, by whoever holds the lock on the registry.
        self.lock(0)?;
        let row = self.connection().query_opt(NEXT, &[])?;
        let id: i64 = row.map_or(Ok(1), |row| value(&row, 0))?;
        self.insert_writer(id)?;
        self.put_dataset(INSERT, dataset, Some(id))?;
        Ok(DatasetKey(id))
    }

    pub fn update_dataset(&self, dataset: &Dataset) -> Result<()> {
        const UPDATE: &str = "
            UPDATE accession.dataset
            SET doi = $2, title = $3, description = $4, creators = $5, publisher = $6,
                version = $7, year = $8, url = $9, licence = $10, archive = $11
            WHERE name = $1";
        self.put_dataset(UPDATE, dataset, None)
    }

    fn put_dataset(&self, sql: &str, dataset: &Dataset, id: Option<i64>) -> Result<()> {
        let creators = creators_text(dataset);
        let name = dataset.name.as_str();
        let doi = dataset.doi.as_ref().map(Doi::as_str);
        let title = dataset.title.as_deref();
        let description = dataset.description.as_deref();
        let creators = creators.as_str();
        let publisher = dataset.publisher.as_deref();
        let version = dataset.version.as_deref();
        let year = dataset.year.map(|year| i32::from(year.as_number()));
        let url = dataset.url.as_ref().map(WebAddress::as_str);
        let licence = dataset.licence.as_deref();
        let archive = dataset.archive.as_deref();
        let mut parameters = vec![
            text(name),
            text_or_null(doi),
            text_or_null(title),
            text_or_null(description),
            text(creators),
            text_or_null(publisher),
            text_or_null(version),
            integer(year),
            text_or_null(url),
            text_or_null(licence),
            text_or_null(archive),
        ];
        parameters.extend(id.map(bigint));
        self.connection().defer(sql, &parameters)?;
        Ok(())
    }
}

fn from_row(row: &Row) -> Result<(DatasetKey, Dataset)> {
    let string = |index| value::<Option<String>>(row, index);
    let year: Option<i32> = value(row, 8)?;
    let dataset = Dataset {
        name: dataset_name(row, 1)?,
        doi: string(2)?
            .map(|doi| doi.parse().map_err(|error: DoiError| damaged(error)))
            .transpose()?,
        title: string(3)?,
        description: string(4)?,
        creators: creators_from(value(row, 5)?).map_err(damaged)?,
        publisher: string(6)?,
        version: string(7)?,
        year: year
            .map(|year| {
                let year = u16::try_from(year).map_err(damaged)?;
                year.try_into().map_err(|error: YearError| damaged(error))
            })
            .transpose()?,
        url: string(9)?.as_deref().and_then(WebAddress::from_stored),
        licence: string(10)?,
        archive: string(11)?,
    };
    Ok((DatasetKey(value(row, 0)?), dataset))
}
