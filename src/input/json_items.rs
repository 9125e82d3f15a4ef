//! The elements of one array in a large JSON document, one in memory at a time.

use std::io::BufRead;
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::{Error, Fault, MAX_ROW_BYTES};

/// The elements of the array at a path of keys, such as `feed` / `entry`.
///
/// Around the array the document is read by the grammar of RFC 8259; each element, and each value
/// beside the path, is left to `serde_json`. Nothing but whitespace may follow the document: one
/// that is cut is noticed.
pub(super) struct JsonItems<R> {
    file: R,
    name: Arc<str>,
    line: u64,
    path: &'static [&'static str],
    /// How many objects of the path are open.
    depth: usize,
    location: Position,
    /// Whether the array was there: an answer that is only an error has none.
    has_array: bool,
    /// The number at the document's key `hits`, or `numberMatched` (STAC).
    pub hits: Option<u64>,
}

/// Where in the document the reader stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Before the document.
    Start,
    /// Before the first key of an object, or behind a value.
    InObject { is_first: bool },
    /// Before the first element of the array, or behind one.
    InArray { is_first: bool },
    /// Behind the document.
    End,
}

impl<R: BufRead> JsonItems<R> {
    pub fn new(file: R, name: Arc<str>, path: &'static [&'static str]) -> Self {
        let location = Position::Start;
        JsonItems { file, name, line: 1, path, depth: 0, location, has_array: false, hits: None }
    }

    /// The next element, and the line on which it begins.
    pub fn next_item(&mut self) -> Result<Option<(Value, u64)>, Error> {
        loop {
            match self.location {
                Position::Start => {
                    self.expect(b'{')?;
                    self.depth = 1;
                    self.location = Position::InObject { is_first: true };
                }
                Position::InObject { is_first } => self.next_key(is_first)?,
                Position::InArray { is_first } => {
                    if self.peek()? == b']' {
                        self.skip_byte();
                        self.location = Position::InObject { is_first: false };
                        continue;
                    }
                    if !is_first {
                        self.expect(b',')?;
                    }
                    self.peek()?;
                    let line = self.line;
                    let text = self.value()?;
                    self.location = Position::InArray { is_first: false };
                    return Ok(Some((self.parse(&text, line)?, line)));
                }
                Position::End => {
                    if !self.has_array {
                        return self.fail(Fault::NoList { field: self.path.join(".") });
                    }
                    return match self.peek_or_end()? {
                        None => Ok(None),
                        Some(_) => self.fail(Fault::NotJson),
                    };
                }
            }
        }
    }

    /// Reads a key and goes into its value, if it lies on the path, or over it.
    fn next_key(&mut self, is_first: bool) -> Result<(), Error> {
        if self.peek()? == b'}' {
            self.skip_byte();
            self.depth -= 1;
            let is_done = self.depth == 0;
            self.location =
                if is_done { Position::End } else { Position::InObject { is_first: false } };
            return Ok(());
        }
        if !is_first {
            self.expect(b',')?;
        }
        self.peek()?;
        let line = self.line;
        let key = self.value()?;
        let Value::String(key) = self.parse(&key, line)? else { return self.fail(Fault::NotJson) };
        self.expect(b':')?;
        let opener = self.peek()?;
        let line = self.line;
        if self.path.get(self.depth - 1) == Some(&key.as_str()) {
            let is_last = self.depth == self.path.len();
            match opener {
                b'[' if is_last => {
                    self.skip_byte();
                    self.has_array = true;
                    self.location = Position::InArray { is_first: true };
                    return Ok(());
                }
                b'{' if !is_last => {
                    self.skip_byte();
                    self.depth += 1;
                    self.location = Position::InObject { is_first: true };
                    return Ok(());
                }
                _ => return self.fail(Fault::NoList { field: self.path.join(".") }),
            }
        }
        let text = self.value()?;
        if self.depth == 1 && matches!(key.as_str(), "hits" | "numberMatched") {
            self.hits = self.parse(&text, line)?.as_u64();
        } else {
            serde_json::from_slice::<IgnoredAny>(&text)
                .map_err(|_| Error::new(&self.name, line, Fault::NotJson))?;
        }
        self.location = Position::InObject { is_first: false };
        Ok(())
    }

    fn parse(&self, text: &[u8], line: u64) -> Result<Value, Error> {
        serde_json::from_slice(text).map_err(|_| Error::new(&self.name, line, Fault::NotJson))
    }

    /// The bytes of the value that begins here: to the bracket that closes it, the quote that ends
    /// it, or what cannot belong to a number or a literal.
    fn value(&mut self) -> Result<Vec<u8>, Error> {
        let mut text = Vec::new();
        let (mut depth, mut in_string, mut is_escaped) = (0_u32, false, false);
        loop {
            let buffer = self.buffer()?;
            if buffer.is_empty() {
                return self.fail(Fault::Cut);
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
                return self.fail(Fault::RowTooLong);
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Error> {
        if self.peek()? == byte {
            self.skip_byte();
            Ok(())
        } else {
            self.fail(Fault::NotJson)
        }
    }

    /// The next byte that is no whitespace.
    fn peek(&mut self) -> Result<u8, Error> {
        match self.peek_or_end()? {
            Some(byte) => Ok(byte),
            None => self.fail(Fault::Cut),
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
        self.file.fill_buf().map_err(|cause| Error::new(name, line, Fault::Unreadable { cause }))
    }

    fn fail<T>(&self, fault: Fault) -> Result<T, Error> {
        Err(Error::new(&self.name, self.line, fault))
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn read(text: &str, path: &'static [&'static str]) -> Result<Vec<String>, String> {
        // A buffer of three bytes, so that everything is cut somewhere.
        let file = BufReader::with_capacity(3, text.as_bytes());
        let mut items = JsonItems::new(file, "x.json".into(), path);
        let mut read = Vec::new();
        while let Some((item, line)) = items.next_item().map_err(|error| error.to_string())? {
            read.push(format!("{line} {item}"));
        }
        Ok(read)
    }

    #[test]
    fn elements_come_one_by_one_with_their_lines() {
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
    fn whatever_is_cut_or_added_is_noticed() {
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
        ] {
            assert!(read(wrong, &["items"]).is_err(), "{wrong}");
        }
    }
}
