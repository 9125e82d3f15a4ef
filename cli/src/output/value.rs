//! Text that is made from the JSON values that `--json` prints.

use std::io;

use accession::text::plural;
use serde::Serialize;
use serde_json::Value;

use super::stdout::Output;

/// A function that writes a value as text. It has no state, so the text contains nothing that is not in the
/// JSON.
pub type AsText = fn(&mut Output, &Value) -> io::Result<()>;

/// The value that `--json` prints.
pub fn to_value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("the keys of all serialized maps are strings")
}

/// A change of a published site, as `--json` prints it. A site does not publish when a change was recorded, and
/// by whom.
pub fn without_recording(change: &impl Serialize) -> Value {
    let mut value = to_value(change);
    if let Value::Object(fields) = &mut value {
        fields.remove("recorded");
        fields.remove("recorded_by");
    }
    value
}

/// A value as text. A list or an object becomes the text of its values.
pub fn in_words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(is_so) => if *is_so { "yes" } else { "no" }.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(in_words).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => fields.values().map(in_words).collect::<Vec<_>>().join(" "),
    }
}

/// A number of things: `1 granule`, `2 granules`.
pub fn counted(number: &Value, noun: &str) -> String {
    plural(number.as_u64().unwrap_or(0), noun)
}
