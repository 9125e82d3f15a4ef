//! The log of another registry, as far as it was read: its changes, and the effect of its events on a set of
//! granules.

use std::iter::Peekable;

use super::snapshot::Cursor;
use super::staging::{Sorted, Staging};
use crate::disk::Spool;
use crate::error::{Error, Result};
use crate::model::{Content, EncodedFiles, Event, EventKind, ListingEntry, LogChange, Timestamp};

/// Consecutive changes that were read from a log. More than a few are kept in a temporary file, so the memory
/// does not depend on the number of changes, nor on their notes.
#[derive(Debug, Default)]
pub(crate) struct LogChanges {
    spool: Spool,
    first: Option<(u64, Timestamp)>,
}

impl LogChanges {
    /// Adds the next change.
    pub fn add(&mut self, change: &LogChange) -> Result<()> {
        self.first.get_or_insert((change.number, change.timestamp));
        self.spool.add_value(change).map(drop)
    }

    /// The number and the time of the first change. `None` means that there are no changes.
    pub fn first(&self) -> Option<(u64, Timestamp)> {
        self.first
    }

    /// The changes, in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<LogChange>> + '_ {
        self.spool.values()
    }
}

/// Events, in the order of their times, that change one set of granules into another.
///
/// Their number is not limited: more than about 8 MiB are kept in a temporary file.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    staging: Staging,
}

impl Replay {
    /// Adds an event.
    pub fn add(&mut self, event: &Event) -> Result<()> {
        self.staging.add(event)
    }

    /// The effect of the events on a set, or on the empty set: a list of the granules of the events.
    pub fn outcomes(&self, begin_with_set: bool) -> Result<Outcomes> {
        Ok(Outcomes { sorted: self.staging.sorted()?.peekable(), begin_with_set, next: None })
    }
}

/// The number of former contents of a granule that are remembered. Each may have megabytes.
const MAX_FORMER: usize = 16;

/// The effect of the events on a granule.
#[derive(Debug)]
struct Outcome {
    /// The granule as it was ingested last, with the metadata of its files (`None`: not in the events). If it
    /// was not ingested, only its id is known.
    entry: ListingEntry,
    /// `None` means that no event replaced the checksums of the granule or deleted it. Otherwise, the metadata
    /// of its files before those events, as far as it was read.
    replaced: Option<Vec<Content>>,
    /// The first event. It determines whether the granule must be held before.
    first: Event,
    /// Whether the granule is held after the events.
    is_held: bool,
}

/// The outcomes of a [`Replay`], in canonical order.
pub(crate) struct Outcomes {
    sorted: Peekable<Sorted>,
    begin_with_set: bool,
    /// `None` means that it was not read yet, or that none is left.
    next: Option<Outcome>,
}

impl Outcomes {
    fn outcome(&mut self, mut first: Event) -> Result<Outcome> {
        let holds = |kind: EventKind| kind != EventKind::Deleted;
        let content = first.content.take();
        let content = content.or((first.kind == EventKind::Ingested).then(Content::default));
        let mut entry = entry_of(&first, content);
        let ends_content = |kind| matches!(kind, EventKind::Replaced | EventKind::Deleted);
        let mut replaced = ends_content(first.kind).then(Vec::new);
        let mut last = first.clone();
        while let Some(next) = self.sorted.next_if(|next| match next {
            Ok(next) => next.granule_id == first.granule_id,
            Err(_) => true,
        }) {
            let mut next = next?;
            if next.at == last.at {
                return Err(Error::of_repetition(&last, &next));
            }
            let content = next.content.take();
            if ends_content(next.kind) {
                let former = replaced.get_or_insert_default();
                former.extend(entry.content.take().filter(|former| !former.is_empty()));
                former.drain(..former.len().saturating_sub(MAX_FORMER));
            }
            match (next.kind, holds(last.kind)) {
                (EventKind::Ingested, true) => return Err(Error::held_then(&next, last.at)),
                (EventKind::Ingested, false) => {
                    entry = entry_of(&next, Some(content.unwrap_or_default()));
                }
                (_, false) => return Err(Error::not_held_then(&next)),
                (EventKind::Deleted, true) => entry.content = None,
                (_, true) => entry.content = content,
            }
            last = next;
        }
        Ok(Outcome { entry, replaced, first, is_held: holds(last.kind) })
    }
}

fn entry_of(event: &Event, content: Option<Content>) -> ListingEntry {
    let Event { granule_id, producer_granule, .. } = event.clone();
    ListingEntry { granule_id, producer_granule, content, location: None }
}

impl Cursor for Outcomes {
    fn peek(&mut self) -> Result<Option<&str>> {
        if self.next.is_none() {
            let first = self.sorted.next().transpose()?;
            self.next = first.map(|first| self.outcome(first)).transpose()?;
        }
        Ok(self.next.as_ref().map(|next| next.entry.granule_id.as_str()))
    }

    fn take(&mut self) -> Result<Option<ListingEntry>> {
        Ok(self.next.take().map(|next| next.entry))
    }

    fn known(&mut self) -> Result<Option<EncodedFiles<'_>>> {
        let next = self.next.as_ref().and_then(|next| next.entry.content.as_ref());
        Ok(next.map(Content::encoded))
    }

    /// Rejects a first event that contradicts whether the granule was held before.
    fn is_held(&self, is_left: bool) -> Result<bool> {
        let Some(Outcome { first, is_held, .. }) = &self.next else { return Ok(false) };
        match (first.kind, self.begin_with_set && is_left) {
            (EventKind::Ingested, true) => Err(Error::held_then(first, first.at)),
            (EventKind::Ingested, false) => Ok(*is_held),
            (_, false) => Err(Error::not_held_then(first)),
            (_, true) => Ok(*is_held),
        }
    }

    fn replaced(&mut self) -> Option<Vec<Content>> {
        self.next.as_mut()?.replaced.take()
    }

    fn keeps_others(&self) -> bool {
        self.begin_with_set
    }
}
