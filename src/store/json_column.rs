//! Lists that a column stores as a JSON array of strings, alike in both stores.

use crate::model::{Creator, CreatorError, Criteria, Dataset, Pattern, PatternError};

type Malformed = Box<dyn std::error::Error + Send + Sync>;

/// The creators of a dataset, in citation order.
pub(super) fn creators_text(dataset: &Dataset) -> String {
    let written = dataset.creators.iter().map(ToString::to_string);
    written.collect::<serde_json::Value>().to_string()
}

/// The creators that a column lists.
pub(super) fn creators_from(text: &str) -> Result<Vec<Creator>, Malformed> {
    let written: Vec<String> = serde_json::from_str(text)?;
    let creators = written
        .iter()
        // Before schema 4 a creator could be any string. One that cannot be parsed is taken as the
        // name of an organisation.
        .map(|text| text.parse().or_else(|_| Creator::organisation(text)))
        .collect::<Result<_, CreatorError>>()?;
    Ok(creators)
}

/// The criteria of a subset: its patterns, or an empty array if the granules are named one by one.
pub(super) fn criteria_text(criteria: &Criteria) -> String {
    let patterns = match criteria {
        Criteria::Patterns(patterns) => patterns.as_slice(),
        Criteria::Named => &[],
    };
    patterns.iter().map(Pattern::as_str).collect::<serde_json::Value>().to_string()
}

/// The criteria that a column states.
pub(super) fn criteria_from(text: &str) -> Result<Criteria, Malformed> {
    let written: Vec<String> = serde_json::from_str(text)?;
    let patterns = written.iter().map(|text| text.parse()).collect::<Result<_, PatternError>>()?;
    Ok(Criteria::of_patterns(patterns).unwrap_or(Criteria::Named))
}
