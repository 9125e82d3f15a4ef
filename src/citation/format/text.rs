//! The plain formats: a sentence, the tuple, and RIS.

use crate::citation::facts::{Citation, single_line};
use crate::model::Creator;

/// Writes a sentence, in the order of the ESIP guidelines and of NSIDC: creators, year, title, version,
/// resource type, publisher, address, identifier, day of access.
pub(super) fn write_sentence(citation: &Citation) -> String {
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
    let names: Vec<String> = citation.record().creators.iter().map(Creator::full_name).collect();
    let names = (!names.is_empty()).then(|| single_line(&names.join("; ")));
    let year = citation.record().year.map(|year| format!("({year})"));
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

/// Writes the tuple of Curt Tilmes' message: `{ doi:10.9999/US/FOOL2.v2, 2001-01-05, DI:7631… }`.
/// Without a DOI, the name of the dataset takes its place.
pub(super) fn write_tuple(citation: &Citation) -> String {
    let dataset = match &citation.record().doi {
        Some(doi) => format!("doi:{doi}"),
        None => citation.record().name.to_string(),
    };
    format!("{{ {dataset}, {}, {} }}\n", citation.as_of, citation.prefixed_identifier())
}

/// Writes a record of RIS: on each line a tag of two characters, two spaces, a hyphen, a space and a
/// value; lines end with CR LF.
///
/// The tags are those that reference managers read for the type `DATA`: `ET` is the version, `AN` the
/// accession number, `DP` the provider, `Y2` the day of access. RIS has no escaping, so every value
/// is written on one line.
pub(super) fn write_ris(citation: &Citation) -> String {
    let record = citation.record();
    let mut lines = vec![("TY", "DATA".to_owned()), ("ID", citation.key())];
    lines.extend(record.creators.iter().map(|creator| ("AU", single_line(&creator.full_name()))));
    lines.push(("TI", citation.title()));
    lines.extend(record.year.map(|year| ("PY", year.to_string())));
    lines.extend(citation.version().map(|version| ("ET", version)));
    lines.extend(citation.publisher().map(|publisher| ("PB", publisher)));
    lines.extend(citation.archive().map(|archive| ("DP", archive)));
    lines.extend(record.doi.as_ref().map(|doi| ("DO", doi.to_string())));
    lines.extend(citation.opened_address().map(|address| ("UR", address)));
    lines.push(("AN", citation.prefixed_identifier()));
    lines.push(("N1", citation.noted_statement()));
    let (year, month, day) = citation.accessed.year_month_day();
    lines.push(("Y2", format!("{year:04}/{month:02}/{day:02}")));
    let body: String =
        lines.into_iter().map(|(tag, value)| format!("{tag}  - {value}\r\n")).collect();
    body + "ER  - \r\n"
}
