//! Which rows of a table are read, and which columns may say that others should not be.

use csv::ByteRecord;

use super::columns::index_of;
use super::format::RowFilter;
use super::watched::{Place, Watched};
use crate::model::SourceLocation;

/// Which rows are read, and the columns that may say that others should not be.
#[derive(Default)]
pub(super) struct Selection {
    /// The columns of `--only`, with their names.
    pub only: Vec<(usize, String)>,
    pub filters: Vec<RowFilter>,
    /// The column with the status of a granule in an inventory of Cumulus.
    pub status: Option<usize>,
    /// The columns that are not read, and are named like a status or a collection.
    pub watched: Vec<(usize, Watched)>,
}

impl Selection {
    /// Watches the columns that are not read and are named like a status or a collection. In an inventory of
    /// Cumulus, the status is read.
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
