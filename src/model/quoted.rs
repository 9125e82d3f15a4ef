//! How text that somebody else wrote is shown in a message.

use std::fmt;

/// Shows `text` in double quotes, on one line, with nothing in it that a terminal would obey.
///
/// Quotes, backslashes and control characters come out escaped as in a Rust literal; so do the
/// invisible characters that reorder or hide text (bidirectional controls, zero-width marks). All
/// else is left as it is, since ids are copied from messages.
///
/// # Examples
///
/// ```
/// assert_eq!(accession::quoted("A\u{1b}[31m\n").to_string(), r#""A\u{1b}[31m\n""#);
/// assert_eq!(accession::quoted("größe 7").to_string(), "\"größe 7\"");
/// ```
pub fn quoted(text: &str) -> impl fmt::Display + '_ {
    Quoted(text)
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `Debug` of a string escapes what is not printable, but a single quote stays.
        write!(f, "{:?}", self.0)
    }
}
