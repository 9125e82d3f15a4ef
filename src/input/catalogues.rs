//! Documents of JSON with a list of granules, as catalogues and tools write them: CMR, STAC, ESGF's index and
//! `rclone`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::content::{WrittenFile, scalar};
use super::error::granule_id;
use super::format::{ListingOptions, parse_time};
use super::json::JsonItems;
use super::{Hits, Reader, Row, Rows};
use crate::error::Error;
use crate::model::{FilePath, SourceLocation};

/// A format of documents.
pub(super) struct Dialect {
    /// The keys that lead to the list of granules. None means that the document is the list.
    list: &'static [&'static str],
    /// What `--column` calls each name of a granule, and where it is.
    names: &'static [(&'static str, &'static str)],
    read: fn(&mut JsonItems) -> Result<Option<Item>, Error>,
}

/// A granule as a document states it.
#[derive(Default)]
struct Item {
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
fn read<T: DeserializeOwned + Into<Item>>(items: &mut JsonItems) -> Result<Option<Item>, Error> {
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
            row.ingested(parse_time(&item.ingested.ok_or_else(Error::no_ingest_date)?)?);
            if item.is_deleted {
                let revised = item.revised.ok_or_else(|| Error::no_field("meta.revision-date"))?;
                row.deleted(parse_time(&revised)?);
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

/// CMR UMM-G.
pub(super) const UMM_JSON: Dialect = Dialect {
    list: &["items"],
    names: &[
        ("GranuleUR", "umm.GranuleUR"),
        ("producer", "umm.DataGranule.Identifiers of type ProducerGranuleId"),
    ],
    read: read::<UmmItem>,
};

/// CMR's Atom feed as JSON.
pub(super) const CMR_JSON: Dialect = Dialect {
    list: &["feed", "entry"],
    names: &[("title", "title"), ("producer", "producer_granule_id")],
    read: read::<CmrEntry>,
};

/// A STAC ItemCollection.
pub(super) const STAC: Dialect =
    Dialect { list: &["features"], names: &[("id", "id")], read: read::<StacItem> };

/// What `rclone lsjson -R` prints.
pub(super) const RCLONE: Dialect =
    Dialect { list: &[], names: &[("Path", "Path")], read: read::<RcloneItem> };

/// A Solr result of an ESGF index.
pub(super) const ESGF: Dialect = Dialect {
    list: &["response", "docs"],
    names: &[("instance_id", "instance_id or id")],
    read: read::<EsgfDocument>,
};

/// CMR's `deleted-granules.json`.
pub(super) const CMR_DELETED: Dialect =
    Dialect { list: &[], names: &[("granule-ur", "granule-ur")], read: read::<DeletedGranule> };

#[derive(Deserialize)]
struct UmmItem {
    #[serde(default)]
    meta: UmmMeta,
    #[serde(default)]
    umm: Umm,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct UmmMeta {
    revision_date: Option<String>,
    deleted: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Umm {
    #[serde(rename = "GranuleUR")]
    granule_ur: Option<String>,
    provider_dates: Vec<Typed>,
    data_granule: DataGranule,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct DataGranule {
    identifiers: Vec<Typed>,
    archive_and_distribution_information: Vec<UmmFile>,
}

/// A date or an identifier, of which there are several types.
#[derive(Deserialize)]
struct Typed {
    #[serde(alias = "Type", alias = "IdentifierType")]
    kind: String,
    #[serde(alias = "Date", alias = "Identifier")]
    value: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct UmmFile {
    name: Option<String>,
    #[serde(deserialize_with = "scalar")]
    size_in_bytes: Option<String>,
    checksum: UmmChecksum,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct UmmChecksum {
    algorithm: Option<String>,
    value: Option<String>,
}

impl From<UmmItem> for Item {
    fn from(UmmItem { meta, umm }: UmmItem) -> Item {
        let of_type = |list: Vec<Typed>, kind: &str| {
            list.into_iter().find(|entry| entry.kind == kind).map(|entry| entry.value)
        };
        let DataGranule { identifiers, archive_and_distribution_information: files } =
            umm.data_granule;
        let inserted = of_type(umm.provider_dates, "Insert");
        Item {
            names: [umm.granule_ur, of_type(identifiers, "ProducerGranuleId")],
            ingested: inserted.or_else(|| meta.revision_date.clone()),
            is_deleted: meta.deleted,
            revised: meta.revision_date,
            files: files.into_iter().map(WrittenFile::from).collect(),
            ..Item::default()
        }
    }
}

/// What has only a size in another unit is left out, as nothing is stated of it.
impl From<UmmFile> for WrittenFile {
    fn from(UmmFile { name, size_in_bytes, checksum }: UmmFile) -> WrittenFile {
        WrittenFile {
            path: name.filter(|name| name != "Not provided"),
            size: size_in_bytes,
            algorithm: checksum.algorithm,
            checksum: checksum.value,
            location: None,
        }
    }
}

#[derive(Deserialize)]
struct CmrEntry {
    title: Option<String>,
    producer_granule_id: Option<String>,
    updated: Option<String>,
}

impl From<CmrEntry> for Item {
    fn from(CmrEntry { title, producer_granule_id, updated }: CmrEntry) -> Item {
        Item { names: [title, producer_granule_id], ingested: updated, ..Item::default() }
    }
}

#[derive(Deserialize)]
struct StacItem {
    id: Option<String>,
    properties: Option<StacProperties>,
    assets: Option<BTreeMap<String, StacAsset>>,
}

#[derive(Default, Deserialize)]
struct StacProperties {
    created: Option<String>,
    datetime: Option<String>,
    updated: Option<String>,
}

#[derive(Deserialize)]
struct StacAsset {
    href: Option<String>,
    #[serde(default, rename = "file:size", deserialize_with = "scalar")]
    size: Option<String>,
    #[serde(rename = "file:checksum")]
    multihash: Option<String>,
}

impl From<StacItem> for Item {
    fn from(StacItem { id, properties, assets }: StacItem) -> Item {
        let StacProperties { created, datetime, updated } = properties.unwrap_or_default();
        let assets = assets.unwrap_or_default();
        Item {
            names: [id, None],
            ingested: created.or(datetime).or(updated),
            files: assets.into_values().map(WrittenFile::from).collect(),
            ..Item::default()
        }
    }
}

/// The path is the address, if it is relative, else its last segment.
impl From<StacAsset> for WrittenFile {
    fn from(StacAsset { href, size, multihash }: StacAsset) -> WrittenFile {
        let path = |href: String| {
            if !href.contains("://") && FilePath::new(href.as_str()).is_ok() {
                return href;
            }
            let before_query = href.split(['?', '#']).next().unwrap_or_default();
            before_query.rsplit('/').next().unwrap_or_default().to_owned()
        };
        let algorithm = Some("multihash".to_owned());
        WrittenFile { path: href.map(path), size, algorithm, checksum: multihash, location: None }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RcloneItem {
    path: Option<String>,
    #[serde(default)]
    is_dir: bool,
    /// -1 means that it is not known.
    #[serde(default = "unknown_size")]
    size: i64,
    hashes: Option<BTreeMap<String, String>>,
}

fn unknown_size() -> i64 {
    -1
}

impl From<RcloneItem> for Item {
    fn from(RcloneItem { path, is_dir: is_directory, size, hashes }: RcloneItem) -> Item {
        let size = (size >= 0).then(|| size.to_string());
        let file = |(algorithm, checksum)| WrittenFile {
            path: path.clone(),
            algorithm: Some(algorithm),
            checksum: Some(checksum),
            ..WrittenFile::default()
        };
        let mut files: Vec<WrittenFile> = hashes.into_iter().flatten().map(file).collect();
        files.push(WrittenFile { path: path.clone(), size, ..WrittenFile::default() });
        Item { names: [path, None], is_directory, files, ..Item::default() }
    }
}

#[derive(Deserialize)]
struct EsgfDocument {
    instance_id: Option<String>,
    id: Option<String>,
    title: Option<String>,
    #[serde(default)]
    retracted: bool,
    latest: Option<bool>,
    #[serde(default, deserialize_with = "scalar")]
    size: Option<String>,
    #[serde(default, deserialize_with = "scalar")]
    checksum: Option<String>,
    #[serde(default, deserialize_with = "scalar")]
    checksum_type: Option<String>,
}

impl From<EsgfDocument> for Item {
    fn from(document: EsgfDocument) -> Item {
        let EsgfDocument { size, checksum, checksum_type: algorithm, .. } = document;
        // After the first `|` is the node that has it.
        let before_node = |id: String| id.split('|').next().unwrap_or_default().to_owned();
        let name = document.instance_id.or_else(|| document.id.map(before_node));
        let path = document.title.or_else(|| name.clone());
        Item {
            names: [name, None],
            is_deleted: document.retracted || document.latest == Some(false),
            files: vec![WrittenFile { path, size, algorithm, checksum, location: None }],
            ..Item::default()
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct DeletedGranule {
    granule_ur: Option<String>,
}

impl From<DeletedGranule> for Item {
    fn from(DeletedGranule { granule_ur }: DeletedGranule) -> Item {
        Item { names: [granule_ur, None], ..Item::default() }
    }
}
