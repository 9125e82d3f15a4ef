//! What is stated of the files of granules, in any number.

use std::iter::Peekable;

use crate::error::Result;
use crate::model::{
    Content, Event, EventKind, FileContent, FileRecord, GranuleId, KnownFile, SourceLocation,
    Timestamp,
};
use crate::registry::staging::{Sorted, Staging};

/// What is stated of the files of granules, in any order, to be recorded.
///
/// More than about 8 MiB are kept in a temporary file.
#[derive(Debug, Default)]
pub struct FileListing {
    pub(in crate::registry) staging: Staging,
}

impl FileListing {
    /// Creates an empty list.
    pub fn new() -> Self {
        FileListing::default()
    }

    /// Adds a record. `location` is where it was read, for messages.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be written.
    pub fn add(&mut self, record: &FileRecord, location: Option<&SourceLocation>) -> Result<()> {
        let FileRecord { granule_id, path, content } = record;
        let (size, checksum) = (content.size(), content.checksum().cloned());
        let file = KnownFile::new(granule_id, path.clone(), size, checksum);
        let stated = Content::of(granule_id, file.into_iter().collect());
        // One statement contradicts nothing.
        self.add_content(granule_id, stated.unwrap_or_default(), location)
    }

    /// Adds what is known of the files of a granule.
    ///
    /// # Errors
    ///
    /// Those of [`FileListing::add`].
    pub fn add_content(
        &mut self,
        granule_id: &GranuleId,
        content: Content,
        location: Option<&SourceLocation>,
    ) -> Result<()> {
        if content.is_empty() {
            return Ok(());
        }
        self.staging.add(&Event {
            at: Timestamp::EPOCH,
            kind: EventKind::Ingested,
            granule_id: granule_id.clone(),
            producer_granule: None,
            content: Some(content),
            location: location.cloned(),
        })
    }

    /// How often something was added.
    pub fn count(&self) -> u64 {
        self.staging.count()
    }
}

/// A record, and where it was read.
pub(in crate::registry) type Listed = (FileRecord, Option<SourceLocation>);

/// The records of the files that are stated with events: those of each granule together, by path, and then in
/// the order in which they were added.
pub(in crate::registry) struct Stated<'a> {
    events: Peekable<Sorted<&'a Staging>>,
    /// How many records were left out that repeat the ones before them.
    pub repeated: u64,
}

impl<'a> Stated<'a> {
    pub fn of(staging: &'a Staging) -> Result<Self> {
        Ok(Stated { events: staging.sorted()?.peekable(), repeated: 0 })
    }

    /// The records of the next granule of which something is stated. `None` after the last.
    pub fn next(&mut self) -> Result<Option<Vec<Listed>>> {
        while let Some(first) = self.events.next().transpose()? {
            let is_same = |event: &Result<Event>| {
                event.as_ref().map_or(true, |event| event.granule_id == first.granule_id)
            };
            let mut records = records_of(&first);
            let mut last = first.content.clone();
            while let Some(event) = self.events.next_if(is_same).transpose()? {
                let more = records_of(&event);
                // However often a granule is listed, its records fit into memory.
                if event.content == last {
                    self.repeated += more.len() as u64;
                    continue;
                }
                records.extend(more);
                last = event.content;
            }
            if !records.is_empty() {
                records.sort_by(|(one, _), (other, _)| one.path().cmp(other.path()));
                return Ok(Some(records));
            }
        }
        Ok(None)
    }
}

/// A record for each checksum of a file, or of its size.
fn records_of(event: &Event) -> Vec<Listed> {
    let (granule_id, content) = (&event.granule_id, event.content.as_ref());
    let mut records = Vec::new();
    for file in content.map(Content::files).unwrap_or_default() {
        let checksums = file.checksums().iter().cloned().map(Some);
        let is_sized = file.checksums().is_empty().then_some(None);
        for checksum in checksums.chain(is_sized) {
            let Some(content) = FileContent::new(file.size(), checksum) else { continue };
            let path = file.own_path().cloned();
            let record = FileRecord { granule_id: granule_id.clone(), path, content };
            records.push((record, event.location.clone()));
        }
    }
    records
}
