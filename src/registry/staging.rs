//! Events that are sorted: a small number in memory, more of them on disk.
//!
//! The key of an event is what it is sorted by: its id, a byte of 0, which no id contains, its time and its
//! kind, or the time, the side and the id. Its value is the rest: its place in the input, the producer's id,
//! and what is stated of files.

use std::iter::Peekable;
use std::sync::Arc;
use std::thread::Scope;

use super::parallel::ahead_within;
use crate::disk::{Merge, Sorter, scratch};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Content, EncodedFiles, Event, EventKind, GranuleId, KnownFile, SourceLocation, Timestamp,
    quoted,
};

/// The order in which events are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SortBy {
    /// By granule, time and kind, deletions first: as the rows of granules are stored.
    #[default]
    Granule,
    /// By time, side and granule: as the changes of a log are written.
    Time,
}

/// The kinds, in their order.
const KINDS: [EventKind; 4] =
    [EventKind::Deleted, EventKind::Ingested, EventKind::Described, EventKind::Replaced];

/// Encodes that there is no source location.
const NOWHERE: u32 = u32::MAX;

/// Encodes a source location that is an argument of the command line.
const ARGUMENT: u32 = u32::MAX - 1;

/// Events that are added in any order and can be read, several times, in another one. Repeated and
/// contradicting events are kept: their reader finds them next to each other.
#[derive(Debug, Default)]
pub(super) struct Staging {
    encoding: Encoding,
    sorter: Sorter,
    /// How many events state something of files.
    contents: u64,
}

/// How events are encoded.
#[derive(Debug, Clone, Default)]
struct Encoding {
    by: SortBy,
    /// The names of the sources, in the order of their numbers.
    sources: Vec<Arc<str>>,
}

impl Staging {
    /// Events that are read by time.
    pub fn by_time() -> Self {
        let encoding = Encoding { by: SortBy::Time, ..Encoding::default() };
        Staging { encoding, ..Staging::default() }
    }

    /// The number of events.
    pub fn count(&self) -> u64 {
        self.sorter.count()
    }

    /// The number of events that state something of files.
    pub fn contents(&self) -> u64 {
        self.contents
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Adds an event.
    pub fn add(&mut self, event: &Event) -> Result<()> {
        let location = self.encoding.encode_location(event.location.as_ref());
        let producer = event.producer_granule.as_ref().map_or("", GranuleId::as_str);
        let ids = [event.granule_id.as_str(), producer];
        let files = event.content.as_ref().map(Content::encoded);
        self.push((event.at.as_micros(), event.kind), ids, location, files)
    }

    /// Adds the event of a stored row, at a time in microseconds. The producer's id is empty if it
    /// is the same.
    pub fn add_stored(
        &mut self,
        (at, kind): (i64, EventKind),
        granule_id: &str,
        producer: &str,
        files: Option<EncodedFiles<'_>>,
    ) -> Result<()> {
        self.push((at, kind), [granule_id, producer], (NOWHERE, 0), files)
    }

    fn push(
        &mut self,
        (at, kind): (i64, EventKind),
        [granule_id, producer]: [&str; 2],
        (source, line): (u32, u64),
        files: Option<EncodedFiles<'_>>,
    ) -> Result<()> {
        let bytes = files.map_or(0, |files| files.as_bytes().len());
        if bytes > Content::MAX_BYTES {
            return Err(too_many_files(granule_id, bytes));
        }
        self.contents += u64::from(files.is_some());
        // In the order of the numbers.
        let time = (at.cast_unsigned() ^ 1 << 63).to_be_bytes();
        let (source, line) = (source.to_be_bytes(), line.to_be_bytes());
        // An id has at most 1,024 bytes.
        let length = (producer.len() as u16).to_be_bytes();
        let has_files = [u8::from(files.is_some())];
        let files = files.unwrap_or_default().as_bytes();
        let value: [&[u8]; 6] = [&source, &line, &length, producer.as_bytes(), &has_files, files];
        let id = granule_id.as_bytes();
        match self.encoding.by {
            SortBy::Granule => self.sorter.add(&[id, &[0], &time, &[kind as u8]], &value),
            SortBy::Time => self.sorter.add(&[&time, &[kind.side() as u8], id], &value),
        }
    }

    /// The events in order, of those that were added before. Equal events are returned in the order in which
    /// they were added.
    pub fn sorted(&self) -> Result<Sorted> {
        Ok(Sorted { encoding: self.encoding.clone(), merge: Merge::of(&self.sorter)? })
    }
}

impl Encoding {
    /// The event with this key and this value. `None` means that they are not those of one.
    fn decode(&self, key: &[u8], value: &[u8]) -> Option<Event> {
        let (id, time, kind) = match self.by {
            SortBy::Granule => {
                let (rest, [a, b, c, d, e, f, g, h, kind]) = key.split_last_chunk()?;
                let id = rest.strip_suffix(&[0])?;
                (id, [*a, *b, *c, *d, *e, *f, *g, *h], KINDS.get(usize::from(*kind))?)
            }
            SortBy::Time => {
                let (time, rest) = key.split_first_chunk()?;
                let (side, id) = rest.split_first()?;
                (id, *time, EventKind::SIDES.get(usize::from(*side))?)
            }
        };
        let (source, rest) = value.split_first_chunk()?;
        let (line, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (producer, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        let (has_files, files) = rest.split_first()?;
        let line = u64::from_be_bytes(*line);
        let location = match u32::from_be_bytes(*source) {
            NOWHERE => None,
            ARGUMENT => Some(SourceLocation::Argument { number: line }),
            source => {
                let source = Arc::clone(self.sources.get(source as usize)?);
                Some(SourceLocation::Line { source, line })
            }
        };
        let granule_id_of = |bytes: &[u8]| GranuleId::from_bytes(bytes).ok();
        let granule_id = granule_id_of(id)?;
        Some(Event {
            at: Timestamp::from_micros((u64::from_be_bytes(time) ^ 1 << 63).cast_signed())?,
            kind: *kind,
            producer_granule: match producer {
                [] => None,
                producer => Some(granule_id_of(producer)?),
            },
            content: match has_files {
                0 => None,
                _ => Some(Content::decode(granule_id.as_str(), files)?),
            },
            granule_id,
            location,
        })
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

/// Consecutive events of one granule that have the same time and the same kind, merged into one.
#[derive(Debug)]
pub(super) struct MergedEvent {
    /// The first of them, with the files that all of them state.
    pub event: Event,
    /// The number of events that were merged.
    pub events: u64,
    /// The number of events that repeat the previous one.
    pub repeated: u64,
    /// The error of the first repetition.
    pub repetition: Option<Error>,
    /// The error of files that contradict each other, or are too many.
    pub invalid_files: Option<Error>,
}

impl MergedEvent {
    /// The bytes that it takes in memory, about.
    fn bytes(&self) -> usize {
        let Event { granule_id, producer_granule, content, .. } = &self.event;
        let producer = producer_granule.as_ref().map_or(0, |id| id.as_str().len());
        let files = content.as_ref().map_or(0, |content| content.encoded().as_bytes().len());
        size_of::<MergedEvent>() + granule_id.as_str().len() + producer + files
    }
}

/// Events whose repetitions are dropped as they are read: however often a granule is listed, it takes the
/// memory of one event and of its files.
pub(super) struct MergedEvents<Events: Iterator> {
    events: Peekable<Events>,
}

impl<Events: Iterator<Item = Result<Event>>> MergedEvents<Events> {
    /// Merges events that are in order.
    pub fn of(events: Events) -> Self {
        MergedEvents { events: events.peekable() }
    }

    /// Merges an event with those after it.
    fn merge(&mut self, first: Event) -> Result<MergedEvent> {
        let mut merged = MergedEvent {
            event: first,
            events: 1,
            repeated: 0,
            repetition: None,
            invalid_files: None,
        };
        let Some(mut last) = self.next_like(&merged.event)? else { return Ok(merged) };
        let mut files = StatedFiles::default();
        files.add(&merged.event, None);
        merged.count_repetition(None, &last);
        files.add(&last, Some(&merged.event));
        while let Some(next) = self.next_like(&last)? {
            merged.count_repetition(Some(&last), &next);
            files.add(&next, Some(&last));
            last = next;
        }
        match files.finish(&merged.event.granule_id) {
            Ok(content) => merged.event.content = content,
            Err(error) => merged.invalid_files = Some(error.at(last.location)),
        }
        Ok(merged)
    }

    /// The next event, if it has the granule, the time and the kind of another one.
    fn next_like(&mut self, other: &Event) -> Result<Option<Event>> {
        let is_like = |event: &Result<Event>| {
            event.as_ref().is_ok_and(|event| {
                (event.at, event.kind) == (other.at, other.kind)
                    && event.granule_id == other.granule_id
            })
        };
        self.events.next_if(is_like).transpose()
    }
}

impl<Events: Iterator<Item = Result<Event>>> Iterator for MergedEvents<Events> {
    type Item = Result<MergedEvent>;

    fn next(&mut self) -> Option<Result<MergedEvent>> {
        Some(self.events.next()?.and_then(|first| self.merge(first)))
    }
}

impl MergedEvent {
    /// Counts an event if it repeats the previous one. `None` means that this is the first one.
    fn count_repetition(&mut self, previous: Option<&Event>, event: &Event) {
        self.events += 1;
        let previous = previous.unwrap_or(&self.event);
        if is_repetition(previous, event) {
            self.repeated += 1;
            self.repetition.get_or_insert_with(|| Error::of_repetition(previous, event));
        }
    }
}

/// Whether an event repeats the previous one of the same granule, time and kind. A granule has any number of
/// files, which can be stated in a row each; but a record, which states several, has all of them.
fn is_repetition(previous: &Event, event: &Event) -> bool {
    let is_of_file =
        |event: &Event| event.content.as_ref().is_some_and(|content| content.files().len() == 1);
    match event.kind {
        EventKind::Described => false,
        EventKind::Deleted | EventKind::Replaced => true,
        EventKind::Ingested => {
            previous.producer_granule != event.producer_granule
                || previous.content == event.content
                || !is_of_file(previous)
                || !is_of_file(event)
        }
    }
}

/// The files that several events of one granule state.
#[derive(Default)]
struct StatedFiles {
    /// `None` means that no event states files.
    files: Option<Vec<KnownFile>>,
    /// How many of them were merged.
    merged: usize,
    failed: Option<Error>,
}

impl StatedFiles {
    /// How many files are stated, at least, before they are merged.
    const UNMERGED: usize = 4_096;

    /// Adds the files of an event, unless it states the same as the previous one.
    fn add(&mut self, event: &Event, previous: Option<&Event>) {
        let Some(content) = &event.content else { return };
        let is_same = previous.is_some_and(|previous| previous.content == event.content);
        if is_same || self.failed.is_some() {
            return;
        }
        let files = self.files.get_or_insert_default();
        files.extend(content.files());
        if files.len() >= 2 * self.merged + StatedFiles::UNMERGED {
            let merged = merge(&event.granule_id, std::mem::take(files));
            match merged.and_then(|content| check_bytes(&event.granule_id, content)) {
                Ok(content) => *files = content.files(),
                Err(error) => self.failed = Some(error),
            }
            self.merged = files.len();
        }
    }

    /// What the events state together.
    fn finish(self, granule_id: &GranuleId) -> Result<Option<Content>> {
        match self.failed {
            Some(error) => Err(error),
            None => self.files.map(|files| merge(granule_id, files)).transpose(),
        }
    }
}

fn merge(granule_id: &GranuleId, files: Vec<KnownFile>) -> Result<Content> {
    Content::of(granule_id, files).map_err(|contradiction| {
        Error::new(ErrorKind::StatedFile, contradiction.at_once(granule_id))
    })
}

/// Refuses more files than a row may have.
fn check_bytes(granule_id: &GranuleId, content: Content) -> Result<Content> {
    let bytes = content.encoded().as_bytes().len();
    if bytes > Content::MAX_BYTES {
        return Err(too_many_files(granule_id.as_str(), bytes));
    }
    Ok(content)
}

fn too_many_files(granule_id: &str, bytes: usize) -> Error {
    let what = format!("what is stated of the files of {}", quoted(granule_id));
    Error::too_long(&what, "bytes", bytes, Content::MAX_BYTES)
}

/// The events of a [`Staging`], in order.
pub(super) struct Sorted {
    encoding: Encoding,
    merge: Merge,
}

impl Iterator for Sorted {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Result<Event>> {
        let encoding = &self.encoding;
        self.merge.next(|key, value| encoding.decode(key, value).ok_or_else(scratch::unreadable))
    }
}

/// The greatest number of granules in a batch. (On a server, 4,096 take a tenth longer.)
pub(super) const BATCH_GRANULES: usize = 16_384;

/// The number of bytes from which a batch gets no further granule.
const BATCH_BYTES: usize = 8 * 1_024 * 1_024;

/// The number of events from which a thread of their own reads and merges them.
const EVENTS_OF_A_THREAD: u64 = 2 * BATCH_GRANULES as u64;

/// Calls `enter` for each batch of `events`. Consecutive events of a granule are in the same batch, and
/// those of one time and kind are merged. `count` is how many events there are.
pub(super) fn each_batch<'scope>(
    scope: &'scope Scope<'scope, '_>,
    count: u64,
    events: impl Iterator<Item = Result<Event>> + Send + 'scope,
    mut enter: impl FnMut(&[MergedEvent]) -> Result<()>,
) -> Result<()> {
    let mut events = MergedEvents::of(events).peekable();
    let mut batches = std::iter::from_fn(move || next_batch(&mut events).transpose());
    match count <= EVENTS_OF_A_THREAD {
        true => batches.try_for_each(|batch| enter(&batch?)),
        false => ahead_within(scope, batches).try_for_each(|batch| enter(&batch?)),
    }
}

/// The next events, whose granules have no others. `None` means that there are none.
fn next_batch(
    events: &mut Peekable<impl Iterator<Item = Result<MergedEvent>>>,
) -> Result<Option<Vec<MergedEvent>>> {
    let (mut batch, mut granules, mut bytes): (Vec<MergedEvent>, _, _) = (Vec::new(), 0, 0);
    let is_next = |merged: &MergedEvent, batch: &[MergedEvent]| {
        batch.last().is_none_or(|last| last.event.granule_id != merged.event.granule_id)
    };
    while let Some(merged) = events.next_if(|next| match next {
        Ok(next) if is_next(next, &batch) => granules < BATCH_GRANULES && bytes < BATCH_BYTES,
        _ => true,
    }) {
        let merged = merged?;
        granules += usize::from(is_next(&merged, &batch));
        bytes += merged.bytes();
        batch.push(merged);
    }
    Ok((!batch.is_empty()).then_some(batch))
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorKind;
    use crate::model::{FilePath, KnownFile};

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
            let sorter = Sorter::with_buffer(buffer_bytes);
            let encoding = Encoding { by, ..Encoding::default() };
            let mut staging = Staging { encoding, sorter, ..Staging::default() };
            for event in &events {
                staging.add(event).unwrap();
            }
            prop_assert_eq!(staging.count(), events.len() as u64);
            for _ in 0..2 {
                let read: Vec<Event> = staging.sorted().unwrap().map(Result::unwrap).collect();
                prop_assert_eq!(&read, &sorted);
            }
            prop_assert!(!is_sorted || staging.sorter.runs() <= 1);
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

    fn stating(granule_id: &str, path: &str, size: u64, line: u64) -> Event {
        let id: GranuleId = granule_id.parse().unwrap();
        let path = Some(FilePath::new(path).unwrap());
        let file = KnownFile::new(&id, path, Some(size), None).unwrap();
        let content = Some(Content::of(&id, vec![file]).unwrap());
        let location = Some(SourceLocation::Argument { number: line });
        let stating = event(granule_id, 1, EventKind::Ingested, line);
        Event { content, location, producer_granule: None, ..stating }
    }

    fn merged(events: Vec<Event>) -> Vec<MergedEvent> {
        MergedEvents::of(events.into_iter().map(Ok)).map(Result::unwrap).collect()
    }

    #[test]
    fn events_of_one_granule_time_and_kind_are_merged() {
        let mut events = Vec::new();
        // Two files in turn, so often that they are merged while they are read.
        for line in 0..20_000 {
            events.push(stating("A", ["x", "y"][(line % 2) as usize], 1 + line % 2, line));
        }
        events.push(stating("B", "x", 1, 1));
        events.push(stating("B", "x", 1, 2));
        events.push(stating("B", "x", 1, 3));
        events.push(stating("C", "x", 1, 1));
        events.push(stating("C", "x", 2, 2));
        events.push(Event {
            at: Timestamp::from_micros(2_000_000).unwrap(),
            ..stating("C", "x", 3, 3)
        });
        let merged = merged(events);
        let counts: Vec<_> = merged.iter().map(|it| (it.events, it.repeated)).collect();
        assert_eq!(counts, [(20_000, 0), (3, 2), (2, 0), (1, 0)]);
        let files = merged[0].event.content.as_ref().unwrap().files();
        assert_eq!(files.iter().map(KnownFile::size).collect::<Vec<_>>(), [Some(1), Some(2)]);
        let of =
            |error: &Option<Error>| error.as_ref().map(|error| (error.kind(), error.to_string()));
        assert!(merged[0].repetition.is_none() && merged[0].invalid_files.is_none());
        let (kind, text) = of(&merged[1].repetition).unwrap();
        assert_eq!(kind, ErrorKind::Twice);
        assert_eq!(text, "argument 2: \"B\" is listed twice, the first time at argument 1");
        let (kind, text) = of(&merged[2].invalid_files).unwrap();
        assert_eq!(kind, ErrorKind::StatedFile);
        assert!(text.starts_with("argument 2: "), "{text}");
    }

    #[test]
    fn more_files_than_a_granule_may_have_are_not_kept() {
        let events = (0..600_000_u64).map(|n| Ok(stating("A", &format!("{n:06}"), 1, n)));
        let merged = MergedEvents::of(events).next().unwrap().unwrap();
        assert_eq!((merged.events, merged.event.content.unwrap().files().len()), (600_000, 1));
        assert_eq!(merged.invalid_files.unwrap().kind(), ErrorKind::TooLong);
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
                    let bytes: usize = batch.iter().map(MergedEvent::bytes).sum();
                    assert!(bytes < BATCH_BYTES + 10_000);
                    batches.push(batch.iter().map(|merged| merged.event.clone()).collect());
                    Ok(())
                })
            }).unwrap();
            for pair in batches.windows(2) {
                prop_assert!(pair[0].last().unwrap().granule_id < pair[1][0].granule_id);
                prop_assert!(times > 1 || pair[0].len() == BATCH_GRANULES);
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
