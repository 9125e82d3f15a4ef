//! Hashing on a thread of its own, while the caller reads the ids.

use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::is_checkpoint;
use super::sweep::Sweep;
use crate::model::Identifier;

/// Ids in a batch: enough that handing one over costs little compared to hashing it (4,096 to 16,384
/// were measured to be equally fast), and few enough that a small change never starts the thread.
const BATCH_IDS: usize = 4_096;

/// How many batches can be on the hashing thread at the same time.
const BATCHES_AHEAD: usize = 4;

/// A [`Sweep`] that runs on a thread of its own. A rewind is a sweep over two instances: the one in
/// force, and the new one.
///
/// Reading rows and hashing them in turn on one thread reaches two thirds of the speed of the chain
/// alone; reading and hashing at the same time reaches nearly all of it. The last batch is hashed on
/// the calling thread, so a change of at most one batch starts no thread. The memory needed is that
/// of a few batches, whatever the number of ids.
///
/// The thread with less work decides which ids a checkpoint follows: the caller in a rewind, since reading
/// a row takes less time than pushing it to two chains, and else the hashing thread.
///
/// If it is dropped before [`Hashing::finish`], the thread ends after the batches that it has.
pub struct Hashing {
    /// `None` means that the hashing thread has it.
    pass: Option<Pass>,
    /// `None` means that no batch has been full yet.
    thread: Option<HashingThread>,
    batch: Batch,
    /// Whether the calling thread looks for checkpoints.
    finds_checkpoints: bool,
}

/// What hashing a batch continues.
struct Pass {
    sweep: Sweep,
    /// How many of the ids that were added the last instance holds.
    held: u64,
    /// Whether the hashing thread looks for checkpoints.
    finds_checkpoints: bool,
}

struct HashingThread {
    to_hash: SyncSender<Batch>,
    hashed: Receiver<Batch>,
    handle: JoinHandle<Pass>,
    /// How many batches have been sent and not been received back.
    pending: usize,
}

/// A run of ids and the instances that hold each of them.
#[derive(Default)]
struct Batch {
    /// The ids, one directly after the other.
    text: String,
    /// Where each id ends in `text`.
    ends: Vec<usize>,
    /// The instances that hold each id.
    instances: Vec<Range<usize>>,
    /// The indices of the ids that a checkpoint follows.
    checkpoints: Vec<usize>,
    /// The checkpoints that hashing it reached.
    reached: Vec<Reached>,
}

/// A checkpoint that the hashing reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// The id that the checkpoint follows, which the last instance holds.
    pub granule_id: String,
    /// The identifier of the granules that the last instance holds up to that id.
    pub identifier: Identifier,
    /// How many of the ids up to that one the last instance holds, of those that were added here.
    pub held: u64,
}

impl Hashing {
    /// Continues `sweep`, and looks for no checkpoints.
    pub fn of(sweep: Sweep) -> Self {
        let pass = Pass { sweep, held: 0, finds_checkpoints: false };
        let batch = Batch::default();
        Hashing { pass: Some(pass), thread: None, batch, finds_checkpoints: false }
    }

    /// Continues `sweep`, and looks for the checkpoints of the last instance.
    pub fn with_checkpoints(sweep: Sweep) -> Self {
        let is_rewind = sweep.instances() == 2;
        let pass = Pass { sweep, held: 0, finds_checkpoints: !is_rewind };
        let batch = Batch::default();
        Hashing { pass: Some(pass), thread: None, batch, finds_checkpoints: is_rewind }
    }

    /// Adds a granule that these instances hold, as [`Sweep::hold`] does. Returns the checkpoints that
    /// were reached since the last call, in order.
    pub fn hold(&mut self, granule_id: &str, instances: Range<usize>) -> Vec<Reached> {
        let reached = if self.batch.is_full() { self.hand_over() } else { Vec::new() };
        if self.finds_checkpoints && is_checkpoint(granule_id) {
            self.batch.checkpoints.push(self.batch.ends.len());
        }
        self.batch.push(granule_id, instances);
        reached
    }

    /// Hashes the remaining ids. Returns the sweep, which then has all identifiers, and the remaining
    /// checkpoints.
    pub fn finish(mut self) -> (Sweep, Vec<Reached>) {
        let mut reached = Vec::new();
        let mut pass = match self.thread.take() {
            None => self.pass.take().expect("the pass is here while there is no thread"),
            Some(thread) => {
                drop(thread.to_hash);
                reached.extend(thread.hashed.into_iter().flat_map(|batch| batch.reached));
                thread.handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        };
        self.batch.hash(&mut pass);
        reached.append(&mut self.batch.reached);
        (pass.sweep, reached)
    }

    /// Sends the full batch to the thread, and takes an empty one. Returns the checkpoints of the batch
    /// that the thread sent back.
    fn hand_over(&mut self) -> Vec<Reached> {
        let thread = match &mut self.thread {
            Some(thread) => thread,
            none => {
                let pass = self.pass.take().expect("the pass is here while there is no thread");
                none.insert(HashingThread::spawn(pass))
            }
        };
        let mut next = Batch::default();
        if thread.pending == BATCHES_AHEAD {
            next = thread.hashed.recv().expect("the thread sends each batch back");
            thread.pending -= 1;
        }
        let reached = std::mem::take(&mut next.reached);
        next.clear();
        let full = std::mem::replace(&mut self.batch, next);
        thread.to_hash.send(full).expect("the thread receives each batch");
        thread.pending += 1;
        reached
    }
}

impl HashingThread {
    fn spawn(mut pass: Pass) -> Self {
        let (to_hash, batches) = sync_channel::<Batch>(BATCHES_AHEAD);
        let (done, hashed) = sync_channel(BATCHES_AHEAD);
        let handle = std::thread::spawn(move || {
            for mut batch in batches {
                batch.hash(&mut pass);
                if done.send(batch).is_err() {
                    // The caller stopped early, so the remaining batches are not needed.
                    break;
                }
            }
            pass
        });
        HashingThread { to_hash, hashed, handle, pending: 0 }
    }
}

impl Batch {
    fn is_full(&self) -> bool {
        self.ends.len() == BATCH_IDS
    }

    fn push(&mut self, granule_id: &str, instances: Range<usize>) {
        self.text.push_str(granule_id);
        self.ends.push(self.text.len());
        self.instances.push(instances);
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.instances.clear();
        self.checkpoints.clear();
    }

    fn granule_id(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }

    /// Adds all ids to the sweep, and notes the identifier at each checkpoint. Consecutive ids that the
    /// same instances hold are added together, up to a checkpoint, so that the links of one chain or of two
    /// stay in registers.
    fn hash(&mut self, pass: &mut Pass) {
        let Pass { sweep, held, finds_checkpoints } = pass;
        if *finds_checkpoints {
            let latest = sweep.instances();
            let is_one = |index: &usize| {
                self.instances[*index].end == latest && is_checkpoint(self.granule_id(*index))
            };
            self.checkpoints = (0..self.ends.len()).filter(is_one).collect();
        }
        let mut checkpoints = self.checkpoints.iter().copied().peekable();
        let mut start = 0;
        for alike in self.instances.chunk_by(|a, b| a == b) {
            let (instances, end) = (alike[0].clone(), start + alike.len());
            let are_latest = !instances.is_empty() && instances.end == sweep.instances();
            while start < end {
                let last = checkpoints.next_if(|last| *last < end);
                let next = last.map_or(end, |last| last + 1);
                let granule_ids = (start..next).map(|index| self.granule_id(index));
                sweep.hold_each(granule_ids, instances.clone());
                *held += if are_latest { (next - start) as u64 } else { 0 };
                if let Some(last) = last.filter(|_| are_latest) {
                    let granule_id = self.granule_id(last).to_owned();
                    let (identifier, held) = (sweep.latest(), *held);
                    self.reached.push(Reached { granule_id, identifier, held });
                }
                start = next;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Chain;
    use super::*;

    /// The latest identifier, the steps and the checkpoints of a history of so many instances, all of
    /// which hold these granules.
    fn hashed(count: usize, instances: usize) -> (Identifier, u64, Vec<Reached>) {
        let mut hashing = Hashing::with_checkpoints(Sweep::over(instances));
        let mut without = Hashing::of(Sweep::over(instances));
        let mut reached = Vec::new();
        for n in 0..count {
            reached.append(&mut hashing.hold(&format!("granule.{n:08}"), 0..instances));
            assert_eq!(without.hold(&format!("granule.{n:08}"), 0..instances), []);
        }
        let (sweep, rest) = hashing.finish();
        reached.extend(rest);
        let (without, none) = without.finish();
        assert_eq!((without.latest(), none), (sweep.latest(), Vec::new()));
        (sweep.latest(), sweep.steps(), reached)
    }

    #[test]
    fn the_result_is_that_of_the_chain_with_and_without_a_thread() {
        for count in [0, 1, BATCH_IDS - 1, BATCH_IDS, BATCH_IDS + 1, 30 * BATCH_IDS + 17] {
            let mut chain = Chain::start();
            let mut reached = Vec::new();
            for held in 1..=count as u64 {
                let granule_id = format!("granule.{:08}", held - 1);
                chain.push(&granule_id);
                if is_checkpoint(&granule_id) {
                    reached.push(Reached { granule_id, identifier: chain.identifier(), held });
                }
            }
            for instances in [1, 2, 3] {
                let expected = (chain.identifier(), count as u64, reached.clone());
                assert_eq!(hashed(count, instances), expected);
            }
        }
        assert!(!hashed(9 * BATCH_IDS, 2).2.is_empty());
    }

    #[test]
    fn a_hashing_that_is_dropped_early_ends_without_a_deadlock() {
        let mut hashing = Hashing::with_checkpoints(Sweep::over(1));
        for n in 0..20 * BATCH_IDS {
            hashing.hold(&format!("granule.{n:08}"), 0..1);
        }
        drop(hashing);
    }
}
