//! Reads a set in pages, in canonical order, and verifies it. Each page is read in a short transaction of its
//! own, or all pages within one transaction.

use super::view::dataset_of;
use crate::chain::CanonicalList;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Content, DatasetName, EncodedFiles, GranuleId, Holding, IdPage, ListingEntry, Pattern, Set,
    Subset, SubsetCriteria, Timestamp,
};
use crate::registry::handle::Registry;
use crate::registry::look_ups::{LookUps, bytes_of_contents};
use crate::registry::proof::{Claim, Proof};
use crate::store::{self, DatasetKey, StoredContent, SubsetKey};

/// The least number of granules in a page.
const PAGE_ROWS: u32 = 4_096;

/// The source of pages: a registry (each page in a short transaction of its own), a snapshot or a transaction.
pub(in crate::registry) trait Reads {
    fn ask<T>(&self, question: impl FnOnce(&store::View) -> Result<T>) -> Result<T>;
}

impl Reads for Registry {
    fn ask<T>(&self, question: impl FnOnce(&store::View) -> Result<T>) -> Result<T> {
        self.snapshot()?.ask(question)
    }
}

impl Reads for &store::View {
    fn ask<T>(&self, question: impl FnOnce(&store::View) -> Result<T>) -> Result<T> {
        question(self)
    }
}

/// The position in a set, or in another list of granules, which is read in pages. As an iterator, it returns
/// pages of ids, which take a third of the time of the granules.
pub(in crate::registry) struct SetCursor<R = Registry> {
    reads: R,
    position: Position,
    /// `None` means that only some granules of the set are read.
    proof: Option<Proof>,
    is_over: bool,
}

impl<R: Reads> SetCursor<R> {
    /// Begins at the first granule, without verification.
    pub fn of(reads: R, position: Position) -> Self {
        SetCursor { reads, position, proof: None, is_over: false }
    }

    /// Hashes the granules. If they do not have the identifier of the set, the last page is an error of kind
    /// `damaged`.
    pub fn proving(self, proof: Option<Proof>) -> Self {
        SetCursor { proof, ..self }
    }

    /// The granules of the next page, at least one. `None` after the last page.
    pub fn next_granules(&mut self) -> Option<Result<Vec<Holding>>> {
        self.next_page(Position::next, |page, proof| {
            page.iter().for_each(|granule| proof.add(granule.granule_id.as_str()));
        })
    }

    /// The granules, one by one.
    pub fn into_granules(mut self) -> impl Iterator<Item = Result<Holding>> {
        let mut page = Vec::new().into_iter();
        std::iter::from_fn(move || {
            if page.len() == 0 {
                page = match self.next_granules()? {
                    Ok(next) => next.into_iter(),
                    Err(error) => return Some(Err(error)),
                };
            }
            page.next().map(Ok)
        })
    }

    fn next_page<Page>(
        &mut self,
        next: impl FnOnce(&mut Position, &store::View) -> Result<Option<Page>>,
        add: impl FnOnce(&Page, &mut Proof),
    ) -> Option<Result<Page>> {
        if self.is_over {
            return None;
        }
        let page = match self.reads.ask(|read| next(&mut self.position, read)) {
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

/// The pages of a list of a registry. The list is looked up when its first page is read.
pub(in crate::registry) struct ListPages {
    registry: Registry,
    list: List,
    /// `None` until the first page is read.
    cursor: Option<SetCursor>,
    failure: Failure,
}

/// The content of a list.
enum List {
    /// A whole set, which is verified.
    Set(Set),
    /// The granules of a set after this one. `None` means from the first.
    After(Set, Option<GranuleId>),
    /// The periods of the granules with a producer's id.
    OfProducer(DatasetName, GranuleId),
}

impl ListPages {
    /// The pages of a set, which are hashed. If the granules do not have its identifier, the last page is an
    /// error of kind `damaged`.
    pub fn of(registry: &Registry, set: &Set) -> Self {
        ListPages::listing(registry, List::Set(set.clone()))
    }

    /// The pages of a set after a granule (`None` means from the first), which are not verified.
    pub fn after(registry: &Registry, set: &Set, after: Option<&GranuleId>) -> Self {
        ListPages::listing(registry, List::After(set.clone(), after.cloned()))
    }

    /// The periods of the granules with a producer's id.
    pub fn of_producer(registry: &Registry, dataset: &DatasetName, id: &GranuleId) -> Self {
        ListPages::listing(registry, List::OfProducer(dataset.clone(), id.clone()))
    }

    fn listing(registry: &Registry, list: List) -> Self {
        let (registry, failure) = (registry.clone(), Failure::default());
        ListPages { registry, list, cursor: None, failure }
    }

    /// The granules of the next page, at least one. `None` after the last page.
    pub fn next_granules(&mut self) -> Option<Result<Vec<Holding>>> {
        self.next_with(SetCursor::next_granules)
    }

    /// Reads the rest. Verifies a whole set.
    pub fn finish(mut self) -> Result<()> {
        self.try_for_each(|page| page.map(drop))?;
        self.failure.check()
    }

    fn next_with<Page>(
        &mut self,
        next: impl FnOnce(&mut SetCursor) -> Option<Result<Page>>,
    ) -> Option<Result<Page>> {
        if self.failure.check().is_err() {
            return None;
        }
        let page = match self.cursor() {
            Ok(cursor) => next(cursor),
            Err(error) => Some(Err(error)),
        };
        self.failure.note(page)
    }

    fn cursor(&mut self) -> Result<&mut SetCursor> {
        let ListPages { registry, list, cursor, .. } = self;
        match cursor {
            Some(cursor) => Ok(cursor),
            none => {
                let position = registry.ask(|read| match list {
                    List::Set(set) => Position::of(read, set),
                    List::After(set, after) => {
                        Ok(Position { after: after.clone(), ..Position::of(read, set)? })
                    }
                    List::OfProducer(dataset, id) => {
                        Ok(Position::of_producer(dataset_of(read, dataset)?.0, id.clone()))
                    }
                })?;
                let proof = match list {
                    List::Set(set) => Some(Proof::of(registry, set)),
                    List::After(..) | List::OfProducer(..) => None,
                };
                let (position, proof) = match registry.has_small_pages() {
                    true => (position.in_small_pages(), proof.map(Proof::hashed_here)),
                    false => (position, proof),
                };
                let cursor = SetCursor::of(registry.clone(), position);
                Ok(none.insert(cursor.proving(proof)))
            }
        }
    }
}

impl Iterator for ListPages {
    type Item = Result<IdPage>;

    fn next(&mut self) -> Option<Result<IdPage>> {
        self.next_with(SetCursor::next)
    }
}

/// The error of an item of a list, if there was one. Then the end of the list verifies nothing.
#[derive(Default)]
pub(super) struct Failure(Option<ErrorKind>);

impl Failure {
    /// Records whether an item is an error.
    pub fn note<T>(&mut self, item: Option<Result<T>>) -> Option<Result<T>> {
        if let Some(Err(error)) = &item {
            self.0 = Some(error.kind());
        }
        item
    }

    /// Checks that no item was an error.
    ///
    /// # Errors
    ///
    /// The error of the item, without its details.
    pub fn check(&self) -> Result<()> {
        match self.0 {
            None => Ok(()),
            Some(kind) => Err(Error::new(kind, "an earlier part of the list could not be read")),
        }
    }
}

impl<R: Reads> Iterator for SetCursor<R> {
    type Item = Result<IdPage>;

    fn next(&mut self) -> Option<Result<IdPage>> {
        self.next_page(Position::next_ids, |page, proof| page.iter().for_each(|id| proof.add(id)))
    }
}

/// The position in a list of granules.
pub(in crate::registry) struct Position {
    dataset: DatasetKey,
    at: Timestamp,
    kind: Kind,
    rows: Rows,
    after: Option<GranuleId>,
    is_over: bool,
}

/// The number of granules in a page.
enum Rows {
    /// The usual number.
    Usual,
    Exactly(u32),
    /// The number that a client that reads slowly may keep in memory.
    Small(LookUps),
}

/// The kind of the listed granules.
enum Kind {
    Held,
    Selected(Vec<Pattern>),
    Named(SubsetKey, Box<Subset>),
    OfProducer { producer_granule: GranuleId, ingested: Option<Timestamp> },
}

impl Position {
    /// The first granule of a set.
    pub fn of(read: &store::View, set: &Set) -> Result<Self> {
        let (dataset, _) = dataset_of(read, set.dataset())?;
        let kind = match set {
            Set::Instance(_) => Kind::Held,
            Set::Subset { subset, .. } => match &subset.criteria {
                SubsetCriteria::Patterns(patterns) => Kind::Selected(patterns.clone()),
                SubsetCriteria::Named => {
                    let stated = (subset.identifier, subset.digest);
                    let found = read.subset(dataset, stated, &subset.criteria)?;
                    let unknown =
                        || Error::identifier_unknown(subset.identifier, Some(&subset.dataset));
                    Kind::Named(found.ok_or_else(unknown)?.0, Box::new(subset.clone()))
                }
            },
        };
        Ok(Position { kind, ..Position::held(dataset, set.instance().timestamp) })
    }

    /// The first granule of those held at an instant.
    pub fn held(dataset: DatasetKey, at: Timestamp) -> Self {
        Position { dataset, at, kind: Kind::Held, rows: Rows::Usual, after: None, is_over: false }
    }

    /// The same in pages of this many granules, if only the first ones are needed. Has no effect on subsets
    /// with patterns, which may select few granules.
    pub fn in_pages_of(self, rows: usize) -> Self {
        match (u32::try_from(rows), &self.kind) {
            (_, Kind::Selected(_)) | (Err(_), _) => self,
            (Ok(rows), _) => Position { rows: Rows::Exactly(rows), ..self },
        }
    }

    /// The same in pages that are limited in bytes.
    pub fn in_small_pages(self) -> Self {
        Position { rows: Rows::Small(LookUps::small()), ..self }
    }

    /// The first holding period of the granules with a producer's id.
    pub fn of_producer(dataset: DatasetKey, producer_granule: GranuleId) -> Self {
        let kind = Kind::OfProducer { producer_granule, ingested: None };
        Position { kind, ..Position::held(dataset, Timestamp::EPOCH) }
    }

    /// The next page, which is never empty. `None` after the last page.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): a granule that a subset lists was not held.
    fn next(&mut self, read: &store::View) -> Result<Option<Vec<Holding>>> {
        while !self.is_over {
            let page = self.load(read)?;
            if !page.is_empty() {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// The ids of the next page, which is never empty. `None` after the last page.
    fn next_ids(&mut self, read: &store::View) -> Result<Option<IdPage>> {
        if !matches!(self.kind, Kind::Held) {
            let page = self.next(read)?;
            return Ok(page.map(|page| page.iter().map(|granule| &granule.granule_id).collect()));
        }
        if self.is_over {
            return Ok(None);
        }
        let (after, limit) = self.beginning(read);
        let page = read.held_ids_after(self.dataset, self.at, after, limit)?;
        self.note(page.len(), page.as_lines().len());
        self.is_over = page.len() < limit as usize;
        if let Some(last) = page.last() {
            self.after = Some(last);
        }
        Ok((!page.is_empty()).then_some(page))
    }

    /// The id after which the next page begins, and its number of granules.
    fn beginning(&self, read: &store::View) -> (&str, u32) {
        let after = self.after.as_ref().map_or("", GranuleId::as_str);
        let rows = match &self.rows {
            Rows::Usual => read.page_rows().max(PAGE_ROWS),
            Rows::Exactly(rows) => *rows,
            Rows::Small(next) => u32::try_from(next.granules()).unwrap_or(PAGE_ROWS),
        };
        (after, rows)
    }

    /// Records the size of a page, which determines the size of the next one.
    fn note(&mut self, granules: usize, bytes: usize) {
        if let Rows::Small(next) = &mut self.rows {
            next.note(granules, bytes);
        }
    }

    fn load(&mut self, read: &store::View) -> Result<Vec<Holding>> {
        let (after, limit) = self.beginning(read);
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
        self.note(page.len(), page.iter().map(|granule| granule.granule_id.as_str().len()).sum());
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

/// A list of granules in canonical order, one by one.
pub(crate) trait Cursor {
    /// The id of the next item. `None` after the last one.
    fn peek(&mut self) -> Result<Option<&str>>;

    /// Returns the next item, and advances. `None` after the last one.
    fn take(&mut self) -> Result<Option<ListingEntry>>;

    /// Skips the next item, after `peek`.
    fn skip(&mut self) -> Result<()> {
        self.take().map(drop)
    }

    /// The file metadata of the next item in this list, after `peek`. `None` means that the list has none.
    fn known(&mut self) -> Result<Option<EncodedFiles<'_>>>;

    /// Whether the set on the right has the next item, after `peek`. A list of the effect of events on the set
    /// on the left may contain granules that are removed.
    ///
    /// # Errors
    ///
    /// The item contradicts whether the set on the left has it.
    fn is_held(&self, _is_left: bool) -> Result<bool> {
        Ok(true)
    }

    /// The recorded files of the next item before its files were replaced or it was deleted, according to the
    /// list, after `peek`. `None` means that neither happened.
    fn replaced(&mut self) -> Option<Vec<Content>> {
        None
    }

    /// Whether the set on the right also has the granules of the set on the left that this list does not
    /// contain.
    fn keeps_others(&self) -> bool {
        false
    }
}

/// The granules of a set, one by one, which are read in pages of ids. Nothing is allocated for a skipped
/// granule, so the comparison of two long lists takes about two thirds of the time.
pub(crate) struct SetEntries<Pages> {
    pages: Pages,
    page: IdPage,
    next: usize,
    /// `None` means that the recorded files are not read.
    known: Option<KnownFiles>,
}

/// The recorded files of a set at an instant. They are looked up for several ids of a page at once, when the
/// first of these ids is reached.
struct KnownFiles {
    registry: Registry,
    dataset: DatasetName,
    /// `None` until the first look-up.
    key: Option<DatasetKey>,
    at: Timestamp,
    /// The recorded files of the granules of a page before `up_to`. The files of the other granules were not
    /// looked up yet.
    looked_up: Vec<StoredContent>,
    up_to: usize,
    look_ups: LookUps,
    /// The digest that all of them must have. `None` means that only some are read.
    proof: Option<(Claim, CanonicalList)>,
    line: Vec<u8>,
}

impl<Pages: Iterator<Item = Result<IdPage>>> SetEntries<Pages> {
    /// The ids of pages.
    pub fn of(pages: Pages) -> Self {
        SetEntries { pages, page: IdPage::default(), next: 0, known: None }
    }

    /// Reads also the files that were recorded when the set was in force.
    pub fn with_files(self, registry: &Registry, set: &Set) -> Self {
        let known = KnownFiles {
            registry: registry.clone(),
            dataset: set.dataset().clone(),
            key: None,
            at: set.instance().timestamp,
            looked_up: Vec::new(),
            up_to: 0,
            look_ups: match registry.has_small_pages() {
                true => LookUps::small(),
                false => LookUps::up_to(usize::MAX),
            },
            proof: None,
            line: Vec::new(),
        };
        SetEntries { known: Some(known), ..self }
    }

    /// Hashes all recorded files. If they do not have the digest of the set, the last granule is followed by an
    /// error of kind `damaged`.
    pub fn proving_files(mut self, claim: Claim) -> Self {
        if let Some(known) = &mut self.known {
            known.proof = Some((claim, CanonicalList::start()));
        }
        self
    }
}

impl KnownFiles {
    /// The recorded files of the granule at an index of a page.
    fn of(&mut self, page: &IdPage, index: usize) -> Result<EncodedFiles<'_>> {
        if index >= self.up_to {
            let ids: Vec<&str> = page.iter().skip(index).take(self.look_ups.granules()).collect();
            let KnownFiles { registry, dataset, key, at, .. } = self;
            self.looked_up = registry.ask(|read| {
                let key = match key {
                    Some(key) => *key,
                    none => *none.insert(dataset_of(read, dataset)?.0),
                };
                read.content_among(key, *at, &ids)
            })?;
            self.up_to = index + ids.len();
            self.look_ups.note(ids.len(), bytes_of_contents(&self.looked_up));
        }
        let known = &self.looked_up;
        let granule_id = page.get(index).unwrap_or_default();
        let place = known.binary_search_by(|known| known.granule_id.as_str().cmp(granule_id));
        Ok(place.map_or_else(|_| EncodedFiles::default(), |place| known[place].content.encoded()))
    }

    /// Hashes the recorded files of the granule.
    fn hash(&mut self, page: &IdPage, index: usize) -> Result<()> {
        let Some((claim, mut list)) = self.proof.take() else { return Ok(()) };
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        self.of(page, index)?.write_line(page.get(index).unwrap_or_default(), &mut line);
        list.push(&line);
        (self.line, self.proof) = (line, Some((claim, list)));
        Ok(())
    }
}

impl<Pages: Iterator<Item = Result<IdPage>>> Cursor for SetEntries<Pages> {
    fn peek(&mut self) -> Result<Option<&str>> {
        while self.next == self.page.len() {
            let Some(page) = self.pages.next().transpose()? else {
                let proof = self.known.as_mut().and_then(|known| known.proof.take());
                proof.map_or(Ok(()), |(claim, list)| claim.check_digest(list.digest()))?;
                return Ok(None);
            };
            (self.page, self.next) = (page, 0);
            if let Some(known) = &mut self.known {
                known.up_to = 0;
            }
        }
        Ok(self.page.get(self.next))
    }

    fn take(&mut self) -> Result<Option<ListingEntry>> {
        let Some(granule_id) = self.peek()?.map(granule_id_of).transpose()? else {
            return Ok(None);
        };
        let content = self.known()?.map(Content::from);
        Cursor::skip(self)?;
        Ok(Some(ListingEntry { content, ..ListingEntry::from(granule_id) }))
    }

    fn skip(&mut self) -> Result<()> {
        if let Some(known) = &mut self.known {
            known.hash(&self.page, self.next)?;
        }
        self.next = self.page.len().min(self.next + 1);
        Ok(())
    }

    fn known(&mut self) -> Result<Option<EncodedFiles<'_>>> {
        self.known.as_mut().map(|known| known.of(&self.page, self.next)).transpose()
    }
}

impl<Pages: Iterator<Item = Result<IdPage>>> Iterator for SetEntries<Pages> {
    type Item = Result<ListingEntry>;

    fn next(&mut self) -> Option<Result<ListingEntry>> {
        Cursor::take(self).transpose()
    }
}

/// The id in a page of a list.
pub(super) fn granule_id_of(text: &str) -> Result<GranuleId> {
    GranuleId::new(text).map_err(|_| Error::damaged("an id is not valid"))
}
