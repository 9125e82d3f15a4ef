//! CSL-JSON: an array of one item, as citation processors and reference managers read it
//! (csl-data.json of the Citation Style Language 1.0.2). Facts for which the schema has no property
//! are written into `custom`, which may contain anything.

use serde_json::{Map, Value, json};

use super::indented_json::indented;
use super::members::Members;
use crate::citation::facts::Citation;
use crate::citation::single_line::single_line;
use crate::model::Creator;

/// Writes an array of one item.
pub(super) fn write(citation: &Citation) -> String {
    let record = &citation.record;
    let mut item = Members::default();
    item.put("id", Some(citation.key().into()));
    item.put("type", Some("dataset".into()));
    let authors: Vec<Value> = record.creators.iter().map(author).collect();
    item.put("author", (!authors.is_empty()).then(|| authors.into()));
    item.put("title", Some(citation.title().into()));
    item.put("issued", record.year.map(|year| json!({ "date-parts": [[year.as_number()]] })));
    item.put("version", citation.version().map(Value::from));
    item.put("publisher", citation.publisher().map(Value::from));
    item.put("archive", citation.archive().map(Value::from));
    item.put("DOI", record.doi.as_ref().map(|doi| doi.as_str().into()));
    item.put("URL", citation.url().or_else(|| citation.address()).map(Value::from));
    let (year, month, day) = citation.accessed.year_month_day();
    item.put("accessed", Some(json!({ "date-parts": [[year, month, day]] })));
    item.put("note", Some(citation.statement().into()));
    item.put("custom", Some(custom(citation)));
    indented(&Value::from(vec![item.into_value()]))
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
    let mut custom = Map::new();
    custom.insert("identifier".to_owned(), citation.prefixed_identifier().into());
    custom.insert("granules".to_owned(), citation.granules.into());
    let orcids: Map<String, Value> = record
        .creators
        .iter()
        .filter_map(|creator| {
            Some((single_line(&creator.full_name()), creator.orcid()?.address().into()))
        })
        .collect();
    if !orcids.is_empty() {
        custom.insert("orcid".to_owned(), orcids.into());
    }
    if let Some(licence) = &record.licence {
        custom.insert("license".to_owned(), single_line(licence).into());
    }
    custom.into()
}
