//! The granules of a set, in canonical order, and their identifier.

use std::vec;

use super::view::{Snapshot, dataset_of};
use crate::error::{Error, Result};
use crate::model::{
    Criteria, DatasetName, Granule, GranuleId, IdPage, Instance, Pattern, Set, Subset, Timestamp,
};
use crate::registry::handle::Registry;
use crate::registry::proof::Proof;
use crate::store::{self, DatasetKey, SubsetKey};

/// The least number of granules in a page.
const PAGE_ROWS: u32 = 4_096;

/// The number of granules in a page.
fn page_rows(read: &store::View) -> u32 {
    read.page_rows().max(PAGE_ROWS)
}

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
        let pages = self.ask(|read| {
            self.dataset_of(read, set.dataset())?;
            GranulePages::of(read, set)
        })?;
        Ok(Granules::of(&self.registry, pages, Some(set)))
    }

    /// The first granules of a set, in canonical order, at most `limit` of them.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::granules`].
    pub fn first_granules(&self, set: &Set, limit: usize) -> Result<Vec<Granule>> {
        self.ask_of(set.dataset(), |read, _| {
            GranulePages::of(read, set)?.granules(read).take(limit).collect()
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
        let (key, _) = self.ask(|read| self.dataset_of(read, dataset))?;
        let kind = Kind::OfProducer { producer_granule: producer_granule.clone(), ingested: None };
        Ok(Granules::of(
            &self.registry,
            GranulePages::from_start(key, Timestamp::EPOCH, kind),
            None,
        ))
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
    pages: ProvedPages,
    page: vec::IntoIter<Granule>,
}

/// The pages of a list, each of which is read in a short transaction of its own.
struct ProvedPages {
    registry: Registry,
    position: GranulePages,
    /// `None` means that only some of the set are read.
    proof: Option<Proof>,
    is_over: bool,
}

impl ProvedPages {
    /// The next page, whose granules `add` adds to the proof.
    fn next<Page>(
        &mut self,
        next: impl FnOnce(&mut GranulePages, &store::View) -> Result<Option<Page>>,
        add: impl FnOnce(&Page, &mut Proof),
    ) -> Option<Result<Page>> {
        if self.is_over {
            return None;
        }
        let load = || {
            let read = self.registry.read()?;
            let page = next(&mut self.position, &read)?;
            read.check_same_file()?;
            Ok(page)
        };
        let page = match load().map_err(|error: Error| self.registry.named(error)) {
            Ok(None) => self.proof.take().map_or(Ok(()), Proof::finish).map(|()| None),
            page => page,
        };
        self.is_over = !matches!(page, Ok(Some(_)));
        if let (Ok(Some(page)), Some(proof)) = (&page, &mut self.proof) {
            add(page, proof);
        }
        page.transpose()
    }
}

impl Granules {
    fn of(registry: &Registry, position: GranulePages, set: Option<&Set>) -> Self {
        let proof = set.map(|set| Proof::of(registry, set));
        let pages = ProvedPages { registry: registry.clone(), position, proof, is_over: false };
        Granules { pages, page: Vec::new().into_iter() }
    }

    /// Begins after an id instead of at the first granule. Must be called before the first is read.
    #[must_use]
    pub fn after(mut self, granule_id: &GranuleId) -> Self {
        self.pages.position.after = Some(granule_id.clone());
        self.unproved()
    }

    /// Leaves out the proof, for a list of which only a part is used. Must be called before the first
    /// granule is read.
    #[must_use]
    pub fn unproved(mut self) -> Self {
        self.pages.proof = None;
        self
    }

    /// Hashes the granules on the thread that reads them. Must be called before the first granule is
    /// read.
    #[cfg(feature = "serve")]
    pub(crate) fn hashed_here(mut self) -> Self {
        self.pages.proof = self.pages.proof.map(Proof::hashed_here);
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
        IdPages { rest: packed(self.page.as_slice()), pages: self.pages }
    }
}

impl Iterator for Granules {
    type Item = Result<Granule>;

    fn next(&mut self) -> Option<Result<Granule>> {
        if self.page.len() == 0 {
            let add = |page: &Vec<Granule>, proof: &mut Proof| {
                page.iter().for_each(|granule| proof.add(granule.granule_id.as_str()));
            };
            self.page = match self.pages.next(GranulePages::next, add)? {
                Ok(page) => page.into_iter(),
                Err(error) => return Some(Err(error)),
            };
        }
        self.page.next().map(Ok)
    }
}

/// The ids of granules in canonical order, in pages: [`Granules::into_id_pages`].
///
/// It reads pages, proves them at the end, and fails as [`Granules`] does.
pub struct IdPages {
    /// Those of a page that was partly read before.
    rest: IdPage,
    pages: ProvedPages,
}

impl Iterator for IdPages {
    type Item = Result<IdPage>;

    fn next(&mut self) -> Option<Result<IdPage>> {
        if !self.rest.is_empty() {
            return Some(Ok(std::mem::take(&mut self.rest)));
        }
        let add = |page: &IdPage, proof: &mut Proof| page.iter().for_each(|id| proof.add(id));
        self.pages.next(GranulePages::next_ids, add)
    }
}

fn packed(granules: &[Granule]) -> IdPage {
    granules.iter().map(|granule| &granule.granule_id).collect()
}

/// The position in a list of granules.
pub(in crate::registry) struct GranulePages {
    dataset: DatasetKey,
    at: Timestamp,
    kind: Kind,
    after: Option<GranuleId>,
    is_over: bool,
}

/// Which granules are listed.
enum Kind {
    Held,
    Selected(Vec<Pattern>),
    Named(SubsetKey, Box<Subset>),
    OfProducer { producer_granule: GranuleId, ingested: Option<Timestamp> },
}

impl GranulePages {
    /// The granules of a set.
    pub fn of(read: &store::View, set: &Set) -> Result<Self> {
        let (dataset, _) = dataset_of(read, set.dataset())?;
        let kind = match set {
            Set::Instance(_) => Kind::Held,
            Set::Subset { subset, .. } => match &subset.criteria {
                Criteria::Patterns(patterns) => Kind::Selected(patterns.clone()),
                Criteria::Named => {
                    let stated = (subset.identifier, subset.digest);
                    let found = read.subset(dataset, stated, &subset.criteria)?;
                    let unknown =
                        || Error::identifier_unknown(subset.identifier, Some(&subset.dataset));
                    Kind::Named(found.ok_or_else(unknown)?.0, Box::new(subset.clone()))
                }
            },
        };
        Ok(GranulePages::from_start(dataset, set.instance().timestamp, kind))
    }

    /// The granules held at an instant.
    pub fn held(dataset: DatasetKey, at: Timestamp) -> Self {
        GranulePages::from_start(dataset, at, Kind::Held)
    }

    fn from_start(dataset: DatasetKey, at: Timestamp, kind: Kind) -> Self {
        GranulePages { dataset, at, kind, after: None, is_over: false }
    }

    /// The next page, which is never empty. `None` after the last page.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): a granule that a subset names was not
    /// held.
    pub fn next(&mut self, read: &store::View) -> Result<Option<Vec<Granule>>> {
        while !self.is_over {
            let page = self.load(read)?;
            if !page.is_empty() {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// The ids of the next page, which is never empty. `None` after the last page.
    ///
    /// # Errors
    ///
    /// Those of [`GranulePages::next`].
    pub fn next_ids(&mut self, read: &store::View) -> Result<Option<IdPage>> {
        if !matches!(self.kind, Kind::Held) {
            return Ok(self.next(read)?.map(|page| packed(&page)));
        }
        if self.is_over {
            return Ok(None);
        }
        let after = self.after.as_ref().map_or("", GranuleId::as_str);
        let limit = page_rows(read);
        let page = read.held_ids_after(self.dataset, self.at, after, limit)?;
        self.is_over = page.len() < limit as usize;
        if let Some(last) = page.last() {
            self.after = Some(last);
        }
        Ok((!page.is_empty()).then_some(page))
    }

    /// The granules, within a snapshot or a transaction.
    pub fn granules(mut self, read: &store::View) -> impl Iterator<Item = Result<Granule>> + '_ {
        let mut page = Vec::new().into_iter();
        std::iter::from_fn(move || {
            if page.len() == 0 {
                page = match self.next(read) {
                    Ok(next) => next?.into_iter(),
                    Err(error) => return Some(Err(error)),
                };
            }
            page.next().map(Ok)
        })
    }

    fn load(&mut self, read: &store::View) -> Result<Vec<Granule>> {
        let after = self.after.as_ref().map_or("", GranuleId::as_str);
        let limit = page_rows(read);
        let mut page = match &self.kind {
            Kind::Held | Kind::Selected(_) => {
                read.held_after(self.dataset, self.at, after, limit)?
            }
            Kind::Named(key, subset) => {
                let named = read.named_after(self.dataset, *key, self.at, after, limit)?;
                let held = named
                    .into_iter()
                    .map(|(granule_id, held)| held.ok_or_else(|| not_held(&granule_id, subset)));
                held.collect::<Result<_>>()?
            }
            Kind::OfProducer { producer_granule, ingested } => {
                let after = self.after.as_ref().zip(*ingested);
                read.of_producer_after(self.dataset, producer_granule, after, limit)?
            }
        };
        self.is_over = page.len() < limit as usize;
        if let Some(last) = page.last() {
            self.after = Some(last.granule_id.clone());
            if let Kind::OfProducer { ingested, .. } = &mut self.kind {
                *ingested = Some(last.ingested);
            }
        }
        if let Kind::Selected(patterns) = &self.kind {
            page.retain(|held| patterns.iter().any(|it| it.matches(held.granule_id.as_str())));
        }
        Ok(page)
    }
}

fn not_held(granule_id: &GranuleId, subset: &Subset) -> Error {
    let Subset { dataset, timestamp, identifier, .. } = subset;
    Error::damaged(format!(
        "the subset {identifier} of {dataset} at {timestamp} names {granule_id}, which was not held then"
    ))
}
