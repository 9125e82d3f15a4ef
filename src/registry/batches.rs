//! Merges sorted events and splits them into batches, before they are recorded in a history.

use std::iter::Peekable;
use std::thread::Scope;

use super::parallel::ahead_within;
use super::staging::check_limits;
use crate::error::{Error, Result};
use crate::model::{Content, Event, EventKind, FileRecord, GranuleId};

/// Consecutive events of one granule that have the same time and the same kind, merged into one.
#[derive(Debug)]
pub(super) struct MergedEvent {
    /// The first of the events, with the files of all of them.
    pub event: Event,
    /// The number of events that were merged.
    pub events: u64,
    /// The number of events that repeat the previous one.
    pub repeated: u64,
    /// The error for the first repetition.
    pub repetition: Option<Error>,
    /// The error if the files contradict each other, or are too many.
    pub invalid_files: Option<Error>,
}

impl MergedEvent {
    /// The approximate size in memory, in bytes.
    fn bytes(&self) -> usize {
        let Event { granule_id, producer_granule, content, .. } = &self.event;
        let producer = producer_granule.as_ref().map_or(0, |id| id.as_str().len());
        let files = content.as_ref().map_or(0, |content| content.encoded().as_bytes().len());
        size_of::<MergedEvent>() + granule_id.as_str().len() + producer + files
    }
}

/// Events that are merged as they are read. However often a granule is listed, it needs the memory of one event
/// and of its files.
pub(super) struct MergedEvents<Events: Iterator> {
    events: Peekable<Events>,
}

impl<Events: Iterator<Item = Result<Event>>> MergedEvents<Events> {
    /// Merges events that are sorted.
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

    /// The next event, if it has the same granule, time and kind as another event.
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
    /// Counts an event, and whether it repeats the previous one. `None` means that the previous one is the
    /// first.
    fn count_repetition(&mut self, previous: Option<&Event>, event: &Event) {
        self.events += 1;
        let previous = previous.unwrap_or(&self.event);
        if is_repetition(previous, event) {
            self.repeated += 1;
            self.repetition.get_or_insert_with(|| Error::of_repetition(previous, event));
        }
    }
}

/// Whether an event repeats the previous one of the same granule, time and kind. Rows with one file each do not
/// repeat one another: a granule can have any number of them. A record of several files contains all files of a
/// granule, so a second record is a repetition.
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

/// The merged files of several events of one granule.
#[derive(Default)]
struct StatedFiles {
    /// `None` means that no event has files.
    files: Option<Vec<FileRecord>>,
    /// The number of files after the last merge.
    merged: usize,
    failed: Option<Error>,
}

impl StatedFiles {
    /// The number of collected files, beyond twice the merged ones, that triggers a merge.
    const UNMERGED: usize = 4_096;

    /// Adds the files of an event, unless the previous event has the same files.
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
            match merged.and_then(|content| checked(&event.granule_id, content)) {
                Ok(content) => *files = content.files(),
                Err(error) => self.failed = Some(error),
            }
            self.merged = files.len();
        }
    }

    /// The files of all events together.
    fn finish(self, granule_id: &GranuleId) -> Result<Option<Content>> {
        match self.failed {
            Some(error) => Err(error),
            None => self.files.map(|files| merge(granule_id, files)).transpose(),
        }
    }
}

fn merge(granule_id: &GranuleId, files: Vec<FileRecord>) -> Result<Content> {
    Ok(Content::merged(granule_id, files)?)
}

/// Rejects more file metadata than a row may have.
fn checked(granule_id: &GranuleId, content: Content) -> Result<Content> {
    check_limits(granule_id.as_str(), content.encoded())?;
    Ok(content)
}

/// The greatest number of granules in a batch. Batches of 4,096 take 10% longer on a server.
pub(super) const BATCH_GRANULES: usize = 16_384;

/// The size in bytes at which a batch is full.
const BATCH_BYTES: usize = 8 * 1_024 * 1_024;

/// If there are more events than this, a separate thread reads and merges them.
const EVENTS_OF_A_THREAD: u64 = 2 * BATCH_GRANULES as u64;

/// Calls `enter` for each batch of `events`. Consecutive events of a granule are in the same batch. Events of
/// the same granule, time and kind are merged. `count` is the number of events.
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

/// The next batch, which contains all events of its granules. `None` means that no events are left.
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
    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorKind;
    use crate::model::{FilePath, SourceLocation, Timestamp};

    fn event(granule_id: &str, content: Option<Content>, line: u64) -> Event {
        Event {
            granule_id: granule_id.parse().unwrap(),
            at: Timestamp::from_micros(1_000_000).unwrap(),
            kind: EventKind::Ingested,
            producer_granule: None,
            content,
            location: Some(SourceLocation::Argument { number: line }),
        }
    }

    fn stating(granule_id: &str, path: &str, size: u64, line: u64) -> Event {
        let id: GranuleId = granule_id.parse().unwrap();
        let path = Some(FilePath::new(path).unwrap());
        let file = FileRecord::new(&id, path, Some(size), None).unwrap();
        let content = Some(Content::of(&id, vec![file]).unwrap());
        event(granule_id, content, line)
    }

    fn merged(events: Vec<Event>) -> Vec<MergedEvent> {
        MergedEvents::of(events.into_iter().map(Ok)).map(Result::unwrap).collect()
    }

    #[test]
    fn events_of_one_granule_time_and_kind_are_merged() {
        let mut events = Vec::new();
        // Two files alternate, so often that they are merged while they are read.
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
        assert_eq!(files.iter().map(FileRecord::size).collect::<Vec<_>>(), [Some(1), Some(2)]);
        let of =
            |error: &Option<Error>| error.as_ref().map(|error| (error.kind(), error.to_string()));
        assert!(merged[0].repetition.is_none() && merged[0].invalid_files.is_none());
        let (kind, text) = of(&merged[1].repetition).unwrap();
        assert_eq!(kind, ErrorKind::Twice);
        assert_eq!(text, "argument 2: \"B\" is listed twice, the first time at argument 1");
        let (kind, text) = of(&merged[2].invalid_files).unwrap();
        assert_eq!(kind, ErrorKind::Input);
        assert!(text.starts_with("argument 2: "), "{text}");
    }

    #[test]
    fn more_files_than_a_granule_may_have_are_not_kept_in_memory() {
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
