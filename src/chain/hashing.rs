//! Hashing on a thread of its own, while the caller reads the ids.

use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::is_checkpoint;
use super::list::{List, Lists};
use super::sweep::Sweep;
use crate::model::{Digest, Identifier};

/// Ids in a batch: enough that handing one over costs little compared to hashing it (4,096 to 16,384
/// were measured to be equally fast), and few enough that a small change never starts the thread.
const BATCH_IDS: usize = 4_096;

/// The bytes of ids and lines at which a batch is full: what is known of a granule may be as long as this.
const BATCH_BYTES: usize = 4 * 1_024 * 1_024;

/// How many batches can be on the hashing thread at the same time.
const BATCHES_AHEAD: usize = 4;

/// A [`Sweep`] that runs on a thread of its own, and the canonical lists beside it if they are asked for. A rewind is a sweep over two instances: the one in
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
    /// `None` means that only the names are hashed.
    lists: Option<Lists>,
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

/// The line of a granule in the canonical lists of some instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The line, with its line end.
    pub bytes: Vec<u8>,
    /// The instances of which it is a line.
    pub instances: Range<usize>,
}

/// A run of ids and the instances that hold each of them.
#[derive(Default)]
struct Batch {
    /// The ids, each with LF after it: the lines of those of whose files nothing is known.
    text: String,
    /// Where the line of each id ends in `text`.
    ends: Vec<usize>,
    /// The indices of the ids of whose files something is known, with their lines.
    lines: Vec<(usize, Vec<Line>)>,
    line_bytes: usize,
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
    /// The state of the list of the last instance, up to that id. `None` means that there are no lists.
    pub list: Option<Vec<u8>>,
    /// How many of the ids up to that one the last instance holds, of those that were added here.
    pub held: u64,
}

/// What was hashed.
pub struct Hashed {
    /// The sweep, which has all identifiers.
    pub sweep: Sweep,
    /// The lists, which have all digests. `None` means that only the names were hashed.
    pub lists: Option<Lists>,
    /// The checkpoints that were not returned before.
    pub reached: Vec<Reached>,
}

impl Hashed {
    /// The identifiers and the digests of the instances, in order. Without lists there are none.
    pub fn sets(&self) -> impl Iterator<Item = (Identifier, Digest)> + '_ {
        let digests = self.lists.iter().flat_map(Lists::digests);
        self.sweep.identifiers().zip(digests)
    }
}

impl Hashing {
    /// Continues `sweep`, with no lists, and looks for no checkpoints.
    pub fn of(sweep: Sweep) -> Self {
        Hashing::new(sweep, None)
    }

    /// Continues `sweep`, and the lists of its instances with this one, and looks for no checkpoints.
    pub fn with_lists(sweep: Sweep, list: List) -> Self {
        let lists = Lists::resume(sweep.instances(), list);
        Hashing::new(sweep, Some(lists))
    }

    fn new(sweep: Sweep, lists: Option<Lists>) -> Self {
        let pass = Pass { sweep, lists, held: 0, finds_checkpoints: false };
        let batch = Batch::default();
        Hashing { pass: Some(pass), thread: None, batch, finds_checkpoints: false }
    }

    /// As [`Hashing::with_lists`], and looks for the checkpoints of the last instance.
    pub fn with_checkpoints(sweep: Sweep, list: List) -> Self {
        let is_rewind = sweep.instances() == 2;
        let mut hashing = Hashing::with_lists(sweep, list);
        hashing.finds_checkpoints = is_rewind;
        if let Some(pass) = &mut hashing.pass {
            pass.finds_checkpoints = !is_rewind;
        }
        hashing
    }

    /// Adds a granule that these instances hold, as [`Sweep::hold`] does, of whose files nothing is known.
    /// Returns the checkpoints that were reached since the last call, in order.
    pub fn hold(&mut self, granule_id: &str, instances: Range<usize>) -> Vec<Reached> {
        self.hold_lines(granule_id, instances, Vec::new())
    }

    /// The same of a granule with its lines in the lists of these instances. No line means that nothing is
    /// known of its files.
    pub fn hold_lines(
        &mut self,
        granule_id: &str,
        instances: Range<usize>,
        lines: Vec<Line>,
    ) -> Vec<Reached> {
        let reached = if self.batch.is_full() { self.hand_over() } else { Vec::new() };
        if self.finds_checkpoints && is_checkpoint(granule_id) {
            self.batch.checkpoints.push(self.batch.ends.len());
        }
        self.batch.push(granule_id, instances, lines);
        reached
    }

    /// Hashes the remaining ids.
    pub fn finish(mut self) -> Hashed {
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
        Hashed { sweep: pass.sweep, lists: pass.lists, reached }
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
        self.ends.len() == BATCH_IDS || self.line_bytes >= BATCH_BYTES
    }

    fn push(&mut self, granule_id: &str, instances: Range<usize>, lines: Vec<Line>) {
        if !lines.is_empty() {
            self.line_bytes += lines.iter().map(|line| line.bytes.len()).sum::<usize>();
            self.lines.push((self.ends.len(), lines));
        }
        self.text.push_str(granule_id);
        self.text.push('\n');
        self.ends.push(self.text.len());
        self.instances.push(instances);
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.lines.clear();
        self.line_bytes = 0;
        self.instances.clear();
        self.checkpoints.clear();
    }

    /// Where the line of an id begins in `text`. Of the id after the last, where it ends.
    fn start(&self, index: usize) -> usize {
        if index == 0 { 0 } else { self.ends[index - 1] }
    }

    fn granule_id(&self, index: usize) -> &str {
        &self.text[self.start(index)..self.ends[index] - 1]
    }

    /// Adds the lines of some ids, which these instances hold, to the lists.
    fn list(&self, ids: Range<usize>, instances: &Range<usize>, lists: &mut Lists) {
        let known = self.lines.partition_point(|(index, _)| *index < ids.start);
        let mut start = ids.start;
        let known = self.lines[known..].iter().take_while(|(index, _)| *index < ids.end);
        for (index, lines) in known {
            let names = &self.text[self.start(start)..self.start(*index)];
            lists.push(names.as_bytes(), instances.clone());
            for Line { bytes, instances } in lines {
                lists.push(bytes, instances.clone());
            }
            start = index + 1;
        }
        let names = &self.text[self.start(start)..self.start(ids.end)];
        lists.push(names.as_bytes(), instances.clone());
    }

    /// Adds all ids to the sweep, and notes the identifier at each checkpoint. Consecutive ids that the
    /// same instances hold are added together, up to a checkpoint, so that the links of one chain or of two
    /// stay in registers.
    fn hash(&mut self, pass: &mut Pass) {
        let Pass { sweep, lists, held, finds_checkpoints } = pass;
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
                if let Some(lists) = lists {
                    self.list(start..next, &instances, lists);
                }
                *held += if are_latest { (next - start) as u64 } else { 0 };
                if let Some(last) = last.filter(|_| are_latest) {
                    let granule_id = self.granule_id(last).to_owned();
                    let (identifier, held) = (sweep.latest(), *held);
                    let list = lists.as_ref().map(|lists| lists.last().save());
                    self.reached.push(Reached { granule_id, identifier, list, held });
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
        let mut hashing = Hashing::with_checkpoints(Sweep::over(instances), List::start());
        let mut without = Hashing::of(Sweep::over(instances));
        let mut reached = Vec::new();
        for n in 0..count {
            reached.append(&mut hashing.hold(&format!("granule.{n:08}"), 0..instances));
            assert_eq!(without.hold(&format!("granule.{n:08}"), 0..instances), []);
        }
        let Hashed { sweep, reached: rest, .. } = hashing.finish();
        reached.extend(rest);
        let names = without.finish();
        assert_eq!((names.sweep.latest(), names.reached), (sweep.latest(), Vec::new()));
        (sweep.latest(), sweep.steps(), reached)
    }

    #[test]
    fn the_result_is_that_of_the_chain_with_and_without_a_thread() {
        for count in [0, 1, BATCH_IDS - 1, BATCH_IDS, BATCH_IDS + 1, 30 * BATCH_IDS + 17] {
            let (mut chain, mut list) = (Chain::start(), List::start());
            let mut reached = Vec::new();
            for held in 1..=count as u64 {
                let granule_id = format!("granule.{:08}", held - 1);
                chain.push(&granule_id);
                list.push(format!("{granule_id}\n").as_bytes());
                if is_checkpoint(&granule_id) {
                    let (identifier, list) = (chain.identifier(), Some(list.save()));
                    reached.push(Reached { granule_id, identifier, list, held });
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
        let mut hashing = Hashing::with_checkpoints(Sweep::over(1), List::start());
        for n in 0..20 * BATCH_IDS {
            hashing.hold(&format!("granule.{n:08}"), 0..1);
        }
        drop(hashing);
    }

    #[test]
    fn lines_of_granules_are_hashed_where_their_ids_are() {
        let mut hashing = Hashing::with_lists(Sweep::over(3), List::start());
        let mut texts = vec![String::new(); 3];
        for n in 0..2 * BATCH_IDS {
            let granule_id = format!("granule.{n:08}");
            let mut lines = Vec::new();
            for (instance, text) in texts.iter_mut().enumerate() {
                let files = if n % 7 == instance { "\tsize:1" } else { "" };
                text.push_str(&format!("{granule_id}{files}\n"));
                if n % 7 < 3 {
                    let bytes = format!("{granule_id}{files}\n").into_bytes();
                    lines.push(Line { bytes, instances: instance..instance + 1 });
                }
            }
            hashing.hold_lines(&granule_id, 0..3, lines);
        }
        let digests: Vec<Digest> = hashing.finish().sets().map(|(_, digest)| digest).collect();
        let expected = texts.iter().map(|text| {
            let mut list = List::start();
            list.push(text.as_bytes());
            list.digest()
        });
        assert_eq!(digests, expected.collect::<Vec<_>>());
    }
}
