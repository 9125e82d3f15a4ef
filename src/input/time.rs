//! Times as other systems write them.

use super::Fault;
use crate::model::{Moment, Timestamp};

/// The instant that a text means: RFC 3339, or another spelling with an offset, or a day, which as
/// the time of a change means its 00:00:00Z (identifier.md, Time).
pub(super) fn read(text: &str) -> Result<Timestamp, Fault> {
    let by_rule = text.parse::<Moment>().map(Moment::of_change);
    by_rule
        .or_else(|_| Timestamp::from_other_spelling(text))
        .map_err(|cause| Fault::Time { text: text.to_owned(), cause })
}
