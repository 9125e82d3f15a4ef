//! The index of a published site, which resolves identifiers and digests. It consists of 256 shards for the
//! site's script, and a map for nginx. Beside it are the canonical lists of the latest sets and of the cited
//! subsets.

use std::collections::BTreeSet;
use std::io::{self, Seek, Write};
use std::iter::Peekable;

use flate2::{Compression, GzBuilder};
use tempfile::SpooledTempFile;

use super::site_directory::{SiteDirectory, text_in, write, write_spooled};
use crate::disk::scratch::{self, record_of, value_of};
use crate::disk::{Directory, SortedEntries, Sorter};
use crate::error::{Error, Result};
use crate::mirror::{SHARDS, Shard, ShardPeriod};
use crate::model::{DatasetName, Digest, Identifier, Instance, Set, Timestamp};
use crate::registry::{DatasetRecord, HistoryOptions, Registry};

/// The map for nginx.
const MAP: &str = "di.map";

/// The index of a published site, which finds a set if only files are served. It leads from an identifier or a
/// digest to the dataset that held the set, and the periods.
#[derive(Debug, Default)]
pub struct SiteIndex {
    /// The periods of each identifier. If a set got a digest later than its identifier, the digest has its own
    /// periods.
    sets: Sorter,
    /// The identifier of each digest.
    digests: Sorter,
    /// The current and the former names of the datasets that were added.
    added: BTreeSet<DatasetName>,
    /// The digests whose lists were written.
    lists: BTreeSet<Digest>,
}

impl SiteIndex {
    /// An empty index.
    pub fn new() -> Self {
        SiteIndex::default()
    }

    /// Adds a dataset, and writes the lists of its latest set and of its cited subsets, which verifies them.
    /// Returns the cited subsets. Costs a pass over the history of the dataset.
    ///
    /// # Errors
    ///
    /// Errors of the registry and of the files of the site.
    pub fn add(
        &mut self,
        registry: &Registry,
        site: &SiteDirectory,
        dataset: &DatasetRecord,
    ) -> Result<Vec<Set>> {
        let name = &dataset.dataset.name;
        self.added.extend(dataset.former_names.iter().cloned());
        self.added.insert(name.clone());
        let lists = site.root.enter_or_create(Digest::LISTS)?;
        if let Some(latest) = &dataset.latest {
            self.write_list(registry, &lists, &Set::Instance(latest.clone()))?;
        }
        let subsets = cited_subsets(registry, name)?;
        for set in &subsets {
            self.write_list(registry, &lists, set)?;
            if let Some(subset) = set.subset() {
                let (from, dataset) = (subset.timestamp, name.clone());
                let period = ShardPeriod { from, dataset, until: None, subset: true };
                self.lead(subset.identifier, subset.digest)?;
                self.lead_set(subset.identifier, &period)?;
            }
        }
        self.add_history(registry, name)?;
        Ok(subsets)
    }

    /// Whether the list of the set with this digest was written.
    pub fn has_list(&self, digest: Digest) -> bool {
        self.lists.contains(&digest)
    }

    /// Writes the shards and the map, and removes the lists that are no longer needed. `page` returns the path
    /// of the page that shows a dataset's set of a time. Entries of datasets that were not added stay in the
    /// shards.
    ///
    /// # Errors
    ///
    /// Errors of the files of the site.
    pub fn write(
        self,
        site: &SiteDirectory,
        base_path: &str,
        page: impl Fn(&DatasetName, Timestamp) -> String,
    ) -> Result<()> {
        let SiteIndex { sets, digests, added, lists } = self;
        let shards = site.root.enter_or_create(SHARDS)?;
        let (mut sets, mut digests) =
            (SortedEntries::of(&sets)?.peekable(), SortedEntries::of(&digests)?.peekable());
        let mut map = scratch::spool();
        let mut has_others = false;
        for number in 0..=u8::MAX {
            let digits = format!("{number:02x}");
            let file = format!("{digits}.json");
            // A damaged shard is made anew.
            let before = text_in(&shards, &file)?.unwrap_or_default();
            let mut shard: Shard = serde_json::from_str(&before).unwrap_or_default();
            for periods in shard.sets.values_mut() {
                periods.retain(|held| !added.contains(&held.dataset));
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
                // Digests have no line in the map.
                if identifier.len() == 32 {
                    let page = page(&periods[0].dataset, periods[0].from);
                    write_line(&mut map, base_path, identifier, &page)?;
                }
            }
            let text = serde_json::to_string(&shard);
            let text =
                text.map_err(|error| Error::cannot("write", &shards.path_of(&file), error.into()))?;
            write(&shards, &file, &text)?;
        }
        map.rewind().map_err(|source| scratch::unusable("read", source))?;
        write_spooled(&site.root, MAP, &mut map)?;
        // Datasets that were not added may still need the other lists.
        if has_others {
            return Ok(());
        }
        let wanted: BTreeSet<String> = lists.into_iter().map(Digest::list_file).collect();
        if let Some(directory) = site.root.enter(Digest::LISTS)? {
            let is_left = |name: &String| name.ends_with(".txt.gz") && !wanted.contains(name);
            for name in directory.names()?.iter().filter(|name| is_left(name)) {
                directory.remove(name)?;
            }
        }
        Ok(())
    }

    /// Adds the periods of a history. Consecutive instances with one identifier are one period.
    fn add_history(&mut self, registry: &Registry, name: &DatasetName) -> Result<()> {
        let mut period: Option<(Identifier, ShardPeriod)> = None;
        for instance in registry.history(name, &HistoryOptions::new()) {
            let Instance { identifier, digest, timestamp, until, .. } = instance?;
            self.lead(identifier, digest)?;
            let (from, dataset) = (timestamp, name.clone());
            let held = ShardPeriod { from, dataset, until, subset: false };
            match &mut period {
                Some((of, period)) if *of == identifier => {
                    period.until = until;
                    // The digest's page may differ from that of the beginning of the period.
                    let digits = hex::encode(digest.as_bytes());
                    self.sets.add(&[digits.as_bytes()], &[&record_of(&held)?])?;
                }
                before => {
                    if let Some((identifier, ended)) = before.replace((identifier, held)) {
                        self.lead_set(identifier, &ended)?;
                    }
                }
            }
        }
        period.map_or(Ok(()), |(identifier, held)| self.lead_set(identifier, &held))
    }

    fn lead(&mut self, identifier: Identifier, digest: Digest) -> Result<()> {
        let digits = hex::encode(digest.as_bytes());
        self.digests.add(&[digits.as_bytes()], &[&record_of(&identifier)?])
    }

    fn lead_set(&mut self, identifier: Identifier, held: &ShardPeriod) -> Result<()> {
        self.sets.add(&[identifier.to_string().as_bytes()], &[&record_of(held)?])
    }

    /// Writes the canonical list of a set, unless it exists. The set is verified on the way.
    fn write_list(&mut self, registry: &Registry, lists: &Directory, set: &Set) -> Result<()> {
        let name = set.digest().list_file();
        self.lists.insert(set.digest());
        if lists.read(&name)?.is_some() {
            return Ok(());
        }
        let files = registry.files(set);
        lists.replace(&name, |file| {
            // Without a time and a name in the header, the same list gives the same bytes.
            let mut zip = GzBuilder::new().write(file, Compression::default());
            let mut line = Vec::new();
            for granule in files {
                let granule = granule.map_err(io::Error::other)?;
                line.clear();
                granule.content.write_line(granule.granule_id.as_str(), &mut line);
                zip.write_all(&line)?;
            }
            // A list with this name is never written again, so it must be complete after a crash.
            zip.finish()?.sync_data()
        })
    }
}

/// Writes a line of the map: the path of an identifier, and the page that it leads to.
fn write_line(
    map: &mut SpooledTempFile,
    base_path: &str,
    identifier: &str,
    page: &str,
) -> Result<()> {
    writeln!(map, "\"{base_path}/DI:{identifier}\" \"{base_path}{page}#{identifier}\";")
        .map_err(|source| scratch::unusable("write", source))
}

/// The next entry, if its key begins with these digits.
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

/// The cited subsets of a dataset, each with its instance.
fn cited_subsets(registry: &Registry, name: &DatasetName) -> Result<Vec<Set>> {
    let snapshot = registry.snapshot()?;
    let mut sets = Vec::new();
    for subset in snapshot.subsets(name)? {
        let with = snapshot.subsets_with(subset.identifier, usize::MAX)?;
        sets.extend(with.into_iter().filter(|set| set.subset() == Some(&subset)));
    }
    Ok(sets)
}
