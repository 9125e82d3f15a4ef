//! The elements of one array in a large JSON document, with one in memory at a time, and what the document states
//! of the search that it is the result of.

use std::sync::Arc;
use std::{fmt, io};

use serde::de::{DeserializeOwned, Error as _};
use serde_json::Value;
use struson::reader::{
    JsonReader, JsonStreamReader, JsonSyntaxError, ReaderError, ReaderSettings, SyntaxErrorKind,
    ValueType,
};
use struson::serde::DeserializerError;

use super::Reader;
use super::file::{Ration, Rationed};
use super::pages::Totals;
use super::paging_keys::{CURSORS, NEXT_PAGES, PAGE_COUNTS, TOTALS, bare};
use crate::error::Error;

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
    /// What the document states of the search.
    pub totals: Totals,
    /// Whether it refers to a scroll or a cursor, as the last page may do, too.
    has_cursor: bool,
    /// Whether no value was read of several.
    is_first: bool,
}

/// Where a key is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nesting {
    /// In an object on the path.
    Path,
    /// In an object that is in one on the path.
    Below,
    /// In an object of links.
    Links,
}

/// The reader's position in the document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Start,
    /// Before a key of an object on the path, or its end.
    InObject,
    /// Before an element of the array, or its end.
    InArray,
    /// Before a value of several, or the end of the file.
    InValues,
    End,
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
            totals: Totals::default(),
            has_cursor: false,
            is_first: true,
        }
    }

    /// The values of a file, one after the other, instead of the elements of a list.
    pub fn of_values(file: Reader, name: Arc<str>) -> Self {
        let items = JsonItems::new(file, name, &[]);
        JsonItems { position: Position::InValues, has_array: true, ..items }
    }

    /// What the document states of the search, once all of it is read.
    pub fn totals(&self) -> Totals {
        let Totals { hits, has_next_page, .. } = self.totals;
        let has_next_page = has_next_page || self.has_cursor && hits.is_none();
        Totals { has_next_page, ..self.totals }
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
                Position::InValues => {
                    // The first value exists: the format is detected from it.
                    let is_first = std::mem::take(&mut self.is_first);
                    if !is_first && !self.json.has_next()? {
                        self.position = Position::End;
                        continue;
                    }
                    self.line = self.present_line();
                    return self.json.deserialize_next().map(Some);
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
            _ => self.read_beside(&key, Nesting::Path)?,
        }
        Ok(())
    }

    /// Reads the value of a key beside the list: what it states of the search, and of an object also what is one
    /// level down.
    fn read_beside(&mut self, key: &str, nesting: Nesting) -> Result<(), DeserializerError> {
        let bare = bare(key);
        let is_total = TOTALS.contains(&bare.as_str());
        let is_next = NEXT_PAGES.contains(&bare.as_str());
        let is_link = matches!(bare.as_str(), "links" | "link");
        let value = self.json.peek()?;
        if value == ValueType::Object && (is_next || nesting == Nesting::Links && bare == "next") {
            self.totals.has_next_page = true;
            return Ok(self.json.skip_value()?);
        }
        if value == ValueType::Object && (nesting == Nesting::Path || is_total) {
            let nesting = if is_link { Nesting::Links } else { Nesting::Below };
            return self.read_object(nesting, is_total);
        }
        if value == ValueType::Array && is_link {
            return self.read_links();
        }
        if matches!(value, ValueType::Array | ValueType::Object) {
            return Ok(self.json.skip_value()?);
        }
        let is_cursor = CURSORS.contains(&bare.as_str());
        let is_page_count = PAGE_COUNTS.contains(&bare.as_str());
        if !is_total && !is_next && !is_cursor && !is_page_count && key != "start" {
            return Ok(self.json.skip_value()?);
        }
        let value: Value = self.json.deserialize_next()?;
        let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        let is_filled = match &value {
            Value::String(text) => !text.is_empty() && text != "false",
            Value::Bool(is_true) => *is_true,
            Value::Number(_) => number != Some(0),
            _ => false,
        };
        if is_total {
            // Of several, one counts only what is in the document.
            self.totals.hits = self.totals.hits.max(number);
        } else if is_page_count {
            self.totals.pages = self.totals.pages.max(number);
        } else if key == "start" {
            self.totals.start = number;
        } else if is_next {
            self.totals.has_next_page |= is_filled;
        } else {
            self.has_cursor |= is_filled;
        }
        Ok(())
    }

    /// Reads the members of an object beside the list. Of a total, the member `value` has the number.
    fn read_object(&mut self, nesting: Nesting, is_total: bool) -> Result<(), DeserializerError> {
        self.json.begin_object()?;
        while self.json.has_next()? {
            let key = self.json.next_name_owned()?;
            let key = if is_total && key == "value" { "total" } else { key.as_str() };
            self.read_beside(key, nesting)?;
        }
        Ok(self.json.end_object()?)
    }

    /// Reads a list of links, each with its relation.
    fn read_links(&mut self) -> Result<(), DeserializerError> {
        self.json.begin_array()?;
        while self.json.has_next()? {
            let link: Value = self.json.deserialize_next()?;
            let rel = link.get("rel").and_then(Value::as_str);
            self.totals.has_next_page |= rel.is_some_and(|rel| rel.eq_ignore_ascii_case("next"));
        }
        Ok(self.json.end_array()?)
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

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_total_is_read_in_every_spelling_and_place(
            key in prop::sample::select(TOTALS.to_vec()),
            separator in prop::sample::select(vec!["", "_", "-", ".", ":", "@"]),
            at in any::<prop::sample::Index>(),
            total: u32,
            form in 0..4,
            is_first: bool,
        ) {
            let at = at.index(key.len());
            let key = format!("{}{separator}{}", &key[..at], key[at..].to_uppercase());
            let member = match form {
                0 => format!(r#""{key}":{total}"#),
                1 => format!(r#""{key}":"{total}""#),
                2 => format!(r#""context":{{"{key}":{total}}}"#),
                _ => format!(r#""{key}":{{"value":{total},"relation":"eq"}}"#),
            };
            let list = r#""features":[1]"#;
            let text = match is_first {
                true => format!("{{{member},{list}}}"),
                false => format!("{{{list},{member}}}"),
            };
            let file = std::io::Cursor::new(text.into_bytes());
            let mut items = JsonItems::new(Box::new(file), "x.json".into(), &["features"]);
            while items.next_item::<Value>().unwrap().is_some() {}
            prop_assert_eq!(items.totals().hits, Some(u64::from(total)));
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
