//! CSL-JSON: an array of one item, as citation processors and reference managers read it
//! (csl-data.json of the Citation Style Language 1.0.2). Facts for which the schema has no property
//! are written into `custom`, which may contain anything.

use serde_json::{Map, Value, json};

use super::{indented, nonempty, without_nulls};
use crate::citation::facts::{Citation, single_line};
use crate::model::{Creator, Doi};

/// Writes an array of one item.
pub(super) fn write(citation: &Citation) -> String {
    let record = &citation.record;
    let (year, month, day) = citation.accessed.year_month_day();
    let item = without_nulls(json!({
        "id": citation.key(),
        "type": "dataset",
        "author": nonempty(record.creators.iter().map(author).collect()),
        "title": citation.title(),
        "issued": record.year.map(|year| json!({ "date-parts": [[year.as_number()]] })),
        "version": citation.version(),
        "publisher": citation.publisher(),
        "archive": citation.archive(),
        "DOI": record.doi.as_ref().map(Doi::as_str),
        "URL": citation.url().or_else(|| citation.address()),
        "accessed": { "date-parts": [[year, month, day]] },
        "note": citation.statement(),
        "custom": custom(citation),
    }));
    indented(&json!([item]))
}

fn author(creator: &Creator) -> Value {
    let Creator::Person { family, .. } = creator else {
        return json!({ "literal": single_line(creator.name()) });
    };
    let (given, suffix) = creator.given_and_suffix();
    let mut person = json!({ "family": single_line(family) });
    for (name, text) in [("given", given), ("suffix", suffix)] {
        if !text.is_empty() {
            person[name] = single_line(text).into();
        }
    }
    person
}

fn custom(citation: &Citation) -> Value {
    let record = &citation.record;
    let orcids = record.creators.iter().filter_map(|creator| {
        Some((single_line(&creator.full_name()), creator.orcid()?.address().into()))
    });
    let orcids: Map<String, Value> = orcids.collect();
    without_nulls(json!({
        "identifier": citation.prefixed_identifier(),
        "granules": citation.granules,
        "orcid": (!orcids.is_empty()).then_some(orcids),
        "license": record.licence.as_deref().map(single_line),
    }))
}
