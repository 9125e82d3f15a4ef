//! Everything that reads a registry.
//!
//! A [`Snapshot`] is one consistent state, on which all queries are made. It is short-lived: the caller must
//! not wait for a terminal or a socket while one is open. Long lists are the granules of an instance, and the
//! history up to a known change. They never change once they are committed, and are iterators over pages
//! ([`Granules`], [`Differences`]). Each page is read in a short transaction of its own, so an iterator needs
//! no snapshot and can be stopped at any time. It fails with `replaced` if another file has replaced the
//! registry. An iterator over a whole set ends with an error of kind `damaged` if its granules do not have the
//! identifier of the set.

mod cursor;
mod datasets;
mod differences;
mod export;
mod granules;
mod held_contents;
mod history;
mod periods;
mod scanned;
mod select;
mod side_by_side;
mod spelling;
mod two_sides;
mod view;

pub(super) use cursor::{Cursor, Position, Reads, SetCursor, SetEntries};
pub use differences::{
    ContentCounts, ContentDifference, Difference, DifferenceCounts, Differences,
};
pub(super) use differences::{Only, Walk};
pub use export::Exported;
pub use granules::Granules;
pub use granules::{FileList, FileTotals, Granule};
pub(crate) use held_contents::CitedContents;
pub use held_contents::HeldContents;
pub use history::HistoryOptions;
pub(super) use periods::cited;
pub use periods::{Agreement, CitationFacts, DigestPeriod, Period, Periods};
pub(super) use select::select;
pub use select::{Selected, Selection};
pub use side_by_side::{Presence, SideBySide};
pub use two_sides::TwoSides;
pub use view::Snapshot;
pub(super) use view::{dataset_of, instances};
