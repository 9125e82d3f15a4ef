//! The log: the history of one dataset, to which changes are only ever appended.
//!
//! docs/reference/manifest.md is its specification. In summary: it is JSON Lines. The first line is constant,
//! and each later line is a change, or up to 1,000 granules of one. Every line ends with its `check`, a SHA-256
//! that chains it to all earlier lines. The bytes depend on the history only, so of two states of one log, one
//! is a prefix of the other. Metadata that can change, such as the title of the dataset, is in the *head*; the
//! cited subsets and the annotations are in separate files.
//!
//! ```json
//! {"accession_log":3,"rule":"md5-chain","check":"6a778144b6c78df49b8f31c5c675a95a449eaa474d56e0f4572fefc8ba194537"}
//! {"timestamp":"2001-01-02T00:00:00Z","ingested":["A"],"deleted":[],"described":[],"replaced":[],"note":null,"identifier":"bf072e9119077b4e76437a93986787ef","digest":"sha256:…","check":"…"}
//! ```

mod attachments;
mod head;
mod line;
pub mod manifest;
mod reader;
mod writer;

pub(crate) use attachments::{
    Lines, LinesDigest, SubsetReader, continued_subsets, read_annotation, write_annotations,
    write_subsets,
};
pub(crate) use head::{BEGINNING as HEAD_BEGINNING, Head, HeadFile, LatestSet, MAX_HEAD_BYTES};
pub(crate) use line::BEGINNING;
pub(crate) use line::{LogLine, MAX_LINE_BYTES, events, verified};
pub(crate) use reader::{LogReader, Position};
pub(crate) use writer::{LogWriter, Segment, Segments};
