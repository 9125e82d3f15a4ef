//! The server: its routes against the router, and its connections over real sockets.

#![expect(clippy::unwrap_used, reason = "tests fail by panic")]

#[path = "../harness/program.rs"]
mod program;
#[path = "../harness/values.rs"]
mod values;

mod caching;
mod hostile;
mod lists;
mod pages;
mod published;
mod registry;
mod seed_lists;
mod site;
mod sockets;
mod standards;
