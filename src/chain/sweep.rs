//! All identifiers of a history in one pass over its granules.

use std::ops::Range;

use super::step::{self, Link};
use crate::model::Identifier;

/// All identifiers of a history, in one pass over its granules in canonical order.
///
/// The instances of a history are numbered 0, 1, 2 … in time. A *run* is a row of consecutive
/// instances whose held granules have been the same so far: they share one running chain. A granule
/// held in the instances `a..b` cuts the runs at `a` and `b`, and is pushed to those inside. So the
/// cost is one step for each granule and each run that holds it, at most that of every instance
/// afresh, and for a history of appends just one step a granule. The memory is that of the runs.
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
#[derive(Debug)]
pub struct Sweep {
    instances: usize,
    runs: Vec<Run>,
    steps: u64,
    scratch: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    first: usize,
    link: Link,
}

impl Sweep {
    /// A sweep over a history of so many instances, none of which holds anything yet.
    pub fn over(instances: usize) -> Self {
        Sweep { instances, runs: vec![Run { first: 0, link: None }], steps: 0, scratch: Vec::new() }
    }

    /// Takes a granule held in these instances. Ids come in canonical order; the stays of one id
    /// come one after the other and do not overlap.
    pub fn hold(&mut self, granule_id: &str, instances: Range<usize>) {
        if instances.is_empty() {
            return;
        }
        let from = self.cut(instances.start);
        let to = self.cut(instances.end);
        for run in &mut self.runs[from..to] {
            run.link = Some(step::step(run.link, granule_id, &mut self.scratch));
        }
        self.steps += (to - from) as u64;
    }

    /// The identifier of the last instance's granules so far.
    pub fn latest(&self) -> Identifier {
        step::identifier(self.runs.last().expect("there is always a run").link)
    }

    /// How many chain steps were hashed.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The identifier of each instance, in order.
    pub fn identifiers(&self) -> impl Iterator<Item = Identifier> + '_ {
        let ends = self.runs[1..].iter().map(|run| run.first).chain([self.instances]);
        self.runs
            .iter()
            .zip(ends)
            .flat_map(|(run, end)| std::iter::repeat_n(step::identifier(run.link), end - run.first))
    }

    /// Makes a run begin at `instance`; returns its index, or the number of runs past the last.
    fn cut(&mut self, instance: usize) -> usize {
        if instance >= self.instances {
            return self.runs.len();
        }
        match self.runs.binary_search_by_key(&instance, |run| run.first) {
            Ok(index) => index,
            Err(index) => {
                let link = self.runs[index - 1].link;
                self.runs.insert(index, Run { first: instance, link });
                index
            }
        }
    }
}
