//! Times in the spellings of other systems.

use super::error::InputErrorKind;
use crate::model::{Moment, Timestamp};

/// Reads a day, or a time of RFC 3339 or of another spelling with an offset.
pub(super) fn parse(text: &str) -> Result<Moment, InputErrorKind> {
    text.parse::<Moment>()
        .or_else(|_| Timestamp::from_other_spelling(text).map(Moment::Instant))
        .map_err(|cause| InputErrorKind::Time { text: text.to_owned(), cause })
}
