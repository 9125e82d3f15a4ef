//! Splits a text into references: BibTeX entries, RIS records, JSON items, list entries, and paragraphs.
//!
//! A BibTeX entry begins with `@kind{`, and a RIS record with the tag `TY`, at the beginning of a line. A list
//! entry begins with its mark, such as `[12]`, `12.` or `-`. A paragraph ends with a blank line. A text that
//! consists of one or several JSON values has an item for each object or string, including those in an array or
//! in the member `items`. Quotation marks of mail (`>`) at the beginning of a line are ignored.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::marks::SELECT;
use crate::model::Doi;

/// A reference in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The key by which a paper refers to it. `None` means that it has none.
    pub key: Option<String>,
    /// The line on which it begins, from 1.
    pub line: u64,
    /// Its text without markup. For JSON, all strings.
    pub text: String,
    /// Whether it is a BibTeX entry, a RIS record or a JSON object, which belongs to one dataset as a whole.
    pub is_record: bool,
    /// Whether it is a JSON item, which may name sets that are related to the cited one.
    pub(super) is_of_json: bool,
    /// The DOI in its DOI field.
    pub(super) doi: Option<Doi>,
}

impl Reference {
    /// Returns the references of a text, in their order.
    ///
    /// Costs time in proportion to the length of the text.
    pub fn find_all(text: &str) -> Vec<Reference> {
        items_of_json(text).unwrap_or_else(|| references_of_lines(text))
    }
}

/// The items of each document. `None` means that the text contains anything but JSON.
fn items_of_json(text: &str) -> Option<Vec<Reference>> {
    #[derive(Deserialize)]
    struct Envelope<'text> {
        #[serde(borrow)]
        items: Vec<&'text RawValue>,
    }
    let text = text.trim_start_matches('\u{feff}');
    if !text.trim_start().starts_with(['[', '{']) {
        return None;
    }
    let mut items = Vec::new();
    for document in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        let document = document.ok()?;
        match serde_json::from_str::<Vec<&RawValue>>(document.get()) {
            Ok(listed) => items.extend(listed),
            Err(_) => match serde_json::from_str::<Envelope<'_>>(document.get()) {
                Ok(envelope) => items.extend(envelope.items),
                Err(_) => items.push(document),
            },
        }
    }
    let (mut line, mut counted) = (1, 0);
    let references = items.into_iter().map(|item| {
        let begins = item.get().as_ptr().addr() - text.as_ptr().addr();
        line += text[counted..begins].matches('\n').count() as u64;
        counted = begins;
        serde_json::from_str(item.get()).map(|value| reference_of_item(&value, line)).ok()
    });
    references.collect()
}

fn reference_of_item(item: &Value, line: u64) -> Reference {
    /// Separates the strings so that no identifier or statement continues in the next one.
    const BETWEEN_STRINGS: &str = "\n\u{1e}\n";
    fn collect<'value>(value: &'value Value, strings: &mut Vec<&'value str>) {
        match value {
            Value::String(string) => strings.push(string),
            Value::Array(values) => values.iter().for_each(|value| collect(value, strings)),
            Value::Object(members) => members.values().for_each(|value| collect(value, strings)),
            _ => {}
        }
    }
    let mut strings = Vec::new();
    collect(item, &mut strings);
    let key = match &item["id"] {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    };
    let doi = ["DOI", "doi"].into_iter().find_map(|name| item[name].as_str()?.parse().ok());
    let text = without_markup(&strings.join(BETWEEN_STRINGS));
    Reference { key, line, text, is_record: item.is_object(), is_of_json: true, doi }
}

/// The syntax of a reference.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Syntax {
    BibtexEntry,
    RisRecord,
    RunningText,
}

fn references_of_lines(text: &str) -> Vec<Reference> {
    let mut references = Vec::new();
    let (mut lines, mut first, mut syntax) = (String::new(), 1, Syntax::RunningText);
    let mut depth = 0_i64;
    let mut close = |lines: &mut String, first: u64, syntax: Syntax| {
        references.extend(reference(lines, first, syntax));
        lines.clear();
    };
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let line = line.trim_start_matches([' ', '\t', '>', '\u{feff}']);
        let next = begun_by(line);
        // Only another record ends a record, because a title may begin with "12. ".
        let ends_before = match syntax {
            Syntax::RunningText => next.is_some() || line.trim().is_empty(),
            _ => next.is_some_and(|next| next != Syntax::RunningText),
        };
        if ends_before {
            close(&mut lines, first, syntax);
            (syntax, depth) = (next.unwrap_or(Syntax::RunningText), 0);
        }
        if lines.is_empty() {
            first = number;
        }
        if !lines.is_empty() || !line.trim().is_empty() {
            lines.push_str(line);
        }
        depth += line.matches('{').count() as i64 - line.matches('}').count() as i64;
        let ends_after = match syntax {
            // BibTeX also allows parentheses around an entry.
            Syntax::BibtexEntry => {
                depth <= 0 && line.trim_end().ends_with(['}', ')']) && !line.starts_with("@{")
            }
            Syntax::RisRecord => ris_value(line, "ER").is_some(),
            Syntax::RunningText => false,
        };
        if ends_after {
            close(&mut lines, first, syntax);
            syntax = Syntax::RunningText;
        }
    }
    close(&mut lines, first, syntax);
    references
}

/// The syntax of the reference that begins on a line. `None` means that the line continues the previous
/// reference.
fn begun_by(line: &str) -> Option<Syntax> {
    match () {
        () if ris_value(line, "TY").is_some() => Some(Syntax::RisRecord),
        () if kind_of_entry(line).is_some() => Some(Syntax::BibtexEntry),
        () if is_list_entry(line) => Some(Syntax::RunningText),
        () => None,
    }
}

/// The kind of a BibTeX entry: `misc` in `@misc{key, …`.
fn kind_of_entry(line: &str) -> Option<&str> {
    let (kind, _) = line.strip_prefix('@')?.split_once(['{', '('])?;
    let kind = kind.trim_end();
    let is_kind = !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_kind.then_some(kind)
}

/// The value of a RIS line with this tag: the tag, one or two blanks, a hyphen, and the value.
fn ris_value<'line>(line: &'line str, tag: &str) -> Option<&'line str> {
    let rest = line.strip_prefix(tag)?.strip_prefix(' ')?;
    Some(rest.trim_start().strip_prefix('-')?.trim())
}

/// Whether a line begins a list entry: `[12] …`, `12. …`, `12) …`, `- …`, `* …`, `\bibitem…`, `<li>…`.
fn is_list_entry(line: &str) -> bool {
    if ["- ", "* ", "• ", "\\bibitem", "<li"].iter().any(|mark| line.starts_with(mark)) {
        return true;
    }
    let inner = line.strip_prefix('[').unwrap_or(line);
    let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &inner[digits..];
    (1..=3).contains(&digits)
        && match inner.len() < line.len() {
            true => rest.starts_with(']'),
            false => rest.starts_with(". ") || rest.starts_with(") "),
        }
}

/// The reference on some lines. `None` means that there are none, or that they are BibTeX lines outside of
/// entries.
fn reference(text: &str, line: u64, syntax: Syntax) -> Option<Reference> {
    if text.is_empty() {
        return None;
    }
    let of_ris = |tag: &str| text.lines().find_map(|line| ris_value(line, tag));
    let (key, doi) = match syntax {
        Syntax::BibtexEntry => {
            let kind = kind_of_entry(text)?.to_ascii_lowercase();
            if ["string", "preamble", "comment"].contains(&kind.as_str()) {
                return None;
            }
            (key_of_entry(text), doi_of_entry(text))
        }
        Syntax::RisRecord => (of_ris("ID").map(str::to_owned), of_ris("DO").and_then(declared_doi)),
        Syntax::RunningText => (None, None),
    };
    let key = key.filter(|key| !key.is_empty());
    let is_record = syntax != Syntax::RunningText;
    let text = without_markup(text);
    Some(Reference { key, line, text, is_record, is_of_json: false, doi })
}

/// The key of a BibTeX entry.
fn key_of_entry(entry: &str) -> Option<String> {
    let (_, rest) = entry.split_once(['{', '('])?;
    let (key, _) = rest.split_once(',')?;
    let key = key.trim();
    let is_key = !key.contains(|c: char| c.is_whitespace() || "={}\"".contains(c));
    is_key.then(|| key.to_owned())
}

/// The DOI in the `doi` field of a BibTeX entry, on its own line or not.
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
        declared_doi(&value.replace("%7B", "{").replace("%7D", "}").replace("%5C", "\\"))
    })
}

/// Parses the value of a DOI field, in which LaTeX escapes some characters.
fn declared_doi(value: &str) -> Option<Doi> {
    let escaped = ["\\_", "\\%", "\\&", "\\#", "\\$"];
    let unescape = |value: String, escaped: &str| value.replace(escaped, &escaped[1..]);
    escaped.into_iter().fold(value.trim().to_owned(), unescape).parse().ok()
}

/// Removes tags, emphasis, TeX commands and invisible characters, and replaces the many kinds of hyphens by
/// ASCII.
fn without_markup(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let (mut rest, mut is_in_query) = (text, false);
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        let mut taken = first.len_utf8();
        match first {
            '<' if let Some(tag) = tag(after) => {
                output.push_str(if tag.starts_with("wbr") { "" } else { " " });
                taken += tag.len() + 1;
            }
            '&' if let Some((entity, character)) = entity(after) => {
                output.push_str(character);
                taken += entity.len();
            }
            '\\' if let Some(command) = tex_command(after) => {
                output.push(' ');
                taken += command.len() + 1;
            }
            '\\' if after.starts_with(|next: char| next.is_ascii_punctuation()) => {
                output.push_str(&after[..1]);
                taken += 1;
            }
            '*' if is_in_query => output.push('*'),
            '*' | '`' => output.push(' '),
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => {}
            '\u{2010}'..='\u{2015}' | '\u{2212}' => output.push('-'),
            '\r' if after.starts_with('\n') => {}
            '\r' | '\u{2028}' | '\u{2029}' => output.push('\n'),
            _ => output.push(first),
        }
        rest = &rest[taken..];
        // In a query, an asterisk is part of a pattern.
        is_in_query =
            output.ends_with(SELECT) || is_in_query && !output.ends_with(char::is_whitespace);
    }
    output
}

/// The TeX command that follows a `\`, up to its `{`.
fn tex_command(text: &str) -> Option<&str> {
    let (command, _) = text.split_once(|c: char| !c.is_ascii_alphabetic())?;
    (!command.is_empty() && text[command.len()..].starts_with('{')).then_some(command)
}

/// The HTML tag that follows a `<`, without its `>`. An address in angle brackets is not a tag.
fn tag(text: &str) -> Option<&str> {
    /// Longer texts in angle brackets are not tags.
    const MAX_BYTES: usize = 300;
    if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') {
        return None;
    }
    let end = text.bytes().take(MAX_BYTES).position(|byte| matches!(byte, b'>' | b'<'))?;
    let tag = &text[..end];
    (text[end..].starts_with('>') && !tag.contains("://")).then_some(tag)
}

/// The end of an HTML entity, after its `&`, and its character.
fn entity(text: &str) -> Option<(&'static str, &'static str)> {
    const ENTITIES: [(&str, &str); 6] =
        [("nbsp;", " "), ("lt;", "<"), ("gt;", ">"), ("amp;", "&"), ("quot;", "\""), ("shy;", "")];
    ENTITIES.into_iter().find(|(entity, _)| text.starts_with(entity))
}
