//! `verify` finds and names everything that was altered by other means than this program, with few
//! findings, and at a cost that does not depend on rows that it need not read.

mod checkpoints;
mod file;
mod history;
mod sandbox;
mod subsets;
