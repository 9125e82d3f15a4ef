//! The different contents of an identifier. An identifier covers names only, so files can be replaced without
//! changing it.

use std::ops::Range;

use super::cursor::{Position, SetCursor};
use super::differences::Differences;
use super::periods::CitationFacts;
use super::select::Selection;
use super::view::{Snapshot, as_known, dataset_of, instances, subset_as_known};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Content, ContentMatch, DatasetName, Digest, DigestPrefix, EncodedFiles, GranuleId, Identifier,
    Instance, Moment, Set, Timestamp,
};
use crate::registry::contents::{Contents, ContentsAt};
use crate::registry::handle::Registry;
use crate::registry::listing::Listing;
use crate::store::{DatasetKey, StoredContent, View};

/// The files that the set of an identifier had in a dataset between two replacements of files.
///
/// A file is replaced if it gets a different size or a different checksum of the same algorithm, or is
/// removed. Adding a checksum replaces nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldContents {
    /// The set, as of the instance with the most recorded metadata of these files.
    pub set: Set,
    /// The first instant at which the set had these files.
    pub from: Timestamp,
    /// The first instant at which the set no longer had these files. `None` means that it still has them.
    pub until: Option<Timestamp>,
}

impl HeldContents {
    fn of(set: Set) -> Self {
        let Instance { timestamp, until, .. } = *set.instance();
        HeldContents { set, from: timestamp, until }
    }

    /// A name for these contents among others of the same identifier. It is the time from which they were held,
    /// or the first digits of their digest if another dataset held other contents then.
    pub fn spec_among(&self, others: &[HeldContents]) -> String {
        let is_held = |other: &&HeldContents| {
            other.from <= self.from && other.until.is_none_or(|until| self.from < until)
        };
        if others.iter().filter(is_held).count() == 1 {
            return format!("DI:{}@{}", self.set.identifier(), self.from);
        }
        let digest = self.set.digest().to_string();
        digest[..Digest::PREFIX.len() + DigestPrefix::MIN_DIGITS].to_owned()
    }

    /// The period in words: `FROM to UNTIL`.
    pub fn held(&self) -> String {
        let until = self.until.map_or_else(|| "now".to_owned(), |until| until.to_string());
        format!("{} to {until}", self.from)
    }
}

/// Facts for a citation about the contents of a set, besides its identifier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CitedContents {
    /// Whether the set had several contents on the day of the citation.
    pub are_several: bool,
    /// Whether every file of the set has a checksum, so that the digest covers its contents.
    pub have_checksums: bool,
}

/// The number of granules of a set that are searched for a file without a checksum. Whether a file of a larger
/// set has none is found if it is among these.
const MAX_SEARCHED: usize = 10_000;

/// The number of different contents that an error lists.
const MAX_LISTED: usize = 3;

impl Snapshot {
    /// The different contents of the selected set, of each dataset in order of time. There is at least one.
    /// There can be several only for an identifier without a time, for one with a day on which files were
    /// replaced, or for one that several datasets hold.
    ///
    /// If the identifier had different digests in a dataset, this costs a pass over all granules that the
    /// dataset ever held. It also costs a pass over the set for each further dataset with different digests.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`].
    pub fn contents(&self, selection: &Selection) -> Result<Vec<HeldContents>> {
        let selected = self.select(selection)?.set;
        let Selection::Identifier { identifier, dataset, at } = selection else {
            return Ok(vec![HeldContents::of(selected)]);
        };
        let of_datasets = match &selected {
            Set::Instance(_) => self.of_instances(*identifier, dataset.as_ref(), *at)?,
            Set::Subset { .. } => self.of_subsets(*identifier, dataset.as_ref(), *at)?,
        };
        let mut different: Vec<HeldContents> = Vec::new();
        for contents in of_datasets {
            self.add(contents, &mut different)?;
        }
        Ok(different)
    }

    /// The selected set, if its files are to be listed or cited.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Ambiguous`]: its identifier had different contents, which the message names; those of
    /// [`Snapshot::select`].
    pub fn select_contents(&self, selection: &Selection) -> Result<Set> {
        let mut contents = self.contents(selection)?;
        match contents.len() {
            1 => Ok(contents.remove(0).set),
            _ => Err(ambiguous(&contents)),
        }
    }
}

impl Registry {
    /// The facts about the contents of a set, for its citation as of a time. No snapshot needs to be open: what
    /// a set contained at a past time does not change.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read.
    pub(crate) fn cited_contents(
        &self,
        cited: &CitationFacts,
        at: Option<Moment>,
    ) -> Result<CitedContents> {
        let set = &cited.period.set;
        let are_several = match at {
            // Most days have one set, and so one content.
            Some(Moment::Day(_)) if cited.is_only_set(at) => false,
            Some(Moment::Day(_)) => {
                let (identifier, dataset) = (set.identifier(), Some(set.dataset().clone()));
                self.snapshot()?.contents(&Selection::Identifier { identifier, dataset, at })?.len()
                    > 1
            }
            _ => false,
        };
        Ok(CitedContents { are_several, have_checksums: self.covers_files(set)? })
    }

    /// Whether each file of a set has a checksum.
    fn covers_files(&self, set: &Set) -> Result<bool> {
        for granule in self.files_after(set, None).take(MAX_SEARCHED) {
            let files = granule?.content;
            let files = files.files();
            if files.is_empty() || files.iter().any(|file| file.checksums().is_empty()) {
                return Ok(false);
            }
        }
        // A set without granules has no contents to cover.
        Ok(set.granule_count() > 0)
    }
}

impl CitationFacts {
    /// Whether no other instance of the dataset was in force during a day.
    fn is_only_set(&self, day: Option<Moment>) -> bool {
        let then = |it: &&Instance| day.is_some_and(|day| it.is_in_force_during(day));
        self.others.is_empty() && self.period.instances.iter().filter(then).count() < 2
    }
}

impl Registry {
    /// Returns the indexes of the contents of two sides that differ in the fewest files. If a side has
    /// several contents, compares each with each.
    ///
    /// # Errors
    ///
    /// A set cannot be read.
    pub fn nearest(&self, left: &[HeldContents], right: &[HeldContents]) -> Result<(usize, usize)> {
        let pairs = (0..left.len()).flat_map(|one| (0..right.len()).map(move |two| (one, two)));
        // The latest contents are the most likely, so they are tried first.
        let pairs = pairs.collect::<Vec<_>>().into_iter().rev();
        nearest_of(pairs, |(one, two)| Ok(self.compare_files(&left[one].set, &right[two].set)))
    }

    /// Returns the index of the contents that differ from a listing in the fewest files. If there are several
    /// contents, compares each with the listing.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::compare_with`].
    pub fn nearest_to(&self, contents: &[HeldContents], listing: &Listing) -> Result<usize> {
        let indexes = (0..contents.len()).rev();
        nearest_of(indexes, |index| self.compare_with(&contents[index].set, listing))
    }
}

impl Snapshot {
    /// The contents of the instances with an identifier, at a moment or at any time.
    fn of_instances(
        &self,
        identifier: Identifier,
        dataset: Option<&DatasetName>,
        at: Option<Moment>,
    ) -> Result<Vec<HeldContents>> {
        self.ask(|read| {
            let key = dataset.map(|name| Ok::<_, Error>(dataset_of(read, name)?.0)).transpose()?;
            let mut known: Vec<Instance> = Vec::new();
            for instance in instances(read, identifier, key) {
                known.extend(as_known(read, instance?)?);
            }
            let mut contents = Vec::new();
            for of_dataset in known.chunk_by(|one, next| one.dataset == next.dataset) {
                match at {
                    None => contents.extend(of_dataset_instances(read, of_dataset)?),
                    Some(at) => {
                        let is_then = |it: &&Instance| it.is_in_force_during(at);
                        let then: Vec<Instance> =
                            of_dataset.iter().filter(is_then).cloned().collect();
                        // If there are none, another dataset held the set then.
                        if !then.is_empty() {
                            contents.extend(of_dataset_instances(read, &then)?);
                        }
                    }
                }
            }
            Ok(contents)
        })
    }

    /// The contents of subsets with an identifier, as they were cited.
    fn of_subsets(
        &self,
        identifier: Identifier,
        dataset: Option<&DatasetName>,
        at: Option<Moment>,
    ) -> Result<Vec<HeldContents>> {
        let mut sets = self.ask(|read| {
            let present =
                dataset.map(|name| Ok::<_, Error>(dataset_of(read, name)?.1)).transpose()?;
            let mut sets = Vec::new();
            for (_, subset) in read.subsets_with(identifier)? {
                if present.as_ref().is_none_or(|name| *name == subset.dataset) {
                    sets.extend(subset_as_known(read, subset)?);
                }
            }
            Ok(sets)
        })?;
        sets.retain(|set| at.is_none_or(|at| set.instance().is_in_force_during(at)));
        sets.sort_by(|one, two| {
            let place = |set: &Set| (set.dataset().clone(), set.instance().timestamp);
            place(one).cmp(&place(two))
        });
        let mut contents: Vec<HeldContents> = Vec::new();
        for set in sets {
            let next = HeldContents::of(set);
            match contents.last_mut() {
                Some(last)
                    if last.set.dataset() == next.set.dataset()
                        && (last.set.digest() == next.set.digest()
                            || !self.differ(&last.set, &next.set, is_replaced)?) =>
                {
                    // A later subset rarely has less recorded metadata, so the later one stays.
                    (last.set, last.until) = (next.set, next.until);
                }
                _ => contents.push(next),
            }
        }
        Ok(contents)
    }

    /// Adds contents to a list, unless the list already has contents with the same files, from an earlier
    /// period or another dataset. In that case, only the contents with more recorded metadata stay.
    fn add(&self, next: HeldContents, different: &mut Vec<HeldContents>) -> Result<()> {
        let mut same = None;
        for (index, other) in different.iter().enumerate() {
            let is_of_same_dataset = other.set.dataset() == next.set.dataset();
            let is_same = match other.set.digest() == next.set.digest() {
                true if is_of_same_dataset => {
                    !self.differ(&other.set, &next.set, |_, one, two| one != two)?
                }
                true => true,
                false => {
                    !is_of_same_dataset && !self.differ(&other.set, &next.set, is_other_content)?
                }
            };
            if is_same {
                same = Some((index, is_of_same_dataset));
                break;
            }
        }
        match same {
            None => different.push(next),
            // A file was replaced, and then its former content was put back.
            Some((index, true)) => {
                different.remove(index);
                different.push(next);
            }
            Some((index, false)) => {
                let [of_other, of_next] = [&different[index].set, &next.set];
                if of_other.digest() != of_next.digest()
                    && self.facts(of_other)? < self.facts(of_next)?
                {
                    different[index] = next;
                }
            }
        }
        Ok(())
    }

    /// Whether the files of any granule differ between two sets with the same granules. Stops at the first
    /// difference.
    fn differ(&self, one: &Set, two: &Set, differ_in: DifferIn) -> Result<bool> {
        self.ask(|read| {
            let mut of_one = contents_of(read, one)?;
            let mut of_two = contents_of(read, two)?;
            for granule in SetCursor::of(read, Position::of(read, one)?).into_granules() {
                let id = granule?.granule_id;
                if differ_in(&id, of_one.of(id.as_str())?, of_two.of(id.as_str())?) {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    /// The amount of metadata that is recorded of the files of a set.
    fn facts(&self, set: &Set) -> Result<u64> {
        self.ask(|read| {
            let mut contents = contents_of(read, set)?;
            let mut facts = 0;
            for granule in SetCursor::of(read, Position::of(read, set)?).into_granules() {
                facts += contents.of(granule?.granule_id.as_str())?.facts();
            }
            Ok(facts)
        })
    }
}

/// Whether the files of a granule differ between two sets.
type DifferIn = fn(&GranuleId, EncodedFiles<'_>, EncodedFiles<'_>) -> bool;

/// Whether a file of a granule was replaced between two times.
fn is_replaced(_: &GranuleId, one: EncodedFiles<'_>, two: EncodedFiles<'_>) -> bool {
    one.is_replaced_by(two)
}

/// Whether a file of a granule differs between two datasets, which may have it at different paths. A dataset in
/// which fewer files are recorded has no other content.
fn is_other_content(id: &GranuleId, one: EncodedFiles<'_>, two: EncodedFiles<'_>) -> bool {
    let is_other = |one: EncodedFiles<'_>, two: EncodedFiles<'_>| {
        matches!(Content::from(one).compare(id, &two.into()), ContentMatch::Other(_))
    };
    one != two && is_other(one, two) && is_other(two, one)
}

/// The files that were recorded for the granules of a set when it was in force.
fn contents_of<'read>(read: &'read View, set: &Set) -> Result<ContentsAt<'read>> {
    let (dataset, _) = dataset_of(read, set.dataset())?;
    ContentsAt::new(read, dataset, set.instance().timestamp)
}

fn ambiguous(contents: &[HeldContents]) -> Error {
    let identifier = contents[0].set.identifier();
    let listed = contents
        .iter()
        .take(MAX_LISTED)
        .map(|it| format!("{} in {}, {}", it.spec_among(contents), it.set.dataset(), it.held()));
    let listed = listed.collect::<Vec<_>>().join("; ");
    let more = match contents.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let message = format!(
        "DI:{identifier} had {} different contents; name one: {listed}{more}",
        contents.len()
    );
    Error::new(ErrorKind::Ambiguous, message)
        .among(contents.iter().map(|it| it.spec_among(contents)))
}

/// Returns the index of the comparison with the fewest differing files, the first of equal ones. Stops at a
/// comparison without differences. If there is only one comparison, it is not made.
fn nearest_of<T: Copy>(
    sides: impl ExactSizeIterator<Item = T>,
    compare: impl Fn(T) -> Result<Differences>,
) -> Result<T> {
    let is_single = sides.len() == 1;
    let mut nearest: Option<(u64, T)> = None;
    for side in sides {
        if is_single {
            return Ok(side);
        }
        let other = compare(side)?.finish()?.contents.other;
        if nearest.is_none_or(|(fewest, _)| other < fewest) {
            nearest = Some((other, side));
        }
        if other == 0 {
            break;
        }
    }
    let none = || Error::damaged("a set has no contents".to_owned());
    nearest.map(|(_, side)| side).ok_or_else(none)
}

/// The contents of the instances of one dataset with one identifier. The instances are in order of time.
fn of_dataset_instances(read: &View, instances: &[Instance]) -> Result<Vec<HeldContents>> {
    let contents = |(instances, most): (&[Instance], usize)| {
        let (first, last) = (instances.first()?, instances.last()?);
        let set = Set::Instance(instances.get(most)?.clone());
        Some(HeldContents { set, from: first.timestamp, until: last.until })
    };
    let (dataset, _) = dataset_of(read, &instances[0].dataset)?;
    // A change that only describes files does not replace their earlier records.
    let only_described =
        |pair: &[Instance]| pair[0].until == Some(pair[1].timestamp) && pair[1].replaced == 0;
    let none_recorded = || Ok::<_, Error>(read.first::<StoredContent>(dataset, 1)?.is_empty());
    if instances.windows(2).all(only_described) || none_recorded()? {
        return Ok(contents((instances, instances.len() - 1)).into_iter().collect());
    }
    let mut replacements = Replacements::among(instances);
    replacements.read(read, dataset)?;
    let parts = replacements.parts().into_iter();
    Ok(parts.filter_map(|(part, most)| contents((&instances[part], most))).collect())
}

/// The replacements of files between the instances with one identifier, all of which hold the same granules.
struct Replacements {
    /// When the instances took effect, in microseconds.
    times: Vec<i64>,
    /// For each instance, the number of instances up to and including the latest one with a file that this
    /// instance has replaced. 0 means that it has replaced none.
    replaced: Vec<usize>,
    /// How much more file metadata is recorded at each instance than at the previous one.
    gained: Vec<i64>,
}

/// The recorded files of a granule, and the last instance at which they are recorded.
struct Recorded {
    last: usize,
    files: Vec<u8>,
}

impl Replacements {
    fn among(instances: &[Instance]) -> Self {
        let times: Vec<i64> = instances.iter().map(|it| it.timestamp.as_micros()).collect();
        let (replaced, gained) = (vec![0; times.len()], vec![0; times.len() + 1]);
        Replacements { times, replaced, gained }
    }

    /// Makes a pass over all granules that the dataset ever held.
    fn read(&mut self, read: &View, dataset: DatasetKey) -> Result<()> {
        let mut contents = Contents::of(read, dataset, "");
        let (mut granule_id, mut earlier) = (Vec::new(), Vec::<Recorded>::new());
        read.each_period(dataset, "", None, |period| -> Result<()> {
            let known = contents.during(&period)?;
            if granule_id != period.granule_id {
                period.granule_id.clone_into(&mut granule_id);
                earlier.clear();
            }
            let end = period.deleted.map_or(self.times.len(), |deleted| self.number(deleted));
            let mut rows = known.iter().peekable();
            while let Some((since, files)) = rows.next() {
                let until = rows.peek().map_or(end, |(next, _)| self.number(*next).min(end));
                self.add(files, self.number(since)..until, &mut earlier);
            }
            Ok(())
        })
    }

    /// The number of the first instance at a time or after it.
    fn number(&self, micros: i64) -> usize {
        self.times.partition_point(|time| *time < micros)
    }

    /// Adds the recorded files of a granule at some instances. `earlier` contains the files that were
    /// recorded before, as far as later files can replace them.
    fn add(&mut self, files: EncodedFiles<'_>, at: Range<usize>, earlier: &mut Vec<Recorded>) {
        if at.is_empty() || files.is_empty() {
            return;
        }
        let facts = i64::try_from(files.facts()).unwrap_or(i64::MAX);
        self.gained[at.start] += facts;
        self.gained[at.end] -= facts;
        let is_replaced = |it: &Recorded| EncodedFiles::of_checked(&it.files).is_replaced_by(files);
        if let Some(index) = earlier.iter().rposition(is_replaced) {
            let replaced = &mut self.replaced[at.start];
            *replaced = (*replaced).max(earlier[index].last + 1);
            // Any file that replaces these comes after this replacement.
            earlier.drain(..=index);
        }
        earlier.retain(|it| !EncodedFiles::of_checked(&it.files).is_within(files));
        earlier.push(Recorded { last: at.end - 1, files: files.as_bytes().to_vec() });
    }

    /// The ranges of instances between replacements. Each range has the index of the instance with the most
    /// recorded metadata, the latest of equal ones.
    fn parts(&self) -> Vec<(Range<usize>, usize)> {
        let mut parts = Vec::new();
        let (mut start, mut facts, mut most) = (0, 0, (i64::MIN, 0));
        for (index, replaced) in self.replaced.iter().enumerate() {
            if *replaced > start {
                parts.push((start..index, most.1 - start));
                (start, most) = (index, (i64::MIN, index));
            }
            facts += self.gained[index];
            most = most.max((facts, index));
        }
        parts.push((start..self.replaced.len(), most.1 - start));
        parts
    }
}
