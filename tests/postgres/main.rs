//! What only a server can do, and what can go wrong with one: privileges, locks, lost connections,
//! crashes, and copies from and to files.
//!
//! With `TRUST=1`, each fault is run as often as the published report says; without it, less often.

#![expect(clippy::unwrap_used, reason = "tests fail by panic")]
#![expect(clippy::print_stdout, reason = "what was tested is reported")]

#[path = "../harness"]
mod harness {
    pub mod at_advance;
    pub mod authority;
    pub mod cluster;
    mod crash;
    pub mod every_field;
    mod given_server;
    pub mod installed;
    mod listener;
    pub mod machine;
    pub mod peak_memory;
    pub mod pooler;
    pub mod program;
    pub mod seal;
    pub mod server;
    pub mod server_log;
    #[cfg(feature = "serve")]
    pub mod serving;
    pub mod standby;
    mod tcp;
    pub mod values;
    pub mod web_server;
    #[cfg(feature = "serve")]
    pub mod writes;
}

mod addresses;
mod contract;
mod copies;
mod cut;
mod damage;
mod distribution;
mod dry_run;
mod errors;
mod full_disk;
mod guide;
#[cfg(feature = "serve")]
mod imports;
mod lost_machines;
mod machine_settings;
mod memory;
mod migrations;
mod moments;
mod pooler;
mod privileges;
mod proxy;
mod round_trips;
mod scene;
mod schema;
#[cfg(feature = "serve")]
mod serve;
mod standby;
mod tls;
mod warned;
mod writers;
