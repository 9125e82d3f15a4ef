//! All identifiers of a history in one pass over its granules.

use std::ops::Range;

use accession_chain::Lanes;

use crate::model::{Identifier, Timestamp};

/// All identifiers of a history, in one pass over its granules in canonical order.
///
/// The instances of a history are numbered 0, 1, 2 … in order of time. A run is a sequence of consecutive
/// instances that hold the same granules so far. The cost is one step for each granule and each run that holds
/// it: one step for each granule in a history of appends. The memory depends on the number of runs, not on the
/// number of granules.
///
/// # Examples
///
/// ```
/// use accession::chain::{Chain, Sweep};
///
/// // Instance 0 holds A and C; B is ingested in instance 1; A is deleted in instance 2.
/// let mut sweep = Sweep::over(3);
/// sweep.hold("A", 0..2);
/// sweep.hold("B", 1..3);
/// sweep.hold("C", 0..3);
/// let identifiers: Vec<_> = sweep.identifiers().collect();
///
/// let mut chain = Chain::start();
/// chain.push("B");
/// chain.push("C");
/// assert_eq!(identifiers[2], chain.identifier());
/// ```
#[derive(Debug, Clone)]
pub struct Sweep(accession_chain::Sweep);

impl Sweep {
    /// Starts a sweep over this many instances. No instance holds a granule yet.
    pub fn over(instances: usize) -> Self {
        Sweep(accession_chain::Sweep::over(instances))
    }

    /// A sweep over this many instances, all of which hold the granules of `identifier` so far.
    pub fn resume(instances: usize, identifier: Identifier) -> Self {
        Sweep(accession_chain::Sweep::resume(instances, *identifier.as_bytes()))
    }

    /// The same sweep with other instructions than the fastest, for tests and benchmarks.
    pub fn with_lanes(self, lanes: Lanes) -> Self {
        Sweep(self.0.with_lanes(lanes))
    }

    /// Adds a granule that these instances hold.
    ///
    /// The caller must pass the ids in canonical order. The holding periods of one id are passed one after the
    /// other, and must not overlap.
    pub fn hold(&mut self, granule_id: &str, instances: Range<usize>) {
        self.0.hold(granule_id, instances);
    }

    /// Adds granules that the same instances hold, like a call of [`Sweep::hold`] for each.
    pub fn hold_each<'id>(
        &mut self,
        mut granule_ids: impl Iterator<Item = &'id str>,
        instances: Range<usize>,
    ) {
        self.0.hold_each(&mut granule_ids, instances);
    }

    /// The identifier of the granules that the last instance holds so far.
    pub fn latest(&self) -> Identifier {
        Identifier::from_bytes(self.0.latest())
    }

    /// The number of instances.
    pub fn instances(&self) -> usize {
        self.0.instances()
    }

    /// The number of chain steps that were hashed.
    pub fn steps(&self) -> u64 {
        self.0.steps()
    }

    /// The identifier of each instance, in order.
    pub fn identifiers(&self) -> impl Iterator<Item = Identifier> + '_ {
        self.0.hashes().map(Identifier::from_bytes)
    }
}

/// The times of the changes of a history, ascending.
///
/// Granules that are neighbours in canonical order were mostly ingested by the same change, so the previous
/// result is tried first. A search for each row took a tenth of the time of `verify` of 9,999,360 granules.
pub(crate) struct Timeline {
    micros: Vec<i64>,
    last: usize,
}

impl Timeline {
    pub fn of(times: impl Iterator<Item = Timestamp>) -> Self {
        Timeline { micros: times.map(Timestamp::as_micros).collect(), last: 0 }
    }

    /// The number of changes.
    pub fn changes(&self) -> usize {
        self.micros.len()
    }

    /// The number of the change at a time. If no change is at that time, the error is the number of the next
    /// change.
    pub fn number(&mut self, micros: i64) -> Result<usize, usize> {
        if self.micros.get(self.last) == Some(&micros) {
            return Ok(self.last);
        }
        let found = self.micros.binary_search(&micros);
        self.last = found.unwrap_or_else(|next| next);
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_answer_is_that_of_a_search(
            times in prop::collection::btree_set(-20_i64..20, 0..20),
            asked in prop::collection::vec(-22_i64..22, 0..100),
        ) {
            let times: Vec<Timestamp> =
                times.into_iter().map(|micros| Timestamp::from_micros(micros).unwrap()).collect();
            let mut timeline = Timeline::of(times.iter().copied());
            prop_assert_eq!(timeline.changes(), times.len());
            for micros in asked {
                let at = Timestamp::from_micros(micros).unwrap();
                prop_assert_eq!(timeline.number(micros), times.binary_search(&at));
            }
        }
    }
}
