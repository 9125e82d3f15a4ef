//! Unique granule ids and payment ids. These modules have no clock and no storage of their own.
//!
//! [`unique_granule`] creates, splits and explains NASA Cumulus' unique granule ids. [`payment`]
//! defines the nine-character Base36 payment ids, which the registry issues
//! ([`crate::Registry::lease_payment_ids`]).
//!
//! docs/about/errata.md lists the errors in the two source documents.

pub mod payment;
pub mod unique_granule;
