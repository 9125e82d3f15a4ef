//! JSON that may stand on a terminal: the same values, with what a terminal obeys escaped.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::output::is_unseen;

/// Writes `value` on one line, without its end.
///
/// JSON itself escapes only what is below U+0020. The rest of the control characters, and those
/// that turn text around, are written as escapes too, which any reader takes for the same text.
pub fn write(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, Escaped))?;
    Ok(())
}

/// `value` as text.
pub fn text(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    write(&mut text, value).expect("values of ours have texts as keys");
    String::from_utf8_lossy(&text).into_owned()
}

struct Escaped;

impl Formatter for Escaped {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, character)) = rest.char_indices().find(|(_, it)| is_unseen(*it)) {
            out.write_all(&rest.as_bytes()[..at])?;
            // None of them lies beyond U+FFFF.
            write!(out, "\\u{:04x}", u32::from(character))?;
            rest = &rest[at + character.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn json_holds_the_same_text_without_what_a_terminal_obeys() {
        let value = "\u{1b}[2J\u{9b}31m\u{7f} \u{202e}abc\u{2066} größe e\u{301} 値 \u{1f6f0} \"\\";
        let text = super::text(&value);
        assert_eq!(
            text,
            r#""\u001b[2J\u009b31m\u007f \u202eabc\u2066 größe é 値 🛰 \"\\""#
                .replace('é', "e\u{301}")
        );
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), value);
    }
}
