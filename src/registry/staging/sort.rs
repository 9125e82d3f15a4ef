//! The external merge sort of events.
//!
//! Events are encoded into a buffer; a full buffer is sorted and appended to an unlinked temporary
//! file as a *run*, while the next one is filled. Reading merges the runs with the events that are
//! still in the buffer. Events that are added in order form a single run, whatever their number, so
//! the file is then written and read once and nothing is sorted.

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io::BufReader;
use std::iter::Peekable;
use std::sync::Arc;
use std::thread::Scope;

use super::READ_AHEAD_BYTES;
use super::record::{ARGUMENT, Buffer, NOWHERE, Record, Runs, SortBy, Spill, encode, read_after};
use crate::disk::{Section, scratch};
use crate::error::{Error, Result};
use crate::model::{Content, EncodedFiles, Event, EventKind, GranuleId, SourceLocation, quoted};
use crate::registry::parallel::ahead_within;

/// Bytes of encoded events that are kept in memory before they are written as a run. There are two
/// buffers: one is filled while the other is written.
const BUFFER_BYTES: usize = 8 * 1_024 * 1_024;

/// Events that are added in any order and can be read, several times, in another one. Repeated and
/// contradicting events are kept: their reader finds them next to each other.
#[derive(Debug)]
pub(in crate::registry) struct Staging {
    by: SortBy,
    /// The names of the sources, in the order of their numbers.
    sources: Vec<Arc<str>>,
    buffer: Buffer,
    spill: Spill,
    events: u64,
    /// How many of them state something of files.
    contents: u64,
    buffer_bytes: usize,
}

impl Default for Staging {
    fn default() -> Self {
        Staging::with_buffer(BUFFER_BYTES, SortBy::default())
    }
}

impl Staging {
    /// Events that are read by time.
    pub fn by_time() -> Self {
        Staging::with_buffer(BUFFER_BYTES, SortBy::Time)
    }

    fn with_buffer(buffer_bytes: usize, by: SortBy) -> Self {
        Staging {
            by,
            sources: Vec::new(),
            buffer: Buffer::default(),
            spill: Spill::default(),
            events: 0,
            contents: 0,
            buffer_bytes,
        }
    }

    /// The number of events.
    pub fn count(&self) -> u64 {
        self.events
    }

    /// The number of events that state something of files.
    pub fn contents(&self) -> u64 {
        self.contents
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// Adds an event.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be written.
    pub fn add(&mut self, event: &Event) -> Result<()> {
        let location = self.encode_location(event.location.as_ref());
        let producer = event.producer_granule.as_ref().map_or("", GranuleId::as_str);
        let ids = [event.granule_id.as_str(), producer];
        let files = event.content.as_ref().map(Content::encoded);
        self.push((event.at.as_micros(), event.kind), ids, location, files)
    }

    /// Adds the event of a stored row, at a time in microseconds. The producer's id is empty if it
    /// is the same.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary), as [`Staging::add`].
    pub fn add_stored(
        &mut self,
        (at, kind): (i64, EventKind),
        granule_id: &str,
        producer: &str,
        files: Option<EncodedFiles<'_>>,
    ) -> Result<()> {
        self.push((at, kind), [granule_id, producer], (NOWHERE, self.events), files)
    }

    fn push(
        &mut self,
        event: (i64, EventKind),
        ids: [&str; 2],
        location: (u32, u64),
        files: Option<EncodedFiles<'_>>,
    ) -> Result<()> {
        let start = self.buffer.bytes.len();
        let bytes = files.map_or(0, |files| files.as_bytes().len());
        if bytes > Content::MAX_BYTES {
            let what = format!("what is stated of the files of {}", quoted(ids[0]));
            return Err(Error::too_long(&what, "bytes", bytes, Content::MAX_BYTES));
        }
        encode(&mut self.buffer.bytes, event, ids, location, files);
        self.events += 1;
        self.contents += u64::from(files.is_some());
        if let Some(&previous) = self.buffer.starts.last() {
            let (previous, next) =
                (Record(&self.buffer.bytes[previous..start]), Record(&self.buffer.bytes[start..]));
            self.buffer.is_out_of_order |= next.compare(previous, self.by).is_lt();
        }
        self.buffer.starts.push(start);
        if self.buffer.bytes.len() < self.buffer_bytes {
            return Ok(());
        }
        let buffer = std::mem::take(&mut self.buffer);
        self.buffer = self.spill.write(buffer, self.by)?;
        Ok(())
    }

    /// The events in order. Equal events are returned in the order in which they were added.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be written or read.
    pub fn sorted(&self) -> Result<Sorted<&Staging>> {
        Sorted::of(self)
    }

    fn encode_location(&mut self, location: Option<&SourceLocation>) -> (u32, u64) {
        match location {
            None => (NOWHERE, 0),
            Some(SourceLocation::Argument { number }) => (ARGUMENT, *number),
            Some(SourceLocation::Line { source, line }) => {
                // Consecutive events are mostly from the same source.
                let sources = &mut self.sources;
                let known = sources.iter().rposition(|known| known == source);
                let index = known.unwrap_or_else(|| {
                    sources.push(Arc::clone(source));
                    sources.len() - 1
                });
                (u32::try_from(index).unwrap_or(NOWHERE), *line)
            }
        }
    }
}

/// The events of a [`Staging`], in order. It keeps a reference to the staging area.
pub(in crate::registry) struct Sorted<S> {
    staging: S,
    runs: Vec<Run>,
    /// The next event of each run that has one.
    heads: BinaryHeap<Reverse<Head>>,
}

impl<S: Borrow<Staging>> Sorted<S> {
    /// As [`Staging::sorted`].
    pub fn of(staging: S) -> Result<Self> {
        let source = staging.borrow();
        let Runs { file, runs: spilled, .. } = source.spill.runs()?;
        let mut runs = Vec::new();
        if let Some(file) = file {
            for run in spilled {
                let section = Section { file: Arc::clone(&file), rest: run };
                let file = BufReader::with_capacity(READ_AHEAD_BYTES, section);
                runs.push(Run::Spilled { file, last: Vec::new() });
            }
        }
        runs.push(Run::Buffered(source.buffer.order(source.by).into_iter()));
        let mut heads = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            let mut bytes = Vec::new();
            if run.read(source, &mut bytes)? {
                heads.push(Reverse(Head { bytes, run: number, by: source.by }));
            }
        }
        Ok(Sorted { staging, runs, heads })
    }
}

enum Run {
    Spilled {
        file: BufReader<Section>,
        /// The last event that was read.
        last: Vec<u8>,
    },
    Buffered(std::vec::IntoIter<usize>),
}

/// The next event of a run. It is compared by its key and then by its run, so that equal events
/// keep the order in which they were added.
struct Head {
    bytes: Vec<u8>,
    run: usize,
    by: SortBy,
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let keys = Record(&self.bytes).compare(Record(&other.bytes), self.by);
        keys.then_with(|| self.run.cmp(&other.run))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

impl Run {
    /// Reads the next event of the run into a buffer. Returns `false` at its end.
    fn read(&mut self, staging: &Staging, into: &mut Vec<u8>) -> Result<bool> {
        let next = match self {
            Run::Buffered(starts) => starts.next().map(|start| staging.buffer.record(start).0),
            Run::Spilled { file, last } => {
                let read = read_after(last, file);
                let has_read = read.map_err(|source| scratch::unusable("read", source))?;
                has_read.then_some(last.as_slice())
            }
        };
        into.clear();
        into.extend_from_slice(next.unwrap_or_default());
        Ok(next.is_some())
    }
}

impl<S: Borrow<Staging>> Iterator for Sorted<S> {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Result<Event>> {
        let mut first = self.heads.peek_mut()?;
        let Reverse(head) = &mut *first;
        let staging = self.staging.borrow();
        let event = Record(&head.bytes).decode(&staging.sources);
        // The run's next event takes its place, which costs less than to remove it and add another.
        let has_next = self.runs[head.run].read(staging, &mut head.bytes);
        if !matches!(has_next, Ok(true)) {
            PeekMut::pop(first);
        }
        Some(has_next.and(event))
    }
}

/// The number of granules whose stored periods are looked up and stored at once. (On a server, 4,096
/// take a tenth longer.)
const BATCH_GRANULES: usize = 16_384;

/// The number of events from which a thread of their own reads and merges them.
const EVENTS_OF_A_THREAD: u64 = 2 * BATCH_GRANULES as u64;

/// Calls `enter` for each batch of `events`. Consecutive events of a granule are in the same batch.
/// `count` is how many events there are.
///
/// # Errors
///
/// Those of `events` and of `enter`.
pub(in crate::registry) fn each_batch<'scope>(
    scope: &'scope Scope<'scope, '_>,
    count: u64,
    events: impl Iterator<Item = Result<Event>> + Send + 'scope,
    mut enter: impl FnMut(&[Event]) -> Result<()>,
) -> Result<()> {
    let mut events = events.peekable();
    let mut batches = std::iter::from_fn(move || next_batch(&mut events).transpose());
    match count <= EVENTS_OF_A_THREAD {
        true => batches.try_for_each(|batch| enter(&batch?)),
        false => ahead_within(scope, batches).try_for_each(|batch| enter(&batch?)),
    }
}

/// The next events, whose granules have no others. `None` means that there are none.
fn next_batch(
    events: &mut Peekable<impl Iterator<Item = Result<Event>>>,
) -> Result<Option<Vec<Event>>> {
    let (mut batch, mut granules): (Vec<Event>, _) = (Vec::new(), 0);
    while let Some(event) = events.next_if(|event| match (event, batch.last()) {
        (Ok(event), Some(last)) if event.granule_id != last.granule_id => granules < BATCH_GRANULES,
        _ => true,
    }) {
        let event = event?;
        if batch.last().is_none_or(|last| last.granule_id != event.granule_id) {
            granules += 1;
        }
        batch.push(event);
    }
    Ok((!batch.is_empty()).then_some(batch))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::{Error, ErrorKind};
    use crate::model::{FilePath, KnownFile, Timestamp};

    fn event(granule_id: &str, second: i64, kind: EventKind, line: u64) -> Event {
        Event {
            granule_id: granule_id.parse().unwrap(),
            at: Timestamp::from_micros(second * 1_000_000).unwrap(),
            kind,
            producer_granule: line.is_multiple_of(3).then(|| "producer".parse().unwrap()),
            location: match line % 4 {
                0 => None,
                1 => Some(SourceLocation::Argument { number: line }),
                _ => Some(SourceLocation::Line { source: format!("{}", line % 5).into(), line }),
            },
            content: line.is_multiple_of(5).then(Content::default),
        }
    }

    proptest! {
        #[test]
        fn events_are_read_as_a_stable_sort_of_what_was_added(
            events in prop::collection::vec(("[a-d]{1,3}", 0_i64..4, any::<bool>()), 0..300),
            buffer_bytes in 1_usize..2_000,
            is_sorted in any::<bool>(),
            is_by_time in any::<bool>(),
        ) {
            let mut events: Vec<Event> = (1..).zip(events).map(|(line, (id, second, ingested))| {
                let kind = if ingested { EventKind::Ingested } else { EventKind::Deleted };
                event(&id, second, kind, line)
            }).collect();
            let by = if is_by_time { SortBy::Time } else { SortBy::Granule };
            let compare = |one: &Event, other: &Event| match by {
                SortBy::Granule => (&one.granule_id, one.at, one.kind)
                    .cmp(&(&other.granule_id, other.at, other.kind)),
                SortBy::Time => (one.at, Reverse(one.kind), &one.granule_id)
                    .cmp(&(other.at, Reverse(other.kind), &other.granule_id)),
            };
            let mut sorted = events.clone();
            sorted.sort_by(compare);
            if is_sorted {
                events = sorted.clone();
            }
            let mut staging = Staging::with_buffer(buffer_bytes, by);
            for event in &events {
                staging.add(event).unwrap();
            }
            prop_assert_eq!(staging.count(), events.len() as u64);
            for _ in 0..2 {
                let read: Vec<Event> = staging.sorted().unwrap().map(Result::unwrap).collect();
                prop_assert_eq!(&read, &sorted);
            }
            if is_sorted {
                let runs = staging.spill.runs().unwrap().runs.len();
                prop_assert!(runs <= 1, "{} runs", runs);
            }
        }
    }

    #[test]
    fn too_many_files_of_a_granule_are_refused_and_the_next_event_is_not() {
        let granule_id: GranuleId = "A".parse().unwrap();
        let content = |files: usize| {
            // In descending order of their paths.
            let known = (0..files).rev().map(|number| {
                let path = FilePath::new(format!("{number:080}")).unwrap();
                KnownFile::new(&granule_id, Some(path), Some(1), None).unwrap()
            });
            Some(Content::of(&granule_id, known.collect()).unwrap())
        };
        let mut staging = Staging::default();
        let large = Event { content: content(30_000), ..event("A", 1, EventKind::Ingested, 1) };
        let refused = staging.add(&large).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::TooLong);
        let small = Event { content: content(20_000), ..large };
        staging.add(&small).unwrap();
        let read: Vec<Event> = staging.sorted().unwrap().map(Result::unwrap).collect();
        assert_eq!(read, [small]);
    }

    fn numbered((number, second): (usize, i64)) -> Event {
        Event {
            granule_id: format!("{number:06}").parse().unwrap(),
            at: Timestamp::from_micros(second).unwrap(),
            kind: EventKind::Ingested,
            producer_granule: None,
            content: None,
            location: None,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn batches_are_the_events_in_order_and_do_not_divide_a_granule(
            (granules, times) in (0_usize..40_000, 1_i64..4),
            is_many in any::<bool>(),
        ) {
            let events = (0..granules).flat_map(|number| (0..times).map(move |time| (number, time)));
            let expected: Vec<Event> = events.clone().map(numbered).collect();
            let count = if is_many { u64::MAX } else { 0 };
            let mut batches: Vec<Vec<Event>> = Vec::new();
            std::thread::scope(|scope| {
                each_batch(scope, count, events.map(|it| Ok(numbered(it))), |batch| {
                    batches.push(batch.to_vec());
                    Ok(())
                })
            }).unwrap();
            for pair in batches.windows(2) {
                prop_assert!(pair[0].last().unwrap().granule_id < pair[1][0].granule_id);
                prop_assert_eq!(pair[0].len(), BATCH_GRANULES * usize::try_from(times).unwrap());
            }
            prop_assert_eq!(batches.concat(), expected);
        }
    }

    #[test]
    fn an_error_on_either_side_ends_both() {
        let interrupted = || Err::<(), _>(Error::interrupted());
        let endless = || (0..).map(|number| Ok(numbered((number, 0))));
        let failed =
            std::thread::scope(|scope| each_batch(scope, u64::MAX, endless(), |_| interrupted()));
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Interrupted);
        let mut entered = 0;
        let events =
            endless().take(BATCH_GRANULES + 1).chain(std::iter::once(Err(Error::interrupted())));
        let failed = std::thread::scope(|scope| {
            each_batch(scope, u64::MAX, events, |batch| {
                entered += batch.len();
                Ok(())
            })
        });
        assert_eq!((failed.unwrap_err().kind(), entered), (ErrorKind::Interrupted, BATCH_GRANULES));
    }
}
