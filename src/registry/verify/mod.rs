//! Recomputes everything, to check that the registry is consistent.
//!
//! The file is checked once ([`Registry::check_file`](super::Registry::check_file)), and then each
//! dataset in one pass over its granule rows ([`Registry::verify`](super::Registry::verify));
//! [`Registry::verify_all`](super::Registry::verify_all) does both, on several threads. Nothing is repaired,
//! and nothing that can still be read is left out because something else cannot.
//!
//! Since a lost granule row changes every later identifier and every later checkpoint, of each kind the
//! first finding is listed, with the number of the others.

mod all;
mod dataset;
mod finding;
mod history;
mod subsets;

pub use all::{VerificationTotals, Verifications};
pub(super) use dataset::{prove_changes, prove_dataset};
pub use finding::{DatasetVerification, Finding, FindingKind};
pub(super) use subsets::{Selecting, select_from};
