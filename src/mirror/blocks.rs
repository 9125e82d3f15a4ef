//! Sets cut into blocks: two sets can be compared without sending their ids.
//!
//! A set is cut after each id after which a checkpoint follows ([`is_checkpoint`](crate::chain::is_checkpoint)): one in 1,024 on
//! average. The ids alone decide, so a granule that only one of two sets has changes one block of the
//! other. A block list is JSON Lines, a line for each block in canonical order:
//!
//! ```json
//! {"first":"granule.0001","granules":1015,"identifier":"f869b254eb75be5a2736cdb28b30eba0"}
//! ```
//!
//! `first` is the first id of the block, `granules` their number, and `identifier` the identifier of
//! these ids on their own (docs/reference/identifier.md). A block ends where the next one begins. A
//! reader must not rely on where a set is cut.

use serde::{Deserialize, Serialize};

#[cfg(feature = "serve")]
use crate::chain::{Chain, is_checkpoint};
#[cfg(feature = "http")]
use crate::model::GranuleId;
use crate::model::Identifier;

/// The greatest number of granules in a block. A set in which no id ends a block for so long is
/// not cut where its ids say, but here. With ids that were not chosen for it, that has a
/// probability of 2^-92.
pub(crate) const MAX_BLOCK_GRANULES: u64 = 1 << 16;

/// The greatest length of a line, in bytes: an id may have 1,024, each escaped as six.
#[cfg(feature = "http")]
pub(super) const MAX_BLOCK_LINE_BYTES: u64 = 8 * 1_024;

/// Consecutive ids of a set in canonical order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// The first of them.
    pub first: String,
    /// How many there are.
    pub granules: u64,
    /// The identifier of these ids on their own.
    pub identifier: Identifier,
}

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    first: std::borrow::Cow<'a, str>,
    granules: u64,
    identifier: std::borrow::Cow<'a, str>,
}

impl Block {
    /// The line, with its line end.
    ///
    /// # Errors
    ///
    /// The id cannot be written as JSON.
    #[cfg(feature = "serve")]
    pub fn to_line(&self) -> serde_json::Result<String> {
        let mut line = serde_json::to_string(&Line {
            first: self.first.as_str().into(),
            granules: self.granules,
            identifier: self.identifier.to_string().into(),
        })?;
        line.push('\n');
        Ok(line)
    }

    /// Reads a line, with its line end.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    #[cfg(feature = "http")]
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let wrong = |_| "this line is not a block".to_owned();
        let read: Line<'_> = serde_json::from_slice(line).map_err(wrong)?;
        if !(1..=MAX_BLOCK_GRANULES).contains(&read.granules) {
            return Err(format!("a block has 1 to {MAX_BLOCK_GRANULES} granules"));
        }
        GranuleId::check(&read.first).map_err(|error| error.to_string())?;
        Ok(Block {
            first: read.first.into_owned(),
            granules: read.granules,
            identifier: read
                .identifier
                .parse()
                .map_err(|_| "its identifier is not one".to_owned())?,
        })
    }
}

/// Cuts a set into blocks.
#[cfg(feature = "serve")]
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    first: Option<String>,
    granules: u64,
    chain: Chain,
}

#[cfg(feature = "serve")]
impl Blocks {
    /// Adds the next id in canonical order. Returns the block that it ends. `None` means that its
    /// block goes on.
    pub fn add(&mut self, granule_id: &str) -> Option<Block> {
        self.first.get_or_insert_with(|| granule_id.to_owned());
        self.granules += 1;
        self.chain.push(granule_id);
        let is_end = is_checkpoint(granule_id) || self.granules == MAX_BLOCK_GRANULES;
        if is_end { self.end() } else { None }
    }

    /// Ends the set. Returns its last block. `None` means that the last id ended it.
    pub fn end(&mut self) -> Option<Block> {
        let Blocks { first, granules, chain } = std::mem::take(self);
        let identifier = chain.identifier();
        first.map(|first| Block { first, granules, identifier })
    }
}

#[cfg(all(test, feature = "serve"))]
mod tests {
    use super::*;

    fn blocks(ids: &[String]) -> Vec<Block> {
        let mut cut = Blocks::default();
        let mut blocks: Vec<Block> = ids.iter().filter_map(|id| cut.add(id)).collect();
        blocks.extend(cut.end());
        blocks
    }

    #[test]
    fn one_more_id_changes_one_block_of_many() {
        let ids: Vec<String> = (0..20_000).map(|n| format!("granule.{n:06}")).collect();
        let before = blocks(&ids);
        assert!((10..40).contains(&before.len()), "{}", before.len());
        assert_eq!(before.iter().map(|block| block.granules).sum::<u64>(), 20_000);
        let mut more = ids.clone();
        more.insert(9_000, "granule.008999.b".to_owned());
        let after = blocks(&more);
        let same = after.iter().filter(|block| before.contains(block)).count();
        assert!(same + 2 >= before.len(), "{same} of {}", before.len());
    }

    #[cfg(feature = "http")]
    #[test]
    fn a_line_is_read_as_it_was_written() {
        for first in ["a", "\"quoted\"", "ä\u{1f600}", "back\\slash"] {
            let block = Block {
                first: first.to_owned(),
                granules: 3,
                identifier: "f869b254eb75be5a2736cdb28b30eba0".parse().unwrap(),
            };
            let line = block.to_line().unwrap();
            assert!(line.ends_with("}\n") && line.starts_with("{\"first\":"));
            assert_eq!(Block::parse(line.as_bytes()), Ok(block));
        }
        for wrong in [
            "",
            "{}\n",
            "{\"first\":\"a\",\"granules\":0,\"identifier\":\"f869b254eb75be5a2736cdb28b30eba0\"}\n",
        ] {
            Block::parse(wrong.as_bytes()).unwrap_err();
        }
    }
}
