//! The table `dataset`.

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, named_params};

use super::{Error, Read, Result, Write};
use crate::model::{Creator, Dataset, DatasetName, WebAddress};

/// Which row of `dataset`; meaningless outside its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatasetKey(pub(super) i64);

impl Read<'_> {
    /// The dataset of that name, and its key.
    pub fn dataset(&self, name: &DatasetName) -> Result<Option<(DatasetKey, Dataset)>> {
        const DATASET: &str = "
            SELECT id, name, doi, title, creators, publisher, version, year, url, archive, licence
            FROM dataset
            WHERE name = :name";
        let mut statement = self.transaction.prepare_cached(DATASET)?;
        Ok(statement.query_row(named_params! { ":name": name.as_str() }, from_row).optional()?)
    }

    /// Shows all datasets, by name.
    pub fn each_dataset<E: From<Error>>(
        &self,
        mut show: impl FnMut(DatasetKey, Dataset) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        const DATASETS: &str = "
            SELECT id, name, doi, title, creators, publisher, version, year, url, archive, licence
            FROM dataset
            ORDER BY name";
        let mut statement = self.transaction.prepare(DATASETS).map_err(Error::from)?;
        let mut rows = statement.query([]).map_err(Error::from)?;
        while let Some(row) = rows.next().map_err(Error::from)? {
            let (key, dataset) = from_row(row).map_err(Error::from)?;
            show(key, dataset)?;
        }
        Ok(())
    }
}

impl Write<'_> {
    /// Adds a dataset whose name is not taken.
    pub fn insert_dataset(&self, dataset: &Dataset) -> Result<DatasetKey> {
        const INSERT: &str = "
            INSERT INTO dataset
                (name, doi, title, creators, publisher, version, year, url, archive, licence)
            VALUES
                (:name, :doi, :title, :creators, :publisher, :version, :year, :url, :archive, :licence)";
        self.put_dataset(INSERT, dataset)?;
        Ok(DatasetKey(self.transaction.last_insert_rowid()))
    }

    /// Replaces the record of the dataset of that name.
    pub fn update_dataset(&self, dataset: &Dataset) -> Result<()> {
        const UPDATE: &str = "
            UPDATE dataset
            SET doi = :doi, title = :title, creators = :creators, publisher = :publisher,
                version = :version, year = :year, url = :url, archive = :archive,
                licence = :licence
            WHERE name = :name";
        self.put_dataset(UPDATE, dataset)
    }

    fn put_dataset(&self, sql: &str, dataset: &Dataset) -> Result<()> {
        self.transaction.prepare_cached(sql)?.execute(named_params! {
            ":name": dataset.name.as_str(),
            ":doi": dataset.doi.as_ref().map(|doi| doi.as_str()),
            ":title": dataset.title,
            ":creators": creators(dataset),
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

/// The creators in their column: a JSON array, each as it is written.
fn creators(dataset: &Dataset) -> String {
    let written = dataset.creators.iter().map(ToString::to_string);
    written.collect::<serde_json::Value>().to_string()
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<(DatasetKey, Dataset)> {
    let wrong = |index, kind, error| rusqlite::Error::FromSqlConversionFailure(index, kind, error);
    let text = |index| row.get::<_, Option<String>>(index);
    let written: Vec<String> = serde_json::from_str(row.get_ref(4)?.as_str()?)
        .map_err(|error| wrong(4, Type::Text, error.into()))?;
    let creators = written
        .iter()
        // Before schema 4 any text was a creator: what is no person is taken as it stands.
        .map(|text| text.parse().or_else(|_| Creator::organisation(text)))
        .collect::<std::result::Result<_, crate::model::CreatorError>>()
        .map_err(|error| wrong(4, Type::Text, error.into()))?;
    let dataset = Dataset {
        name: name_from(row, 1)?,
        doi: text(2)?
            .map(|doi| doi.parse())
            .transpose()
            .map_err(|error: crate::model::DoiError| wrong(2, Type::Text, error.into()))?,
        title: text(3)?,
        creators,
        publisher: text(5)?,
        version: text(6)?,
        year: row
            .get::<_, Option<u16>>(7)?
            .map(|year| year.try_into())
            .transpose()
            .map_err(|error: crate::model::YearError| wrong(7, Type::Integer, error.into()))?,
        url: text(8)?.as_deref().and_then(WebAddress::from_stored),
        archive: text(9)?,
        licence: text(10)?,
    };
    Ok((DatasetKey(row.get(0)?), dataset))
}

/// The dataset name in a column.
pub(super) fn name_from(row: &Row<'_>, index: usize) -> rusqlite::Result<DatasetName> {
    let name = row.get_ref(index)?.as_str()?;
    DatasetName::from_stored(name).map_err(|error: crate::model::DatasetNameError| {
        rusqlite::Error::FromSqlConversionFailure(index, Type::Text, error.into())
    })
}
