//! Shows by causing faults that no change is lost.
//!
//! Every test runs the program itself in child processes, causes a fault, and then examines the
//! registry with the library:
//!
//! - [`kill`]: `kill -9` at random moments
//! - [`kill_mirrors`]: the same for `publish`, and for copies from an address
//! - [`faults`], [`full_disk`]: each write, sync and rename fails, once or from then on
//! - [`restore`]: the same, while a registry is replaced by a copy
//! - [`power_loss`]: the states of a disk after a power failure at any moment
//! - [`first_open`], [`rivals`]: many processes at the same time
//! - [`rot`]: flipped bits, and truncated files
//! - [`hostile_log`]: the memory of a mirror, whatever its primary sends
//! - [`signing`], [`corrections`]: `proof sign`, `dataset correct` and `dataset remove`, killed before each of
//!   their calls
//! - [`serve`]: a server under load, while the registry is written and restored
//!
//! [`corrections`], [`faults`], [`full_disk`], [`hostile_log`], [`restore`], [`signing`] and [`power_loss`]
//! need Linux. All but [`full_disk`] and [`hostile_log`] also need a C compiler, like the bundled SQLite.
//!
//! A test that could pass without having tested anything fails: each one counts the faults that took effect,
//! and prints the counts (`--nocapture`). Random choices depend on a seed, which is printed.
//!
//! `cargo test --release --test trust` takes about a minute. Environment variables, which [`rounds`] reads,
//! select a longer run:
//!
//! - `TRUST=20`: 10,000 kills, 20,000 flipped bits, …, as in the report
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

#[path = "../running"]
mod running {
    #[cfg(target_os = "linux")]
    pub mod corrected;
    pub mod program;
    #[cfg(target_os = "linux")]
    pub mod serving;
}

mod answers;
mod checked_files;
#[cfg(target_os = "linux")]
mod corrections;
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
mod hostile_log;
#[cfg(target_os = "linux")]
mod interposed;
mod kill;
mod kill_mirrors;
#[cfg(target_os = "linux")]
mod power_loss;
#[cfg(target_os = "linux")]
mod restore;
mod rivals;
mod rot;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod signing;
