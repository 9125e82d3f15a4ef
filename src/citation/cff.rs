//! CITATION.cff 1.2, for a repository whose code uses the data: the file itself describes the
//! dataset, and `preferred-citation` has what the top level has no key for.
//!
//! `authors` is required by the format; where the record has no creators it is left out, and said.

use serde::Serialize;

use super::{Citation, Licence, plain};
use crate::model::Creator;

/// Writes a YAML document.
pub(super) fn write(citation: &Citation) -> String {
    let record = &citation.cited.record;
    // The format knows the list of SPDX and addresses, and no other words.
    let (license, license_url) = match citation.licence() {
        Some(Licence::Spdx(licence)) => (Some(licence.to_owned()), None),
        Some(Licence::Address(address)) => (None, Some(address)),
        Some(Licence::Words(_)) | None => (None, None),
    };
    let reference = Reference {
        kind: "data",
        title: citation.title(),
        authors: authors(citation),
        version: citation.version(),
        year: record.year.map(|year| year.as_number()),
        publisher: citation.publisher().map(|name| Entity { name }),
        doi: record.doi.as_ref().map(ToString::to_string),
        url: citation.url(),
        identifiers: identifiers(citation),
        date_accessed: citation.accessed.to_string(),
        notes: citation.statement(),
    };
    let file = File {
        cff_version: "1.2.0",
        message: "If you use this dataset, please cite it with the identifier of the exact granules.",
        kind: "dataset",
        title: citation.title(),
        authors: authors(citation),
        version: citation.version(),
        doi: record.doi.as_ref().map(ToString::to_string),
        url: citation.url(),
        license,
        license_url,
        identifiers: identifiers(citation),
        preferred_citation: reference,
    };
    serde_saphyr::to_string(&file).expect("texts, numbers, lists and maps are YAML")
}

fn authors(citation: &Citation) -> Vec<Author> {
    let author = |creator: &Creator| match creator {
        Creator::Person { family, given, orcid } => Author {
            family_names: Some(plain(family)),
            given_names: (!given.is_empty()).then(|| plain(given)),
            name: None,
            orcid: orcid.as_ref().map(crate::model::Orcid::address),
        },
        Creator::Organisation { name } => {
            Author { family_names: None, given_names: None, name: Some(plain(name)), orcid: None }
        }
    };
    citation.cited.record.creators.iter().map(author).collect()
}

fn identifiers(citation: &Citation) -> Vec<Other> {
    let description = "DatasetInstance identifier of the exact granules (rule md5-chain)";
    vec![Other { kind: "other", value: citation.marked(), description }]
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    cff_version: &'static str,
    message: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    title: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authors: Vec<Author>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doi: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    license_url: Option<String>,
    identifiers: Vec<Other>,
    preferred_citation: Reference,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Reference {
    #[serde(rename = "type")]
    kind: &'static str,
    title: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authors: Vec<Author>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    year: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    publisher: Option<Entity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doi: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    identifiers: Vec<Other>,
    date_accessed: String,
    notes: String,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Author {
    #[serde(skip_serializing_if = "Option::is_none")]
    family_names: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    given_names: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    orcid: Option<String>,
}

#[derive(Serialize)]
struct Entity {
    name: String,
}

#[derive(Serialize)]
struct Other {
    #[serde(rename = "type")]
    kind: &'static str,
    value: String,
    description: &'static str,
}
