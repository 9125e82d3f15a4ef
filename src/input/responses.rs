//! The search responses of catalogues: CMR's `granules.umm_json` and `granules.json`, and a STAC
//! ItemCollection.

use std::sync::Arc;

use serde_json::Value;

use super::content::{self, FileReading};
use super::format::{Options, parse_time};
use super::json::JsonItems;
use super::{Hits, Reader, Record};
use crate::error::Error;
use crate::model::{GranuleId, Moment, SourceLocation};

/// The format of a catalogue's response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// CMR UMM-G: `items[].umm.GranuleUR`.
    UmmJson,
    /// CMR's Atom feed as JSON: `feed.entry[].title`.
    CmrJson,
    /// A STAC ItemCollection: `features[].id`.
    Stac,
}

/// Which of a granule's names is its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    /// The name that the catalogue gives it.
    Catalogue,
    /// The name that its producer gave it.
    Producer,
}

/// The granules of a response.
pub(super) struct Response {
    items: JsonItems<Reader>,
    name: Arc<str>,
    dialect: Dialect,
    which: Name,
    with_dates: bool,
    pub files: FileReading,
    count: u64,
}

impl Response {
    pub(super) fn open(
        file: Reader,
        name: Arc<str>,
        dialect: Dialect,
        options: &Options,
    ) -> Result<Self, Error> {
        let (path, columns): (&[&str], &[&str]) = match dialect {
            Dialect::UmmJson => (&["items"], &["GranuleUR", "producer"]),
            Dialect::CmrJson => (&["feed", "entry"], &["title", "producer"]),
            Dialect::Stac => (&["features"], &["id"]),
        };
        let which = match options.column.as_deref() {
            None => Name::Catalogue,
            Some("producer") if columns.contains(&"producer") => Name::Producer,
            Some(column) if columns[0] == column => Name::Catalogue,
            Some(column) => {
                let columns: Vec<String> = columns.iter().map(|&it| it.to_owned()).collect();
                return Err(Error::no_column(column, &columns).at_line(&name, 1));
            }
        };
        let items = JsonItems::new(file, name.clone(), path);
        let (with_dates, files) = (options.with_dates, FileReading::new(options));
        Ok(Response { items, name, dialect, which, with_dates, files, count: 0 })
    }

    /// The next granule.
    pub(super) fn record(&mut self) -> Result<Option<Record>, Error> {
        let Some((item, line)) = self.items.next_item()? else { return Ok(None) };
        self.count += 1;
        self.record_of(&item, line).map(Some)
    }

    /// The counts of the response, once all of it is read.
    pub(super) fn hits(&self) -> Option<Hits> {
        self.items.hits.map(|hits| Hits { hits, items: self.count })
    }

    /// Whether the response names a next page, once all of it is read.
    pub(super) fn has_next_page(&self) -> bool {
        self.items.has_next_page
    }
    fn record_of(&mut self, item: &Value, line: u64) -> Result<Record, Error> {
        let name = self.name.clone();
        let fail = |error: Error| error.at_line(&name, line);
        let no_field = |field: &str| fail(Error::no_field(field));
        let (field, text) = match (self.dialect, self.which) {
            (Dialect::UmmJson, Name::Catalogue) => {
                ("umm.GranuleUR", item.pointer("/umm/GranuleUR"))
            }
            (Dialect::UmmJson, Name::Producer) => (
                "umm.DataGranule.Identifiers of type ProducerGranuleId",
                typed(item, "/umm/DataGranule/Identifiers", "IdentifierType", "ProducerGranuleId")
                    .and_then(|identifier| identifier.get("Identifier")),
            ),
            (Dialect::CmrJson, Name::Catalogue) => ("title", item.get("title")),
            (Dialect::CmrJson, Name::Producer) => {
                ("producer_granule_id", item.get("producer_granule_id"))
            }
            (Dialect::Stac, _) => ("id", item.get("id")),
        };
        let text = text.and_then(Value::as_str).ok_or_else(|| no_field(field))?;
        let granule_id =
            GranuleId::new(text).map_err(|cause| fail(Error::not_an_id(text, cause)))?;
        let location = SourceLocation::Line { source: self.name.clone(), line };
        let is_deleted = item.pointer("/meta/deleted") == Some(&Value::Bool(true));
        let mut record = Record { is_deleted, ..Record::new(granule_id, location) };
        if !self.files.is_off {
            let stated = match self.dialect {
                Dialect::UmmJson => content::of_umm(item, self.files.algorithm.as_ref()),
                Dialect::Stac => content::of_stac(item),
                Dialect::CmrJson => Vec::new(),
            };
            record.files = self.files.of_granule(stated, &record.location).map_err(fail)?;
        }
        if self.with_dates {
            let read = |text: &Value| -> Result<Moment, Error> {
                let text = text.as_str().unwrap_or_default();
                parse_time(text).map_err(fail)
            };
            let ingested = self.ingest_date(item).ok_or_else(|| fail(Error::no_ingest_date()))?;
            record.ingested = Some(read(ingested)?);
            if is_deleted {
                let field = "meta.revision-date";
                let deleted = item.pointer("/meta/revision-date").ok_or_else(|| no_field(field))?;
                record.deleted = Some(read(deleted)?);
            }
        }
        Ok(record)
    }

    fn ingest_date<'item>(&self, item: &'item Value) -> Option<&'item Value> {
        match self.dialect {
            Dialect::UmmJson => typed(item, "/umm/ProviderDates", "Type", "Insert")
                .and_then(|date| date.get("Date"))
                .or_else(|| item.pointer("/meta/revision-date")),
            Dialect::CmrJson => item.get("updated"),
            Dialect::Stac => ["created", "datetime", "updated"]
                .into_iter()
                .filter_map(|field| item.get("properties")?.get(field))
                .find(|date| !date.is_null()),
        }
    }
}

/// The object of a list whose `key` is `value`.
fn typed<'item>(item: &'item Value, list: &str, key: &str, value: &str) -> Option<&'item Value> {
    item.pointer(list)?
        .as_array()?
        .iter()
        .find(|entry| entry.get(key).is_some_and(|it| it == value))
}
