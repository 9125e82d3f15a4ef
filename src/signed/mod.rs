//! Statements about what an archive held, the tree of statements, and the proofs of statements.
//!
//! A *statement* is a line of JSON that says which set a dataset held, and when the archive said so. Statements
//! are the leaves of a Merkle tree (RFC 6962, 2.1), which only grows. The size and the root of the tree are a
//! *checkpoint*, which the archive signs and *witnesses* cosign. A witness cosigns a checkpoint only if the
//! tree continues the tree that the witness saw before. A *proof* is a statement with its path to the root and
//! the signed checkpoint, in some 2 kB. With it, anyone can prove what the archive said, without the archive.
//!
//! The formats are those of C2SP (<https://c2sp.org>): `signed-note`, `tlog-checkpoint`, `tlog-cosignature`,
//! `tlog-proof@v1` and `tlog-policy`. This module knows no SQL, reads no clock, and does I/O only through
//! readers that the caller opened.

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
