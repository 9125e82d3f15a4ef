//! JSON for people to read.

use serde_json::Value;

/// Writes a value with indentation and a line end.
pub(super) fn indented(value: &Value) -> String {
    format!("{value:#}\n")
}
