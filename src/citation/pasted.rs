//! Citations in what people paste: the tuple, a sentence, BibTeX, RIS, JSON.
//!
//! An identifier is `DI:` and 32 hexadecimal characters, in any case, also broken over two lines; in
//! a text without any `DI:`, a word of 32 hexadecimal characters. Behind a `#` it names an instance
//! that the citation is related to, and is passed over.
//!
//! Its DOI and its date are looked for where they belong to it: in the same BibTeX entry, RIS record,
//! document or braces; in running text, between the identifiers before and behind it and within its
//! paragraph. A date is what follows `as held at` (or `as held on`, `as of`), else what stands right
//! before the identifier, as in the tuple. The year of publication and the day of access are no such
//! dates.

use std::ops::Range;

use percent_encoding::percent_decode_str;

use crate::model::{Doi, Identifier, Moment};

/// A citation that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pasted {
    /// Its identifier.
    pub identifier: Stated<Identifier>,
    /// Its DOI; one that cannot be read is none.
    pub doi: Option<Doi>,
    /// As of when it says that the granules were held.
    pub date: Option<Stated<Moment>>,
}

/// Something that a citation says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stated<T> {
    /// This.
    Read(T),
    /// What stands in its place, and cannot be read.
    Unreadable(String),
}

/// Finds the citations in a text, in their order; what one BibTeX entry or RIS record says twice is
/// one.
pub fn find(text: &str) -> Vec<Pasted> {
    let text = strings_of_json(text).unwrap_or_else(|| text.to_owned());
    let marks = marks(&text);
    let records = records(&text);
    let mut found: Vec<(Range<usize>, Pasted)> = Vec::new();
    for (index, mark) in marks.iter().enumerate() {
        let record = records.iter().find(|record| record.contains(&mark.place.start));
        let before = index.checked_sub(1).map_or(0, |before| marks[before].place.end);
        let behind = marks.get(index + 1).map_or(text.len(), |behind| behind.place.start);
        let scope = match record {
            Some(record) => record.clone(),
            None => paragraph(&text, &mark.place, before..behind),
        };
        let pasted = mark.within(&text, scope.clone(), record.is_none());
        let is_repeated = record.is_some()
            && found
                .iter()
                .any(|(other, seen)| *other == scope && seen.identifier == pasted.identifier);
        if !is_repeated {
            found.push((scope, pasted));
        }
    }
    found.into_iter().map(|(_, pasted)| pasted).collect()
}

/// An identifier, and where it stands, its `DI:` included.
struct Mark {
    place: Range<usize>,
    identifier: Stated<Identifier>,
}

impl Mark {
    /// The citation, from what stands in its scope; in running text, what stands behind the
    /// sentence of the identifier is not of it.
    fn within(&self, text: &str, scope: Range<usize>, is_running: bool) -> Pasted {
        let before = one_spaced(&text[scope.start..self.place.start]);
        let mut behind = one_spaced(&text[self.place.end..scope.end]);
        if let (true, Some(end)) = (is_running, behind.find(". ")) {
            behind.truncate(end);
        }
        let doi = dois(&before).pop().or_else(|| dois(&behind).into_iter().next());
        let date = date_behind_phrase(&behind)
            .or_else(|| date_behind_phrase(&before))
            .or_else(|| date_right_before(&before));
        Pasted { identifier: self.identifier.clone(), doi, date }
    }
}

/// All texts of a JSON document, one behind the other.
fn strings_of_json(text: &str) -> Option<String> {
    fn collect(value: &serde_json::Value, texts: &mut Vec<String>) {
        match value {
            serde_json::Value::String(text) => texts.push(text.clone()),
            serde_json::Value::Array(values) => {
                values.iter().for_each(|value| collect(value, texts));
            }
            serde_json::Value::Object(fields) => {
                fields.values().for_each(|value| collect(value, texts));
            }
            _ => {}
        }
    }
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let mut texts = Vec::new();
    collect(&value, &mut texts);
    // A record of its own, so that what it says twice is one citation.
    (value.is_object() || value.is_array()).then(|| format!("@json{{\n{}\n}}", texts.join("\n")))
}

fn marks(text: &str) -> Vec<Mark> {
    let marked = |is_relation: bool| -> Vec<Mark> {
        let starts = text.char_indices().filter(|(at, _)| {
            text.get(*at..at + 3).is_some_and(|mark| mark.eq_ignore_ascii_case("DI:"))
        });
        starts
            .filter(|(at, _)| match text[..*at].chars().next_back() {
                Some('#') => is_relation,
                Some(before) => !before.is_alphanumeric() && !is_relation,
                None => !is_relation,
            })
            .filter_map(|(at, _)| mark_at(text, at))
            .collect()
    };
    let found = marked(false);
    if !found.is_empty() {
        return found;
    }
    let bare = bare(text);
    if !bare.is_empty() {
        return bare;
    }
    marked(true)
}

/// The mark whose `DI:` stands at `start`; none if nothing behind it looks like an identifier.
fn mark_at(text: &str, start: usize) -> Option<Mark> {
    /// Shorter words behind `DI:` are words.
    const MIN_CHARS: usize = 16;
    let behind = &text[start + 3..];
    let skipped = behind.len() - behind.trim_start().len();
    let digits_from = start + 3 + skipped;
    let mut digits = String::new();
    let mut at = digits_from;
    while digits.len() < 32 {
        let word: String = text[at..]
            .chars()
            .take_while(char::is_ascii_hexdigit)
            .take(32 - digits.len())
            .collect();
        at += word.len();
        digits.push_str(&word);
        let rest = &text[at..];
        let broken = rest.trim_start_matches([' ', '\t', '\r']);
        let is_broken = broken.starts_with('\n') && !word.is_empty();
        if !is_broken || digits.len() == 32 {
            break;
        }
        at = text.len() - broken[1..].trim_start_matches([' ', '\t']).len();
    }
    let ends = !text[at..].starts_with(char::is_alphanumeric);
    if let (true, Ok(identifier)) = (ends, digits.parse::<Identifier>()) {
        return Some(Mark { place: start..at, identifier: Stated::Read(identifier) });
    }
    let word: String =
        text[digits_from..].chars().take_while(|character| character.is_alphanumeric()).collect();
    if word.chars().count() < MIN_CHARS {
        return None;
    }
    let shown = format!("DI:{}", word.chars().take(40).collect::<String>());
    let place = start..digits_from + word.len();
    Some(Mark { place, identifier: Stated::Unreadable(shown) })
}

/// Words of 32 hexadecimal characters.
fn bare(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut start = 0;
    for part in text.split_inclusive(|character: char| !character.is_alphanumeric()) {
        let word = part.trim_end_matches(|character: char| !character.is_alphanumeric());
        if let (32, Ok(identifier)) = (word.len(), word.parse()) {
            let place = start..start + word.len();
            marks.push(Mark { place, identifier: Stated::Read(identifier) });
        }
        start += part.len();
    }
    marks
}

/// Where the BibTeX entries, the RIS records and a CITATION.cff stand.
fn records(text: &str) -> Vec<Range<usize>> {
    let mut records: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let is_inside = records.last().is_some_and(|last| start < last.end);
        let at = start + line.len() - line.trim_start().len();
        if !is_inside {
            let line = line.trim_start();
            if line.starts_with("TY  -") {
                records.push(at..end_of_ris(text, at));
            } else if is_entry(line) {
                records.push(at..end_of_braces(text, at));
            } else if line.starts_with("cff-version:") {
                records.push(at..text.len());
            }
        }
        start += line.len();
    }
    records
}

/// Whether a line begins as a BibTeX entry does: `@dataset{`.
fn is_entry(line: &str) -> bool {
    let kind = line.strip_prefix('@').and_then(|line| line.split_once('{'));
    kind.is_some_and(|(kind, _)| {
        let kind = kind.trim_end();
        !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphabetic())
    })
}

fn end_of_ris(text: &str, start: usize) -> usize {
    let end = text[start..].find("\nER  -").map(|at| start + at + 1);
    let end = end.and_then(|at| text[at..].find('\n').map(|line| at + line));
    end.unwrap_or(text.len())
}

/// Behind the brace that closes the first one; the end, where none does.
fn end_of_braces(text: &str, start: usize) -> usize {
    let mut depth = 0_usize;
    for (at, character) in text[start..].char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 1 => return start + at + 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    text.len()
}

/// The part of running text that belongs to an identifier: its braces or its paragraph, and not
/// what belongs to its neighbours.
fn paragraph(text: &str, place: &Range<usize>, within: Range<usize>) -> Range<usize> {
    let before = &text[within.start..place.start];
    let behind = &text[place.end..within.end];
    let opens = before.rfind('{').filter(|at| !before[*at..].contains('}'));
    let closes = behind.find('}');
    if let (Some(opens), Some(closes)) = (opens, closes) {
        return within.start + opens..place.end + closes;
    }
    let is_blank = |line: &str| line.trim().is_empty();
    let mut start = place.start;
    for line in before.split_inclusive('\n').rev() {
        if line.ends_with('\n') && is_blank(line) {
            break;
        }
        start -= line.len();
    }
    let mut end = place.end;
    for (number, line) in behind.split_inclusive('\n').enumerate() {
        if number > 0 && is_blank(line) {
            break;
        }
        end += line.len();
    }
    start..end
}

/// With one space wherever there is white space, so that phrases may be broken over lines.
fn one_spaced(text: &str) -> String {
    text.split_whitespace().fold(String::with_capacity(text.len()), |mut spaced, word| {
        if !spaced.is_empty() {
            spaced.push(' ');
        }
        spaced.push_str(word);
        spaced
    })
}

fn date_behind_phrase(text: &str) -> Option<Stated<Moment>> {
    let lower = text.to_ascii_lowercase();
    let phrases = ["as held at ", "as held on ", "as of "];
    let at =
        phrases.iter().filter_map(|phrase| lower.find(phrase).map(|at| at + phrase.len())).min()?;
    let word = text[at..].split([' ', ',', ';', '"', '}']).next().unwrap_or_default();
    let word = word.trim_end_matches(['.', ')', ']', ':', '\'']);
    // "As of" is a phrase of other uses too; what no digit begins is no date.
    let is_date = word.starts_with(|first: char| first.is_ascii_digit());
    match word.parse() {
        Ok(moment) => Some(Stated::Read(moment)),
        Err(_) if is_date => Some(Stated::Unreadable(word.to_owned())),
        Err(_) => None,
    }
}

/// The date right before the identifier; in a tuple, what stands there in its place.
fn date_right_before(before: &str) -> Option<Stated<Moment>> {
    let is_tuple = before.starts_with('{');
    let before = before.trim_end_matches([' ', ',', ';', '(', '[']);
    let word = before.rsplit([' ', ',', ';', '(', '[', '{']).next().unwrap_or_default();
    let looks_like_a_date = word.starts_with(|first: char| first.is_ascii_digit())
        && !word.starts_with("10.")
        && word.contains(['-', '/', '.', ':']);
    match word.trim_end_matches('.').parse() {
        Ok(moment) => Some(Stated::Read(moment)),
        Err(_) if is_tuple && looks_like_a_date => Some(Stated::Unreadable(word.to_owned())),
        Err(_) => None,
    }
}

/// The DOIs in a text, in their order.
fn dois(text: &str) -> Vec<Doi> {
    let starts = text.match_indices("10.").filter(|(at, _)| {
        let before = text[..*at].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric() && before != '.')
    });
    starts
        .filter_map(|(at, _)| {
            let rest = text[at..].split("#DI:").next().unwrap_or_default();
            let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '"' | '{' | '}');
            let mut doi = rest.split(ends).next().unwrap_or_default();
            // Old DOIs hold "<1::AID-"; a tag begins with a letter or a slash.
            let is_tag = |(at, _): &(usize, &str)| {
                doi[at + 1..].starts_with(|c: char| c.is_alphabetic() || c == '/')
            };
            doi = doi.match_indices('<').find(is_tag).map_or(doi, |(at, _)| &doi[..at]);
            loop {
                let shorter = doi.trim_end_matches(['.', ';', ':', '\'']);
                let unopened = |open, close| {
                    shorter.ends_with(close)
                        && shorter.matches(close).count() > shorter.matches(open).count()
                };
                let is_shorter = unopened('(', ')') || unopened('[', ']') || unopened('<', '>');
                doi = if is_shorter { &shorter[..shorter.len() - 1] } else { shorter };
                if !is_shorter {
                    break;
                }
            }
            let is_address = text[..at].to_ascii_lowercase().ends_with("doi.org/");
            if is_address {
                percent_decode_str(doi).decode_utf8_lossy().parse().ok()
            } else {
                doi.parse().ok()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DI: &str = "763122197bfb3ffbf0da14adbfb1b13b";

    /// Identifier, DOI and date of each citation found, as text; what cannot be read after a `!`.
    fn found(text: &str) -> Vec<String> {
        let one = |pasted: Pasted| {
            let identifier = match pasted.identifier {
                Stated::Read(identifier) => identifier.to_string().replace(DI, "A"),
                Stated::Unreadable(text) => format!("!{text}"),
            };
            let doi = pasted.doi.map_or("-".to_owned(), |doi| doi.to_string());
            let date = match pasted.date {
                None => "-".to_owned(),
                Some(Stated::Read(moment)) => moment.to_string(),
                Some(Stated::Unreadable(text)) => format!("!{text}"),
            };
            format!("{identifier} {doi} {date}")
        };
        find(text).into_iter().map(one).collect()
    }

    #[test]
    fn citations_are_found_as_people_paste_them() {
        let upper = DI.to_uppercase();
        let (half, other_half) = DI.split_at(16);
        let cases = [
            (
                format!("{{ doi:10.9999/US/FOOL2.v2, 2001-01-05, DI:{DI} }}"),
                "A 10.9999/US/FOOL2.v2 2001-01-05",
            ),
            (
                format!("{{doi:10.9999/US/FOOL2.v2,2001-01-05,DI:{DI}}}"),
                "A 10.9999/US/FOOL2.v2 2001-01-05",
            ),
            (
                format!("{{ US.FOOL2.002, 2001-01-05T10:00:00Z, di:{upper} }}"),
                "A - 2001-01-05T10:00:00Z",
            ),
            (format!("{{ doi:10.9999/x, 2001-13-05, DI:{DI} }}"), "A 10.9999/x !2001-13-05"),
            (
                format!(
                    "(2001). FOO. https://doi.org/10.9999/x%3C(DI:1) (DI:{DI}, as held at 2001-01-05 by US). Accessed 2026-01-01."
                ),
                "A 10.9999/x<(DI:1) 2001-01-05",
            ),
            (format!("FOO, as held\n  on 2001-01-05, DI: {DI}."), "A - 2001-01-05"),
            (format!("As of this writing, DI:{half}\n   {other_half}"), "A - -"),
            (format!("as held at 2001-01-99, DI:{DI}"), "A - !2001-01-99"),
            (format!("https://doi.org/10.9999/x#DI:{DI}"), "A 10.9999/x -"),
            (format!("see {DI}."), "A - -"),
            (format!("2001. (10.1002/(SICI)1096) DI:{DI}"), "A 10.1002/(SICI)1096 -"),
            (
                format!(
                    "@misc{{k, year = {{2001}}, doi = {{10.9999/x}},\n\n note = {{DI:{DI}, as held at 2001-01-05}}, x = {{DI:{DI}}} }} 10.1/y"
                ),
                "A 10.9999/x 2001-01-05",
            ),
            (
                format!(
                    "TY  - DATA\r\nDO  - 10.9999/x\r\nPY  - 2001\r\nAN  - DI:{DI}\r\nN1  - DI:{DI}, as held at 2001-01-05\r\nER  - \r\n"
                ),
                "A 10.9999/x 2001-01-05",
            ),
            (
                format!(
                    r#"{{"DOI":"10.9999/x","note":"DI:{DI}, as held at 2001-01-05","related":"https://doi.org/10.9999/x#DI:{upper}"}}"#
                ),
                "A 10.9999/x 2001-01-05",
            ),
            (format!("DI:{}", &DI[1..]), "!DI:63122197bfb3ffbf0da14adbfb1b13b - -"),
            (format!("DI:{DI}0"), "!DI:763122197bfb3ffbf0da14adbfb1b13b0 - -"),
        ];
        for (text, expected) in cases {
            assert_eq!(found(&text), [expected], "{text}");
        }
        for text in
            ["", "DI: a thing", "(DI = DatasetInstance?)", "AUDI:quattro", "DI:", "\u{feff}é"]
        {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn each_of_several_has_its_own_doi_and_date() {
        let seed = format!(
            "Alice's data citation includes these: {{ doi:10.9999/US/FOOL2.v2,\n2001-01-05, DI:{DI} }}.  Bob's citation\nincludes these: {{ doi:10.9999/THEM/FOOL2.v2, 2001-02-03,\nDI:{DI} }}. (DI = DatasetInstance?)"
        );
        assert_eq!(
            found(&seed),
            ["A 10.9999/US/FOOL2.v2 2001-01-05", "A 10.9999/THEM/FOOL2.v2 2001-02-03"]
        );
        let listed = format!(
            "One. https://doi.org/10.9999/a (DI:{DI}, as held at 2001-01-05).\n\nTwo (DI:{DI}).\nThree. doi:10.9999/c (DI:{DI}, as held at 2001-01-07)."
        );
        assert_eq!(found(&listed), ["A 10.9999/a 2001-01-05", "A - -", "A 10.9999/c 2001-01-07"]);
    }
}
