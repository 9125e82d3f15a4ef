//! The program as a person or a script meets it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panic")]

#[path = "../harness/mod.rs"]
mod harness;

mod contract;
mod documents;
mod files;
mod help;
mod hostile;
mod payment;
mod readme;
mod transcripts;
