//! JSON without repeated keys, and the elements of one array in a large document, with one in memory at
//! a time.
//!
//! RFC 8259 § 4 does not define the meaning of an object with a repeated key, and `serde_json` takes the
//! last value. An id must not depend on that, so such an object is an error here.

use std::cell::RefCell;
use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};

use super::MAX_ROW_BYTES;
use crate::error::Error;

/// Parses one JSON value.
///
/// # Errors
///
/// - `{"a":1,"a":2}`: a key that occurs twice
/// - `{"a":`, `{} {}`: not JSON
pub(super) fn parse_strictly(bytes: &[u8]) -> Result<Value, Error> {
    let duplicate = RefCell::new(None);
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let parsed = Unique(&duplicate)
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    parsed.map_err(|_| match duplicate.take() {
        Some(key) => Error::duplicate_key(&key),
        None => Error::not_json(),
    })
}

/// Builds a value, and keeps the first key that occurs twice in an object.
#[derive(Clone, Copy)]
struct Unique<'a>(&'a RefCell<Option<String>>);

impl<'de> DeserializeSeed<'de> for Unique<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = elements.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if object.contains_key(&key) {
                self.0.replace(Some(key));
                return Err(A::Error::custom("a key occurs twice"));
            }
            let value = members.next_value_seed(self)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// The elements of the array at a path of keys, such as `feed` / `entry`.
///
/// The objects around the array are read here, by the grammar of RFC 8259. Each element, and each
/// value that is not on the path, is parsed by `serde_json` and may have [`MAX_ROW_BYTES`]. Only
/// white space may follow the document, so one that is truncated is noticed.
pub(super) struct JsonItems<R> {
    file: R,
    name: Arc<str>,
    line: u64,
    path: &'static [&'static str],
    /// The number of objects on the path that are open.
    depth: usize,
    position: Position,
    /// Whether the array was found: a response that reports an error has none.
    has_array: bool,
    /// The number at the document's key `hits`, or `numberMatched` (STAC). `None` if it has
    /// neither.
    pub hits: Option<u64>,
    /// Whether one of the document's `links` (STAC) is to the next page.
    pub has_next_page: bool,
}

/// The reader's position in the document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Before the document.
    Start,
    /// Before the first key of an object, or after a value.
    InObject { is_first: bool },
    /// Before the first element of the array, or after an element.
    InArray { is_first: bool },
    /// After the document.
    End,
}

impl<R: BufRead> JsonItems<R> {
    pub fn new(file: R, name: Arc<str>, path: &'static [&'static str]) -> Self {
        JsonItems {
            file,
            name,
            line: 1,
            path,
            depth: 0,
            position: Position::Start,
            has_array: false,
            hits: None,
            has_next_page: false,
        }
    }

    /// The next element, and the line on which it begins.
    pub fn next_item(&mut self) -> Result<Option<(Value, u64)>, Error> {
        loop {
            match self.position {
                Position::Start => {
                    self.expect(b'{')?;
                    self.depth = 1;
                    self.position = Position::InObject { is_first: true };
                }
                Position::InObject { is_first } => self.next_key(is_first)?,
                Position::InArray { is_first } => {
                    if self.peek()? == b']' {
                        self.skip_byte();
                        self.position = Position::InObject { is_first: false };
                        continue;
                    }
                    if !is_first {
                        self.expect(b',')?;
                    }
                    self.peek()?;
                    let line = self.line;
                    let text = self.value()?;
                    self.position = Position::InArray { is_first: false };
                    return Ok(Some((self.parse(&text, line)?, line)));
                }
                Position::End => {
                    if !self.has_array {
                        return self.fail(Error::no_list(self.path));
                    }
                    return match self.peek_or_end()? {
                        None => Ok(None),
                        Some(_) => self.fail(Error::not_json()),
                    };
                }
            }
        }
    }

    /// Reads a key, and then enters its value if it is on the path, or skips it.
    fn next_key(&mut self, is_first: bool) -> Result<(), Error> {
        if self.peek()? == b'}' {
            self.skip_byte();
            self.depth -= 1;
            let is_done = self.depth == 0;
            self.position =
                if is_done { Position::End } else { Position::InObject { is_first: false } };
            return Ok(());
        }
        if !is_first {
            self.expect(b',')?;
        }
        self.peek()?;
        let line = self.line;
        let key = self.value()?;
        let Value::String(key) = self.parse(&key, line)? else {
            return self.fail(Error::not_json());
        };
        self.expect(b':')?;
        let opener = self.peek()?;
        let line = self.line;
        if self.path.get(self.depth - 1) == Some(&key.as_str()) {
            let is_last = self.depth == self.path.len();
            match opener {
                _ if self.has_array => {
                    return self.fail(Error::duplicate_key(&key));
                }
                b'[' if is_last => {
                    self.skip_byte();
                    self.has_array = true;
                    self.position = Position::InArray { is_first: true };
                    return Ok(());
                }
                b'{' if !is_last => {
                    self.skip_byte();
                    self.depth += 1;
                    self.position = Position::InObject { is_first: true };
                    return Ok(());
                }
                _ => return self.fail(Error::no_list(self.path)),
            }
        }
        let text = self.value()?;
        match key.as_str() {
            "hits" | "numberMatched" if self.depth == 1 => {
                self.hits = self.parse(&text, line)?.as_u64();
            }
            "links" if self.depth == 1 => {
                self.has_next_page = has_next_link(&self.parse(&text, line)?);
            }
            _ => {
                serde_json::from_slice::<IgnoredAny>(&text)
                    .map_err(|_| Error::not_json().at_line(&self.name, line))?;
            }
        }
        self.position = Position::InObject { is_first: false };
        Ok(())
    }

    fn parse(&self, text: &[u8], line: u64) -> Result<Value, Error> {
        parse_strictly(text).map_err(|error: Error| error.at_line(&self.name, line))
    }

    /// The bytes of the value that begins here, up to its closing bracket or quote, or the end of a
    /// number or literal.
    fn value(&mut self) -> Result<Vec<u8>, Error> {
        let mut text = Vec::new();
        let (mut depth, mut in_string, mut is_escaped) = (0_u32, false, false);
        loop {
            let buffer = self.buffer()?;
            if buffer.is_empty() {
                return self.fail(Error::truncated());
            }
            let (mut used, mut ended) = (0, false);
            for &byte in buffer {
                let is_bare = depth == 0 && !in_string;
                if is_bare
                    && matches!(byte, b',' | b'}' | b']' | b':' | b' ' | b'\t' | b'\r' | b'\n')
                {
                    ended = true;
                    break;
                }
                used += 1;
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' if in_string => is_escaped = true,
                    b'"' => in_string = !in_string,
                    _ if in_string => {}
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                let closes = depth == 0 && !in_string && matches!(byte, b'"' | b'}' | b']');
                if closes {
                    ended = true;
                    break;
                }
            }
            text.extend_from_slice(&buffer[..used]);
            let lines = buffer[..used].iter().filter(|&&byte| byte == b'\n').count() as u64;
            self.file.consume(used);
            self.line += lines;
            if ended {
                return Ok(text);
            }
            if text.len() as u64 > MAX_ROW_BYTES {
                return self.fail(Error::row_too_long());
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Error> {
        if self.peek()? == byte {
            self.skip_byte();
            Ok(())
        } else {
            self.fail(Error::not_json())
        }
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Result<u8, Error> {
        match self.peek_or_end()? {
            Some(byte) => Ok(byte),
            None => self.fail(Error::truncated()),
        }
    }

    fn peek_or_end(&mut self) -> Result<Option<u8>, Error> {
        loop {
            match self.buffer()?.first().copied() {
                Some(b' ' | b'\t' | b'\r') => self.file.consume(1),
                Some(b'\n') => {
                    self.file.consume(1);
                    self.line += 1;
                }
                byte => return Ok(byte),
            }
        }
    }

    fn skip_byte(&mut self) {
        self.file.consume(1);
    }

    fn buffer(&mut self) -> Result<&[u8], Error> {
        let (name, line) = (&self.name, self.line);
        self.file.fill_buf().map_err(|cause| Error::unreadable(&cause).at_line(name, line))
    }

    fn fail<T>(&self, error: Error) -> Result<T, Error> {
        Err(error.at_line(&self.name, self.line))
    }
}

/// Whether one of the links of a response is to its next page.
fn has_next_link(links: &Value) -> bool {
    let links = links.as_array().map(Vec::as_slice).unwrap_or_default();
    links.iter().any(|link| link.get("rel").is_some_and(|rel| rel == "next"))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn a_value_is_that_of_serde_json() {
        for text in [
            "null",
            "true",
            "-1",
            "18446744073709551615",
            "0.5",
            "1e300",
            "\"a\\u00e9\"",
            "[]",
            "{}",
            r#"{"a":[1,{"a":null}],"b":{"a":"x"}}"#,
            " [1, 2] ",
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(parse_strictly(text.as_bytes()).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn a_repeated_key_is_named_however_deep_it_is() {
        for text in [
            r#"{"id":"A","id":"B"}"#,
            r#"{"id":"A","x":1,"id":"A"}"#,
            r#"[{"a":{"id":1,"b":2,"\u0069d":3}}]"#,
        ] {
            let error = parse_strictly(text.as_bytes()).unwrap_err().to_string();
            assert_eq!(error, "the key \"id\" occurs twice in one object", "{text}");
        }
        for text in ["", "{", "{} {}", r#"{"a":1,}"#, "nul"] {
            let error = parse_strictly(text.as_bytes()).unwrap_err().to_string();
            assert_eq!(error, "this is not valid JSON", "{text}");
        }
    }

    fn read(text: &str, path: &'static [&'static str]) -> Result<Vec<String>, String> {
        // A buffer of three bytes, so that every token crosses the end of one.
        let file = BufReader::with_capacity(3, text.as_bytes());
        let mut items = JsonItems::new(file, "x.json".into(), path);
        let mut read = Vec::new();
        while let Some((item, line)) = items.next_item().map_err(|error| error.to_string())? {
            read.push(format!("{line} {item}"));
        }
        Ok(read)
    }

    #[test]
    fn elements_are_read_one_by_one_with_their_lines() {
        let text = r#" {"a": [1, {"items": 2}], "items":
            [ 1, "x]\"\\", {"y": [2, 3]},

            null ], "z": {"items": [9]}}
        "#;
        let expected = ["2 1", "2 \"x]\\\"\\\\\"", "2 {\"y\":[2,3]}", "4 null"];
        assert_eq!(read(text, &["items"]).unwrap(), expected);
        let text = r#"{"feed":{"id":1,"entry":[{"a":1}]},"x":1}"#;
        assert_eq!(read(text, &["feed", "entry"]).unwrap(), ["1 {\"a\":1}"]);
        for answer in ["{}", r#"{"errors":["timeout"]}"#, r#"{"items":3}"#, r#"{"a":{"items":[]}}"#]
        {
            let error = read(answer, &["items"]).unwrap_err();
            assert_eq!(error, "x.json:1: there is no list at items");
        }
        assert_eq!(read(r#"{"items":[]}"#, &["items"]).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_missing_or_added_token_is_an_error() {
        let text = r#"{"a":{"b":1},"items":[{"c":"d"},2],"e":null}"#;
        for end in 0..text.len() {
            assert!(read(&text[..end], &["items"]).is_err(), "{}", &text[..end]);
        }
        for wrong in [
            r#"{"items":[1]}}"#,
            r#"{"items":[1 2]}"#,
            r#"{"items":[1,]}"#,
            r#"{"items":[,1]}"#,
            r#"{"items":[1]"a":1}"#,
            r#"{"items" [1]}"#,
            r#"{items:[1]}"#,
            r#"{"a":tru,"items":[1]}"#,
            r#"{"items":{}}"#,
            r#"[1]"#,
            r#"{"items":[1}}"#,
            r#"{"items":[]]}"#,
            r#"{"items":[1],"items":[2]}"#,
            r#"{"items":[{"a":1,"a":2}]}"#,
        ] {
            assert!(read(wrong, &["items"]).is_err(), "{wrong}");
        }
    }
}
