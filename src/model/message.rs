//! Untrusted strings and source locations in messages, and the error of parsing a string.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

/// Shows `text` in double quotes, on one line, without characters that control a terminal.
///
/// Quotes, backslashes and control characters are escaped as in a Rust literal. Invisible characters that
/// reorder or hide text (bidirectional controls, zero-width marks) are escaped, too. Everything else is shown
/// unchanged, because people copy ids from messages.
///
/// # Examples
///
/// ```
/// assert_eq!(accession::text::quoted("A\u{1b}[31m\n").to_string(), r#""A\u{1b}[31m\n""#);
/// assert_eq!(accession::text::quoted("größe 7").to_string(), "\"größe 7\"");
/// ```
pub fn quoted(text: &str) -> impl fmt::Display + '_ {
    Quoted(text)
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `Debug` of a string escapes unprintable characters, but not the single quote.
        write_visible(f, &format!("{:?}", self.0))
    }
}

/// Returns whether a terminal or browser interprets `character` instead of showing it. This is true for control
/// characters, line and paragraph separators, and characters that change the direction of the text around them
/// (Unicode 16, UAX 9 § 2).
pub(crate) fn is_interpreted(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Returns whether `character` is invisible, so that different names can look alike. These are soft hyphens,
/// zero-width characters, fillers, variation selectors and tags (the property `Default_Ignorable_Code_Point` of
/// Unicode 16, DerivedCoreProperties.txt), and interlinear annotations.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns whether a terminal would interpret `character` or not show it.
pub fn is_escaped(character: char) -> bool {
    is_interpreted(character) || is_invisible(character)
}

/// Writes `text` with its invisible characters escaped.
fn write_visible(out: &mut impl fmt::Write, text: &str) -> fmt::Result {
    let mut rest = text;
    while let Some((at, character)) = rest.char_indices().find(|(_, it)| is_invisible(*it)) {
        write!(out, "{}{}", &rest[..at], character.escape_unicode())?;
        rest = &rest[at + character.len_utf8()..];
    }
    out.write_str(rest)
}

/// A number with its noun: `1 granule`, `2 granules`.
pub fn plural(number: impl Into<u64>, noun: &str) -> String {
    match number.into() {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// The reason why a string is not a value of some type.
/// It converts into an [`Error`](crate::Error), so `?` works in functions that return one.
///
/// # Examples
///
/// ```
/// use accession::{DatasetName, ErrorKind};
///
/// fn read(text: &str) -> accession::Result<DatasetName> {
///     Ok(text.parse()?)
/// }
///
/// assert_eq!(read("US FOOL2").unwrap_err().kind(), ErrorKind::Usage);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(Cow<'static, str>);

impl ParseError {
    /// The error with this message.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        ParseError(Cow::Owned(message.into()))
    }

    /// The error with a fixed message, independent of the string.
    pub(crate) const fn fixed(message: &'static str) -> Self {
        ParseError(Cow::Borrowed(message))
    }
}

/// Rejects control characters in a string that people write for people. They control terminals, XML forbids
/// them, and PostgreSQL cannot store NUL. A note and a description are paragraphs, and may contain line feeds
/// and tabs; any other string is one line.
///
/// # Errors
///
/// The string contains a control character that `what` must not contain. The message has the character and its
/// position.
pub(crate) fn check_characters(what: &str, text: &str) -> Result<(), ParseError> {
    let has_lines = matches!(what, "note" | "description");
    let is_refused = |it: char| it.is_control() && !(has_lines && matches!(it, '\n' | '\t'));
    let Some((before, refused)) = text.chars().enumerate().find(|(_, it)| is_refused(*it)) else {
        return Ok(());
    };
    let allowed = if has_lines { ": only line feeds and tabs are allowed" } else { "" };
    Err(ParseError::new(format!(
        "character {} of the {what} is the control character U+{:04X}: remove it{allowed}",
        before + 1,
        u32::from(refused)
    )))
}

/// Applies [`check_characters`] to all strings of a record, with the names of its fields.
///
/// # Errors
///
/// Those of [`check_characters`]; the record cannot be written as JSON.
pub(crate) fn check_fields(record: impl Serialize) -> Result<(), ParseError> {
    fn check(name: &str, value: &Value) -> Result<(), ParseError> {
        match value {
            Value::String(text) => check_characters(name, text),
            Value::Array(values) => values.iter().try_for_each(|value| check(name, value)),
            Value::Object(fields) => fields.iter().try_for_each(|(name, value)| check(name, value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }
    let record =
        serde_json::to_value(record).map_err(|error| ParseError::new(error.to_string()))?;
    check("record", &record)
}

/// Removes a prefix, ignoring the case of ASCII letters. `None` means that the text does not begin with it.
pub(crate) fn strip_prefix_of_any_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The location from which a value was read, as messages show it: `ids.txt:12`, `argument 3`.
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
