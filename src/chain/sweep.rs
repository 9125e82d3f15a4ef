//! All identifiers of a history in one pass over its granules.

use std::ops::Range;

use super::lanes::Lanes;
use super::step::{self, Link, Message};
use crate::model::Identifier;

/// All identifiers of a history, in one pass over its granules in canonical order.
///
/// The instances of a history are numbered 0, 1, 2 … in time. A *run* is a row of consecutive
/// instances whose held granules have been the same so far: they share one running chain. A granule
/// held in the instances `a..b` cuts the runs at `a` and `b`, and is pushed to those inside, side by
/// side in the processor's vectors. So the cost is one step for each granule and each run that
/// holds it, at most that of every instance afresh, and for a history of appends just one step a
/// granule. The memory is that of the runs, whatever the number of granules.
///
/// Source: design.md, The chain, the rewind, the sweep.
///
/// # Examples
///
/// ```
/// use accession::chain::{Chain, Sweep};
///
/// // Instance 0 holds A and C; instance 1 has B as well; instance 2 has lost A.
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
pub struct Sweep {
    instances: usize,
    lanes: Lanes,
    /// The first instance of each run, ascending.
    firsts: Vec<usize>,
    /// The links of the runs, as [`Lanes`] takes them: the first words of all, and so on.
    words: [Vec<u32>; 4],
    /// Whether a run holds nothing yet, and how many do: their words mean nothing.
    are_empty: Vec<bool>,
    empty: usize,
    steps: u64,
    message: Message,
}

impl Sweep {
    /// A sweep over a history of so many instances, none of which holds anything yet.
    pub fn over(instances: usize) -> Self {
        Sweep::resume(instances, Identifier::EMPTY)
    }

    /// A sweep over so many instances that all hold the same granules so far, those of
    /// `identifier`.
    pub fn resume(instances: usize, identifier: Identifier) -> Self {
        let link = step::link(identifier);
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

    /// The same with other instructions than the fastest: the plain ones are the oracle.
    pub fn with_lanes(self, lanes: Lanes) -> Self {
        Sweep { lanes, ..self }
    }

    /// Takes a granule held in these instances. Ids come in canonical order; the stays of one id
    /// come one after the other and do not overlap.
    pub fn hold(&mut self, granule_id: &str, instances: Range<usize>) {
        if instances.is_empty() {
            return;
        }
        let runs = self.cut(instances.start)..self.cut(instances.end);
        self.steps += runs.len() as u64;
        if runs.len() == 1 {
            // As in every rewind, and in a history of appends.
            return self.hold_in_one(granule_id, runs.start);
        }
        self.message.behind_link(granule_id);
        let links = self.words.each_mut().map(|words| &mut words[runs.clone()]);
        self.lanes.push(links, &self.message);
        // Runs that were empty took part, since leaving lanes out costs more; now they are put
        // right.
        if self.empty > 0 {
            self.begin(granule_id, runs);
        }
    }

    fn hold_in_one(&mut self, granule_id: &str, run: usize) {
        let link = step::step(self.link(run), granule_id, &mut self.message);
        for (words, word) in self.words.iter_mut().zip(link) {
            words[run] = word;
        }
        if std::mem::take(&mut self.are_empty[run]) {
            self.empty -= 1;
        }
    }

    /// Makes this the first granule of the runs that hold none.
    fn begin(&mut self, granule_id: &str, runs: Range<usize>) {
        let mut first = None;
        for run in runs {
            if !self.are_empty[run] {
                continue;
            }
            let link = *first.get_or_insert_with(|| {
                self.message.first(granule_id);
                self.message.hash_first()
            });
            for (words, word) in self.words.iter_mut().zip(link) {
                words[run] = word;
            }
            self.are_empty[run] = false;
            self.empty -= 1;
        }
    }

    /// The identifier of the last instance's granules so far.
    pub fn latest(&self) -> Identifier {
        step::identifier(self.link(self.firsts.len() - 1))
    }

    /// Over how many instances it goes.
    pub fn instances(&self) -> usize {
        self.instances
    }

    /// How many chain steps were hashed.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The identifier of each instance, in order.
    pub fn identifiers(&self) -> impl Iterator<Item = Identifier> + '_ {
        let ends = self.firsts[1..].iter().copied().chain([self.instances]);
        let lengths = self.firsts.iter().zip(ends).map(|(first, end)| end - first);
        lengths
            .enumerate()
            .flat_map(|(run, length)| std::iter::repeat_n(step::identifier(self.link(run)), length))
    }

    fn link(&self, run: usize) -> Link {
        (!self.are_empty[run]).then(|| self.words.each_ref().map(|words| words[run]))
    }

    /// Makes a run begin at `instance`; returns its index, or the number of runs past the last.
    fn cut(&mut self, instance: usize) -> usize {
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
    fn a_sweep_uses_the_lanes_that_it_is_given() {
        // All give the same identifiers: what is compared with the plain ones would be itself.
        for lanes in Lanes::all() {
            assert_eq!(Sweep::over(2).with_lanes(lanes).lanes, lanes);
        }
    }

    #[test]
    fn empty_runs_are_counted_until_their_first_granule() {
        // A count too high costs a look at every run for each granule, and shows nowhere else.
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
