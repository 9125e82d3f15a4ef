//! Documents of JSON with a list of granules, such as the search responses of catalogues.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::content::WrittenFile;
use super::error::granule_id;
use super::format::{Options, parse_time};
use super::json::JsonItems;
use super::{Hits, Reader, Row, Rows};
use crate::error::Error;
use crate::model::{Moment, SourceLocation};

/// A format of documents.
pub(super) struct Dialect {
    /// The keys that lead to the list of granules. None means that the document is the list.
    pub list: &'static [&'static str],
    /// What `--column` calls each name of a granule, and where it is.
    pub names: &'static [(&'static str, &'static str)],
    pub read: fn(&mut JsonItems) -> Result<Option<Item>, Error>,
}

/// A granule as a document states it.
#[derive(Default)]
pub(super) struct Item {
    /// Its names, in the order of [`Dialect::names`].
    pub names: [Option<String>; 2],
    /// Whether it is not a granule, but a directory.
    pub is_directory: bool,
    pub ingested: Option<String>,
    pub is_deleted: bool,
    /// The time of the deletion, if it is deleted.
    pub revised: Option<String>,
    pub files: Vec<WrittenFile>,
}

/// Reads the next element as a type of a [`Dialect`].
pub(super) fn read<T: DeserializeOwned + Into<Item>>(
    items: &mut JsonItems,
) -> Result<Option<Item>, Error> {
    Ok(items.next_item::<T>()?.map(T::into))
}

/// The granules of a response.
pub(super) struct Response {
    items: JsonItems,
    name: Arc<str>,
    dialect: Dialect,
    /// Which of a granule's names is its id.
    which: usize,
    with_dates: bool,
    count: u64,
}

impl Response {
    pub(super) fn open(
        file: Reader,
        name: Arc<str>,
        dialect: Dialect,
        options: &Options,
    ) -> Result<Self, Error> {
        let columns = || dialect.names.iter().map(|(column, _)| *column);
        let which = match options.column.as_deref() {
            None => 0,
            Some(asked) => columns().position(|column| column == asked).ok_or_else(|| {
                let columns: Vec<String> = columns().map(str::to_owned).collect();
                Error::no_column(asked, &columns).at_line(&name, 1)
            })?,
        };
        let items = JsonItems::new(file, name.clone(), dialect.list);
        Ok(Response { items, name, dialect, which, with_dates: options.with_dates, count: 0 })
    }

    fn row(&self, mut item: Item, line: u64) -> Result<Row, Error> {
        let (_, field) = self.dialect.names[self.which];
        let id = item.names[self.which].take().ok_or_else(|| Error::no_field(field))?;
        let location = SourceLocation::Line { source: self.name.clone(), line };
        let mut row = Row::new(granule_id(id.as_bytes())?, location);
        row.record.is_deleted = item.is_deleted;
        row.files = item.files;
        if self.with_dates {
            let read = |text: String| -> Result<Moment, Error> { parse_time(&text) };
            row.record.ingested = Some(read(item.ingested.ok_or_else(Error::no_ingest_date)?)?);
            if item.is_deleted {
                let revised = item.revised.ok_or_else(|| Error::no_field("meta.revision-date"))?;
                row.record.deleted = Some(read(revised)?);
            }
        }
        Ok(row)
    }
}

impl Rows for Response {
    fn next_row(&mut self) -> Result<Option<Row>, Error> {
        let item = loop {
            let Some(item) = (self.dialect.read)(&mut self.items)? else { return Ok(None) };
            if !item.is_directory {
                break item;
            }
        };
        self.count += 1;
        let line = self.items.line;
        self.row(item, line).map(Some).map_err(|error| error.at_line(&self.name, line))
    }

    fn hits(&self) -> Option<Hits> {
        let is_first = self.items.start == Some(0);
        self.items.hits.map(|hits| Hits { hits, items: self.count, is_first })
    }

    fn has_next_page(&self) -> bool {
        self.items.has_next_page
    }
}
