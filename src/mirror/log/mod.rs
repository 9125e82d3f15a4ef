//! The log: the history of one dataset, to which changes are only ever appended.
//!
//! docs/reference/manifest.md is its specification. In short: JSON Lines; the first line is
//! constant, each further one is a change, or up to 1,000 granules of one; every line ends with its
//! `check`, a SHA-256 that chains it to all lines before. The bytes are a function of the
//! history alone, so two states of one log are one a prefix of the other. What can change, the record of the
//! dataset for instance, is in the *head*; the cited subsets and the annotations are in files of their own.
//!
//! ```json
//! {"accession_log":2,"rule":"md5-chain","check":"d2389f3d7dcc99a938f293e5b9b595f65267a19bf0cea01d8998c1292831f7c0"}
//! {"timestamp":"2001-01-02T00:00:00Z","ingested":["A"],"deleted":[],"described":[],"replaced":[],"note":null,"identifier":"bf072e9119077b4e76437a93986787ef","digest":"sha256:…","check":"…"}
//! ```

mod beside;
mod chained;
mod head;
mod line;
pub mod manifest;
mod reader;
mod writer;

use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub(crate) use beside::{AnnotationReader, AnnotationWriter, SubsetReader, SubsetWriter};
pub(crate) use chained::{Segment, Segments};
pub(crate) use head::MAX_HEAD_BYTES;
pub(crate) use head::{BEGINNING as HEAD_BEGINNING, Head, HeadFile};
pub use line::BEGINNING;
pub(crate) use line::{Checks, LogLine, MAX_LINE_BYTES, events};
pub(crate) use reader::{LogReader, Position, latest_change};
pub(crate) use writer::LogWriter;

/// The lines of a file beside a log, as the head announces them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LinesDigest {
    /// How many subsets or annotations they have.
    pub count: u64,
    /// The length of the lines.
    pub bytes: u64,
    /// Their SHA-256.
    #[serde(with = "hex")]
    pub sha256: [u8; 32],
}

impl LinesDigest {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a file has these lines, whatever they contain.
    pub fn is_of(&self, file: &mut impl Read) -> io::Result<bool> {
        let (mut hash, mut bytes, mut block) = (Sha256::new(), 0, vec![0; 64 * 1_024]);
        loop {
            let read = file.read(&mut block)?;
            if read == 0 {
                return Ok(bytes == self.bytes && hash.finalize().as_slice() == self.sha256);
            }
            hash.update(&block[..read]);
            bytes += read as u64;
        }
    }
}

impl Default for LinesDigest {
    /// That of no lines.
    fn default() -> Self {
        LinesDigest { count: 0, bytes: 0, sha256: Sha256::digest([]).into() }
    }
}
