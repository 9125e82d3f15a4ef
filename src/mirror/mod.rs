//! Mirrors: one word, the granules to mend, and the proof.
//!
//! A *primary* is the archive that a mirror follows: a registry file, or a [`manifest`], the change
//! log of one dataset in a form that others can write. Either way its identifiers are recomputed or
//! verified before anything is said of them.
//!
//! The laws: [`Status::Identical`] means equal identifiers *and* equal rows. Every difference is
//! told, not only the first. What [`pull`] brings is committed in one transaction, and only if the
//! mirror's identifier is then the primary's.

mod compare;
pub mod manifest;
mod primary;
mod pull;

pub use compare::{MirrorComparison, Standing, Status, compare};
pub use primary::Primary;
pub use pull::{PullOptions, Pulled, pull};
