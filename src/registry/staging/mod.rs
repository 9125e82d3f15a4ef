//! Events that are to be added to the registry: a small number in memory, more of them on disk.

mod record;
mod run;
mod section;
mod sort;

pub(in crate::registry) use record::Staged;
pub(in crate::registry) use sort::{Repeats, Sorted, Staging, refuse_pair};
