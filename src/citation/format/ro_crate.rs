//! A citation as an RO-Crate 1.2: the description of a directory with the canonical list of the cited set.
//!
//! The root of the crate is the set. It has the statement that cites the set, its identifier, its digest, its
//! number of granules, and its dataset with the DOI. `granules.txt` beside it is the canonical list, whose
//! SHA-256 is the digest. Each granule is described with its size and its checksums. Granules with an address
//! are files on the web; others are mentioned by the set. If there are more than [`MOST_ENTITIES`], only the
//! list contains them. As in every crate, entities refer to each other by ids.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::json::{indented, json_ld_creator, licence, nonempty, without_nulls};
use crate::citation::facts::Citation;
use crate::disk::Directory;
use crate::disk::reserved::SHARED_NEW;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Algorithm, Digest, FileRecord, quoted};
use crate::registry::Granule;

/// The name of the description.
const METADATA: &str = "ro-crate-metadata.json";
/// The name of the canonical list.
const LIST: &str = "granules.txt";
/// The greatest number of granules and files that are described individually.
const MOST_ENTITIES: usize = 10_000;

impl Citation {
    /// Writes `ro-crate-metadata.json` (RO-Crate 1.2) for the cited set. `granules` are its granules in
    /// canonical order, with the records of their files.
    ///
    /// # Errors
    ///
    /// Those of reading the granules.
    pub fn write_ro_crate(
        &self,
        granules: impl IntoIterator<Item = Result<Granule>>,
    ) -> Result<String> {
        self.describe(granules, &mut io::sink(), Path::new(LIST))
    }

    /// Writes the crate into a directory, which is created if it does not exist: the description, and the
    /// canonical list. An earlier crate in it is replaced.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`]: the directory has another file; [`ErrorKind::Io`]; those of reading the
    /// granules.
    pub fn save_ro_crate(
        &self,
        path: &Path,
        granules: impl IntoIterator<Item = Result<Granule>>,
    ) -> Result<()> {
        let directory = Directory::create_all(path)?;
        let is_other = |name: &String| ![METADATA, LIST, SHARED_NEW].contains(&name.as_str());
        if let Some(other) = directory.names()?.into_iter().find(is_other) {
            let (path, other) = (path.to_string_lossy(), quoted(&other).to_string());
            let message = format!("{} has a file of something else: {other}", quoted(&path));
            return Err(Error::new(ErrorKind::AlreadyExists, message));
        }
        // The old description is removed first, so it never describes a different list.
        directory.remove(METADATA)?;
        let list_path = directory.path_of(LIST);
        let mut text = String::new();
        directory.replace(LIST, |file| {
            let mut list = BufWriter::new(file);
            let described = self.describe(granules, &mut list, &list_path);
            text = described.map_err(io::Error::other)?;
            list.flush()?;
            list.get_ref().sync_all()
        })?;
        directory.replace(METADATA, |file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })?;
        directory.sync()
    }

    /// Writes the canonical list to `list`, and returns the description.
    fn describe(
        &self,
        granules: impl IntoIterator<Item = Result<Granule>>,
        list: &mut dyn Write,
        list_path: &Path,
    ) -> Result<String> {
        let (mut entities, mut parts, mut mentions) = (Vec::new(), Vec::new(), Vec::new());
        let (mut bytes, mut line) = (0, Vec::new());
        for granule in granules {
            let granule = granule?;
            line.clear();
            granule.content.write_line(granule.granule_id.as_str(), &mut line);
            list.write_all(&line).map_err(|source| Error::cannot("write", list_path, source))?;
            bytes += line.len();
            if entities.len() <= MOST_ENTITIES {
                let address = self.record().granule_url.as_ref();
                let address = address.and_then(|url| url.address_of(&granule.granule_id));
                let is_file = address.is_some() && granule.content.files().len() < 2;
                let named = if is_file { &mut parts } else { &mut mentions };
                named.push(add_granule(&granule, is_file, address, &mut entities));
            }
        }
        if entities.len() > MOST_ENTITIES {
            (entities, parts, mentions) = (Vec::new(), Vec::new(), Vec::new());
        }
        parts.insert(0, reference(LIST));
        let mut graph = vec![json!({
            "@id": METADATA,
            "@type": "CreativeWork",
            "about": reference("./"),
            "conformsTo": reference("https://w3id.org/ro/crate/1.2"),
        })];
        graph.append(&mut self.of_digest().described_set(parts, mentions));
        graph.push(json!({
            "@id": LIST,
            "@type": "File",
            "name": "The canonical list of the granules and of the checksums of their files",
            "encodingFormat": "text/plain",
            "contentSize": bytes.to_string(),
            "sha256": hexadecimal(self.cited.period.set.digest()),
        }));
        graph.append(&mut entities);
        let own_terms = json!({ "checksum": "http://spdx.org/rdf/terms#checksumValue" });
        Ok(indented(&json!({
            "@context": ["https://w3id.org/ro/crate/1.2/context", own_terms],
            "@graph": graph,
        })))
    }

    /// The set and the entities that it refers to: the dataset, its creators and its publisher, and the
    /// identifiers of the set.
    fn described_set(&self, parts: Vec<Value>, mentions: Vec<Value>) -> Vec<Value> {
        let record = self.record();
        let address = self.address();
        let of = format!("That of the dataset, {}", address.clone().unwrap_or(self.title()));
        let dataset = address.unwrap_or_else(|| "#dataset".to_owned());
        let licence = self.licence().map(licence);
        let creators = (1..).zip(&record.creators).map(|(number, creator)| {
            let mut creator = json_ld_creator(creator);
            if creator.get("@id").is_none() {
                creator["@id"] = format!("#creator-{number}").into();
            }
            creator
        });
        let mut creators: Vec<Value> = creators.collect();
        let mut seen = BTreeSet::new();
        creators.retain(|creator| seen.insert(creator["@id"].to_string()));
        let publisher = self
            .publisher()
            .map(|name| json!({ "@id": "#publisher", "@type": "Organization", "name": name }));
        let property = |id: &str, kind: &str, value: String| json!({ "@id": id, "@type": "PropertyValue", "propertyID": kind, "value": value });
        let set = without_nulls(json!({
            "@id": "./",
            "@type": "Dataset",
            "name": self.title_of_set(),
            "description": self.noted_statement(),
            "creditText": self.statement(),
            "datePublished": self.accessed.to_string(),
            // A crate must have a licence, if only as text.
            "license": licence.clone().unwrap_or(of),
            "url": self.permanent_address(),
            "identifier": [reference("#identifier"), reference("#digest")],
            "size": reference("#size"),
            "isPartOf": reference(&dataset),
            "hasPart": parts,
            "mentions": nonempty(mentions),
        }));
        let whole = without_nulls(json!({
            "@id": dataset,
            "@type": "Dataset",
            "name": self.title(),
            "description": self.description(),
            "identifier": record.doi.as_ref().map(|doi| format!("doi:{doi}")),
            "creator": nonempty(creators.iter().map(reference_to).collect()),
            "publisher": publisher.as_ref().map(reference_to),
            "datePublished": record.year.map(|year| year.to_string()),
            "version": self.version(),
            "license": licence,
            "url": self.url(),
        }));
        let names = [
            property(
                "#identifier",
                "DatasetInstance identifier (md5-chain)",
                self.prefixed_identifier(),
            ),
            property(
                "#digest",
                "DatasetInstance digest (sha256-list)",
                self.cited.period.set.digest().to_string(),
            ),
            json!({
                "@id": "#size",
                "@type": "QuantitativeValue",
                "value": self.cited.period.set.granule_count(),
                "unitText": "granules",
            }),
        ];
        [set, whole].into_iter().chain(names).chain(creators).chain(publisher).collect()
    }
}

/// The characters of an id or a path that are encoded in a fragment.
const IN_A_FRAGMENT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Adds a granule and, if there are several, its files. Returns a reference to it.
fn add_granule(
    granule: &Granule,
    is_file: bool,
    address: Option<String>,
    entities: &mut Vec<Value>,
) -> Value {
    let id = granule.granule_id.as_str();
    let own_id = format!("#granule/{}", utf8_percent_encode(id, IN_A_FRAGMENT));
    let kind = if is_file { "File" } else { "CreativeWork" };
    let files = granule.content.files();
    let mut described =
        json!({ "@id": address.as_ref().unwrap_or(&own_id), "@type": kind, "name": id });
    let reference = reference_to(&described);
    match files.as_slice() {
        [file] => add_bytes(&mut described, file),
        [] => {}
        files => {
            let of_file = |file: &FileRecord| {
                let path = file.path(&granule.granule_id);
                let file_id = format!("{own_id}?{}", utf8_percent_encode(path, IN_A_FRAGMENT));
                let mut described =
                    json!({ "@id": file_id, "@type": "CreativeWork", "name": path });
                add_bytes(&mut described, file);
                described
            };
            let files: Vec<Value> = files.iter().map(of_file).collect();
            described["hasPart"] = files.iter().map(reference_to).collect();
            entities.extend(files);
        }
    }
    entities.push(described);
    reference
}

/// Adds the recorded size and checksums of a file.
fn add_bytes(described: &mut Value, file: &FileRecord) {
    if let Some(path) = file.own_path() {
        described["localPath"] = path.as_str().into();
    }
    if let Some(size) = file.size() {
        described["contentSize"] = size.to_string().into();
    }
    let (sha256, others): (Vec<_>, Vec<_>) =
        file.checksums().iter().partition(|it| *it.algorithm() == Algorithm::Sha256);
    if let Some(checksum) = sha256.first() {
        described["sha256"] = checksum.to_string().into();
    }
    if !others.is_empty() {
        described["checksum"] = others.iter().map(|it| format!("{it:?}")).collect();
    }
}

fn reference(id: &str) -> Value {
    json!({ "@id": id })
}

fn reference_to(entity: &Value) -> Value {
    json!({ "@id": entity["@id"] })
}

/// The digits of a digest.
fn hexadecimal(digest: Digest) -> String {
    hex::encode(digest.as_bytes())
}
