//! `ids explain`: shows the parts of an id.

use std::io::{self, Write};

use accession::GranuleId;
use accession::ids::granule::{CollectionId, explain, split};
use accession::ids::payment::PaymentId;
use accession::text::quoted;
use serde_json::Value;

use super::payment::{DECODED, SchemeArgs};
use crate::error::{Error, Exit, Result};
use crate::output::{Column, Output, write_fields};
use crate::session::Session;

/// Explain a payment id, or a NASA Cumulus granule id
///
/// A payment id has nine characters, 0-9 and A-Z: the time at which it was issued, the worker, and a counter.
///
/// Any other id is a granule id, and needs --collection: the producer's id, an underscore, and a hash. Formula C
/// hashes the collection (as released), formula B the granule and the collection (July 2025). If neither formula
/// gives the id, the exit status is 1: the id belongs to another collection, or a time was hashed too.
///
/// Examples:
///   accession ids explain 2KNQ8300Z --epoch 2020-01-01
///   accession ids explain MOD09GQ.A2017224.h09v02.006_wJJ69jjW --collection MOD09GQ___006
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Explain {
    /// The id
    id: String,

    /// The collection of a granule id: name___version
    #[arg(long, value_name = "C", conflicts_with = "SchemeArgs")]
    collection: Option<CollectionId>,

    #[command(flatten)]
    scheme: SchemeArgs,
}

impl Explain {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        match (self.id.parse::<PaymentId>(), self.collection) {
            (Ok(_), Some(_)) => Err(Error::usage(format!(
                "{} is a payment id, and --collection is for granule ids",
                quoted(&self.id)
            ))
            .with_hint("leave out --collection")),
            (Ok(id), None) => {
                let decoded = self.scheme.scheme().decode(id, session.now()?)?;
                session.present(&decoded, |out, decoded| write_fields(out, DECODED, decoded))
            }
            (Err(_), Some(collection)) => {
                explain_granule(&GranuleId::new(self.id.as_str())?, &collection, session)
            }
            (Err(refused), None) => Err(Error::usage(refused.to_string()).with_hint(
                "if it is a granule id, name its collection: --collection NAME___VERSION",
            )),
        }
    }
}

/// Prints the formula that made a unique granule id for a collection.
fn explain_granule(
    granule_id: &GranuleId,
    collection: &CollectionId,
    session: &mut Session,
) -> Result<Exit> {
    let granule = granule_id.as_str();
    let (producer, suffix) = split(granule_id).unwrap_or((granule, ""));
    let formula = match suffix {
        "" => None,
        suffix => explain(producer, suffix, collection),
    };
    let explained = object!({
        "granule": granule,
        "producer_granule": producer,
        "suffix": suffix,
        "collection": collection.to_string(),
        "formula": formula.map(|formula| formula.to_string()),
    });
    session.present(&explained, write_explained)?;
    Ok(if formula.is_some() { Exit::Done } else { Exit::Differs })
}

fn write_explained(out: &mut Output, explained: &Value) -> io::Result<()> {
    const PARTS: &[Column] =
        &[Column::text("producer").of("producer_granule"), Column::text("suffix")];
    write_fields(out, PARTS, explained)?;
    let made = match explained["formula"].as_str() {
        Some("B") => "B: a hash of the granule and the collection (July 2025)",
        Some(_) => "C: a hash of the collection (as released)",
        None => "neither B nor C: another collection, or a hash of the time too",
    };
    writeln!(out, "formula     {made}")
}
