//! Recomputes everything, to check that the registry is consistent.
//!
//! The file is checked once ([`Registry::check_file`](super::Registry::check_file)), and then each
//! dataset in one pass over its granule rows ([`Registry::verify`](super::Registry::verify));
//! [`Registry::verify_all`](super::Registry::verify_all) does both, on several threads. Nothing is repaired, and
//! nothing that can still be read is left out because something else cannot.
//!
//! One cause gives one finding, or a few. Since a lost granule row changes every later identifier
//! and every later checkpoint, a run of instances that disagree is one finding; if checkpoints
//! disagree, a second pass resumes at each of them to find the interval that differs.

mod all;
mod changes;
mod checkpoint_pages;
mod checkpoints;
mod dataset;
mod file;
mod finding;
mod history;
mod intervals;
mod jobs;
mod patterns;
mod rows;
mod subsets;

pub use all::Verified;
pub(super) use all::refuse_mismatch;
pub(super) use changes::prove_changes;
pub use finding::{Code, Finding, Verification, VerifyWork};
