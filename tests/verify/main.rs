//! What was altered by other means than the registry's own, `verify` finds and names, in few words,
//! and at a cost that does not grow with what it need not look at.

#![expect(clippy::unwrap_used, reason = "tests fail by panic")]

mod checkpoints;
mod file;
mod history;
mod sandbox;
mod subsets;
