//! Reads the elements of one array in a large JSON document, with one in memory at a time, and the size of the
//! search result as the document states it.

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
use super::json::stated_number;
use super::pages::Totals;
use super::paging_keys::{PagingKey, bare, is_about_pages};
use crate::error::Error;

/// The elements of the array at a path of keys, such as `feed` / `entry`. If the path is empty, the array is
/// the document itself.
///
/// Each element, and each value outside the path, may have [`MAX_ROW_BYTES`](super::MAX_ROW_BYTES). Only white
/// space may follow the document. A truncated document is an error.
pub(super) struct JsonItems {
    json: JsonStreamReader<Rationed>,
    ration: Ration,
    name: Arc<str>,
    path: &'static [&'static str],
    /// The number of open objects on the path.
    depth: usize,
    position: Position,
    /// Whether the array was found. A response that reports an error has no array.
    has_array: bool,
    /// The line on which the latest element begins.
    pub line: u64,
    /// The properties of the search result that the document has stated so far.
    pub totals: Totals,
    /// The number of granules that the search found, or that the document contains.
    count: Option<u64>,
    /// The first prefix that stands for unlisted objects, with its line.
    pub prefix: Option<(u64, String)>,
    /// Whether the document refers to a scroll or a cursor. The last page may do so, too.
    has_cursor: bool,
    /// Whether no value of a file of several values was read yet.
    is_first: bool,
}

/// The location of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nesting {
    /// In an object on the path.
    Path,
    /// In an object directly below one on the path.
    Below,
    /// In such an object, if its name says that it is about the pages.
    Pages,
    /// In an object of links.
    Links,
    /// In an object about the pages, within an object of the kinds `Below` or `Pages`, or in the object of a
    /// total.
    Deep,
}

impl Nesting {
    /// The location of the keys in a nested object of this name. `None` means that they do not concern the
    /// search.
    fn below(self, bare: &str) -> Option<Nesting> {
        match (self, is_about_pages(bare)) {
            (Nesting::Links | Nesting::Deep, _) => None,
            (_, _) if matches!(bare, "links" | "link") => Some(Nesting::Links),
            (Nesting::Path, true) => Some(Nesting::Pages),
            (Nesting::Path, false) => Some(Nesting::Below),
            (Nesting::Below | Nesting::Pages, true) => Some(Nesting::Deep),
            (Nesting::Below | Nesting::Pages, false) => None,
        }
    }
}

/// The reader's position in the document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Start,
    /// Before a key of an object on the path, or before the end of the object.
    InObject,
    /// Before an element of the array, or before the end of the array.
    InArray,
    /// Before one of several values, or before the end of the file.
    InValues,
    End,
}

impl JsonItems {
    pub fn new(file: Reader, name: Arc<str>, path: &'static [&'static str]) -> Self {
        let (file, ration) = Rationed::new(file);
        let settings = ReaderSettings {
            // Without this, the reader cannot detect content after the document.
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
            count: None,
            prefix: None,
            has_cursor: false,
            is_first: true,
        }
    }

    /// Reads the values of a file one after the other, instead of the elements of a list.
    pub fn of_values(file: Reader, name: Arc<str>) -> Self {
        let items = JsonItems::new(file, name, &[]);
        JsonItems { position: Position::InValues, has_array: true, ..items }
    }

    /// The size of the search result, as the document states it. Call it after the end of the document, with
    /// the number of elements.
    pub fn totals(&self, elements: u64) -> Totals {
        let Totals { hits, has_next_page, .. } = self.totals;
        // A number that is not greater than `elements` counts the elements of this page.
        let hits = hits.max(self.count.filter(|count| *count > elements));
        let has_next_page = has_next_page || self.has_cursor && hits.is_none();
        Totals { hits, has_next_page, ..self.totals.clone() }
    }

    /// Reads the next element.
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

    /// Continues after the end of an array or object on the path.
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

    /// Reads a member beside the list: the property of the search result that it states, or the members of an
    /// object.
    fn read_beside(&mut self, key: &str, nesting: Nesting) -> Result<(), DeserializerError> {
        let bare = bare(key);
        let states = PagingKey::of(&bare);
        let is_link = matches!(bare.as_str(), "links" | "link");
        match self.json.peek()? {
            ValueType::Object | ValueType::Array if states == Some(PagingKey::Errors) => {
                let is_stated = self.is_filled()?;
                self.totals.is_partial |= is_stated && nesting == Nesting::Path;
            }
            ValueType::Object
                if states == Some(PagingKey::NextPage)
                    || nesting == Nesting::Links && bare == "next" =>
            {
                self.totals.has_next_page = true;
                self.json.skip_value()?;
            }
            ValueType::Object if bare == "shards" => {
                let shards: Value = self.json.deserialize_next()?;
                let failed = shards.get("failed").and_then(stated_number);
                self.totals.is_partial |= failed.is_some_and(|failed| failed > 0);
            }
            ValueType::Object => {
                let is_total = states == Some(PagingKey::Total);
                match nesting.below(&bare).or(is_total.then_some(Nesting::Deep)) {
                    Some(nesting) => self.read_object(nesting, is_total)?,
                    None => self.json.skip_value()?,
                }
            }
            ValueType::Array if is_link => self.read_links()?,
            ValueType::Array if states == Some(PagingKey::NextPage) => {
                let is_stated = self.is_filled()?;
                self.totals.has_next_page |= is_stated;
            }
            ValueType::Array if key == "CommonPrefixes" => self.read_prefixes()?,
            ValueType::Array => self.json.skip_value()?,
            _ => match states {
                Some(states) => {
                    let value = self.json.deserialize_next()?;
                    self.state(states, &value, (key, &bare), nesting);
                }
                None => self.json.skip_value()?,
            },
        }
        Ok(())
    }

    /// Records the property of the search result that a scalar member states.
    fn state(
        &mut self,
        states: PagingKey,
        value: &Value,
        (key, bare): (&str, &str),
        nesting: Nesting,
    ) {
        let number = stated_number(value);
        let is_filled = match value {
            Value::String(text) => !text.is_empty() && text != "false",
            Value::Bool(is_true) => *is_true,
            Value::Number(_) => number != Some(0),
            _ => false,
        };
        let is_false = *value == Value::Bool(false);
        let totals = &mut self.totals;
        match states {
            PagingKey::Total if number.is_none() && nesting != Nesting::Links => {
                totals.add_unread(key, value);
            }
            // If there are several totals, one of them may count only the document.
            PagingKey::Total => totals.hits = totals.hits.max(number),
            // In other objects, the count is of something else.
            PagingKey::Count if nesting != Nesting::Below => self.count = self.count.max(number),
            PagingKey::Count => {}
            PagingKey::Returned => totals.returned = totals.returned.max(number),
            PagingKey::PageCount => totals.pages = totals.pages.max(number),
            PagingKey::NextPage => totals.has_next_page |= is_filled,
            PagingKey::LastPage if bare == "lastpage" && number.is_some() => {
                totals.pages = totals.pages.max(number);
            }
            PagingKey::LastPage => totals.has_next_page |= is_false,
            PagingKey::Cursor => self.has_cursor |= is_filled,
            PagingKey::Start => totals.start = number,
            PagingKey::Partial => totals.is_partial |= is_filled,
            PagingKey::Complete => totals.is_partial |= is_false,
            PagingKey::Errors => totals.is_partial |= is_filled && nesting == Nesting::Path,
        }
    }

    /// Reads an array or an object, and returns whether it is not empty.
    fn is_filled(&mut self) -> Result<bool, ReaderError> {
        let is_array = self.json.peek()? == ValueType::Array;
        if is_array {
            self.json.begin_array()?;
        } else {
            self.json.begin_object()?;
        }
        let is_filled = self.json.has_next()?;
        while self.json.has_next()? {
            if !is_array {
                self.json.skip_name()?;
            }
            self.json.skip_value()?;
        }
        if is_array {
            self.json.end_array()?;
        } else {
            self.json.end_object()?;
        }
        Ok(is_filled)
    }

    /// Reads the prefixes that stand for unlisted objects.
    fn read_prefixes(&mut self) -> Result<(), DeserializerError> {
        self.json.begin_array()?;
        while self.json.has_next()? {
            let line = self.present_line();
            let prefix: Value = self.json.deserialize_next()?;
            let text = prefix.get("Prefix").and_then(Value::as_str).unwrap_or_default();
            self.prefix.get_or_insert_with(|| (line, text.to_owned()));
        }
        Ok(self.json.end_array()?)
    }

    /// Reads the members of an object beside the list. In a total, the member `value` is the number.
    fn read_object(&mut self, nesting: Nesting, is_total: bool) -> Result<(), DeserializerError> {
        self.json.begin_object()?;
        while self.json.has_next()? {
            let key = self.json.next_name_owned()?;
            let key = if is_total && key == "value" { "total" } else { key.as_str() };
            self.read_beside(key, nesting)?;
        }
        Ok(self.json.end_object()?)
    }

    /// Reads a list of links. A link with the relation `next` means that there is a next page.
    fn read_links(&mut self) -> Result<(), DeserializerError> {
        // A relation is a word, or an address that ends with the word.
        let is_next = |rel: &str| {
            let mut words = rel.split_ascii_whitespace();
            words.any(|word| {
                word.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case("next"))
            })
        };
        self.json.begin_array()?;
        while self.json.has_next()? {
            let link: Value = self.json.deserialize_next()?;
            self.totals.has_next_page |= match link.get("rel") {
                Some(Value::String(rel)) => is_next(rel),
                Some(Value::Array(rels)) => rels.iter().filter_map(Value::as_str).any(is_next),
                _ => false,
            };
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
            // Decompression returns other kinds. This kind means invalid UTF-8.
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

    use super::super::paging_keys::TOTALS;
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
            prop_assert_eq!(items.totals(1).hits, Some(u64::from(total)));
        }
    }

    fn read(text: &str, path: &'static [&'static str]) -> Result<Vec<String>, String> {
        // With a buffer of three bytes, every token crosses the end of a buffer.
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
