//! Checks that two listed paths do not give the same id.

use std::hash::{DefaultHasher, Hash, Hasher};

use accession::listing::{Findings, Record};
use accession::{GranuleId, Listing, ListingBuilder, ListingEntry};

use super::error::Result;

/// Adds the path from which an id was made, so that another path with the same id is found.
pub fn add_path(paths: &mut ListingBuilder, granule_id: &GranuleId, record: &Record) -> Result<()> {
    let hash = |text: &str| {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        hasher.finish()
    };
    let listed = record.granule_id.as_str();
    let listed = listed.strip_prefix("./").unwrap_or(listed);
    let name = listed.rsplit('/').next().unwrap_or_default();
    // After sorting, paths with the same id and the same file name are next to each other. Files with different
    // names but the same stem belong to one granule.
    let key = format!("{:016x}{:016x}{:016x}", hash(granule_id.as_str()), hash(name), hash(listed));
    paths.add(ListingEntry {
        granule_id: GranuleId::new(key)?,
        producer_granule: Some(record.granule_id.clone()),
        content: None,
        location: Some(record.location.clone()),
    })?;
    Ok(())
}

/// Rejects two paths that give the same id.
pub fn refuse_same_id(paths: &Listing) -> Result<()> {
    let mut before: Option<ListingEntry> = None;
    for entry in paths.entries()? {
        let entry = entry?;
        if let Some(before) = &before
            && before.granule_id != entry.granule_id
            && before.granule_id.as_str()[..32] == entry.granule_id.as_str()[..32]
        {
            let path = |entry: &ListingEntry| {
                entry.producer_granule.as_ref().map_or(String::new(), ToString::to_string)
            };
            let (one, other) = (path(before), path(&entry));
            let id = one.rsplit('/').next().unwrap_or_default();
            return Err(Findings::same_id(id, [&one, &other], entry.location.clone()).into());
        }
        before = Some(entry);
    }
    Ok(())
}
