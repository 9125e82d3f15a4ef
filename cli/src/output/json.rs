//! JSON that is safe to print on a terminal.

use std::io::{self, Write};

use accession::text::is_escaped;
use serde::Serialize;
use serde::ser::{Error as _, SerializeSeq};
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// Writes `value` on one line, without a line feed at the end.
///
/// JSON itself only escapes the characters below U+0020. This also escapes the other characters that a terminal
/// interprets or does not show. Every JSON parser decodes the escapes to the same string.
pub fn write(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, SafeFormatter))?;
    Ok(())
}

/// Returns `value` as a string of JSON.
pub fn to_string(value: &impl Serialize) -> String {
    let mut json = Vec::new();
    write(&mut json, value).expect("the keys of all serialized maps are strings");
    String::from_utf8_lossy(&json).into_owned()
}

/// An object of JSON. Its members keep their order.
pub struct Object(pub Vec<(&'static str, Value)>);

impl Serialize for Object {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// A list whose values are read while the list is written.
pub struct Streamed<'a, T>(Box<dyn Fn() -> Values<T> + 'a>);

type Values<T> = Box<dyn Iterator<Item = accession::Result<T>>>;

impl<'a, T> Streamed<'a, T> {
    /// The list of the values that `read` returns. It is called for each pass over the list.
    pub fn of<I>(read: impl Fn() -> I + 'a) -> Self
    where
        I: Iterator<Item = accession::Result<T>> + 'static,
    {
        Streamed(Box::new(move || Box::new(read())))
    }

    /// Reads the values, starting with the first.
    pub fn read(&self) -> Values<T> {
        (self.0)()
    }
}

impl<T: Serialize> Serialize for Streamed<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for value in self.read() {
            list.serialize_element(&value.map_err(S::Error::custom)?)?;
        }
        list.end()
    }
}

struct SafeFormatter;

impl Formatter for SafeFormatter {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, character)) = rest.char_indices().find(|(_, it)| is_escaped(*it)) {
            out.write_all(&rest.as_bytes()[..at])?;
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &rest[at + character.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn json_is_the_same_string_without_anything_that_a_terminal_interprets() {
        let value = "\u{1b}[2J\u{9b}31m\u{7f} \u{202e}abc\u{2066}\u{200b}\u{e0041} größe e\u{301} 値 \u{1f6f0} \"\\";
        let json = super::to_string(&value);
        assert_eq!(
            json,
            r#""\u001b[2J\u009b31m\u007f \u202eabc\u2066\u200b\udb40\udc41 größe é 値 🛰 \"\\""#
                .replace('é', "e\u{301}")
        );
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), value);
    }
}
