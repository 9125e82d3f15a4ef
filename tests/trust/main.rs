//! Nothing is lost: shown with faults, not with arguments.
//!
//! Every test lets the program itself run in child processes, brings a fault upon it, and then
//! examines the registry with the library:
//!
//! - [`kill`]: `kill -9` at random moments
//! - [`faults`], [`full_disk`]: each write, sync and name that fails, once or from then on
//! - [`power_loss`]: what a disk may hold after the power went at any moment
//! - [`first_open`], [`rivals`]: many processes at once
//! - [`rot`]: bits that flip, and files that were cut
//!
//! [`faults`], [`full_disk`] and [`power_loss`] need Linux, and the first and the last a C compiler,
//! as the bundled SQLite does.
//!
//! A test that could pass without having tested fails: each counts the faults that really hit, and
//! prints its counts (`--nocapture`). Random choices come from a seed, which is printed.
//!
//! `cargo test --release --test trust` takes about a minute. The long run is asked for through
//! the environment, which [`rounds`] reads:
//!
//! - `TRUST=20`: so many times the rounds: 10,000 kills, 20,000 flipped bits, …
//! - `TRUST_SEED=N`: another seed
//!
//! ```sh
//! TRUST=20 cargo test --release --test trust -- --nocapture --test-threads 1
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests fail by panic, and print what they counted"
)]

#[path = "../harness"]
mod harness {
    pub mod oracle;
    pub mod program;
    pub mod values;
}

mod answers;
mod dice;
#[cfg(target_os = "linux")]
mod disk;
mod ledger;
mod rounds;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "the faults need Linux"))]
mod scene;
mod victim;

#[cfg(target_os = "linux")]
mod faults;
mod first_open;
#[cfg(target_os = "linux")]
mod full_disk;
#[cfg(target_os = "linux")]
mod interposed;
mod kill;
#[cfg(target_os = "linux")]
mod power_loss;
mod rivals;
mod rot;
