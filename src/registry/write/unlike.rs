//! Compares new ids with the ids that a dataset holds. Ids of another dataset, or messages of a program, do not
//! look like them.

use std::collections::HashMap;

use super::target::Target;
use crate::error::{ErrorKind, Result};
use crate::model::{Checkpoint, GranuleId, Timestamp, quoted};
use crate::registry::snapshot::{Position, SetCursor};
use crate::store::View;

/// If a dataset holds at most this many ids, all are compared. Otherwise those of its checkpoints are compared,
/// which are about every thousandth.
const MOST_COMPARED: usize = 20_000;

/// The fewest ids that can have a common look.
const FEWEST: u64 = 20;

/// The ids of a dataset have a common look if this many shapes cover nine tenths of them. Otherwise they are
/// hashes or free text, and a new id can have any shape.
const COMMON_SHAPES: usize = 10;

/// The comparison of new ids with those held.
#[derive(Debug, Default)]
pub(super) enum Likeness {
    /// Nothing is compared: ids are not guarded, too few are held, they have no common look, or a new id looks
    /// like one of them.
    #[default]
    Accepted,
    /// The ids held are not read yet.
    Unread,
    /// No new id was compared yet, or none looks like those held.
    Unlike { shapes: Shapes, has_compared: bool },
}

/// The shapes of some ids that a dataset holds.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    counts: HashMap<String, u64>,
    total: u64,
    /// The first id, as an example.
    example: String,
}

impl Likeness {
    /// Compares new ids if they are guarded, and the dataset holds enough ids.
    pub fn with(target: &Target<'_>, is_guarded: bool) -> Self {
        if is_guarded && target.held() >= FEWEST { Likeness::Unread } else { Likeness::Accepted }
    }

    /// Reads the checkpoints of a dataset that holds many ids. The change is going to delete some of them.
    pub fn begin(&mut self, target: &Target<'_>) -> Result<()> {
        match self {
            Likeness::Unread if target.held() > MOST_COMPARED as u64 => self.read(target),
            _ => Ok(()),
        }
    }

    /// Compares a new id.
    pub fn compare(&mut self, target: &Target<'_>, granule_id: &GranuleId) -> Result<()> {
        if matches!(self, Likeness::Unread) {
            self.read(target)?;
        }
        if let Likeness::Unlike { shapes, has_compared } = self {
            *has_compared = true;
            if shapes.counts.contains_key(&shape(granule_id.as_str())) {
                *self = Likeness::Accepted;
            }
        }
        Ok(())
    }

    /// A held id, if new ids were compared and none looks like the held ones.
    pub fn unlike(&self) -> Option<String> {
        match self {
            Likeness::Unlike { shapes, has_compared: true } => {
                Some(quoted(&shapes.example).to_string())
            }
            _ => None,
        }
    }

    fn read(&mut self, target: &Target<'_>) -> Result<()> {
        let shapes = Shapes::held(target)?;
        *self = if shapes.are_common() {
            Likeness::Unlike { shapes, has_compared: false }
        } else {
            Likeness::Accepted
        };
        Ok(())
    }
}

impl Shapes {
    /// The shapes of the ids that a dataset held before the change.
    fn held(target: &Target<'_>) -> Result<Self> {
        let (view, dataset): (&View, _) = (target.transaction, target.dataset);
        let mut shapes = Shapes::default();
        if target.held() > MOST_COMPARED as u64 {
            let checkpoints = view.all::<Checkpoint>(dataset, Vec::new()).take(MOST_COMPARED);
            for checkpoint in checkpoints {
                match checkpoint {
                    Ok(checkpoint) => shapes.add(checkpoint.granule_id.as_str()),
                    // `verify` reports the damage, and so does the change if it needs the checkpoint.
                    Err(error) if error.kind() == ErrorKind::Damaged => {}
                    Err(error) => return Err(error),
                }
            }
        } else {
            let last = target.last().unwrap_or(Timestamp::MIN);
            for page in SetCursor::of(view, Position::held(dataset, last)) {
                page?.iter().for_each(|id| shapes.add(id));
            }
        }
        Ok(shapes)
    }

    fn add(&mut self, id: &str) {
        if self.total == 0 {
            self.example = id.to_owned();
        }
        self.total += 1;
        *self.counts.entry(shape(id)).or_default() += 1;
    }

    /// Whether a few shapes cover nearly all ids.
    fn are_common(&self) -> bool {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        counts.sort_unstable_by(|one, other| other.cmp(one));
        let covered: u64 = counts.iter().take(COMMON_SHAPES).sum();
        self.total >= FEWEST && covered * 10 >= self.total * 9
    }
}

/// The id with each run of letters replaced by `a`, and each run of digits by `0`.
fn shape(id: &str) -> String {
    let mut shape = String::new();
    for character in id.chars() {
        let class = match character {
            letter if letter.is_alphabetic() => 'a',
            digit if digit.is_numeric() => '0',
            separator => separator,
        };
        let continues = matches!(class, 'a' | '0') && shape.ends_with(class);
        if !continues {
            shape.push(class);
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes<'a>(ids: impl IntoIterator<Item = &'a str>) -> Shapes {
        let mut shapes = Shapes::default();
        ids.into_iter().for_each(|id| shapes.add(id));
        shapes
    }

    #[test]
    fn a_shape_has_runs_of_letters_runs_of_digits_and_separators() {
        for (id, expected) in [
            ("MOD09.A2001001.h12v04.hdf", "a0.a0.a0a0.a"),
            ("mod021.b1.x9y9.NC", "a0.a0.a0a0.a"),
            ("größe-値 12", "a-a 0"),
            ("a//b__1", "a//a__0"),
            ("", ""),
        ] {
            assert_eq!(shape(id), expected, "{id}");
        }
    }

    #[test]
    fn twenty_ids_of_which_ten_shapes_cover_nine_tenths_have_a_common_look() {
        let numbers: Vec<String> = (1..=18).map(|number| format!("G{number}.nc")).collect();
        let common = || numbers.iter().map(String::as_str);
        assert!(shapes(common().chain(["a-1", "b_c"])).are_common());
        assert!(!shapes(common().chain(["a-1"])).are_common(), "nineteen");
        let separators: Vec<String> = (1..=20).map(|number| ".".repeat(number)).collect();
        assert!(!shapes(separators.iter().map(String::as_str)).are_common());
    }
}
