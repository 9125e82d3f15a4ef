//! `ids granule`: makes unique granule ids from the ids of producers.

use std::io;

use accession::ids::granule::{CollectionId, HashLength, unique};
use accession::{GranuleId, ListingEntry, Timestamp};
use serde_json::{Value, json};

use crate::args::{IdArgs, ListingArgs, Reading, ReadingArgs, refuse_missing};
use crate::error::{Error, Exit, Result};
use crate::output::{Output, in_words};
use crate::reading::MissingPages;
use crate::session::Session;

/// Print the NASA Cumulus id of each producer id, as a table
///
/// A unique id is the producer id, an underscore, and the beginning of a hash of the collection. The table has
/// the columns granule_id and producer_granule_id, and `accession ingest` reads it. Without --timestamp, the same
/// producer id and collection give the same id.
///
/// Examples:
///   accession ids granule delivered.txt --collection MOD09GQ___006 > ids.csv
#[derive(clap::Args)]
#[command(verbatim_doc_comment, mut_group("FormatArgs", |group| group.requires("listings")))]
#[command(mut_group("RowArgs", |group| group.requires("listings")))]
pub struct MakeGranuleIds {
    #[command(flatten)]
    listings: ListingArgs,

    #[command(flatten)]
    ids: IdArgs,

    /// The collection: name___version
    #[arg(long, value_name = "C")]
    collection: CollectionId,

    /// The number of hash characters: 1 to 22
    #[arg(long, hide_short_help = true, value_name = "N", default_value = "8")]
    hash_length: HashLength,

    /// Also hash the time, so that every call makes different ids
    #[arg(long, hide_short_help = true)]
    timestamp: bool,

    #[command(flatten)]
    reading: ReadingArgs,
}

impl MakeGranuleIds {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let (listings, ids) = (&self.listings.listings, &self.ids.ids);
        if listings.is_empty() && ids.is_empty() {
            return Err(Error::usage("no granules are named").with_hint(
                "name a file, a directory, or - for standard input; or a granule with --id ID",
            ));
        }
        let reading = Reading { command: "ids granule", by_id: Some("ids granule") };
        refuse_missing(listings, session, reading)?;
        let listed = self.reading.entries(session, ids, listings, None, MissingPages::Warn)?;
        let mut entries = Vec::new();
        let read = listed.read(|entry| {
            entries.push(entry);
            Ok(())
        })?;
        read.accepted()?;
        let now = session.now()?;
        let mut rows = Vec::new();
        for (index, producer) in (0..).zip(&entries) {
            let granule_id = self.unique_id(producer, index, now)?;
            rows.push(json!({ "granule": granule_id, "producer_granule": producer.granule_id }));
        }
        session.present_list(&rows, write_table)
    }

    /// Makes the unique id for a producer's id. `index` is its zero-based position in the list.
    ///
    /// # Errors
    ///
    /// The hash is not long enough, or the id becomes too long. The error has the source location.
    fn unique_id(&self, producer: &ListingEntry, index: u128, now: Timestamp) -> Result<GranuleId> {
        let now_nanos = u128::try_from(now.as_micros()).unwrap_or(0) * 1_000;
        // Each id is hashed with a different nanosecond.
        let nanoseconds = self.timestamp.then_some(now_nanos + index);
        let id = unique(&producer.granule_id, &self.collection, self.hash_length, nanoseconds);
        id.map_err(|cause| match &producer.location {
            Some(location) => Error::usage(format!("{location}: {cause}")),
            None => Error::usage(cause.to_string()),
        })
    }
}

/// Writes rows as CSV, which `ingest` can read.
fn write_table(out: &mut Output, rows: &Value) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    let cells = |row: &Value| ["granule", "producer_granule"].map(|member| in_words(&row[member]));
    table.write_record(["granule_id", "producer_granule_id"])?;
    for row in rows.as_array().into_iter().flatten() {
        table.write_record(cells(row))?;
    }
    table.flush()
}
