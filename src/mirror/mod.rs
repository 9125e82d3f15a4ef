//! Compares a mirror with its primary, and pulls the primary's set into the mirror.
//!
//! A *primary* is the archive that a mirror follows: a registry, or a [`manifest`], the change log
//! of one dataset in a form that other programs can write. In both cases its identifiers are
//! recomputed or verified before any result is reported.
//!
//! The guarantees: [`Status::Identical`] means equal identifiers *and* equal rows. Every difference
//! is reported, not only the first. A [`pull`] is one transaction, which is committed only if the
//! mirror's identifier is then that of the primary.

mod compare;
mod error;
pub mod manifest;
mod primary;
mod pull;

pub use compare::{MirrorDifference, MirrorDifferences, MirrorStatus, Standing, Status, compare};
pub use error::{Error, Result};
pub use primary::Primary;
pub use pull::{PullOptions, PullPolicy, Pulled, Run, UnknownMirror, pull};
