//! Events of an import.

use accession::{Event, EventKind, Timestamp};

/// An event with a granule, but no metadata of its files.
pub fn event(at: Timestamp, kind: EventKind, granule_id: &str) -> Event {
    Event {
        at,
        kind,
        granule_id: granule_id.parse().unwrap(),
        producer_granule: None,
        content: None,
        location: None,
    }
}
