//! Statements of what an archive held, the tree that they are the leaves of, and what proves them.
//!
//! A *statement* is a line of JSON that says which set a dataset held, and when that was said. Statements are
//! the leaves of a Merkle tree (RFC 6962, 2.1), which only grows. Its size and its root are a *checkpoint*,
//! which the archive signs and *witnesses* cosign: who cosigned one has seen that the tree continues the one
//! that it saw before. A *proof* is a statement with its path to the root and the signed checkpoint: some
//! 2 kB, with which anyone proves, without the archive, what it said.
//!
//! The formats are those of C2SP (<https://c2sp.org>): `signed-note`, `tlog-checkpoint`, `tlog-cosignature`,
//! `tlog-proof@v1` and `tlog-policy`. Nothing here does I/O but through readers that the caller opened,
//! reads a clock or knows SQL.

mod checkpoint;
mod key;
mod list;
mod note;
mod policy;
mod proof;
mod signature;
mod statement;
mod tree;
mod verdict;

pub use checkpoint::LogCheckpoint;
pub(crate) use key::KeyUse;
pub use key::{SigningKey, VerificationKey};
pub use note::Note;
pub use policy::{Policy, Witness};
pub use proof::StatementProof;
pub(crate) use signature::NoteSignature;
pub use statement::SetStatement;
pub(crate) use statement::StatedSet;
pub use tree::{StatementTree, TreeHash};
pub use verdict::{ProofProblem, ProofVerdict};
