//! `verify` finds and names everything that was altered by other means than this program. It reports few
//! findings, and reads only the rows that it needs.

mod checkpoints;
mod file;
mod history;
mod sandbox;
mod subsets;
