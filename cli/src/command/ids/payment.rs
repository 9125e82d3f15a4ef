//! `ids payment`: short ids that no other machine issues.

use std::io::Write;

use accession::Moment;
use accession::ids::payment::{Layout, PaymentId, Scheme};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::error::{Exit, Result};
use crate::input_file::{InputFile, open};
use crate::output::{Column, in_words};
use crate::session::Session;

/// The layout and epoch of payment ids.
#[derive(clap::Args)]
pub struct SchemeArgs {
    /// standard or wide [default: standard]
    ///
    /// The layout of the last three characters: standard (36 workers with 1,296 ids per second each) or wide (45
    /// workers with 1,024 ids).
    #[arg(
        long,
        hide_short_help = true,
        value_name = "LAYOUT",
        value_parser = PossibleValuesParser::new(["standard", "wide"])
            .try_map(|name| name.parse::<Layout>()),
        hide_possible_values = true
    )]
    layout: Option<Layout>,

    /// The time from which seconds are counted [default: 2024-01-01]
    #[arg(long, hide_short_help = true, value_name = "T")]
    epoch: Option<Moment>,
}

impl SchemeArgs {
    /// The scheme according to the options.
    pub fn scheme(&self) -> Scheme {
        let default = Scheme::default();
        let epoch = self.epoch.map_or(default.epoch, Moment::of_change);
        Scheme { layout: self.layout.unwrap_or(default.layout), epoch }
    }
}

/// Print new payment ids, one per line
///
/// The registry records the last id of each worker. So no id is issued twice, even if several processes run, a
/// process crashes, or the clock goes back. A registry issues ids of one layout and epoch only. When all ids of a
/// second are issued, the command waits for the next second.
///
/// Example:
///   accession ids payment --worker 7 --count 3
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct IssuePaymentIds {
    /// The number of the worker
    #[arg(long, value_name = "W")]
    worker: u32,

    /// The number of ids to issue
    #[arg(long, value_name = "N", default_value_t = 1)]
    count: u64,

    #[command(flatten)]
    scheme: SchemeArgs,

    /// A file of ids never to issue, one per line, or -
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    old_ids: Option<InputFile>,
}

impl IssuePaymentIds {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let scheme = self.scheme.scheme();
        let worker = scheme.worker(self.worker)?;
        let old_ids = match &self.old_ids {
            Some(file) => {
                let (reader, name) = open(file)?;
                PaymentId::read_list(reader, &name)?
            }
            None => Vec::new(),
        };
        let registry = session.open()?;
        if !old_ids.is_empty() {
            registry.reserve_payment_ids(&old_ids)?;
        }
        let mut left = self.count;
        while left > 0 {
            session.now()?;
            let lease = registry.lease_payment_ids(scheme, worker, left)?;
            left -= lease.ids.len() as u64;
            for decoded in &lease.ids {
                session.present(decoded, |out, decoded| {
                    writeln!(out, "{}", in_words(&decoded["id"]))
                })?;
            }
            if let Some(more_at) = lease.more_at.filter(|_| left > 0) {
                // Print the issued ids before waiting.
                session.finish()?;
                session.sleep_until(more_at)?;
            }
        }
        Ok(Exit::Done)
    }
}

/// The columns of a payment id.
pub const DECODED: &[Column] = &[
    Column::text("id"),
    Column::text("time"),
    Column::number("worker"),
    Column::number("counter"),
    Column::text("layout"),
    Column::text("epoch"),
];
