//! Everything that changes a registry.
//!
//! All changes of a history are made by [`engine`]; the operations differ in where their events are
//! read.

mod addition;
mod change;
mod cite;
mod cited_subset;
mod daily;
mod edit;
mod engine;
mod first_ids;
mod import;
mod lookup;
mod notes;
mod payment;
mod record;
mod remember;
mod replace;
mod resume;
mod revert;
mod single;
mod stamp;
mod sync;

pub use addition::Expected;
pub use change::Change;
pub use cite::{Kept, Named, Wanted};
pub use cited_subset::CitedSubset;
#[cfg(feature = "http")]
pub(crate) use cited_subset::CitedSubsets;
pub use edit::{DatasetEdit, Edit};
pub use engine::Skipped;
pub use first_ids::FirstIds;
pub use import::{Every, Import, Imported};
pub use payment::Lease;
pub(crate) use remember::Remembered;
pub use replace::MaxDelete;
pub use resume::Work;
pub use revert::Revert;
pub use single::Applied;
pub use stamp::Stamp;
pub use sync::Sync;
