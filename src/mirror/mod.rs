//! Mirrors: one word, the granules to mend, and the proof.
//!
//! A *primary* is the archive that a mirror follows: a registry, or a [`manifest`], the change log
//! of one dataset in a form that others can write. Either way its identifiers are recomputed or
//! verified before anything is reported of them.
//!
//! The properties: [`Status::Identical`] means equal identifiers *and* equal rows. Every difference
//! is reported, not only the first. What [`pull`] changes is committed in one transaction, and only
//! if the mirror's identifier is then the primary's.

mod compare;
mod error;
pub mod manifest;
mod primary;
mod pull;

pub use compare::{MirrorDifference, MirrorDifferences, MirrorStatus, Standing, Status, compare};
pub use error::{Error, Result};
pub use primary::Primary;
pub use pull::{PullOptions, PullPolicy, Pulled, Run, UnknownMirror, pull};
