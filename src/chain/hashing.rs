//! Hashing on other threads, while the caller reads the ids.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{JoinHandle, available_parallelism};

use super::Chain;
use super::list::{CanonicalList, CanonicalLists};
use super::sweep::Sweep;
use crate::model::{Digest, Identifier};

/// The number of ids in a batch. Handing over a batch this large costs little compared to hashing it (4,096 to
/// 16,384 were measured to be equally fast), and a small change never starts a thread.
const BATCH_IDS: usize = 4_096;

/// The number of ids in a batch that is hashed on the calling thread: it needs hardly any memory.
const BATCH_IDS_ALONE: usize = 64;

/// The size in bytes of the lines at which a batch is full. The line of a single granule may be as long as
/// this.
const BATCH_BYTES: usize = 4 * 1_024 * 1_024;

/// The number of batches that can be on the hashing threads at the same time.
const BATCHES_AHEAD: usize = 4;

/// The number of instances from which their lists are divided among several threads, at most one for each core.
/// The chains of many instances are hashed side by side in the vector units; the lists are not.
const INSTANCES_OF_A_CAMPAIGN: usize = 16;

/// A [`Sweep`] that runs on another thread. Canonical lists, if requested, are hashed on further threads. A
/// change that resumes the chain is a sweep over two instances: the one in force, and the new one.
///
/// Reading rows and hashing them in turn on one thread reaches two thirds of the speed of the chain alone.
/// Reading and hashing at the same time reaches nearly all of it. The last batch is hashed on the calling
/// thread, so a change of at most one batch starts no thread. The memory needed is that of a few batches,
/// whatever the number of ids.
///
/// If it is dropped before [`Hashing::finish`], the threads end after the batches that they have received.
pub struct Hashing {
    /// The number of instances.
    instances: usize,
    /// The greatest number of ids in a batch.
    batch_ids: usize,
    /// Whether every batch is hashed on the calling thread.
    is_alone: bool,
    /// Whether to look for the checkpoints of the last instance.
    finds_checkpoints: bool,
    /// `None` means that the threads own it.
    pass: Option<Pass>,
    /// `None` means that no batch was full so far.
    threads: Option<Threads>,
    batch: Batch,
}

crate::model::debug_fields!(Hashing: instances);

/// The state that hashing a batch continues.
struct Pass {
    chains: Chains,
    /// The lists of all instances, in order. Empty means that only names are hashed.
    lists: Vec<ListsOfSome>,
}

struct Chains {
    sweep: Sweep,
    /// The number of ids added so far that the last instance holds.
    held: u64,
}

/// The lists of some consecutive instances.
struct ListsOfSome {
    instances: Range<usize>,
    lists: CanonicalLists,
    /// Whether it includes the last instance, whose state is needed at checkpoints.
    has_last: bool,
}

/// The state that a thread continues with each batch.
trait Continued: Send + 'static {
    /// The result at each checkpoint.
    type Reached: Send;

    fn hash(&mut self, batch: &Batch) -> Vec<Self::Reached>;
}

struct Threads {
    chains: HashingThread<Chains>,
    lists: Vec<HashingThread<ListsOfSome>>,
    /// The batches that were sent and not received back yet.
    pending: VecDeque<Arc<Batch>>,
}

struct HashingThread<Part: Continued> {
    to_hash: SyncSender<Arc<Batch>>,
    hashed: Receiver<Vec<Part::Reached>>,
    handle: JoinHandle<Part>,
}

/// A run of ids and the instances that hold each of them.
#[derive(Default)]
struct Batch {
    /// The ids, each followed by LF: these are the lines of ids without a record of files.
    text: String,
    /// The offset in `text` at which the line of each id ends.
    ends: Vec<usize>,
    /// The concatenated lines of ids with records of files.
    line_text: Vec<u8>,
    lines: Vec<LineOfId>,
    /// The instances that hold each id.
    instances: Vec<Range<usize>>,
    /// The indices of the ids that a checkpoint follows.
    checkpoints: Vec<usize>,
}

struct LineOfId {
    /// The index of the id.
    index: usize,
    /// The offset in `line_text` at which the line ends. It begins at the end of the previous line.
    end: usize,
    /// The instances whose lists contain this line.
    instances: Range<usize>,
}

/// A checkpoint that the hashing reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// The id before the checkpoint. The last instance holds it.
    pub granule_id: String,
    /// The identifier of the granules that the last instance holds up to that id.
    pub identifier: Identifier,
    /// The state of the list of the last instance, up to that id. `None` means that there are no lists.
    pub list: Option<Vec<u8>>,
    /// The number of ids up to that one, of those that were added here, that the last instance holds.
    pub held: u64,
}

/// The result of hashing.
pub struct Hashed {
    /// The sweep, which contains all identifiers.
    pub sweep: Sweep,
    /// The checkpoints that were not returned before.
    pub reached: Vec<Reached>,
    /// The lists of all instances, in order. Empty means that only names were hashed.
    lists: Vec<ListsOfSome>,
}

crate::model::debug_fields!(Hashed);

impl Hashed {
    /// The identifiers and the digests of the instances, in order. Empty if there are no lists.
    pub fn sets(&self) -> impl Iterator<Item = (Identifier, Digest)> + '_ {
        let digests = self.lists.iter().flat_map(|some| some.lists.digests());
        self.sweep.identifiers().zip(digests)
    }
}

impl Hashing {
    /// Continues `sweep`, without lists and without looking for checkpoints.
    pub fn of(sweep: Sweep) -> Self {
        Hashing::new(sweep, None)
    }

    /// Continues `sweep`, and `list` for each of its instances, without looking for checkpoints.
    pub fn with_lists(sweep: Sweep, list: CanonicalList) -> Self {
        Hashing::new(sweep, Some(list))
    }

    /// Like [`Hashing::with_lists`], but looks for the checkpoints of the last instance.
    pub fn with_checkpoints(sweep: Sweep, list: CanonicalList) -> Self {
        Hashing { finds_checkpoints: true, ..Hashing::with_lists(sweep, list) }
    }

    fn new(sweep: Sweep, list: Option<CanonicalList>) -> Self {
        let instances = sweep.instances();
        let lists = list.map_or(Vec::new(), |list| divided(instances, &list));
        let pass = Some(Pass { chains: Chains { sweep, held: 0 }, lists });
        let batch = Batch::default();
        let (batch_ids, is_alone, finds_checkpoints) = (BATCH_IDS, false, false);
        Hashing { instances, batch_ids, is_alone, finds_checkpoints, pass, threads: None, batch }
    }

    /// Hashes on the calling thread only, with hardly any memory. Must be called before the first granule is
    /// added.
    pub fn alone(self) -> Self {
        Hashing { batch_ids: BATCH_IDS_ALONE, is_alone: true, ..self }
    }

    /// Adds a granule that these instances hold, as [`Sweep::hold`] does. If it has records of files,
    /// [`Hashing::add_line`] must follow. Returns the checkpoints that were reached since the last call, in
    /// order.
    pub fn hold(&mut self, granule_id: &str, instances: Range<usize>) -> Vec<Reached> {
        let reached =
            if self.batch.is_full(self.batch_ids) { self.hand_over() } else { Vec::new() };
        let are_last = !instances.is_empty() && instances.end == self.instances;
        if self.finds_checkpoints && are_last && Chain::is_checkpoint(granule_id) {
            self.batch.checkpoints.push(self.batch.ends.len());
        }
        self.batch.push(granule_id, instances);
        reached
    }

    /// Adds the line of the last granule for the lists of some of the instances that hold it; `write` appends
    /// the line. If one of these instances gets a line in this way, all of them must.
    pub fn add_line(&mut self, instances: Range<usize>, write: impl FnOnce(&mut Vec<u8>)) {
        let Batch { ends, line_text, lines, .. } = &mut self.batch;
        write(line_text);
        lines.push(LineOfId { index: ends.len() - 1, end: line_text.len(), instances });
    }

    /// Hashes the remaining ids, and returns the result.
    pub fn finish(mut self) -> Hashed {
        let mut reached = Vec::new();
        let mut pass = match self.threads.take() {
            None => self.pass.take().expect("the pass is here while there are no threads"),
            Some(mut threads) => {
                while !threads.pending.is_empty() {
                    reached.extend(threads.receive().0);
                }
                threads.join()
            }
        };
        reached.extend(pass.hash(&self.batch));
        Hashed { sweep: pass.chains.sweep, reached, lists: pass.lists }
    }

    /// Sends the full batch to the threads, and takes an empty batch. Returns the checkpoints of a batch that
    /// the threads have hashed.
    fn hand_over(&mut self) -> Vec<Reached> {
        if let Some(pass) = self.pass.as_mut().filter(|_| self.is_alone) {
            let reached = pass.hash(&self.batch);
            self.batch.clear();
            return reached;
        }
        let threads = match &mut self.threads {
            Some(threads) => threads,
            none => {
                let pass = self.pass.take().expect("the pass is here while there are no threads");
                none.insert(Threads::spawn(pass))
            }
        };
        let (reached, next) = match threads.pending.len() {
            BATCHES_AHEAD => threads.receive(),
            _ => Default::default(),
        };
        threads.send(std::mem::replace(&mut self.batch, next));
        reached
    }
}

impl Pass {
    fn hash(&mut self, batch: &Batch) -> Vec<Reached> {
        let lists = self.lists.iter_mut().map(|some| some.hash(batch)).collect();
        with_lists(self.chains.hash(batch), lists)
    }
}

/// The lists of this many instances, which all have the same lines so far.
fn divided(instances: usize, list: &CanonicalList) -> Vec<ListsOfSome> {
    let parts = match instances {
        0..INSTANCES_OF_A_CAMPAIGN => 1,
        _ => available_parallelism().map_or(1, |cores| cores.get().min(instances)),
    };
    let part = |part: usize| {
        let instances = part * instances / parts..(part + 1) * instances / parts;
        let lists = CanonicalLists::resume(instances.len(), list.clone());
        ListsOfSome { instances, lists, has_last: part + 1 == parts }
    };
    (0..parts).map(part).collect()
}

/// Adds the states of the lists to the checkpoints. Only the part with the last instance has states.
fn with_lists(mut reached: Vec<Reached>, parts: Vec<Vec<Vec<u8>>>) -> Vec<Reached> {
    for part in parts {
        reached.iter_mut().zip(part).for_each(|(reached, list)| reached.list = Some(list));
    }
    reached
}

impl Threads {
    fn spawn(Pass { chains, lists }: Pass) -> Self {
        let lists = lists.into_iter().map(HashingThread::spawn).collect();
        Threads { chains: HashingThread::spawn(chains), lists, pending: VecDeque::new() }
    }

    fn send(&mut self, batch: Batch) {
        let batch = Arc::new(batch);
        self.chains.send(&batch);
        self.lists.iter().for_each(|thread| thread.send(&batch));
        self.pending.push_back(batch);
    }

    /// Waits for the earliest batch that was sent. Returns its checkpoints, and the batch for reuse.
    fn receive(&mut self) -> (Vec<Reached>, Batch) {
        let reached = self.chains.receive();
        let lists = self.lists.iter().map(HashingThread::receive).collect();
        let mut batch = self.pending.pop_front().and_then(Arc::into_inner).unwrap_or_default();
        batch.clear();
        (with_lists(reached, lists), batch)
    }

    fn join(self) -> Pass {
        // Each thread ends when nothing more can be sent to it.
        let chains = self.chains.join();
        Pass { chains, lists: self.lists.into_iter().map(HashingThread::join).collect() }
    }
}

impl<Part: Continued> HashingThread<Part> {
    fn spawn(mut part: Part) -> Self {
        let (to_hash, batches) = sync_channel::<Arc<Batch>>(BATCHES_AHEAD);
        let (done, hashed) = sync_channel(BATCHES_AHEAD);
        let handle = std::thread::spawn(move || {
            for batch in batches {
                let reached = part.hash(&batch);
                drop(batch);
                if done.send(reached).is_err() {
                    // The caller stopped early, so the remaining batches are not needed.
                    break;
                }
            }
            part
        });
        HashingThread { to_hash, hashed, handle }
    }

    fn send(&self, batch: &Arc<Batch>) {
        self.to_hash.send(Arc::clone(batch)).expect("the thread receives each batch");
    }

    fn receive(&self) -> Vec<Part::Reached> {
        self.hashed.recv().expect("the thread hashes each batch")
    }

    fn join(self) -> Part {
        drop(self.to_hash);
        self.handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Batch {
    fn is_full(&self, batch_ids: usize) -> bool {
        self.ends.len() == batch_ids || self.line_text.len() >= BATCH_BYTES
    }

    fn push(&mut self, granule_id: &str, instances: Range<usize>) {
        self.text.push_str(granule_id);
        self.text.push('\n');
        self.ends.push(self.text.len());
        self.instances.push(instances);
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.line_text.clear();
        self.lines.clear();
        self.instances.clear();
        self.checkpoints.clear();
    }

    /// The offset in `text` at which the line of an id begins. For the index after the last id, the end of the
    /// text.
    fn start(&self, index: usize) -> usize {
        if index == 0 { 0 } else { self.ends[index - 1] }
    }

    fn granule_id(&self, index: usize) -> &str {
        &self.text[self.start(index)..self.ends[index] - 1]
    }

    /// The ids in runs, which end where the holding instances change, and at each checkpoint. Each item is the
    /// indices, the instances, and whether a checkpoint follows.
    fn runs(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>, bool)> {
        let mut checkpoints = self.checkpoints.iter().copied().peekable();
        let mut alike = self.instances.chunk_by(|a, b| a == b);
        let (mut start, mut end) = (0, 0);
        std::iter::from_fn(move || {
            if start == end {
                end += alike.next()?.len();
            }
            let last = checkpoints.next_if(|last| *last < end);
            let run = start..last.map_or(end, |last| last + 1);
            start = run.end;
            Some((run.clone(), self.instances[run.start].clone(), last.is_some()))
        })
    }
}

impl Continued for Chains {
    type Reached = Reached;

    /// Adds all ids to the sweep, and records the identifier at each checkpoint. Consecutive ids that the same
    /// instances hold are added together, up to a checkpoint, so that the links of one or two chains stay in
    /// registers.
    fn hash(&mut self, batch: &Batch) -> Vec<Reached> {
        let mut reached = Vec::new();
        for (ids, instances, is_checkpoint) in batch.runs() {
            let are_last = !instances.is_empty() && instances.end == self.sweep.instances();
            self.held += if are_last { ids.len() as u64 } else { 0 };
            let last = ids.end - 1;
            self.sweep.hold_each(ids.map(|index| batch.granule_id(index)), instances);
            if is_checkpoint {
                let granule_id = batch.granule_id(last).to_owned();
                let (identifier, held) = (self.sweep.latest(), self.held);
                reached.push(Reached { granule_id, identifier, list: None, held });
            }
        }
        reached
    }
}

impl ListsOfSome {
    fn push(&mut self, bytes: &[u8], instances: &Range<usize>) {
        let Range { start, end } = self.instances;
        let own = |instance: usize| instance.clamp(start, end) - start;
        self.lists.push(bytes, own(instances.start)..own(instances.end));
    }
}

impl Continued for ListsOfSome {
    type Reached = Vec<u8>;

    /// Adds the lines of all ids, and returns the state of the list of the last instance at each checkpoint.
    fn hash(&mut self, batch: &Batch) -> Vec<Vec<u8>> {
        let mut reached = Vec::new();
        let (mut lines, mut line_start) = (batch.lines.iter().peekable(), 0);
        for (ids, instances, is_checkpoint) in batch.runs() {
            let mut start = ids.start;
            while let Some(line) = lines.next_if(|line| line.index < ids.end) {
                if line.index >= start {
                    let names = batch.start(start)..batch.start(line.index);
                    self.push(&batch.text.as_bytes()[names], &instances);
                    start = line.index + 1;
                }
                self.push(&batch.line_text[line_start..line.end], &line.instances);
                line_start = line.end;
            }
            let names = batch.start(start)..batch.start(ids.end);
            self.push(&batch.text.as_bytes()[names], &instances);
            if is_checkpoint && self.has_last {
                reached.push(self.lists.last().save());
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::super::Chain;
    use super::*;

    /// The latest identifier, the steps and the checkpoints of a history with this many instances, all of which
    /// hold these granules.
    fn hashed(count: usize, instances: usize) -> (Identifier, u64, Vec<Reached>) {
        let mut hashing = Hashing::with_checkpoints(Sweep::over(instances), CanonicalList::start());
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
            let (mut chain, mut list) = (Chain::start(), CanonicalList::start());
            let mut reached = Vec::new();
            for held in 1..=count as u64 {
                let granule_id = format!("granule.{:08}", held - 1);
                chain.push(&granule_id);
                list.push(format!("{granule_id}\n").as_bytes());
                if Chain::is_checkpoint(&granule_id) {
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
        let mut hashing = Hashing::with_checkpoints(Sweep::over(1), CanonicalList::start());
        for n in 0..20 * BATCH_IDS {
            hashing.hold(&format!("granule.{n:08}"), 0..1);
        }
        drop(hashing);
    }

    #[test]
    fn lines_of_granules_are_hashed_where_their_ids_are() {
        for instances in [3, 2 * INSTANCES_OF_A_CAMPAIGN] {
            are_hashed(instances);
        }
    }

    fn are_hashed(instances: usize) {
        let mut hashing = Hashing::with_lists(Sweep::over(instances), CanonicalList::start());
        let mut texts = vec![String::new(); instances];
        for n in 0..2 * BATCH_IDS {
            let granule_id = format!("granule.{n:08}");
            hashing.hold(&granule_id, 0..instances);
            for (instance, text) in texts.iter_mut().enumerate() {
                let files = if n % 7 < 3 && n % 7 == instance { "\tsize:1" } else { "" };
                text.push_str(&format!("{granule_id}{files}\n"));
                if n % 7 < 3 {
                    let line = format!("{granule_id}{files}\n");
                    hashing.add_line(instance..instance + 1, |text| text.extend(line.bytes()));
                }
            }
        }
        let digests: Vec<Digest> = hashing.finish().sets().map(|(_, digest)| digest).collect();
        let expected = texts.iter().map(|text| {
            let mut list = CanonicalList::start();
            list.push(text.as_bytes());
            list.digest()
        });
        assert_eq!(digests, expected.collect::<Vec<_>>());
    }
}
