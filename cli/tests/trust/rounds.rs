//! The length of the tests and their seed.

use crate::dice::Dice;

/// This many rounds for each unit of `TRUST`. If it is not set, a quarter of them, which is enough to find what
/// a change breaks.
pub fn rounds(unit: u64) -> u64 {
    number("TRUST").map_or((unit / 4).max(1), |factor| unit * factor)
}

/// Whether `TRUST` selects the long run.
pub fn is_long() -> bool {
    number("TRUST").is_some_and(|factor| factor > 1)
}

/// The dice of a test; prints their seed.
pub fn dice(test: &str) -> Dice {
    let seed = number("TRUST_SEED").unwrap_or(1);
    println!("{test}: TRUST_SEED={seed}");
    Dice::of(seed)
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text:?} is not a number")))
}
