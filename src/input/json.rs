//! JSON without repeated keys, and the elements of one array in a large document, with one in memory at
//! a time.
//!
//! RFC 8259 § 4 does not define the meaning of an object with a repeated key, and `serde_json` takes the
//! last value. An id must not depend on that, so such an object is an error here: of a line of JSON
//! wherever the key is, of an element of a document if it is a field that is read.

use std::cell::RefCell;
use std::sync::Arc;
use std::{fmt, io};

use serde::Deserialize;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};
use struson::reader::{
    JsonReader, JsonStreamReader, JsonSyntaxError, ReaderError, ReaderSettings, SyntaxErrorKind,
    ValueType,
};
use struson::serde::DeserializerError;

use super::Reader;
use super::file::{Ration, Rationed};
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

/// The elements of the array at a path of keys, such as `feed` / `entry`; with no key, of the document
/// itself.
///
/// Each element, and each value that is not on the path, may have
/// [`MAX_ROW_BYTES`](super::MAX_ROW_BYTES). Only white space may follow the document, so one that is
/// truncated is noticed.
pub(super) struct JsonItems {
    json: JsonStreamReader<Rationed>,
    ration: Ration,
    name: Arc<str>,
    path: &'static [&'static str],
    /// The number of objects on the path that are open.
    depth: usize,
    position: Position,
    /// Whether the array was found: a response that reports an error has none.
    has_array: bool,
    /// The line on which the element begins that was read last.
    pub line: u64,
    /// The number at the key `hits`, `numberMatched` (STAC) or `numFound` (Solr) of an object on the
    /// path. `None` if there is none.
    pub hits: Option<u64>,
    /// The number at the key `start` (Solr) of such an object: how many granules the pages before have.
    pub start: Option<u64>,
    /// Whether one of the document's `links` (STAC) is to the next page.
    pub has_next_page: bool,
}

/// The reader's position in the document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Start,
    /// Before a key of an object on the path, or its end.
    InObject,
    /// Before an element of the array, or its end.
    InArray,
    End,
}

#[derive(Deserialize)]
struct Link {
    rel: Option<String>,
}

impl JsonItems {
    pub fn new(file: Reader, name: Arc<str>, path: &'static [&'static str]) -> Self {
        let (file, ration) = Rationed::new(file);
        let settings = ReaderSettings {
            // Else nothing says whether anything follows the document.
            allow_multiple_top_level: true,
            track_path: false,
            restrict_number_values: false,
            ..ReaderSettings::default()
        };
        JsonItems {
            json: JsonStreamReader::new_custom(file, settings),
            ration,
            name,
            path,
            depth: 0,
            position: Position::Start,
            has_array: false,
            line: 1,
            hits: None,
            start: None,
            has_next_page: false,
        }
    }

    /// The next element.
    pub fn next_item<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Error> {
        match self.element() {
            Ok(None) if !self.has_array => {
                Err(Error::no_list(self.path).at_line(&self.name, self.present_line()))
            }
            element => element.map_err(|cause| self.refused(cause)),
        }
    }

    fn element<T: DeserializeOwned>(&mut self) -> Result<Option<T>, DeserializerError> {
        loop {
            self.ration.renew();
            match self.position {
                Position::Start => self.enter()?,
                Position::InObject if self.json.has_next()? => self.member()?,
                Position::InObject => {
                    self.json.end_object()?;
                    self.leave()?;
                }
                Position::InArray if self.json.has_next()? => {
                    self.line = self.present_line();
                    return self.json.deserialize_next().map(Some);
                }
                Position::InArray => {
                    self.json.end_array()?;
                    self.leave()?;
                }
                Position::End => return Ok(None),
            }
        }
    }

    /// Enters a value on the path.
    fn enter(&mut self) -> Result<(), ReaderError> {
        if self.depth == self.path.len() {
            self.json.begin_array()?;
            (self.position, self.has_array) = (Position::InArray, true);
        } else {
            self.json.begin_object()?;
            self.depth += 1;
            self.position = Position::InObject;
        }
        Ok(())
    }

    /// Goes on after the end of an array or object on the path.
    fn leave(&mut self) -> Result<(), DeserializerError> {
        if self.position == Position::InObject {
            self.depth -= 1;
        }
        if self.depth > 0 {
            self.position = Position::InObject;
            return Ok(());
        }
        self.position = Position::End;
        if self.json.has_next()? {
            return Err(DeserializerError::custom("more follows the document"));
        }
        Ok(())
    }

    /// Reads a key, and then enters its value if it is on the path, or skips it.
    fn member(&mut self) -> Result<(), DeserializerError> {
        let key = self.json.next_name_owned()?;
        let is_on_path = self.path.get(self.depth - 1) == Some(&key.as_str());
        let is_array = self.depth == self.path.len();
        let opener = if is_array { ValueType::Array } else { ValueType::Object };
        match key.as_str() {
            _ if is_on_path && self.has_array => {
                return Err(DeserializerError::custom(format_args!(
                    "the key {key:?} occurs twice"
                )));
            }
            _ if is_on_path && self.json.peek()? == opener => self.enter()?,
            "hits" | "numberMatched" | "numFound" => self.hits = self.json.deserialize_next()?,
            "start" => self.start = self.json.deserialize_next()?,
            "links" => {
                let links: Option<Vec<Link>> = self.json.deserialize_next()?;
                let is_next = |link: Link| link.rel.is_some_and(|rel| rel == "next");
                self.has_next_page = links.into_iter().flatten().any(is_next);
            }
            _ => self.json.skip_value()?,
        }
        Ok(())
    }

    fn present_line(&self) -> u64 {
        self.json.current_position(false).line_pos.map_or(1, |position| position.line + 1)
    }

    fn refused(&self, cause: DeserializerError) -> Error {
        let DeserializerError::ReaderError(cause) = cause else {
            return not_of_format(&cause).at_line(&self.name, self.line);
        };
        let error = match cause {
            ReaderError::SyntaxError(JsonSyntaxError {
                kind: SyntaxErrorKind::IncompleteDocument,
                ..
            }) => Error::truncated(),
            // Decompression returns other kinds: these are bytes that are not UTF-8.
            ReaderError::IoError { error, .. } if error.kind() != io::ErrorKind::InvalidData => {
                Error::unreadable(&error)
            }
            ReaderError::UnexpectedValueType { expected, actual, .. } => {
                not_of_format(&format_args!("expected {expected:?}, found {actual:?}"))
            }
            _ => Error::not_json(),
        };
        error.at_line(&self.name, self.present_line())
    }
}

fn not_of_format(cause: &dyn fmt::Display) -> Error {
    Error::input(format!("the JSON is not as the format has it: {cause}"))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn a_value_is_that_of_serde_json() {
        for text in [
            r#"[null, true, -1, 18446744073709551615, 0.5, 1e300, "a\u00e9", [], {}]"#,
            r#" {"a":[1,{"a":null}],"b":{"a":"x"}} "#,
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
        let file = BufReader::with_capacity(3, std::io::Cursor::new(text.as_bytes().to_vec()));
        let mut items = JsonItems::new(Box::new(file), "x.json".into(), path);
        let mut read = Vec::new();
        while let Some(item) = items.next_item::<Value>().map_err(|error| error.to_string())? {
            read.push(format!("{} {item}", items.line));
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
            r#"{"items":[1]} {"items":[2]}"#,
            r#"{"items":[1,]}"#,
            r#"{"a":tru,"items":[1]}"#,
            r#"{"items":{}}"#,
            r#"[1]"#,
            r#"{"items":[1],"items":[2]}"#,
        ] {
            assert!(read(wrong, &["items"]).is_err(), "{wrong}");
        }
    }
}
