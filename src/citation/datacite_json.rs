//! DataCite JSON, Metadata Schema 4: what a DOI of the instance would be registered with.
//!
//! The identifier is an alternate identifier; an instance before or after it is related by its
//! address, the dataset's with the identifier as fragment.

use serde_json::{Map, Value, json};

use super::csl_json::pretty;
use super::{Citation, Licence, interval, plain, url_of};
use crate::model::Creator;

/// Writes one object.
pub(super) fn write(citation: &Citation) -> String {
    let record = &citation.cited.record;
    let mut object = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(name.to_owned(), value);
        }
    };
    let list = |values: Vec<Value>| (!values.is_empty()).then_some(Value::Array(values));
    put("doi", record.doi.as_ref().map(|doi| doi.as_str().into()));
    put("url", citation.url().map(Value::from));
    put("types", Some(json!({ "resourceTypeGeneral": "Dataset", "resourceType": "Dataset" })));
    put("creators", list(record.creators.iter().map(creator).collect()));
    put("titles", Some(json!([{ "title": citation.title() }])));
    put("publisher", citation.publisher().map(|name| json!({ "name": name })));
    put("publicationYear", record.year.map(|year| year.to_string().into()));
    put("version", citation.version().map(Value::from));
    put(
        "alternateIdentifiers",
        Some(json!([{
            "alternateIdentifier": citation.marked(),
            "alternateIdentifierType": "DatasetInstance identifier (md5-chain)",
        }])),
    );
    put("dates", Some(dates(citation)));
    put("relatedIdentifiers", list(related(citation)));
    put("rightsList", citation.licence().map(|licence| json!([rights(licence)])));
    put(
        "descriptions",
        Some(json!([{
            "description": citation.statement(),
            "descriptionType": "TechnicalInfo",
        }])),
    );
    put("schemaVersion", Some("http://datacite.org/schema/kernel-4".into()));
    pretty(&object.into())
}

fn creator(creator: &Creator) -> Value {
    let name = plain(&creator.full_name());
    match creator {
        Creator::Organisation { .. } => json!({ "name": name, "nameType": "Organizational" }),
        Creator::Person { family, given, orcid } => {
            let mut person = json!({
                "name": name, "nameType": "Personal", "familyName": plain(family),
            });
            if !given.is_empty() {
                person["givenName"] = plain(given).into();
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

/// When the set came into force, and how long it was.
fn dates(citation: &Citation) -> Value {
    let instance = &citation.cited.instance;
    json!([
        { "date": instance.timestamp.to_string(), "dateType": "Updated" },
        { "date": interval(instance.timestamp, instance.until), "dateType": "Valid" },
    ])
}

fn related(citation: &Citation) -> Vec<Value> {
    let cited = &citation.cited;
    let by_address = |address: Option<String>, relation: &str| {
        Some(json!({
            "relatedIdentifier": address?,
            "relatedIdentifierType": "URL",
            "relationType": relation,
            "resourceTypeGeneral": "Dataset",
        }))
    };
    let mut related = Vec::new();
    if let Some((_, whole)) = &cited.part {
        related.extend(by_address(citation.address_of(whole.identifier), "IsPartOf"));
    } else {
        for (other, relation) in
            [(&cited.previous, "IsNewVersionOf"), (&cited.next, "IsPreviousVersionOf")]
        {
            let other = other.as_ref().map(|other| other.identifier);
            related
                .extend(other.and_then(|other| by_address(citation.address_of(other), relation)));
        }
    }
    related.extend(citation.mirrors().filter_map(|mirror| match &mirror.doi {
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
