//! Everything that reads a registry.
//!
//! A [`Snapshot`] is one consistent state, on which every question is asked. It is short-lived, and
//! nobody waits for a terminal or a socket while one is open. What is long never changes once it is
//! committed: the granules of an instance, and a history up to a known change. Such a list is an
//! iterator over pages ([`Granules`], [`History`], [`Differences`]), each a short read of its own,
//! which needs no snapshot, can be stopped at any time, and fails with `replaced` if the registry is
//! no longer the same one.

mod cite;
mod compare;
mod compare_listing;
mod datasets;
mod export;
mod find;
mod granules;
mod history;
mod merge;
mod resolve;
mod select;
mod subsets;
mod view;

pub use cite::Cited;
pub(super) use cite::cited;
pub use compare::{Counts, Difference, Differences};
pub use compare_listing::ListingDifferences;
pub use datasets::{DatasetPage, Listed, RecordVersion};
pub use export::{Export, Exported};
pub use find::{FoundPeriod, NotedPeriod};
pub use granules::Granules;
pub(super) use granules::{GranulePages, GranulesWithin, identify};
pub use history::History;
pub(crate) use merge::{HasGranuleId, Merge, Side};
pub use resolve::{Agreement, Resolution, Resolved};
pub(super) use select::select;
pub use select::{Selected, Selection};
pub use view::Snapshot;
pub(super) use view::dataset_of;
