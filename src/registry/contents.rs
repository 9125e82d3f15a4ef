//! What is known of the files of granules, read beside their holding periods, and the lines that it gives
//! in canonical lists.

use std::iter::Peekable;
use std::ops::Range;

use crate::chain::{Line, List};
use crate::error::Result;
use crate::model::{Content, GranuleId, Timestamp};
use crate::store::{self, Begin, DatasetKey, Period, Snapshot, StoredContent};

/// What is known of the files of a granule, and since when, in microseconds.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub since: i64,
    pub content: Content,
}

/// The contents of a dataset, in the order of its granules.
pub(super) struct Contents<'read> {
    rows: Peekable<Box<dyn Iterator<Item = Result<StoredContent>> + 'read>>,
    /// The granule of the last period, and what is known of it at any time.
    granule_id: Vec<u8>,
    of_granule: Vec<Known>,
    /// How many of these were within one of its periods.
    used: usize,
    /// The first granule of which something is known outside every period in which it was held.
    stray: Option<String>,
}

impl<'read> Contents<'read> {
    /// The contents of granules from one on: all of them, or those in force at an instant and after it.
    pub fn of(
        read: &'read Snapshot,
        dataset: DatasetKey,
        begin: Begin<'_>,
        at: Option<Timestamp>,
    ) -> Self {
        let rows: Box<dyn Iterator<Item = _> + 'read> =
            Box::new(read.content_from(dataset, begin, at));
        Contents {
            rows: rows.peekable(),
            granule_id: Vec::new(),
            of_granule: Vec::new(),
            used: 0,
            stray: None,
        }
    }

    /// What was known of a granule during a period in which it was held, in order of time. Must be called
    /// for each period, in order of granule and time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): a row is damaged.
    pub fn during(&mut self, period: &Period<'_>) -> Result<&[Known]> {
        if self.granule_id != period.granule_id {
            self.advance_to(period.granule_id)?;
        }
        let start = self.of_granule.partition_point(|known| known.since < period.ingested);
        let ends = |known: &Known| period.deleted.is_none_or(|deleted| known.since < deleted);
        let end = start + self.of_granule[start..].iter().take_while(|known| ends(known)).count();
        self.used += end - start;
        Ok(&self.of_granule[start..end])
    }

    fn advance_to(&mut self, granule_id: &[u8]) -> Result<()> {
        self.leave();
        self.granule_id.clear();
        self.granule_id.extend_from_slice(granule_id);
        while let Some(stored) = self.rows.next_if(|row| {
            row.as_ref().map_or(true, |row| row.granule_id.as_str().as_bytes() <= granule_id)
        }) {
            let stored = stored?;
            if stored.granule_id.as_str().as_bytes() == granule_id {
                let (since, content) = (stored.since.as_micros(), stored.content()?);
                self.of_granule.push(Known { since, content });
            } else {
                self.stray.get_or_insert(stored.granule_id.to_string());
            }
        }
        Ok(())
    }

    /// Leaves the last granule.
    fn leave(&mut self) {
        if self.used < self.of_granule.len() && self.stray.is_none() {
            self.stray = Some(String::from_utf8_lossy(&self.granule_id).into_owned());
        }
        self.used = 0;
        self.of_granule.clear();
    }

    /// After the last period: the first granule of which something is known at a time when it was not held.
    ///
    /// # Errors
    ///
    /// Those of [`Contents::during`].
    pub fn stray(mut self) -> Result<Option<String>> {
        self.leave();
        match self.rows.next().transpose()? {
            Some(row) if self.stray.is_none() => Ok(Some(row.granule_id.to_string())),
            _ => Ok(self.stray),
        }
    }
}

/// What is known at an instant of the granules of a dataset that are held then, in canonical order.
pub(super) struct Held<'read> {
    rows: Peekable<Box<dyn Iterator<Item = Result<StoredContent>> + 'read>>,
}

impl<'read> Held<'read> {
    /// What is known at an instant.
    pub fn at(read: &'read Snapshot, dataset: DatasetKey, at: Timestamp) -> Self {
        let rows: Box<dyn Iterator<Item = _> + 'read> = Box::new(read.content_at(dataset, at));
        Held { rows: rows.peekable() }
    }

    /// What is known of a granule. Must be called in canonical order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): a row is damaged.
    pub fn of(&mut self, granule_id: &str) -> Result<Content> {
        while let Some(stored) = self
            .rows
            .next_if(|row| row.as_ref().map_or(true, |row| row.granule_id.as_str() <= granule_id))
        {
            let stored = stored?;
            if stored.granule_id.as_str() == granule_id {
                return stored.content();
            }
        }
        Ok(Content::default())
    }
}

/// Adds the lines of some granules, all of which are held at an instant and in canonical order, to a list.
///
/// # Errors
///
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): a row is damaged.
pub(super) fn list(
    read: &Snapshot,
    dataset: DatasetKey,
    at: Timestamp,
    granule_ids: &[GranuleId],
    list: &mut List,
) -> Result<()> {
    let ids: Vec<&str> = granule_ids.iter().map(GranuleId::as_str).collect();
    let known = read.content_among(dataset, at, &ids, store::Known::Held)?;
    let mut known = known.into_iter().peekable();
    let mut line = Vec::new();
    for granule_id in granule_ids {
        let stored = known.next_if(|stored| stored.granule_id == *granule_id);
        let content = stored.map_or(Ok(Content::default()), |stored| stored.content())?;
        line.clear();
        content.write_line(granule_id.as_str(), &mut line);
        list.push(&line);
    }
    Ok(())
}

/// The lines of a granule in the lists of the instances that hold it, given what is known of it during a
/// period, and the number of the first instance at a time or after it. None if nothing is known.
pub(super) fn lines(
    granule_id: &str,
    held: &Range<usize>,
    known: &[Known],
    mut number: impl FnMut(i64) -> usize,
) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    if known.is_empty() || held.is_empty() {
        return lines;
    }
    let mut line = |content: &Content, instances: Range<usize>| {
        if !instances.is_empty() {
            let mut bytes = Vec::new();
            content.write_line(granule_id, &mut bytes);
            lines.push(Line { bytes, instances });
        }
    };
    let mut start = held.start;
    let mut content = &Content::default();
    for known in known {
        let since = number(known.since).clamp(start, held.end);
        line(content, start..since);
        (start, content) = (since, &known.content);
    }
    line(content, start..held.end);
    lines
}
