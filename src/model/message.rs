//! What messages show: untrusted strings, and where a value was read.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

/// Shows `text` in double quotes, on one line, without characters that control a terminal.
///
/// Quotes, backslashes and control characters are escaped as in a Rust literal, and so are the
/// invisible characters that reorder or hide text (bidirectional controls, zero-width marks).
/// Everything else is shown unchanged, since people copy ids from messages.
///
/// # Examples
///
/// ```
/// assert_eq!(accession::model::quoted("A\u{1b}[31m\n").to_string(), r#""A\u{1b}[31m\n""#);
/// assert_eq!(accession::model::quoted("größe 7").to_string(), "\"größe 7\"");
/// ```
pub fn quoted(text: &str) -> impl fmt::Display + '_ {
    Quoted(text)
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `Debug` of a string escapes what is not printable, and not the single quote.
        write!(f, "{:?}", self.0)
    }
}

/// Returns whether a reader's terminal or browser interprets `character` instead of showing it: a
/// control character, a line or paragraph separator, or a character that changes the direction of the
/// text around it (Unicode 16, UAX 9 § 2).
pub fn is_interpreted(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// A number with its noun: `1 granule`, `2 granules`.
pub fn count(number: impl Into<u64>, noun: &str) -> String {
    match number.into() {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// Why a string is not a value of some kind, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ValueError(String);

impl ValueError {
    /// The error with this message.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        ValueError(message.into())
    }
}

/// Refuses control characters in a string that people write for people: they drive terminals, XML cannot have
/// them, and PostgreSQL does not store NUL. A note and a description are paragraphs, with line feeds and
/// tabs; anything else is one line.
///
/// # Errors
///
/// The string has a control character that `what` cannot have: the character, and where it is.
pub(crate) fn check_characters(what: &str, text: &str) -> Result<(), ValueError> {
    let has_lines = matches!(what, "note" | "description");
    let is_refused = |it: char| it.is_control() && !(has_lines && matches!(it, '\n' | '\t'));
    let Some((before, refused)) = text.chars().enumerate().find(|(_, it)| is_refused(*it)) else {
        return Ok(());
    };
    let allowed = if has_lines { ": only line feeds and tabs are allowed" } else { "" };
    Err(ValueError::new(format!(
        "character {} of the {what} is the control character U+{:04X}: remove it{allowed}",
        before + 1,
        u32::from(refused)
    )))
}

/// [`check_characters`] for all strings of a record, by the names of its fields.
///
/// # Errors
///
/// Those of [`check_characters`]; the record cannot be written as JSON.
pub(crate) fn check_fields(record: impl Serialize) -> Result<(), ValueError> {
    fn check(name: &str, value: &Value) -> Result<(), ValueError> {
        match value {
            Value::String(text) => check_characters(name, text),
            Value::Array(values) => values.iter().try_for_each(|value| check(name, value)),
            Value::Object(fields) => fields.iter().try_for_each(|(name, value)| check(name, value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }
    let record = serde_json::to_value(record).map_err(|error| ValueError(error.to_string()))?;
    check("record", &record)
}

/// The string after a prefix, whatever the case of its letters. `None` means that it does not begin so.
pub(crate) fn strip_prefix_of_any_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Where a value was read, as messages name it: `ids.txt:12`, `argument 3`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SourceLocation {
    /// A line of a file or stream.
    Line {
        /// The name of the file as it was given, or `standard input`.
        source: Arc<str>,
        /// The line number, counted from 1.
        line: u64,
    },
    /// An argument of the command line.
    Argument {
        /// The position among the arguments of its kind, counted from 1.
        number: u64,
    },
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceLocation::Line { source, line } => write!(f, "{}:{line}", source.escape_debug()),
            SourceLocation::Argument { number } => write!(f, "argument {number}"),
        }
    }
}
