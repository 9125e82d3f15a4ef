//! The plain text formats: a sentence, the tuple, RIS, and BibTeX.

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
    // An address has no full stop after it, because people would copy it with the address.
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

/// Adds a full stop, unless the sentence already ends with punctuation.
fn with_full_stop(sentence: &str) -> String {
    if sentence.ends_with(['.', '!', '?', '。']) {
        sentence.to_owned()
    } else {
        format!("{sentence}.")
    }
}

/// Writes the tuple of Curt Tilmes' message: `{ doi:10.9999/US/FOOL2.v2, 2001-01-05, DI:7631… }`. Without a
/// DOI, it contains the name of the dataset instead. The date of a listing is omitted, because it does not
/// describe what the archive held.
pub(super) fn write_tuple(citation: &Citation) -> String {
    let dataset = match &citation.record().doi {
        Some(doi) => format!("doi:{doi}"),
        None => citation.record().name.to_string(),
    };
    let date = if citation.is_listed { String::new() } else { format!("{}, ", citation.as_of) };
    format!("{{ {dataset}, {date}{} }}\n", citation.prefixed_identifier())
}

/// Writes a RIS record. Each line has a tag of two characters, two spaces, a hyphen, a space and a value; lines
/// end with CR LF.
///
/// The tags are those that reference managers read for the type `DATA`: `ET` is the version, `AN` the accession
/// number, `DP` the provider, `Y2` the day of access. RIS has no escaping, so every value is written on one
/// line.
pub(super) fn write_ris(citation: &Citation) -> String {
    let record = citation.record();
    let mut lines = vec![("TY", "DATA".to_owned()), ("ID", citation.key())];
    lines.extend(record.creators.iter().map(|creator| ("AU", single_line(&creator.full_name()))));
    lines.push(("TI", citation.title_to_print()));
    lines.extend(record.year.map(|year| ("PY", year.to_string())));
    lines.extend(citation.version().map(|version| ("ET", version)));
    lines.extend(citation.publisher().map(|publisher| ("PB", publisher)));
    lines.extend(citation.archive().map(|archive| ("DP", archive)));
    lines.extend(record.doi.as_ref().map(|doi| ("DO", doi.to_string())));
    lines.extend(citation.opened_address().map(|address| ("UR", address)));
    lines.push(("AN", citation.prefixed_identifier()));
    lines.push(("N1", citation.noted_statement()));
    let (year, month) = (citation.accessed.year(), citation.accessed.month());
    let day = citation.accessed.day_of_month();
    lines.push(("Y2", format!("{year:04}/{month:02}/{day:02}")));
    let body: String =
        lines.into_iter().map(|(tag, value)| format!("{tag}  - {value}\r\n")).collect();
    body + "ER  - \r\n"
}

/// Writes a `@dataset` entry for biblatex (its manual, § 2.1.1 and § 2.2).
///
/// The special characters of TeX are written as commands. So are braces, because BibTeX counts them even if
/// they are escaped. Other scripts are written as UTF-8, which biber has always read, and LaTeX since 2018.
/// `doi` and `url` are verbatim fields of biblatex; characters that they cannot contain are percent-encoded.
pub(super) fn write_bibtex(citation: &Citation) -> String {
    let record = citation.record();
    let fields = [
        ("author", authors(citation)),
        ("title", Some(format!("{{{}}}", escaped(&citation.title())))),
        ("date", record.year.map(|year| year.to_string())),
        ("version", citation.version().map(|version| escaped(&version))),
        ("publisher", citation.publisher().map(|publisher| format!("{{{}}}", escaped(&publisher)))),
        ("doi", record.doi.as_ref().map(|doi| doi_field(doi.as_str()))),
        ("url", citation.recorded_address()),
        ("urldate", Some(citation.accessed.to_string())),
        ("note", Some(escaped(&citation.noted_statement()))),
    ];
    let mut entry = format!("@dataset{{{},\n", citation.key());
    for (name, value) in fields {
        if let Some(value) = value {
            entry.push_str(&format!("  {name:12} = {{{value}}},\n"));
        }
    }
    entry + "}\n"
}

/// The creators, separated by `and`. An organisation is written in braces, because BibTeX would split its name
/// into given and family names.
fn authors(citation: &Citation) -> Option<String> {
    let authors: Vec<String> = citation.record().creators.iter().map(author).collect();
    (!authors.is_empty()).then(|| authors.join(" and "))
}

fn author(creator: &Creator) -> String {
    let Creator::Person { family, .. } = creator else {
        return format!("{{{}}}", escaped(&single_line(creator.name())));
    };
    let parts = match creator.given_and_suffix() {
        ("", "") => vec![family.as_str()],
        (given, "") => vec![family, given],
        (given, suffix) => vec![family, suffix, given],
    };
    let is_whole = parts.len() == 1;
    let written = parts.into_iter().map(|part| {
        let part = single_line(part);
        // Braces prevent BibTeX from splitting it.
        let has_and = part.split(' ').any(|word| word.eq_ignore_ascii_case("and"));
        let is_split = part.contains(',') || has_and || is_whole && part.contains(' ');
        let escaped = escaped(&part);
        if is_split { format!("{{{escaped}}}") } else { escaped }
    });
    written.collect::<Vec<_>>().join(", ")
}

/// A DOI for a verbatim field. Braces and backslashes, which few DOIs have, are percent-encoded.
fn doi_field(doi: &str) -> String {
    doi.replace('{', "%7B").replace('}', "%7D").replace('\\', "%5C")
}

/// Escapes the special characters of TeX.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '$' | '&' | '#' | '%' | '_' => {
                escaped.push('\\');
                escaped.push(character);
            }
            '\\' => escaped.push_str("\\textbackslash{}"),
            '{' => escaped.push_str("\\textbraceleft{}"),
            '}' => escaped.push_str("\\textbraceright{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            other => escaped.push(other),
        }
    }
    escaped
}
