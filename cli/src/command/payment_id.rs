use std::io::Write;

use accession::Moment;
use accession::ids::payment::{Layout, PaymentId, Scheme};
use accession::listing::old_payment_ids;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::error::{Exit, Result};
use crate::output::Column;
use crate::reading::{InputFile, open};
use crate::session::Session;

commands! {
    /// Issue and decode nine-character payment ids
    enum Command {
        New(NewPaymentIds),
        Decode(Decode),
    }
}

/// The layout and epoch of payment ids.
#[derive(clap::Args)]
struct SchemeArgs {
    /// How worker and counter share three characters: standard (36 workers with 1,296 ids per
    /// second each) or wide (45 workers with 1,024 ids)
    #[arg(
        long,
        value_name = "LAYOUT",
        default_value = "standard",
        value_parser = PossibleValuesParser::new(["standard", "wide"])
            .try_map(|name| name.parse::<Layout>()),
        hide_possible_values = true
    )]
    layout: Layout,

    /// The instant from which seconds are counted: RFC 3339, or a date [default: 2024-01-01]
    #[arg(long, value_name = "T")]
    epoch: Option<Moment>,
}

impl SchemeArgs {
    fn scheme(&self) -> Scheme {
        let epoch = self.epoch.map_or(Scheme::default().epoch, Moment::of_change);
        Scheme { layout: self.layout, epoch }
    }
}

/// Print new payment ids, one per line
///
/// The registry records the last id of each worker, so no id is issued twice, even if several
/// processes run, one crashes, or the clock goes back. A registry issues ids of one layout and
/// epoch only. When all ids of a second are issued, the command waits for the next second.
///
/// Example:
///   accession payment-id new --worker 7 --count 3
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct NewPaymentIds {
    /// The number of the worker
    #[arg(long, value_name = "W")]
    worker: u32,

    /// How many ids to issue
    #[arg(long, value_name = "N", default_value_t = 1)]
    count: u64,

    #[command(flatten)]
    scheme: SchemeArgs,

    /// A file of ids of an older scheme, one per line, which will never be issued; - is stdin
    #[arg(long, value_name = "FILE")]
    old_ids: Option<InputFile>,
}

/// Show when a payment id was issued, and by which worker, without a registry
///
/// Example:
///   accession payment-id decode 2KNQ8300Z --epoch 2020-01-01
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Decode {
    /// The id
    id: String,

    #[command(flatten)]
    scheme: SchemeArgs,
}

impl NewPaymentIds {
    fn run(self, session: &mut Session) -> Result<Exit> {
        let scheme = self.scheme.scheme();
        let worker = scheme.worker(self.worker)?;
        let old_ids = match &self.old_ids {
            Some(file) => {
                let (reader, name) = open(file)?;
                old_payment_ids(reader, &name)?
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
                session.print(decoded, |out| writeln!(out, "{}", decoded.id))?;
            }
            if let Some(more_at) = lease.more_at.filter(|_| left > 0) {
                // The ids that were issued are printed before the wait.
                session.finish()?;
                session.sleep_until(more_at)?;
            }
        }
        Ok(Exit::Done)
    }
}

impl Decode {
    fn run(self, session: &mut Session) -> Result<Exit> {
        let id: PaymentId = self.id.parse()?;
        let decoded = self.scheme.scheme().decode(id, session.now()?)?;
        const COLUMNS: &[Column] = &[
            Column::text("id"),
            Column::text("time"),
            Column::number("worker"),
            Column::number("counter"),
            Column::text("layout"),
            Column::text("epoch"),
        ];
        session.fields(COLUMNS, &decoded)
    }
}
