//! The hashes of all sets of a history in one pass over its granules.

use std::ops::Range;

use crate::EMPTY;
use crate::lanes::Lanes;
use crate::step::{self, ChainLink, Message};

/// The hashes of all sets of a history, in one pass over its granules in canonical order.
///
/// The instances of a history are numbered 0, 1, 2 … in order of time. A *run* is a sequence of consecutive
/// instances that hold the same granules so far: they share one running chain. A granule that the instances
/// `a..b` hold splits the runs at `a` and `b`. It is pushed to the runs between, side by side in the
/// processor's vectors. The cost is one step for each granule and each run that holds it. That is at most as
/// much as hashing every instance from its start, and one step for each granule in a history of appends. The
/// memory depends on the number of runs, not on the number of granules.
///
/// # Examples
///
/// ```
/// use accession_chain::{Chain, Sweep};
///
/// // Instance 0 holds A and C; B is ingested in instance 1; A is deleted in instance 2.
/// let mut sweep = Sweep::over(3);
/// sweep.hold("A", 0..2);
/// sweep.hold("B", 1..3);
/// sweep.hold("C", 0..3);
/// let hashes: Vec<_> = sweep.hashes().collect();
///
/// let mut chain = Chain::default();
/// chain.push("B");
/// chain.push("C");
/// assert_eq!(hashes[2], chain.hash());
/// ```
#[derive(Debug, Clone)]
pub struct Sweep {
    instances: usize,
    lanes: Lanes,
    /// The first instance of each run, ascending.
    firsts: Vec<usize>,
    /// The links of the runs: the first word of each, then the second word of each, and so on.
    words: [Vec<u32>; 4],
    /// Whether each run holds no granule yet. The words of such a run have no meaning.
    are_empty: Vec<bool>,
    /// The number of runs that hold no granule yet.
    empty: usize,
    steps: u64,
    message: Message,
}

impl Sweep {
    /// Starts a sweep over this many instances. No instance holds a granule yet.
    pub fn over(instances: usize) -> Self {
        Sweep::resume(instances, EMPTY)
    }

    /// Resumes a sweep over this many instances. Each instance holds the granules that have this hash.
    pub fn resume(instances: usize, hash: [u8; 16]) -> Self {
        let link = step::link(hash);
        Sweep {
            instances,
            lanes: Lanes::fastest(),
            firsts: vec![0],
            words: link.unwrap_or_default().map(|word| vec![word]),
            are_empty: vec![link.is_none()],
            empty: usize::from(link.is_none()),
            steps: 0,
            message: Message::default(),
        }
    }

    /// The same sweep with other instructions than the fastest, for tests and benchmarks.
    pub fn with_lanes(self, lanes: Lanes) -> Self {
        Sweep { lanes, ..self }
    }

    /// Adds a granule that these instances hold.
    ///
    /// The caller must pass the ids in canonical order. The holding periods of one id are passed one after the
    /// other, and must not overlap.
    pub fn hold(&mut self, granule_id: &str, instances: Range<usize>) {
        self.hold_each(&mut std::iter::once(granule_id), instances);
    }

    /// Adds granules that the same instances hold, like a call of [`Sweep::hold`] for each. For one or two
    /// runs, which is the case in a change, the links stay in registers from id to id.
    ///
    /// The iterator is a trait object so that the loop is compiled here, where the development profile
    /// optimises it.
    pub fn hold_each(
        &mut self,
        granule_ids: &mut dyn Iterator<Item = &str>,
        instances: Range<usize>,
    ) {
        if instances.is_empty() {
            return;
        }
        let runs = self.split_at(instances.start)..self.split_at(instances.end);
        if runs.len() == 1 {
            return self.hold_in_one(granule_ids, runs.start);
        }
        while runs.len() > 2 || self.empty > 0 {
            let Some(granule_id) = granule_ids.next() else { return };
            self.hold_in_many(granule_id, runs.clone());
        }
        self.hold_in_two(granule_ids, runs.start);
    }

    fn hold_in_one(&mut self, granule_ids: &mut dyn Iterator<Item = &str>, run: usize) {
        let mut link = self.link(run);
        for granule_id in granule_ids {
            link = Some(step::step(link, granule_id, &mut self.message));
            self.steps += 1;
        }
        let Some(link) = link else { return };
        self.set_link(run, link);
        if std::mem::take(&mut self.are_empty[run]) {
            self.empty -= 1;
        }
    }

    /// Pushes the ids to this run and the next one. Neither run may be empty.
    fn hold_in_two(&mut self, granule_ids: &mut dyn Iterator<Item = &str>, run: usize) {
        let mut links = [run, run + 1].map(|run| self.words.each_ref().map(|words| words[run]));
        for granule_id in granule_ids {
            self.message.set_next(granule_id);
            links = self.message.hash_next(links);
            self.steps += 2;
        }
        let [first, second] = links;
        self.set_link(run, first);
        self.set_link(run + 1, second);
    }

    fn hold_in_many(&mut self, granule_id: &str, runs: Range<usize>) {
        self.steps += runs.len() as u64;
        self.message.set_next(granule_id);
        let links = self.words.each_mut().map(|words| &mut words[runs.clone()]);
        self.lanes.push(links, &self.message);
        // Empty runs were hashed as well, because leaving lanes out costs more. They are set here.
        if self.empty > 0 {
            self.set_first(granule_id, runs);
        }
    }

    fn set_link(&mut self, run: usize, link: [u32; 4]) {
        for (words, word) in self.words.iter_mut().zip(link) {
            words[run] = word;
        }
    }

    /// Sets the links of the empty runs. This is their first granule.
    fn set_first(&mut self, granule_id: &str, runs: Range<usize>) {
        let mut first = None;
        for run in runs {
            if !self.are_empty[run] {
                continue;
            }
            let link = *first.get_or_insert_with(|| {
                self.message.set_first(granule_id);
                self.message.hash_first()
            });
            self.set_link(run, link);
            self.are_empty[run] = false;
            self.empty -= 1;
        }
    }

    /// The hash of the granules that the last instance holds so far.
    pub fn latest(&self) -> [u8; 16] {
        step::hash(self.link(self.firsts.len() - 1))
    }

    /// The number of instances.
    pub fn instances(&self) -> usize {
        self.instances
    }

    /// The number of chain steps that were hashed.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The hash of each instance, in order.
    pub fn hashes(&self) -> impl Iterator<Item = [u8; 16]> + '_ {
        let ends = self.firsts[1..].iter().copied().chain([self.instances]);
        let lengths = self.firsts.iter().zip(ends).map(|(first, end)| end - first);
        lengths
            .enumerate()
            .flat_map(|(run, length)| std::iter::repeat_n(step::hash(self.link(run)), length))
    }

    fn link(&self, run: usize) -> ChainLink {
        (!self.are_empty[run]).then(|| self.words.each_ref().map(|words| words[run]))
    }

    /// Splits the runs so that one begins at `instance`, and returns its index. If `instance` is after the last
    /// instance, returns the number of runs.
    fn split_at(&mut self, instance: usize) -> usize {
        if instance >= self.instances {
            return self.firsts.len();
        }
        match self.firsts.binary_search(&instance) {
            Ok(run) => run,
            Err(run) => {
                self.firsts.insert(run, instance);
                for words in &mut self.words {
                    words.insert(run, words[run - 1]);
                }
                let is_empty = self.are_empty[run - 1];
                self.are_empty.insert(run, is_empty);
                self.empty += usize::from(is_empty);
                run
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_uses_the_lanes_that_were_set() {
        // All lanes give the same hashes, so no other test would notice if this had no effect.
        for lanes in Lanes::all() {
            assert_eq!(Sweep::over(2).with_lanes(lanes).lanes, lanes);
        }
    }

    #[test]
    fn empty_runs_are_counted_until_their_first_granule() {
        // A count that is too high makes each granule check every run, and has no other effect.
        let mut sweep = Sweep::over(6);
        let mut counts = Vec::new();
        for (granule_id, span) in [("A", 2..3), ("B", 1..5), ("C", 5..6), ("D", 0..6), ("E", 3..4)]
        {
            sweep.hold(granule_id, span);
            assert_eq!(sweep.empty, sweep.are_empty.iter().filter(|is_empty| **is_empty).count());
            counts.push(sweep.empty);
        }
        assert_eq!(counts, [2, 2, 1, 0, 0]);
        let mut resumed = Sweep::resume(2, sweep.latest());
        resumed.hold("F", 0..1);
        assert_eq!(resumed.empty, 0);
    }
}
