//! Options whose empty value removes what is kept.

use std::str::FromStr;

use accession::Edit;

/// The value of an option: a new value, or `None` to remove the one that is kept.
#[derive(Debug, Clone)]
pub struct ValueOrRemoval<T>(pub Option<T>);

/// Reads a value. An empty one removes.
pub fn value_or_removal<T: FromStr>(text: &str) -> Result<ValueOrRemoval<T>, T::Err> {
    match text.is_empty() {
        true => Ok(ValueOrRemoval(None)),
        false => text.parse().map(|value| ValueOrRemoval(Some(value))),
    }
}

/// What the option does. One that is absent changes nothing.
pub fn edit_of<T>(value: Option<ValueOrRemoval<T>>) -> Edit<T> {
    match value {
        None => Edit::Keep,
        Some(ValueOrRemoval(None)) => Edit::Clear,
        Some(ValueOrRemoval(Some(value))) => Edit::Set(value),
    }
}
