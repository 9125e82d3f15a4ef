//! BibTeX: biblatex's `@dataset`, and `@misc` for the classic styles.
//!
//! TeX's special characters are written as commands, braces as well, since BibTeX counts them
//! wherever they stand. All scripts stay UTF-8, which LaTeX reads since 2018 and biber always did.
//! `doi` and `url` are verbatim fields of biblatex: what those cannot hold is percent-encoded.

use super::{Citation, plain};
use crate::model::Creator;

/// Writes a biblatex entry (biblatex manual, 2.1.1 and 2.2).
pub(super) fn write_biblatex(citation: &Citation) -> String {
    let record = &citation.cited.record;
    let fields = [
        ("author", authors(citation)),
        ("title", Some(format!("{{{}}}", escaped(&citation.title())))),
        ("date", record.year.map(|year| year.to_string())),
        ("version", citation.version().map(|version| escaped(&version))),
        ("publisher", citation.publisher().map(|publisher| format!("{{{}}}", escaped(&publisher)))),
        ("doi", record.doi.as_ref().map(|doi| doi_field(doi.as_str()))),
        ("url", citation.url()),
        ("urldate", Some(citation.accessed.to_string())),
        ("note", Some(escaped(&citation.statement()))),
    ];
    entry("dataset", &citation.key(), fields)
}

/// Writes an entry for the classic styles, which know neither `doi` nor `version`; for `\url` the
/// document needs the package url or hyperref.
pub(super) fn write_classic(citation: &Citation) -> String {
    let record = &citation.cited.record;
    let version = citation.version().map(|version| format!("Version {}", escaped(&version)));
    let publisher = citation.publisher().map(|publisher| format!("{{{}}}", escaped(&publisher)));
    let address = citation.address().map(|url| format!("\\url{{{url}}}"));
    let published: Vec<String> = version
        .into_iter()
        .chain(["[Dataset]".to_owned()])
        .chain(publisher)
        .chain(address)
        .collect();
    let note = format!("{}. Accessed {}", escaped(&citation.statement()), citation.accessed);
    let fields = [
        ("author", authors(citation)),
        ("title", Some(format!("{{{}}}", escaped(&citation.title())))),
        ("howpublished", Some(published.join(", "))),
        ("year", record.year.map(|year| year.to_string())),
        ("note", Some(note)),
    ];
    entry("misc", &citation.key(), fields)
}

fn entry<const N: usize>(kind: &str, key: &str, fields: [(&str, Option<String>); N]) -> String {
    let mut entry = format!("@{kind}{{{key},\n");
    for (name, value) in fields {
        if let Some(value) = value {
            entry.push_str(&format!("  {name:12} = {{{value}}},\n"));
        }
    }
    entry + "}\n"
}

/// The creators, parted by `and`; an organisation stands in braces, since it has no family name.
fn authors(citation: &Citation) -> Option<String> {
    let authors: Vec<String> = citation.cited.record.creators.iter().map(author).collect();
    (!authors.is_empty()).then(|| authors.join(" and "))
}

fn author(creator: &Creator) -> String {
    let Creator::Person { family, .. } = creator else {
        return format!("{{{}}}", escaped(&plain(creator.name())));
    };
    let (given, suffix) = creator.given_and_suffix();
    if given.is_empty() && suffix.is_empty() {
        return part(family, true);
    }
    let mut parts = vec![part(family, false)];
    if !suffix.is_empty() {
        parts.push(part(suffix, false));
    }
    parts.push(part(given, false));
    parts.join(", ")
}

/// Part of a name, in braces where BibTeX would take it apart.
fn part(text: &str, is_alone: bool) -> String {
    let text = plain(text);
    let is_apart =
        text.contains(',') || text.split(' ').any(|word| word.eq_ignore_ascii_case("and"));
    let escaped = escaped(&text);
    if is_apart || (is_alone && text.contains(' ')) { format!("{{{escaped}}}") } else { escaped }
}

/// A DOI for a field that TeX takes as it stands; braces and backslashes, which few have, are
/// percent-encoded.
fn doi_field(doi: &str) -> String {
    doi.replace('{', "%7B").replace('}', "%7D").replace('\\', "%5C")
}

/// A text in which TeX obeys nothing.
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
