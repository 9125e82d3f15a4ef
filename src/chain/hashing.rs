//! Hashing on a thread of its own, while somebody else reads.

use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use super::{Sweep, stands_after};
use crate::model::Identifier;

/// Ids a batch: enough that handing one over costs nothing beside hashing it (4,096 to 16,384
/// measured alike), few enough that a small change never leaves its thread.
const BATCH_IDS: usize = 4_096;

/// Batches on their way to the hashing thread at once.
const BATCHES_AHEAD: usize = 4;

/// A [`Sweep`] that goes on in a thread of its own: a rewind is one over a single instance.
///
/// Reading rows and hashing them in turn on one thread reaches two thirds of the bare chain's
/// speed; side by side, nearly all of it. The first batch is hashed where it was read, so that a
/// small change starts no thread. The memory is that of a few batches, whatever the number of ids.
///
/// Checkpoints are handed back on the thread that reads, since that one has the database.
pub struct Hashing<'scope, 'env, F> {
    scope: &'scope Scope<'scope, 'env>,
    sweep: Option<Sweep>,
    instances: usize,
    thread: Option<Thread<'scope>>,
    batch: Batch,
    on_checkpoint: F,
}

struct Thread<'scope> {
    to_hash: SyncSender<Batch>,
    hashed: Receiver<Batch>,
    handle: ScopedJoinHandle<'scope, Sweep>,
    under_way: usize,
}

/// A run of ids, the instances that hold them, and the chain of the last instance after each of
/// those that a checkpoint follows.
#[derive(Default)]
struct Batch {
    text: String,
    ends: Vec<usize>,
    instances: Vec<Range<usize>>,
    checkpoints: Vec<(usize, Identifier)>,
}

impl<'scope, 'env, F, E> Hashing<'scope, 'env, F>
where
    F: FnMut(&str, Identifier) -> Result<(), E>,
{
    /// Goes on with `sweep`; `on_checkpoint` is told the chain of the last instance after each id
    /// that it holds and where a checkpoint stands, in order, by [`Hashing::hold`] and
    /// [`Hashing::finish`].
    pub fn of(scope: &'scope Scope<'scope, 'env>, sweep: Sweep, on_checkpoint: F) -> Self {
        Hashing {
            scope,
            instances: sweep.instances(),
            sweep: Some(sweep),
            thread: None,
            batch: Batch::default(),
            on_checkpoint,
        }
    }

    /// Takes a granule held in these instances, as [`Sweep::hold`] does.
    ///
    /// # Errors
    ///
    /// What `on_checkpoint` returns; the hashing is then of no further use.
    pub fn hold(&mut self, granule_id: &str, instances: Range<usize>) -> Result<(), E> {
        if self.batch.is_full() {
            self.hand_over()?;
        }
        if !instances.is_empty() && instances.end == self.instances && stands_after(granule_id) {
            self.batch.checkpoints.push((self.batch.ends.len(), Identifier::EMPTY));
        }
        self.batch.push(granule_id, instances);
        Ok(())
    }

    /// Hashes what is left; returns the sweep, which has all identifiers.
    ///
    /// # Errors
    ///
    /// What `on_checkpoint` returns.
    pub fn finish(mut self) -> Result<Sweep, E> {
        let mut sweep = match self.thread.take() {
            None => self.sweep.take().expect("no thread has it"),
            Some(thread) => {
                drop(thread.to_hash);
                for batch in thread.hashed {
                    batch.tell(&mut self.on_checkpoint)?;
                }
                thread.handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        };
        self.batch.hash(&mut sweep);
        self.batch.tell(&mut self.on_checkpoint)?;
        Ok(sweep)
    }

    fn hand_over(&mut self) -> Result<(), E> {
        let thread = match &mut self.thread {
            Some(thread) => thread,
            empty => {
                let sweep = self.sweep.take().expect("no thread has it yet");
                empty.insert(Thread::spawn(self.scope, sweep))
            }
        };
        let mut next = Batch::default();
        if thread.under_way == BATCHES_AHEAD {
            next = thread.hashed.recv().expect("the thread sends back each batch");
            thread.under_way -= 1;
            next.tell(&mut self.on_checkpoint)?;
            next.clear();
        }
        let full = std::mem::replace(&mut self.batch, next);
        thread.to_hash.send(full).expect("the thread takes each batch");
        thread.under_way += 1;
        Ok(())
    }
}

impl<'scope> Thread<'scope> {
    fn spawn(scope: &'scope Scope<'scope, '_>, mut sweep: Sweep) -> Self {
        let (to_hash, batches) = sync_channel::<Batch>(BATCHES_AHEAD);
        let (done, hashed) = sync_channel(BATCHES_AHEAD);
        let handle = scope.spawn(move || {
            for mut batch in batches {
                batch.hash(&mut sweep);
                if done.send(batch).is_err() {
                    // The reader gave up: nobody wants the rest.
                    break;
                }
            }
            sweep
        });
        Thread { to_hash, hashed, handle, under_way: 0 }
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

    fn hash(&mut self, sweep: &mut Sweep) {
        let mut hashed = 0;
        for checkpoint in 0..self.checkpoints.len() {
            let after = self.checkpoints[checkpoint].0 + 1;
            self.hold(hashed..after, sweep);
            self.checkpoints[checkpoint].1 = sweep.latest();
            hashed = after;
        }
        self.hold(hashed..self.ends.len(), sweep);
    }

    fn hold(&self, granules: Range<usize>, sweep: &mut Sweep) {
        for index in granules {
            sweep.hold(self.granule_id(index), self.instances[index].clone());
        }
    }

    fn tell<E>(
        &self,
        on_checkpoint: &mut impl FnMut(&str, Identifier) -> Result<(), E>,
    ) -> Result<(), E> {
        self.checkpoints
            .iter()
            .try_for_each(|&(index, chain)| on_checkpoint(self.granule_id(index), chain))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Chain;
    use super::*;

    fn hashed(count: usize) -> (Identifier, u64, Vec<(String, Identifier)>) {
        let mut checkpoints = Vec::new();
        let sweep = std::thread::scope(|scope| {
            let on_checkpoint = |granule_id: &str, chain| {
                checkpoints.push((granule_id.to_owned(), chain));
                Ok::<(), ()>(())
            };
            let mut hashing = Hashing::of(scope, Sweep::over(1), on_checkpoint);
            for n in 0..count {
                hashing.hold(&format!("granule.{n:08}"), 0..1)?;
            }
            hashing.finish()
        })
        .unwrap();
        (sweep.latest(), sweep.steps(), checkpoints)
    }

    #[test]
    fn it_is_the_chain_with_and_without_a_thread() {
        for count in [0, 1, BATCH_IDS - 1, BATCH_IDS, BATCH_IDS + 1, 30 * BATCH_IDS + 17] {
            let mut chain = Chain::start();
            let mut checkpoints = Vec::new();
            for n in 0..count {
                let granule_id = format!("granule.{n:08}");
                chain.push(&granule_id);
                if stands_after(&granule_id) {
                    checkpoints.push((granule_id, chain.identifier()));
                }
            }
            assert_eq!(hashed(count), (chain.identifier(), count as u64, checkpoints));
        }
        assert!(!hashed(9 * BATCH_IDS).2.is_empty());
    }

    #[test]
    fn a_failing_checkpoint_ends_it_without_hanging() {
        let result = std::thread::scope(|scope| {
            let fail = |_: &str, _| Err("disk full");
            let mut hashing = Hashing::of(scope, Sweep::over(1), fail);
            for n in 0..20 * BATCH_IDS {
                hashing.hold(&format!("granule.{n:08}"), 0..1)?;
            }
            hashing.finish().map(|sweep| sweep.latest())
        });
        assert_eq!(result, Err("disk full"));
    }
}
