//! Oracles, histories, servers and clients for the tests of the three crates.

#![expect(missing_docs, reason = "each module says what it is")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panic")]
#![expect(clippy::new_without_default, reason = "a new world is not a default")]

use std::path::Path;

pub use directory::directory;

pub mod at_advance;
pub mod authority;
pub mod cluster;
pub mod connect_proxy;
pub mod crash;
pub mod directory;
pub mod events;
pub mod every_field;
pub mod exported;
pub mod fault_proxy;
pub mod files;
pub mod forwarding;
pub mod given_server;
pub mod history;
pub mod hostile_log;
pub mod installed;
pub mod listener;
pub mod machine;
pub mod mounts;
pub mod oracle;
pub mod peak_memory;
pub mod pooler;
pub mod primary_at_address;
pub mod pulls;
pub mod seal;
pub mod seed;
pub mod server;
pub mod server_log;
pub mod standby;
pub mod store;
pub mod tcp;
pub mod tls_front;
pub mod values;
pub mod web_server;
pub mod witness_key;
pub mod writes;

/// The root of the repository.
pub fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
