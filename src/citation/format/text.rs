//! A citation as a sentence, in the order of the ESIP guidelines and of NSIDC: creators, year, title,
//! version, resource type, publisher, address, identifier, day of access.

use crate::citation::facts::Citation;
use crate::citation::single_line::single_line;
use crate::model::Creator;

/// Writes one line.
pub(super) fn write(citation: &Citation) -> String {
    let mut sentences = Vec::new();
    sentences.extend(creators_and_year(citation));
    sentences.push(with_full_stop(&citation.title()));
    let version = citation.version();
    sentences.extend(version.map(|version| with_full_stop(&format!("Version {version}"))));
    sentences.push("[Dataset].".to_owned());
    sentences.extend(citation.publisher().map(|publisher| with_full_stop(&publisher)));
    // No full stop after an address: people would copy it with the address.
    sentences.extend(citation.address());
    sentences.push(format!("({}).", citation.statement()));
    sentences.push(format!("Accessed {}.", citation.accessed));
    sentences.join(" ") + "\n"
}

fn creators_and_year(citation: &Citation) -> Option<String> {
    let names: Vec<String> = citation.record.creators.iter().map(Creator::full_name).collect();
    let names = (!names.is_empty()).then(|| single_line(&names.join("; ")));
    let year = citation.record.year.map(|year| format!("({year})"));
    let words: Vec<String> = names.into_iter().chain(year).collect();
    (!words.is_empty()).then(|| with_full_stop(&words.join(" ")))
}

/// Adds a full stop, unless the sentence ends with a mark of its own.
fn with_full_stop(sentence: &str) -> String {
    if sentence.ends_with(['.', '!', '?', '。']) {
        sentence.to_owned()
    } else {
        format!("{sentence}.")
    }
}
