//! `granule-id`, and the making of unique granule ids from the ids of producers.

use std::io::Write;

use accession::ids::granule::{CollectionId, Formula, HashLength, explain, split, unique};
use accession::{GranuleId, ListingEntry, Timestamp};
use serde_json::json;

use crate::args::GranuleArgs;
use crate::error::{Error, Exit, Result};
use crate::reading::MissingPages;
use crate::session::Session;

commands! {
    /// Make and explain the unique granule ids of NASA Cumulus, without a registry
    enum Command {
        New(NewGranuleIds),
        Explain(Explain),
    }
}

/// Print a unique granule id for each producer id, one per line
///
/// A unique id is the producer id, an underscore, and the beginning of a hash of the collection.
/// With --timestamp the time is hashed too, so that every call makes different ids.
///
/// Example:
///   accession granule-id new MOD09GQ.A2017224.h09v02.006 --collection MOD09GQ___006
#[derive(clap::Args)]
#[command(verbatim_doc_comment, mut_group("FormatArgs", |group| group.requires("from")))]
pub struct NewGranuleIds {
    #[command(flatten)]
    granules: GranuleArgs,

    /// The collection: name___version
    #[arg(long, value_name = "C")]
    collection: CollectionId,

    /// The number of hash characters: 1 to 22
    #[arg(long, value_name = "N", default_value = "8")]
    hash_length: HashLength,

    /// Also hash the current time, so that every call makes different ids
    #[arg(long)]
    timestamp: bool,
}

/// Split a unique granule id, and show which formula made it for a collection
///
/// Formula C hashes the collection (as released), formula B the granule and the collection (July
/// 2025). The exit status is 1 if neither made the id: it belongs to another collection, or a time
/// was hashed too.
///
/// Example:
///   accession granule-id explain MOD09GQ.A2017224.h09v02.006_wJJ69jjW --collection MOD09GQ___006
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Explain {
    /// The unique id
    #[arg(value_name = "ID")]
    granule_id: GranuleId,

    /// The collection: name___version
    #[arg(long, value_name = "C")]
    collection: CollectionId,
}

impl NewGranuleIds {
    fn run(self, session: &mut Session) -> Result<Exit> {
        let entries = self.granules.entries(session, None, MissingPages::Warn)?;
        let entries = entries.collect::<Result<Vec<_>>>()?;
        let uniquify = Uniquify {
            collection: self.collection,
            hash_length: self.hash_length,
            hashes_time: self.timestamp,
        };
        let now = session.now()?;
        for (index, entry) in (0..).zip(entries) {
            let entry = uniquify.apply(entry, index, now)?;
            let ListingEntry { granule_id, producer_granule, .. } = &entry;
            let made = json!({ "granule": granule_id, "producer_granule": producer_granule });
            session.print(&made, |out| writeln!(out, "{}", granule_id.as_str()))?;
        }
        Ok(Exit::Done)
    }
}

impl Explain {
    fn run(self, session: &mut Session) -> Result<Exit> {
        let granule = self.granule_id.as_str();
        let (producer, suffix) = split(&self.granule_id).unwrap_or((granule, ""));
        let formula = match suffix {
            "" => None,
            suffix => explain(producer, suffix, &self.collection),
        };
        let made = match formula {
            Some(Formula::B) => "B: a hash of the granule and the collection (July 2025)",
            Some(Formula::C) => "C: a hash of the collection (as released)",
            None => "neither B nor C: another collection, or a hash of the time too",
        };
        let explained = object!({
            "granule": granule,
            "producer_granule": producer,
            "suffix": suffix,
            "collection": self.collection.to_string(),
            "formula": formula.map(|formula| formula.to_string()),
        });
        session.print(&explained, |out| {
            writeln!(out, "producer    {producer}")?;
            writeln!(out, "suffix      {suffix}")?;
            writeln!(out, "formula     {made}")
        })?;
        Ok(if formula.is_some() { Exit::Done } else { Exit::Differs })
    }
}

/// The options for making unique granule ids.
pub struct Uniquify {
    /// The collection of the granules.
    pub collection: CollectionId,
    /// The number of characters of the hash that are appended.
    pub hash_length: HashLength,
    /// Whether the current time is hashed too, so that each id differs from all earlier ones.
    pub hashes_time: bool,
}

impl Uniquify {
    /// Returns an entry with its unique id and its producer id. `index` is its zero-based position
    /// in the change.
    ///
    /// # Errors
    ///
    /// The hash is not long enough, or the id becomes too long. The error has the source location.
    pub fn apply(&self, entry: ListingEntry, index: u128, now: Timestamp) -> Result<ListingEntry> {
        let now_nanos = u128::try_from(now.as_micros()).unwrap_or(0) * 1_000;
        // Each id is hashed with a different nanosecond.
        let nanoseconds = self.hashes_time.then_some(now_nanos + index);
        let producer = entry.granule_id;
        let granule_id = unique(&producer, &self.collection, self.hash_length, nanoseconds)
            .map_err(|cause| match &entry.location {
                Some(location) => Error::usage(format!("{location}: {cause}")),
                None => Error::usage(cause.to_string()),
            })?;
        Ok(ListingEntry { granule_id, producer_granule: Some(producer), ..entry })
    }
}
