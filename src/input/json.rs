//! JSON without repeated keys.
//!
//! RFC 8259 § 4 does not define the meaning of an object with a repeated key, and `serde_json` uses the last
//! value. An id must not depend on that, so such an object is an error here. In a line of JSON, any repeated
//! key is an error; in an element of a document, only that of a field that is read.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::error::Error;

/// Parses one JSON value.
///
/// # Errors
///
/// - `{"a":1,"a":2}`: a key occurs twice
/// - `{"a":`, `{} {}`: invalid JSON
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

/// Converts a number to a whole number, if that is certainly the written one: `5`, `5.0` and `5e0`, but not
/// `0.5`. From 2⁵³, a number with a decimal point or an exponent may have been rounded, and is not converted.
pub(super) fn whole_number(number: &Number) -> Option<u64> {
    const ROUNDED: f64 = 9_007_199_254_740_992.0;
    let of_float = || {
        let float = number.as_f64()?;
        (float.fract() == 0.0 && (0.0..ROUNDED).contains(&float)).then_some(float as u64)
    };
    number.as_u64().or_else(of_float)
}

/// Converts a value to a [`whole_number`]. The value may be a number or a string.
pub(super) fn stated_number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => whole_number(number),
        Value::String(text) => {
            let text = text.trim();
            text.parse().ok().or_else(|| whole_number(&text.parse().ok()?))
        }
        _ => None,
    }
}

/// Builds a value, and stores the first key that occurs twice in an object.
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

#[cfg(test)]
mod tests {
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
}
