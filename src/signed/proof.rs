//! A proof that a statement is in a log: `tlog-proof`.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::checkpoint::{LogCheckpoint, hash, number};
use super::note::Note;
use super::statement::SetStatement;
use super::tree::TreeHash;
use crate::model::ParseError;

/// A statement, its position in the tree, and the signed checkpoint of that tree.
///
/// # Syntax
///
/// ```text
/// c2sp.org/tlog-proof@v1
/// extra the statement in base64
/// index 0
/// the hashes of the path in base64, one a line, from the sibling of the leaf
///
/// the checkpoint with its signatures
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementProof {
    /// The statement that is proved.
    pub statement: SetStatement,
    /// The number of the statement in the log, from 0.
    pub index: u64,
    /// The hashes from the sibling of the leaf to the child of the root.
    pub path: Vec<TreeHash>,
    /// The checkpoint, whose signatures were not verified.
    pub note: Note,
}

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";

impl StatementProof {
    /// The greatest length of a proof in bytes: a note, the longest statement in base64, the longest path.
    pub const MAX_BYTES: usize = Note::MAX_BYTES + 2 * SetStatement::MAX_BYTES;
}

impl FromStr for StatementProof {
    type Err = ParseError;

    /// # Errors
    ///
    /// A line is missing or has another form; the statement is not valid.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = |why: &str| ParseError::new(format!("not a proof: {why}"));
        if text.len() > StatementProof::MAX_BYTES {
            return Err(refused("it is too long"));
        }
        let ends = || refused("it has no checkpoint");
        let (proof, note) = text.split_once("\n\n").ok_or_else(ends)?;
        let mut lines = proof.split('\n');
        if lines.next() != Some(FIRST_LINE) {
            return Err(refused("it does not begin with c2sp.org/tlog-proof@v1"));
        }
        let extra = lines.next().and_then(|line| line.strip_prefix("extra "));
        let extra = extra.and_then(|extra| BASE64.decode(extra).ok());
        let statement =
            extra.ok_or_else(|| refused("it has no statement in base64 in its line extra"))?;
        let index = lines.next().and_then(|line| number(line.strip_prefix("index ")?));
        let index = index.ok_or_else(|| refused("it has no number in its line index"))?;
        let path =
            lines.map(|line| hash(line).ok_or_else(|| refused("a line of its path is not a hash")));
        let path = path.collect::<Result<Vec<_>, _>>()?;
        Ok(StatementProof {
            statement: SetStatement::read(&statement)?,
            index,
            path,
            note: note.parse()?,
        })
    }
}

impl fmt::Display for StatementProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statement = BASE64.encode(self.statement.text());
        writeln!(f, "{FIRST_LINE}\nextra {statement}\nindex {}", self.index)?;
        self.path.iter().try_for_each(|hash| writeln!(f, "{}", LogCheckpoint::hash_text(hash)))?;
        write!(f, "\n{}", self.note)
    }
}
