//! Times in the spellings of other systems.

use super::error::InputErrorKind;
use crate::model::{Moment, Timestamp};

/// Reads a time of RFC 3339 or of another spelling with an offset. A day means its 00:00:00Z, as
/// the time of a change does (identifier.md, Time).
pub(super) fn parse(text: &str) -> Result<Timestamp, InputErrorKind> {
    text.parse::<Moment>()
        .map(Moment::of_change)
        .or_else(|_| Timestamp::from_other_spelling(text))
        .map_err(|cause| InputErrorKind::Time { text: text.to_owned(), cause })
}
