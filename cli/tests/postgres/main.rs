//! What only a server can do, and its faults: privileges, locks, lost connections, crashes, and copies from and
//! to files.
//!
//! With `TRUST=1`, each fault is run as often as the published report says. Otherwise, it is run less often.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panic")]
#![expect(clippy::print_stdout, reason = "what was tested is reported")]

#[path = "../running"]
mod running {
    pub mod backfill;
    pub mod corrected;
    pub mod guards;
    pub mod operators;
    pub mod program;
    pub mod serving;
}

mod addresses;
mod contract;
mod copies;
mod corrections;
mod cut;
mod damage;
mod distribution;
mod dry_run;
mod errors;
mod full_disk;
mod guards;
mod guide;
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
mod serve;
mod standby;
mod tls;
mod warned;
mod writers;
