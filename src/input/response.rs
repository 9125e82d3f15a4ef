//! JSON documents with a list of granules, in one of several dialects.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::content::WrittenFile;
use super::error::granule_id;
use super::finding::{Finding, FindingKind};
use super::findings::{FileFindings, Skipped};
use super::format::{ListingOptions, RowFilter, parse_time, selects};
use super::json_items::JsonItems;
use super::lines::NOT_RECURSIVE;
use super::replicas::Replicas;
use super::values::Values;
use super::watched::Watched;
use super::{Reader, Row, Rows};
use crate::error::{Error, ErrorKind};
use crate::model::{SourceLocation, quoted};

/// A format of documents.
pub(super) struct Dialect {
    /// The keys that lead to the list of granules. Without keys, the document is the list.
    pub list: &'static [&'static str],
    /// Whether it lists paths of files.
    pub is_of_paths: bool,
    /// Whether it lists objects of a bucket.
    pub is_of_objects: bool,
    /// Whether the document states the size of the search result, and which page it is.
    pub is_search: bool,
    /// The names of a granule: the value of `--column`, and the field.
    pub names: &'static [(&'static str, &'static str)],
    pub read: fn(&mut JsonItems) -> Result<Option<Item>, Error>,
}

/// A granule in a document.
#[derive(Default)]
pub(super) struct Item {
    /// Its names, in the order of [`Dialect::names`].
    pub names: [Option<String>; 2],
    /// Whether it is not a granule, but a directory.
    pub is_directory: bool,
    pub ingested: Option<String>,
    pub is_deleted: bool,
    /// The time of the deletion, if the granule is deleted.
    pub revised: Option<String>,
    pub files: Vec<WrittenFile>,
    /// The collection that the granule belongs to.
    pub collection: Option<String>,
    /// The node that has the file.
    pub node: Option<String>,
    /// Whether it is an empty object that stands for a directory.
    pub is_folder_marker: bool,
}

/// The granules of a response.
pub(super) struct Response {
    items: JsonItems,
    name: Arc<str>,
    dialect: Dialect,
    /// The index of the name that is the granule's id.
    which: usize,
    with_dates: bool,
    with_etags: bool,
    /// The collections that are selected.
    only: Vec<RowFilter>,
    /// The number of elements.
    count: u64,
    skipped: BTreeMap<Skipped, u64>,
    collections: Values,
    replicas: Replicas,
    /// The first directory, if the list contains nothing in a directory.
    directory: Option<(SourceLocation, String)>,
    has_nested: bool,
}

/// Only the objects of one directory are listed.
static WITH_DELIMITER: FindingKind = FindingKind {
    name: "not-recursive",
    refused_as: ErrorKind::Incomplete,
    heading: "Directories",
    what: "is a prefix of other objects, which are not listed",
    hint: "list without --delimiter",
};

impl Response {
    pub(super) fn open(
        file: Reader,
        name: Arc<str>,
        dialect: Dialect,
        options: &ListingOptions,
    ) -> Result<Self, Error> {
        Response::of_items(JsonItems::new(file, name.clone(), dialect.list), name, dialect, options)
    }

    /// Reads a file with one item after the other, instead of a list of items.
    pub(super) fn of_values(
        file: Reader,
        name: Arc<str>,
        dialect: Dialect,
        options: &ListingOptions,
    ) -> Result<Self, Error> {
        let dialect = Dialect { is_search: false, ..dialect };
        Response::of_items(JsonItems::of_values(file, name.clone()), name, dialect, options)
    }

    fn of_items(
        items: JsonItems,
        name: Arc<str>,
        dialect: Dialect,
        options: &ListingOptions,
    ) -> Result<Self, Error> {
        let columns = || dialect.names.iter().map(|(column, _)| *column);
        let which = match options.column.as_deref() {
            None => 0,
            Some(asked) => columns().position(|column| column == asked).ok_or_else(|| {
                let columns: Vec<String> = columns().map(str::to_owned).collect();
                Error::no_column(asked, &columns).at_line(&name, 1)
            })?,
        };
        if let Some(filter) = options.only.iter().find(|filter| filter.column != COLLECTION) {
            let columns = [COLLECTION.to_owned()];
            let error = Error::no_column(&filter.column, &columns);
            let error = Error::input(format!("{error}; --only must name one of them"));
            return Err(error.at_line(&name, 1));
        }
        Ok(Response {
            items,
            name,
            dialect,
            which,
            with_dates: options.with_dates,
            with_etags: options.with_etags,
            only: options.only.clone(),
            count: 0,
            skipped: BTreeMap::new(),
            collections: Values::default(),
            replicas: Replicas::default(),
            directory: None,
            has_nested: false,
        })
    }

    fn row(&mut self, mut item: Item, line: u64) -> Result<Row, Error> {
        let (_, field) = self.dialect.names[self.which];
        let id = item.names[self.which].take().ok_or_else(|| Error::no_field(field))?;
        self.has_nested |= id.contains('/');
        if let Some(node) = &item.node {
            self.replicas.check(&id, node, &item.files)?;
        }
        let location = SourceLocation::Line { source: self.name.clone(), line };
        let mut row = Row::new(granule_id(id.as_bytes())?, location);
        row.record.is_deleted = item.is_deleted;
        row.files = item.files;
        if self.with_dates {
            row.ingested(parse_time(&item.ingested.ok_or_else(Error::no_ingest_date)?)?);
            if item.is_deleted {
                let revised = item.revised.ok_or_else(|| Error::no_field("meta.revision-date"))?;
                row.deleted(parse_time(&revised)?);
            }
        }
        Ok(row)
    }

    /// The reason to skip an element. `None` means that it is read.
    fn skipped(&mut self, item: &Item) -> Option<Skipped> {
        if item.is_directory {
            if self.directory.is_none() {
                let location =
                    SourceLocation::Line { source: self.name.clone(), line: self.items.line };
                let path = item.names[0].clone().unwrap_or_default();
                self.directory = Some((location, path));
            }
            return Some(Skipped::Directory);
        }
        if item.is_folder_marker {
            return Some(Skipped::FolderMarker);
        }
        let collection = item.collection.as_deref()?;
        match selects(&self.only, COLLECTION, collection) {
            Some(true) => None,
            Some(false) => Some(Skipped::NotSelected),
            None => {
                self.collections.add(collection);
                None
            }
        }
    }
}

/// The name of an item's collection in `--only`.
const COLLECTION: &str = "collection";

impl Rows for Response {
    fn next_row(&mut self) -> Result<Option<Row>, Error> {
        loop {
            let Some(item) = (self.dialect.read)(&mut self.items)? else { return Ok(None) };
            self.count += 1;
            if let Some(kind) = self.skipped(&item) {
                *self.skipped.entry(kind).or_default() += 1;
                continue;
            }
            let line = self.items.line;
            return self.row(item, line).map(Some).map_err(|error| error.at_line(&self.name, line));
        }
    }

    fn findings(&self) -> FileFindings {
        let mut suspicious = Vec::new();
        let first_line = || SourceLocation::Line { source: self.name.clone(), line: 1 };
        if let Some((location, path)) = self.directory.as_ref().filter(|_| !self.has_nested) {
            let sentence = format!("{} {}", quoted(path), NOT_RECURSIVE.what);
            suspicious.push(Finding::new(&NOT_RECURSIVE, location.clone(), sentence));
        }
        if let Some((line, prefix)) = &self.items.prefix {
            let location = SourceLocation::Line { source: self.name.clone(), line: *line };
            let sentence = format!("{} {}", quoted(prefix), WITH_DELIMITER.what);
            suspicious.push(Finding::new(&WITH_DELIMITER, location, sentence));
        }
        let collections = Watched::of_items(COLLECTION, self.collections.clone(), first_line());
        FileFindings {
            skipped: self.skipped.clone(),
            suspicious,
            watched: vec![collections],
            totals: self.dialect.is_search.then(|| self.items.totals(self.count)),
            elements: self.count,
            has_nested_paths: self.dialect.is_of_paths && self.has_nested,
            lacks_checksums: self.dialect.is_of_objects && !self.with_etags,
            ..FileFindings::default()
        }
    }
}
