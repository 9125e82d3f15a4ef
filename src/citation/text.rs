//! A citation as a sentence (ESIP guidelines: creators, year, title, version, resource type,
//! publisher, resolvable identifier, access date; so does NSIDC).

use super::Citation;
use crate::model::Creator;

/// Writes one line.
pub(super) fn write(citation: &Citation) -> String {
    let record = &citation.cited.record;
    let creators: Vec<String> =
        record.creators.iter().map(|creator| super::plain(&Creator::full_name(creator))).collect();
    let year = record.year.map(|year| format!("({year})"));
    let head: Vec<String> =
        (!creators.is_empty()).then(|| creators.join("; ")).into_iter().chain(year).collect();
    let mut sentences = Vec::new();
    if !head.is_empty() {
        sentences.push(ended(&head.join(" ")));
    }
    sentences.push(ended(&citation.title()));
    sentences.extend(citation.version().map(|version| ended(&format!("Version {version}"))));
    sentences.push("[Dataset].".to_owned());
    sentences.extend(citation.publisher().map(|publisher| ended(&publisher)));
    // No full stop behind an address: people copy it with the address.
    sentences.extend(citation.address());
    sentences.push(format!("({}).", citation.statement()));
    sentences.push(format!("Accessed {}.", citation.accessed));
    sentences.join(" ") + "\n"
}

/// With a full stop, unless the text ends with a mark of its own.
fn ended(text: &str) -> String {
    if text.ends_with(['.', '!', '?', '。']) { text.to_owned() } else { format!("{text}.") }
}
