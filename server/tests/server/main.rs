//! The server: its routes against the router, and its connections over real sockets.

#![expect(clippy::unwrap_used, reason = "tests fail by panic")]
#![expect(clippy::print_stdout, reason = "costs are reported")]

#[path = "../harness"]
mod harness {
    pub mod authority;
    pub mod connect_proxy;
    pub mod events;
    pub mod fault_proxy;
    pub mod files;
    pub mod forwarding;
    pub mod installed;
    pub mod listener;
    pub mod program;
    pub mod seal;
    pub mod serving;
    pub mod tls_front;
    pub mod values;
    pub mod writes;
}

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
