//! Where a list of granules goes that Python hands over.

use std::path::Path;
use std::sync::Arc;

use accession::listing::{Records, SearchPages};
use accession::text::quoted;
use accession::{
    CancelToken, Change, EventKind, GranuleId, ListingBuilder, ListingEntry, Location,
    SourceLocation,
};
use accession::{Warning, WarningKind};

use crate::error::Failure;

/// What messages call a list.
pub const LIST: &str = "item";

/// Where a list of granules goes.
pub enum Target<'a> {
    /// A set, and the registry in which it is recorded, if it is.
    Listing(&'a mut ListingBuilder, Option<&'a Location>),
    /// Granules of one kind of a change, and the registry.
    Change(&'a mut Change, EventKind, &'a Location),
}

impl Target<'_> {
    /// Whether what is missing in the list changes what it means: all of a set, or what is ingested.
    pub fn is_whole(&self) -> bool {
        matches!(self, Target::Listing(..) | Target::Change(_, EventKind::Ingested, _))
    }

    /// Whether an id alone says something. What is found of a file is more than its name.
    pub fn is_of_ids(&self) -> bool {
        self.is_whole() || matches!(self, Target::Change(_, EventKind::Deleted, _))
    }

    /// Whether sizes and checksums of files are read.
    pub fn takes_files(&self) -> bool {
        !matches!(self, Target::Change(_, EventKind::Deleted, _))
    }

    pub fn add(&mut self, entry: ListingEntry) -> Result<(), Failure> {
        if let Target::Listing(_, Some(registry)) | Target::Change(_, EventKind::Ingested, registry) =
            self
            && registry.owns(Path::new(entry.granule_id.as_str()))
        {
            let what = quoted(entry.granule_id.as_str());
            let place = entry.location.map_or_else(String::new, |location| format!("{location}: "));
            let message = format!("{place}{what} is a file of the registry itself: leave it out");
            return Err(Failure::Here("input", message, ""));
        }
        let added = match self {
            Target::Listing(listing, _) => listing.add(entry),
            Target::Change(change, EventKind::Ingested, _) => change.ingest(entry),
            Target::Change(change, EventKind::Deleted, _) => change.delete(entry),
            // What says nothing of a granule's files changes nothing.
            Target::Change(change, EventKind::Described | EventKind::Replaced, _) => {
                match entry.content.as_ref().is_some_and(|content| !content.is_empty()) {
                    true => change.describe(entry),
                    false => Ok(()),
                }
            }
        };
        Ok(added?)
    }

    /// Adds an id, which is the one with this number, from 1.
    pub fn add_id(&mut self, id: &str, source: &Arc<str>, number: u64) -> Result<(), Failure> {
        let location = SourceLocation::Line { source: Arc::clone(source), line: number };
        let granule_id = GranuleId::new(id).map_err(|cause| {
            let message = format!("{location}: the id is refused: {cause}");
            let hint = "nothing was changed; correct the list and try again";
            Failure::Here("input", message, hint)
        })?;
        let location = Some(location);
        self.add(ListingEntry { granule_id, producer_granule: None, content: None, location })
    }
}

/// Adds the granules of records. Returns warnings.
///
/// # Errors
///
/// A value is not an id; a listing lacks pages; it is cancelled.
pub fn read_records(
    records: Records,
    target: &mut Target<'_>,
    token: &CancelToken,
) -> Result<Vec<Warning>, Failure> {
    let mut records = records.listed();
    for (number, record) in records.by_ref().enumerate() {
        let record = record?;
        if number % 4_096 == 0 {
            token.check()?;
        }
        target.add(record.into_entry()?)?;
    }
    let deleted = records.deleted();
    let records = records.records();
    let (mut warnings, mut pages) = (records.warnings(), SearchPages::default());
    if deleted > 0 {
        let message =
            format!("skipped granules that the list marks as deleted or replaced: {deleted}");
        warnings.push(Warning::new(WarningKind::DeletedInFile, message));
    }
    pages.add(records);
    match pages.missing() {
        Some(missing) if target.is_whole() => Err(Failure::pages_missing(missing)),
        Some(missing) => {
            warnings.push(Warning::new(WarningKind::PagesMissing, missing));
            Ok(warnings)
        }
        None => Ok(warnings),
    }
}
