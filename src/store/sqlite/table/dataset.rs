//! The table `dataset`.

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, named_params};

use super::column::Count;
use crate::model::{Dataset, DatasetName, Doi, WebAddress};
use crate::store::Result;
use crate::store::json_column::{creators_from, creators_text};
use crate::store::order::ascending;
use crate::store::rows::{DatasetKey, ListedRow, ToChange, Withdrawn};
use crate::store::sqlite::session::{Snapshot, Transaction};

impl Snapshot {
    /// The dataset that has a name, or had it before it was renamed, and its key. `None` means that
    /// no dataset has or had it.
    pub fn dataset(&self, name: &DatasetName) -> Result<Option<(DatasetKey, Dataset)>> {
        match self.dataset_called(name)? {
            Some(found) => Ok(Some(found)),
            None => match self.dataset_once_called(name)? {
                Some(current) => self.dataset_called(&current),
                None => Ok(None),
            },
        }
    }

    /// The dataset that has a name, or had it before it was renamed, to be changed.
    pub fn dataset_to_change(&self, name: &DatasetName) -> Result<Option<ToChange>> {
        let Some((key, dataset)) = self.dataset(name)? else { return Ok(None) };
        let withdrawal = self.withdrawal(key)?;
        let latest = self.latest_instance(key)?;
        Ok(Some(ToChange { key, name: dataset.name, withdrawal, latest }))
    }

    fn dataset_called(&self, name: &DatasetName) -> Result<Option<(DatasetKey, Dataset)>> {
        const DATASET: &str = "
            SELECT id, name, doi, title, description, creators, publisher, version, year, url,
                licence, archive
            FROM dataset
            WHERE name = :name";
        let mut statement = self.connection().prepare_cached(DATASET)?;
        Ok(statement.query_row(named_params! { ":name": name.as_str() }, from_row).optional()?)
    }

    /// The names of the datasets that are not withdrawn, from one of them (counted from 0), by name, at
    /// most `limit` of them.
    pub fn names_from(&self, first: u64, limit: u32) -> Result<Vec<DatasetName>> {
        const NAMES: &str = "
            SELECT name
            FROM dataset
            WHERE withdrawn IS NULL
            ORDER BY name
            LIMIT :limit OFFSET :first";
        let mut statement = self.connection().prepare_cached(NAMES)?;
        let params = named_params! { ":first": Count(first), ":limit": limit };
        let rows = statement.query_map(params, |row| name_from(row, 0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The same as [`Snapshot::datasets_after`], with what a list shows of each.
    pub fn listed_after(
        &self,
        after: Option<&DatasetName>,
        withdrawn: Withdrawn,
        limit: u32,
    ) -> Result<Vec<ListedRow>> {
        let found = self.datasets_after(after, withdrawn, limit)?.into_iter();
        found.map(|found| self.listed_of(found)).collect()
    }

    /// The dataset with a name, or a former one, with what a list shows of it.
    pub fn listed(&self, name: &DatasetName) -> Result<Option<ListedRow>> {
        self.dataset(name)?.map(|found| self.listed_of(found)).transpose()
    }

    fn listed_of(&self, (key, dataset): (DatasetKey, Dataset)) -> Result<ListedRow> {
        Ok(ListedRow {
            key,
            dataset,
            withdrawal: self.withdrawal(key)?,
            former_names: self.former_names(key)?,
            latest: self.latest_instance(key)?,
        })
    }

    /// The datasets after a name (`None` means from the first), by name, at most `limit` of them.
    pub fn datasets_after(
        &self,
        after: Option<&DatasetName>,
        withdrawn: Withdrawn,
        limit: u32,
    ) -> Result<Vec<(DatasetKey, Dataset)>> {
        const PAGE: &str = "
            SELECT id, name, doi, title, description, creators, publisher, version, year, url,
                licence, archive
            FROM dataset
            WHERE name > :after AND (withdrawn IS NULL OR :withdrawn)
            ORDER BY name
            LIMIT :limit";
        let params = named_params! {
            ":after": after.map_or("", DatasetName::as_str),
            ":withdrawn": withdrawn == Withdrawn::Listed,
            ":limit": limit,
        };
        let mut statement = self.connection().prepare_cached(PAGE)?;
        let rows = statement.query_map(params, from_row)?.collect::<rusqlite::Result<_>>()?;
        ascending(
            "dataset",
            rows,
            |(_, first): &(DatasetKey, Dataset)| after.is_none_or(|after| *after < first.name),
            |(_, one), (_, next)| one.name < next.name,
        )
    }

    /// The datasets that have a DOI, compared without case, by name. Costs a pass over all records,
    /// which are small.
    pub fn datasets_with_doi(&self, doi: &Doi) -> Result<Vec<DatasetName>> {
        const WITH_DOI: &str = "
            SELECT name, doi
            FROM dataset
            WHERE doi IS NOT NULL AND lower(doi) = lower(:doi)
            ORDER BY name";
        let mut statement = self.connection().prepare_cached(WITH_DOI)?;
        let rows =
            statement.query_map(named_params! { ":doi": doi.as_str() }, |row| name_from(row, 0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The number of datasets.
    pub fn count_datasets(&self) -> Result<u64> {
        const COUNT: &str = "
            SELECT count(*)
            FROM dataset";
        Ok(self.connection().query_row(COUNT, [], |row| row.get::<_, Count>(0))?.0)
    }
}

impl Transaction<'_> {
    /// Adds a dataset, whose name must not be in use.
    pub fn insert_dataset(&self, dataset: &Dataset) -> Result<DatasetKey> {
        const INSERT: &str = "
            INSERT INTO dataset
                (name, doi, title, description, creators, publisher, version, year, url, licence,
                 archive)
            VALUES
                (:name, :doi, :title, :description, :creators, :publisher, :version, :year, :url,
                 :licence, :archive)";
        self.put_dataset(INSERT, dataset)?;
        Ok(DatasetKey(self.connection().last_insert_rowid()))
    }

    /// Replaces the record of the dataset with that name.
    pub fn update_dataset(&self, dataset: &Dataset) -> Result<()> {
        const UPDATE: &str = "
            UPDATE dataset
            SET doi = :doi, title = :title, description = :description, creators = :creators,
                publisher = :publisher, version = :version, year = :year, url = :url,
                licence = :licence, archive = :archive
            WHERE name = :name";
        self.put_dataset(UPDATE, dataset)
    }

    fn put_dataset(&self, sql: &str, dataset: &Dataset) -> Result<()> {
        self.connection().prepare_cached(sql)?.execute(named_params! {
            ":name": dataset.name.as_str(),
            ":doi": dataset.doi.as_ref().map(|doi| doi.as_str()),
            ":title": dataset.title,
            ":description": dataset.description,
            ":creators": creators_text(dataset),
            ":publisher": dataset.publisher,
            ":version": dataset.version,
            ":year": dataset.year.map(|year| year.as_number()),
            ":url": dataset.url.as_ref().map(|url| url.as_str()),
            ":archive": dataset.archive,
            ":licence": dataset.licence,
        })?;
        Ok(())
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<(DatasetKey, Dataset)> {
    let wrong = |index, kind, error| rusqlite::Error::FromSqlConversionFailure(index, kind, error);
    let text = |index| row.get::<_, Option<String>>(index);
    let creators =
        creators_from(row.get_ref(5)?.as_str()?).map_err(|error| wrong(5, Type::Text, error))?;
    let dataset = Dataset {
        name: name_from(row, 1)?,
        doi: text(2)?
            .map(|doi| doi.parse())
            .transpose()
            .map_err(|error: crate::model::DoiError| wrong(2, Type::Text, error.into()))?,
        title: text(3)?,
        description: text(4)?,
        creators,
        publisher: text(6)?,
        version: text(7)?,
        year: row
            .get::<_, Option<u16>>(8)?
            .map(|year| year.try_into())
            .transpose()
            .map_err(|error: crate::model::YearError| wrong(8, Type::Integer, error.into()))?,
        url: text(9)?.as_deref().and_then(WebAddress::from_stored),
        licence: text(10)?,
        archive: text(11)?,
    };
    Ok((DatasetKey(row.get(0)?), dataset))
}

/// The dataset name in a column.
pub(super) fn name_from(row: &Row<'_>, index: usize) -> rusqlite::Result<DatasetName> {
    let name = row.get_ref(index)?.as_str()?;
    name.parse().map_err(|error: crate::model::DatasetNameError| {
        rusqlite::Error::FromSqlConversionFailure(index, Type::Text, error.into())
    })
}
