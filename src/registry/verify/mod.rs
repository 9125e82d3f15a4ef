//! Recomputes everything, to check that the registry is consistent.
//!
//! The file is checked once ([`Registry::check_file`](super::Registry::check_file)), and then each
//! dataset in one pass over its granule rows ([`Registry::verify`](super::Registry::verify));
//! [`Registry::verify_all`](super::Registry::verify_all) does both, on several threads. Nothing is repaired, and
//! nothing that can still be read is left out because something else cannot.
//!
//! One cause gives one finding, or a few. Since a lost granule row changes every later identifier
//! and every later checkpoint, a run of instances that disagree is one finding, and so is the first
//! checkpoint that disagrees, after the last one that agrees.

mod all;
mod checkpoints;
mod dataset;
mod finding;
mod history;
mod subsets;

pub use all::{Verifications, Verified};
pub(super) use dataset::prove_changes;
pub use finding::{Code, Finding, Verification, VerifyWork};
