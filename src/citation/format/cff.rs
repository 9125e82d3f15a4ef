//! CITATION.cff 1.2, for a repository whose code uses the data. The file itself describes the
//! dataset; `preferred-citation` contains the facts for which the top level has no key.
//!
//! The format requires `authors`. If the record has no creators, the key is left out, and
//! [`Citation::missing_fields`] lists them.
//!
//! Every string is written as JSON writes it: such a string is one of YAML, too (YAML 1.2, § 1.3), and
//! whatever it contains, no reader takes it for a number, a date or a key.

use serde_json::{Value, json};

use super::json::{nonempty, without_nulls};
use crate::citation::facts::{Citation, Licence, single_line};
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
    let authors = nonempty(record.creators.iter().map(author).collect());
    let identifiers = identifiers(citation, doi_as_address);
    let reference = [
        ("type", json!("data")),
        ("title", json!(citation.title())),
        ("authors", json!(authors)),
        ("version", json!(citation.version())),
        ("year", json!(record.year.map(|year| year.as_number()))),
        ("publisher", json!(citation.publisher().map(|name| json!({ "name": name })))),
        ("doi", json!(doi)),
        ("url", json!(url)),
        ("identifiers", json!(identifiers)),
        ("date-accessed", json!(citation.accessed.to_string())),
        ("notes", json!(citation.statement())),
    ];
    let message =
        "If you use this dataset, please cite it with the identifier of the exact granules.";
    let file = [
        ("cff-version", json!("1.2.0")),
        ("message", json!(message)),
        ("type", json!("dataset")),
        ("title", json!(citation.title())),
        ("authors", json!(authors)),
        ("version", json!(citation.version())),
        ("doi", json!(doi)),
        ("url", json!(url)),
        ("license", json!(license)),
        ("license-url", json!(license_url)),
        ("identifiers", json!(identifiers)),
    ];
    let mut lines = String::new();
    file.iter().for_each(|(name, value)| push_member(&mut lines, "", name, value));
    lines.push_str("preferred-citation:\n");
    reference.iter().for_each(|(name, value)| push_member(&mut lines, "  ", name, value));
    lines
}

/// Writes a member of a mapping; the items of a list are mappings. A member that is `null` is left out.
fn push_member(lines: &mut String, indent: &str, name: &str, value: &Value) {
    match value {
        Value::Null => {}
        Value::Array(items) => {
            lines.push_str(&format!("{indent}{name}:\n"));
            for item in items.iter().filter_map(Value::as_object) {
                for (index, (name, value)) in item.iter().enumerate() {
                    let mark = if index == 0 { "- " } else { "  " };
                    lines.push_str(&format!("{indent}{mark}{name}: {value}\n"));
                }
            }
        }
        Value::Object(members) => {
            lines.push_str(&format!("{indent}{name}:\n"));
            let indent = format!("{indent}  ");
            members.iter().for_each(|(name, value)| push_member(lines, &indent, name, value));
        }
        scalar => lines.push_str(&format!("{indent}{name}: {scalar}\n")),
    }
}

fn author(creator: &Creator) -> Value {
    let nonblank = |text: &str| (!text.is_empty()).then(|| single_line(text));
    let (given, suffix) = creator.given_and_suffix();
    let (family, name) = match creator {
        Creator::Person { family, .. } => (nonblank(family), None),
        Creator::Organisation { name } => (None, nonblank(name)),
    };
    without_nulls(json!({
        "family-names": family,
        "given-names": nonblank(given),
        "name-suffix": nonblank(suffix),
        "name": name,
        "orcid": creator.orcid().map(crate::model::Orcid::address),
    }))
}

/// The identifier, and the address of a DOI that the format does not accept.
fn identifiers(citation: &Citation, doi_as_address: Option<String>) -> Vec<Value> {
    let of_set = json!({
        "type": "other",
        "value": citation.prefixed_identifier(),
        "description": "DatasetInstance identifier of the exact granules (rule md5-chain)",
    });
    let of_doi = doi_as_address
        .map(|value| json!({ "type": "url", "value": value, "description": "DOI of the dataset" }));
    [of_set].into_iter().chain(of_doi).collect()
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
