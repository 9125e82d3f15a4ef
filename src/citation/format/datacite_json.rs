//! DataCite JSON, Metadata Schema 4: the metadata with which a DOI for the instance would be
//! registered.
//!
//! The identifier is an alternate identifier. The instances before and after it are related
//! identifiers: the address of the dataset with the identifier as its fragment.

use serde_json::{Value, json};

use super::{indented, nonempty, without_nulls};
use crate::citation::facts::{Citation, Licence, single_line, url_of};
use crate::model::{Creator, Doi};

/// Writes one object.
pub(super) fn write(citation: &Citation) -> String {
    let record = &citation.record;
    let described = citation
        .description()
        .map(|text| json!({ "description": text, "descriptionType": "Abstract" }));
    let stated = json!({ "description": citation.statement(), "descriptionType": "TechnicalInfo" });
    indented(&without_nulls(json!({
        "doi": record.doi.as_ref().map(Doi::as_str),
        "url": citation.url(),
        "types": { "resourceTypeGeneral": "Dataset", "resourceType": "Dataset" },
        "creators": nonempty(record.creators.iter().map(creator).collect()),
        "titles": [{ "title": citation.title() }],
        "publisher": citation.publisher().map(|name| json!({ "name": name })),
        "publicationYear": record.year.map(|year| year.to_string()),
        "version": citation.version(),
        "alternateIdentifiers": [{
            "alternateIdentifier": citation.prefixed_identifier(),
            "alternateIdentifierType": "DatasetInstance identifier (md5-chain)",
        }],
        "dates": dates(citation),
        "relatedIdentifiers": nonempty(related(citation)),
        "rightsList": citation.licence().map(|licence| [rights(licence)]),
        "descriptions": described.into_iter().chain([stated]).collect::<Vec<_>>(),
        "schemaVersion": "http://datacite.org/schema/kernel-4",
    })))
}

fn creator(creator: &Creator) -> Value {
    let name = single_line(&creator.full_name());
    match creator {
        Creator::Organisation { .. } => json!({ "name": name, "nameType": "Organizational" }),
        Creator::Person { family, given, orcid } => {
            let mut person = json!({
                "name": name, "nameType": "Personal", "familyName": single_line(family),
            });
            if !given.is_empty() {
                person["givenName"] = single_line(given).into();
            }
            if let Some(orcid) = orcid {
                person["nameIdentifiers"] = json!([{
                    "nameIdentifier": orcid.address(),
                    "nameIdentifierScheme": "ORCID",
                    "schemeUri": "https://orcid.org",
                }]);
            }
            person
        }
    }
}

/// When the instance took effect, and the interval in which it was in force: in the notation of
/// RKMS-ISO8601, in which an open interval ends with the slash.
fn dates(citation: &Citation) -> Value {
    let from = citation.from.to_string();
    let until = citation.until.map(|until| until.to_string()).unwrap_or_default();
    let valid = format!("{from}/{until}");
    json!([
        { "date": from, "dateType": "Updated" },
        { "date": valid, "dateType": "Valid" },
    ])
}

fn related(citation: &Citation) -> Vec<Value> {
    let by_address = |address: Option<String>, relation: &str| {
        Some(json!({
            "relatedIdentifier": address?,
            "relatedIdentifierType": "URL",
            "relationType": relation,
            "resourceTypeGeneral": "Dataset",
        }))
    };
    let mut related = Vec::new();
    if let Some(subset) = &citation.subset {
        related.extend(by_address(citation.address_of(subset.whole), "IsPartOf"));
    } else {
        for (other, relation) in
            [(citation.previous, "IsNewVersionOf"), (citation.next, "IsPreviousVersionOf")]
        {
            let address = other.and_then(|other| citation.address_of(other));
            related.extend(by_address(address, relation));
        }
    }
    related.extend(citation.named_mirrors().filter_map(|mirror| match &mirror.doi {
        Some(doi) => Some(json!({
            "relatedIdentifier": doi.as_str(),
            "relatedIdentifierType": "DOI",
            "relationType": "IsIdenticalTo",
            "resourceTypeGeneral": "Dataset",
        })),
        None => by_address(url_of(mirror), "IsIdenticalTo"),
    }));
    related
}

fn rights(licence: Licence) -> Value {
    match licence {
        Licence::Address(address) => json!({ "rightsUri": address }),
        Licence::Words(words) => json!({ "rights": words }),
        Licence::Spdx(licence) => json!({
            "rights": licence,
            "rightsIdentifier": licence,
            "rightsIdentifierScheme": "SPDX",
            "schemeUri": "https://spdx.org/licenses/",
        }),
    }
}
