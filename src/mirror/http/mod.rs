//! Reading the log of a dataset over HTTP.
//!
//! A dataset's address is a directory with `head.json`, `subsets.jsonl` and `log/000000.jsonl` …, as
//! [`crate::publish`] writes it. Any web server can deliver it: ranges, entity tags and compressed
//! segments are used where the server has them, and none is needed.
//!
//! # What is refused
//!
//! A primary may be broken or hostile. Nothing is read beyond the lengths that the head announces, and
//! the head itself is limited; a limit of the caller bounds everything together, counted after
//! decompression. Only `https` is
//! used, except to this machine or where the caller permits it; redirects stay within the origin;
//! a server that sends nothing for a time, or less than 10 kB a second on average, is given up; the
//! rate also covers reconnections. Lines are verified one by one, as those of a manifest.
//!
//! # Resumption
//!
//! Where a connection breaks, the lines that were verified are kept, and the next request begins after
//! them.

mod address;
mod client;
mod fetch;
mod follow;
mod remote;
mod replica;

pub use address::{Address, source_name};
pub use client::{HttpOptions, Retry};
pub(super) use follow::{Follow, Followed};
pub(super) use remote::FetchedHead;
pub use remote::Remote;
pub use replica::{Replica, read_replica};
