//! Tests of the program as people and scripts use it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panic")]

#[path = "../running"]
mod running {
    pub mod backfill;
    pub mod console;
    pub mod guards;
    pub mod nobody;
    pub mod operators;
    pub mod program;
    pub mod serving;
    mod two_streams;
}

mod clock;
mod completions;
mod coverage;
mod documents;
mod file_checks;
mod files;
mod guards;
mod help;
mod hostile;
#[cfg(target_os = "linux")]
mod memory;
mod mirror_facts;
mod option_pairs;
mod payment;
mod readme;
mod registry_paths;
mod streams;
mod transcripts;
mod witnesses;
