//! The members of a JSON object.

use serde_json::{Map, Value};

/// The members of a JSON object, in the order of their names.
#[derive(Default)]
pub(super) struct Members(Map<String, Value>);

impl Members {
    /// Adds a member, unless the citation has nothing for it.
    pub fn put(&mut self, name: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value);
        }
    }

    /// The object.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}
