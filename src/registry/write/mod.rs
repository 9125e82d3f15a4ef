//! Everything that changes a registry.
//!
//! All changes of a history are made by [`engine`]; the operations differ in where their events are
//! read.

mod annotate;
mod applied;
mod change;
mod check;
mod check_findings;
mod cite;
mod cited_subset;
mod daily;
mod engine;
mod files;
mod guard;
mod import;
mod logged_annotation;
mod logged_files;
mod payment;
mod record;
mod remember;
mod replace;
mod results;
mod resume;
mod stamp;
mod target;

pub use annotate::{Annotated, NewAnnotation};
pub use applied::{Applied, CameBack};
pub use change::Change;
pub use check::{CheckMode, FileCheck, GranulesToCheck, NewCheck};
pub use cite::Members;
pub(crate) use cited_subset::CitedSubset;
#[cfg(feature = "http")]
pub(crate) use cited_subset::CitedSubsets;
pub use engine::{MAX_EXAMPLES, Skipped};
pub use files::FileOptions;
pub(crate) use guard::Guard;
pub use import::{Import, Imported};
pub(crate) use logged_annotation::LoggedAnnotation;
#[cfg(feature = "http")]
pub(crate) use logged_annotation::LoggedAnnotations;
pub use payment::Lease;
pub use record::{DatasetEdit, Edit, SharedDoi};
pub(crate) use remember::{Remembered, RememberedFiles};
pub use replace::EarlierSet;
pub use resume::Effort;
pub use stamp::Stamp;
pub use target::ChangeOptions;
