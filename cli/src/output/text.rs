//! Text for people: escapes for untrusted strings, phrases, and messages on stderr.

use std::fmt::{self, Write as _};
use std::io::Write;

use accession::Pattern;
use accession::history::{Annotation, SubsetCriteria};
use accession::text::is_escaped;
use clap::builder::styling::{AnsiColor, Style, Styles};
use serde::Deserialize;
use serde_json::Value;

/// Displays a string on one line. Characters that a terminal would interpret are escaped.
pub fn one_line(text: &str) -> impl fmt::Display + '_ {
    OneLine(text)
}

struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return f.write_str(self.0);
        }
        // `escape_debug` also escapes backslashes and quotes, which are harmless here, so the string is split
        // at them. The pieces are not split further, because a combining mark is only printed as it is if it
        // follows its letter.
        for piece in self.0.split_inclusive(['\\', '"', '\'']) {
            let unquoted = piece.trim_end_matches(['\\', '"', '\'']);
            for character in unquoted.escape_debug().to_string().chars() {
                // `escape_debug` does not escape some invisible characters.
                match is_escaped(character) {
                    true => write!(f, "{}", character.escape_unicode())?,
                    false => f.write_char(character)?,
                }
            }
            f.write_str(&piece[unquoted.len()..])?;
        }
        Ok(())
    }
}

/// A string as an argument in a shell, in single quotes if it needs them.
pub fn for_shell(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:@%+=,-".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// An annotation on one line: `! TIME questionable: NOTE`, and its author. `row` is the JSON of an annotation,
/// or of a row with its members.
pub fn annotation_in(row: &Value) -> String {
    let Ok(annotation) = Annotation::deserialize(row) else { return String::new() };
    let what = if annotation.questionable { " questionable" } else { "" };
    let by = annotation.recorded_by.as_deref();
    let by = by.map(|by| format!(" ({})", one_line(by))).unwrap_or_default();
    format!("! {}{what}: {}{by}", annotation.recorded, one_line(&annotation.note))
}

/// A digest of a set, and when the set had it, from its JSON.
pub fn digest_in(period: &Value) -> String {
    let at = |member: &str| period[member].as_str().unwrap_or("now").to_owned();
    format!("{} {} until {}", at("digest"), at("from"), at("until"))
}

/// The lines below a row: its digests and its annotations, one a line.
pub fn lines_below(row: &Value) -> impl Iterator<Item = String> {
    digests_below(row).chain(annotations_below(row))
}

/// The digests of a row, one a line, if it has several or is a subset: subsets with the same identifier can
/// have different digests.
pub fn digests_below(row: &Value) -> impl Iterator<Item = String> {
    let is_subset = row["kind"] == "subset";
    let digests = row["digests"].as_array().filter(|it| it.len() > 1 || is_subset);
    digests.into_iter().flatten().map(digest_in)
}

/// The annotations of a row, one a line.
pub fn annotations_below(row: &Value) -> impl Iterator<Item = String> {
    row["annotations"].as_array().into_iter().flatten().map(annotation_in)
}

/// The selection of a subset's granules on one line, from the subset's JSON.
pub fn selected_in(subset: &Value) -> String {
    match SubsetCriteria::deserialize(&subset["patterns"]) {
        Ok(SubsetCriteria::Named) => "named one by one".to_owned(),
        Ok(SubsetCriteria::Patterns(patterns)) => {
            let patterns: Vec<&str> = patterns.iter().map(Pattern::as_str).collect();
            format!("selected by {}", one_line(&patterns.join(" ")))
        }
        Err(_) => String::new(),
    }
}

/// The beginning of a line on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    Error,
    Hint,
    Warning,
}

impl Label {
    fn word(self) -> &'static str {
        match self {
            Label::Error => "error:",
            Label::Hint => "hint:",
            Label::Warning => "warning:",
        }
    }

    fn style(self) -> Style {
        let styles = Styles::styled();
        match self {
            Label::Error => *styles.get_error(),
            Label::Hint => *styles.get_valid(),
            Label::Warning => AnsiColor::Yellow.on_default().bold(),
        }
    }
}

/// Writes a line to stderr. It is coloured on a terminal, unless `NO_COLOR` is set.
pub fn write_message(label: Label, message: &str) {
    let style = label.style();
    let word = label.word();
    // stderr is not buffered. A single write keeps the line from mixing with those of other programs.
    let line = format!("{style}{word}{style:#} {}\n", one_line(message));
    // If stderr cannot be written, there is nowhere left to report it.
    let _ = anstream::stderr().write_all(line.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_interprets_nothing_in_a_note() {
        assert_eq!(one_line("a\u{1b}[2J\nb\u{202e}").to_string(), "a\\u{1b}[2J\\nb\\u{202e}");
        assert_eq!(one_line("C:\\dir \"größe\" 値").to_string(), "C:\\dir \"größe\" 値");
        assert_eq!(
            one_line("a\u{200b}\u{fe0f}\u{3164}b").to_string(),
            "a\\u{200b}\\u{fe0f}\\u{3164}b"
        );
        assert_eq!(one_line("\\\"\n'\u{9b}").to_string(), "\\\"\\n'\\u{9b}");
    }

    #[test]
    fn combining_marks_are_printed_with_their_letter() {
        // They used to be escaped as if each began a string: titles in Hindi were unreadable.
        for text in ["नमस्ते", "e\u{301}", "ที่"] {
            assert_eq!(one_line(text).to_string(), text);
        }
    }
}
