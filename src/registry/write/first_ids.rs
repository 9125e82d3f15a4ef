//! Examples of the granules that a change ingests and deletes.

use crate::model::{EventKind, GranuleId};

/// The first granules that a change ingests and deletes, in canonical order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FirstIds {
    /// The first granules that are ingested.
    pub ingested: Vec<GranuleId>,
    /// The first granules that are deleted.
    pub deleted: Vec<GranuleId>,
}

impl FirstIds {
    /// The greatest number of ids of each kind.
    pub const MAX: usize = 3;

    /// Adds a granule, if it is one of the first of its kind.
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
