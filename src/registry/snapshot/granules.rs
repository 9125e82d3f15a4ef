//! The granules of a set, in canonical order.

use std::vec;

use super::cursor::{Position, SetCursor};
use super::view::Snapshot;
use crate::error::Result;
use crate::model::{DatasetName, Granule, GranuleId, IdPage, Instance, Set};
use crate::registry::handle::Registry;
use crate::registry::proof::Proof;

impl Snapshot {
    /// The granules of a set, in canonical order. The granules of an instance never change, so they
    /// can still be read after this snapshot was dropped; `deleted` is as known when the page is
    /// read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorKind::IdentifierUnknown`](crate::ErrorKind::IdentifierUnknown): the set is not from
    /// this registry.
    pub fn granules(&self, set: &Set) -> Result<Granules> {
        let cursor = self.cursor(set)?.proving(Some(Proof::of(&self.registry, set)));
        Ok(Granules { cursor, page: Vec::new().into_iter() })
    }

    /// The position at the beginning of a set, with pages of their own.
    pub(super) fn cursor(&self, set: &Set) -> Result<SetCursor> {
        let position = self.ask_of(set.dataset(), |read, _| Position::of(read, set))?;
        Ok(SetCursor::of(self.registry.clone(), position))
    }

    /// The first granules of a set, in canonical order, at most `limit` of them.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::granules`].
    pub fn first_granules(&self, set: &Set, limit: usize) -> Result<Vec<Granule>> {
        self.ask_of(set.dataset(), |read, _| {
            let position = Position::of(read, set)?.in_pages_of(limit);
            SetCursor::of(read, position).into_granules().take(limit).collect()
        })
    }

    /// The last granules of an instance, in canonical order, at most `limit` of them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): the instance is not from
    /// this registry.
    pub fn last_granules(&self, instance: &Instance, limit: u32) -> Result<Vec<Granule>> {
        self.ask_of(&instance.dataset, |read, key| {
            let mut last = read.last_held(key, instance.timestamp, limit)?;
            last.reverse();
            Ok(last)
        })
    }

    /// Those of a few granules, which are in canonical order, that the instance of a set held. Costs a
    /// look-up for each.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): the set is not from this
    /// registry.
    pub fn held_among(&self, set: &Set, granule_ids: &[GranuleId]) -> Result<Vec<GranuleId>> {
        let instance = set.instance();
        let texts: Vec<&str> = granule_ids.iter().map(GranuleId::as_str).collect();
        self.ask_of(&instance.dataset, |read, key| {
            let held = read.held_among(key, instance.timestamp, &texts)?;
            Ok(held.into_iter().map(|period| period.granule_id).collect())
        })
    }

    /// Every period in which granules with this producer id were held, past or present, by id and
    /// then by time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): no dataset has the name.
    pub fn granules_of_producer(
        &self,
        dataset: &DatasetName,
        producer_granule: &GranuleId,
    ) -> Result<Granules> {
        let key = self.ask_of(dataset, |_, key| Ok(key))?;
        let position = Position::of_producer(key, producer_granule.clone());
        let cursor = SetCursor::of(self.registry.clone(), position);
        Ok(Granules { cursor, page: Vec::new().into_iter() })
    }
}

/// Granules in canonical order, with a page in memory at a time.
///
/// Each page is read in a short transaction of its own: a slow reader holds no transaction open,
/// and the iterator can be dropped at any time.
///
/// The granules of a whole set are hashed on the way, on another thread if there are many. If they do
/// not have the identifier of the set, the last item is an error of kind `damaged`.
pub struct Granules {
    cursor: SetCursor<Registry>,
    page: vec::IntoIter<Granule>,
}

impl Granules {
    /// Begins after an id instead of at the first granule. Must be called before the first is read.
    #[must_use]
    pub fn after(mut self, granule_id: &GranuleId) -> Self {
        self.cursor = self.cursor.after(granule_id);
        self
    }

    /// Leaves out the proof, for a list of which only a part is used. Must be called before the first
    /// granule is read.
    #[must_use]
    pub fn unproved(mut self) -> Self {
        self.cursor = self.cursor.proving(None);
        self
    }

    /// Hashes the granules on the thread that reads them. Must be called before the first granule is
    /// read.
    #[cfg(feature = "serve")]
    pub(crate) fn hashed_here(mut self) -> Self {
        self.cursor = self.cursor.hashed_here();
        self
    }

    /// Returns only the ids of the remaining granules, in pages. A long list takes about a third of
    /// the time of the granules one by one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use accession::{Change, GranuleId, Registry, Selection, Stamp};
    /// # let registry = Registry::in_memory()?;
    /// # let name: accession::DatasetName = "US.FOOL2.002".parse()?;
    /// # let mut change = Change::new();
    /// # change.options.create_dataset = true;
    /// # for text in ["A", "B"] { change.ingest(text.parse::<GranuleId>()?)?; }
    /// # registry.change(&name, &change, &Stamp::now("2026-01-01T00:00:00Z".parse()?))?;
    /// let snapshot = registry.snapshot()?;
    /// let selected = snapshot.select(&Selection::Dataset { name, at: None })?;
    /// let granules = snapshot.granules(&selected.set)?;
    /// drop(snapshot);
    /// let mut lines = String::new();
    /// for page in granules.into_id_pages() {
    ///     lines.push_str(page?.as_lines());
    /// }
    /// assert_eq!(lines, "A\nB\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_id_pages(self) -> IdPages {
        // A page may have been read in part.
        let rest: IdPage = self.page.as_slice().iter().map(|granule| &granule.granule_id).collect();
        let rest = (!rest.is_empty()).then_some(Ok(rest));
        Box::new(rest.into_iter().chain(self.cursor))
    }
}

/// The ids of granules in canonical order, in pages: [`Granules::into_id_pages`].
///
/// It reads pages, proves them at the end, and fails as [`Granules`] does.
pub type IdPages = Box<dyn Iterator<Item = Result<IdPage>> + Send>;

impl Iterator for Granules {
    type Item = Result<Granule>;

    fn next(&mut self) -> Option<Result<Granule>> {
        if self.page.len() == 0 {
            self.page = match self.cursor.next_granules()? {
                Ok(page) => page.into_iter(),
                Err(error) => return Some(Err(error)),
            };
        }
        self.page.next().map(Ok)
    }
}
