//! Hashing on a thread of its own, while the caller reads the ids.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::checkpoint::is_checkpoint;
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
/// The hashing thread also decides which ids a checkpoint follows, since reading a row takes longer
/// than hashing it. Checkpoints are reported on the calling thread, because that thread has the
/// database.
///
/// If it is dropped before [`Hashing::finish`], the thread ends after the batches that it has.
pub struct Hashing<F = NoCheckpoints> {
    /// `None` means that the hashing thread has it.
    pass: Option<Pass>,
    /// `None` means that no batch has been full yet.
    thread: Option<HashingThread>,
    batch: Batch,
    on_checkpoint: F,
}

/// What is done with the checkpoints of a [`Hashing`] that looks for none.
pub type NoCheckpoints = fn(&str, Identifier, u64) -> Result<(), Infallible>;

/// What hashing a batch continues.
struct Pass {
    sweep: Sweep,
    /// How many of the ids that were added the last instance holds.
    held: u64,
    /// Whether checkpoints are looked for.
    reports: bool,
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
    /// The ids that a checkpoint follows, once they are hashed.
    checkpoints: Vec<Reached>,
}

/// A checkpoint that the hashing reaches.
#[derive(Clone, Copy)]
struct Reached {
    /// The index of the id in its batch.
    index: usize,
    /// The identifier of the last instance up to that id.
    identifier: Identifier,
    /// How many ids the last instance holds up to that id, of those that were added here.
    held: u64,
}

impl Hashing {
    /// Continues `sweep`, and looks for no checkpoints.
    pub fn of(sweep: Sweep) -> Self {
        let mut hashing = Hashing::new(sweep, (|_, _, _| Ok(())) as NoCheckpoints);
        if let Some(pass) = &mut hashing.pass {
            pass.reports = false;
        }
        hashing
    }
}

impl<F, E> Hashing<F>
where
    F: FnMut(&str, Identifier, u64) -> Result<(), E>,
{
    /// Continues `sweep`.
    ///
    /// For each id that the last instance holds and that a checkpoint follows, in order,
    /// `on_checkpoint` is called with the id, the identifier of the last instance's granules up to that
    /// id, and how many of these were added here. [`Hashing::hold`] and [`Hashing::finish`] make these calls.
    pub fn new(sweep: Sweep, on_checkpoint: F) -> Self {
        Hashing {
            pass: Some(Pass { sweep, held: 0, reports: true }),
            thread: None,
            batch: Batch::default(),
            on_checkpoint,
        }
    }

    /// Adds a granule that these instances hold, as [`Sweep::hold`] does.
    ///
    /// # Errors
    ///
    /// Whatever `on_checkpoint` returns; the value must not be used after that.
    pub fn hold(&mut self, granule_id: &str, instances: Range<usize>) -> Result<(), E> {
        if self.batch.is_full() {
            self.hand_over()?;
        }
        self.batch.push(granule_id, instances);
        Ok(())
    }

    /// Hashes the remaining ids and returns the sweep, which then has all identifiers.
    ///
    /// # Errors
    ///
    /// Whatever `on_checkpoint` returns.
    pub fn finish(mut self) -> Result<Sweep, E> {
        let mut pass = match self.thread.take() {
            None => self.pass.take().expect("the pass is here while there is no thread"),
            Some(thread) => {
                drop(thread.to_hash);
                for batch in thread.hashed {
                    batch.report_checkpoints(&mut self.on_checkpoint)?;
                }
                thread.handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        };
        self.batch.hash(&mut pass);
        self.batch.report_checkpoints(&mut self.on_checkpoint)?;
        Ok(pass.sweep)
    }

    /// Sends the full batch to the thread, and takes an empty one.
    fn hand_over(&mut self) -> Result<(), E> {
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
            next.report_checkpoints(&mut self.on_checkpoint)?;
            next.clear();
        }
        let full = std::mem::replace(&mut self.batch, next);
        thread.to_hash.send(full).expect("the thread receives each batch");
        thread.pending += 1;
        Ok(())
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

    /// Adds all ids to the sweep, and notes the identifier at each checkpoint.
    fn hash(&mut self, pass: &mut Pass) {
        let Pass { sweep, held, reports } = pass;
        let mut start = 0;
        for (index, (&end, instances)) in self.ends.iter().zip(&self.instances).enumerate() {
            let granule_id = &self.text[start..end];
            start = end;
            sweep.hold(granule_id, instances.clone());
            if instances.is_empty() || instances.end != sweep.instances() {
                continue;
            }
            *held += 1;
            if *reports && is_checkpoint(granule_id) {
                let (identifier, held) = (sweep.latest(), *held);
                self.checkpoints.push(Reached { index, identifier, held });
            }
        }
    }

    fn report_checkpoints<E>(
        &self,
        on_checkpoint: &mut impl FnMut(&str, Identifier, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        self.checkpoints.iter().try_for_each(|reached| {
            on_checkpoint(self.granule_id(reached.index), reached.identifier, reached.held)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Chain;
    use super::*;

    fn hashed(count: usize) -> (Identifier, u64, Vec<(String, Identifier, u64)>) {
        let mut checkpoints = Vec::new();
        let on_checkpoint = |granule_id: &str, chain, held| {
            checkpoints.push((granule_id.to_owned(), chain, held));
            Ok::<(), ()>(())
        };
        let mut hashing = Hashing::new(Sweep::over(1), on_checkpoint);
        let mut unreported = Hashing::of(Sweep::over(1));
        for n in 0..count {
            hashing.hold(&format!("granule.{n:08}"), 0..1).unwrap();
            let Ok(()) = unreported.hold(&format!("granule.{n:08}"), 0..1);
        }
        let sweep = hashing.finish().unwrap();
        let Ok(unreported) = unreported.finish();
        assert_eq!(unreported.latest(), sweep.latest());
        (sweep.latest(), sweep.steps(), checkpoints)
    }

    #[test]
    fn the_result_is_that_of_the_chain_with_and_without_a_thread() {
        for count in [0, 1, BATCH_IDS - 1, BATCH_IDS, BATCH_IDS + 1, 30 * BATCH_IDS + 17] {
            let mut chain = Chain::start();
            let mut checkpoints = Vec::new();
            for n in 0..count {
                let granule_id = format!("granule.{n:08}");
                chain.push(&granule_id);
                if is_checkpoint(&granule_id) {
                    checkpoints.push((granule_id, chain.identifier(), n as u64 + 1));
                }
            }
            assert_eq!(hashed(count), (chain.identifier(), count as u64, checkpoints));
        }
        assert!(!hashed(9 * BATCH_IDS).2.is_empty());
    }

    #[test]
    fn an_error_of_on_checkpoint_ends_the_hashing_without_a_deadlock() {
        let hash = || {
            let fail = |_: &str, _, _| Err("disk full");
            let mut hashing = Hashing::new(Sweep::over(1), fail);
            for n in 0..20 * BATCH_IDS {
                hashing.hold(&format!("granule.{n:08}"), 0..1)?;
            }
            hashing.finish().map(|sweep| sweep.latest())
        };
        assert_eq!(hash(), Err("disk full"));
    }
}
