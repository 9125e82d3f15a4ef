//! What is known of the files of a set.

use std::collections::{BTreeMap, VecDeque};
use std::iter::Peekable;

use super::granules::IdPages;
use super::view::Snapshot;
use crate::chain::CanonicalList;
use crate::error::{Error, Result};
#[cfg(feature = "serve")]
use crate::model::DatasetName;
use crate::model::{Algorithm, Content, ContentMatch, Contradiction, GranuleId, Set, Timestamp};
use crate::registry::contents;
use crate::registry::handle::Registry;
use crate::registry::listing::Listing;
use crate::registry::proof::Claim;
use crate::store::DatasetKey;

impl Snapshot {
    /// What was known of the files of a set when it was in force, in canonical order of the granules.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::granules`].
    pub fn files(&self, set: &Set) -> Result<FileList> {
        let claim = Claim::of(&self.registry, set);
        let files = self.files_after(set, None)?;
        Ok(FileList { proof: Some((claim, CanonicalList::start())), ..files })
    }

    /// As [`Snapshot::files`], of the granules after one (`None` means from the first), without the proof.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::granules`].
    pub fn files_after(&self, set: &Set, after: Option<&GranuleId>) -> Result<FileList> {
        let granules = self.granules(set)?;
        let granules = match after {
            Some(after) => granules.after(after),
            None => granules,
        };
        let dataset = self.ask_of(set.dataset(), |_, dataset| Ok(dataset))?;
        Ok(FileList {
            registry: self.registry.clone(),
            pages: granules.into_id_pages(),
            dataset,
            at: set.instance().timestamp,
            read: VecDeque::new(),
            proof: None,
        })
    }
}

impl Snapshot {
    /// The usual algorithm of the first granules of a dataset of which something is known. The outer `None`
    /// means that there is none, the inner one that they have no checksum.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown).
    #[cfg(feature = "serve")]
    pub(crate) fn recorded_algorithm(
        &self,
        dataset: &DatasetName,
    ) -> Result<Option<Option<Algorithm>>> {
        let first = self.ask_of(dataset, |read, key| read.first_content(key, 16))?;
        let mut totals = FileTotals::default();
        for stored in &first {
            totals.add(&stored.content);
        }
        Ok((!first.is_empty()).then(|| totals.usual_algorithm().cloned()))
    }
}

/// What is known of the files of a granule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GranuleFiles {
    /// The granule.
    pub granule_id: GranuleId,
    /// Its files. Empty if none is known.
    pub content: Content,
}

/// The granules of a set with what is known of their files, in canonical order.
///
/// Each page is read in a short transaction of its own. The granules of the set are proved as by
/// [`Granules`](super::Granules); what is known of them has the digest of the set, else the last item is an
/// error of kind `damaged`.
pub struct FileList {
    registry: Registry,
    pages: IdPages,
    dataset: DatasetKey,
    at: Timestamp,
    read: VecDeque<GranuleFiles>,
    /// `None` means that only some of the set are read.
    proof: Option<(Claim, CanonicalList)>,
}

impl FileList {
    /// Reads the next page. `false` means that there is none.
    fn load(&mut self) -> Result<bool> {
        let Some(page) = self.pages.next().transpose()? else { return Ok(false) };
        let ids: Vec<&str> = page.iter().collect();
        let registry = &self.registry;
        let read = || {
            let read = registry.read()?;
            let known = contents::among(&read, self.dataset, self.at, &ids)?;
            read.check_same_file()?;
            Ok(known)
        };
        let mut line = Vec::new();
        for (id, content) in read().map_err(|error: Error| registry.named(error))? {
            if let Some((_, list)) = &mut self.proof {
                line.clear();
                content.write_line(id, &mut line);
                list.push(&line);
            }
            let granule_id = GranuleId::new(id).map_err(Error::damaged)?;
            self.read.push_back(GranuleFiles { granule_id, content });
        }
        Ok(true)
    }
}

impl Iterator for FileList {
    type Item = Result<GranuleFiles>;

    fn next(&mut self) -> Option<Result<GranuleFiles>> {
        while self.read.is_empty() {
            match self.load() {
                Ok(true) => {}
                Ok(false) => {
                    let (claim, list) = self.proof.take()?;
                    return claim.check_digest(list.digest()).err().map(Err);
                }
                Err(error) => {
                    self.proof = None;
                    return Some(Err(error));
                }
            }
        }
        self.read.pop_front().map(Ok)
    }
}

/// Of how many granules that two sides have the bytes were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct ContentCounts {
    /// Of how many files of both sides have an algorithm in common.
    pub compared: u64,
    /// Of how many they have none.
    pub not_comparable: u64,
    /// How many have other bytes.
    #[serde(skip)]
    pub other: u64,
}

impl ContentCounts {
    /// Counts a granule that both have.
    pub fn add(&mut self, compared: &ContentMatch) {
        match compared {
            ContentMatch::Unknown => {}
            ContentMatch::Equal => self.compared += 1,
            ContentMatch::NotComparable => self.not_comparable += 1,
            ContentMatch::Other(_) => {
                self.compared += 1;
                self.other += 1;
            }
        }
    }
}

type Files = Peekable<Box<dyn Iterator<Item = Result<GranuleFiles>>>>;

/// The granules that two sides have and of which a file has other bytes, in canonical order, with what
/// contradicts.
pub struct FileDifferences {
    left: Files,
    right: Files,
    counts: ContentCounts,
}

impl Snapshot {
    /// Compares what is known of the files of two sets. If their digests are equal, nothing is read.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::files`].
    pub fn compare_files(&self, left: &Set, right: &Set) -> Result<FileDifferences> {
        if left.digest() == right.digest() {
            return Ok(FileDifferences::of(std::iter::empty(), std::iter::empty()));
        }
        Ok(FileDifferences::of(self.files(left)?, self.files(right)?))
    }

    /// Compares what is known of the files of a set with what a listing states of them. If it states nothing,
    /// nothing is read.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::files`]; [`ErrorKind::Temporary`](crate::ErrorKind::Temporary).
    pub fn compare_files_with(&self, left: &Set, listing: &Listing) -> Result<FileDifferences> {
        if !listing.has_contents() {
            return Ok(FileDifferences::of(std::iter::empty(), std::iter::empty()));
        }
        let listed = listing.contents()?.map(|listed| {
            let (granule_id, content) = listed?;
            Ok(GranuleFiles { granule_id, content })
        });
        Ok(FileDifferences::of(self.files(left)?, listed))
    }
}

impl FileDifferences {
    fn of(
        left: impl Iterator<Item = Result<GranuleFiles>> + 'static,
        right: impl Iterator<Item = Result<GranuleFiles>> + 'static,
    ) -> Self {
        let files = |files: Box<dyn Iterator<Item = Result<GranuleFiles>>>| files.peekable();
        let (left, right) = (files(Box::new(left)), files(Box::new(right)));
        FileDifferences { left, right, counts: ContentCounts::default() }
    }

    /// The counts of what was read so far; those of the whole comparison once the iterator has ended.
    pub fn counts(&self) -> ContentCounts {
        self.counts
    }

    fn step(&mut self) -> Result<Option<(GranuleId, Contradiction)>> {
        while let Some(one) = self.left.next().transpose()? {
            let is_before = |next: &Result<GranuleFiles>| {
                next.as_ref().map_or(true, |next| next.granule_id < one.granule_id)
            };
            while let Some(before) = self.right.next_if(is_before) {
                before?;
            }
            let is_same = |next: &Result<GranuleFiles>| {
                next.as_ref().is_ok_and(|next| next.granule_id == one.granule_id)
            };
            let Some(other) = self.right.next_if(is_same).transpose()? else { continue };
            let compared = one.content.compare(&one.granule_id, &other.content);
            self.counts.add(&compared);
            if let ContentMatch::Other(contradiction) = compared {
                return Ok(Some((one.granule_id, contradiction)));
            }
        }
        // What is left on the right proves itself.
        self.right.by_ref().try_for_each(|rest| rest.map(drop))?;
        Ok(None)
    }
}

impl Iterator for FileDifferences {
    type Item = Result<(GranuleId, Contradiction)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

/// How much is known of the files of a set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileTotals {
    /// The granules of the set.
    pub granules: u64,
    /// The granules with a file that has a checksum.
    pub with_checksums: u64,
    /// The files that something is known of.
    pub files: u64,
    /// The sum of the sizes that are known, in bytes.
    pub bytes: u64,
    /// The files whose sizes are not known.
    pub without_size: u64,
    /// The number of files with a checksum of each algorithm.
    pub algorithms: BTreeMap<Algorithm, u64>,
}

impl FileTotals {
    /// SHA-256 if a file has one, else the strongest algorithm that a file has a checksum of. `None`
    /// means that there is no checksum.
    pub fn usual_algorithm(&self) -> Option<&Algorithm> {
        use Algorithm::{Adler32, Cksum, Crc32, Md5, Sha1, Sha256, Sha384, Sha512};
        let strength = [Sha256, Sha512, Sha384, Sha1, Md5, Crc32, Cksum, Adler32];
        let known = strength.iter().find_map(|it| self.algorithms.get_key_value(it));
        known.or_else(|| self.algorithms.first_key_value()).map(|(algorithm, _)| algorithm)
    }
}

impl FileTotals {
    /// Adds what is known of a granule.
    fn add(&mut self, content: &Content) {
        let files = content.files();
        self.granules += 1;
        self.with_checksums += u64::from(files.iter().any(|it| !it.checksums().is_empty()));
        for file in files {
            self.files += 1;
            self.bytes = self.bytes.saturating_add(file.size().unwrap_or(0));
            self.without_size += u64::from(file.size().is_none());
            for checksum in file.checksums() {
                *self.algorithms.entry(checksum.algorithm().clone()).or_default() += 1;
            }
        }
    }
}

impl FileList {
    /// How much is known. Costs a pass over the granules of the set.
    ///
    /// # Errors
    ///
    /// Those of reading the list.
    pub fn totals(self) -> Result<FileTotals> {
        let mut totals = FileTotals::default();
        for granule in self {
            totals.add(&granule?.content);
        }
        Ok(totals)
    }
}
