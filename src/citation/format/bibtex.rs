//! BibTeX: a `@dataset` entry for biblatex.
//!
//! The special characters of TeX are written as commands. So are braces, since BibTeX counts them
//! even where they are escaped. Other scripts are written as UTF-8, which biber has always read,
//! and LaTeX since 2018. `doi` and `url` are verbatim fields of biblatex: characters that these
//! cannot contain are percent-encoded.

use crate::citation::facts::{Citation, single_line};
use crate::model::Creator;

/// Writes an entry for biblatex (its manual, § 2.1.1 and § 2.2).
pub(super) fn write(citation: &Citation) -> String {
    let record = citation.record();
    let fields = [
        ("author", authors(citation)),
        ("title", Some(format!("{{{}}}", escaped(&citation.title())))),
        ("date", record.year.map(|year| year.to_string())),
        ("version", citation.version().map(|version| escaped(&version))),
        ("publisher", citation.publisher().map(|publisher| format!("{{{}}}", escaped(&publisher)))),
        ("doi", record.doi.as_ref().map(|doi| doi_field(doi.as_str()))),
        ("url", citation.permanent_address().or_else(|| citation.url())),
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

/// The creators, separated by `and`. An organisation is written in braces, since BibTeX would split
/// its name into given and family names.
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
        // In braces if BibTeX would split it.
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
