//! How many granules are looked up at once.

use crate::store::StoredContent;

/// The rows of granules that are looked up at once have about so many bytes.
const BYTES: usize = 8 * 1_024 * 1_024;

/// How many granules are looked up first: a row may have megabytes.
const FIRST_GRANULES: usize = 256;

/// The next number of granules is at most so many times the previous one: those after them may have longer
/// rows.
const GROWTH: usize = 8;

/// How many granules to look up next, by the bytes of the rows that were read of those before. Granules have
/// any number of holding periods, and of files.
#[derive(Debug, Clone)]
pub(super) struct LookUps {
    granules: usize,
    most: usize,
}

impl LookUps {
    /// Begins with a few granules, and looks up at most so many at once.
    pub fn up_to(most: usize) -> Self {
        LookUps { granules: FIRST_GRANULES.min(most), most }
    }

    /// How many granules to look up next.
    pub fn granules(&self) -> usize {
        self.granules
    }

    /// The rows of so many granules had so many bytes.
    pub fn note(&mut self, granules: usize, bytes: usize) {
        let fitting = granules.saturating_mul(BYTES) / bytes.max(1);
        self.granules = fitting.clamp(1, self.most.min(self.granules.saturating_mul(GROWTH)));
    }
}

/// The bytes of contents in memory, about.
pub(super) fn bytes_of_contents(contents: &[StoredContent]) -> usize {
    let bytes_of_files = |it: &StoredContent| it.content.encoded().as_bytes().len();
    size_of_val(contents) + contents.iter().map(bytes_of_files).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rows_are_looked_up_in_small_numbers_and_short_ones_in_great_ones() {
        let mut look_ups = LookUps::up_to(10_000);
        let mut granules = Vec::new();
        for row_bytes in [100, 100, 2 << 20, 2 << 20, 0, 0, 9 << 30, 9 << 30] {
            granules.push(look_ups.granules());
            look_ups.note(look_ups.granules(), look_ups.granules() * row_bytes);
        }
        assert_eq!(granules, [256, 2_048, 10_000, 4, 4, 32, 256, 1]);
    }
}
