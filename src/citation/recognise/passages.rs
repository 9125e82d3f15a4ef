//! Splits a text into passages, each of which contains a citation and all that belongs to it.

use serde_json::Value;

use super::dates::date;
use super::markup::{normalised, without_markup};
use super::work;
use crate::model::Doi;

/// A passage of a pasted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passage {
    pub kind: PassageKind,
    /// The text without markup; of JSON, all the strings.
    pub text: String,
    /// The DOI, if a field is declared to be one.
    pub doi: Option<Doi>,
}

/// Whether all of a passage belongs to one citation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PassageKind {
    /// A BibTeX entry, a RIS record, an item of JSON, DataCite XML, a CITATION.cff.
    Record,
    /// A paragraph, or an entry of a list.
    RunningText,
}

/// The passages of a text, in their order.
pub(super) fn passages(text: &str) -> Vec<Passage> {
    work::count(text.len());
    items_of_json(text).unwrap_or_else(|| passages_of_text(text))
}

/// Each document, and each item of an array; `None` if the text contains anything but JSON.
fn items_of_json(text: &str) -> Option<Vec<Passage>> {
    let mut passages = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        match value.ok()? {
            value if is_tuple(&value) => passages.push(item(&value)),
            Value::Array(items) => passages.extend(items.iter().map(item)),
            value @ Value::Object(_) => passages.push(item(&value)),
            _ => return None,
        }
    }
    (!passages.is_empty()).then_some(passages)
}

/// Whether a value is a tuple written as JSON: `["10.9999/x", "2001-01-05", "DI:…"]`.
fn is_tuple(value: &Value) -> bool {
    let is_date = |member: &Value| member.as_str().is_some_and(|text| date(text).is_some());
    value.as_array().is_some_and(|members| {
        members.len() <= 4 && members.iter().all(Value::is_string) && members.iter().any(is_date)
    })
}

fn item(value: &Value) -> Passage {
    /// Separates the fields so that no identifier or statement continues in the next one.
    const BETWEEN_FIELDS: &str = "\n\u{1e}\n";
    fn collect<'value>(value: &'value Value, texts: &mut Vec<&'value str>) {
        match value {
            Value::String(text) => texts.push(text),
            Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
            Value::Object(fields) => fields.values().for_each(|value| collect(value, texts)),
            _ => {}
        }
    }
    let mut texts = Vec::new();
    collect(value, &mut texts);
    if is_tuple(value) {
        let text = normalised(&format!("{{ {} }}", texts.join(", ")));
        return Passage { kind: PassageKind::RunningText, text, doi: None };
    }
    if let Value::String(text) = value {
        return Passage { kind: PassageKind::RunningText, text: normalised(text), doi: None };
    }
    // In a tuple that is written as an object, the date has a name.
    let date = value.get("date").and_then(Value::as_str).map(|date| format!("as held at {date}"));
    texts.extend(date.as_deref());
    let doi = ["DOI", "doi"].into_iter().find_map(|name| value.get(name)?.as_str()?.parse().ok());
    let text = normalised(&texts.join(BETWEEN_FIELDS));
    Passage { kind: PassageKind::Record, text, doi }
}

/// The kind of passage that a line begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Syntax {
    BibtexEntry,
    Ris,
    Cff,
    DataciteXml,
    RunningText,
}

/// The syntax of the passage that a line begins; `None` if it continues the previous passage.
fn begun_by(line: &str) -> Option<Syntax> {
    if line.starts_with("TY  -") {
        return Some(Syntax::Ris);
    }
    if line.starts_with("cff-version:") {
        return Some(Syntax::Cff);
    }
    if line.starts_with("<resource ") {
        return Some(Syntax::DataciteXml);
    }
    let kind = line.strip_prefix('@').and_then(|line| line.split_once('{'));
    let is_entry = kind.is_some_and(|(kind, _)| {
        let kind = kind.trim_end();
        !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphabetic())
    });
    if is_entry {
        return Some(Syntax::BibtexEntry);
    }
    is_list_entry(line).then_some(Syntax::RunningText)
}

/// `[12] …`, `12. …`, `12) …`, `- …`, `* …`, `\bibitem…`, `<li>…`.
fn is_list_entry(line: &str) -> bool {
    if ["- ", "* ", "• ", "\\bibitem", "<li"].iter().any(|mark| line.starts_with(mark)) {
        return true;
    }
    let inner = line.strip_prefix('[').unwrap_or(line);
    let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &inner[digits..];
    (1..=3).contains(&digits)
        && if inner.len() < line.len() {
            rest.starts_with(']')
        } else {
            rest.starts_with(". ") || rest.starts_with(") ")
        }
}

fn passages_of_text(text: &str) -> Vec<Passage> {
    let mut passages = Vec::new();
    let (mut lines, mut syntax) = (String::new(), Syntax::RunningText);
    let mut depth = 0_i64;
    let mut close = |lines: &mut String, syntax: Syntax| {
        if !lines.trim().is_empty() {
            passages.push(passage(lines, syntax));
        }
        lines.clear();
    };
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start_matches([' ', '\t', '>', '\u{feff}']);
        let next = begun_by(trimmed);
        // Only another record ends a record: a title may begin with "12. ".
        let ends_before = match syntax {
            Syntax::RunningText => next.is_some() || trimmed.trim().is_empty(),
            _ => next.is_some_and(|next| next != Syntax::RunningText),
        };
        if ends_before {
            close(&mut lines, syntax);
            (syntax, depth) = (next.unwrap_or(Syntax::RunningText), 0);
        }
        lines.push_str(trimmed);
        depth += trimmed.matches('{').count() as i64 - trimmed.matches('}').count() as i64;
        let ends_after = match syntax {
            Syntax::BibtexEntry => depth <= 0,
            Syntax::Ris => trimmed.starts_with("ER  -"),
            Syntax::DataciteXml => trimmed.contains("</resource>"),
            Syntax::Cff | Syntax::RunningText => false,
        };
        if ends_after {
            close(&mut lines, syntax);
            syntax = Syntax::RunningText;
        }
    }
    close(&mut lines, syntax);
    passages
}

fn passage(lines: &str, syntax: Syntax) -> Passage {
    let doi = match syntax {
        Syntax::BibtexEntry => doi_of_entry(lines),
        _ => lines.lines().find_map(|line| declared_doi(line, syntax)),
    };
    let (kind, text) = match syntax {
        Syntax::RunningText => (PassageKind::RunningText, without_markup(lines)),
        Syntax::BibtexEntry | Syntax::DataciteXml => (PassageKind::Record, without_markup(lines)),
        Syntax::Ris | Syntax::Cff => (PassageKind::Record, normalised(lines)),
    };
    Passage { kind, text, doi }
}

/// The DOI of a line whose tag or key says that it is one.
fn declared_doi(line: &str, syntax: Syntax) -> Option<Doi> {
    let line = line.trim();
    match syntax {
        Syntax::Ris => line.strip_prefix("DO  -")?.trim().parse().ok(),
        Syntax::Cff => unquoted(line.strip_prefix("doi:")?.trim()).parse().ok(),
        Syntax::DataciteXml => {
            let (attributes, rest) = line.strip_prefix("<identifier ")?.split_once('>')?;
            let (doi, _) = rest.split_once("</identifier>")?;
            attributes.contains("\"DOI\"").then(|| from_xml(doi).parse().ok())?
        }
        Syntax::BibtexEntry | Syntax::RunningText => None,
    }
}

/// The text of an element of XML that contains no other.
fn from_xml(text: &str) -> String {
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    marks.iter().fold(text.trim().to_owned(), |text, (name, mark)| text.replace(name, mark))
}

/// The DOI in the field `doi` of a BibTeX entry, on a line of its own or not.
fn doi_of_entry(entry: &str) -> Option<Doi> {
    /// Longer values are not DOIs.
    const MAX_BYTES: usize = 500;
    let lower = entry.to_ascii_lowercase();
    lower.match_indices("doi").find_map(|(at, name)| {
        if entry[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/')) {
            return None;
        }
        let value = entry[at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
        let value = &value[..value.floor_char_boundary(MAX_BYTES)];
        let value = match value.strip_prefix('{') {
            Some(value) => value.split('}').next()?,
            None => value.strip_prefix('"')?.split('"').next()?,
        };
        // Only the characters that the format `bibtex` encodes are decoded.
        let value = value.trim().replace("%7B", "{").replace("%7D", "}").replace("%5C", "\\");
        value.parse().ok()
    })
}

/// The string of a YAML scalar (YAML 1.2, § 7.3) that contains no backslash escapes.
fn unquoted(scalar: &str) -> String {
    let between = |quote| scalar.strip_prefix(quote)?.strip_suffix(quote);
    match (between('\''), between('"')) {
        (Some(text), _) => text.replace("''", "'"),
        (None, text) => text.unwrap_or(scalar).to_owned(),
    }
}
