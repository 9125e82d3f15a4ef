//! Selects the rows of a table to read, and watches columns that may mark rows that should not be read.

use csv::ByteRecord;

use super::columns::index_of;
use super::format::RowFilter;
use super::watched::{Place, Watched};
use crate::model::SourceLocation;

/// The selected rows of a table, and the columns that may mark rows that should not be read.
#[derive(Default)]
pub(super) struct Selection {
    /// The columns of `--only`, with their names.
    pub only: Vec<(usize, String)>,
    pub filters: Vec<RowFilter>,
    /// The column with the status of a granule in an inventory of Cumulus.
    pub status: Option<usize>,
    /// The unread columns whose names are like that of a status or a collection.
    pub watched: Vec<(usize, Watched)>,
}

impl Selection {
    /// Watches the unread columns whose names are like that of a status or a collection. In an inventory of
    /// Cumulus, the status is read instead.
    pub(super) fn watch(
        &mut self,
        header: &ByteRecord,
        read: &[usize],
        with_dates: bool,
        location: &SourceLocation,
    ) {
        let has = |name: &str| index_of(header, name).is_some();
        let is_cumulus = (has("granuleUr") || has("granuleId"))
            && ["collectionId", "createdAt", "status", "provider"].into_iter().all(has);
        let status = index_of(header, "status").filter(|status| !read.contains(status));
        self.status = status.filter(|_| is_cumulus);
        for (index, name) in header.iter().enumerate() {
            if read.contains(&index) || self.status == Some(index) {
                continue;
            }
            let name = String::from_utf8_lossy(name);
            let watched = Watched::of_name(&name, Place::Column, with_dates, location);
            self.watched.extend(watched.map(|watched| (index, watched)));
        }
    }
}
