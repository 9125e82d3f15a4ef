//! The dialects of catalogues and tools that write JSON: CMR, STAC, ESGF's index, `rclone` and `aws s3api`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::content::{ETAG, Scalar, WrittenFile, scalar};
use super::json_items::JsonItems;
use super::lines::FOLDER_MARKER;
use super::response::{Dialect, Item};
use crate::error::Error;
use crate::model::FilePath;

/// Reads the next element as a type of a [`Dialect`].
fn read<T: DeserializeOwned + Into<Item>>(items: &mut JsonItems) -> Result<Option<Item>, Error> {
    Ok(items.next_item::<T>()?.map(T::into))
}

/// CMR UMM-G.
pub(super) const UMM_JSON: Dialect = Dialect {
    is_of_paths: false,
    is_of_objects: false,
    list: &["items"],
    is_search: true,
    names: &[
        ("GranuleUR", "umm.GranuleUR"),
        ("producer", "umm.DataGranule.Identifiers of type ProducerGranuleId"),
    ],
    read: read::<UmmItem>,
};

/// CMR's Atom feed as JSON.
pub(super) const CMR_JSON: Dialect = Dialect {
    is_of_paths: false,
    is_of_objects: false,
    list: &["feed", "entry"],
    is_search: true,
    names: &[("title", "title"), ("producer", "producer_granule_id")],
    read: read::<CmrEntry>,
};

/// A STAC ItemCollection.
pub(super) const STAC: Dialect = Dialect {
    is_of_paths: false,
    is_of_objects: false,
    list: &["features"],
    is_search: true,
    names: &[("id", "id")],
    read: read::<StacItem>,
};

/// The output of `rclone lsjson -R`.
pub(super) const RCLONE: Dialect = Dialect {
    is_of_paths: true,
    is_of_objects: false,
    list: &[],
    is_search: false,
    names: &[("Path", "Path")],
    read: read::<RcloneItem>,
};

/// The objects of a bucket: the output of `aws s3api list-objects-v2`.
pub(super) const S3_OBJECTS: Dialect = Dialect {
    is_of_paths: false,
    is_of_objects: true,
    list: &["Contents"],
    is_search: true,
    names: &[("Key", "Key")],
    read: read::<S3Object>,
};

/// The versions of the objects of a bucket: the output of `aws s3api list-object-versions`.
pub(super) const S3_VERSIONS: Dialect = Dialect {
    is_of_paths: false,
    is_of_objects: true,
    list: &["Versions"],
    is_search: true,
    names: &[("Key", "Key")],
    read: read::<S3Object>,
};

/// A Solr result of an ESGF index.
pub(super) const ESGF: Dialect = Dialect {
    is_of_paths: false,
    is_of_objects: false,
    list: &["response", "docs"],
    is_search: true,
    names: &[("instance_id", "instance_id or id")],
    read: read::<EsgfDocument>,
};

/// CMR's `deleted-granules.json`.
pub(super) const CMR_DELETED: Dialect = Dialect {
    is_of_paths: false,
    is_of_objects: false,
    list: &[],
    is_search: false,
    names: &[("granule-ur", "granule-ur")],
    read: read::<DeletedGranule>,
};

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
    collection_concept_id: Option<String>,
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

/// A date or an identifier, with its type.
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
    size_in_bytes: Scalar,
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
            collection: meta.collection_concept_id,
            ..Item::default()
        }
    }
}

/// A size in another unit is ignored.
impl From<UmmFile> for WrittenFile {
    fn from(UmmFile { name, size_in_bytes, checksum }: UmmFile) -> WrittenFile {
        WrittenFile {
            path: name.filter(|name| name != "Not provided"),
            size: size_in_bytes.text,
            algorithm: checksum.algorithm,
            checksum: checksum.value,
            ..WrittenFile::default()
        }
    }
}

#[derive(Deserialize)]
struct CmrEntry {
    title: Option<String>,
    producer_granule_id: Option<String>,
    updated: Option<String>,
    collection_concept_id: Option<String>,
}

impl From<CmrEntry> for Item {
    fn from(entry: CmrEntry) -> Item {
        let CmrEntry { title, producer_granule_id, updated, collection_concept_id } = entry;
        Item {
            names: [title, producer_granule_id],
            ingested: updated,
            collection: collection_concept_id,
            ..Item::default()
        }
    }
}

#[derive(Deserialize)]
struct StacItem {
    id: Option<String>,
    #[serde(default, deserialize_with = "scalar")]
    collection: Option<String>,
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
    #[serde(default, rename = "file:size")]
    size: Scalar,
    #[serde(rename = "file:checksum")]
    multihash: Option<String>,
}

impl From<StacItem> for Item {
    fn from(StacItem { id, collection, properties, assets }: StacItem) -> Item {
        let StacProperties { created, datetime, updated } = properties.unwrap_or_default();
        let assets = assets.unwrap_or_default();
        Item {
            names: [id, None],
            ingested: created.or(datetime).or(updated),
            files: assets.into_values().map(WrittenFile::from).collect(),
            collection,
            ..Item::default()
        }
    }
}

/// The path is the `href` if it is relative, otherwise the last segment of the `href`.
impl From<StacAsset> for WrittenFile {
    fn from(StacAsset { href, size, multihash }: StacAsset) -> WrittenFile {
        let path = |href: String| {
            if !href.contains("://") && FilePath::new(href.as_str()).is_ok() {
                return href;
            }
            let before_query = href.split(['?', '#']).next().unwrap_or_default();
            before_query.rsplit('/').next().unwrap_or_default().to_owned()
        };
        WrittenFile {
            path: href.map(path),
            size: size.text,
            algorithm: Some("multihash".to_owned()),
            checksum: multihash,
            ..WrittenFile::default()
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RcloneItem {
    path: Option<String>,
    #[serde(default)]
    is_dir: bool,
    /// -1 means that the size is unknown.
    #[serde(default = "unknown_size")]
    size: i64,
    hashes: Option<BTreeMap<String, String>>,
}

fn unknown_size() -> i64 {
    -1
}

impl From<RcloneItem> for Item {
    fn from(RcloneItem { path, is_dir: is_directory, size, hashes }: RcloneItem) -> Item {
        let marker = std::str::from_utf8(FOLDER_MARKER).unwrap_or_default();
        let is_folder_marker = size <= 0 && path.as_ref().is_some_and(|it| it.ends_with(marker));
        let size = (size >= 0).then(|| size.to_string());
        let file = |(algorithm, checksum)| WrittenFile {
            path: path.clone(),
            algorithm: Some(algorithm),
            checksum: Some(checksum),
            ..WrittenFile::default()
        };
        let mut files: Vec<WrittenFile> = hashes.into_iter().flatten().map(file).collect();
        files.push(WrittenFile { path: path.clone(), size, ..WrittenFile::default() });
        Item { names: [path, None], is_directory, is_folder_marker, files, ..Item::default() }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct S3Object {
    key: Option<String>,
    #[serde(default)]
    size: Scalar,
    #[serde(rename = "ETag")]
    etag: Option<String>,
    is_latest: Option<bool>,
}

impl From<S3Object> for Item {
    fn from(S3Object { key, size, etag, is_latest }: S3Object) -> Item {
        let size = size.text;
        let is_empty = matches!(size.as_deref(), None | Some("0"));
        let is_folder_marker = is_empty && key.as_deref().is_some_and(is_folder);
        let file = |checksum: Option<String>, algorithm: Option<&str>| WrittenFile {
            path: key.clone(),
            size: size.clone(),
            algorithm: algorithm.map(str::to_owned),
            checksum,
            ..WrittenFile::default()
        };
        let etag = etag.map(|etag| etag.trim_matches('"').to_owned());
        let files = vec![file(None, None), file(etag, Some(ETAG))];
        Item {
            names: [key, None],
            is_folder_marker,
            is_deleted: is_latest == Some(false),
            files,
            ..Item::default()
        }
    }
}

/// Whether the key of an empty object stands for a directory.
pub(super) fn is_folder(key: &str) -> bool {
    key.ends_with('/') || key.as_bytes().ends_with(FOLDER_MARKER)
}

#[derive(Deserialize)]
struct EsgfDocument {
    instance_id: Option<String>,
    id: Option<String>,
    title: Option<String>,
    data_node: Option<String>,
    #[serde(default, rename = "type", deserialize_with = "scalar")]
    kind: Option<String>,
    #[serde(default)]
    retracted: bool,
    latest: Option<bool>,
    #[serde(default)]
    size: Scalar,
    #[serde(default)]
    checksum: Scalar,
    #[serde(default)]
    checksum_type: Scalar,
}

impl From<EsgfDocument> for Item {
    fn from(document: EsgfDocument) -> Item {
        let EsgfDocument { size, checksum, checksum_type, .. } = document;
        // The name of the node follows the first `|`.
        let of_id = document.id.as_deref().and_then(|id| id.split_once('|'));
        let node = document.data_node.or_else(|| of_id.map(|(_, node)| node.to_owned()));
        let before_node = |id: String| id.split('|').next().unwrap_or_default().to_owned();
        let name = document.instance_id.or_else(|| document.id.map(before_node));
        let path = document.title.or_else(|| name.clone());
        // The size of a dataset is the sum of its files, so it is not the size of one file.
        if document.kind.is_some_and(|kind| kind.eq_ignore_ascii_case("Dataset")) {
            return Item {
                names: [name, None],
                is_deleted: document.retracted || document.latest == Some(false),
                ..Item::default()
            };
        }
        Item {
            node,
            names: [name, None],
            is_deleted: document.retracted || document.latest == Some(false),
            files: vec![WrittenFile {
                path,
                size: size.text,
                algorithm: checksum_type.text,
                checksum: checksum.text,
                has_numeric_checksum: checksum.is_number,
                location: None,
            }],
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
