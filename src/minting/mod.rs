//! The two id helpers. They have no clock and no storage of their own.
//!
//! [`unique_granule`] creates, splits and explains NASA Cumulus' unique granule ids. [`payment`]
//! defines the nine-character Base36 payment ids, and [`PaymentMinter`] issues them to the threads
//! of one process. Ids that must not repeat after a restart are issued by the registry
//! ([`crate::Registry::lease_payment_ids`]).
//!
//! docs/about/errata.md lists the errors in the two source documents.

mod minter;
pub mod payment;
pub mod unique_granule;

pub use minter::{Clock, PaymentMinter};
