//! What resolves identifiers where only files are served: the months of each history, with an anchor for each
//! set; 256 shards that say where an identifier or a digest leads; the same as a map for nginx; and the
//! canonical lists of the latest sets and of those that were cited.

use accession::HistoryOptions;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Seek, Write};
use std::iter::Peekable;

use flate2::{Compression, GzBuilder};
use tempfile::SpooledTempFile;

use crate::pages::{Month, MonthPage, MonthSums, Site, months_page};
use accession::Citation;
use accession::dataset::DatasetRecord;
use accession::disk::scratch::{self, record_of, value_of};
use accession::disk::{Directory, SortedEntries, Sorter};
use accession::history::Subset;
use accession::mirror::{SHARDS, Shard, ShardPeriod};
use accession::publish::files::{text_in, write, write_spooled};
use accession::{DatasetName, Digest, Identifier, Instance, Moment, Set};
use accession::{Error, Result};
use accession::{History, Registry, Selection, Snapshot};

/// The map for nginx.
const MAP: &str = "di.map";

/// The directory of the months of a dataset.
pub(super) const HISTORY: &str = "history";

/// What is collected while the months of datasets are written.
#[derive(Default)]
pub(super) struct Resolver {
    sets: Sorter,
    digests: Sorter,
    /// The present and the former names of the datasets whose months were written.
    written: BTreeSet<DatasetName>,
    /// The digests whose lists are there.
    lists: BTreeSet<Digest>,
}

impl Resolver {
    /// Writes the months of a dataset, and the lists of its latest set and of its cited subsets. Costs a pass
    /// over its history.
    pub fn add(
        &mut self,
        registry: &Registry,
        (listed, site): (&DatasetRecord, &Site),
        (root, datasets): (&Directory, &Directory),
    ) -> Result<()> {
        let name = &listed.dataset.name;
        self.written.extend(listed.former_names.iter().cloned());
        self.written.insert(name.clone());
        let period_from =
            |from, until, subset| ShardPeriod { from, dataset: name.clone(), until, subset };
        let lists = root.enter_or_create(Digest::LISTS)?;
        let latest = listed.latest.clone().map(Set::Instance);
        let mut subsets: BTreeMap<Month, Vec<(Subset, Citation)>> = BTreeMap::new();
        let cited = subset_sets(&registry.snapshot()?, name)?;
        for set in latest.into_iter().chain(cited) {
            self.write_list(registry, &lists, &set)?;
            if let Some(subset) = set.subset() {
                self.lead(subset.identifier, subset.digest)?;
                self.lead_set(subset.identifier, &period_from(subset.timestamp, None, true))?;
                let snapshot = registry.snapshot()?;
                let cited = snapshot.cite_period(snapshot.period(set.clone())?)?;
                let at = subset.timestamp;
                let citation = Citation::new(cited, Some(Moment::Instant(at)), at.day())
                    .with_resolver(site.resolver());
                subsets.entry(Month::of(at)).or_default().push((subset.clone(), citation));
            }
        }
        let directory = datasets.enter_or_create(name.as_str())?.enter_or_create(HISTORY)?;
        let (mut sums, mut history) =
            (Vec::new(), registry.history(name, &HistoryOptions::new()).peekable());
        // Consecutive instances with one identifier are one period.
        let mut period: Option<(Identifier, ShardPeriod)> = None;
        while let Some(instances) = next_month(&mut history)? {
            let first = instances.first().map(|first| first.identifier);
            let continued = period.as_ref().filter(|(identifier, _)| Some(*identifier) == first);
            let continued = continued.map(|(_, held)| held.from);
            for instance in &instances {
                self.lead(instance.identifier, instance.digest)?;
                match &mut period {
                    Some((identifier, held)) if *identifier == instance.identifier => {
                        held.until = instance.until;
                        // Its row may be on the page of a later month.
                        let later = period_from(instance.timestamp, instance.until, false);
                        let digits = hex::encode(instance.digest.as_bytes());
                        self.sets.add(&[digits.as_bytes()], &[&record_of(&later)?])?;
                    }
                    before => {
                        let held = period_from(instance.timestamp, instance.until, false);
                        if let Some((identifier, held)) =
                            before.replace((instance.identifier, held))
                        {
                            self.lead_set(identifier, &held)?;
                        }
                    }
                }
            }
            let Some(last) = instances.last() else { break };
            let month = Month::of(last.timestamp);
            sums.push(MonthSums { month, changes: instances.len() as u64, held: last.granules });
            let at = Some(Moment::Instant(last.timestamp));
            let cited =
                registry.snapshot()?.cite(&Selection::Dataset { name: name.clone(), at })?;
            let page = MonthPage {
                listed,
                month,
                instances: &instances,
                continued,
                subsets: subsets.get(&month).map_or(&[], Vec::as_slice),
                citation: &Citation::new(cited, at, last.timestamp.day())
                    .with_resolver(site.resolver()),
                lists: &self.lists,
            };
            write(&directory, &format!("{month}.html"), &page.html(site))?;
        }
        if let Some((identifier, held)) = period {
            self.lead_set(identifier, &held)?;
        }
        write(&directory, "index.html", &months_page(site, listed, &sums))
    }

    fn lead(&mut self, identifier: Identifier, digest: Digest) -> Result<()> {
        let digits = hex::encode(digest.as_bytes());
        self.digests.add(&[digits.as_bytes()], &[&record_of(&identifier)?])
    }

    fn lead_set(&mut self, identifier: Identifier, held: &ShardPeriod) -> Result<()> {
        self.sets.add(&[identifier.to_string().as_bytes()], &[&record_of(held)?])
    }

    /// Writes the canonical list of a set, which is proved, unless it is there.
    fn write_list(&mut self, registry: &Registry, lists: &Directory, set: &Set) -> Result<()> {
        let name = set.digest().list_file();
        self.lists.insert(set.digest());
        if lists.read(&name)?.is_some() {
            return Ok(());
        }
        let files = registry.files(set);
        lists.replace(&name, |file| {
            // Without a time and a name, the same list gives the same bytes.
            let mut zip = GzBuilder::new().write(file, Compression::default());
            let mut line = Vec::new();
            for granule in files {
                let granule = granule.map_err(std::io::Error::other)?;
                line.clear();
                granule.content.write_line(granule.granule_id.as_str(), &mut line);
                zip.write_all(&line)?;
            }
            // Its name says what it has, so it is never written again: it must not be lost halfway.
            zip.finish()?.sync_data()
        })
    }

    /// Writes the shards and the map, and removes the lists that nothing names. What a shard says of a
    /// dataset that was not written now stays.
    pub fn finish(self, root: &Directory, site: &Site) -> Result<()> {
        let Resolver { sets, digests, written, lists } = self;
        let shards = root.enter_or_create(SHARDS)?;
        let (mut sets, mut digests) =
            (SortedEntries::of(&sets)?.peekable(), SortedEntries::of(&digests)?.peekable());
        let mut map = scratch::spool();
        let mut has_others = false;
        for number in 0..=u8::MAX {
            let digits = format!("{number:02x}");
            let file = format!("{digits}.json");
            // A shard that is damaged is made again.
            let before = text_in(&shards, &file)?.unwrap_or_default();
            let mut shard: Shard = serde_json::from_str(&before).unwrap_or_default();
            for periods in shard.sets.values_mut() {
                periods.retain(|held| !written.contains(&held.dataset));
                has_others |= !periods.is_empty();
            }
            while let Some((identifier, held)) = next_of(&mut sets, &digits)? {
                shard.sets.entry(identifier).or_default().push(value_of(&held)?);
            }
            while let Some((digest, identifier)) = next_of(&mut digests, &digits)? {
                shard.digests.insert(digest, value_of(&identifier)?);
            }
            shard.sets.retain(|_, periods| !periods.is_empty());
            for (identifier, periods) in &mut shard.sets {
                periods.sort();
                // A digest has no line.
                if identifier.len() == 32 {
                    write_line(&mut map, site, identifier, &periods[0])?;
                }
            }
            let text = serde_json::to_string(&shard);
            let text =
                text.map_err(|error| Error::cannot("write", &shards.path_of(&file), error.into()))?;
            write(&shards, &file, &text)?;
        }
        map.rewind().map_err(|source| scratch::unusable("read", source))?;
        write_spooled(root, MAP, &mut map)?;
        // Lists of the others may still be named.
        if has_others {
            return Ok(());
        }
        let wanted: BTreeSet<String> = lists.into_iter().map(Digest::list_file).collect();
        if let Some(directory) = root.enter(Digest::LISTS)? {
            let is_left = |name: &String| name.ends_with(".txt.gz") && !wanted.contains(name);
            for name in directory.names()?.iter().filter(|name| is_left(name)) {
                directory.remove(name)?;
            }
        }
        Ok(())
    }
}

/// A line of the map: the address of an identifier, and where it leads.
fn write_line(
    map: &mut SpooledTempFile,
    site: &Site,
    identifier: &str,
    held: &ShardPeriod,
) -> Result<()> {
    let ShardPeriod { from, dataset, .. } = held;
    let page = Site::month(dataset, Month::of(*from));
    let base = site.base_path();
    writeln!(map, "\"{base}/DI:{identifier}\" \"{base}{page}#{identifier}\";")
        .map_err(|source| scratch::unusable("write", source))
}

/// The next entry whose key begins with these digits.
fn next_of(
    entries: &mut Peekable<SortedEntries>,
    digits: &str,
) -> Result<Option<(String, Box<[u8]>)>> {
    let next = entries.next_if(|entry| {
        entry.as_ref().map_or(true, |(key, _)| key.starts_with(digits.as_bytes()))
    });
    let next = next.transpose()?;
    Ok(next.map(|(key, value)| (String::from_utf8_lossy(&key).into_owned(), value)))
}

/// The cited subsets of a dataset, each with the instance of which it is.
fn subset_sets(snapshot: &Snapshot, name: &DatasetName) -> Result<Vec<Set>> {
    let mut sets = Vec::new();
    for subset in snapshot.subsets(name)? {
        let with = snapshot.subsets_with(subset.identifier, usize::MAX)?;
        sets.extend(with.into_iter().filter(|set| set.subset() == Some(&subset)));
    }
    Ok(sets)
}

/// The instances of the next month of a history. `None` means that there are no more.
fn next_month(history: &mut Peekable<History>) -> Result<Option<Vec<Instance>>> {
    let Some(first) = history.next().transpose()? else { return Ok(None) };
    let month = Month::of(first.timestamp);
    let mut instances = vec![first];
    let is_of_month = |next: &Result<Instance>| {
        next.as_ref().map_or(true, |next| Month::of(next.timestamp) == month)
    };
    while let Some(next) = history.next_if(is_of_month) {
        instances.push(next?);
    }
    Ok(Some(instances))
}
