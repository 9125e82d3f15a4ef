//! The chain of `accession`: MD5 of the previous hash and the next id, for one chain or for the chains of many
//! sets side by side. The crate `accession` documents the rule (`accession::chain`).
//!
//! This is a separate crate so that the development profile can optimise it alone: tests spend most of their
//! time here. It has no dependencies, does no I/O and reads no clock.

mod lanes;
mod step;
mod sweep;

pub use lanes::Lanes;
use step::{ChainLink, Message};
pub use sweep::Sweep;

/// The hash of the empty set: the MD5 of zero bytes.
pub const EMPTY: [u8; 16] = 0xd41d_8cd9_8f00_b204_e980_0998_ecf8_427e_u128.to_be_bytes();

/// A running chain: the hash of the ids pushed so far.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    link: ChainLink,
    message: Message,
}

impl Chain {
    /// The chain after the ids of the set with this hash were pushed. [`EMPTY`] resumes at the start.
    pub fn resume(hash: [u8; 16]) -> Self {
        Chain { link: step::link(hash), message: Message::default() }
    }

    /// Adds the next id.
    pub fn push(&mut self, granule_id: &str) {
        self.link = Some(step::step(self.link, granule_id, &mut self.message));
    }

    /// The hash of the ids pushed so far.
    pub fn hash(&self) -> [u8; 16] {
        step::hash(self.link)
    }
}
