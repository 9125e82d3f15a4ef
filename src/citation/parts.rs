//! The parts of a text in which a citation and what belongs to it stand together.

use serde_json::Value;

use super::plain::{plain, seen};
use crate::model::{Doi, Moment};

/// A part of what somebody pasted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub kind: Kind,
    /// Without markup; in JSON, all its texts.
    pub text: String,
    /// The DOI, where a field says that it is one.
    pub doi: Option<Doi>,
}

/// Whether all of a part belongs to one citation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A BibTeX entry, a RIS record, an item of JSON, a CITATION.cff.
    Record,
    /// A paragraph, or an entry of a list.
    Running,
}

/// The parts, in their order.
pub(super) fn parts(text: &str) -> Vec<Part> {
    items_of_json(text).unwrap_or_else(|| parts_of_text(text))
}

/// Each document, and each item of an array, where the text is JSON and nothing else.
fn items_of_json(text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        match value.ok()? {
            value if is_tuple(&value) => parts.push(item(&value)),
            Value::Array(items) => parts.extend(items.iter().map(item)),
            value @ Value::Object(_) => parts.push(item(&value)),
            _ => return None,
        }
    }
    (!parts.is_empty()).then_some(parts)
}

/// Whether it is a tuple that somebody wrote as JSON: `["10.9999/x", "2001-01-05", "DI:…"]`.
fn is_tuple(value: &Value) -> bool {
    let is_date =
        |member: &Value| member.as_str().is_some_and(|text| text.parse::<Moment>().is_ok());
    value.as_array().is_some_and(|members| {
        members.len() <= 4 && members.iter().all(Value::is_string) && members.iter().any(is_date)
    })
}

fn item(value: &Value) -> Part {
    /// Nothing reaches over it, so that no text goes on in the next field.
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
        let text = seen(&format!("{{ {} }}", texts.join(", ")));
        return Part { kind: Kind::Running, text, doi: None };
    }
    // In a tuple that somebody wrote as JSON, the date has a name.
    let date = value.get("date").and_then(Value::as_str).map(|date| format!("as held at {date}"));
    texts.extend(date.as_deref());
    let doi = ["DOI", "doi"].into_iter().find_map(|name| value.get(name)?.as_str()?.parse().ok());
    Part { kind: Kind::Record, text: seen(&texts.join(BETWEEN_FIELDS)), doi }
}

/// What kind of part a line begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    Entry,
    Ris,
    Cff,
    Running,
}

/// What a line begins, if it does not go on with what was before.
fn begins(line: &str) -> Option<Begins> {
    if line.starts_with("TY  -") {
        return Some(Begins::Ris);
    }
    if line.starts_with("cff-version:") {
        return Some(Begins::Cff);
    }
    let kind = line.strip_prefix('@').and_then(|line| line.split_once('{'));
    let is_entry = kind.is_some_and(|(kind, _)| {
        let kind = kind.trim_end();
        !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphabetic())
    });
    if is_entry {
        return Some(Begins::Entry);
    }
    is_list_entry(line).then_some(Begins::Running)
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

fn parts_of_text(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut lines, mut begun) = (String::new(), Begins::Running);
    let mut depth = 0_i64;
    let mut close = |lines: &mut String, begun: Begins| {
        if !lines.trim().is_empty() {
            parts.push(part(lines, begun));
        }
        lines.clear();
    };
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start_matches([' ', '\t', '>', '\u{feff}']);
        let next = begins(trimmed);
        // In a record, only another record ends it; a title may begin with "12. ".
        let ends_before = match begun {
            Begins::Running => next.is_some() || trimmed.trim().is_empty(),
            _ => next.is_some_and(|next| next != Begins::Running),
        };
        if ends_before {
            close(&mut lines, begun);
            (begun, depth) = (next.unwrap_or(Begins::Running), 0);
        }
        lines.push_str(trimmed);
        depth += trimmed.matches('{').count() as i64 - trimmed.matches('}').count() as i64;
        let ends_behind = match begun {
            Begins::Entry => depth <= 0,
            Begins::Ris => trimmed.starts_with("ER  -"),
            Begins::Cff | Begins::Running => false,
        };
        if ends_behind {
            close(&mut lines, begun);
            begun = Begins::Running;
        }
    }
    close(&mut lines, begun);
    parts
}

fn part(lines: &str, begun: Begins) -> Part {
    let doi = match begun {
        Begins::Entry => doi_of_entry(lines),
        _ => lines.lines().find_map(|line| field_of_doi(line, begun)),
    };
    let (kind, text) = match begun {
        Begins::Running => (Kind::Running, plain(lines)),
        Begins::Entry => (Kind::Record, plain(lines)),
        Begins::Ris | Begins::Cff => (Kind::Record, seen(lines)),
    };
    Part { kind, text, doi }
}

/// The DOI of a line that says it is one.
fn field_of_doi(line: &str, begun: Begins) -> Option<Doi> {
    let line = line.trim();
    match begun {
        Begins::Ris => line.strip_prefix("DO  -")?.trim().parse().ok(),
        Begins::Cff => unquoted(line.strip_prefix("doi:")?.trim()).parse().ok(),
        Begins::Entry | Begins::Running => None,
    }
}

/// The DOI in the field of that name, wherever it stands in an entry of BibTeX.
fn doi_of_entry(entry: &str) -> Option<Doi> {
    /// Longer ones are none.
    const MAX_BYTES: usize = 500;
    let lower = entry.to_ascii_lowercase();
    lower.match_indices("doi").find_map(|(at, name)| {
        if entry[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/')) {
            return None;
        }
        let value = entry[at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
        let value = &value[..near_end(value, MAX_BYTES)];
        let value = match value.strip_prefix('{') {
            Some(value) => value.split('}').next()?,
            None => value.strip_prefix('"')?.split('"').next()?,
        };
        // As we write them: nothing else is encoded there.
        let value = value.trim().replace("%7B", "{").replace("%7D", "}").replace("%5C", "\\");
        value.parse().ok()
    })
}

/// The text of a scalar of YAML (1.2, 7.3), where it needs no escape that a backslash begins.
fn unquoted(scalar: &str) -> String {
    let between = |quote| scalar.strip_prefix(quote)?.strip_suffix(quote);
    match (between('\''), between('"')) {
        (Some(text), _) => text.replace("''", "'"),
        (None, text) => text.unwrap_or(scalar).to_owned(),
    }
}

/// The last place at or before `at` where a character ends.
pub(super) fn near_end(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
