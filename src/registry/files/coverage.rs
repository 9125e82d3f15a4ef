//! Which part of a dataset checks of its files have covered.
//!
//! A check covers an interval of granules in canonical order, and in it only what was recorded by then: a
//! file of which more was recorded later is not checked.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::model::Timestamp;
use crate::store::StoredRun;

/// The end of an interval. `None` is after every granule.
type End<'a> = Option<&'a str>;

fn is_before(left: End<'_>, right: End<'_>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => left < right,
        (left, right) => left.is_some() && right.is_none(),
    }
}

/// The first part that no interval covers, at or after a granule: the granule after which it begins, and
/// its last one (`None` means that it has no end). Each interval begins after a granule. `None` means that
/// everything is covered.
pub(in crate::registry) fn first_gap<'a>(
    mut covered: Vec<(&'a str, End<'a>)>,
    at: &'a str,
) -> Option<(&'a str, End<'a>)> {
    covered.retain(|(from, to)| is_before(Some(*from), *to));
    covered.sort_unstable();
    let mut begin = at;
    for (from, to) in covered {
        if from > begin {
            return Some((begin, Some(from)));
        }
        begin = match to {
            Some(to) => begin.max(to),
            None => return None,
        };
    }
    Some((begin, None))
}

/// The checks of one root that cover a granule, while granules are passed in canonical order.
pub(in crate::registry) struct Coverage {
    /// The checks that begin after the granule that was passed last, the last of them first.
    ahead: Vec<StoredRun>,
    /// Those that cover it, the latest first.
    covering: BTreeMap<(Reverse<Timestamp>, Reverse<u64>), StoredRun>,
    /// Where one of them ends first.
    next_end: Option<String>,
}

impl Coverage {
    /// What these checks cover, which are all of one root, and of whole instances.
    pub fn of(mut runs: Vec<StoredRun>) -> Self {
        runs.retain(|run| is_before(Some(&run.from_id), run.to_id.as_deref()));
        runs.sort_unstable_by(|a, b| b.from_id.cmp(&a.from_id));
        Coverage { ahead: runs, covering: BTreeMap::new(), next_end: None }
    }

    /// The checks that cover a granule, the latest first. The granules are passed in canonical order.
    pub fn at(&mut self, granule_id: &str) -> impl Iterator<Item = &StoredRun> {
        let mut is_changed = false;
        while let Some(run) = self.ahead.pop_if(|run| run.from_id.as_str() < granule_id) {
            self.covering.insert((Reverse(run.started), Reverse(run.run)), run);
            is_changed = true;
        }
        if is_changed || self.next_end.as_deref().is_some_and(|end| end < granule_id) {
            self.covering.retain(|_, run| !is_before(run.to_id.as_deref(), Some(granule_id)));
            let ends = self.covering.values().filter_map(|run| run.to_id.as_deref());
            self.next_end = ends.min().map(str::to_owned);
        }
        self.covering.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_gap_is_before_after_or_between_intervals() {
        for (covered, at, gap) in [
            (vec![], "", Some(("", None))),
            (vec![("", Some("C"))], "", Some(("C", None))),
            (vec![("", None)], "", None),
            (vec![("B", Some("C"))], "", Some(("", Some("B")))),
            (vec![("", Some("B")), ("D", None)], "", Some(("B", Some("D")))),
            (vec![("D", None), ("A", Some("C")), ("", Some("B")), ("C", Some("D"))], "", None),
            // Nothing is covered yet by a check that has just begun.
            (vec![("", Some("")), ("B", Some("B"))], "", Some(("", None))),
            // What is before the granule does not matter.
            (vec![("B", Some("C"))], "B", Some(("C", None))),
            (vec![("A", Some("C"))], "B", Some(("C", None))),
            (vec![("B", None)], "A", Some(("A", Some("B")))),
        ] {
            assert_eq!(first_gap(covered.clone(), at), gap, "{covered:?} from {at:?}");
        }
    }
}
