//! The formats in which a citation is written, with the escaping that each needs.

mod bibtex;
mod cff;
mod citation_format;
mod csl_json;
mod datacite_json;
mod json_ld;
mod text;

use serde_json::Value;

pub use citation_format::{CitationFormat, RecordField, UnknownCitationFormat};

/// The value without the members that are `null`, for which the citation has nothing.
fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(members) = &mut value {
        members.retain(|_, member| !member.is_null());
    }
    value
}

/// A list; `None` if it is empty.
fn nonempty(values: Vec<Value>) -> Option<Vec<Value>> {
    (!values.is_empty()).then_some(values)
}

/// Writes a JSON value for people to read: indented, with a line end.
fn indented(value: &Value) -> String {
    format!("{value:#}\n")
}
