//! The JSON formats: CSL-JSON, DataCite JSON, and a schema.org Dataset as JSON-LD.

use serde_json::{Map, Value, json};

use crate::citation::facts::{Citation, encoded, nonblank_line, single_line};
use crate::model::{Creator, Doi, Licence};
use crate::registry::CitationFacts;

/// Writes CSL-JSON: an array of one item, as citation processors and reference managers read it (csl-data.json
/// of the Citation Style Language 1.0.2). Facts without a property in the schema are written into `custom`,
/// which may contain anything.
pub(super) fn write_csl(citation: &Citation) -> String {
    indented(&json!([csl_item(citation)]))
}

/// Writes only the item, as DOI resolvers send it.
pub(super) fn write_csl_item(citation: &Citation) -> String {
    indented(&csl_item(citation))
}

fn csl_item(citation: &Citation) -> Value {
    let record = citation.record();
    let (year, month) = (citation.accessed.year(), citation.accessed.month());
    let day = citation.accessed.day_of_month();
    without_nulls(json!({
        "id": citation.key(),
        "type": "dataset",
        "author": nonempty(record.creators.iter().map(csl_author).collect()),
        "title": citation.title_to_print(),
        "issued": record.year.map(|year| json!({ "date-parts": [[year.as_number()]] })),
        "version": citation.version(),
        "publisher": citation.publisher(),
        "archive": citation.archive(),
        "DOI": record.doi.as_ref().map(Doi::as_str),
        "URL": citation.opened_address(),
        "accessed": { "date-parts": [[year, month, day]] },
        "note": citation.noted_statement(),
        "custom": custom(citation),
    }))
}

fn csl_author(creator: &Creator) -> Value {
    let Creator::Person { family, .. } = creator else {
        return json!({ "literal": single_line(creator.name()) });
    };
    let (given, suffix) = creator.given_and_suffix();
    without_nulls(json!({
        "family": single_line(family),
        "given": nonblank_line(Some(given)),
        "suffix": nonblank_line(Some(suffix)),
    }))
}

fn custom(citation: &Citation) -> Value {
    let record = citation.record();
    let orcids = record.creators.iter().filter_map(|creator| {
        Some((single_line(&creator.full_name()), creator.orcid()?.address().into()))
    });
    let orcids: Map<String, Value> = orcids.collect();
    without_nulls(json!({
        "identifier": citation.prefixed_identifier(),
        "digest": citation.stated_digest(),
        "granules": citation.cited.period.set.granule_count(),
        "orcid": (!orcids.is_empty()).then_some(orcids),
        "license": record.licence,
    }))
}

/// Writes DataCite JSON, Metadata Schema 4: the metadata for registering a DOI for the instance.
///
/// The identifier is an alternate identifier. The previous and the next instance are related identifiers: the
/// address of the dataset with the identifier as its fragment.
pub(super) fn write_datacite(citation: &Citation) -> String {
    let record = citation.record();
    let described = citation
        .description()
        .map(|text| json!({ "description": text, "descriptionType": "Abstract" }));
    let stated =
        json!({ "description": citation.noted_statement(), "descriptionType": "TechnicalInfo" });
    indented(&without_nulls(json!({
        "doi": record.doi.as_ref().map(Doi::as_str),
        "url": citation.recorded_address(),
        "types": { "resourceTypeGeneral": "Dataset", "resourceType": "Dataset" },
        "creators": nonempty(record.creators.iter().map(datacite_creator).collect()),
        "titles": [{ "title": citation.title() }],
        "publisher": citation.publisher().map(|name| json!({ "name": name })),
        "publicationYear": record.year.map(|year| year.to_string()),
        "version": citation.version(),
        "alternateIdentifiers": alternate_identifiers(citation),
        "dates": dates(citation),
        "relatedIdentifiers": nonempty(related(citation)),
        "rightsList": citation.licence().map(|licence| [rights(licence)]),
        "descriptions": described.into_iter().chain([stated]).collect::<Vec<_>>(),
        "schemaVersion": "http://datacite.org/schema/kernel-4",
    })))
}

fn alternate_identifiers(citation: &Citation) -> Value {
    let identifier = json!({
        "alternateIdentifier": citation.prefixed_identifier(),
        "alternateIdentifierType": "DatasetInstance identifier (md5-chain)",
    });
    let digest = citation.stated_digest().map(|digest| {
        json!({
            "alternateIdentifier": digest,
            "alternateIdentifierType": "DatasetInstance digest (sha256-list)",
        })
    });
    [identifier].into_iter().chain(digest).collect()
}

fn datacite_creator(creator: &Creator) -> Value {
    let name = single_line(&creator.full_name());
    match creator {
        Creator::Organisation { .. } => json!({ "name": name, "nameType": "Organizational" }),
        Creator::Person { family, given, orcid } => without_nulls(json!({
            "name": name,
            "nameType": "Personal",
            "familyName": single_line(family),
            "givenName": nonblank_line(Some(given)),
            "nameIdentifiers": orcid.as_ref().map(|orcid| json!([{
                "nameIdentifier": orcid.address(),
                "nameIdentifierScheme": "ORCID",
                "schemeUri": "https://orcid.org",
            }])),
        })),
    }
}

/// When the instance took effect, and the period in which it was in force, in the notation of RKMS-ISO8601: an
/// open interval ends with the slash. For a list, only its date is known.
fn dates(citation: &Citation) -> Value {
    if citation.is_listed {
        let date = citation.as_of.to_string();
        return json!([{ "date": date, "dateType": "Other", "dateInformation": "Listed" }]);
    }
    let from = citation.cited.period.from().to_string();
    let until = citation.cited.period.until().map(|until| until.to_string()).unwrap_or_default();
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
    if let Some(whole) = citation.whole() {
        related.extend(by_address(citation.address_of(whole), "IsPartOf"));
    } else {
        let CitationFacts { previous, next, .. } = &citation.cited;
        for (other, relation) in [(previous, "IsNewVersionOf"), (next, "IsPreviousVersionOf")] {
            let address = other.as_ref().and_then(|other| citation.address_of(other.identifier));
            related.extend(by_address(address, relation));
        }
    }
    related
}

/// A licence: an identifier of the SPDX licence list, the address of another licence, or an expression.
fn rights(licence: &Licence) -> Value {
    let licence = licence.as_str();
    match spdx::license_id(licence) {
        Some(known) => json!({
            "rights": known.name,
            "rightsIdentifier": known.name,
            "rightsIdentifierScheme": "SPDX",
            "schemeUri": "https://spdx.org/licenses/",
        }),
        None if licence.contains("://") => json!({ "rightsUri": encoded(licence) }),
        None => json!({ "rights": licence }),
    }
}

/// The subject of a schema.org Dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    /// The cited set. It has its own name and address, and is part of the dataset with the DOI, so that search
    /// engines do not treat all sets as one.
    Set,
    /// The dataset, whose latest set is cited.
    Dataset,
}

/// Writes a schema.org Dataset as JSON-LD, for the landing page of a set or of a dataset.
///
/// As the guidelines of science-on-schema.org recommend, identifiers are `PropertyValue`s, and `spdx:checksum`
/// and `prov:wasRevisionOf` are included. Creators are a plain array, because harvesters do not read an
/// `@list`, which would preserve their order.
///
/// The output can be put into a `<script>` element unchanged: `<` is written as `\u003c`, so that
/// no title can end the element with `</script>`, or begin a comment with `<!--`.
pub(super) fn write_json_ld(citation: &Citation, about: About) -> String {
    let record = citation.record();
    let organisation = |name: String| json!({ "@type": "Organization", "name": name });
    let is_set = about == About::Set;
    let (id, name, url) = match about {
        About::Set => (
            citation.address_of(citation.identifier()),
            citation.title_of_set(),
            citation.opened_address(),
        ),
        About::Dataset => {
            (citation.address(), citation.title(), citation.url().or_else(|| citation.address()))
        }
    };
    let whole = citation.whole().and_then(|whole| citation.address_of(whole));
    let dataset = citation.address().filter(|_| is_set);
    let dataset =
        dataset.map(|id| json!({ "@type": "Dataset", "@id": id, "name": citation.title() }));
    // Search engines read one parent, not a list of them.
    let part_of = match whole {
        Some(id) => {
            Some(without_nulls(json!({ "@type": "Dataset", "@id": id, "isPartOf": dataset })))
        }
        None => dataset,
    };
    let status = match citation.cited.period.annotations().any(|noted| noted.questionable) {
        _ if citation.cited.dataset.withdrawn.is_some() => Some("Withdrawn"),
        true => Some("Questionable"),
        false => None,
    };
    let noted = citation.notes().map(|note| json!({ "@type": "Comment", "text": note }));
    let previous = citation.cited.previous.as_ref();
    let previous = previous.filter(|_| is_set && citation.whole().is_none());
    let previous = previous.and_then(|previous| citation.address_of(previous.identifier));
    let creators = nonempty(record.creators.iter().map(json_ld_creator).collect());
    let object = without_nulls(json!({
        "@context": {
            "@vocab": "https://schema.org/",
            "prov": "http://www.w3.org/ns/prov#",
            "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
            "spdx": "http://spdx.org/rdf/terms#",
        },
        "@type": "Dataset",
        "@id": id,
        "name": name,
        "description": citation.description(),
        "creditText": citation.statement(),
        "creator": creators,
        "datePublished": record.year.map(|year| year.to_string()),
        "dateModified": (!citation.is_listed).then(|| citation.cited.period.from().to_string()),
        "version": citation.version(),
        "publisher": citation.publisher().map(organisation),
        "provider": citation.archive().map(organisation),
        "url": url,
        "license": citation.licence().map(licence),
        "keywords": nonempty(record.keywords.iter().map(|it| single_line(it.as_str()).into()).collect()),
        "isAccessibleForFree": record.free_access,
        "temporalCoverage": record.temporal.map(|temporal| temporal.to_string()),
        "identifier": identifiers(citation, about),
        "spdx:checksum": checksum(citation),
        "isPartOf": part_of,
        "creativeWorkStatus": status,
        "comment": nonempty(noted.collect()),
        "prov:wasRevisionOf": previous.map(|id| json!({ "@id": id })),
    }));
    // In JSON, this character only occurs in strings.
    indented(&object).replace('<', "\\u003c")
}

pub(super) fn json_ld_creator(creator: &Creator) -> Value {
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
            without_nulls(json!({
                "@type": "Person",
                "name": name,
                "familyName": single_line(family),
                "givenName": nonblank_line(Some(given)),
                "honorificSuffix": nonblank_line(Some(suffix)),
                "@id": orcid.as_ref().map(|orcid| orcid.address()),
            }))
        }
    }
}

fn identifiers(citation: &Citation, about: About) -> Value {
    let doi = citation.record().doi.as_ref().filter(|_| about == About::Dataset).map(|doi| {
        json!({
            "@type": "PropertyValue",
            "@id": doi.address(),
            "propertyID": "https://registry.identifiers.org/registry/doi",
            "value": format!("doi:{doi}"),
            "url": doi.address(),
        })
    });
    let identifier = json!({
        "@type": "PropertyValue",
        "propertyID": "DatasetInstance identifier (md5-chain)",
        "value": citation.prefixed_identifier(),
    });
    let digest = citation.stated_digest().map(|digest| {
        json!({
            "@type": "PropertyValue",
            "propertyID": "DatasetInstance digest (sha256-list)",
            "value": digest,
        })
    });
    doi.into_iter().chain([identifier]).chain(digest).collect()
}

/// The identifier as a checksum, with a comment that it is not the MD5 of a file.
fn checksum(citation: &Citation) -> Value {
    json!({
        "@type": "spdx:Checksum",
        "spdx:algorithm": { "@id": "spdx:checksumAlgorithm_md5" },
        "spdx:checksumValue": citation.identifier().to_string(),
        "rdfs:comment": "An MD5 running chain over the granule ids in the order of their bytes (rule md5-chain), not over the bytes of a file.",
    })
}

/// The address of a licence, or its expression.
pub(super) fn licence(licence: &Licence) -> String {
    let address = licence.address().map(|address| encoded(&address));
    address.unwrap_or_else(|| licence.as_str().to_owned())
}

/// Removes the `null` members, which the citation has no values for.
pub(super) fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(members) = &mut value {
        members.retain(|_, member| !member.is_null());
    }
    value
}

/// A list. `None` means that it is empty.
pub(super) fn nonempty(values: Vec<Value>) -> Option<Vec<Value>> {
    (!values.is_empty()).then_some(values)
}

/// Formats a JSON value for people: indented, with a line end.
pub(super) fn indented(value: &Value) -> String {
    format!("{value:#}\n")
}
