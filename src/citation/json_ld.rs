//! schema.org Dataset as JSON-LD, for the landing page of an instance, as the guidelines of
//! science-on-schema.org ask: identifiers as `PropertyValue`, creators in a list that keeps their
//! order, `spdx:checksum`, `prov:wasRevisionOf`.

use serde_json::{Map, Value, json};

use super::csl_json::pretty;
use super::{Citation, Licence, plain, url_of};
use crate::model::{Creator, Dataset, Doi};

/// Writes one object.
pub(super) fn write(citation: &Citation) -> String {
    let cited = &citation.cited;
    let record = &cited.record;
    let mut object = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(name.to_owned(), value);
        }
    };
    put(
        "@context",
        Some(json!({
            "@vocab": "https://schema.org/",
            "prov": "http://www.w3.org/ns/prov#",
            "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
            "spdx": "http://spdx.org/rdf/terms#",
        })),
    );
    put("@type", Some("Dataset".into()));
    put("@id", citation.address_of(cited.instance.identifier).map(Value::from));
    put("name", Some(citation.title().into()));
    put("description", Some(citation.statement().into()));
    let creators: Vec<Value> = record.creators.iter().map(creator).collect();
    put("creator", (!creators.is_empty()).then(|| json!({ "@list": creators })));
    put("datePublished", record.year.map(|year| year.to_string().into()));
    put("dateModified", Some(cited.instance.timestamp.to_string().into()));
    put("version", citation.version().map(Value::from));
    put(
        "publisher",
        citation.publisher().map(|name| json!({ "@type": "Organization", "name": name })),
    );
    put(
        "provider",
        record
            .archive
            .as_deref()
            .map(|archive| json!({ "@type": "Organization", "name": plain(archive) })),
    );
    put("url", citation.url().or_else(|| citation.address()).map(Value::from));
    put("license", citation.licence().map(|each| licence(each).into()));
    put("identifier", Some(identifiers(citation)));
    put("spdx:checksum", Some(checksum(citation)));
    match &cited.part {
        Some((_, whole)) => {
            let whole = citation.address_of(whole.identifier);
            put("isPartOf", whole.map(|id| json!({ "@type": "Dataset", "@id": id })));
        }
        None => {
            let before = cited.previous.as_ref();
            let before = before.and_then(|before| citation.address_of(before.identifier));
            put("prov:wasRevisionOf", before.map(|id| json!({ "@id": id })));
        }
    }
    let address_of =
        |mirror: &Dataset| mirror.doi.as_ref().map(Doi::address).or_else(|| url_of(mirror));
    let same: Vec<Value> =
        citation.mirrors().filter_map(|mirror| Some(address_of(mirror)?.into())).collect();
    put("sameAs", (!same.is_empty()).then(|| same.into()));
    pretty(&object.into())
}

fn creator(creator: &Creator) -> Value {
    match creator {
        Creator::Organisation { name } => json!({ "@type": "Organization", "name": plain(name) }),
        Creator::Person { family, orcid, .. } => {
            let (given, suffix) = creator.given_and_suffix();
            let mut name = plain(&format!("{given} {family}"));
            if !suffix.is_empty() {
                name.push_str(&format!(", {}", plain(suffix)));
            }
            let mut person =
                json!({ "@type": "Person", "name": name, "familyName": plain(family) });
            for (name, text) in [("givenName", given), ("honorificSuffix", suffix)] {
                if !text.is_empty() {
                    person[name] = plain(text).into();
                }
            }
            if let Some(orcid) = orcid {
                person["@id"] = orcid.address().into();
            }
            person
        }
    }
}

fn identifiers(citation: &Citation) -> Value {
    let mut identifiers = vec![json!({
        "@type": "PropertyValue",
        "propertyID": "DatasetInstance identifier (md5-chain)",
        "value": citation.marked(),
    })];
    if let Some(doi) = &citation.cited.record.doi {
        identifiers.insert(
            0,
            json!({
                "@type": "PropertyValue",
                "@id": doi.address(),
                "propertyID": "https://registry.identifiers.org/registry/doi",
                "value": format!("doi:{doi}"),
                "url": doi.address(),
            }),
        );
    }
    identifiers.into()
}

/// The identifier as a checksum, and of what: it is not the MD5 of a file.
fn checksum(citation: &Citation) -> Value {
    json!({
        "@type": "spdx:Checksum",
        "spdx:algorithm": { "@id": "spdx:checksumAlgorithm_md5" },
        "spdx:checksumValue": citation.cited.instance.identifier.to_string(),
        "rdfs:comment": "An MD5 running chain over the granule ids in the order of their bytes (rule md5-chain), not over the bytes of a file.",
    })
}

fn licence(licence: Licence) -> String {
    match licence {
        Licence::Spdx(licence) => Licence::spdx_address(licence),
        Licence::Address(text) | Licence::Words(text) => text,
    }
}
