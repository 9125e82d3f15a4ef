use std::io::Write;

use accession::GranuleId;
use accession::minting::unique_granule::{CollectionId, Formula, HashLength, explain, risk, split};
use anyhow::Result;
use serde::Serialize;

use crate::cli::Exit;
use crate::cli::session::Session;
use crate::cli::source::{Source, Uniquify};

/// Make, explain and weigh NASA Cumulus' unique granule ids; needs no registry
#[derive(clap::Subcommand)]
pub enum Command {
    New(New),
    Explain(Explain),
    Risk(Risk),
}

/// Print the unique id of each of these producer's ids, one a line
///
/// It is the id, _ and the beginning of a hash of the collection; with --timestamp of the time as
/// well, so that each call gives another.
///
/// Example:
///   accession granule-id new MOD09GQ.A2017224.h09v02.006 --collection MOD09GQ___006
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct New {
    #[command(flatten)]
    source: Source,

    /// The collection: name___version
    #[arg(long, value_name = "C")]
    collection: CollectionId,

    /// How many characters of the hash: 1 to 22
    #[arg(long, value_name = "N", default_value = "8")]
    hash_length: HashLength,

    /// Hash the time as well, so that each call gives another id
    #[arg(long)]
    timestamp: bool,
}

/// Take a unique id apart, and say which formula made it for this collection
///
/// C: of the collection, as shipped. B: of the granule and the collection, of July 2025. Exit
/// status 1: neither, so of another collection, or with a time.
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

/// Say how likely it is that two ingests of one producer's id get the same unique id
///
/// The birthday bound, by the 63 symbols that a suffix has, and by the 64 that Cumulus' document
/// reckons with.
///
/// Example:
///   accession granule-id risk --ingests 10000
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Risk {
    /// How many ingests of one id, each with a time
    #[arg(long, value_name = "N")]
    ingests: u64,

    /// How many characters of the hash; default: a table of all
    #[arg(long, value_name = "N")]
    hash_length: Option<HashLength>,
}

#[derive(Serialize)]
struct Made<'a> {
    granule: &'a GranuleId,
    producer_granule: &'a Option<GranuleId>,
}

#[derive(Serialize)]
struct Explained<'a> {
    granule: &'a str,
    producer_granule: &'a str,
    suffix: &'a str,
    collection: String,
    formula: Option<String>,
}

#[derive(Serialize)]
struct Weighed {
    ingests: u64,
    hash_length: usize,
    risk: f64,
    risk_by_64_symbols: f64,
}

impl Command {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Command::New(new) => new.run(session),
            Command::Explain(explain) => explain.run(session),
            Command::Risk(risk) => risk.run(session),
        }
    }
}

impl New {
    fn run(self, session: &mut Session) -> Result<Exit> {
        let entries = self.source.entries(session)?;
        let uniquify = Uniquify::new(self.collection, self.hash_length, self.timestamp);
        for entry in uniquify.apply(entries, session)? {
            if session.is_json() {
                session.json(&Made {
                    granule: &entry.granule_id,
                    producer_granule: &entry.producer_granule,
                })?;
            } else {
                let id = entry.granule_id.as_str();
                writeln!(session.out(), "{id}")?;
            }
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
        if session.is_json() {
            session.json(&Explained {
                granule,
                producer_granule: producer,
                suffix,
                collection: self.collection.to_string(),
                formula: formula.map(|formula| formula.to_string()),
            })?;
        } else {
            let made = match formula {
                Some(Formula::B) => "B: of the granule and the collection, of July 2025",
                Some(Formula::C) => "C: of the collection, as shipped",
                None => "neither B nor C: another collection, or with a time",
            };
            let out = session.out();
            writeln!(out, "producer    {producer}")?;
            writeln!(out, "suffix      {suffix}")?;
            writeln!(out, "formula     {made}")?;
        }
        Ok(if formula.is_some() { Exit::Done } else { Exit::Differs })
    }
}

impl Risk {
    fn run(self, session: &mut Session) -> Result<Exit> {
        let lengths: Vec<HashLength> = match self.hash_length {
            Some(length) => vec![length],
            None => HashLength::all().collect(),
        };
        if !session.is_json() {
            writeln!(session.out(), "characters  63 symbols      64 symbols (the document)")?;
        }
        for length in lengths {
            let (by_63, by_64) = (risk(self.ingests, length, 63), risk(self.ingests, length, 64));
            if session.is_json() {
                session.json(&Weighed {
                    ingests: self.ingests,
                    hash_length: length.get(),
                    risk: by_63,
                    risk_by_64_symbols: by_64,
                })?;
            } else {
                let (by_63, by_64) = (percent(by_63), percent(by_64));
                writeln!(session.out(), "{:10}  {by_63:14}  {by_64}", length.get())?;
            }
        }
        Ok(Exit::Done)
    }
}

/// A probability with four figures.
fn percent(probability: f64) -> String {
    let percent = 100.0 * probability;
    if percent == 0.0 || percent >= 1e-3 {
        format!("{percent:.4} %")
    } else {
        format!("{percent:.3e} %")
    }
}
