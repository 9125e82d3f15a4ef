//! Recomputes everything, to check that the registry is consistent.
//!
//! The file is checked once ([`Registry::check_file`](super::Registry::check_file)), and then each dataset in
//! one pass over its granule rows ([`Registry::verify`](super::Registry::verify)).
//! [`Registry::verify_all`](super::Registry::verify_all) does both, on several threads. Nothing is repaired.
//! Everything that can be read is verified, even if something else cannot be read.
//!
//! A lost granule row changes every later identifier and every later checkpoint. Therefore only the first
//! finding of each kind is listed, with the number of the others.

mod all;
mod dataset;
mod finding;
mod history;
mod subsets;

pub use all::{VerificationTotals, Verifications};
pub(super) use dataset::{prove_changes, prove_dataset};
pub use finding::{DatasetVerification, Finding, FindingKind};
pub(super) use subsets::{Selecting, select_from};
