//! Events that are sorted: a small number in memory, more of them on disk.

mod batches;
mod record;
mod run;
mod sort;
mod spill;

pub(in crate::registry) use batches::each_batch;
pub(in crate::registry) use sort::{Sorted, Staging};

/// Bytes that are read ahead in each run, and that are written at once.
const READ_AHEAD_BYTES: usize = 32 * 1_024;
