//! Sorts events: in memory if there are few, otherwise on disk.
//!
//! Events are sorted by a key: the id, a byte of 0 (which no id contains), the time and the kind; or the time,
//! the side and the id. The value of an event is the rest: its source location, the producer's id, and the
//! metadata of its files.

use std::sync::Arc;

use crate::disk::{Merge, Sorter, scratch};
use crate::error::{Error, Result};
use crate::model::{
    Content, EncodedFiles, Event, EventKind, FileRecord, GranuleId, SourceLocation, Timestamp,
    quoted,
};

/// Rejects more file metadata of a granule than a registry stores.
pub(super) fn check_limits(granule_id: &str, files: EncodedFiles<'_>) -> Result<()> {
    let (bytes, most) = (files.as_bytes().len(), Content::MAX_BYTES);
    if bytes > most {
        let what = format!("the metadata of the files of {}", quoted(granule_id));
        return Err(Error::too_long(&what, "bytes", bytes, most));
    }
    let (checksums, most) = (files.most_checksums(), FileRecord::MAX_CHECKSUMS);
    if checksums > most as u64 {
        let what = format!("a file of {}", quoted(granule_id));
        let checksums = usize::try_from(checksums).unwrap_or(usize::MAX);
        return Err(Error::too_long(&what, "checksums", checksums, most));
    }
    Ok(())
}

/// The order in which events are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SortBy {
    /// By granule, time and kind, deletions first: as the rows of granules are stored.
    #[default]
    Granule,
    /// By time, side and granule: as the changes of a log are written.
    Time,
}

/// The kinds, in the order of their numbers.
const KINDS: [EventKind; 4] =
    [EventKind::Deleted, EventKind::Ingested, EventKind::Described, EventKind::Replaced];

/// Encodes that there is no source location.
const NOWHERE: u32 = u32::MAX;

/// Encodes a source location that is an argument of the command line.
const ARGUMENT: u32 = u32::MAX - 1;

/// Events that are added in any order, and can be read several times in sorted order. Repeated and
/// contradicting events are not dropped: the reader finds them next to each other.
#[derive(Debug, Default)]
pub(super) struct Staging {
    encoding: Encoding,
    sorter: Sorter,
    /// The number of events with file metadata.
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

    /// The number of events with file metadata.
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
        files.map_or(Ok(()), |files| check_limits(granule_id, files))?;
        self.contents += u64::from(files.is_some());
        // Encoded so that the bytes sort like the numbers.
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

    /// The events that were added so far, in order. Equal events keep the order in which they were added.
    pub fn sorted(&self) -> Result<Sorted> {
        Ok(Sorted { encoding: self.encoding.clone(), merge: Merge::of(&self.sorter)? })
    }
}

impl Encoding {
    /// Decodes an event. `None` means that the key and the value are not those of an event.
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
                // Consecutive events mostly have the same source.
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

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorKind;
    use crate::model::{FilePath, FileRecord};

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
                FileRecord::new(&granule_id, Some(path), Some(1), None).unwrap()
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
}
