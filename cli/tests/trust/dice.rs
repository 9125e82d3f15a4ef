//! Random numbers that depend only on the seed.

use std::ops::Range;

/// SplitMix64 (Steele, Lea, Flood 2014). It is short, and good enough to choose faults.
#[derive(Clone)]
pub struct Dice {
    state: u64,
}

impl Dice {
    pub fn of(seed: u64) -> Self {
        Dice { state: seed }
    }

    /// Independent dice for another thread.
    pub fn split(&mut self) -> Self {
        Dice { state: self.number() }
    }

    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in a range, which must not be empty.
    pub fn within(&mut self, range: Range<usize>) -> usize {
        range.start + (self.number() % range.len() as u64) as usize
    }

    /// True with a probability of one in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.number().is_multiple_of(times)
    }

    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.within(0..choices.len())]
    }
}
