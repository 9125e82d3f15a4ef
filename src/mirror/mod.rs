//! Compares a mirror with its primary, and pulls the primary's set into the mirror.
//!
//! A *primary* is the archive that a mirror follows: a registry, or a [`manifest`], the history of
//! one dataset in a form that others can write. What is reported of it is recomputed or verified.
//!
//! The guarantees: [`Status::Identical`] means equal identifiers *and* equal rows. Every difference
//! is reported, not only the first. A [`pull`] is one transaction, which is committed only if the
//! mirror's identifier is then that of the primary.

#[cfg(any(feature = "http", feature = "serve"))]
pub(crate) mod blocks;
mod compare;
mod differences;
mod error;
#[cfg(feature = "http")]
mod http;
pub mod log;
pub mod manifest;
mod plan;
mod primary;
mod pull;
mod status;

pub use compare::{Comparison, Outcome, compare};
pub use differences::{MirrorDifference, MirrorDifferences};
pub use error::{Error, Result};
#[cfg(feature = "http")]
pub use http::{Address, HttpOptions, Remote, Replica, Retry, read_replica};
pub use primary::Primary;
pub use pull::{PullOptions, PullPolicy, Pulled, Run, UnknownMirror, pull};
pub use status::{FirstDifference, MirrorStatus, Standing, Status};
