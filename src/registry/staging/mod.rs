//! Events that are sorted: a small number in memory, more of them on disk.

mod record;
mod sort;

pub(in crate::registry) use sort::{Sorted, Staging, each_batch};

/// Bytes that are read ahead in each run, and that are written at once.
const READ_AHEAD_BYTES: usize = 32 * 1_024;
