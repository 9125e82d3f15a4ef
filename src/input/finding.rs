//! Something suspicious that a reader found, with an example.

use std::fmt;

use crate::error::{Error, ErrorKind};
use crate::model::{SourceLocation, quoted};

/// A kind of suspicious input.
#[derive(Debug, PartialEq, Eq)]
pub struct FindingKind {
    /// Its code, which docs/reference/inputs.md lists.
    pub name: &'static str,
    /// The kind of the error with which the listing is rejected.
    pub refused_as: ErrorKind,
    /// The heading of docs/reference/inputs.md that explains it.
    pub heading: &'static str,
    /// The predicate of the message: what is wrong with the example.
    pub what: &'static str,
    /// What to do about it.
    pub hint: &'static str,
}

/// Something suspicious, with the first example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: &'static FindingKind,
    /// The location of the first occurrence.
    pub location: SourceLocation,
    /// The text that was read there, or a sentence about it.
    pub example: Example,
    /// The number of lines with the same finding.
    pub lines: u64,
    /// What to do about this example. `None` means the hint of its kind.
    pub hint: Option<String>,
}

/// The example of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Example {
    /// A text that was read, which messages quote.
    Text(String),
    /// The whole message.
    Sentence(String),
}

/// The greatest length of an example, in characters.
const MAX_EXAMPLE_CHARS: usize = 100;

impl Finding {
    /// Creates a finding whose message is a sentence.
    pub(super) fn new(
        kind: &'static FindingKind,
        location: SourceLocation,
        sentence: impl Into<String>,
    ) -> Self {
        let example = Example::Sentence(sentence.into());
        Finding { kind, location, example, lines: 1, hint: None }
    }

    /// Returns the finding with a hint for this example.
    pub(super) fn with_hint(self, hint: Option<String>) -> Self {
        Finding { hint, ..self }
    }

    /// The hint: what to do, and where the documentation explains it.
    fn hint(&self) -> String {
        let hint = self.hint.as_deref().unwrap_or(self.kind.hint);
        format!("{hint} (inputs.md, {})", self.kind.heading)
    }

    /// The error that rejects the listing.
    pub(super) fn error(&self) -> Error {
        Error::new(self.kind.refused_as, self.to_string())
            .with_hint(self.hint())
            .at(self.location.clone())
    }
}

/// Quotes a value as an argument of a shell, if necessary. `None` means that the value contains a quote.
pub(super) fn argument(value: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-=".contains(&byte);
    match value.contains('\'') {
        true => None,
        false if !value.is_empty() && value.bytes().all(is_plain) => Some(value.to_owned()),
        false => Some(format!("'{value}'")),
    }
}

/// Writes the message without the location.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.example {
            Example::Sentence(sentence) => f.write_str(sentence)?,
            Example::Text(text) => {
                let shown: String = text.chars().take(MAX_EXAMPLE_CHARS).collect();
                let cut = if shown.len() < text.len() { " …" } else { "" };
                write!(f, "{}{cut} {}", quoted(&shown), self.kind.what)?;
            }
        }
        match self.lines {
            0 | 1 => Ok(()),
            lines => write!(f, " ({lines} such lines)"),
        }
    }
}
