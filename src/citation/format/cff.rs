//! CITATION.cff 1.2, for a repository whose code uses the data. The file itself describes the
//! dataset; `preferred-citation` contains the facts for which the top level has no key.
//!
//! The format requires `authors`. If the record has no creators, the key is left out, and
//! [`Citation::missing_fields`] lists them.

use serde::Serialize;

use crate::citation::facts::Citation;
use crate::citation::licence::Licence;
use crate::citation::single_line::single_line;
use crate::model::{Creator, Doi};

/// The licences of [`Licence::Spdx`] that SPDX added to its list after version 1.2 of the format.
const NEWER_LICENCES: [&str; 4] =
    ["CDLA-Permissive-2.0", "DL-DE-BY-2.0", "DL-DE-ZERO-2.0", "NLOD-2.0"];

/// Writes a YAML document.
pub(super) fn write(citation: &Citation) -> String {
    let record = &citation.record;
    // A licence is an SPDX identifier or an address; the format has no key for other words.
    let (license, license_url) = match citation.licence() {
        Some(Licence::Spdx(licence)) if NEWER_LICENCES.contains(&licence) => {
            (None, Some(Licence::spdx_address(licence)))
        }
        Some(Licence::Spdx(licence)) => (Some(licence.to_owned()), None),
        Some(Licence::Address(address)) => (None, Some(address)),
        Some(Licence::Words(_)) | None => (None, None),
    };
    let (doi, doi_as_address) = match &record.doi {
        Some(doi) if is_accepted(doi) => (Some(doi.to_string()), None),
        doi => (None, doi.as_ref().map(Doi::address)),
    };
    let url = citation.url().or_else(|| doi_as_address.clone());
    let identifiers = identifiers(citation, doi_as_address);
    let reference = Reference {
        kind: "data",
        title: citation.title(),
        authors: authors(citation),
        version: citation.version(),
        year: record.year.map(|year| year.as_number()),
        publisher: citation.publisher().map(|name| Entity { name }),
        doi: doi.clone(),
        url: url.clone(),
        identifiers: identifiers.clone(),
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
        doi,
        url,
        license,
        license_url,
        identifiers,
        preferred_citation: reference,
    };
    serde_saphyr::to_string(&file).expect("strings, numbers, lists and maps can be written as YAML")
}

fn authors(citation: &Citation) -> Vec<Author> {
    let nonempty = |text: &str| (!text.is_empty()).then(|| single_line(text));
    let author = |creator: &Creator| {
        let (given, suffix) = creator.given_and_suffix();
        let (family, name) = match creator {
            Creator::Person { family, .. } => (nonempty(family), None),
            Creator::Organisation { name } => (None, nonempty(name)),
        };
        Author {
            family_names: family,
            given_names: nonempty(given),
            name_suffix: nonempty(suffix),
            name,
            orcid: creator.orcid().map(crate::model::Orcid::address),
        }
    };
    citation.record.creators.iter().map(author).collect()
}

/// The identifier, and the address of a DOI that the format does not accept.
fn identifiers(citation: &Citation, doi_as_address: Option<String>) -> Vec<FileIdentifier> {
    let description = "DatasetInstance identifier of the exact granules (rule md5-chain)";
    let mut identifiers =
        vec![FileIdentifier { kind: "other", value: citation.prefixed_identifier(), description }];
    let description = "DOI of the dataset";
    identifiers.extend(doi_as_address.map(|value| FileIdentifier {
        kind: "url",
        value,
        description,
    }));
    identifiers
}

/// Whether the format accepts a DOI: `^10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;\-\.\(\)\[\]\\]+$`.
fn is_accepted(doi: &Doi) -> bool {
    let number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let of_suffix = |byte: u8| byte.is_ascii_alphanumeric() || b":/_;-.()[]\\".contains(&byte);
    let (registrant, suffix) = doi.as_str().split_once('/').unwrap_or_default();
    let mut numbers = registrant.split('.').skip(1);
    let first = numbers.next().unwrap_or_default();
    (4..=9).contains(&first.len())
        && number(first)
        && numbers.next().is_none_or(number)
        && numbers.next().is_none()
        && suffix.bytes().all(of_suffix)
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
    identifiers: Vec<FileIdentifier>,
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
    identifiers: Vec<FileIdentifier>,
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
    name_suffix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    orcid: Option<String>,
}

#[derive(Serialize)]
struct Entity {
    name: String,
}

#[derive(Clone, Serialize)]
struct FileIdentifier {
    #[serde(rename = "type")]
    kind: &'static str,
    value: String,
    description: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dois_that_the_format_accepts_are_known() {
        let accepted = |text: &str| is_accepted(&text.parse().unwrap());
        for text in
            ["10.9999/US/FOOL2.v2", "10.1002/(SICI)1096:1;2[3]_-", "10.9999.1/x", "10.9999/a\\b"]
        {
            assert!(accepted(text), "{text}");
        }
        let others = ["10.999/x", "10.9999.1.2/x", "10.1234567890/x", "10.9999/a+b", "10.9999/a,b"];
        for text in others.into_iter().chain(["10.9999/a<1>", "10.9999/a%20b", "10.9999/é"]) {
            assert!(!accepted(text), "{text}");
        }
    }

    #[test]
    fn the_licences_that_the_format_does_not_know_are_spdx_licences() {
        for licence in NEWER_LICENCES {
            assert!(matches!(Licence::of(licence.to_owned()), Licence::Spdx(_)), "{licence}");
        }
    }
}
