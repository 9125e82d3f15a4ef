//! How long the tests run, with which seed, and where: the one place that reads the environment.

use std::process::Command;
use std::sync::LazyLock;

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

/// A folder in memory, where the system has one with some room: what most of these tests find does
/// not depend on how long a sync takes.
pub fn folder_in_memory() -> tempfile::TempDir {
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
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text:?} is no number")))
}
