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

/// The references of a list, and warnings about those that can only be read as text.
#[derive(Debug, Default)]
pub struct List {
    pub references: Vec<Reference>,
    pub warnings: Vec<String>,
}

impl From<Vec<Reference>> for List {
    fn from(references: Vec<Reference>) -> Self {
        List { references, warnings: Vec::new() }
    }
}

/// Reads the references of a file.
///
/// # Errors
///
/// The file cannot be read or is too long, or what its name or its content says that it is cannot be
/// parsed; the error has the line.
pub fn read(file: &InputFile) -> Result<List> {
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
fn references(text: &str, extension: &str, name: &str) -> Result<List> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_one_of = |known: &str| extension.eq_ignore_ascii_case(known);
    let begins_line = |start: &str| text.lines().any(|line| line.trim_start().starts_with(start));
    match () {
        () if (is_one_of("bib") && !begins_line("@") || is_one_of("ris") && !is_ris(text))
            && !text.trim().is_empty() =>
        {
            Err(wrong(name, 1, &format!("there is no reference in this .{extension} file")))
        }
        () if is_one_of("bib") => of_bibtex(text, name),
        () if is_one_of("json") => of_csl_json(text, name).map(List::from),
        () if is_one_of("ris") || is_ris(text) => Ok(of_ris(text).into()),
        () if text.trim_start().starts_with(['[', '{']) => {
            Ok(of_csl_json(text, name).unwrap_or_else(|_| of_text(text)).into())
        }
        () if begins_line("@") => of_bibtex(text, name).or_else(|_| Ok(of_text(text).into())),
        () => Ok(of_text(text).into()),
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

/// The references of a list of BibTeX, as far as they were read.
#[derive(Default)]
struct Bibtex {
    /// What abbreviations stand for, by their names in lower case. One of other abbreviations contains
    /// nothing that is cited.
    abbreviations: HashMap<String, String>,
    list: List,
    bytes: u64,
}

/// A list of BibTeX. Where it cannot be parsed as a whole, each entry is parsed by itself, and one that
/// cannot is read as text: programs write what others do not read, and the rest is to be checked all the
/// same.
fn of_bibtex(text: &str, name: &str) -> Result<List> {
    let mut whole = Bibtex::default();
    let Err((line, what)) = whole.add(text, 1, name)? else { return Ok(whole.list) };
    let mut bibtex = Bibtex::default();
    let mut is_bibtex = false;
    for (line, entry) in entries_of(text) {
        let added = match bibtex.add(entry, line, name)? {
            Err(_) if in_braces(entry).is_some_and(|it| RawBibliography::parse(&it).is_ok()) => {
                bibtex.add(&in_braces(entry).unwrap_or_default(), line, name)?
            }
            added => added,
        };
        match added {
            Ok(()) => is_bibtex = true,
            Err((at, what)) => {
                let warning = format!("{name}:{at}: {what}; the reference is read as text");
                bibtex.list.warnings.push(warning);
                let mut dois = Vec::new();
                recognise::dois(entry).iter().for_each(|doi| add_doi(&mut dois, doi.as_str()));
                let (key, text) = (key_of(entry), entry.to_owned());
                bibtex.list.references.push(Reference { key, line, text, dois });
            }
        }
    }
    match is_bibtex {
        true => Ok(bibtex.list),
        false => Err(wrong(name, line, &what)),
    }
}

impl Bibtex {
    /// Adds the references of a text that begins on a line. The inner error is the line and the reason for
    /// which it cannot be parsed.
    fn add(&mut self, text: &str, first: u64, name: &str) -> Result<Result<(), (u64, String)>> {
        let mut lines = Lines::of(text);
        let bibliography = match RawBibliography::parse(text) {
            Ok(bibliography) => bibliography,
            Err(error) => {
                let line = first - 1 + lines.line_at(error.span.start);
                return Ok(Err((line, format!("this is not BibTeX: {}", error.kind))));
            }
        };
        self.abbreviations.extend(bibliography.abbreviations.iter().filter_map(abbreviation));
        for entry in &bibliography.entries {
            let line = first - 1 + lines.line_at(entry.span.start);
            let mut text = format!("@{}{{{},\n", entry.v.kind.v, entry.v.key.v);
            let mut dois = Vec::new();
            for field in &entry.v.fields {
                let chunks = || {
                    field.value.v.iter().take(MAX_CHUNKS).map(|chunk| match chunk.v {
                        RawChunk::Normal(text) => text,
                        RawChunk::Abbreviation(short) => {
                            let known = self.abbreviations.get(&short.to_ascii_lowercase());
                            known.map_or(short, String::as_str)
                        }
                    })
                };
                // Counted before it is built: a hundred references to a long abbreviation are short.
                self.bytes += chunks().map(|text| text.len() as u64).sum::<u64>();
                if self.bytes > MAX_BYTES {
                    let what = format!("its abbreviations stand for more than {MAX_BYTES} bytes");
                    return Err(wrong(name, line, &what));
                }
                let value: String = chunks().collect();
                let is_one_of = |names: &[&str]| {
                    names.iter().any(|name| field.key.v.eq_ignore_ascii_case(name))
                };
                if is_one_of(&["doi", "url"]) {
                    add_doi(&mut dois, &value);
                } else if is_one_of(&["howpublished", "how", "link", "ee"]) {
                    recognise::dois(&value).iter().for_each(|doi| add_doi(&mut dois, doi.as_str()));
                }
                text.push_str(&format!("  {} = {{{value}}},\n", field.key.v));
            }
            text.push_str("}\n");
            let key = Some(entry.v.key.v.to_owned()).filter(|key| !key.is_empty());
            self.list.references.push(Reference { key, line, text, dois });
        }
        Ok(Ok(()))
    }
}

/// The entries of a list of BibTeX that cannot be parsed as a whole, each with the line on which it
/// begins: from a line that begins with `@` to the next.
fn entries_of(text: &str) -> Vec<(u64, &str)> {
    let mut begins: Vec<(u64, usize)> = Vec::new();
    let mut at = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        if line.trim_start().starts_with('@') {
            begins.push((number, at));
        }
        at += line.len();
    }
    let ends = begins.iter().skip(1).map(|(_, at)| *at).chain([text.len()]);
    begins.iter().zip(ends).map(|((line, from), to)| (*line, &text[*from..to])).collect()
}

/// An entry between parentheses, which BibTeX knows too, between braces.
fn in_braces(entry: &str) -> Option<String> {
    let open = entry.find(['{', '(']).filter(|at| entry.as_bytes()[*at] == b'(')?;
    let close = entry.rfind(')').filter(|close| *close > open)?;
    Some(format!("{}{{{}}}", &entry[..open], &entry[open + 1..close]))
}

/// The key of an entry that cannot be parsed.
fn key_of(entry: &str) -> Option<String> {
    let (_, rest) = entry.split_once(['{', '('])?;
    let (key, _) = rest.split_once(',')?;
    let key = key.trim();
    let is_key =
        !key.is_empty() && !key.contains(|c: char| c.is_whitespace() || "={}\"".contains(c));
    is_key.then(|| key.to_owned())
}

/// An abbreviation, in lower case, and what it stands for.
fn abbreviation(pair: &Pair<'_>) -> Option<(String, String)> {
    match pair.value.v.as_slice() {
        [chunk] => match chunk.v {
            RawChunk::Normal(text) => Some((pair.key.v.to_ascii_lowercase(), text.to_owned())),
            RawChunk::Abbreviation(_) => None,
        },
        _ => None,
    }
}

/// Adds the DOI that a field is. LaTeX escapes some characters of it.
fn add_doi(dois: &mut Vec<Doi>, value: &str) {
    let value = ["_", "%", "&", "#", "$"]
        .iter()
        .fold(value.trim().to_owned(), |value, it| value.replace(&format!("\\{it}"), it));
    if let Ok(doi) = value.parse::<Doi>()
        && dois.iter().all(|known| !known.is_same_as(&doi))
    {
        dois.push(doi);
    }
}

/// The tag and the value of a line of RIS: two characters, one or two blanks, and a hyphen.
fn ris_field(line: &str) -> Option<(&str, &str)> {
    let (tag, value) = line.trim_start().split_once('-')?;
    let bare = tag.trim_end();
    let is_tag = bare.len() == 2 && bare.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_tag && tag.len() > 2).then(|| (bare, value.trim()))
}

fn is_ris(text: &str) -> bool {
    text.lines().any(|line| ris_field(line).is_some_and(|(tag, _)| tag == "TY"))
}

fn of_ris(text: &str) -> Vec<Reference> {
    let mut references: Vec<Reference> = Vec::new();
    let mut is_open = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let field = ris_field(line);
        if field.is_some_and(|(tag, _)| tag == "TY") {
            is_open = true;
            let (key, text, dois) = (None, String::new(), Vec::new());
            references.push(Reference { key, line: number, text, dois });
        }
        let Some(reference) = references.last_mut().filter(|_| is_open) else { continue };
        reference.text.push_str(line);
        reference.text.push('\n');
        let Some((tag, value)) = field else { continue };
        is_open = tag != "ER";
        match tag {
            "ID" => reference.key = Some(value.to_owned()).filter(|key| !key.is_empty()),
            "DO" | "UR" | "L3" | "LK" => add_doi(&mut reference.dois, value),
            _ => {}
        }
    }
    references
}

fn of_csl_json(text: &str, name: &str) -> Result<Vec<Reference>> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        wrong(name, error.line() as u64, &format!("this is not CSL-JSON: {error}"))
    })?;
    // A list, a list within an object as some programs export it, or one reference.
    let (items, depth) = match (&value, &value["items"]) {
        (Value::Array(items), _) => (items.as_slice(), 1),
        (_, Value::Array(items)) => (items.as_slice(), 2),
        (item, _) => (std::slice::from_ref(item), 0),
    };
    let mut lines = Lines::of(text);
    let starts = starts_of_objects(text, depth);
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
        let references = references(text, extension, "refs").unwrap().references;
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
            assert_eq!(references(text, "", "refs").unwrap().references.len(), 1);
        }
    }

    #[test]
    fn an_entry_that_cannot_be_parsed_does_not_hide_the_others() {
        let text = format!(
            "@string{{us = \"10.9999/US\"}}\n@misc{{a, doi = us}}\n@article(b, doi = {{10.9999/US\\_1}})\n@misc{{open,\n  title = {{x,\n  doi = {{10.9999/US}}\n}}\n@misc{{c, howpublished = {{\\url{{https://doi.org/10.9999/US}}}}, note = {{DI:{DIGITS}}}}}\n"
        );
        let named = |key: &str| Some(key.to_owned());
        let us = |doi: &str| vec![doi.to_owned()];
        let expected = [
            (named("a"), 2, 0, us("10.9999/US")),
            (named("b"), 3, 0, us("10.9999/US_1")),
            (named("open"), 4, 0, us("10.9999/US")),
            (named("c"), 8, 1, us("10.9999/US")),
        ];
        assert_eq!(shown(&text, "bib"), expected);
        let warnings = references(&text, "bib", "refs").unwrap().warnings;
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].ends_with("the reference is read as text"), "{warnings:?}");
        for (text, extension) in [("<html>", "bib"), ("x\n", "ris")] {
            let error = references(text, extension, "refs").unwrap_err().to_string();
            assert!(error.starts_with("refs:1: there is no reference"), "{error}");
        }
    }

    #[test]
    fn exports_with_other_blanks_tags_and_envelopes_are_read() {
        let doi = || vec!["10.9999/US".to_owned()];
        let ris =
            "TY - DATA\nDO - 10.9999/US\nER -\nTY  - JOUR\nL3  - https://doi.org/10.9999/US\n";
        assert_eq!(shown(ris, ""), [(None, 1, 0, doi()), (None, 4, 0, doi())]);
        let json = "{\"x\": {},\n \"items\": [\n{\"id\": \"a\", \"DOI\": \"10.9999/US\"}]}";
        let shown = shown(json, "json");
        assert_eq!((&shown[0].0, &shown[0].3), (&Some("a".to_owned()), &doi()));
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
                            let list = references(&damaged, extension, "refs");
                            for reference in list.unwrap_or_default().references {
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
