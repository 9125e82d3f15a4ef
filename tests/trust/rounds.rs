//! How long the tests run, with which seed, and where: the one place that reads the environment.

use crate::dice::Dice;

/// So many rounds, or as many times that as `TRUST` says.
pub fn rounds(quick: u64) -> u64 {
    quick * number("TRUST").unwrap_or(1)
}

/// Whether the long run was asked for.
pub fn is_long() -> bool {
    number("TRUST").is_some_and(|factor| factor > 1)
}

/// The dice of a test, which says what it was thrown with.
pub fn dice(test: &str) -> Dice {
    let seed = number("TRUST_SEED").unwrap_or(1);
    println!("{test}: TRUST_SEED={seed}");
    Dice::of(seed)
}

/// A folder in memory, where the system has one: what these tests do to the disk does not depend on
/// how long a sync takes.
pub fn folder_in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text:?} is no number")))
}
