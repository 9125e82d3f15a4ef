//! Everything that changes a registry.
//!
//! A dataset's history grows in one way only, in [`engine`]; what differs is where the events come
//! from.

mod change;
mod cite;
mod dataset;
mod engine;
mod import;
mod lookup;
mod payment;
pub(super) mod refusal;
mod staging;
mod stamp;

pub use change::{Applied, Change, Entry};
pub use cite::{Named, Wanted};
pub use dataset::{DatasetEdit, Edit};
pub use engine::{Expected, Skipped, Work};
pub use import::{Import, Imported};
pub use payment::Lease;
pub use stamp::Stamp;
