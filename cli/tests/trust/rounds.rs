//! The length of the tests, their seed and their directories. Only this file reads the environment.

use std::process::Command;
use std::sync::LazyLock;

use crate::dice::Dice;

/// This many rounds for each unit of `TRUST`; a quarter of them if it is not set, which is enough to
/// find what a change breaks.
pub fn rounds(unit: u64) -> u64 {
    number("TRUST").map_or((unit / 4).max(1), |factor| unit * factor)
}

/// Whether `TRUST` asks for the long run.
pub fn is_long() -> bool {
    number("TRUST").is_some_and(|factor| factor > 1)
}

/// The dice of a test; prints their seed.
pub fn dice(test: &str) -> Dice {
    let seed = number("TRUST_SEED").unwrap_or(1);
    println!("{test}: TRUST_SEED={seed}");
    Dice::of(seed)
}

/// A directory in memory if the system has one with enough space, since most of these tests do not
/// depend on real syncs.
pub fn directory_in_memory() -> tempfile::TempDir {
    static HAS_ROOM: LazyLock<bool> = LazyLock::new(|| {
        const KILOBYTES: u64 = 500_000;
        let output = Command::new("df").args(["--output=avail", "/dev/shm"]).output();
        let text = output.map(|output| output.stdout).unwrap_or_default();
        let free = String::from_utf8_lossy(&text).lines().nth(1).map(|line| line.trim().parse());
        free.is_some_and(|free| free.is_ok_and(|free: u64| free > KILOBYTES))
    });
    if *HAS_ROOM { tempfile::tempdir_in("/dev/shm") } else { tempfile::tempdir() }.unwrap()
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text:?} is not a number")))
}
