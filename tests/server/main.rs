//! The server: its routes against the router, and its connections over real sockets.

#![expect(clippy::unwrap_used, reason = "tests fail by panic")]
#![expect(clippy::print_stdout, reason = "costs are reported")]

#[path = "../harness/authority.rs"]
mod authority;
#[path = "../harness/connect_proxy.rs"]
mod connect_proxy;
#[path = "../harness/events.rs"]
mod events;
#[path = "../harness/fault_proxy.rs"]
mod fault_proxy;
#[path = "../harness/files.rs"]
mod files;
#[path = "../harness/forwarding.rs"]
mod forwarding;
#[path = "../harness/installed.rs"]
mod installed;
#[path = "../harness/program.rs"]
mod program;
#[path = "../harness/seal.rs"]
mod seal;
#[path = "../harness/serving.rs"]
mod serving;
#[path = "../harness/tls_front.rs"]
mod tls_front;
#[path = "../harness/values.rs"]
mod values;
#[path = "../harness/writes.rs"]
mod writes;

mod busy_primary;
mod cache_directory;
mod caching;
mod checksums;
mod documented;
mod encrypted;
mod hostile;
mod kept;
mod limits;
mod lists;
mod mirror_world;
mod mirrors;
mod pages;
mod published;
mod registered;
mod registry;
mod restored_primary;
mod seed_lists;
mod sets;
mod site;
mod sockets;
mod stalled;
mod standards;
mod statements;
