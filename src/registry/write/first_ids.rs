//! Examples of what a change ingests and deletes.

use crate::model::{EventKind, GranuleId};

/// The first granules that a change ingests and deletes, in canonical order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FirstIds {
    /// The first that are ingested.
    pub ingested: Vec<GranuleId>,
    /// The first that are deleted.
    pub deleted: Vec<GranuleId>,
}

impl FirstIds {
    /// How many of each kind are kept.
    pub const MAX: usize = 3;

    /// Keeps a granule, if it is one of the first of its kind.
    pub(super) fn add(&mut self, kind: EventKind, granule_id: &GranuleId) {
        let ids = match kind {
            EventKind::Ingested => &mut self.ingested,
            EventKind::Deleted => &mut self.deleted,
        };
        if ids.len() < FirstIds::MAX && ids.last() != Some(granule_id) {
            ids.push(granule_id.clone());
        }
    }
}
