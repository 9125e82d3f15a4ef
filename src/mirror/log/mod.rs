//! The log: the history of one dataset, to which changes are only ever appended.
//!
//! docs/reference/manifest.md is its specification. In short: JSON Lines; the first line is
//! constant, each further one is a change, or up to 1,000 granules of one; every line ends with its
//! `check`, the `md5-chain` ([`crate::chain`]) of all lines so far. The bytes are a function of the
//! history alone, so two states of one log are one a prefix of the other. What can change, the record of the
//! dataset for instance, is in the *head*; the cited subsets and the annotations are in files of their own.
//!
//! ```json
//! {"accession_log":1,"rule":"md5-chain","check":"6cec330d363715611a235d9ceefcef5c"}
//! {"timestamp":"2001-01-02T00:00:00Z","ingested":["A"],"deleted":[],"note":null,"identifier":"bf072e9119077b4e76437a93986787ef","check":"…"}
//! ```

mod annotations;
mod digest;
mod head;
mod line;
mod reader;
mod subsets;
mod writer;

pub(crate) use annotations::{
    AnnotationReader, AnnotationWriter, BEGINNING as ANNOTATION_BEGINNING,
};
pub(crate) use digest::LinesDigest;
#[cfg(feature = "http")]
pub(crate) use head::MAX_HEAD_BYTES;
pub(crate) use head::{BEGINNING as HEAD_BEGINNING, Head, HeadFile};
pub use line::BEGINNING;
pub(crate) use line::{Checks, LINE_GRANULES, LogLine, MAX_LINE_BYTES};
pub(crate) use reader::{LogReader, Position, latest_change};
pub(crate) use subsets::{BEGINNING as SUBSET_BEGINNING, SubsetReader, SubsetWriter};
pub(crate) use writer::{LogWriter, Segment, Segments};
