//! Lists of references to check: BibTeX, RIS, CSL-JSON, or text. Each reference has the line on which it
//! begins and, except in text, its key.

use std::collections::HashMap;
use std::io::Read;

use accession::citation::recognise;
use accession::model::{Doi, quoted};
use accession::{ErrorKind, SourceLocation};
use biblatex::{Pair, RawBibliography, RawChunk};
use serde_json::Value;

use super::error::{Context, Error, Result};
use super::reading::{InputFile, open};

/// A limit for a list, longer than any list of references.
const MAX_BYTES: u64 = 64 * 1_024 * 1_024;

/// How many parts of a value are read, each of which may be an abbreviation.
const MAX_CHUNKS: usize = 100;

/// A reference of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Its key, by which the text that cites it refers to it. `None` if it has none.
    pub key: Option<String>,
    /// The line on which it begins, from 1.
    pub line: u64,
    /// What it says.
    pub text: String,
    /// Its DOIs; of a record, those that its fields declare.
    pub dois: Vec<Doi>,
}

/// Reads the references of a file.
///
/// # Errors
///
/// The file cannot be read or is too long, or what its name or its content says that it is cannot be
/// parsed; the error has the line.
pub fn read(file: &InputFile) -> Result<Vec<Reference>> {
    let text = read_text(file)?;
    let extension = file.path().and_then(|path| path.extension()).and_then(|it| it.to_str());
    references(&text, extension.unwrap_or_default(), &file.name())
}

/// Reads a file to its end, as text.
///
/// # Errors
///
/// The file cannot be read or is too long.
pub fn read_text(file: &InputFile) -> Result<String> {
    let (reader, name) = open(file)?;
    let mut bytes = Vec::new();
    reader
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {}", quoted(&name)))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::usage(format!("{name} is longer than {MAX_BYTES} bytes")));
    }
    Ok(decoded(&bytes))
}

/// Decodes UTF-8, or UTF-16 with a byte order mark, which some editors write. Invalid bytes are
/// replaced: they do not make the identifiers around them unreadable.
fn decoded(bytes: &[u8]) -> String {
    let utf_16 = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> =
            bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, ..] => utf_16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => utf_16(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The references of a text, of which the extension of its file's name or else its content says what it
/// is. What only the content suggests is read as text where it cannot be parsed.
fn references(text: &str, extension: &str, name: &str) -> Result<Vec<Reference>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_one_of = |known: &str| extension.eq_ignore_ascii_case(known);
    let begins_line = |start: &str| text.lines().any(|line| line.trim_start().starts_with(start));
    match () {
        () if is_one_of("bib") => of_bibtex(text, name),
        () if is_one_of("json") => of_csl_json(text, name),
        () if is_one_of("ris") || begins_line("TY  -") => Ok(of_ris(text)),
        () if text.trim_start().starts_with(['[', '{']) => {
            of_csl_json(text, name).or_else(|_| Ok(of_text(text)))
        }
        () if begins_line("@") => of_bibtex(text, name).or_else(|_| Ok(of_text(text))),
        () => Ok(of_text(text)),
    }
}

/// The error of a line.
fn wrong(name: &str, line: u64, what: &str) -> Error {
    let location = SourceLocation::Line { source: name.into(), line };
    accession::Error::new(ErrorKind::Input, what).at(location).into()
}

/// Tells the lines of places in a text, which are asked for in ascending order.
struct Lines<'text> {
    text: &'text str,
    counted: usize,
    line: u64,
}

impl<'text> Lines<'text> {
    fn of(text: &'text str) -> Self {
        Lines { text, counted: 0, line: 1 }
    }

    fn line_at(&mut self, at: usize) -> u64 {
        let at = at.clamp(self.counted, self.text.len());
        let between = &self.text.as_bytes()[self.counted..at];
        self.line += between.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.counted = at;
        self.line
    }
}

fn of_bibtex(text: &str, name: &str) -> Result<Vec<Reference>> {
    let mut lines = Lines::of(text);
    let bibliography = RawBibliography::parse(text).map_err(|error| {
        let line = lines.line_at(error.span.start);
        wrong(name, line, &format!("this is not BibTeX: {}", error.kind))
    })?;
    let abbreviations: HashMap<String, &str> =
        bibliography.abbreviations.iter().filter_map(abbreviation).collect();
    let mut references = Vec::new();
    let mut bytes = 0;
    for entry in &bibliography.entries {
        let line = lines.line_at(entry.span.start);
        let mut text = format!("@{}{{{},\n", entry.v.kind.v, entry.v.key.v);
        let mut dois = Vec::new();
        for field in &entry.v.fields {
            let chunks = || {
                field.value.v.iter().take(MAX_CHUNKS).map(|chunk| match chunk.v {
                    RawChunk::Normal(text) => text,
                    RawChunk::Abbreviation(short) => {
                        abbreviations.get(&short.to_ascii_lowercase()).copied().unwrap_or(short)
                    }
                })
            };
            // Counted before it is built: a hundred references to a long abbreviation are short.
            bytes += chunks().map(|text| text.len() as u64).sum::<u64>();
            if bytes > MAX_BYTES {
                let what = format!("its abbreviations stand for more than {MAX_BYTES} bytes");
                return Err(wrong(name, line, &what));
            }
            let value: String = chunks().collect();
            if ["doi", "url"].iter().any(|name| field.key.v.eq_ignore_ascii_case(name)) {
                add_doi(&mut dois, &value);
            }
            text.push_str(&format!("  {} = {{{value}}},\n", field.key.v));
        }
        text.push_str("}\n");
        let key = Some(entry.v.key.v.to_owned()).filter(|key| !key.is_empty());
        references.push(Reference { key, line, text, dois });
    }
    Ok(references)
}

/// An abbreviation, in lower case, and what it stands for. One of other abbreviations contains nothing
/// that is cited.
fn abbreviation<'text>(pair: &Pair<'text>) -> Option<(String, &'text str)> {
    match pair.value.v.as_slice() {
        [chunk] => match chunk.v {
            RawChunk::Normal(text) => Some((pair.key.v.to_ascii_lowercase(), text)),
            RawChunk::Abbreviation(_) => None,
        },
        _ => None,
    }
}

/// Adds the DOI that a field is.
fn add_doi(dois: &mut Vec<Doi>, value: &str) {
    if let Ok(doi) = value.trim().parse::<Doi>()
        && dois.iter().all(|known| !known.is_same_as(&doi))
    {
        dois.push(doi);
    }
}

fn of_ris(text: &str) -> Vec<Reference> {
    let mut references: Vec<Reference> = Vec::new();
    let mut is_open = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        if line.starts_with("TY  -") {
            is_open = true;
            let (key, text, dois) = (None, String::new(), Vec::new());
            references.push(Reference { key, line: number, text, dois });
        }
        let Some(reference) = references.last_mut().filter(|_| is_open) else { continue };
        reference.text.push_str(line);
        reference.text.push('\n');
        is_open = !line.starts_with("ER  -");
        let Some((tag, value)) = line.split_once("  -") else { continue };
        match tag {
            "ID" => reference.key = Some(value.trim().to_owned()).filter(|key| !key.is_empty()),
            "DO" | "UR" => add_doi(&mut reference.dois, value),
            _ => {}
        }
    }
    references
}

fn of_csl_json(text: &str, name: &str) -> Result<Vec<Reference>> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        wrong(name, error.line() as u64, &format!("this is not CSL-JSON: {error}"))
    })?;
    let items = match &value {
        Value::Array(items) => items.as_slice(),
        item => std::slice::from_ref(item),
    };
    let mut lines = Lines::of(text);
    let starts = starts_of_objects(text, usize::from(value.is_array()));
    let references = items.iter().filter(|item| item.is_object()).zip(starts).map(|(item, at)| {
        let key = match &item["id"] {
            Value::String(id) => Some(id.clone()),
            Value::Number(id) => Some(id.to_string()),
            _ => None,
        };
        let mut dois = Vec::new();
        for field in ["DOI", "URL"] {
            add_doi(&mut dois, item[field].as_str().unwrap_or_default());
        }
        Reference { key, line: lines.line_at(at), text: item.to_string(), dois }
    });
    Ok(references.collect())
}

/// Where the objects at a depth of a text of JSON begin.
fn starts_of_objects(text: &str, depth: usize) -> Vec<usize> {
    let (mut starts, mut level, mut is_string, mut is_escaped) = (Vec::new(), 0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'{' | b'[' => {
                if byte == b'{' && level == depth {
                    starts.push(at);
                }
                level += 1;
            }
            b'}' | b']' => level = level.saturating_sub(1),
            _ => {}
        }
    }
    starts
}

/// Paragraphs; or their lines, where each of them is a reference.
fn of_text(text: &str) -> Vec<Reference> {
    let mut references = Vec::new();
    let mut paragraph: Vec<(u64, &str)> = Vec::new();
    for (number, line) in (1..).zip(text.lines().chain([""])) {
        if !line.trim().is_empty() {
            paragraph.push((number, line));
            continue;
        }
        let cites =
            |line: &str| !recognise::dois(line).is_empty() || !recognise::find(line).is_empty();
        let are_references = paragraph.iter().all(|(_, line)| cites(line));
        let parts: Vec<&[(u64, &str)]> = match are_references {
            true => paragraph.chunks(1).collect(),
            false => vec![&paragraph],
        };
        for part in parts {
            let lines: Vec<&str> = part.iter().map(|(_, line)| *line).collect();
            let (text, line) = (lines.join("\n"), part.first().map_or(1, |(number, _)| *number));
            let mut dois = Vec::new();
            for doi in recognise::dois(&text) {
                add_doi(&mut dois, doi.as_str());
            }
            references.push(Reference { key: None, line, text, dois });
        }
        paragraph.clear();
    }
    references
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS: &str = "763122197bfb3ffbf0da14adbfb1b13b";

    fn shown(text: &str, extension: &str) -> Vec<(Option<String>, u64, usize, Vec<String>)> {
        let references = references(text, extension, "refs").unwrap();
        let shown = |it: &Reference| {
            let dois = it.dois.iter().map(ToString::to_string).collect();
            (it.key.clone(), it.line, recognise::find(&it.text).len(), dois)
        };
        references.iter().map(shown).collect()
    }

    fn bibtex() -> String {
        format!(
            "% ours\n@string{{us = \"10.9999/US\"}}\n\n@dataset{{first,\n  doi = us,\n  title = {{A}}\n}}\n\n@misc{{second,\n  note = {{DI:{DIGITS}, as held at 2001-01-05}},\n  url = \"https://doi.org/10.9999/US\",\n}}\n"
        )
    }

    fn ris() -> String {
        format!(
            "TY  - DATA\nID  - first\nDO  - 10.9999/US\nER  - \n\nTY  - DATA\nID  - second\nN1  - DI:{DIGITS}\nER  - \n"
        )
    }

    fn csl() -> String {
        format!(
            "[\n {{\"id\":\"a]}}{{\",\"DOI\":\"10.9999/US\"}},\n {{\n \"id\": 2, \"x\": {{}}, \"note\":\"DI:{DIGITS}\"}}\n]"
        )
    }

    #[test]
    fn each_reference_has_its_key_and_its_line() {
        let doi = || vec!["10.9999/US".to_owned()];
        let named = |key: &str| Some(key.to_owned());
        for extension in ["bib", "BIB", "", "txt"] {
            let expected = [(named("first"), 4, 0, doi()), (named("second"), 9, 1, doi())];
            assert_eq!(shown(&bibtex(), extension), expected);
        }
        for extension in ["ris", ""] {
            let expected = [(named("first"), 1, 0, doi()), (named("second"), 6, 1, vec![])];
            assert_eq!(shown(&ris(), extension), expected);
        }
        for extension in ["json", ""] {
            let expected = [(named("a]}{"), 2, 0, doi()), (named("2"), 3, 1, vec![])];
            assert_eq!(shown(&csl(), extension), expected);
        }
        let text = format!(
            "\n[1] A. doi:10.9999/US.\n[2] B, DI:{DIGITS}\n\nSee https://doi.org/10.9999/US,\nas we did.\n"
        );
        let expected = [(None, 2, 0, doi()), (None, 3, 1, vec![]), (None, 5, 0, doi())];
        assert_eq!(shown(&text, ""), expected);
        assert!(shown("", "bib").is_empty() && shown("", "").is_empty());
    }

    #[test]
    fn what_cannot_be_parsed_has_its_line() {
        let cases = [
            (
                "@misc{a,\n  title = {x},\n  doi {y}\n}",
                "bib",
                "refs:3: this is not BibTeX: expected",
            ),
            ("@misc{a,\n  title = {x", "bib", "refs:2: this is not BibTeX: unexpected end of file"),
            ("[\n{\"id\":}]", "json", "refs:2: this is not CSL-JSON: "),
        ];
        for (text, extension, message) in cases {
            let error = references(text, extension, "refs").unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
            // What only looks so is text.
            assert_eq!(references(text, "", "refs").unwrap().len(), 1);
        }
    }

    #[test]
    fn no_damage_of_a_list_makes_it_panic() {
        let pieces = [
            "",
            "@",
            "{",
            "}",
            "\"",
            "\\",
            ",",
            "#",
            "=",
            "%",
            "[",
            "é",
            "\u{0}",
            "TY  - x\n",
            "\n",
        ];
        for (whole, own) in [(bibtex(), "bib"), (ris(), "ris"), (csl(), "json")] {
            for (at, _) in whole.char_indices() {
                for piece in pieces {
                    let next = whole[at..].chars().next().map_or(at, |it| at + it.len_utf8());
                    for rest in [&whole[next..], ""] {
                        let damaged = format!("{}{piece}{rest}", &whole[..at]);
                        for extension in [own, ""] {
                            for reference in
                                references(&damaged, extension, "refs").unwrap_or_default()
                            {
                                recognise::find(&reference.text);
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn utf_16_is_decoded_after_its_byte_order_mark() {
        for unit in [u16::to_le_bytes, u16::to_be_bytes] {
            let bytes: Vec<u8> = "\u{feff}{ é }".encode_utf16().flat_map(unit).collect();
            assert_eq!(decoded(&bytes), "\u{feff}{ é }".trim_start_matches('\u{feff}'));
            assert_eq!(decoded(&[&bytes[..], b"x"].concat()), "{ é }");
        }
        assert_eq!(decoded("{ é }\u{0}".as_bytes()), "{ é }\u{0}");
        assert_eq!(decoded(b"\xff\xfd"), "\u{fffd}\u{fffd}");
    }
}
