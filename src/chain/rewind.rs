//! Hashing forward from a checkpoint, while somebody else reads.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use super::{Chain, stands_after};
use crate::model::Identifier;

/// Ids a batch: enough that handing one over costs nothing beside hashing it (4,096 to 16,384
/// measured alike), few enough that a small change never leaves its thread.
const BATCH_IDS: usize = 4_096;

/// Batches on their way to the hashing thread at once.
const BATCHES_AHEAD: usize = 4;

/// A chain that is pushed forward on a thread of its own.
///
/// Reading rows and hashing them in turn on one thread reaches two thirds of the bare chain's
/// speed; side by side, nearly all of it. The first batch is hashed where it was read, so that a
/// small change starts no thread. The memory is that of a few batches, whatever the number of ids.
///
/// Checkpoints are handed back on the thread that reads, since that one has the database.
pub struct Rewind<'scope, 'env, F> {
    scope: &'scope Scope<'scope, 'env>,
    chain: Option<Chain>,
    hasher: Option<Hasher<'scope>>,
    batch: Batch,
    on_checkpoint: F,
    steps: u64,
}

struct Hasher<'scope> {
    to_hash: SyncSender<Batch>,
    hashed: Receiver<Batch>,
    thread: ScopedJoinHandle<'scope, Chain>,
    under_way: usize,
}

/// A run of ids, and the chain after each of those that a checkpoint follows.
#[derive(Default)]
struct Batch {
    text: String,
    ends: Vec<usize>,
    checkpoints: Vec<(usize, Identifier)>,
}

impl<'scope, 'env, F, E> Rewind<'scope, 'env, F>
where
    F: FnMut(&str, Identifier) -> Result<(), E>,
{
    /// Resumes `chain`; `on_checkpoint` is told the chain after each id where a checkpoint stands,
    /// in order, by [`Rewind::push`] and [`Rewind::finish`].
    pub fn resume(scope: &'scope Scope<'scope, 'env>, chain: Chain, on_checkpoint: F) -> Self {
        Rewind {
            scope,
            chain: Some(chain),
            hasher: None,
            batch: Batch::default(),
            on_checkpoint,
            steps: 0,
        }
    }

    /// Takes the next id in canonical order.
    ///
    /// # Errors
    ///
    /// What `on_checkpoint` returns; the rewind is then of no further use.
    pub fn push(&mut self, granule_id: &str) -> Result<(), E> {
        if self.batch.ends.len() == BATCH_IDS {
            self.hand_over()?;
        }
        self.batch.push(granule_id);
        self.steps += 1;
        Ok(())
    }

    /// Hashes what is left; returns the identifier of all ids, and how many were hashed.
    ///
    /// # Errors
    ///
    /// What `on_checkpoint` returns.
    pub fn finish(mut self) -> Result<(Identifier, u64), E> {
        let mut chain = match self.hasher.take() {
            None => self.chain.take().expect("no thread has it"),
            Some(hasher) => {
                drop(hasher.to_hash);
                for batch in hasher.hashed {
                    batch.tell(&mut self.on_checkpoint)?;
                }
                hasher.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        };
        self.batch.hash(&mut chain);
        self.batch.tell(&mut self.on_checkpoint)?;
        Ok((chain.identifier(), self.steps))
    }

    fn hand_over(&mut self) -> Result<(), E> {
        let hasher = match &mut self.hasher {
            Some(hasher) => hasher,
            empty => {
                let chain = self.chain.take().expect("no thread has it yet");
                empty.insert(Hasher::spawn(self.scope, chain))
            }
        };
        let mut next = Batch::default();
        if hasher.under_way == BATCHES_AHEAD {
            next = hasher.hashed.recv().expect("the thread sends back each batch");
            hasher.under_way -= 1;
            next.tell(&mut self.on_checkpoint)?;
            next.clear();
        }
        let full = std::mem::replace(&mut self.batch, next);
        hasher.to_hash.send(full).expect("the thread takes each batch");
        hasher.under_way += 1;
        Ok(())
    }
}

impl<'scope> Hasher<'scope> {
    fn spawn(scope: &'scope Scope<'scope, '_>, mut chain: Chain) -> Self {
        let (to_hash, batches) = sync_channel::<Batch>(BATCHES_AHEAD);
        let (done, hashed) = sync_channel(BATCHES_AHEAD);
        let thread = scope.spawn(move || {
            for mut batch in batches {
                batch.hash(&mut chain);
                if done.send(batch).is_err() {
                    // The reader gave up: nobody wants the rest.
                    break;
                }
            }
            chain
        });
        Hasher { to_hash, hashed, thread, under_way: 0 }
    }
}

impl Batch {
    fn push(&mut self, granule_id: &str) {
        self.text.push_str(granule_id);
        if stands_after(granule_id) {
            self.checkpoints.push((self.ends.len(), Identifier::EMPTY));
        }
        self.ends.push(self.text.len());
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.checkpoints.clear();
    }

    fn granule_id(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }

    fn hash(&mut self, chain: &mut Chain) {
        let mut hashed = 0;
        for checkpoint in 0..self.checkpoints.len() {
            let after = self.checkpoints[checkpoint].0 + 1;
            (hashed..after).for_each(|index| chain.push(self.granule_id(index)));
            self.checkpoints[checkpoint].1 = chain.identifier();
            hashed = after;
        }
        (hashed..self.ends.len()).for_each(|index| chain.push(self.granule_id(index)));
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
    use super::*;

    fn rewound(count: usize) -> (Identifier, u64, Vec<(String, Identifier)>) {
        let mut checkpoints = Vec::new();
        let (identifier, steps) = std::thread::scope(|scope| {
            let mut rewind = Rewind::resume(scope, Chain::start(), |granule_id: &str, chain| {
                checkpoints.push((granule_id.to_owned(), chain));
                Ok::<(), ()>(())
            });
            for n in 0..count {
                rewind.push(&format!("granule.{n:08}"))?;
            }
            rewind.finish()
        })
        .unwrap();
        (identifier, steps, checkpoints)
    }

    #[test]
    fn it_is_the_chain_with_and_without_a_thread() {
        for count in [0, 1, BATCH_IDS - 1, BATCH_IDS, BATCH_IDS + 1, 9 * BATCH_IDS + 17] {
            let mut chain = Chain::start();
            let mut checkpoints = Vec::new();
            for n in 0..count {
                let granule_id = format!("granule.{n:08}");
                chain.push(&granule_id);
                if stands_after(&granule_id) {
                    checkpoints.push((granule_id, chain.identifier()));
                }
            }
            assert_eq!(rewound(count), (chain.identifier(), count as u64, checkpoints));
        }
        assert!(!rewound(9 * BATCH_IDS).2.is_empty());
    }

    #[test]
    fn a_failing_checkpoint_ends_it_without_hanging() {
        let result = std::thread::scope(|scope| {
            let mut rewind = Rewind::resume(scope, Chain::start(), |_: &str, _| Err("disk full"));
            for n in 0..20 * BATCH_IDS {
                rewind.push(&format!("granule.{n:08}"))?;
            }
            rewind.finish()
        });
        assert_eq!(result, Err("disk full"));
    }
}
