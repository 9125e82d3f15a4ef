//! The granules of a set, in canonical order, and their recorded files.

use std::collections::BTreeMap;
use std::vec;

use super::cursor::{Failure, ListPages, Position, SetCursor, SetEntries};
use super::select::Selection;
use super::view::Snapshot;
use crate::error::{ErrorKind, Result};
use crate::model::{
    Algorithm, Checksum, Content, DatasetName, GranuleId, Holding, IdPage, Instance, ListingEntry,
    Set,
};
use crate::registry::handle::Registry;
use crate::registry::proof::Claim;
use crate::store::StoredContent;

impl Snapshot {
    /// The first granules of a set, at most `limit`, in canonical order.
    pub fn first_granules(&self, set: &Set, limit: usize) -> Result<Vec<Holding>> {
        self.ask_of(set.dataset(), |read, _| {
            let position = Position::of(read, set)?.in_pages_of(limit);
            SetCursor::of(read, position).into_granules().take(limit).collect()
        })
    }

    /// The last granules of an instance, at most `limit`, in canonical order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): the instance is not from
    /// this registry.
    pub fn last_granules(&self, instance: &Instance, limit: u32) -> Result<Vec<Holding>> {
        self.ask_of(&instance.dataset, |read, key| {
            let mut last = read.last_held(key, instance.timestamp, limit)?;
            last.reverse();
            Ok(last)
        })
    }
}

impl Registry {
    /// The granules of a set, in canonical order, which are verified. The granules of an instance never change;
    /// `deleted` is as known when the page is read.
    ///
    /// # Errors
    ///
    /// The first item is the error if the list cannot be looked up:
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorKind::IdentifierUnknown`](crate::ErrorKind::IdentifierUnknown): the set is not from
    /// this registry.
    pub fn granules(&self, set: &Set) -> Granules {
        Granules::of(ListPages::of(self, set))
    }

    /// The granules of a set after one (`None` means from the first), without verification, for a caller that
    /// needs only a part of the list.
    pub fn granules_after(&self, set: &Set, after: Option<&GranuleId>) -> Granules {
        Granules::of(ListPages::after(self, set, after))
    }

    /// Every past or present period in which granules with this producer id were held, by id and then by time.
    pub fn granules_of_producer(
        &self,
        dataset: &DatasetName,
        producer_granule: &GranuleId,
    ) -> Granules {
        Granules::of(ListPages::of_producer(self, dataset, producer_granule))
    }

    /// The files that were recorded when a set was in force, in canonical order of the granules, verified.
    pub fn files(&self, set: &Set) -> FileList {
        let entries = SetEntries::of(ListPages::of(self, set)).with_files(self, set);
        FileList::of(entries.proving_files(Claim::of(self, set)))
    }

    /// Like [`Registry::files`], for the granules after one (`None` means from the first), without
    /// verification.
    pub fn files_after(&self, set: &Set, after: Option<&GranuleId>) -> FileList {
        let entries = SetEntries::of(ListPages::after(self, set, after));
        FileList::of(entries.with_files(self, set))
    }
}

/// Granules in canonical order, with one page in memory at a time.
///
/// Each page is read in a short transaction of its own. So a slow reader keeps no transaction open, and the
/// iterator can be dropped at any time.
///
/// The granules of a whole set are hashed on the way, on another thread if there are many. If they do
/// not have the identifier of the set, the last item is an error of kind `damaged`.
pub struct Granules {
    pages: ListPages,
    page: vec::IntoIter<Holding>,
}

crate::model::debug_fields!(Granules);

impl Granules {
    fn of(pages: ListPages) -> Self {
        Granules { pages, page: Vec::new().into_iter() }
    }

    /// Reads the rest. Verifies a whole set.
    ///
    /// # Errors
    ///
    /// Those of the remaining items. If an earlier item was an error, an error of the same kind.
    pub fn finish(self) -> Result<()> {
        self.pages.finish()
    }

    /// Returns only the ids of the remaining granules, in pages. For a long list, this takes about a third of
    /// the time of single granules.
    ///
    /// # Examples
    ///
    /// ```
    /// # use accession::{Change, Clock, GranuleId, IfMissing, Registry, Selection};
    /// # let registry = Registry::temporary(Clock::system())?;
    /// # let name: accession::DatasetName = "US.FOOL2.002".parse()?;
    /// # let mut change = Change::new();
    /// # change.options = change.options.if_missing(IfMissing::Create);
    /// # for text in ["A", "B"] { change.ingest(text.parse::<GranuleId>()?)?; }
    /// # registry.change(&name, &change)?;
    /// let selected = registry.snapshot()?.select(&Selection::Dataset { name, at: None })?;
    /// let mut lines = String::new();
    /// for page in registry.granules(&selected.set).into_id_pages() {
    ///     lines.push_str(page?.as_lines());
    /// }
    /// assert_eq!(lines, "A\nB\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_id_pages(self) -> impl Iterator<Item = Result<IdPage>> + Send + use<> {
        // A page may have been read in part.
        let rest: IdPage = self.page.as_slice().iter().map(|granule| &granule.granule_id).collect();
        let rest = (!rest.is_empty()).then_some(Ok(rest));
        rest.into_iter().chain(self.pages)
    }
}

impl Iterator for Granules {
    type Item = Result<Holding>;

    fn next(&mut self) -> Option<Result<Holding>> {
        if self.page.len() == 0 {
            self.page = match self.pages.next_granules()? {
                Ok(page) => page.into_iter(),
                Err(error) => return Some(Err(error)),
            };
        }
        self.page.next().map(Ok)
    }
}

impl Snapshot {
    /// The usual algorithm of the first granules of a dataset with recorded files. The outer `None` means that
    /// there are no such granules, the inner one that they have no checksum.
    pub fn recorded_algorithm(&self, dataset: &DatasetName) -> Result<Option<Option<Algorithm>>> {
        let first: Vec<StoredContent> = self.ask_of(dataset, |read, key| read.first(key, 16))?;
        let mut totals = FileTotals::default();
        for stored in &first {
            totals.add(&stored.content);
        }
        Ok((!first.is_empty()).then(|| totals.usual_algorithm().cloned()))
    }

    /// Whether a file that a dataset holds has a checksum of an algorithm. Returns `false` if the dataset does
    /// not exist or has no history. Costs a pass over the files up to the first one with such a checksum.
    pub fn has_algorithm(&self, dataset: &DatasetName, algorithm: &Algorithm) -> Result<bool> {
        let set = match self.select(&Selection::from(dataset.clone())) {
            Ok(selected) => selected.set,
            Err(error) => {
                return match error.kind() {
                    ErrorKind::DatasetUnknown | ErrorKind::NoHistory => Ok(false),
                    _ => Err(error),
                };
            }
        };
        for granule in self.registry.files(&set) {
            let content = granule?.content;
            let files = content.files();
            let mut checksums = files.iter().flat_map(|file| file.checksums());
            if checksums.any(|checksum| checksum.algorithm() == algorithm) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A granule and its recorded files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Granule {
    /// The granule.
    pub granule_id: GranuleId,
    /// Its files. Empty if none is recorded.
    pub content: Content,
}

/// The granules of a set with their recorded files, in canonical order.
///
/// Each page is read in a short transaction of its own. The granules of the set are verified like
/// [`Granules`](super::Granules). If the recorded files do not have the digest of the set, the last item is an
/// error of kind `damaged`.
pub struct FileList {
    entries: SetEntries<ListPages>,
    failure: Failure,
}

crate::model::debug_fields!(FileList);

impl Iterator for FileList {
    type Item = Result<Granule>;

    fn next(&mut self) -> Option<Result<Granule>> {
        if self.failure.check().is_err() {
            return None;
        }
        let entry = self.failure.note(self.entries.next())?;
        Some(entry.map(|ListingEntry { granule_id, content, .. }| Granule {
            granule_id,
            content: content.unwrap_or_default(),
        }))
    }
}

/// The totals of the recorded files of a set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileTotals {
    /// The number of granules of the set.
    pub granules: u64,
    /// The number of granules with a file that has a checksum.
    pub with_checksums: u64,
    /// The number of recorded files.
    pub files: u64,
    /// The sum of the recorded sizes, in bytes.
    pub bytes: u64,
    /// The number of files without a recorded size.
    pub without_size: u64,
    /// The number of files with a checksum of each algorithm.
    pub algorithms: BTreeMap<Algorithm, u64>,
    /// The strongest checksum so far.
    strongest: Option<Checksum>,
}

impl FileTotals {
    /// SHA-256 if a file has such a checksum, else the strongest algorithm of any checksum. `None` means that
    /// there is no checksum.
    pub fn usual_algorithm(&self) -> Option<&Algorithm> {
        let sha256 = self.algorithms.get_key_value(&Algorithm::Sha256);
        let strongest = self.strongest.as_ref().map(Checksum::algorithm);
        sha256.map(|(algorithm, _)| algorithm).or(strongest)
    }
}

impl FileTotals {
    /// Adds the recorded files of a granule.
    fn add(&mut self, content: &Content) {
        let files = content.files();
        self.granules += 1;
        self.with_checksums += u64::from(files.iter().any(|it| !it.checksums().is_empty()));
        for file in files {
            self.files += 1;
            self.bytes = self.bytes.saturating_add(file.size().unwrap_or(0));
            self.without_size += u64::from(file.size().is_none());
            let checksums = self.strongest.iter().chain(file.checksums().first());
            self.strongest = checksums.min_by_key(|checksum| checksum.strength()).cloned();
            for checksum in file.checksums() {
                *self.algorithms.entry(checksum.algorithm().clone()).or_default() += 1;
            }
        }
    }
}

impl FileList {
    fn of(entries: SetEntries<ListPages>) -> Self {
        FileList { entries, failure: Failure::default() }
    }

    /// Reads the rest. Verifies a whole set.
    ///
    /// # Errors
    ///
    /// Those of the remaining items. If an earlier item was an error, an error of the same kind.
    pub fn finish(mut self) -> Result<()> {
        self.try_for_each(|granule| granule.map(drop))?;
        self.failure.check()
    }

    /// The totals. Costs a pass over the granules of the set.
    pub fn totals(self) -> Result<FileTotals> {
        let mut totals = FileTotals::default();
        for granule in self {
            totals.add(&granule?.content);
        }
        Ok(totals)
    }
}
