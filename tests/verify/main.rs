//! `verify` finds and names everything that was altered by other means than this program, with few
//! findings, and at a cost that does not depend on rows that it need not read.

#![expect(clippy::unwrap_used, reason = "tests fail by panic")]

#[path = "../harness/at_advance.rs"]
mod at_advance;
#[path = "../harness/seal.rs"]
mod seal;

mod checkpoints;
mod file;
mod history;
mod sandbox;
mod subsets;
