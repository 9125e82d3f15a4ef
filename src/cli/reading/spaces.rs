//! Granule ids that begin or end with a space.
//!
//! The space is part of the id, but it is probably a mistake.

use accession::{GranuleId, SourceLocation, quoted};

use crate::cli::session::Session;
use crate::cli::warning::WarningKind;

/// Counts the ids with a space at an end, and remembers the first of them.
#[derive(Default)]
pub struct EdgeSpaces {
    first: Option<(GranuleId, Option<SourceLocation>)>,
    more: u64,
}

impl EdgeSpaces {
    /// Adds an id and its source location.
    pub fn add(&mut self, granule_id: &GranuleId, location: Option<&SourceLocation>) {
        if !granule_id.has_edge_space() {
            return;
        }
        if self.first.is_some() {
            self.more += 1;
        } else {
            self.first = Some((granule_id.clone(), location.cloned()));
        }
    }

    /// Prints one warning, if there is such an id.
    pub fn warn_if_any(&self, session: &Session) {
        let Some((granule_id, location)) = &self.first else { return };
        let location =
            location.as_ref().map(|location| format!("{location}: ")).unwrap_or_default();
        let more = match self.more {
            0 => String::new(),
            1 => "; so does 1 more id".to_owned(),
            more => format!("; so do {more} more ids"),
        };
        session.warn(
            WarningKind::EdgeSpace,
            &format!(
                "{location}{} begins or ends with a space, which is part of the id{more}",
                quoted(granule_id.as_str())
            ),
        );
    }
}
