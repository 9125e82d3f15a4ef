//! Everything that changes a registry.
//!
//! [`engine`] makes all changes of a history. The operations differ in the source of their events.

mod annotate;
mod applied;
mod change;
mod cite;
mod correct;
mod engine;
mod fixity;
mod guard;
mod import;
mod imported_subsets;
mod mirror_sources;
mod odd_ids;
mod payment;
mod record;
mod replace;
mod rewind;
mod stamp;
mod target;
mod unlike;

pub use annotate::{Annotated, NewAnnotation};
pub(crate) use annotate::{LoggedAnnotation, LoggedAnnotations, PrimaryAnnotations};
pub(super) use applied::ReturnedGranules;
pub use applied::{ChangeExamples, ChangeReport, Skipped};
pub use change::Change;
pub use cite::{SubsetCitation, SubsetMembers, SubsetState};
pub use correct::{CorrectionReport, HistoryCounts};
pub use fixity::{FileCheck, NewCheck};
pub(crate) use guard::MAX_EXAMPLES;
pub use import::Import;
pub(crate) use imported_subsets::{CitedSubset, CitedSubsets};
pub(crate) use mirror_sources::{Remembered, Taken};
pub use payment::Lease;
pub use record::{Edit, SharedDoi};
pub(in crate::registry) use stamp::noticeably_ahead_of;
pub use target::{ChangeOptions, IfMissing};
