//! The rules `md5-chain`, from granule ids in canonical order to an identifier, and `sha256-list`, from the
//! canonical list of a set to its digest ([`CanonicalList`]).
//!
//! For the granules g1 < g2 < … < gN that a dataset holds, in ascending order of their UTF-8 bytes,
//! with LF = 0x0A and `hex` = 32 lower-case hexadecimal characters:
//!
//! ```text
//! h1 = hex(MD5(g1 LF))
//! hk = hex(MD5(h(k-1) LF gk LF))        k = 2 … N
//! identifier = hN
//! ```
//!
//! The identifier of the empty set is `d41d8cd98f00b204e9800998ecf8427e`, the MD5 of zero bytes.
//! Anyone can check an identifier without this software:
//!
//! ```sh
//! LC_ALL=C sort ids.txt | { h=; while IFS= read -r g; do
//!   if [ -z "$h" ]; then h=$(printf '%s\n' "$g" | md5sum)
//!   else h=$(printf '%s\n%s\n' "$h" "$g" | md5sum); fi
//!   h=${h%% *}; done; echo "$h"; }
//! ```
//!
//! [`Chain`] is the plain rule. [`Sweep`] computes all identifiers of a history in one pass. A change resumes
//! at a checkpoint, which `registry::write::rewind` selects, and is a sweep over the instance in force and the
//! new instances. `Hashing` runs a sweep while the caller reads the ids. Nothing here does I/O, reads a clock
//! or knows SQL.
//!
//! Source: a message from Curt Tilmes of 2010-10-20 (docs/reference/identifier.md, The rule).

mod hashing;
mod list;
mod sweep;

#[doc(hidden)]
pub use accession_chain::Lanes;
pub(crate) use hashing::{Hashed, Hashing, Reached};
pub use list::CanonicalList;
#[doc(hidden)]
pub use list::CanonicalLists;
#[doc(hidden)]
pub use sweep::Sweep;
pub(crate) use sweep::Timeline;

use crate::model::Identifier;

/// A running chain: the identifier of the ids pushed so far.
///
/// # Examples
///
/// ```
/// use accession::chain::Chain;
///
/// let mut chain = Chain::start();
/// chain.push("FOOL2.v2.01.bba34792-f256-4c54-81dd-9977e432c204");
/// assert_eq!(chain.identifier().to_string(), "f869b254eb75be5a2736cdb28b30eba0");
/// chain.push("FOOL2.v2.02.2fd12da6-a3e2-4e50-8140-3ac645882419");
/// assert_eq!(chain.identifier().to_string(), "de2c970d4c035550b7880403ef52be6d");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Chain(accession_chain::Chain);

impl Chain {
    /// The chain of the empty set.
    pub fn start() -> Self {
        Chain::default()
    }

    /// The chain after the ids of the set with this identifier were pushed.
    ///
    /// [`Identifier::EMPTY`] resumes at the start. (The probability that a set that is not empty has that
    /// identifier is 2^-128.)
    pub fn resume(identifier: Identifier) -> Self {
        Chain(accession_chain::Chain::resume(*identifier.as_bytes()))
    }

    /// Adds the next id.
    ///
    /// The caller must pass the ids in canonical order and each id once; the chain does not check this. The
    /// cost is one MD5 of `33 + n + 1` bytes for an id of n bytes: two compressions if n is 22 to 85.
    pub fn push(&mut self, granule_id: &str) {
        self.0.push(granule_id);
    }

    /// The identifier of the ids pushed so far.
    pub fn identifier(&self) -> Identifier {
        Identifier::from_bytes(self.0.hash())
    }
}

impl Chain {
    /// Whether a checkpoint follows this id: whether the ten low bits of the CRC-32 (IEEE) of the id's bytes
    /// are zero. This is true for one id in 1,024 on average.
    ///
    /// The id alone decides, so two archives have their checkpoints after the same ids, whatever the order in
    /// which their granules were ingested. A resumed chain hashes 1,024 ids on average before it reaches the
    /// first id that differs.
    #[inline]
    pub fn is_checkpoint(granule_id: &str) -> bool {
        crc32fast::hash(granule_id.as_bytes()) & 0x3ff == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_id_in_1024_has_a_checkpoint() {
        let checkpoints =
            (0..1_024_000).filter(|n| Chain::is_checkpoint(&format!("granule.{n}"))).count();
        assert!((900..1_100).contains(&checkpoints), "{checkpoints}");
    }

    #[test]
    fn checkpoints_are_chosen_by_crc_32_ieee() {
        // CRC-32/ISO-HDLC: the check value of "123456789" is cbf43926.
        assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
        assert!(!Chain::is_checkpoint("123456789"));
        assert!(Chain::is_checkpoint("granule.1676"), "{:08x}", crc32fast::hash(b"granule.1676"));
    }
}
