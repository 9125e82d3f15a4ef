//! Tests of the program, as people and scripts use it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panic")]

#[path = "../harness"]
mod harness {
    pub mod console;
    pub mod installed;
    mod listener;
    pub mod nobody;
    #[cfg(target_os = "linux")]
    pub mod peak_memory;
    pub mod program;
    pub mod seal;
    mod two_streams;
    pub mod web_server;
}

mod clock;
mod completions;
mod coverage;
mod documents;
mod file_checks;
mod files;
mod help;
mod hostile;
#[cfg(target_os = "linux")]
mod memory;
mod payment;
mod readme;
mod registry_paths;
mod streams;
mod transcripts;
mod witnesses;
