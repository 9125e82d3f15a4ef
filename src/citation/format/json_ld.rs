//! A schema.org Dataset as JSON-LD, for the landing page of an instance.
//!
//! As the guidelines of science-on-schema.org recommend, identifiers are `PropertyValue`s, creators
//! are in a list that keeps their order, and `spdx:checksum` and `prov:wasRevisionOf` are given.
//!
//! The output can be put into a `<script>` element unchanged: `<` is written as `\u003c`, so that
//! no title can end the element with `</script>`, or begin a comment with `<!--`.

use serde_json::{Value, json};

use super::{indented, nonempty, without_nulls};
use crate::citation::facts::{Citation, Licence, single_line, url_of};
use crate::model::{Creator, Dataset, Doi};

/// Writes one object.
pub(super) fn write(citation: &Citation) -> String {
    let record = &citation.record;
    let organisation = |name: String| json!({ "@type": "Organization", "name": name });
    let whole = citation.subset.as_ref().and_then(|subset| citation.address_of(subset.whole));
    let previous = citation.previous.filter(|_| citation.subset.is_none());
    let previous = previous.and_then(|previous| citation.address_of(previous));
    let address_of =
        |mirror: &Dataset| mirror.doi.as_ref().map(Doi::address).or_else(|| url_of(mirror));
    let same = citation.named_mirrors().filter_map(|mirror| Some(address_of(mirror)?.into()));
    let creators = nonempty(record.creators.iter().map(creator).collect());
    let object = without_nulls(json!({
        "@context": {
            "@vocab": "https://schema.org/",
            "prov": "http://www.w3.org/ns/prov#",
            "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
            "spdx": "http://spdx.org/rdf/terms#",
        },
        "@type": "Dataset",
        "@id": citation.address_of(citation.identifier),
        "name": citation.title(),
        "description": citation.description(),
        "creditText": citation.statement(),
        "creator": creators.map(|creators| json!({ "@list": creators })),
        "datePublished": record.year.map(|year| year.to_string()),
        "dateModified": citation.from.to_string(),
        "version": citation.version(),
        "publisher": citation.publisher().map(organisation),
        "provider": citation.archive().map(organisation),
        "url": citation.url().or_else(|| citation.address()),
        "license": citation.licence().map(licence),
        "identifier": identifiers(citation),
        "spdx:checksum": checksum(citation),
        "isPartOf": whole.map(|id| json!({ "@type": "Dataset", "@id": id })),
        "prov:wasRevisionOf": previous.map(|id| json!({ "@id": id })),
        "sameAs": nonempty(same.collect()),
    }));
    // In JSON, this character occurs in strings only.
    indented(&object).replace('<', "\\u003c")
}

fn creator(creator: &Creator) -> Value {
    match creator {
        Creator::Organisation { name } => {
            json!({ "@type": "Organization", "name": single_line(name) })
        }
        Creator::Person { family, orcid, .. } => {
            let (given, suffix) = creator.given_and_suffix();
            let mut name = single_line(&format!("{given} {family}"));
            if !suffix.is_empty() {
                name.push_str(&format!(", {}", single_line(suffix)));
            }
            let mut person =
                json!({ "@type": "Person", "name": name, "familyName": single_line(family) });
            for (name, text) in [("givenName", given), ("honorificSuffix", suffix)] {
                if !text.is_empty() {
                    person[name] = single_line(text).into();
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
        "value": citation.prefixed_identifier(),
    })];
    if let Some(doi) = &citation.record.doi {
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

/// The identifier as a checksum, with a comment that it is not the MD5 of a file.
fn checksum(citation: &Citation) -> Value {
    json!({
        "@type": "spdx:Checksum",
        "spdx:algorithm": { "@id": "spdx:checksumAlgorithm_md5" },
        "spdx:checksumValue": citation.identifier.to_string(),
        "rdfs:comment": "An MD5 running chain over the granule ids in the order of their bytes (rule md5-chain), not over the bytes of a file.",
    })
}

fn licence(licence: Licence) -> String {
    match licence {
        Licence::Spdx(licence) => Licence::spdx_address(licence),
        Licence::Address(text) | Licence::Words(text) => text,
    }
}
