//! The server: its routes against the router, and its connections over real sockets.

#![expect(clippy::unwrap_used, reason = "tests fail by panic")]
#![expect(clippy::print_stdout, reason = "costs are reported")]

#[path = "../harness/fault_proxy.rs"]
mod fault_proxy;
#[path = "../harness/program.rs"]
mod program;
#[path = "../harness/values.rs"]
mod values;

mod caching;
mod hostile;
mod lists;
mod mirrors;
mod pages;
mod published;
mod registry;
mod seed_lists;
mod site;
mod sockets;
mod standards;
mod two_archives;
