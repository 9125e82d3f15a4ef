use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use accession::{Access, PaymentIds, Registry, quoted};
use anyhow::Result;

use crate::cli::args::named_path;
use crate::cli::commit::Commit;
use crate::cli::exit::Exit;
use crate::cli::output::{Progress, count};
use crate::cli::session::Session;

/// Copy a whole registry to another file or server, and verify the copy
///
/// Copies the datasets with every version of their records, their histories with the recorded times
/// and notes, their granules, and the cited subsets. Each of the two is a file or an address on a
/// PostgreSQL server; --registry is ignored. The copy can be used only when every identifier in it
/// has been recomputed. A copy to a server that was interrupted is continued by the same command.
///
/// Two registries that issue payment ids with the same workers would issue the same ids, so the
/// state of the workers is left out, unless the target takes the place of the source.
///
/// Examples:
///   accession copy accession.db postgres://archive@db.example.org/archive
///   accession copy postgres://archive@db.example.org/archive accession.db --payment-ids
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The registry to copy
    #[arg(value_parser = named_path())]
    source: PathBuf,

    /// Where to copy it; there must be no registry yet
    #[arg(value_parser = named_path())]
    target: PathBuf,

    /// Also copy which payment ids were issued; the source must not issue any more
    #[arg(long)]
    payment_ids: bool,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let source = Registry::open(&self.source, Access::Read)?;
        let source = source.with_monitor(Arc::new(Progress::new()));
        let payment_ids = if self.payment_ids { PaymentIds::Copied } else { PaymentIds::LeftOut };
        let copied = source.copy_to(&self.target, payment_ids)?;
        session.note_commit(Commit::Copy);
        if session.is_json() {
            session.json(&copied)?;
        } else if !session.is_quiet() {
            let target = Registry::full_name(&self.target);
            writeln!(
                session.out(),
                "{}: {}, {}, all verified",
                quoted(&target.to_string_lossy()),
                count(copied.datasets, "dataset"),
                count(copied.identifiers, "identifier"),
            )?;
        }
        Ok(Exit::Done)
    }
}
