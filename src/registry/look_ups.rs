//! The number of granules that are looked up at once.

use crate::model::GranuleId;
use crate::store::StoredContent;

/// The approximate size in bytes of the rows that are looked up at once.
const BYTES: usize = 8 * 1_024 * 1_024;

/// The same limit for small pages, and the greatest number of granules in one. A client that reads slowly keeps
/// a page in memory.
const SMALL_BYTES: usize = 48 * 1_024;
const SMALL_GRANULES: usize = 2_048;

/// The number of granules in the first look-up. It is small, because a row may have megabytes.
const FIRST_GRANULES: usize = 256;

/// The factor by which the number of granules may grow from one look-up to the next. It is limited, because
/// the next rows may be longer.
const GROWTH: usize = 8;

/// The number of granules to look up next, computed from the size of the rows that were read before. A
/// granule can have any number of holding periods and files.
#[derive(Debug, Clone)]
pub(super) struct LookUps {
    granules: usize,
    most: usize,
    bytes: usize,
}

impl LookUps {
    /// Begins with a few granules, and never looks up more than `most` at once.
    pub fn up_to(most: usize) -> Self {
        LookUps { granules: FIRST_GRANULES.min(most), most, bytes: BYTES }
    }

    /// Begins with the number of granules that fit into a small page even if their ids have the greatest
    /// length.
    pub fn small() -> Self {
        let granules = SMALL_BYTES / GranuleId::MAX_BYTES;
        LookUps { granules, most: SMALL_GRANULES, bytes: SMALL_BYTES }
    }

    /// The number of granules to look up next.
    pub fn granules(&self) -> usize {
        self.granules
    }

    /// Records the number of granules in a look-up, and the size of their rows in bytes.
    pub fn note(&mut self, granules: usize, bytes: usize) {
        let fitting = granules.saturating_mul(self.bytes) / bytes.max(1);
        self.granules = fitting.clamp(1, self.most.min(self.granules.saturating_mul(GROWTH)));
    }
}

/// The approximate size of contents in memory, in bytes.
pub(super) fn bytes_of_contents(contents: &[StoredContent]) -> usize {
    let bytes_of_files = |it: &StoredContent| it.content.encoded().as_bytes().len();
    size_of_val(contents) + contents.iter().map(bytes_of_files).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_long_rows_but_many_short_rows_are_looked_up_at_once() {
        let mut look_ups = LookUps::up_to(10_000);
        let mut granules = Vec::new();
        for row_bytes in [100, 100, 2 << 20, 2 << 20, 0, 0, 9 << 30, 9 << 30] {
            granules.push(look_ups.granules());
            look_ups.note(look_ups.granules(), look_ups.granules() * row_bytes);
        }
        assert_eq!(granules, [256, 2_048, 10_000, 4, 4, 32, 256, 1]);
    }
}
