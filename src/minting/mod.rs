//! The two id helpers that stand beside the register: pure, given a clock and what was issued last.
//!
//! [`unique_granule`] makes, takes apart and explains NASA Cumulus' unique granule ids; [`payment`]
//! are nine-character Base36 payment ids, and [`PaymentMinter`] issues them to the threads of one
//! process. What must last beyond a process is in the registry
//! ([`crate::Registry::lease_payment_ids`]).
//!
//! Source: ids.md, which says where the two source documents contradict themselves.

mod minter;
pub mod payment;
pub mod unique_granule;

pub use minter::{Clock, PaymentMinter};
